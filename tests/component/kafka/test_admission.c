/*
 * What depends on a topic's limit: the mock cluster cannot tell one, so the
 * answers are given by hand, in the words of inquiry.
 */
#include <stdio.h>
#include <string.h>

#include "state.h"
#include "support/check.h"
#include "walpost/kafka/batch.h"
#include "world.h"

static struct world w;
static struct wp_error error;
static char letters[200000];

static int set_up(void **state)
{
	world_init(&w, 1);
	world_topic(&w, "orders", 1);
	world_topic(&w, "bills", 1);
	memset(letters, 'x', sizeof(letters) - 1);
	error.text[0] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	world_release(&w);
	return 0;
}

static struct wp_producer *inside(void)
{
	return (struct wp_producer *)w.sink;
}

static int64_t effective_batch_size(void)
{
	return wp_properties_number(rd_kafka_conf(inside()->clients.list[0].rk), "batch.size");
}

static void answer_of(const char *topic, size_t limit, const char *limit_name)
{
	struct wp_asked_topic asked = {
		.limit = limit,
		.limit_name = limit_name,
		.partition_count = 1,
	};
	struct wp_answer a = {
		.about = WP_INQUIRY_TOPICS,
		.heard = true,
		.topics = &asked,
		.topic_count = 1,
	};

	(void)snprintf(asked.name, sizeof(asked.name), "%s", topic);
	inside()->now_ms = world_clock_ms();
	wp_producer_take_answer(inside(), &a);
}

static void answer(const char *topic, size_t limit)
{
	answer_of(topic, limit, "max.message.bytes");
}

/* Until the new client that a smaller batch.size calls for is there. */
static void settle(void)
{
	WORLD_UNTIL(&w, inside()->clients.phase == WP_PHASE_RUNNING && !inside()->clients.reopens);
}

static struct wp_record record_of_wire_size(const char *topic, size_t size)
{
	struct wp_record record = world_record(topic, "k", letters);

	record.value.size = size > 200 ? size - 100 : 0;
	while (wp_batch_size_of_one(&record) < size)
		record.value.size++;
	CHECK_EQ(wp_batch_size_of_one(&record), size);
	return record;
}

static void an_event_at_the_topics_limit_passes_and_one_byte_more_is_data(void **state)
{
	world_property(&w, "compression.type", "none");
	world_open_for(&w, "orders");
	answer("orders", 5000);
	settle();

	struct wp_record below = record_of_wire_size("orders", 4999);
	struct wp_record at = record_of_wire_size("orders", 5000);
	struct wp_record above = record_of_wire_size("orders", 5001);
	/* A new client forgot the handles, not the limits. */
	world_send(&w, 2, &below);
	world_send(&w, 3, &at);
	WORLD_UNTIL(&w, w.report_count == 2);
	answer("orders", 5000); /* fresh, however slow the machine is */
	CHECK_EQ(world_offer(&w, 4, &above, &error), WP_DATA);
	CHECK_HAS(error.text, "5001 bytes");
	CHECK_HAS(error.text, "max.message.bytes of 5000 bytes for topic orders");
}

static struct wp_asked_topic limit_of(const char *message_max, const char *segment)
{
	struct wp_asked_topic asked = { .limit = 1 };
	rd_kafka_ConfigResource_t *r =
		rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, "orders");

	(void)rd_kafka_ConfigResource_set_config(r, "retention.ms", "5");
	(void)rd_kafka_ConfigResource_set_config(r, "segment.bytes", segment);
	(void)rd_kafka_ConfigResource_set_config(r, "max.message.bytes", message_max);
	wp_inquiry_read_limit(r, &asked);
	rd_kafka_ConfigResource_destroy(r);
	return asked;
}

/* A topic made anew takes what is behind a batch that it refuses for either. */
static void a_segment_below_max_message_bytes_is_the_limit_and_is_named(void **state)
{
	world_property(&w, "compression.type", "none");
	world_open_for(&w, "orders");
	struct wp_asked_topic told = limit_of("1048588", "1073741824");
	CHECK_EQ(told.limit, 1048588);
	CHECK_TEXT(told.limit_name, "max.message.bytes");
	told = limit_of("4000000", "3000");
	CHECK_EQ(told.limit, 3000);
	CHECK_TEXT(told.limit_name, "segment.bytes");
	answer_of("orders", told.limit, told.limit_name);
	settle();
	answer_of("orders", told.limit, told.limit_name); /* fresh */
	struct wp_record above = record_of_wire_size("orders", 3001);
	CHECK_EQ(world_offer(&w, 2, &above, &error), WP_DATA);
	CHECK_HAS(error.text, "segment.bytes of 3000 bytes for topic orders");
	CHECK_HAS(error.text, "raise segment.bytes of the topic");
}

static void an_old_limit_is_read_again_before_an_event_is_called_too_large(void **state)
{
	world_property(&w, "compression.type", "none");
	world_open_for(&w, "orders");
	answer("orders", 5000);
	settle();
	wp_topics_find(&inside()->admission.topics, "orders")->answered_at_ms -= 10001;
	struct wp_record above = record_of_wire_size("orders", 5001);
	CHECK_EQ(world_offer(&w, 2, &above, &error), WP_AGAIN);
	/* The mock does not tell a limit: the broker decides. */
	world_send(&w, 2, &above);
	WORLD_UNTIL(&w, w.report_count == 1);
}

static void with_compression_the_broker_decides(void **state)
{
	world_open_for(&w, "orders");
	answer("orders", 5000);
	struct wp_record above = record_of_wire_size("orders", 5001);
	world_send(&w, 2, &above);
	WORLD_UNTIL(&w, w.report_count == 1);
}

static void a_limit_below_batch_size_makes_a_new_producer_when_nothing_is_in_flight(void **state)
{
	struct wp_record record = world_record("orders", "k", "v");
	world_open_for(&w, "orders");
	CHECK_EQ(effective_batch_size(), 1000000);
	world_send(&w, 2, &record);
	answer("orders", 65536);
	CHECK_EQ(world_offer(&w, 3, &record, &error), WP_AGAIN);
	CHECK_EQ(world_view(&w)->state, WP_SINK_STARTING);
	CHECK_EQ(world_view(&w)->in_flight, 1);
	CHECK(inside()->clients.list[0].rk != NULL);
	/* It is confirmed first: nothing is lost. */
	world_send(&w, 3, &record);
	CHECK(world_report(&w, 2) != NULL);
	CHECK_EQ(effective_batch_size(), 65536 - 64);
	WORLD_UNTIL(&w, w.report_count == 2);

	/* The smallest in use counts, and it stays after a restart. */
	answer("orders", 1048588);
	world_send(&w, 4, &record);
	CHECK_EQ(effective_batch_size(), 65536 - 64);
	w.sink->ops->restart(w.sink, WP_BATCHING_NORMAL);
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_READY);
	CHECK_EQ(effective_batch_size(), 65536 - 64);
}

static void the_users_batch_size_is_kept_below_a_limit_that_is_not_smaller(void **state)
{
	world_property(&w, "batch.size", "30000");
	world_open_for(&w, "orders");
	answer("orders", 30000);
	CHECK_EQ(world_view(&w)->state, WP_SINK_READY);
	CHECK(!inside()->clients.reopens);
	CHECK_EQ(effective_batch_size(), 30000);
	answer("orders", 29999);
	CHECK(inside()->clients.reopens);
}

static void one_by_one_the_batch_size_waits_for_the_next_restart(void **state)
{
	world_open(&w);
	w.sink->ops->restart(w.sink, WP_BATCHING_ONE_BY_ONE);
	world_use(&w, "orders");
	answer("orders", 65536);
	CHECK(!inside()->clients.reopens);
	w.sink->ops->restart(w.sink, WP_BATCHING_NORMAL);
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_READY);
	CHECK_EQ(effective_batch_size(), 65536 - 64);
}

static void a_tiny_limit_still_gives_a_batch_size(void **state)
{
	world_open_for(&w, "orders");
	answer("orders", 100);
	settle();
	CHECK_EQ(effective_batch_size(), 1);
}

static void a_size_refused_by_report_names_the_limit_and_has_it_read_again(void **state)
{
	struct wp_record record = world_record("orders", "k", "v");
	world_open_for(&w, "orders");
	answer("orders", 2000000);
	rd_kafka_mock_push_request_errors(w.cluster, 0, 1, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
	world_send(&w, 2, &record);
	WORLD_UNTIL(&w, w.report_count == 1);
	CHECK_EQ(w.reports[0].limit, 2000000);
	CHECK_EQ(wp_topics_find(&inside()->admission.topics, "orders")->state, WP_TOPIC_UNKNOWN);
}

static void a_topic_refused_again_waits_longer_up_to_a_bound(void **state)
{
	static const int64_t waits_ms[] = { 1000, 2000, 4000, 8000, 10000, 10000 };

	world_open_for(&w, "orders");
	for (size_t i = 0; i < sizeof(waits_ms) / sizeof(waits_ms[0]); i++) {
		struct wp_topic *topic = wp_topics_find(&inside()->admission.topics, "orders");
		wp_admission_distrust(&inside()->admission, "orders",
				      RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
				      inside()->now_ms);
		wp_admission_distrust(&inside()->admission, "orders",
				      RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
				      inside()->now_ms);
		CHECK_EQ(topic->failures, i + 1);
		CHECK_EQ(topic->ask_at_ms - inside()->now_ms, waits_ms[i]);
		answer("orders", 0);
		CHECK_EQ(topic->state, WP_TOPIC_READY);
	}
	world_use(&w, "orders");
	CHECK_EQ(wp_topics_find(&inside()->admission.topics, "orders")->failures, 0);
}

/* So many in a row; how many of them went off at once. */
static size_t sent_of(size_t count, wp_ticket first, const struct wp_record *record)
{
	size_t before = wp_producer_sent(inside());

	for (size_t i = 0; i < count; i++)
		CHECK_EQ(world_offer(&w, first + i, record, &error), WP_OK);
	return wp_producer_sent(inside()) - before;
}

static void the_first_record_of_a_partition_goes_alone(void **state)
{
	struct wp_record record = world_record("orders", "k", "v");
	struct wp_record another = world_record("bills", "k", "v");
	world_open_for(&w, "bills");
	world_send(&w, 1, &record);
	CHECK_EQ(sent_of(5, 2, &record), 0);
	CHECK_EQ(world_view(&w)->state, WP_SINK_READY);
	/* Another partition is another matter. */
	CHECK_EQ(sent_of(5, 7, &another), 5);
	WORLD_UNTIL(&w, w.report_count == 11);
	CHECK_EQ(sent_of(5, 12, &record), 5);

	/* To the next producer everything is new. */
	w.sink->ops->restart(w.sink, WP_BATCHING_NORMAL);
	world_send(&w, 20, &record);
	CHECK_EQ(sent_of(5, 21, &record), 0);
}

static void what_may_be_too_large_goes_in_front_alone(void **state)
{
	world_open_for(&w, "orders");
	answer("orders", 5000);
	settle();
	world_use(&w, "orders");
	struct wp_record small = world_record("orders", "k", "v");
	struct wp_record large = record_of_wire_size("orders", 5001);
	CHECK_EQ(sent_of(2, 2, &small), 2);
	CHECK_EQ(sent_of(2, 4, &large), 1);
	CHECK_EQ(sent_of(1, 6, &small), 0);
	WORLD_UNTIL(&w, world_report(&w, 4) != NULL);
	CHECK_EQ(wp_producer_sent(inside()), 1); /* 5 alone, too */
	WORLD_UNTIL(&w, w.report_count == 5);
	CHECK_EQ(w.reports[4].ticket, 6);
}

static void when_the_first_is_refused_none_was_sent_behind_it(void **state)
{
	struct wp_record record = world_record("orders", "k", "v");
	world_open(&w);
	rd_kafka_mock_push_request_errors(w.cluster, 0, 1, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
	world_send(&w, 1, &record);
	CHECK_EQ(sent_of(1, 2, &record), 0);
	WORLD_UNTIL(&w, w.report_count > 0);
	CHECK_EQ(w.reports[0].outcome, WP_REFUSED);
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_BROKEN);
	CHECK_EQ(w.report_count, 1);
	CHECK_EQ(wp_producer_sent(inside()), 0);
}

static void a_partition_long_unused_is_new_again(void **state)
{
	struct wp_record record = world_record("orders", "k", "v");
	world_open_for(&w, "orders");
	struct wp_topic_partition *partition =
		&wp_topics_find(&inside()->admission.topics, "orders")->partitions[0];
	partition->confirmed_at_ms = inside()->now_ms - 600000 + 30000; /* time goes on */
	CHECK_EQ(sent_of(2, 2, &record), 2);
	WORLD_UNTIL(&w, w.report_count == 2);
	partition->confirmed_at_ms = inside()->now_ms - 600000;
	CHECK_EQ(sent_of(2, 4, &record), 1);
	WORLD_UNTIL(&w, w.report_count == 4);
	CHECK_EQ(sent_of(2, 6, &record), 2);
}

static void a_purged_first_makes_room_for_another(void **state)
{
	struct wp_record record = world_record("orders", "k", "v");
	world_open_for(&w, "orders");
	w.sink->ops->restart(w.sink, WP_BATCHING_NORMAL);
	WORLD_UNTIL(&w, world_view(&w)->reachable && world_view(&w)->state == WP_SINK_READY);
	world_down(&w);
	WORLD_UNTIL(&w, !world_view(&w)->reachable);
	CHECK_EQ(sent_of(2, 2, &record), 1);
	w.sink->ops->purge(w.sink);
	WORLD_UNTIL(&w, w.report_count == 2);
	CHECK_EQ(w.reports[0].outcome, WP_PURGED);
	CHECK_EQ(w.reports[1].outcome, WP_PURGED);
	CHECK_EQ(sent_of(2, 4, &record), 1);
	world_up(&w);
	WORLD_UNTIL(&w, w.report_count == 4);
	CHECK_EQ(w.reports[3].outcome, WP_CONFIRMED);
}

static void a_topic_in_use_is_asked_again_after_five_minutes(void **state)
{
	struct wp_record record = world_record("orders", "k", "v");
	world_open_for(&w, "orders");
	WORLD_UNTIL(&w, inside()->inquiry.stage == WP_INQUIRY_IDLE);
	struct wp_topic *topic = wp_topics_find(&inside()->admission.topics, "orders");
	int64_t asked = topic->answered_at_ms -= 300000;
	CHECK_EQ(sent_of(3, 2, &record), 3);
	WORLD_UNTIL(&w, topic->answered_at_ms != asked);
	WORLD_UNTIL(&w, w.report_count == 3);
	CHECK_EQ(topic->partition_count, 1);
}

static void topics_that_are_expected_are_asked_for_together(void **state)
{
	static const char *const names[] = { "one", "two", "three" };
	for (size_t i = 0; i < 3; i++)
		world_topic(&w, names[i], 2);
	world_open(&w);
	WORLD_UNTIL(&w, world_view(&w)->reachable);
	w.sink->ops->prefetch(w.sink, "one,two,three");
	for (size_t i = 0; i < 3; i++) {
		const struct wp_topic *topic =
			wp_topics_find(&inside()->admission.topics, names[i]);
		WORLD_UNTIL(&w, topic->state == WP_TOPIC_READY);
		CHECK_EQ(topic->partition_count, 2);
	}
	CHECK_EQ(inside()->inquiry.serial, 1);
}

static void versions_known_for_trouble_are_named(void **state)
{
	CHECK(wp_client_version_trouble(0x020002ff) == NULL);
	CHECK(wp_client_version_trouble(0x020101ff) == NULL);
	CHECK(wp_client_version_trouble(0x020200ff) != NULL);
	CHECK(wp_client_version_trouble(0x020300ff) != NULL);
	CHECK(wp_client_version_trouble(0x020400ff) != NULL);
	CHECK(wp_client_version_trouble(0x020500ff) != NULL);
	CHECK(wp_client_version_trouble(0x020503ff) == NULL);
	CHECK(wp_client_version_trouble(0x020800ff) == NULL);
	CHECK(wp_client_version_trouble(0x020a00ff) != NULL);
	CHECK(wp_client_version_trouble(0x020a01ff) == NULL);
}

/* The mock creates what it is asked for; this one is to say at first that it has none. */
static void what_the_brokers_are_to_create_is_missing_only_when_they_have_not(void **state)
{
	struct wp_record record = world_record("late", "k", "v");
	rd_kafka_mock_topic_set_error(w.cluster, "late", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	world_property(&w, "allow.auto.create.topics", "true");
	world_open(&w);
	CHECK_EQ(world_offer(&w, 1, &record, &error), WP_OK);
	struct wp_topic *topic = wp_topics_find(&inside()->admission.topics, "late");
	WORLD_UNTIL(&w, topic->trouble == WP_TOPIC_MISSING);
	topic->troubled_at_ms = world_clock_ms(); /* just now, however slow the machine is */
	world_collect(&w);
	CHECK_EQ(world_view(&w)->state, WP_SINK_READY);
	CHECK_TEXT(world_view(&w)->topic, "");
	topic->troubled_at_ms -= 5000;
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_WAITING);
	CHECK_HAS(world_view(&w)->error.text, "(the brokers were asked to create it and did not");
	rd_kafka_mock_topic_set_error(w.cluster, "late", RD_KAFKA_RESP_ERR_NO_ERROR);
	WORLD_UNTIL(&w, w.report_count == 1);
	CHECK_EQ(w.reports[0].outcome, WP_CONFIRMED);
}

int main(void)
{
	return RUN(TEST(what_the_brokers_are_to_create_is_missing_only_when_they_have_not),
		   TEST(an_event_at_the_topics_limit_passes_and_one_byte_more_is_data),
		   TEST(a_segment_below_max_message_bytes_is_the_limit_and_is_named),
		   TEST(an_old_limit_is_read_again_before_an_event_is_called_too_large),
		   TEST(with_compression_the_broker_decides),
		   TEST(a_limit_below_batch_size_makes_a_new_producer_when_nothing_is_in_flight),
		   TEST(the_users_batch_size_is_kept_below_a_limit_that_is_not_smaller),
		   TEST(one_by_one_the_batch_size_waits_for_the_next_restart),
		   TEST(a_tiny_limit_still_gives_a_batch_size),
		   TEST(a_size_refused_by_report_names_the_limit_and_has_it_read_again),
		   TEST(a_topic_refused_again_waits_longer_up_to_a_bound),
		   TEST(the_first_record_of_a_partition_goes_alone),
		   TEST(what_may_be_too_large_goes_in_front_alone),
		   TEST(when_the_first_is_refused_none_was_sent_behind_it),
		   TEST(a_partition_long_unused_is_new_again),
		   TEST(a_purged_first_makes_room_for_another),
		   TEST(a_topic_in_use_is_asked_again_after_five_minutes),
		   TEST(topics_that_are_expected_are_asked_for_together),
		   PLAIN(versions_known_for_trouble_are_named));
}
