/* Sends records, or queues them until they may go. */
#include <stdlib.h>

#include "state.h"
#include "walpost/base/backoff.h"
#include "walpost/base/log.h"

/* With several clients, each has so many on its way or about to be, a few requests. */
#define SENT_PER_CLIENT 128

_Static_assert(sizeof(void *) >= sizeof(wp_ticket), "a ticket travels as a message's opaque");

/* ---- to librdkafka ---- */

/* Gives NULL for no headers; returns false when out of memory. */
static bool make_headers(const struct wp_record *record, rd_kafka_headers_t **ret)
{
	*ret = NULL;
	if (record->header_count == 0)
		return true;
	rd_kafka_headers_t *headers = rd_kafka_headers_new(record->header_count);
	for (size_t i = 0; i < record->header_count; i++) {
		const struct wp_header *h = &record->headers[i];
		rd_kafka_resp_err_t code = rd_kafka_header_add(headers, (const char *)h->name.data,
							       (ssize_t)h->name.size, h->value.data,
							       (ssize_t)h->value.size);
		if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
			rd_kafka_headers_destroy(headers);
			return false;
		}
	}
	*ret = headers;
	return true;
}

/* 0 means "now" to librdkafka as well; less is refused by brokers. */
static int64_t kafka_timestamp(const struct wp_record *record)
{
	return record->timestamp_ms >= 0 ? record->timestamp_ms : 1;
}

static rd_kafka_resp_err_t produce(struct wp_producer *p, const struct wp_topic *topic,
				   int32_t partition, wp_ticket ticket, const struct wp_record *r)
{
	rd_kafka_headers_t *headers;

	if (!make_headers(r, &headers))
		return RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE;
	rd_kafka_resp_err_t code = rd_kafka_producev(
		p->clients.list[topic->client].rk,
		RD_KAFKA_V_RKT((rd_kafka_topic_t *)topic->handle), RD_KAFKA_V_PARTITION(partition),
		RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(r->key.data, r->key.size),
		RD_KAFKA_V_VALUE((void *)(uintptr_t)r->value.data, r->value.size),
		RD_KAFKA_V_TIMESTAMP(kafka_timestamp(r)), RD_KAFKA_V_HEADERS(headers),
		RD_KAFKA_V_OPAQUE((void *)(uintptr_t)ticket), RD_KAFKA_V_END);
	/* On failure the headers are still ours. */
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR && headers != NULL)
		rd_kafka_headers_destroy(headers);
	return code;
}

static enum wp_rc refuse_above_message_max(const struct wp_producer *p,
					   const struct wp_record *record, struct wp_error *error)
{
	return wp_error_set(error, WP_DATA,
			    "an event of %zu bytes for topic %.*s exceeds message.max.bytes = %zu "
			    "and can never be delivered; raise message.max.bytes in [kafka], and "
			    "max.message.bytes of the topic",
			    wp_record_size(record), (int)record->topic.size,
			    (const char *)record->topic.data, p->view.record_max);
}

static enum wp_rc answer_produce_error(struct wp_producer *p, struct wp_topic *topic,
				       const struct wp_record *record, rd_kafka_resp_err_t code,
				       struct wp_error *error)
{
	switch (code) {
	case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
		return refuse_above_message_max(p, record, error);
	case RD_KAFKA_RESP_ERR__QUEUE_FULL:
		/* librdkafka's limits lie above the relay's: this is a mistake of ours, told
		 * aloud. */
		wp_log(WP_LOG_ERROR, "kafka_queue_full", WP_INT("in_flight", p->view.in_flight));
		return WP_FULL;
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
	case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
		wp_admission_distrust(&p->admission, topic->name, code, p->now_ms);
		wp_admission_ask_for(&p->admission, topic);
		return WP_AGAIN;
	case RD_KAFKA_RESP_ERR__INVALID_ARG:
		return wp_error_set(error, WP_DATA, "librdkafka refuses the event: %s",
				    rd_kafka_err2str(code));
	case RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE:
		return wp_error_set(error, WP_NOMEM, "out of memory for an event");
	default:
		wp_clients_break(&p->clients, code, rd_kafka_err2str(code));
		return wp_error_set(error, WP_IO, "%s", p->clients.failure.text);
	}
}

/* librdkafka is to have no more than it needs. */
static bool has_room_in_librdkafka(const struct wp_producer *p)
{
	return wp_producer_sent(p) < p->clients.count * SENT_PER_CLIENT;
}

/* Where there are several clients, all records of a topic go together. */
static bool is_for_other_topics(const struct wp_producer *p)
{
	return p->clients.count > 1 && p->clients.shape.batching == WP_BATCHING_NORMAL &&
	       !wp_backlog_is_free(&p->backlog, has_room_in_librdkafka(p));
}

static enum wp_rc give_to_librdkafka(struct wp_producer *p, struct wp_topic *topic,
				     wp_ticket ticket, const struct wp_record *record,
				     const struct wp_decision *decision, struct wp_error *error)
{
	if (topic->handle == NULL &&
	    !wp_clients_assign(&p->clients, topic, p->inquiry.broker_count))
		return wp_error_set(error, WP_DATA, "librdkafka rejects the topic name %s: %s",
				    topic->name, rd_kafka_err2str(rd_kafka_last_error()));
	rd_kafka_resp_err_t code = produce(p, topic, decision->partition, ticket, record);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		return answer_produce_error(p, topic, record, code, error);
	wp_topic_sent(topic, decision->partition, ticket, decision->alone);
	/* The silence that calls for a probe begins with the first that waits. */
	if (wp_producer_sent(p) == 0)
		wp_reachability_sent(&p->reachability, p->now_ms);
	return WP_OK;
}

enum turn { BEHIND, ITS_TURN, ANY_TIME };

/* Gives the record to librdkafka, if it may go. The caller keeps the count in flight. */
static enum wp_rc send_one(struct wp_producer *p, struct wp_topic *topic, wp_ticket ticket,
			   const struct wp_record *record, enum turn turn,
			   struct wp_decision *decision, struct wp_error *error)
{
	const struct wp_decision_moment moment = {
		.now_ms = p->now_ms,
		.random = wp_random_next(&p->random),
		.is_behind = turn == BEHIND,
		.is_for_other_topics = turn == ANY_TIME && is_for_other_topics(p),
	};

	*decision = wp_decide(&p->rules, topic, record, &moment, error);
	if (decision->kind == WP_DECISION_WAIT) {
		if (decision->is_deferred)
			wp_backlog_defer(&p->backlog, topic, p->now_ms);
		return WP_AGAIN;
	}
	if (decision->kind == WP_DECISION_ASK) {
		topic->recounts = topic->recounts || decision->recounts;
		wp_admission_ask_for(&p->admission, topic);
		return WP_AGAIN;
	}
	topic->recounts = false;
	if (decision->kind == WP_DECISION_REFUSE)
		return WP_DATA;
	wp_admission_refresh(&p->admission, topic, p->now_ms);
	return give_to_librdkafka(p, topic, ticket, record, decision, error);
}

/*
 * When events go one by one, the relay waits with what cannot go yet: each answer names one event
 * then. So does what would be refused as things were when the topic was last asked for: it is asked
 * again first.
 */
static enum wp_rc queue_up(struct wp_producer *p, struct wp_topic *topic, wp_ticket ticket,
			   const struct wp_record *record, const struct wp_decision *decision,
			   struct wp_error *error)
{
	if (p->clients.shape.batching != WP_BATCHING_NORMAL || !decision->fits)
		return WP_AGAIN;
	struct wp_queued *item = wp_queued_new(ticket, record);
	if (item == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for an event");
	wp_topics_push(&p->admission.topics, topic, item);
	return WP_OK;
}

/* The record goes behind those that are queued for its topic, if there are any: they are in
 * order. */
enum wp_rc wp_producer_send(struct wp_producer *p, wp_ticket ticket, const struct wp_record *record,
			    struct wp_error *error)
{
	struct wp_decision decision;

	if (record->topic.size == 0 || record->topic.size > WP_TOPIC_NAME_MAX)
		return wp_error_set(error, WP_DATA,
				    "a topic name of %zu bytes is invalid: Kafka allows 1 to %d",
				    record->topic.size, WP_TOPIC_NAME_MAX);
	struct wp_topic *topic = wp_topics_get(&p->admission.topics, record->topic);
	if (topic == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for a topic");
	enum wp_rc rc = send_one(p, topic, ticket, record,
				 topic->queue.first != NULL ? BEHIND : ANY_TIME, &decision, error);
	if (rc == WP_AGAIN)
		rc = queue_up(p, topic, ticket, record, &decision, error);
	if (rc != WP_OK)
		return rc;
	p->view.in_flight++;
	p->view.queued = p->admission.topics.waiting_count;
	wp_admission_forget_offered(&p->admission);
	return WP_OK;
}

/* ---- out of the queues ---- */

/*
 * Once a record is taken, the relay can no longer be answered that it can never be delivered. It
 * begins anew after what is confirmed and goes one by one, and is answered then.
 */
static void refuse_queued(struct wp_producer *p, struct wp_queued *item)
{
	static const struct wp_report refused = {
		.outcome = WP_REFUSED,
		.reaction = WP_REACT_ISOLATE,
		.event_level = true,
		.code = "UNDELIVERABLE",
	};

	p->has_refused = true;
	wp_backlog_give_back(&p->backlog, item, &refused);
}

static void send_item(struct wp_producer *p, struct wp_topic *topic, struct wp_queued *item,
		      enum turn turn)
{
	struct wp_error error = { "" };
	struct wp_decision decision;
	enum wp_rc rc = WP_AGAIN;

	if (p->clients.phase == WP_PHASE_RUNNING && !p->has_refused &&
	    topic->state == WP_TOPIC_READY)
		rc = send_one(p, topic, item->ticket, &item->record, turn, &decision, &error);
	switch (rc) {
	case WP_OK:
		free(item);
		break;
	case WP_DATA:
		refuse_queued(p, item);
		break;
	case WP_AGAIN:
		wp_topics_push(&p->admission.topics, topic, item);
		break;
	default: /* no memory, or no room where there must be some: it is sent again by the relay */
		wp_topics_push(&p->admission.topics, topic, item);
		wp_clients_break(&p->clients, RD_KAFKA_RESP_ERR__FAIL, error.text);
		break;
	}
}

/*
 * Sends all of a topic in one go: what waits for a partition's first record to be confirmed goes
 * back into the queue, and so does all that is behind it for that partition. Records for other
 * partitions go.
 */
static void send_topic(struct wp_producer *p, struct wp_topic *topic, enum turn turn)
{
	topic->is_retried = false;
	for (size_t count = topic->queue.count; count > 0; count--)
		send_item(p, topic, wp_topics_pop(&p->admission.topics, topic), turn);
}

void wp_producer_send_queued(struct wp_producer *p)
{
	struct wp_topic *topic;

	while ((topic = wp_backlog_next_deferred(&p->backlog, has_room_in_librdkafka(p),
						 p->reported_at_ms, p->now_ms)) != NULL)
		send_topic(p, topic, ITS_TURN);
	topic = NULL;
	while ((topic = wp_topics_next_retried(&p->admission.topics, topic)) != NULL)
		send_topic(p, topic, ANY_TIME);
}
