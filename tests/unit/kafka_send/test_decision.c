#include "decision.h"
#include "support/check.h"
#include "walpost/kafka/batch.h"

/* What a record is told, by what is known of its topic. */

enum { NOW_MS = 1000000 };

static struct wp_topic_partition partitions[2];
static struct wp_topic topic;
static struct wp_decision_rules rules;
static struct wp_decision_moment moment;
static struct wp_record record;
static struct wp_error error;

/* A topic that is known, and used a moment ago. */
static int set_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++)
		partitions[i] = (struct wp_topic_partition){ .confirmed_at_ms = NOW_MS - 1 };
	topic = (struct wp_topic){
		.name = "orders",
		.state = WP_TOPIC_READY,
		.answered_at_ms = NOW_MS - 1,
		.partitions = partitions,
		.partition_count = 2,
	};
	rules = (struct wp_decision_rules){
		.message_max = 1000000,
		.placement = wp_placement_find("murmur2_random"),
	};
	moment = (struct wp_decision_moment){ .now_ms = NOW_MS, .random = 1 };
	record = (struct wp_record){
		.topic = wp_span_of("orders"),
		.key = wp_span_of("k"),
		.partition = WP_PARTITION_BY_KEY,
		.table = "public.outbox",
	};
	error = (struct wp_error){ "" };
	return 0;
}

static struct wp_decision decide(void)
{
	return wp_decide(&rules, &topic, &record, &moment, &error);
}

static void one_for_a_topic_in_use_goes(void **state)
{
	struct wp_decision d = decide();

	CHECK_EQ(d.kind, WP_DECISION_GO);
	CHECK_EQ(d.partition, wp_placement_of(rules.placement, record.key, 2, 0));
	CHECK(!d.alone && d.fits);
	record.key = (struct wp_span){ NULL, 0 };
	CHECK_EQ(decide().partition, 1); /* by the random number */
	record.partition = 0;
	CHECK_EQ(decide().partition, 0);
}

static void the_first_of_a_partition_goes_alone_and_others_wait_for_it(void **state)
{
	record.partition = 0;
	partitions[0].confirmed_at_ms = INT64_MIN;
	struct wp_decision d = decide();
	CHECK(d.kind == WP_DECISION_GO && d.alone);
	partitions[0].confirmed_at_ms = NOW_MS - 600000;
	CHECK(decide().alone);
	partitions[0].confirmed_at_ms = NOW_MS - 599999;
	d = decide();
	CHECK(d.kind == WP_DECISION_GO && !d.alone);
	partitions[0].pioneer = 7;
	CHECK_EQ(decide().kind, WP_DECISION_WAIT);
	moment.is_for_other_topics = true; /* its turn would not help */
	d = decide();
	CHECK(d.kind == WP_DECISION_WAIT && !d.is_deferred);
	moment.is_for_other_topics = false;
	record.partition = 1;
	CHECK_EQ(decide().kind, WP_DECISION_GO);
}

static void those_queued_and_other_topics_go_first(void **state)
{
	moment.is_for_other_topics = true;
	struct wp_decision d = decide();
	CHECK(d.kind == WP_DECISION_WAIT && d.is_deferred && d.fits);
	moment.is_behind = true;
	d = decide();
	CHECK(d.kind == WP_DECISION_WAIT && !d.is_deferred && d.fits);
	/* Nothing is asked for it either. */
	topic.state = WP_TOPIC_UNKNOWN;
	CHECK_EQ(decide().kind, WP_DECISION_WAIT);
}

static void an_unknown_topic_is_asked_for(void **state)
{
	topic = (struct wp_topic){ .name = "orders" };
	struct wp_decision d = decide();
	CHECK(d.kind == WP_DECISION_ASK && d.fits && !d.recounts);
	record.partition = 3;
	CHECK(decide().fits);
	/* Where it fits nowhere it is not to be queued. */
	record.value = (struct wp_span){ (const uint8_t *)"", 500 };
	rules.message_max = wp_batch_size_or_bound(&record, 0);
	CHECK(decide().fits);
	rules.message_max--;
	CHECK(!decide().fits);
}

/* As things were when it was asked for last: they may be otherwise by now. */
static void of_an_unknown_topic_nothing_is_refused(void **state)
{
	topic.state = WP_TOPIC_UNKNOWN;
	topic.limit = 100;
	topic.limit_name = "max.message.bytes";
	record.value = (struct wp_span){ (const uint8_t *)"", 32 };
	struct wp_decision d = decide();
	CHECK(d.kind == WP_DECISION_ASK && !d.fits && !d.recounts);
	record.partition = 2;
	d = decide();
	CHECK(d.kind == WP_DECISION_ASK && !d.fits && !d.recounts);
	moment.is_behind = true;
	d = decide();
	CHECK(d.kind == WP_DECISION_WAIT && !d.fits);
	CHECK_EQ(error.text[0], '\0');
}

static void a_missing_partition_is_counted_once_more_and_then_refused(void **state)
{
	record.partition = 2;
	struct wp_decision d = decide();
	CHECK(d.kind == WP_DECISION_ASK && d.recounts && !d.fits);
	topic.recounts = true;
	CHECK_EQ(decide().kind, WP_DECISION_REFUSE);
	CHECK_HAS(error.text, "table public.outbox has partition 2, but topic orders has only 2");
}

static void a_size_above_the_limit_is_refused_once_the_limit_is_fresh(void **state)
{
	topic.limit = 100;
	topic.limit_name = "max.message.bytes";
	record.value = (struct wp_span){ (const uint8_t *)"", 31 };
	CHECK_EQ(decide().kind, WP_DECISION_GO); /* 68, the key's byte, and 31: that is 100 */
	record.value.size = 32;
	struct wp_decision d = decide();
	CHECK(d.kind == WP_DECISION_REFUSE && !d.fits);
	CHECK_HAS(error.text, "an event of 101 bytes exceeds max.message.bytes of 100 bytes");
	CHECK_HAS(error.text, "raise max.message.bytes of the topic");
	topic.limit_name = "segment.bytes";
	(void)decide();
	CHECK_HAS(error.text, "raise segment.bytes of the topic");
	topic.answered_at_ms = NOW_MS - 1000;
	CHECK_EQ(decide().kind, WP_DECISION_REFUSE);
	topic.answered_at_ms = NOW_MS - 1001;
	error.text[0] = '\0';
	d = decide();
	CHECK(d.kind == WP_DECISION_ASK && !d.recounts && !d.fits && error.text[0] == '\0');
}

static void compressed_it_may_pass_and_so_goes_alone(void **state)
{
	topic.limit = 100;
	topic.limit_name = "max.message.bytes";
	rules.compresses = true;
	record.value = (struct wp_span){ (const uint8_t *)"", 32 };
	struct wp_decision d = decide();
	CHECK(d.kind == WP_DECISION_GO && d.alone && d.fits);
	/* Exact where it may be above: what librdkafka takes is to be queued. */
	rules.message_max = 101;
	CHECK(decide().fits);
	rules.message_max = 100;
	CHECK(decide().kind == WP_DECISION_GO && !decide().fits);
	record.value.size = 31;
	CHECK(!decide().alone);
}

int main(void)
{
	return RUN(cmocka_unit_test_setup(one_for_a_topic_in_use_goes, set_up),
		   cmocka_unit_test_setup(
			   the_first_of_a_partition_goes_alone_and_others_wait_for_it, set_up),
		   cmocka_unit_test_setup(those_queued_and_other_topics_go_first, set_up),
		   cmocka_unit_test_setup(an_unknown_topic_is_asked_for, set_up),
		   cmocka_unit_test_setup(of_an_unknown_topic_nothing_is_refused, set_up),
		   cmocka_unit_test_setup(a_missing_partition_is_counted_once_more_and_then_refused,
					  set_up),
		   cmocka_unit_test_setup(a_size_above_the_limit_is_refused_once_the_limit_is_fresh,
					  set_up),
		   cmocka_unit_test_setup(compressed_it_may_pass_and_so_goes_alone, set_up));
}
