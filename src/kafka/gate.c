#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "walpost/base/log.h"
#include "walpost/kafka/batch.h"

#include "state.h"

#define ASK_AGAIN_MS 1000
#define DISTRUST_FIRST_MS 1000
#define DISTRUST_MAX_MS 10000
/* A limit older than this is read again before an event is called too large. */
#define LIMIT_FRESH_MS 10000
/* Below a limit by this much a batch also fits if we count its frame a little wrong. */
#define BATCH_MARGIN 64

static bool is_wanted(const struct wp_producer *p, const struct wp_topic *topic)
{
	return strcmp(p->wanted, topic->name) == 0;
}

static void unwant(struct wp_producer *p)
{
	p->wanted[0] = '\0';
}

static size_t effective_batch_size(const struct wp_producer *p)
{
	return p->shape.batch_size > 0 ? p->shape.batch_size : p->batch_size;
}

/*
 * The topic's limit applies to a whole batch, and librdkafka does not split
 * one: a batch.size above the limit fails batches of small innocent events.
 */
static void fit_batch_size(struct wp_producer *p, const struct wp_topic *topic)
{
	size_t now = effective_batch_size(p);

	if (topic->limit == 0 || topic->limit >= now)
		return;
	p->shape.batch_size = topic->limit > 2 * BATCH_MARGIN ? topic->limit - BATCH_MARGIN : 1;
	wp_log(WP_LOG_INFO, "kafka_batch_size", WP_TEXT("topic", topic->name),
	       WP_INT("topic_limit", topic->limit), WP_INT("from", now),
	       WP_INT("to", p->shape.batch_size));
	/* One by one no batch holds two events anyway. */
	p->wants_reopening = p->shape.batching == WP_BATCHING_NORMAL;
}

static void admit(struct wp_producer *p, struct wp_topic *topic)
{
	topic->state = WP_TOPIC_READY;
	topic->trouble = WP_TOPIC_FINE;
	topic->answered_at_ms = p->now_ms;
	if (is_wanted(p, topic))
		unwant(p);
	fit_batch_size(p, topic);
}

static void hold_back(struct wp_producer *p, struct wp_topic *topic, enum wp_topic_trouble trouble)
{
	topic->state = WP_TOPIC_UNKNOWN;
	topic->trouble = trouble;
	topic->ask_at_ms = p->now_ms + ASK_AGAIN_MS;
}

static void ask_later(struct wp_producer *p, struct wp_topic *topic)
{
	topic->ask_at_ms = p->now_ms + ASK_AGAIN_MS;
}

static void ask_wanted(struct wp_producer *p)
{
	if (p->wanted[0] == '\0' || p->inquiry.stage != WP_INQUIRY_IDLE)
		return;
	struct wp_topic *topic = wp_topics_find(&p->topics, p->wanted);
	if (topic == NULL || topic->state == WP_TOPIC_READY) {
		unwant(p);
		return;
	}
	if (p->now_ms < topic->ask_at_ms)
		return;
	enum wp_rc rc =
		wp_inquiry_ask(&p->inquiry, &p->client, p->worker, WP_INQUIRY_TOPIC, topic->name);
	if (rc != WP_OK)
		ask_later(p, topic);
}

static void want(struct wp_producer *p, const struct wp_topic *topic)
{
	(void)snprintf(p->wanted, sizeof(p->wanted), "%s", topic->name);
	ask_wanted(p);
}

/* ---- answers ---- */

static void missing(struct wp_producer *p, struct wp_topic *topic)
{
	/* The first event creates it. */
	if (p->creates_topics)
		admit(p, topic);
	else
		hold_back(p, topic, WP_TOPIC_MISSING);
}

static void settle(struct wp_producer *p, struct wp_topic *topic, const struct wp_answer *a)
{
	switch (a->code) {
	case RD_KAFKA_RESP_ERR_NO_ERROR:
		/* What we may not read we do not know: the broker decides on sizes. */
		topic->limit = a->limit;
		admit(p, topic);
		break;
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
	case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
		missing(p, topic);
		break;
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
	case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
		hold_back(p, topic, WP_TOPIC_FORBIDDEN);
		break;
	default:
		ask_later(p, topic);
		break;
	}
}

void wp_gate_answer(struct wp_producer *p, const struct wp_answer *answer)
{
	if (answer->heard)
		wp_intake_heard(p);
	else
		wp_intake_unheard(p, answer->text);

	struct wp_topic *topic = wp_topics_find(&p->topics, answer->topic);
	if (topic == NULL || answer->about != WP_INQUIRY_TOPIC)
		return;
	if (answer->heard)
		settle(p, topic, answer);
	else
		ask_later(p, topic);
}

/* ---- reports ---- */

static enum wp_topic_trouble trouble_of(rd_kafka_resp_err_t code)
{
	switch (code) {
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
	case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
		return WP_TOPIC_FORBIDDEN;
	case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
		return WP_TOPIC_NO_PARTITION;
	default:
		return WP_TOPIC_MISSING;
	}
}

/* Longer each time: the topic may be there and still not take what we send. */
static int64_t distrust_ms(unsigned failures)
{
	int64_t wait = DISTRUST_FIRST_MS;

	for (unsigned i = 1; i < failures && wait < DISTRUST_MAX_MS; i++)
		wait *= 2;
	return wait < DISTRUST_MAX_MS ? wait : DISTRUST_MAX_MS;
}

void wp_gate_distrust(struct wp_producer *p, const char *name, rd_kafka_resp_err_t code)
{
	struct wp_topic *topic = wp_topics_find(&p->topics, name);

	/* The other reports of the same batches say the same: counted once. */
	if (topic == NULL || topic->trouble != WP_TOPIC_FINE)
		return;
	topic->state = WP_TOPIC_UNKNOWN;
	topic->trouble = trouble_of(code);
	topic->failures++;
	topic->ask_at_ms = p->now_ms + distrust_ms(topic->failures);
	p->some_failed = true;
}

void wp_gate_doubt_limit(struct wp_producer *p, const char *name)
{
	struct wp_topic *topic = wp_topics_find(&p->topics, name);

	if (topic != NULL)
		topic->state = WP_TOPIC_UNKNOWN;
}

void wp_gate_trust(struct wp_producer *p, const char *name)
{
	struct wp_topic *topic = wp_topics_find(&p->topics, name);

	if (topic != NULL && topic->trouble == WP_TOPIC_FINE)
		topic->failures = 0;
	p->some_failed = false;
	for (topic = p->topics.newest; topic != NULL; topic = topic->older)
		p->some_failed = p->some_failed || topic->failures > 0;
}

/* ---- passing ---- */

static enum wp_rc refuse_size(const struct wp_record *record, size_t size, size_t limit,
			      const char *what, const char *cure, struct wp_why *why)
{
	return wp_why_set(
		why, WP_DATA,
		"an event of %zu bytes is larger than %s of %zu bytes for topic %.*s; it can "
		"never be delivered; %s",
		size, what, limit, (int)record->topic.size, (const char *)record->topic.data, cure);
}

/* Before produce only without compression: the broker measures what arrives. */
static enum wp_rc check_size(struct wp_producer *p, struct wp_topic *topic,
			     const struct wp_record *record, struct wp_why *why)
{
	if (p->compresses || topic->limit == 0)
		return WP_OK;
	size_t size = wp_batch_size_of_one(record);
	if (size <= topic->limit)
		return WP_OK;
	if (p->now_ms - topic->answered_at_ms > LIMIT_FRESH_MS) {
		topic->state = WP_TOPIC_UNKNOWN;
		topic->ask_at_ms = 0;
		want(p, topic);
		return WP_AGAIN;
	}
	return refuse_size(record, size, topic->limit, "max.message.bytes",
			   "raise max.message.bytes of the topic, and message.max.bytes in [kafka]",
			   why);
}

enum wp_rc wp_gate_pass(struct wp_producer *p, const struct wp_record *record,
			struct wp_topic **ret, struct wp_why *why)
{
	if (record->topic.size == 0 || record->topic.size > WP_TOPIC_NAME_MAX)
		return wp_why_set(why, WP_DATA,
				  "a topic name of %zu bytes is not one: Kafka allows 1 to %d",
				  record->topic.size, WP_TOPIC_NAME_MAX);
	struct wp_topic *topic = wp_topics_get(&p->topics, record->topic);
	if (topic == NULL)
		return wp_why_set(why, WP_NOMEM, "no memory for a topic");
	if (topic->state != WP_TOPIC_READY) {
		want(p, topic);
		return WP_AGAIN;
	}
	enum wp_rc rc = check_size(p, topic, record, why);
	if (rc != WP_OK)
		return rc;
	if (topic->handle == NULL)
		topic->handle = rd_kafka_topic_new(p->client.rk, topic->name, NULL);
	if (topic->handle == NULL)
		return wp_why_set(why, WP_DATA, "librdkafka takes no topic of the name %s: %s",
				  topic->name, rd_kafka_err2str(rd_kafka_last_error()));
	/* What an earlier record waited for is no longer asked for. */
	unwant(p);
	*ret = topic;
	return WP_OK;
}

/* ---- time ---- */

void wp_gate_step(struct wp_producer *p)
{
	struct wp_answer answer;

	if (wp_inquiry_step(&p->inquiry, &p->client, &answer))
		wp_gate_answer(p, &answer);
	ask_wanted(p);
}

int64_t wp_gate_due(const struct wp_producer *p)
{
	if (p->inquiry.has_metadata)
		return p->now_ms;
	if (p->wanted[0] == '\0' || p->inquiry.stage != WP_INQUIRY_IDLE)
		return INT64_MAX;
	const struct wp_topic *topic = wp_topics_find(&p->topics, p->wanted);
	return topic != NULL ? topic->ask_at_ms : p->now_ms;
}

const struct wp_topic *wp_gate_waits_for(const struct wp_producer *p, struct wp_why *ret)
{
	const struct wp_topic *topic =
		p->wanted[0] != '\0' ? wp_topics_find(&p->topics, p->wanted) : NULL;

	if (topic == NULL)
		return NULL;
	switch (topic->trouble) {
	case WP_TOPIC_FINE:
		return NULL;
	case WP_TOPIC_MISSING:
		(void)wp_why_set(ret, WP_AGAIN,
				 "topic %s does not exist; events wait for it; create it, or set "
				 "allow.auto.create.topics = true in [kafka]",
				 topic->name);
		break;
	case WP_TOPIC_FORBIDDEN:
		(void)wp_why_set(
			ret, WP_AGAIN,
			"topic %s may not be written by this user; events wait for it; allow "
			"WRITE and DESCRIBE on it, and IDEMPOTENT_WRITE before Kafka 3",
			topic->name);
		break;
	case WP_TOPIC_NO_PARTITION:
		(void)wp_why_set(
			ret, WP_AGAIN,
			"topic %s lacks the partition that an event names; events wait for it; "
			"add partitions, or correct the event's source",
			topic->name);
		break;
	}
	return topic;
}
