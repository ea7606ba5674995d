/* The producer on librdkafka's mock cluster, with errors by script. */
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"
#include "support/check.h"
#include "world.h"

#define API_PRODUCE 0
#define API_INIT_PRODUCER_ID 22

static struct world w;
static struct wp_error error;

static int set_up(void **state)
{
	world_init(&w, 1);
	world_topic(&w, TOPIC, 4);
	world_topic(&w, "single", 1);
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

static void send_many(wp_ticket first, wp_ticket last)
{
	struct wp_record record = world_record("single", "k", "a value");

	for (wp_ticket ticket = first; ticket <= last; ticket++)
		world_send(&w, ticket, &record);
}

static void fail_produce(rd_kafka_resp_err_t errstr, size_t times)
{
	for (size_t i = 0; i < times; i++)
		rd_kafka_mock_push_request_errors(w.cluster, API_PRODUCE, 1, errstr);
}

static void restart(enum wp_batching batching)
{
	w.sink->ops->restart(w.sink, batching);
	w.report_count = 0;
}

/* ---- reading back ---- */

static rd_kafka_t *consumer_of(const char *topic, int32_t partition)
{
	char errstr[512];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);

	(void)rd_kafka_conf_set(conf, "bootstrap.servers",
				rd_kafka_mock_cluster_bootstraps(w.cluster), errstr,
				sizeof(errstr));
	(void)rd_kafka_conf_set(conf, "group.id", "test", errstr, sizeof(errstr));
	rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, errstr, sizeof(errstr));
	assert_non_null(rk);
	(void)rd_kafka_poll_set_consumer(rk);
	rd_kafka_topic_partition_list_add(list, topic, partition)->offset =
		RD_KAFKA_OFFSET_BEGINNING;
	CHECK_EQ(rd_kafka_assign(rk, list), RD_KAFKA_RESP_ERR_NO_ERROR);
	rd_kafka_topic_partition_list_destroy(list);
	return rk;
}

static rd_kafka_message_t *read_one(rd_kafka_t *consumer)
{
	int64_t since = world_clock_ms();

	while (true) {
		rd_kafka_message_t *m = rd_kafka_consumer_poll(consumer, 200);
		if (m != NULL && m->err == RD_KAFKA_RESP_ERR_NO_ERROR)
			return m;
		if (m != NULL)
			rd_kafka_message_destroy(m);
		WORLD_GOES_ON(since);
	}
}

static void a_record_arrives_byte_for_byte(void **state)
{
	rd_kafka_headers_t *headers;
	const void *value;
	size_t size;

	struct wp_header sent[] = {
		{ wp_span_of("id"), wp_span_of("7") },
		{ wp_span_of("none"), { NULL, 0 } },
		{ wp_span_of("empty"), wp_span_of("") },
	};
	struct wp_record record = world_record(TOPIC, "the key", "the value");
	record.partition = 2;
	record.headers = sent;
	record.header_count = 3;
	world_open(&w);
	world_send(&w, 1, &record);
	rd_kafka_t *consumer = consumer_of(TOPIC, 2);
	rd_kafka_message_t *m = read_one(consumer);

	CHECK_SPAN(((struct wp_span){ m->key, m->key_len }), "the key");
	CHECK_SPAN(((struct wp_span){ m->payload, m->len }), "the value");
	CHECK_EQ(rd_kafka_message_timestamp(m, NULL), 1700000000000);
	CHECK_EQ(rd_kafka_message_headers(m, &headers), RD_KAFKA_RESP_ERR_NO_ERROR);
	CHECK_EQ(rd_kafka_header_cnt(headers), 3);
	CHECK_EQ(rd_kafka_header_get(headers, 0, "id", &value, &size), 0);
	CHECK_SPAN(((struct wp_span){ value, size }), "7");
	CHECK_EQ(rd_kafka_header_get(headers, 0, "none", &value, &size), 0);
	CHECK(value == NULL);
	CHECK_EQ(rd_kafka_header_get(headers, 0, "empty", &value, &size), 0);
	CHECK(value != NULL);
	CHECK_EQ(size, 0);
	rd_kafka_message_destroy(m);
	rd_kafka_destroy(consumer);
}

static void null_and_empty_arrive_as_such(void **state)
{
	struct wp_record record = world_record("single", "", "");
	world_open(&w);
	world_send(&w, 1, &record);
	record.key = record.value = (struct wp_span){ NULL, 0 };
	record.timestamp_ms = -1;
	world_send(&w, 2, &record);
	record.timestamp_ms = WP_TIMESTAMP_NOW;
	world_send(&w, 3, &record);
	WORLD_UNTIL(&w, w.report_count == 3);
	rd_kafka_t *consumer = consumer_of("single", 0);
	rd_kafka_message_t *empty = read_one(consumer);
	rd_kafka_message_t *null = read_one(consumer);
	rd_kafka_message_t *of_now = read_one(consumer);

	CHECK(empty->key != NULL);
	CHECK_EQ(empty->key_len, 0);
	CHECK(empty->payload != NULL);
	CHECK_EQ(empty->len, 0);
	CHECK(null->key == NULL);
	CHECK(null->payload == NULL);
	/* Brokers refuse what lies before 1970. */
	CHECK_EQ(rd_kafka_message_timestamp(null, NULL), 1);
	CHECK(rd_kafka_message_timestamp(of_now, NULL) > 1700000000000);
	rd_kafka_message_destroy(of_now);
	rd_kafka_message_destroy(empty);
	rd_kafka_message_destroy(null);
	rd_kafka_destroy(consumer);
}

/* Published vectors of Java's murmur2, as kafka-clients places them on four partitions. */
static void a_key_goes_where_javas_partitioner_puts_it(void **state)
{
	static const struct {
		const char *key;
		uint32_t murmur2;
	} vectors[] = {
		{ "kafka", 0xd067cf64 }, { "giberish123456789", 0x8f552b0c },
		{ "1234", 0x9fc97b14 },	 { "234", 0xe7c009ca },
		{ "34", 0x873930da },	 { "4", 0x5a4b5ca1 },
	};

	world_open(&w);
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		char topic[32];
		(void)snprintf(topic, sizeof(topic), "vector-%zu", i);
		world_topic(&w, topic, 4);
		struct wp_record record = world_record(topic, vectors[i].key, "v");
		world_send(&w, i + 1, &record);
		rd_kafka_t *consumer =
			consumer_of(topic, (int32_t)((vectors[i].murmur2 & 0x7fffffff) % 4));
		rd_kafka_message_destroy(read_one(consumer));
		rd_kafka_destroy(consumer);
	}
}

/* ---- reports ---- */

static void tickets_come_back_in_order(void **state)
{
	world_open(&w);
	send_many(1, 1000);
	WORLD_UNTIL(&w, w.report_count == 1000);
	for (size_t i = 0; i < 1000; i++) {
		CHECK_EQ(w.reports[i].ticket, i + 1);
		CHECK_EQ(w.reports[i].outcome, WP_CONFIRMED);
	}
	CHECK_EQ(world_view(&w)->in_flight, 0);
	CHECK(world_view(&w)->reachable);
}

static void an_error_that_passes_is_not_seen(void **state)
{
	world_open(&w);
	rd_kafka_mock_push_request_errors(
		w.cluster, API_PRODUCE, 3, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
		RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT);
	send_many(1, 20);
	WORLD_UNTIL(&w, w.report_count == 20);
	CHECK_EQ(world_count(&w, WP_CONFIRMED), 20);
	CHECK_EQ(world_view(&w)->state, WP_SINK_READY);
}

static void a_size_error_asks_for_isolation_and_breaks_the_producer(void **state)
{
	world_open(&w);
	send_many(1, 1);
	WORLD_UNTIL(&w, w.report_count == 1);
	fail_produce(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, 1);
	send_many(2, 2);
	WORLD_UNTIL(&w, w.report_count == 2 && world_view(&w)->state == WP_SINK_BROKEN);

	CHECK_EQ(w.reports[1].ticket, 2);
	CHECK_EQ(w.reports[1].outcome, WP_REFUSED);
	CHECK_EQ(w.reports[1].reaction, WP_REACT_ISOLATE);
	CHECK(w.reports[1].event_level);
	CHECK_TEXT(w.reports[1].code, "MSG_SIZE_TOO_LARGE");
	CHECK_HAS(world_view(&w)->error.text, "_GAPLESS_GUARANTEE");
	CHECK(world_view(&w)->reachable);
	struct wp_record record = world_record("single", "k", "v");
	CHECK_EQ(world_offer(&w, 3, &record, &error), WP_IO);
	CHECK_HAS(error.text, "unusable");
}

static void after_the_restart_it_delivers_again_one_by_one(void **state)
{
	world_open(&w);
	fail_produce(RD_KAFKA_RESP_ERR_INVALID_RECORD, 1);
	send_many(1, 1);
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_BROKEN);
	restart(WP_BATCHING_ONE_BY_ONE);
	CHECK_EQ(world_view(&w)->state, WP_SINK_STARTING);
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_READY);
	CHECK(wp_properties_is(rd_kafka_conf(inside()->clients.list[0].rk), "batch.num.messages",
			       "1"));
	CHECK(wp_properties_number(rd_kafka_conf(inside()->clients.list[0].rk), "linger.ms") == 0);
	send_many(2, 6);
	WORLD_UNTIL(&w, w.report_count == 5);
	CHECK_EQ(world_count(&w, WP_CONFIRMED), 5);
	CHECK(world_report(&w, 1) == NULL);
	restart(WP_BATCHING_NORMAL);
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_READY);
	CHECK(!wp_properties_is(rd_kafka_conf(inside()->clients.list[0].rk), "batch.num.messages",
				"1"));
}

static void an_unlisted_error_asks_for_a_rewind(void **state)
{
	world_open(&w);
	fail_produce(RD_KAFKA_RESP_ERR_POLICY_VIOLATION, 1);
	send_many(1, 1);
	WORLD_UNTIL(&w, w.report_count == 1);
	CHECK_EQ(w.reports[0].outcome, WP_REFUSED);
	CHECK_EQ(w.reports[0].reaction, WP_REACT_REWIND);
	CHECK(!w.reports[0].event_level);
	CHECK_TEXT(w.reports[0].code, "POLICY_VIOLATION");
}

static void a_fatal_error_breaks_it_until_the_restart(void **state)
{
	world_open(&w);
	send_many(1, 1);
	WORLD_UNTIL(&w, w.report_count == 1);
	(void)rd_kafka_test_fatal_error(inside()->clients.list[0].rk,
					RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER,
					"by the test");
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_BROKEN);
	CHECK_HAS(world_view(&w)->error.text, "by the test");
	restart(WP_BATCHING_NORMAL);
	send_many(2, 2);
	WORLD_UNTIL(&w, w.report_count == 1);
	CHECK_EQ(world_count(&w, WP_CONFIRMED), 1);
}

static void produce_without_idempotence_rights_stops_for_a_human(void **state)
{
	world_open(&w);
	(void)rd_kafka_test_fatal_error(inside()->clients.list[0].rk,
					RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
					"not authorized");
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_FAILED);
	CHECK_EQ(world_view(&w)->reaction, WP_REACT_STOP_CONFIG);
	CHECK_HAS(world_view(&w)->error.text, "IDEMPOTENT_WRITE");
}

/* Brokers ask for it as a producer begins. */
static void a_right_that_was_there_and_is_taken_away_is_waited_for(void **state)
{
	world_open(&w);
	send_many(1, 1);
	WORLD_UNTIL(&w, w.report_count == 1);
	for (int i = 0; i < 2; i++)
		rd_kafka_mock_push_request_errors(w.cluster, API_INIT_PRODUCER_ID, 1,
						  RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED);
	restart(WP_BATCHING_NORMAL);
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_WAITING);
	CHECK_TEXT(world_view(&w)->topic, "");
	CHECK_HAS(world_view(&w)->error.text, "allow IDEMPOTENT_WRITE on the cluster");
	CHECK(world_view(&w)->reachable);
	send_many(2, 2);
	WORLD_UNTIL(&w, world_count(&w, WP_CONFIRMED) == 1);
	CHECK_EQ(w.report_count, 1);
	CHECK_EQ(inside()->idempotence.denials, 0);
	CHECK_EQ(world_view(&w)->state, WP_SINK_READY);
}

static void a_right_that_is_back_is_not_said_to_be_missing_at_the_next_restart(void **state)
{
	world_open(&w);
	send_many(1, 1);
	WORLD_UNTIL(&w, w.report_count == 1);
	rd_kafka_mock_push_request_errors(w.cluster, API_INIT_PRODUCER_ID, 1,
					  RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED);
	restart(WP_BATCHING_NORMAL);
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_WAITING);
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_READY);
	restart(WP_BATCHING_NORMAL);
	CHECK_EQ(world_view(&w)->state, WP_SINK_STARTING);
}

static void denied_with_events_in_flight_it_breaks_and_waits_after_the_restart(void **state)
{
	world_open(&w);
	send_many(1, 1);
	WORLD_UNTIL(&w, w.report_count == 1);
	world_down(&w);
	send_many(2, 2);
	(void)rd_kafka_test_fatal_error(inside()->clients.list[0].rk,
					RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
					"not authorized");
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_BROKEN);
	world_up(&w);
	restart(WP_BATCHING_NORMAL);
	CHECK_EQ(world_view(&w)->state, WP_SINK_WAITING);
	send_many(3, 3);
	WORLD_UNTIL(&w, world_count(&w, WP_CONFIRMED) == 1);
}

static void what_a_purge_takes_back_is_reported_as_purged(void **state)
{
	world_open(&w);
	send_many(1, 1);
	WORLD_UNTIL(&w, w.report_count == 1);
	world_down(&w);
	WORLD_UNTIL(&w, !world_view(&w)->reachable);
	send_many(2, 100);
	w.sink->ops->purge(w.sink);
	WORLD_UNTIL(&w, w.report_count == 100);
	CHECK_EQ(world_count(&w, WP_PURGED), 99);
	CHECK_EQ(world_view(&w)->state, WP_SINK_READY);
}

static void reports_left_in_the_queue_make_it_due_at_once(void **state)
{
	struct wp_report three[3];
	size_t count = 0;

	world_open(&w);
	send_many(1, 50);
	/* All are there before the first is taken. */
	for (int i = 0; i < 200; i++) /* librdkafka counts those that wait to be taken, too */
		(void)poll(NULL, 0, 10);
	while (count + w.report_count < 50) {
		count += w.sink->ops->collect(w.sink, world_clock_ms(), three, 3);
		if (inside()->reports.event != NULL) {
			CHECK(w.sink->ops->due(w.sink) <= world_clock_ms());
			CHECK(count < 50 || inside()->reports.has_more);
		}
	}
	(void)w.sink->ops->collect(w.sink, world_clock_ms(), three, 3);
	CHECK_EQ(world_view(&w)->in_flight, 0);
	CHECK(w.sink->ops->due(w.sink) > world_clock_ms());
}

static bool is_readable(void)
{
	struct pollfd fd = { .events = POLLIN };

	fd.fd = w.sink->ops->fd(w.sink, &fd.events);
	return poll(&fd, 1, 0) == 1;
}

/* Who collects anyway does not pay for it each time; what came meanwhile is told as soon as asked. */
static void the_descriptor_stays_ready_until_it_is_said_to_have_woken(void **state)
{
	world_open(&w);
	send_many(1, 1);
	for (int64_t since = world_clock_ms(); !is_readable();) {
		WORLD_GOES_ON(since);
		(void)poll(NULL, 0, 10);
	}
	world_collect(&w);
	CHECK(is_readable());
	w.sink->ops->woken(w.sink);
	CHECK_EQ(w.report_count, 1);
	WORLD_UNTIL(&w, !is_readable());
	send_many(2, 2);
	WORLD_UNTIL(&w, w.report_count == 2);
}

static void in_flight_up_to_the_bound_never_meets_a_full_queue(void **state)
{
	struct wp_report one;

	world_open(&w);
	send_many(1, (wp_ticket)w.bounds.in_flight_events);
	/* As each one is reported another is sent, while its batch is still half read. */
	wp_ticket next = w.bounds.in_flight_events + 1;
	struct wp_record record = world_record("single", "k", "v");
	for (int64_t since = world_clock_ms(); next < 3 * w.bounds.in_flight_events;) {
		WORLD_GOES_ON(since);
		if (w.sink->ops->collect(w.sink, world_clock_ms(), &one, 1) == 0)
			continue;
		CHECK_EQ(one.outcome, WP_CONFIRMED);
		CHECK_EQ(world_offer(&w, next++, &record, &error), WP_OK);
	}
}

/* ---- topics ---- */

static void a_missing_topic_waits_and_flows_when_it_is_created(void **state)
{
	struct wp_record record = world_record("not-there", "k", "v");
	world_topic_says(&w, "not-there", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	world_open(&w);
	CHECK_EQ(world_offer(&w, 1, &record, &error), WP_OK);
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_WAITING);
	CHECK_TEXT(world_view(&w)->topic, "not-there");
	CHECK_HAS(world_view(&w)->error.text, "not-there does not exist");
	CHECK_EQ(world_offer(&w, 2, &record, &error), WP_AGAIN);
	CHECK_EQ(world_view(&w)->state, WP_SINK_WAITING);

	world_topic_says(&w, "not-there", RD_KAFKA_RESP_ERR_NO_ERROR);
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_READY);
	CHECK_TEXT(world_view(&w)->topic, "");
	WORLD_UNTIL(&w, w.report_count == 1);
	CHECK_EQ(w.reports[0].outcome, WP_CONFIRMED);
}

/* One by one it is the relay that has the event, and that may have another by now. */
static void a_topic_waited_for_no_longer_holds_up_another(void **state)
{
	struct wp_record record = world_record("not-there", "k", "v");
	world_topic_says(&w, "not-there", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
	world_open(&w);
	restart(WP_BATCHING_ONE_BY_ONE);
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_READY);
	CHECK_EQ(world_offer(&w, 1, &record, &error), WP_AGAIN);
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_WAITING);
	send_many(2, 3);
	WORLD_UNTIL(&w, w.report_count == 2);
	CHECK_EQ(world_view(&w)->state, WP_SINK_READY);
}

static void a_forbidden_topic_waits_until_it_is_allowed(void **state)
{
	struct wp_record record = world_record("single", "k", "v");
	world_open(&w);
	/*
	 * The mock lists the partitions of a forbidden topic, as no broker does; librdkafka
	 * 2.6 to 2.8 crashes on those it does not know yet (issue 4907).
	 */
	send_many(1, 1);
	WORLD_UNTIL(&w, w.report_count == 1);
	world_topic_says(&w, "single", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
	(void)snprintf(inside()->admission.rules.principal,
		       sizeof(inside()->admission.rules.principal), "User:alice");
	wp_admission_distrust(&inside()->admission, "single",
			      RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, inside()->now_ms);
	CHECK_EQ(world_offer(&w, 2, &record, &error), WP_OK);
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_WAITING);
	CHECK_HAS(world_view(&w)->error.text, "User:alice may not write topic single");
	world_topic_says(&w, "single", RD_KAFKA_RESP_ERR_NO_ERROR);
	WORLD_UNTIL(&w, w.report_count == 2);
	CHECK_EQ(w.reports[1].outcome, WP_CONFIRMED);
}

static void a_topic_refused_by_report_waits_after_the_restart(void **state)
{
	struct wp_record record = world_record("single", "k", "v");
	world_open(&w);
	fail_produce(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, 1);
	world_send(&w, 1, &record);
	WORLD_UNTIL(&w, w.report_count == 1);
	CHECK_EQ(w.reports[0].outcome, WP_REFUSED);
	CHECK_EQ(w.reports[0].reaction, WP_REACT_WAIT_TOPIC);

	restart(WP_BATCHING_NORMAL);
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_READY);
	CHECK_EQ(world_offer(&w, 1, &record, &error), WP_OK);
	world_collect(&w);
	CHECK_EQ(world_view(&w)->state, WP_SINK_WAITING);
	CHECK_TEXT(world_view(&w)->topic, "single");
	WORLD_UNTIL(&w, w.report_count == 1);
	CHECK_EQ(w.reports[0].outcome, WP_CONFIRMED);
	CHECK_EQ(wp_topics_find(&inside()->admission.topics, "single")->failures, 0);
}

static void a_partition_that_is_not_there_is_refused_once_they_were_counted_for_it(void **state)
{
	struct wp_record record = world_record("single", "k", "v");
	enum wp_rc rc = WP_AGAIN;
	record.partition = 1;
	world_open(&w);
	send_many(1, 1);
	WORLD_UNTIL(&w, w.report_count == 1);
	w.report_count = 0;
	/* The first answer is no older than this, and yet they are counted for each anew. */
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(world_offer(&w, 1, &record, &error), WP_AGAIN);
		WORLD_UNTIL(&w, (rc = world_offer(&w, 1, &record, &error)) != WP_AGAIN);
		CHECK_EQ(rc, WP_DATA);
		CHECK_HAS(
			error.text,
			"has partition 1, but topic single has only 1 partitions, counted from 0");
	}
	record.partition = 0;
	world_send(&w, 1, &record);
	WORLD_UNTIL(&w, w.report_count == 1);
	CHECK_EQ(w.reports[0].outcome, WP_CONFIRMED);
}

static void with_auto_creation_a_missing_topic_does_not_wait(void **state)
{
	struct wp_record record = world_record("made-by-the-first", "k", "v");
	world_property(&w, "allow.auto.create.topics", "true");
	world_open(&w);
	world_send(&w, 1, &record);
	WORLD_UNTIL(&w, w.report_count == 1);
	CHECK_EQ(w.reports[0].outcome, WP_CONFIRMED);
}

static void an_event_above_message_max_bytes_is_data(void **state)
{
	static char large[1000001];

	memset(large, 'x', sizeof(large) - 1);
	struct wp_record record = world_record("single", "k", large);
	struct wp_record small = world_record("single", "k", "v");
	world_open(&w);
	world_send(&w, 1, &small);
	WORLD_UNTIL(&w, w.report_count == 1);
	CHECK_EQ(world_offer(&w, 2, &record, &error), WP_DATA);
	CHECK_HAS(error.text, "1000001 bytes for topic single");
	CHECK_HAS(error.text, "message.max.bytes = 1000000");
	CHECK_EQ(world_view(&w)->in_flight, 0);
	world_send(&w, 3, &small);
	WORLD_UNTIL(&w, w.report_count == 2);
}

static void a_topic_name_that_cannot_be_is_data(void **state)
{
	char name[WP_TOPIC_NAME_MAX + 2];

	memset(name, 'x', sizeof(name));
	name[WP_TOPIC_NAME_MAX + 1] = '\0';
	world_open(&w);
	struct wp_record record = world_record(name, "k", "v");
	CHECK_EQ(world_offer(&w, 1, &record, &error), WP_DATA);
	record.topic = wp_span_of("");
	CHECK_EQ(world_offer(&w, 1, &record, &error), WP_DATA);
}

/* ---- the other side ---- */

static void a_cluster_that_is_gone_is_not_reachable_and_comes_back_by_itself(void **state)
{
	world_open(&w);
	CHECK(!world_view(&w)->reachable);
	WORLD_UNTIL(&w, world_view(&w)->reachable);
	CHECK_TEXT(world_view(&w)->error.text, "");
	world_down(&w);
	WORLD_UNTIL(&w, !world_view(&w)->reachable);
	CHECK_HAS(world_view(&w)->error.text, "Kafka does not answer");
	CHECK_EQ(world_view(&w)->state, WP_SINK_READY);
	world_up(&w);
	WORLD_UNTIL(&w, world_view(&w)->reachable);
}

/* To ask for a topic might make it: it asks for none. */
static void with_auto_creation_an_idle_one_learns_of_the_cluster_all_the_same(void **state)
{
	world_property(&w, "allow.auto.create.topics", "true");
	world_open(&w);
	WORLD_UNTIL(&w, world_view(&w)->reachable);
	world_down(&w);
	WORLD_UNTIL(&w, !world_view(&w)->reachable);
	world_up(&w);
	WORLD_UNTIL(&w, world_view(&w)->reachable);
}

/* What librdkafka remembers of the topic that it was asked for is no answer of the cluster. */
static void an_idle_one_notices_each_outage(void **state)
{
	world_open(&w);
	for (int i = 0; i < 2; i++) {
		WORLD_UNTIL(&w, world_view(&w)->reachable);
		world_down(&w);
		WORLD_UNTIL(&w, !world_view(&w)->reachable);
		world_up(&w);
	}
}

/* As where the brokers' names are not that of the load balancer before them. */
static void a_bootstrap_address_that_no_broker_goes_by_will_do(void **state)
{
	char address[64];

	const char *port = strrchr(rd_kafka_mock_cluster_bootstraps(w.cluster), ':');
	(void)snprintf(address, sizeof(address), "localhost%s", port);
	w.options.property_count = 0;
	world_property(&w, "bootstrap.servers", address);
	world_open(&w);
	send_many(1, 1);
	WORLD_UNTIL(&w, w.report_count == 1);
}

static int three_brokers(void **state)
{
	world_init(&w, 3);
	world_topic(&w, "single", 1);
	error.text[0] = '\0';
	return 0;
}

static void one_broker_less_is_not_an_outage(void **state)
{
	CHECK_EQ(rd_kafka_mock_partition_set_leader(w.cluster, "single", 0, 2),
		 RD_KAFKA_RESP_ERR_NO_ERROR);
	world_open(&w);
	send_many(1, 1);
	WORLD_UNTIL(&w, w.report_count == 1);
	CHECK_EQ(rd_kafka_mock_broker_set_down(w.cluster, 2), RD_KAFKA_RESP_ERR_NO_ERROR);
	WORLD_UNTIL(&w, inside()->reachability.is_suspect);
	CHECK(world_view(&w)->reachable);
	while (inside()->reachability.is_suspect) {
		world_turn(&w);
		CHECK(world_view(&w)->reachable);
	}
	CHECK_TEXT(world_view(&w)->error.text, "");
}

static void a_cluster_that_is_silent_is_noticed_while_something_is_in_flight(void **state)
{
	world_open(&w);
	send_many(1, 1);
	WORLD_UNTIL(&w, w.report_count == 1);
	CHECK_EQ(rd_kafka_mock_broker_set_rtt(w.cluster, 1, 15000), RD_KAFKA_RESP_ERR_NO_ERROR);
	send_many(2, 2);
	WORLD_UNTIL(&w, !world_view(&w)->reachable);
	CHECK_EQ(w.report_count, 1);
	CHECK_EQ(rd_kafka_mock_broker_set_rtt(w.cluster, 1, 0), RD_KAFKA_RESP_ERR_NO_ERROR);
	WORLD_UNTIL(&w, w.report_count == 2);
	CHECK(world_view(&w)->reachable);
}

/* Else the next outage would be noticed late. */
static void after_an_outage_it_learns_anew_how_long_answers_take(void **state)
{
	world_open(&w);
	send_many(1, 1);
	WORLD_UNTIL(&w, w.report_count == 1);
	int32_t patience_ms = inside()->inquiry.patience_ms;
	/* The question is asked during it, and answered when it ends. */
	CHECK_EQ(rd_kafka_mock_broker_set_rtt(w.cluster, 1, 4000), RD_KAFKA_RESP_ERR_NO_ERROR);
	inside()->inquiry.patience_ms = 30000;
	inside()->reachability.is_reachable = false;
	WORLD_UNTIL(&w, inside()->inquiry.stage == WP_INQUIRY_CONTACT);
	for (int i = 0; i < 10; i++)
		world_turn(&w); /* it arrives */
	CHECK_EQ(rd_kafka_mock_broker_set_rtt(w.cluster, 1, 0), RD_KAFKA_RESP_ERR_NO_ERROR);
	WORLD_UNTIL(&w, world_view(&w)->reachable);
	WORLD_UNTIL(&w, inside()->inquiry.patience_ms == patience_ms);
}

static void a_cluster_that_is_down_at_the_start_is_waited_for(void **state)
{
	world_down(&w);
	world_open(&w);
	struct wp_record record = world_record("single", "k", "v");
	CHECK_EQ(world_offer(&w, 1, &record, &error), WP_OK);
	WORLD_UNTIL(&w, strstr(world_view(&w)->error.text, "does not answer") != NULL);
	CHECK_EQ(world_view(&w)->state, WP_SINK_READY);
	world_up(&w);
	WORLD_UNTIL(&w, w.report_count == 1);
}

static void wrong_credentials_at_the_start_stop_for_a_human(void **state)
{
	world_property(&w, "security.protocol", "sasl_plaintext");
	world_property(&w, "sasl.mechanism", "PLAIN");
	world_property(&w, "sasl.username", "me");
	world_property(&w, "sasl.password", "hunter2");
	world_open(&w);
	WORLD_UNTIL(&w, world_view(&w)->state == WP_SINK_FAILED);
	CHECK_EQ(world_view(&w)->reaction, WP_REACT_STOP_CONFIG);
	CHECK_HAS(world_view(&w)->error.text, "sasl.password");
	CHECK(strstr(world_view(&w)->error.text, "hunter2") == NULL);
}

/* It may be a balancer whose brokers are still down: not a reason to give up. */
static void tls_on_a_plain_listener_is_told_and_waited_for(void **state)
{
	world_property(&w, "security.protocol", "ssl");
	world_open(&w);
	WORLD_UNTIL(&w, strstr(world_view(&w)->error.text, "PLAINTEXT") != NULL);
	CHECK(!world_view(&w)->reachable);
	CHECK_EQ(world_view(&w)->state, WP_SINK_READY);
}

static void a_wrong_property_is_refused_at_once(void **state)
{
	world_property(&w, "acks", "1");
	CHECK_EQ(wp_producer_new(&w.options, &w.bounds, w.worker, &w.sink, &error), WP_CONFIG);
	CHECK_HAS(error.text, "acks = 1 (the test) is refused");
	w.options.property_count--;
	world_property(&w, "max.in.flight", "6");
	CHECK_EQ(wp_producer_new(&w.options, &w.bounds, w.worker, &w.sink, &error), WP_CONFIG);
	CHECK_HAS(error.text, "max.in.flight");
	w.options.property_count--;
	world_property(&w, "security.protocol", "ssl");
	world_property(&w, "ssl.ca.location", "/does/not/exist");
	CHECK_EQ(wp_producer_new(&w.options, &w.bounds, w.worker, &w.sink, &error), WP_CONFIG);
	CHECK_HAS(error.text, "ssl.ca.location");
	CHECK(w.sink == NULL);
}

/* ---- client lifecycle ---- */

static sem_t barrier;

static void wait_at_barrier(void *arg)
{
	while (sem_wait(&barrier) != 0)
		continue;
}

static void block_worker(size_t jobs)
{
	struct wp_job job = { .run = wait_at_barrier };
	uint64_t id;

	CHECK_EQ(sem_init(&barrier, 0, 0), 0);
	for (size_t i = 0; i < jobs; i++)
		CHECK_EQ(wp_worker_submit(w.worker, &job, &id), WP_OK);
}

static void free_worker(size_t jobs)
{
	for (size_t i = 0; i < jobs; i++)
		(void)sem_post(&barrier);
}

/* rd_kafka_destroy() is a job like the one that blocks here: however long it takes. */
static void a_restart_does_not_wait_and_the_new_one_waits_for_the_old(void **state)
{
	struct wp_record record = world_record("single", "k", "v");
	world_open(&w);
	send_many(1, 10);
	WORLD_UNTIL(&w, world_view(&w)->reachable && inside()->inquiry.stage == WP_INQUIRY_IDLE);
	block_worker(1);
	restart(WP_BATCHING_NORMAL);
	CHECK(inside()->clients
		      .is_destroying); /* handed over, not waited for: the worker is blocked */
	for (int i = 0; i < 5; i++) {
		world_turn(&w);
		CHECK_EQ(world_view(&w)->state, WP_SINK_STARTING);
		CHECK_EQ(world_offer(&w, 11, &record, &error), WP_AGAIN);
		CHECK(inside()->clients.list[0].rk == NULL);
	}
	free_worker(1);
	send_many(11, 20);
	WORLD_UNTIL(&w, w.report_count == 10);
	CHECK(world_report(&w, 10) == NULL);
}

static void a_worker_without_room_is_asked_again(void **state)
{
	world_open(&w);
	send_many(1, 1);
	WORLD_UNTIL(&w, w.report_count == 1);
	/* One runs, 64 wait; it may take a moment until the first runs. */
	block_worker(64);
	uint64_t id;
	struct wp_job job = { .run = wait_at_barrier };
	while (wp_worker_submit(w.worker, &job, &id) != WP_OK)
		continue;
	restart(WP_BATCHING_NORMAL);
	world_turn(&w);
	CHECK_EQ(inside()->clients.closed_count, 1);
	CHECK(w.sink->ops->due(w.sink) < INT64_MAX);
	free_worker(65);
	send_many(2, 2);
	WORLD_UNTIL(&w, w.report_count == 1);
	CHECK_EQ(inside()->clients.closed_count, 0);
}

static void it_may_be_freed_while_it_starts(void **state)
{
	world_open(&w);
	send_many(1, 10);
	block_worker(1);
	restart(WP_BATCHING_NORMAL);
	world_close(&w);
	free_worker(1);
}

static void a_question_may_be_out_when_it_is_freed(void **state)
{
	world_down(&w);
	world_open(&w);
	struct wp_record record = world_record("single", "k", "v");
	CHECK_EQ(world_offer(&w, 1, &record, &error), WP_OK);
	world_collect(&w);
	CHECK_EQ(inside()->inquiry.stage, WP_INQUIRY_CONTACT);
	world_close(&w);
	world_up(&w);
}

int main(void)
{
	return RUN(TEST(a_record_arrives_byte_for_byte), TEST(null_and_empty_arrive_as_such),
		   TEST(a_key_goes_where_javas_partitioner_puts_it),
		   TEST(tickets_come_back_in_order), TEST(an_error_that_passes_is_not_seen),
		   TEST(a_size_error_asks_for_isolation_and_breaks_the_producer),
		   TEST(after_the_restart_it_delivers_again_one_by_one),
		   TEST(an_unlisted_error_asks_for_a_rewind),
		   TEST(a_fatal_error_breaks_it_until_the_restart),
		   TEST(a_right_that_was_there_and_is_taken_away_is_waited_for),
		   TEST(a_right_that_is_back_is_not_said_to_be_missing_at_the_next_restart),
		   TEST(denied_with_events_in_flight_it_breaks_and_waits_after_the_restart),
		   TEST(produce_without_idempotence_rights_stops_for_a_human),
		   TEST(what_a_purge_takes_back_is_reported_as_purged),
		   TEST(reports_left_in_the_queue_make_it_due_at_once),
		   TEST(the_descriptor_stays_ready_until_it_is_said_to_have_woken),
		   TEST(in_flight_up_to_the_bound_never_meets_a_full_queue),
		   TEST(a_missing_topic_waits_and_flows_when_it_is_created),
		   TEST(a_topic_waited_for_no_longer_holds_up_another),
		   TEST(a_forbidden_topic_waits_until_it_is_allowed),
		   TEST(a_topic_refused_by_report_waits_after_the_restart),
		   TEST(a_partition_that_is_not_there_is_refused_once_they_were_counted_for_it),
		   TEST(with_auto_creation_a_missing_topic_does_not_wait),
		   TEST(an_event_above_message_max_bytes_is_data),
		   TEST(a_topic_name_that_cannot_be_is_data),
		   TEST(a_cluster_that_is_gone_is_not_reachable_and_comes_back_by_itself),
		   TEST(with_auto_creation_an_idle_one_learns_of_the_cluster_all_the_same),
		   TEST(an_idle_one_notices_each_outage),
		   TEST(a_bootstrap_address_that_no_broker_goes_by_will_do),
		   cmocka_unit_test_setup_teardown(one_broker_less_is_not_an_outage, three_brokers,
						   tear_down),
		   TEST(a_cluster_that_is_silent_is_noticed_while_something_is_in_flight),
		   TEST(after_an_outage_it_learns_anew_how_long_answers_take),
		   TEST(a_cluster_that_is_down_at_the_start_is_waited_for),
		   TEST(wrong_credentials_at_the_start_stop_for_a_human),
		   TEST(tls_on_a_plain_listener_is_told_and_waited_for),
		   TEST(a_wrong_property_is_refused_at_once),
		   TEST(a_restart_does_not_wait_and_the_new_one_waits_for_the_old),
		   TEST(a_worker_without_room_is_asked_again),
		   TEST(it_may_be_freed_while_it_starts),
		   TEST(a_question_may_be_out_when_it_is_freed));
}
