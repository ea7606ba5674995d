#include <string.h>

#include "support/check.h"
#include "walpost/kafka_inspect/preflight.h"
#include "world.h"

static struct world w;
static struct wp_error sentence, error;

static int set_up(void **state)
{
	world_init(&w, 3);
	sentence.text[0] = error.text[0] = '\0';
	return 0;
}

static int tear_down(void **state)
{
	world_release(&w);
	return 0;
}

static void brokers_that_answer_are_counted(void **state)
{
	CHECK_EQ(wp_kafka_reach(&w.options, 10000, &sentence, &error), WP_OK);
	CHECK_HAS(sentence.text, "reached 3 brokers of Kafka cluster");
	CHECK_TEXT(error.text, "");
}

static void nobody_there_is_io_with_the_address_and_within_the_time(void **state)
{
	world_down(&w);
	int64_t before = world_clock_ms();
	CHECK_EQ(wp_kafka_reach(&w.options, 5000, &sentence, &error), WP_IO);
	CHECK_IN_TIME(world_clock_ms() - before, 15000);
	CHECK_HAS(error.text, "no Kafka broker answers");
	CHECK_HAS(error.text, "Connection refused");
	CHECK_TEXT(sentence.text, "");
}

static void wrong_credentials_are_told_at_once(void **state)
{
	world_property(&w, "security.protocol", "sasl_plaintext");
	world_property(&w, "sasl.mechanism", "PLAIN");
	world_property(&w, "sasl.username", "me");
	world_property(&w, "sasl.password", "hunter2");
	int64_t before = world_clock_ms();
	CHECK_EQ(wp_kafka_reach(&w.options, 20000, &sentence, &error), WP_CONFIG);
	CHECK_IN_TIME(world_clock_ms() - before, 10000);
	CHECK_HAS(error.text, "Kafka rejects the login:");
	CHECK(strstr(error.text, "hunter2") == NULL);
}

static void a_wrong_property_is_told_with_its_place(void **state)
{
	world_property(&w, "acks", "1");
	CHECK_EQ(wp_kafka_reach(&w.options, 1000, &sentence, &error), WP_CONFIG);
	CHECK_HAS(error.text, "acks = 1 (the test) is refused");
	w.options.property_count--;
	world_property(&w, "max.in.flight", "6");
	CHECK_EQ(wp_kafka_reach(&w.options, 1000, &sentence, &error), WP_CONFIG);
	CHECK_HAS(error.text, "max.in.flight");
}

static struct wp_findings found; /* large */

static const struct wp_finding *finding(const char *name)
{
	for (size_t i = 0; i < found.count; i++)
		if (strcmp(found.items[i].name, name) == 0)
			return &found.items[i];
	fail_msg("no finding %s", name);
	return NULL;
}

/* The mock cluster tells neither configurations nor rights: that fails nothing. */
static void topics_are_looked_at(void **state)
{
	const struct wp_topic_wanted topics[] = {
		{ .name = "there", .use = WP_TOPIC_ROUTED },
		{ .name = "letters", .use = WP_TOPIC_DEAD_LETTERS },
	};
	world_topic(&w, "there", 2);
	world_topic(&w, "letters", 1);
	found.count = 0;
	wp_kafka_check(&w.options, topics, 2, 10000, &found);
	CHECK(wp_findings_failure(&found) == NULL);
	CHECK_EQ(finding("kafka")->level, WP_FINDING_OK);
	CHECK_EQ(finding("kafka_brokers")->level, WP_FINDING_OK);
	CHECK_EQ(finding("kafka_idempotence")->level, WP_FINDING_OK);
	CHECK_HAS(finding("topic")->what, "topic there has 2 partitions");
	CHECK_HAS(finding("dead_letter_topic")->what, "topic letters has 1 partition (");
	CHECK_EQ(finding("topic_config")->level, WP_FINDING_OK);
	CHECK_EQ(finding("topic_write")->level, WP_FINDING_OK);
	/* Ours are topics of one replica; of which librdkafka 2.0 makes three, 2.8 does not. */
	const char *replicas = finding("topic_replication")->what;
	if (strcmp(replicas, "3 replicas") != 0)
		CHECK_HAS(replicas, "if a broker loses its disk");
}

/* Each of the three is a bootstrap server too. */
static void a_broker_that_does_not_answer_fails_the_topics_that_it_leads(void **state)
{
	const struct wp_topic_wanted topics[] = { { .name = "led", .use = WP_TOPIC_ROUTED } };
	world_topic(&w, "led", 1);
	CHECK_EQ(rd_kafka_mock_partition_set_leader(w.cluster, "led", 0, 1), 0);
	CHECK_EQ(rd_kafka_mock_broker_set_down(w.cluster, 3), 0);
	found.count = 0;
	wp_kafka_check(&w.options, topics, 1, 10000, &found);
	CHECK_EQ(finding("kafka_brokers")->level, WP_FINDING_WARN);
	CHECK_HAS(finding("kafka_brokers")->what, "1 of 3 brokers");
	CHECK_HAS(finding("kafka_brokers")->what, "Connection refused");
	CHECK(wp_findings_failure(&found) == NULL);

	CHECK_EQ(rd_kafka_mock_partition_set_leader(w.cluster, "led", 0, 3), 0);
	found.count = 0;
	wp_kafka_check(&w.options, topics, 1, 10000, &found);
	CHECK_EQ(finding("topic_leaders")->level, WP_FINDING_FAIL);
	CHECK_HAS(finding("topic_leaders")->what, "the leader of 1 of 1 partitions");
}

static void nobody_there_is_the_last_finding(void **state)
{
	world_down(&w);
	found.count = 0;
	wp_kafka_check(&w.options, NULL, 0, 1500, &found);
	CHECK_TEXT(wp_findings_failure(&found)->name, "kafka");
	CHECK(wp_findings_failure(&found) == &found.items[found.count - 1]);
}

int main(void)
{
	if (runs_alone())
		return RUN(TEST(nobody_there_is_io_with_the_address_and_within_the_time),
			   TEST(wrong_credentials_are_told_at_once));
	return RUN(TEST(brokers_that_answer_are_counted),
		   TEST(a_wrong_property_is_told_with_its_place), TEST(topics_are_looked_at),
		   TEST(a_broker_that_does_not_answer_fails_the_topics_that_it_leads),
		   TEST(nobody_there_is_the_last_finding));
}
