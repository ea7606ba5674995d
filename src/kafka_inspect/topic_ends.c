#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/kafka/client.h"
#include "walpost/kafka/secrets.h"
#include "walpost/base/clock.h"
#include "walpost/kafka_inspect/topic_ends.h"

#define COUNT_OF(array_) (sizeof(array_) / sizeof((array_)[0]))
/* So many partitions are read at once: each may hold a fetched batch. */
#define WINDOW 64
#define POLL_MS 100

/* Reading begins so many messages before the end: more when none of ours was among them. */
static const int64_t depths[] = { 20, 400, 4096 };

struct part {
	int32_t topic; /* index */
	int32_t partition;
	int depth; /* index of depths */
	bool started;
	bool done;
	bool found; /* an event of ours */
};

struct reader {
	const struct wp_topic_ends_question *question;
	struct wp_topic_ends *ends;
	rd_kafka_t *rk;
	rd_kafka_queue_t *main;	 /* errors, log lines */
	rd_kafka_queue_t *queue; /* messages of all partitions */
	rd_kafka_topic_t **topics;
	size_t topic_count;
	struct part *parts;
	size_t part_count;
	size_t next; /* the first that was not begun */
	size_t running;
	int64_t deadline_ms;
	struct wp_error trouble; /* the last that librdkafka told */
};

static int64_t now_ms(void)
{
	return wp_clock_us() / 1000;
}

static int left_ms(const struct reader *r)
{
	int64_t left = r->deadline_ms - now_ms();

	return left < 0 ? 0 : (int)left;
}

/* ---- the consumer ---- */

static bool open_consumer(struct reader *r, const struct wp_kafka_options *options)
{
	static const struct wp_consumer_property more[] = {
		{ "fetch.wait.max.ms", "20" },
		{ "fetch.message.max.bytes", "262144" },
	};

	r->rk = wp_consumer_new(options, more, COUNT_OF(more));
	if (r->rk == NULL)
		return false;
	r->main = rd_kafka_queue_get_main(r->rk);
	r->queue = rd_kafka_queue_new(r->rk);
	return true;
}

static void read_events(struct reader *r)
{
	rd_kafka_event_t *event;

	while ((event = rd_kafka_queue_poll(r->main, 0)) != NULL) {
		bool is_error = rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR;
		rd_kafka_resp_err_t code = rd_kafka_event_error(event);
		/* That all brokers are down says less than why. */
		bool says_less =
			code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN && r->trouble.text[0] != '\0';
		if (is_error && !says_less)
			(void)wp_error_set(&r->trouble, WP_OK, "%s",
					   rd_kafka_event_error_string(event));
		rd_kafka_event_destroy(event);
	}
}

/* ---- which partitions ---- */

static void leave_unread(struct reader *r, size_t count, const char *where, const char *reason)
{
	if (r->ends->unread_partitions == 0)
		(void)wp_error_set(&r->trouble, WP_OK, "%s: %s", where, reason);
	r->ends->unread_partitions += count;
}

static bool add_topic(struct reader *r, const struct rd_kafka_metadata_topic *t)
{
	rd_kafka_topic_t *topic = rd_kafka_topic_new(r->rk, t->topic, NULL);

	if (topic == NULL)
		return false;
	r->topics[r->topic_count] = topic;
	for (int i = 0; i < t->partition_cnt; i++) {
		r->ends->partitions++;
		if (r->part_count == WP_TOPIC_ENDS_PARTITIONS_MAX)
			leave_unread(r, 1, t->topic, "there are more than 4096 partitions");
		else if (t->partitions[i].leader < 0)
			leave_unread(r, 1, t->topic, "a partition has no leader");
		else
			r->parts[r->part_count++] = (struct part){
				.topic = (int32_t)r->topic_count,
				.partition = t->partitions[i].id,
			};
	}
	r->topic_count++;
	return true;
}

static bool add_topics(struct reader *r, const struct rd_kafka_metadata *metadata)
{
	r->topics = calloc((size_t)metadata->topic_cnt + 1, sizeof(struct rd_kafka_topic_s *));
	r->parts = calloc(WP_TOPIC_ENDS_PARTITIONS_MAX, sizeof(*r->parts));
	if (r->topics == NULL || r->parts == NULL)
		return false;
	for (int i = 0; i < metadata->topic_cnt; i++) {
		const struct rd_kafka_metadata_topic *t = &metadata->topics[i];
		if (!wp_topic_list_has(&r->question->topics, t->topic))
			continue;
		if (t->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
			size_t count = t->partition_cnt > 0 ? (size_t)t->partition_cnt : 1;
			r->ends->partitions += count;
			leave_unread(r, count, t->topic, rd_kafka_err2str(t->err));
		} else if (!add_topic(r, t)) {
			return false;
		}
	}
	return true;
}

/*
 * Asks in slices, to tell at the end why nobody answered; each is longer than the one before, for
 * an answer that comes after its slice is not heard.
 */
static bool find_partitions(struct reader *r)
{
	int slice_ms = 500;
	const struct rd_kafka_metadata *metadata;
	rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__TIMED_OUT;

	while (left_ms(r) > 0 && code != RD_KAFKA_RESP_ERR_NO_ERROR) {
		slice_ms *= 2;
		code = rd_kafka_metadata(r->rk, 1, NULL, &metadata,
					 slice_ms < left_ms(r) ? slice_ms : left_ms(r));
		read_events(r);
	}
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
		r->ends->state = WP_TOPIC_ENDS_UNREACHABLE;
		(void)wp_error_set(&r->ends->error, WP_IO, "no Kafka broker answers: %.900s",
				   r->trouble.text[0] != '\0' ? r->trouble.text : "timed out");
		return false;
	}
	r->trouble.text[0] = '\0';
	bool added = add_topics(r, metadata);
	rd_kafka_metadata_destroy(metadata);
	/* The topics are known by name now, so their leaders are asked for: else it asks for
	 * them a second later. */
	if (added && r->topic_count > 0 &&
	    rd_kafka_metadata(r->rk, 0, NULL, &metadata, left_ms(r)) == RD_KAFKA_RESP_ERR_NO_ERROR)
		rd_kafka_metadata_destroy(metadata);
	if (!added)
		(void)wp_error_set(&r->ends->error, WP_NOMEM,
				   "out of memory for reading the ends of the topics");
	return added;
}

/* ---- messages ---- */

static const char *name_of(const struct reader *r, const struct part *p)
{
	return rd_kafka_topic_name(r->topics[p->topic]);
}

/* Finds the first header of that name: before data could say no such name, its headers stood
 * behind ours. */
static bool find_header(const rd_kafka_headers_t *headers, const char *name, struct wp_span *ret)
{
	const void *value;
	size_t size;

	if (rd_kafka_header_get(headers, 0, name, &value, &size) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return false;
	*ret = (struct wp_span){ .data = value, .size = size };
	return true;
}

/* Returns false when the position is none of walpost's, or another source's. */
static bool read_position(const struct reader *r, const rd_kafka_message_t *m,
			  struct wp_position *ret)
{
	rd_kafka_headers_t *headers;
	struct wp_span text, source;

	if (rd_kafka_message_headers(m, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return false;
	if (r->question->source[0] != '\0' && (!find_header(headers, "walpost-source", &source) ||
					       !wp_span_is(source, r->question->source)))
		return false;
	return find_header(headers, "walpost-position", &text) &&
	       wp_position_parse(text, ret) == WP_OK;
}

static void take_message(struct reader *r, struct part *p, const rd_kafka_message_t *m)
{
	struct wp_topic_ends *ends = r->ends;
	struct wp_position position;

	if (!read_position(r, m, &position))
		return;
	p->found = true;
	if (position.epoch != r->question->epoch)
		return;
	if (ends->found && wp_position_compare(&position, &ends->highest) <= 0)
		return;
	ends->found = true;
	ends->highest = position;
	ends->partition = p->partition;
	(void)snprintf(ends->topic, sizeof(ends->topic), "%s", name_of(r, p));
}

/* ---- partitions ---- */

static void stop(struct reader *r, struct part *p)
{
	(void)rd_kafka_consume_stop(r->topics[p->topic], p->partition);
	p->started = false;
	p->done = true;
	r->running--;
}

static void give_up(struct reader *r, struct part *p, const char *reason)
{
	char where[WP_TOPIC_ENDS_NAME_SIZE + 32];

	(void)snprintf(where, sizeof(where), "topic %s, partition %d", name_of(r, p),
		       (int)p->partition);
	leave_unread(r, 1, where, reason);
	stop(r, p);
}

/* Where the offset would be before the first record, reading starts at the first. */
static void start(struct reader *r, struct part *p)
{
	int64_t offset = RD_KAFKA_OFFSET_TAIL(depths[p->depth]);

	p->started = true;
	r->running++;
	if (rd_kafka_consume_start_queue(r->topics[p->topic], p->partition, offset, r->queue) != 0)
		give_up(r, p, rd_kafka_err2str(rd_kafka_last_error()));
}

/* The partition is at its end: all that was asked for has been seen. `end` is the offset behind
 * the last. */
static void reach_end(struct reader *r, struct part *p, int64_t end)
{
	bool is_whole = end <= depths[p->depth];
	bool is_last = p->depth + 1 == (int)COUNT_OF(depths);

	if (p->found || is_whole) {
		stop(r, p);
		return;
	}
	if (is_last) {
		give_up(r, p, "no event with walpost-position among its last records");
		return;
	}
	/* Only compacted, foreign or control records were seen, so it goes further back. */
	(void)rd_kafka_consume_stop(r->topics[p->topic], p->partition);
	r->running--;
	p->depth++;
	start(r, p);
}

static struct part *part_of(struct reader *r, const rd_kafka_message_t *m)
{
	for (size_t i = 0; i < r->next; i++) {
		struct part *p = &r->parts[i];
		if (p->started && p->partition == m->partition &&
		    strcmp(name_of(r, p), rd_kafka_topic_name(m->rkt)) == 0)
			return p;
	}
	return NULL;
}

static void take(struct reader *r, const rd_kafka_message_t *m)
{
	struct part *p = m->rkt != NULL ? part_of(r, m) : NULL;

	if (p == NULL) /* of a partition that is done with */
		return;
	if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR)
		take_message(r, p, m);
	else if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF)
		reach_end(r, p, m->offset);
	else
		give_up(r, p, rd_kafka_message_errstr(m));
}

static void read_all(struct reader *r)
{
	while ((r->next < r->part_count || r->running > 0) && left_ms(r) > 0) {
		while (r->running < WINDOW && r->next < r->part_count)
			start(r, &r->parts[r->next++]);
		rd_kafka_message_t *m = rd_kafka_consume_queue(r->queue, POLL_MS);
		if (m != NULL) {
			take(r, m);
			rd_kafka_message_destroy(m);
		}
		read_events(r);
	}
	for (size_t i = 0; i < r->part_count; i++) {
		struct part *p = &r->parts[i];
		if (p->started)
			give_up(r, p, "not read in time");
		else if (!p->done)
			leave_unread(r, 1, name_of(r, p), "not read in time");
	}
}

static void say_unread(struct reader *r)
{
	struct wp_topic_ends *ends = r->ends;

	if (ends->unread_partitions == 0)
		return;
	(void)wp_error_set(&ends->error, WP_IO,
			   "%zu of %zu partitions of its topics were not read (%.500s); this "
			   "requires the Kafka permission Read on these topics",
			   ends->unread_partitions, ends->partitions, r->trouble.text);
}

static void release(struct reader *r)
{
	for (size_t i = 0; i < r->topic_count; i++)
		rd_kafka_topic_destroy(r->topics[i]);
	free(r->topics);
	free(r->parts);
	if (r->rk == NULL)
		return;
	rd_kafka_queue_destroy(r->queue);
	rd_kafka_queue_destroy(r->main);
	rd_kafka_destroy(r->rk);
}

void wp_topic_ends_read(const struct wp_kafka_options *options,
			const struct wp_topic_ends_question *question, int timeout_ms,
			struct wp_topic_ends *ret)
{
	struct reader r = {
		.question = question,
		.ends = ret,
		.deadline_ms = now_ms() + timeout_ms,
	};

	*ret = (struct wp_topic_ends){ .state = WP_TOPIC_ENDS_KNOWN };
	if (!open_consumer(&r, options)) {
		/* With files behind [kafka], one is just being replaced, and later a consumer is
		 * made of it. */
		struct wp_secrets secrets;
		wp_secrets_init(&secrets, options);
		ret->state = secrets.count > 0 ? WP_TOPIC_ENDS_UNREACHABLE : WP_TOPIC_ENDS_UNKNOWN;
		(void)wp_error_set(
			&ret->error, WP_CONFIG,
			"librdkafka cannot create a consumer with the settings in [kafka]");
	} else if (find_partitions(&r)) {
		read_all(&r);
		say_unread(&r);
	}
	release(&r);
}
