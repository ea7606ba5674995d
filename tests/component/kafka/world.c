#include <poll.h>
#include <time.h>

#include "support/check.h"
#include "world.h"

int64_t world_clock_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/*
 * Kafka's numbers of requests, and the newest version of each that the mock cluster offers. In newer
 * ones librdkafka 2.8.0 crashes on what only a mock cluster does: with Produce 10 it writes the leader
 * of a partition that has none, and with Metadata 7 it gives leader epochs for a topic with an error,
 * whose partitions the client has not counted. Brokers send no partitions with an error. From
 * Metadata 4 on a client says whether a topic may be created; with Metadata 0 librdkafka 2.8.0 runs
 * out of the memory that it sets aside for the answer.
 */
enum { PRODUCE = 0, PRODUCE_MAX = 9, METADATA = 3, METADATA_MAX = 6 };

/*
 * The mock cluster names broker 0 as its controller, but its brokers are numbered from 1: a question
 * to the controller would only time out. Here it names none, which a cluster may do as well.
 */
int32_t __real_rd_kafka_controllerid(rd_kafka_t *rk, int timeout_ms);
int32_t __wrap_rd_kafka_controllerid(rd_kafka_t *rk, int timeout_ms);

int32_t __wrap_rd_kafka_controllerid(rd_kafka_t *rk, int timeout_ms)
{
	int32_t id = __real_rd_kafka_controllerid(rk, timeout_ms);

	return id == 0 ? -1 : id;
}

void world_init(struct world *w, int broker_count)
{
	char errstr[512];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();

	*w = (struct world){ .broker_count = broker_count };
	(void)rd_kafka_conf_set(conf, "log_level", "3", errstr, sizeof(errstr));
	w->host = rd_kafka_new(RD_KAFKA_PRODUCER, conf, errstr, sizeof(errstr));
	assert_non_null(w->host);
	w->cluster = rd_kafka_mock_cluster_new(w->host, broker_count);
	assert_non_null(w->cluster);
	rd_kafka_mock_set_apiversion(w->cluster, PRODUCE, 0, PRODUCE_MAX);
	rd_kafka_mock_set_apiversion(w->cluster, METADATA, 0, METADATA_MAX);
	CHECK_EQ(wp_worker_new(&w->worker, NULL), WP_OK);
	w->bounds = (struct wp_kafka_bounds){ 4096, 16 << 20 };
	world_property(w, "bootstrap.servers", rd_kafka_mock_cluster_bootstraps(w->cluster));
	world_property(w, "reconnect.backoff.max.ms", "100");
	world_property(w, "retry.backoff.ms", "20");
	w->now_ms = world_clock_ms();
}

void world_release(struct world *w)
{
	if (w->sink != NULL)
		world_close(w);
	wp_worker_free(w->worker, 20000);
	rd_kafka_mock_cluster_destroy(w->cluster);
	rd_kafka_destroy(w->host);
	*w = (struct world){ 0 };
}

void world_property(struct world *w, const char *name, const char *value)
{
	CHECK(w->options.property_count < WP_PROPERTIES_MAX);
	w->options.properties[w->options.property_count++] =
		(struct wp_property){ .name = name, .value = value, .where = "the test" };
}

void world_topic(struct world *w, const char *name, int partitions)
{
	CHECK_EQ(rd_kafka_mock_topic_create(w->cluster, name, partitions, 1),
		 RD_KAFKA_RESP_ERR_NO_ERROR);
}

void world_topic_says(struct world *w, const char *name, rd_kafka_resp_err_t code)
{
	rd_kafka_mock_topic_set_error(w->cluster, name, code);
}

void world_open(struct world *w)
{
	struct wp_error error = { "" };

	enum wp_rc rc = wp_producer_new(&w->options, &w->bounds, w->worker, &w->sink, &error);
	CHECK_TEXT(error.text, "");
	CHECK_EQ(rc, WP_OK);
}

void world_close(struct world *w)
{
	w->sink->ops->free(w->sink, 1000);
	w->sink = NULL;
}

void world_down(struct world *w)
{
	for (int32_t id = 1; id <= w->broker_count; id++)
		CHECK_EQ(rd_kafka_mock_broker_set_down(w->cluster, id), 0);
}

void world_up(struct world *w)
{
	for (int32_t id = 1; id <= w->broker_count; id++)
		CHECK_EQ(rd_kafka_mock_broker_set_up(w->cluster, id), 0);
}

void world_pump(struct world *w, int64_t wait_ms)
{
	struct pollfd fds[2] = { { .fd = wp_worker_fd(w->worker), .events = POLLIN } };

	fds[1].fd = w->sink->ops->fd(w->sink, &fds[1].events);
	int64_t due = w->sink->ops->due(w->sink);
	int64_t wait = due == INT64_MAX ? wait_ms : due - world_clock_ms();
	wait = wait < 0 ? 0 : wait > wait_ms ? wait_ms : wait;
	(void)poll(fds, 2, (int)wait);
	if (fds[0].revents != 0)
		wp_worker_collect(w->worker);
	if (fds[1].revents != 0)
		w->sink->ops->woken(w->sink);
	w->now_ms = world_clock_ms();
}

void world_collect(struct world *w)
{
	size_t room = sizeof(w->reports) / sizeof(w->reports[0]) - w->report_count;
	CHECK(room > 0);
	w->report_count +=
		w->sink->ops->collect(w->sink, w->now_ms, w->reports + w->report_count, room);
}

void world_turn(struct world *w)
{
	world_pump(w, 100);
	world_collect(w);
}

const struct wp_sink_view *world_view(struct world *w)
{
	return w->sink->ops->view(w->sink);
}

struct wp_record world_record(const char *topic, const char *key, const char *value)
{
	return (struct wp_record){
		.topic = wp_span_of(topic),
		.key = wp_span_of(key),
		.value = wp_span_of(value),
		.timestamp_ms = 1700000000000,
		.partition = WP_PARTITION_BY_KEY,
		.table = "public.outbox",
	};
}

enum wp_rc world_offer(struct world *w, wp_ticket ticket, const struct wp_record *record,
		       struct wp_error *error)
{
	return w->sink->ops->send(w->sink, ticket, record, error);
}

void world_send(struct world *w, wp_ticket ticket, const struct wp_record *record)
{
	struct wp_error error = { "" };
	int64_t since = world_clock_ms();
	enum wp_rc rc;

	while ((rc = world_offer(w, ticket, record, &error)) == WP_AGAIN) {
		WORLD_GOES_ON(since);
		world_turn(w);
	}
	CHECK_TEXT(error.text, "");
	CHECK_EQ(rc, WP_OK);
	while (world_view(w)->queued > 0) {
		WORLD_GOES_ON(since);
		world_turn(w);
	}
}

const struct wp_report *world_report(const struct world *w, wp_ticket ticket)
{
	for (size_t i = 0; i < w->report_count; i++) {
		if (w->reports[i].ticket == ticket)
			return &w->reports[i];
	}
	return NULL;
}

size_t world_count(const struct world *w, enum wp_outcome outcome)
{
	size_t count = 0;

	for (size_t i = 0; i < w->report_count; i++)
		count += w->reports[i].outcome == outcome;
	return count;
}

void world_use(struct world *w, const char *topic)
{
	enum { USED = 900000 }; /* a ticket of its own: others' reports may come along with it */
	struct wp_record record = world_record(topic, "k", "v");

	world_send(w, USED, &record);
	WORLD_UNTIL(w, world_report(w, USED) != NULL);
	w->report_count = 0;
}

void world_open_for(struct world *w, const char *topic)
{
	world_open(w);
	world_use(w, topic);
}
