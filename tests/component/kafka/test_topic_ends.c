#include <string.h>

#include "support/check.h"
#include "walpost/kafka_inspect/topic_ends.h"
#include "world.h"

#define FETCH 1 /* ApiKey */

static struct world w;
static struct wp_topic_ends ends;
static rd_kafka_t *writer;

static struct wp_topic_ends_question question;

static int set_up(void **state)
{
	char errstr[256];

	world_init(&w, 1);
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	(void)rd_kafka_conf_set(conf, "bootstrap.servers",
				rd_kafka_mock_cluster_bootstraps(w.cluster), errstr,
				sizeof(errstr));
	writer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, errstr, sizeof(errstr));
	assert_non_null(writer);
	question = (struct wp_topic_ends_question){
		.topics = { "events.a,events.b" },
		.source = "",
		.epoch = 1,
	};
	return 0;
}

static int tear_down(void **state)
{
	rd_kafka_destroy(writer);
	world_release(&w);
	return 0;
}

/* NULL: no such header. */
static void write(const char *topic, int32_t partition, const char *position, const char *source)
{
	rd_kafka_headers_t *headers = rd_kafka_headers_new(2);

	if (position != NULL)
		(void)rd_kafka_header_add(headers, "walpost-position", -1, position, -1);
	if (source != NULL)
		(void)rd_kafka_header_add(headers, "walpost-source", -1, source, -1);
	CHECK_EQ(rd_kafka_producev(writer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
				   RD_KAFKA_V_VALUE("v", 1),
				   RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
				   RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END),
		 RD_KAFKA_RESP_ERR_NO_ERROR);
}

static void write_event(const char *topic, int32_t partition, unsigned epoch, unsigned lsn)
{
	char position[WP_POSITION_TEXT_SIZE];

	(void)wp_position_text(&(struct wp_position){ (uint16_t)epoch, 1, (wp_lsn)lsn, 0 },
			       position);
	write(topic, partition, position, NULL);
}

static void read_topic_ends(int timeout_ms)
{
	CHECK_EQ(rd_kafka_flush(writer, 20000), RD_KAFKA_RESP_ERR_NO_ERROR);
	wp_topic_ends_read(&w.options, &question, timeout_ms, &ends);
}

static void check_highest(const char *topic, int32_t partition, wp_lsn lsn)
{
	CHECK_TEXT(ends.error.text, "");
	CHECK_EQ(ends.state, WP_TOPIC_ENDS_KNOWN);
	CHECK(ends.found);
	CHECK_EQ(ends.highest.commit_lsn, lsn);
	CHECK_TEXT(ends.topic, topic);
	CHECK_EQ(ends.partition, partition);
	CHECK_EQ(ends.unread_partitions, 0);
}

static void the_highest_of_many_partitions_is_found(void **state)
{
	world_topic(&w, "events.a", 150); /* more than are read at once; most are empty */
	world_topic(&w, "events.b", 3);
	world_topic(&w, "other.c", 1);
	for (int32_t p = 0; p < 150; p += 7)
		write_event("events.a", p, 1, p == 84 ? 2000 : 1000 + (unsigned)p);
	write_event("events.b", 2, 1, 999);
	write_event("other.c", 0, 1, 99999);
	read_topic_ends(60000);
	check_highest("events.a", 84, 2000);
	CHECK_EQ(ends.partitions, 153);
}

static void empty_topics_hold_nothing(void **state)
{
	world_topic(&w, "events.a", 3);
	read_topic_ends(30000);
	CHECK_TEXT(ends.error.text, "");
	CHECK_EQ(ends.state, WP_TOPIC_ENDS_KNOWN);
	CHECK(!ends.found);
	CHECK_EQ(ends.partitions, 3);
}

static void no_topic_of_ours_is_known_too(void **state)
{
	world_topic(&w, "other", 3);
	read_topic_ends(30000);
	CHECK_EQ(ends.state, WP_TOPIC_ENDS_KNOWN);
	CHECK(!ends.found);
	CHECK_EQ(ends.partitions, 0);
}

static void only_the_configured_epoch_counts(void **state)
{
	world_topic(&w, "events.a", 2);
	write_event("events.a", 0, 0, 5000);
	write_event("events.a", 0, 1, 300);
	write_event("events.a", 1, 2, 9000);
	read_topic_ends(30000);
	check_highest("events.a", 0, 300);
}

static void a_repetition_at_the_end_does_not_hide_what_is_higher(void **state)
{
	world_topic(&w, "events.a", 1);
	for (unsigned lsn = 100; lsn <= 110; lsn++)
		write_event("events.a", 0, 1, lsn);
	write_event("events.a", 0, 1, 105);
	read_topic_ends(30000);
	check_highest("events.a", 0, 110);
}

static void behind_many_records_without_the_header_it_is_found(void **state)
{
	world_topic(&w, "events.a", 1);
	write_event("events.a", 0, 1, 700);
	for (int i = 0; i < 1000; i++)
		write("events.a", 0, i % 2 == 0 ? NULL : "not a position", NULL);
	read_topic_ends(30000);
	check_highest("events.a", 0, 700);
}

static void too_many_records_without_the_header_are_said(void **state)
{
	world_topic(&w, "events.a", 1);
	write_event("events.a", 0, 1, 700);
	for (int i = 0; i < 4096; i++)
		write("events.a", 0, NULL, NULL);
	read_topic_ends(60000);
	CHECK_EQ(ends.state, WP_TOPIC_ENDS_KNOWN);
	CHECK_EQ(ends.unread_partitions, 1);
	CHECK_HAS(ends.error.text, "1 of 1 partitions");
	CHECK_HAS(ends.error.text, "topic events.a, partition 0: no event with walpost-position");
}

static void another_source_does_not_count(void **state)
{
	world_topic(&w, "events.a", 1);
	question.source = "mine";
	write("events.a", 0, "0001-00000001-0000000000000100-00000000", "mine");
	write("events.a", 0, "0001-00000001-0000000000000900-00000000", "theirs");
	write("events.a", 0, "0001-00000001-0000000000000800-00000000", NULL);
	read_topic_ends(30000);
	check_highest("events.a", 0, 0x100);
}

static void nobody_there_is_unreachable_within_the_time(void **state)
{
	world_down(&w);
	int64_t before = world_clock_ms();
	wp_topic_ends_read(&w.options, &question, 1500, &ends);
	CHECK_IN_TIME(world_clock_ms() - before, 10000);
	CHECK_EQ(ends.state, WP_TOPIC_ENDS_UNREACHABLE);
	CHECK_HAS(ends.error.text, "no Kafka broker answers");
}

static void a_topic_that_may_not_be_seen_is_said_and_the_others_count(void **state)
{
	world_topic(&w, "events.a", 1);
	world_topic(&w, "events.b", 1);
	write_event("events.a", 0, 1, 400);
	write_event("events.b", 0, 1, 500);
	CHECK_EQ(rd_kafka_flush(writer, 20000), RD_KAFKA_RESP_ERR_NO_ERROR);
	rd_kafka_mock_topic_set_error(w.cluster, "events.b",
				      RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
	wp_topic_ends_read(&w.options, &question, 30000, &ends);
	CHECK_EQ(ends.state, WP_TOPIC_ENDS_KNOWN);
	CHECK(ends.unread_partitions > 0);
	CHECK_HAS(ends.error.text, "events.b");
	CHECK_HAS(ends.error.text, "uthorization failed");
	CHECK_EQ(ends.highest.commit_lsn, 400);
}

static void a_topic_that_may_not_be_read_is_said(void **state)
{
	world_topic(&w, "events.a", 1);
	write_event("events.a", 0, 1, 400);
	CHECK_EQ(rd_kafka_flush(writer, 20000), RD_KAFKA_RESP_ERR_NO_ERROR);
	rd_kafka_mock_push_request_errors(w.cluster, FETCH, 3,
					  RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
					  RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
					  RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
	wp_topic_ends_read(&w.options, &question, 30000, &ends);
	CHECK_EQ(ends.state, WP_TOPIC_ENDS_KNOWN);
	CHECK(!ends.found);
	CHECK_EQ(ends.unread_partitions, 1);
	CHECK_HAS(ends.error.text, "topic events.a, partition 0: ");
	CHECK_HAS(ends.error.text, "uthorization failed");
}

static void a_producers_properties_do_not_disturb(void **state)
{
	world_property(&w, "compression.type", "lz4");
	world_property(&w, "linger.ms", "7");
	world_property(&w, "client.id", "mine");
	world_topic(&w, "events.a", 1);
	write_event("events.a", 0, 1, 400);
	read_topic_ends(30000);
	check_highest("events.a", 0, 400);
}

static void the_sink_answers_in_its_view(void **state)
{
	world_topic(&w, "events.a", 2);
	write_event("events.a", 1, 1, 400);
	CHECK_EQ(rd_kafka_flush(writer, 20000), RD_KAFKA_RESP_ERR_NO_ERROR);
	world_open(&w);
	w.sink->ops->ask_topic_ends(w.sink, &question);
	CHECK_EQ(world_view(&w)->topic_ends.state, WP_TOPIC_ENDS_ASKING);
	WORLD_UNTIL(&w, world_view(&w)->topic_ends.state != WP_TOPIC_ENDS_ASKING);
	ends = world_view(&w)->topic_ends;
	check_highest("events.a", 1, 400);
}

/* Whoever asked may have another configuration before the answer comes. */
static void what_was_asked_is_not_looked_at_again(void **state)
{
	char source[] = "mine";

	world_topic(&w, "events.a", 1);
	write_event("events.a", 0, 1, 400);
	write("events.a", 0, "0001-00000001-0000000000000900-00000000", "theirs");
	write("events.a", 0, "0001-00000001-0000000000000500-00000000", source);
	CHECK_EQ(rd_kafka_flush(writer, 20000), RD_KAFKA_RESP_ERR_NO_ERROR);
	world_open(&w);
	question.source = source;
	w.sink->ops->ask_topic_ends(w.sink, &question);
	memset(source, 'x', sizeof(source) - 1);
	WORLD_UNTIL(&w, world_view(&w)->topic_ends.state != WP_TOPIC_ENDS_ASKING);
	ends = world_view(&w)->topic_ends;
	check_highest("events.a", 0, 0x500);
}

int main(void)
{
	if (runs_alone())
		return RUN(TEST(nobody_there_is_unreachable_within_the_time));
	return RUN(TEST(the_highest_of_many_partitions_is_found), TEST(empty_topics_hold_nothing),
		   TEST(no_topic_of_ours_is_known_too), TEST(only_the_configured_epoch_counts),
		   TEST(a_repetition_at_the_end_does_not_hide_what_is_higher),
		   TEST(behind_many_records_without_the_header_it_is_found),
		   TEST(too_many_records_without_the_header_are_said),
		   TEST(another_source_does_not_count),
		   TEST(a_topic_that_may_not_be_seen_is_said_and_the_others_count),
		   TEST(a_topic_that_may_not_be_read_is_said),
		   TEST(a_producers_properties_do_not_disturb), TEST(the_sink_answers_in_its_view),
		   TEST(what_was_asked_is_not_looked_at_again));
}
