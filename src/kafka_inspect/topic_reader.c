#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/kafka/client.h"
#include "walpost/base/clock.h"
#include "walpost/kafka_inspect/topic_reader.h"

/* So many partitions are read at once: each may hold a fetched batch. */
#define WINDOW 64
#define POLL_MS 100
#define ANSWER_MS 15000
#define SILENCE_MS 30000 /* without a record, while there are some to come */

struct part {
	size_t topic; /* index */
	int32_t number;
	int64_t start;
	int64_t next; /* offset */
	int64_t end;
	bool started;
};

struct wp_topic_reader {
	rd_kafka_t *rk;
	rd_kafka_queue_t *main;	 /* errors */
	rd_kafka_queue_t *queue; /* messages of all partitions */
	rd_kafka_topic_t **topics;
	size_t topic_count;
	struct part *parts;
	size_t part_count;
	size_t begun; /* of the parts */
	size_t running;
	struct wp_header *headers;
	size_t header_room;
	struct wp_error trouble; /* the last that librdkafka told */
};

enum wp_rc wp_topic_reader_new(const struct wp_kafka_options *options,
			       enum wp_reader_isolation isolation, struct wp_topic_reader **ret,
			       struct wp_error *error)
{
	static const struct wp_consumer_property committed = { "isolation.level",
							       "read_committed" };
	struct wp_topic_reader *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for reading topics");
	r->rk = wp_consumer_new(options, &committed, isolation == WP_READ_COMMITTED ? 1 : 0);
	if (r->rk == NULL) {
		free(r);
		return wp_error_set(
			error, WP_CONFIG,
			"librdkafka cannot create a consumer with the settings in [kafka]");
	}
	r->main = rd_kafka_queue_get_main(r->rk);
	r->queue = rd_kafka_queue_new(r->rk);
	*ret = r;
	return WP_OK;
}

static const char *name_of(const struct wp_topic_reader *r, const struct part *p)
{
	return rd_kafka_topic_name(r->topics[p->topic]);
}

static void stop(struct wp_topic_reader *r, struct part *p)
{
	(void)rd_kafka_consume_stop(r->topics[p->topic], p->number); /* it was started */
	p->started = false;
	r->running--;
}

void wp_topic_reader_free(struct wp_topic_reader *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < r->part_count; i++) {
		if (r->parts[i].started)
			stop(r, &r->parts[i]);
	}
	for (size_t i = 0; i < r->topic_count; i++)
		rd_kafka_topic_destroy(r->topics[i]);
	free(r->topics);
	free(r->parts);
	free(r->headers);
	rd_kafka_queue_destroy(r->queue);
	rd_kafka_queue_destroy(r->main);
	rd_kafka_destroy(r->rk);
	free(r);
}

static void read_events(struct wp_topic_reader *r)
{
	rd_kafka_event_t *event;

	while ((event = rd_kafka_queue_poll(r->main, 0)) != NULL) {
		if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR)
			(void)wp_error_set(&r->trouble, WP_OK, "%s",
					   rd_kafka_event_error_string(event));
		rd_kafka_event_destroy(event);
	}
}

static enum wp_rc refuse(const char *topic, rd_kafka_resp_err_t code, struct wp_error *error)
{
	if (code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
		return wp_error_set(error, WP_CONFIG,
				    "topic %s: Kafka denies reading it; allow the user of [kafka] "
				    "READ and DESCRIBE: kafka-acls.sh --add --allow-principal "
				    "User:... --operation Read --operation Describe --topic %s",
				    topic, topic);
	return wp_error_set(error, WP_IO, "topic %s: %s", topic, rd_kafka_err2str(code));
}

/* ---- which partitions ---- */

static enum wp_rc add_parts(struct wp_topic_reader *r, const struct rd_kafka_metadata_topic *t,
			    struct wp_error *error)
{
	size_t count = r->part_count + (size_t)t->partition_cnt;

	if (count > WP_READER_PARTITIONS_MAX)
		return wp_error_set(error, WP_FULL,
				    "the topics have more than %d partitions: compare fewer rows, "
				    "with --outbox or --where",
				    WP_READER_PARTITIONS_MAX);
	struct part *parts = realloc(r->parts, (count + 1) * sizeof(*parts));
	if (parts == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for reading topics");
	r->parts = parts;
	for (int i = 0; i < t->partition_cnt; i++) {
		if (t->partitions[i].leader < 0)
			return wp_error_set(error, WP_IO, "topic %s: partition %d has no leader",
					    t->topic, (int)t->partitions[i].id);
		parts[r->part_count++] = (struct part){
			.topic = r->topic_count - 1,
			.number = t->partitions[i].id,
		};
	}
	return WP_OK;
}

static enum wp_rc take_metadata(struct wp_topic_reader *r, const char *name,
				const struct rd_kafka_metadata *metadata, int32_t *ret_partitions,
				struct wp_error *error)
{
	if (metadata->topic_cnt != 1)
		return refuse(name, RD_KAFKA_RESP_ERR_UNKNOWN, error);
	const struct rd_kafka_metadata_topic *t = &metadata->topics[0];
	if (t->err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) {
		*ret_partitions = 0;
		return WP_OK;
	}
	if (t->err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return refuse(name, t->err, error);
	enum wp_rc rc = add_parts(r, t, error);
	if (rc == WP_OK)
		*ret_partitions = t->partition_cnt;
	return rc;
}

enum wp_rc wp_topic_reader_add(struct wp_topic_reader *r, struct wp_span name,
			       int32_t *ret_partitions, struct wp_error *error)
{
	const char *text = (const char *)name.data;
	const struct rd_kafka_metadata *metadata;
	rd_kafka_topic_t **topics =
		realloc(r->topics, (r->topic_count + 1) * sizeof(struct rd_kafka_topic_s *));

	if (topics == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for reading topics");
	r->topics = topics;
	rd_kafka_topic_t *topic = rd_kafka_topic_new(r->rk, text, NULL);
	if (topic == NULL)
		return refuse(text, rd_kafka_last_error(), error);
	topics[r->topic_count++] = topic;
	rd_kafka_resp_err_t code = rd_kafka_metadata(r->rk, 0, topic, &metadata, ANSWER_MS);
	read_events(r);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		return refuse(text, code, error);
	enum wp_rc rc = take_metadata(r, text, metadata, ret_partitions, error);
	rd_kafka_metadata_destroy(metadata);
	return rc;
}

/* ---- from where to where ---- */

static enum wp_rc find_ends(struct wp_topic_reader *r, struct wp_error *error)
{
	for (size_t i = 0; i < r->part_count; i++) {
		struct part *p = &r->parts[i];
		rd_kafka_resp_err_t code = rd_kafka_query_watermark_offsets(
			r->rk, name_of(r, p), p->number, &p->start, &p->end, ANSWER_MS);
		if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
			return refuse(name_of(r, p), code, error);
		p->next = p->start;
	}
	return WP_OK;
}

static enum wp_rc take_times(struct wp_topic_reader *r,
			     const rd_kafka_topic_partition_list_t *times, struct wp_error *error)
{
	for (size_t i = 0; i < r->part_count; i++) {
		struct part *p = &r->parts[i];
		const rd_kafka_topic_partition_t *found = &times->elems[i];
		if (found->err != RD_KAFKA_RESP_ERR_NO_ERROR)
			return refuse(name_of(r, p), found->err, error);
		/* An offset below zero means that all records are older. */
		p->start = found->offset < 0 ? p->end : found->offset;
		p->next = p->start;
	}
	return WP_OK;
}

static enum wp_rc find_starts(struct wp_topic_reader *r, int64_t since_ms, struct wp_error *error)
{
	if (since_ms == 0 || r->part_count == 0)
		return WP_OK;
	rd_kafka_topic_partition_list_t *times =
		rd_kafka_topic_partition_list_new((int)r->part_count);
	for (size_t i = 0; i < r->part_count; i++) {
		const struct part *p = &r->parts[i];
		rd_kafka_topic_partition_list_add(times, name_of(r, p), p->number)->offset =
			since_ms;
	}
	rd_kafka_resp_err_t code = rd_kafka_offsets_for_times(r->rk, times, ANSWER_MS);
	enum wp_rc rc = code == RD_KAFKA_RESP_ERR_NO_ERROR
				? take_times(r, times, error)
				: refuse(name_of(r, &r->parts[0]), code, error);
	rd_kafka_topic_partition_list_destroy(times);
	return rc;
}

/* ---- records ---- */

static enum wp_rc read_headers(struct wp_topic_reader *r, const rd_kafka_message_t *m,
			       struct wp_record *ret)
{
	rd_kafka_headers_t *headers;

	if (rd_kafka_message_headers(m, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return WP_OK; /* it has none */
	size_t count = rd_kafka_header_cnt(headers);
	if (count > r->header_room) {
		struct wp_header *room = realloc(r->headers, count * sizeof(*room));
		if (room == NULL)
			return WP_NOMEM;
		r->headers = room;
		r->header_room = count;
	}
	for (size_t i = 0; i < count; i++) {
		const char *name = NULL;
		const void *value = NULL;
		size_t size = 0;
		/* The header is there: `i` is below their number. */
		(void)rd_kafka_header_get_all(headers, i, &name, &value, &size);
		r->headers[i] = (struct wp_header){
			.name = wp_span_of(name),
			.value = { .data = value, .size = size },
		};
	}
	ret->headers = r->headers;
	ret->header_count = count;
	return WP_OK;
}

static int64_t timestamp_of(const rd_kafka_message_t *m, enum wp_reader_times times)
{
	rd_kafka_timestamp_type_t type;
	int64_t ms = rd_kafka_message_timestamp(m, &type);

	bool is_wanted =
		type == RD_KAFKA_TIMESTAMP_CREATE_TIME ||
		(type == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME && times == WP_TIMES_OF_ANYBODY);
	return is_wanted ? ms : WP_TIMESTAMP_NOW;
}

static enum wp_rc take_message(struct wp_topic_reader *r, const struct wp_topic_reading *reading,
			       const rd_kafka_message_t *m, struct wp_error *error)
{
	struct wp_record record = {
		.topic = wp_span_of(rd_kafka_topic_name(m->rkt)),
		.key = { .data = m->key, .size = m->key_len },
		.value = { .data = m->payload, .size = m->len },
		.timestamp_ms = timestamp_of(m, reading->times),
		.partition = m->partition,
	};

	enum wp_rc rc = read_headers(r, m, &record);
	if (rc == WP_OK)
		rc = reading->take(reading->arg, &record, m->offset);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "out of memory for a record of topic %s",
				    rd_kafka_topic_name(m->rkt));
	return WP_OK;
}

/* ---- partitions ---- */

static enum wp_rc start(struct wp_topic_reader *r, struct part *p, struct wp_error *error)
{
	if (p->next >= p->end)
		return WP_OK;
	if (rd_kafka_consume_start_queue(r->topics[p->topic], p->number, p->start, r->queue) != 0)
		return refuse(name_of(r, p), rd_kafka_last_error(), error);
	p->started = true;
	r->running++;
	return WP_OK;
}

static struct part *part_of(struct wp_topic_reader *r, const rd_kafka_message_t *m)
{
	for (size_t i = 0; i < r->begun; i++) {
		struct part *p = &r->parts[i];
		if (p->started && p->number == m->partition &&
		    strcmp(name_of(r, p), rd_kafka_topic_name(m->rkt)) == 0)
			return p;
	}
	return NULL;
}

static enum wp_rc take(struct wp_topic_reader *r, const struct wp_topic_reading *reading,
		       const rd_kafka_message_t *m, struct wp_error *error)
{
	struct part *p = m->rkt != NULL ? part_of(r, m) : NULL;
	enum wp_rc rc = WP_OK;

	if (p == NULL) /* of a partition that is done with */
		return WP_OK;
	if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
		p->next = p->end; /* what is missing there was compacted, or is no record */
	else if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return refuse(name_of(r, p), m->err, error);
	else if (m->offset < p->end)
		rc = take_message(r, reading, m, error);
	if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR)
		p->next = m->offset + 1;
	if (p->next >= p->end)
		stop(r, p);
	return rc;
}

static void progress(const struct wp_topic_reader *r, uint64_t *ret_done, uint64_t *ret_all)
{
	*ret_done = *ret_all = 0;
	for (size_t i = 0; i < r->part_count; i++) {
		const struct part *p = &r->parts[i];
		int64_t next = p->next < p->end ? p->next : p->end;
		if (p->start >= p->end)
			continue;
		*ret_all += (uint64_t)(p->end - p->start);
		*ret_done += (uint64_t)(next - p->start);
	}
}

static enum wp_rc start_more(struct wp_topic_reader *r, struct wp_error *error)
{
	enum wp_rc rc = WP_OK;

	while (rc == WP_OK && r->running < WINDOW && r->begun < r->part_count)
		rc = start(r, &r->parts[r->begun++], error);
	return rc;
}

/* Reads what comes within a while, at most; says whether something came. */
static enum wp_rc read_some(struct wp_topic_reader *r, const struct wp_topic_reading *reading,
			    bool *ret_came, struct wp_error *error)
{
	int64_t until = wp_clock_us() / 1000 + POLL_MS;
	int left = POLL_MS;
	enum wp_rc rc = WP_OK;

	while (rc == WP_OK && left > 0 && r->running > 0) {
		rd_kafka_message_t *m = rd_kafka_consume_queue(r->queue, left);
		if (m == NULL)
			break;
		rc = take(r, reading, m, error);
		rd_kafka_message_destroy(m);
		*ret_came = true;
		left = (int)(until - wp_clock_us() / 1000);
	}
	read_events(r);
	return rc;
}

enum wp_rc wp_topic_reader_read(struct wp_topic_reader *r, const struct wp_topic_reading *reading,
				struct wp_error *error)
{
	int64_t heard_ms = wp_clock_us() / 1000;
	uint64_t done, all;

	enum wp_rc rc = find_ends(r, error);
	if (rc == WP_OK)
		rc = find_starts(r, reading->since_ms, error);
	if (rc == WP_OK)
		rc = start_more(r, error);
	while (rc == WP_OK && r->running > 0) {
		bool came = false;
		rc = read_some(r, reading, &came, error);
		if (rc == WP_OK)
			rc = start_more(r, error);
		progress(r, &done, &all);
		if (rc == WP_OK && !reading->go_on(reading->arg, done, all))
			return wp_error_set(error, WP_IO, "interrupted");
		heard_ms = came ? wp_clock_us() / 1000 : heard_ms;
		if (rc == WP_OK && wp_clock_us() / 1000 - heard_ms > SILENCE_MS)
			return wp_error_set(error, WP_IO, "Kafka has sent no record for %d s: %s",
					    SILENCE_MS / 1000,
					    r->trouble.text[0] != '\0'
						    ? r->trouble.text
						    : "it answers, but without records");
	}
	return rc;
}
