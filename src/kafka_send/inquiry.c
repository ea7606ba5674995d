#include <assert.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/clock.h"

#include "inquiry.h"

#define PATIENCE_MIN_MS 2000
#define PATIENCE_MAX_MS 32000

/* The job owns this. The client outlives it: it is destroyed on the same worker, later. */
struct wp_question {
	rd_kafka_t *rk;
	enum wp_inquiry_stage stage; /* CONTACT or METADATA */
	enum wp_inquiry_about about;
	bool was_heard; /* the client has had an answer before */
	uint64_t serial;
	char known[WP_TOPIC_NAME_MAX + 1];
	int timeout_ms;
	rd_kafka_resp_err_t code;
	bool was_sent;	   /* else it waited for a connection, or for librdkafka's own question */
	int32_t broker_id; /* who answered, or whom the answer names; -1: nobody */
	bool is_named;	   /* the latter: it may be gone */
	int32_t controller_id;
	size_t broker_count; /* 0: not told */
	int64_t took_ms;
	struct wp_inquiry *asker; /* touched by `done` only */
	size_t topic_count;
	struct wp_asked_topic topics[]; /* METADATA: those that are there, as far as is known */
};

/* librdkafka makes up the negative codes itself when nobody answers. */
static bool was_heard(rd_kafka_resp_err_t code)
{
	return code >= RD_KAFKA_RESP_ERR_UNKNOWN || code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
	       code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION ||
	       code == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE;
}

static struct wp_asked_topic *find_in(struct wp_asked_topic *topics, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(topics[i].name, name) == 0)
			return &topics[i];
	}
	return NULL;
}

/* This closes the question. */
static void conclude(struct wp_inquiry *q, rd_kafka_resp_err_t code, const char *text,
		     struct wp_answer *ret)
{
	struct wp_answer a = {
		.about = q->about,
		.heard = was_heard(code),
		.topics = q->topics,
		.topic_count = q->topic_count,
	};

	if (a.heard) {
		q->was_heard = true;
	} else {
		q->is_blind |= q->stage == WP_INQUIRY_CONFIG && !q->has_answered;
		q->broker_id = -1;
		(void)snprintf(a.text, sizeof(a.text), "%s",
			       text != NULL && text[0] != '\0' ? text : rd_kafka_err2str(code));
	}
	q->topic_count = 0;
	q->stage = WP_INQUIRY_IDLE;
	*ret = a;
}

enum wp_rc wp_inquiry_init(struct wp_inquiry *q, void (*wake)(void *arg), void *arg)
{
	*q = (struct wp_inquiry){
		.topics = calloc(WP_INQUIRY_TOPICS_MAX, sizeof(*q->topics)),
		.broker_id = -1,
		.patience_ms = PATIENCE_MIN_MS,
		.wake = wake,
		.wake_arg = arg,
	};
	return q->topics != NULL ? WP_OK : WP_NOMEM;
}

void wp_inquiry_release(struct wp_inquiry *q)
{
	free(q->topics);
	*q = (struct wp_inquiry){ 0 };
}

/* ---- patience ---- */

/*
 * An answer shows how long they take; the first is that of a client's own two questions, for
 * versions and for brokers. With one request in flight a connection also has to answer what was
 * asked before, hence twice as long as that.
 */
static void note_answer(struct wp_inquiry *q, int64_t took_ms)
{
	int64_t patience = 2 * took_ms;

	if (patience < PATIENCE_MIN_MS)
		patience = PATIENCE_MIN_MS;
	q->patience_ms = (int32_t)(patience < PATIENCE_MAX_MS ? patience : PATIENCE_MAX_MS);
}

static void note_silence(struct wp_inquiry *q)
{
	q->patience_ms =
		q->patience_ms < PATIENCE_MAX_MS / 2 ? 2 * q->patience_ms : PATIENCE_MAX_MS;
}

/* ---- on the worker ---- */

/*
 * A bootstrap address may be none of the brokers' own, that of a load balancer say: who answers
 * there has no number to be asked by. Then it is each time another of those that the answer names.
 */
static void choose_broker(struct wp_question *question, const struct rd_kafka_metadata *metadata)
{
	question->broker_id = metadata->orig_broker_id;
	question->is_named = metadata->orig_broker_id < 0 && metadata->broker_cnt > 0;
	if (question->is_named)
		question->broker_id =
			metadata->brokers[question->serial % (uint64_t)metadata->broker_cnt].id;
}

static void read_metadata(struct wp_question *question, const struct rd_kafka_metadata *metadata)
{
	choose_broker(question, metadata);
	question->broker_count = (size_t)metadata->broker_cnt;
	for (size_t i = 0; i < question->topic_count; i++)
		question->topics[i].code = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	for (int i = 0; i < metadata->topic_cnt; i++) {
		const struct rd_kafka_metadata_topic *topic = &metadata->topics[i];
		for (size_t j = 0; j < question->topic_count; j++) {
			if (strcmp(topic->topic, question->topics[j].name) != 0)
				continue;
			question->topics[j].code = topic->err;
			question->topics[j].partition_count = topic->partition_cnt;
		}
	}
}

/* With NULL, asks for all topics that the client has objects of. */
static void ask_metadata(struct wp_question *question, rd_kafka_topic_t *topic)
{
	const struct rd_kafka_metadata *metadata;

	question->code = rd_kafka_metadata(question->rk, 0, topic, &metadata, question->timeout_ms);
	question->was_sent = question->code != RD_KAFKA_RESP_ERR__TRANSPORT;
	if (question->code != RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	read_metadata(question, metadata);
	rd_kafka_metadata_destroy(metadata);
}

static void ask_metadata_of(struct wp_question *question, const char *name)
{
	rd_kafka_topic_t *topic = rd_kafka_topic_new(question->rk, name, NULL);

	if (topic == NULL) {
		question->code = rd_kafka_last_error();
		return;
	}
	ask_metadata(question, topic);
	rd_kafka_topic_destroy(topic);
}

/*
 * Makes the client's object of a topic without what rd_kafka_topic_new() sends for each, a question
 * for its leaders: the metadata of all is asked for together. rd_kafka_producev() looks the topic up
 * first, and refuses arguments that exclude each other (rdkafka.h: RD_KAFKA_V_HEADERS) before there
 * is a message. (From librdkafka 2.10.1 on it asks for the leaders too: one request more, no harm.)
 */
static void make_object(rd_kafka_t *rk, const char *name)
{
	rd_kafka_resp_err_t error =
		rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(name), RD_KAFKA_V_HEADER("none", NULL, 0),
				  RD_KAFKA_V_HEADERS(NULL), RD_KAFKA_V_END);
	assert(error != RD_KAFKA_RESP_ERR_NO_ERROR);
	(void)error;
}

static void run_metadata(struct wp_question *question)
{
	for (size_t i = 0; i < question->topic_count; i++)
		make_object(question->rk, question->topics[i].name);
	if (question->topic_count == 1)
		ask_metadata_of(question, question->topics[0].name);
	else
		ask_metadata(question, NULL);
}

static void read_whys(struct wp_question *question, rd_kafka_event_t *event)
{
	size_t count = 0;
	const rd_kafka_topic_result_t **results = rd_kafka_CreateTopics_result_topics(
		rd_kafka_event_CreateTopics_result(event), &count);

	for (size_t i = 0; i < count; i++) {
		rd_kafka_resp_err_t code = rd_kafka_topic_result_error(results[i]);
		const char *text = rd_kafka_topic_result_error_string(results[i]);
		struct wp_asked_topic *asked = find_in(question->topics, question->topic_count,
						       rd_kafka_topic_result_name(results[i]));
		if (asked == NULL || !was_heard(code))
			continue;
		asked->knows_why = true;
		if (code == RD_KAFKA_RESP_ERR_NO_ERROR ||
		    code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
			continue; /* it would */
		(void)snprintf(asked->why, sizeof(asked->why), "%s",
			       text != NULL && text[0] != '\0' ? text : rd_kafka_err2str(code));
	}
}

/*
 * The metadata says of a topic that asking for it was to create only that it is missing. Whether
 * the controller would create it, it is asked without creating it (CreateTopics, validate_only).
 */
static void ask_whys(struct wp_question *question)
{
	rd_kafka_NewTopic_t *topics[WP_INQUIRY_TOPICS_MAX];
	char error[256];
	size_t count = 0;

	for (size_t i = 0; i < question->topic_count; i++) {
		const struct wp_asked_topic *asked = &question->topics[i];
		if (!asked->wants_why || asked->code == RD_KAFKA_RESP_ERR_NO_ERROR)
			continue;
		topics[count] = rd_kafka_NewTopic_new(asked->name, -1, -1, error, sizeof(error));
		count += topics[count] != NULL;
	}
	if (count == 0)
		return;
	rd_kafka_queue_t *queue = rd_kafka_queue_new(question->rk);
	rd_kafka_AdminOptions_t *options =
		rd_kafka_AdminOptions_new(question->rk, RD_KAFKA_ADMIN_OP_CREATETOPICS);
	/* All values are in range by construction. */
	(void)rd_kafka_AdminOptions_set_validate_only(options, 1, error, sizeof(error));
	(void)rd_kafka_AdminOptions_set_request_timeout(options, question->timeout_ms, error,
							sizeof(error));
	rd_kafka_CreateTopics(question->rk, topics, count, options, queue);
	rd_kafka_event_t *event = rd_kafka_queue_poll(queue, question->timeout_ms);
	if (event != NULL && rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR_NO_ERROR)
		read_whys(question, event);
	if (event != NULL)
		rd_kafka_event_destroy(event);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_NewTopic_destroy_array(topics, count);
	rd_kafka_queue_destroy(queue);
}

/*
 * This takes any name, and a partition that cannot be: librdkafka asks any broker for the topic's
 * metadata, without an object of it and without creating it, and finds no such partition. It
 * repeats the question after 0.2, 0.5, 0.9... s: only for a client that has nothing else to ask.
 * The name is new each time, for a topic that is there, or that we may not see, is not asked for
 * again for 15 minutes.
 */
static void ask_anybody(struct wp_question *question)
{
	rd_kafka_topic_partition_list_t *none = rd_kafka_topic_partition_list_new(1);
	char name[40];

	(void)snprintf(name, sizeof(name), "walpost-%" PRId64, wp_clock_us());
	rd_kafka_topic_partition_list_add(none, name, INT32_MAX)->offset = RD_KAFKA_OFFSET_END;
	question->code = rd_kafka_offsets_for_times(question->rk, none, question->timeout_ms);
	question->was_sent = true;
	rd_kafka_topic_partition_list_destroy(none);
}

/*
 * A client asks for the brokers itself when it has connected: that needs no question of ours. "None"
 * before the time is over is an answer too, of brokers that did not tell of a controller.
 */
static void await_contact(struct wp_question *question)
{
	int64_t until_us = wp_clock_us() + (int64_t)question->timeout_ms * 1000;

	question->controller_id = rd_kafka_controllerid(question->rk, question->timeout_ms);
	if (question->controller_id < 0 && wp_clock_us() >= until_us - 1000)
		question->code = RD_KAFKA_RESP_ERR__TRANSPORT;
}

static void run_contact(struct wp_question *question)
{
	if (question->known[0] != '\0')
		ask_metadata_of(question, question->known);
	else if (question->about == WP_INQUIRY_LIFE && question->was_heard)
		ask_anybody(question);
	else
		await_contact(question);
}

static void run_question(void *arg)
{
	struct wp_question *question = arg;
	int64_t begun_us = wp_clock_us();

	if (question->stage == WP_INQUIRY_METADATA)
		run_metadata(question);
	else
		run_contact(question);
	question->took_ms = (wp_clock_us() - begun_us) / 1000;
	if (question->code == RD_KAFKA_RESP_ERR_NO_ERROR)
		ask_whys(question);
}

/* ---- questions for the worker ---- */

static struct wp_asked_topic *find(struct wp_inquiry *q, const char *name)
{
	return find_in(q->topics, q->topic_count, name);
}

static void end_question(void *arg)
{
	struct wp_question *question = arg;
	struct wp_inquiry *q = question->asker;

	assert(q->stage == question->stage);
	q->has_result = true;
	q->code = question->code;
	if (was_heard(q->code) && question->was_sent)
		note_answer(q, question->took_ms);
	else if (was_heard(q->code) && !q->was_heard)
		note_answer(q, (wp_clock_us() - q->opened_at_us) / 1000);
	else if (q->code == RD_KAFKA_RESP_ERR__TIMED_OUT)
		note_silence(q);
	if (question->broker_count > 0)
		q->broker_count = question->broker_count;
	if (question->broker_id >= 0) {
		q->broker_id = question->broker_id;
		q->has_answered = !question->is_named;
		q->is_blind = false;
	}
	if (question->stage == WP_INQUIRY_CONTACT && q->broker_id < 0 && was_heard(q->code)) {
		q->broker_id = question->controller_id;
		q->has_answered = false;
		q->is_blind = q->broker_id < 0 && q->about == WP_INQUIRY_TOPICS;
	}
	q->has_metadata = question->stage == WP_INQUIRY_METADATA;
	for (size_t i = 0; i < question->topic_count && was_heard(q->code); i++) {
		struct wp_asked_topic *asked = find(q, question->topics[i].name);
		asked->code = question->topics[i].code;
		asked->partition_count = question->topics[i].partition_count;
		asked->knows_why = question->topics[i].knows_why;
		memcpy(asked->why, question->topics[i].why, sizeof(asked->why));
	}
	q->question = NULL;
	free(question);
	q->wake(q->wake_arg);
}

/* Copies those that are there, or may be. */
static size_t copy_topics(const struct wp_inquiry *q, struct wp_asked_topic *to)
{
	size_t count = 0;

	for (size_t i = 0; i < q->topic_count; i++) {
		if (q->topics[i].code == RD_KAFKA_RESP_ERR_NO_ERROR)
			to[count++] = q->topics[i];
	}
	return count;
}

static enum wp_rc submit(struct wp_inquiry *q, const struct wp_client *c, struct wp_worker *worker,
			 enum wp_inquiry_stage stage, const char *known)
{
	size_t room = stage == WP_INQUIRY_METADATA ? q->topic_count : 0;
	struct wp_question *question =
		calloc(1, sizeof(*question) + room * sizeof(question->topics[0]));

	if (question == NULL)
		return WP_NOMEM;
	if (q->opened_at_us == 0)
		q->opened_at_us = wp_clock_us();
	question->rk = c->rk;
	question->stage = stage;
	question->about = q->about;
	question->was_heard = q->was_heard;
	question->serial = q->serial;
	question->timeout_ms = q->patience_ms;
	question->broker_id = question->controller_id = -1;
	question->asker = q;
	(void)snprintf(question->known, sizeof(question->known), "%s", known);
	if (stage == WP_INQUIRY_METADATA)
		question->topic_count = copy_topics(q, question->topics);
	struct wp_job job = {
		.run = run_question, .done = end_question, .drop = free, .arg = question
	};
	enum wp_rc rc = wp_worker_submit(worker, &job, &q->job);
	if (rc != WP_OK) {
		free(question);
		return rc;
	}
	q->stage = stage;
	q->question = question;
	return WP_OK;
}

/* ---- configuration ---- */

static void ask_config(struct wp_inquiry *q, const struct wp_client *c)
{
	rd_kafka_ConfigResource_t *resources[WP_INQUIRY_TOPICS_MAX];
	char error[256];

	q->stage = WP_INQUIRY_CONFIG;
	q->serial++;
	q->asked_at_us = wp_clock_us();
	for (size_t i = 0; i < q->topic_count; i++)
		resources[i] =
			rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, q->topics[i].name);
	rd_kafka_AdminOptions_t *options =
		rd_kafka_AdminOptions_new(c->rk, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
	/* Both values are in range by construction. */
	(void)rd_kafka_AdminOptions_set_request_timeout(options, q->patience_ms, error,
							sizeof(error));
	/* The controller, librdkafka's own choice, need not be there. */
	(void)rd_kafka_AdminOptions_set_broker(options, q->broker_id, error, sizeof(error));
	rd_kafka_AdminOptions_set_opaque(options, (void *)(uintptr_t)q->serial);
	rd_kafka_DescribeConfigs(c->rk, resources, q->topic_count, options, c->queue);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_ConfigResource_destroy_array(resources, q->topic_count);
}

bool wp_inquiry_add(struct wp_inquiry *q, const char *topic, bool wants_why)
{
	assert(q->stage == WP_INQUIRY_IDLE);
	assert(strlen(topic) <= WP_TOPIC_NAME_MAX);
	if (q->topic_count == WP_INQUIRY_TOPICS_MAX)
		return false;
	struct wp_asked_topic *asked = &q->topics[q->topic_count++];
	*asked = (struct wp_asked_topic){ .wants_why = wants_why };
	(void)snprintf(asked->name, sizeof(asked->name), "%s", topic);
	return true;
}

static enum wp_rc begin(struct wp_inquiry *q, const struct wp_client *c, struct wp_worker *worker,
			const char *known)
{
	if (q->about == WP_INQUIRY_LIFE)
		return submit(q, c, worker, WP_INQUIRY_CONTACT, known);
	if (q->broker_id < 0 && !q->is_blind && known[0] == '\0') {
		q->broker_id = rd_kafka_controllerid(c->rk, 0);
		q->has_answered = false;
	}
	if (q->broker_id >= 0) {
		ask_config(q, c);
		return WP_OK;
	}
	if (q->is_blind)
		return submit(q, c, worker, WP_INQUIRY_METADATA, "");
	return submit(q, c, worker, WP_INQUIRY_CONTACT, known);
}

enum wp_rc wp_inquiry_ask(struct wp_inquiry *q, const struct wp_client *c, struct wp_worker *worker,
			  enum wp_inquiry_about about, const char *known)
{
	assert(q->stage == WP_INQUIRY_IDLE);
	assert((q->topic_count > 0) == (about == WP_INQUIRY_TOPICS));
	q->about = about;
	q->has_config = q->has_metadata = false;
	enum wp_rc rc = begin(q, c, worker, known);
	if (rc != WP_OK)
		q->topic_count = 0;
	return rc;
}

/* A topic just made may have no leader yet: it is there once its partitions are. */
static void judge_leaders(struct wp_inquiry *q)
{
	for (size_t i = 0; i < q->topic_count; i++) {
		struct wp_asked_topic *asked = &q->topics[i];
		if (asked->code == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE &&
		    asked->partition_count > 0)
			asked->code = RD_KAFKA_RESP_ERR_NO_ERROR;
		else if (asked->code == RD_KAFKA_RESP_ERR_NO_ERROR && asked->partition_count == 0)
			asked->code = RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
	}
}

static bool any_is_there(const struct wp_inquiry *q)
{
	for (size_t i = 0; i < q->topic_count; i++) {
		if (q->topics[i].code == RD_KAFKA_RESP_ERR_NO_ERROR)
			return true;
	}
	return false;
}

/* Returns true when nothing more is to be asked. */
static bool is_complete(struct wp_inquiry *q, const struct wp_client *c, struct wp_worker *worker)
{
	if (q->about == WP_INQUIRY_LIFE || !any_is_there(q) || (q->has_config && q->has_metadata))
		return true;
	if (!q->has_config && q->broker_id >= 0) {
		ask_config(q, c);
		return false;
	}
	if (!q->has_metadata && submit(q, c, worker, WP_INQUIRY_METADATA, "") == WP_OK)
		return false;
	/* For want of room on the worker those that are there are asked for again in a moment. */
	for (size_t i = 0; i < q->topic_count; i++) {
		if (q->topics[i].code == RD_KAFKA_RESP_ERR_NO_ERROR)
			q->topics[i].code = RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
	}
	return true;
}

bool wp_inquiry_step(struct wp_inquiry *q, const struct wp_client *c, struct wp_worker *worker,
		     struct wp_answer *ret)
{
	if (!q->has_result)
		return false;
	q->has_result = false;
	if (q->stage == WP_INQUIRY_METADATA)
		judge_leaders(q);
	if (was_heard(q->code) && !is_complete(q, c, worker))
		return false;
	conclude(q, q->code, NULL, ret);
	return true;
}

/* Kafka takes no batch above either of these. */
static const char *const LIMITS[] = { "max.message.bytes", "segment.bytes" };

static void read_limit(const rd_kafka_ConfigEntry_t *entry, struct wp_asked_topic *asked)
{
	const char *value = rd_kafka_ConfigEntry_value(entry);

	for (size_t i = 0; i < sizeof(LIMITS) / sizeof(LIMITS[0]); i++) {
		if (value == NULL || strcmp(rd_kafka_ConfigEntry_name(entry), LIMITS[i]) != 0)
			continue;
		size_t limit = (size_t)strtoull(value, NULL, 10);
		if (asked->limit != 0 && asked->limit <= limit)
			continue;
		asked->limit = limit;
		asked->limit_name = LIMITS[i];
	}
}

void wp_inquiry_read_limit(const rd_kafka_ConfigResource_t *resource, struct wp_asked_topic *asked)
{
	size_t count;
	const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(resource, &count);

	asked->limit = 0;
	for (size_t i = 0; i < count; i++)
		read_limit(entries[i], asked);
}

static bool is_missing(const struct wp_inquiry *q, rd_kafka_resp_err_t code)
{
	if (code == RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION)
		return true;
	return code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART && q->creation == WP_CREATION_NEVER;
}

/* When we may not read it, or the broker does not know how, the metadata decides. */
static void read_config(struct wp_inquiry *q, rd_kafka_event_t *event)
{
	size_t count = 0;

	if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	const rd_kafka_ConfigResource_t **resources = rd_kafka_DescribeConfigs_result_resources(
		rd_kafka_event_DescribeConfigs_result(event), &count);
	for (size_t i = 0; i < count; i++) {
		struct wp_asked_topic *asked = find(q, rd_kafka_ConfigResource_name(resources[i]));
		rd_kafka_resp_err_t code = rd_kafka_ConfigResource_error(resources[i]);
		if (asked == NULL)
			continue;
		if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
			wp_inquiry_read_limit(resources[i], asked);
		else if (is_missing(q, code))
			asked->code = code;
	}
}

bool wp_inquiry_read(struct wp_inquiry *q, const struct wp_client *c, struct wp_worker *worker,
		     rd_kafka_event_t *event, struct wp_answer *ret)
{
	if (q->stage != WP_INQUIRY_CONFIG ||
	    (uintptr_t)rd_kafka_event_opaque(event) != (uintptr_t)q->serial)
		return false;

	rd_kafka_resp_err_t code = rd_kafka_event_error(event);
	if (was_heard(code))
		note_answer(q, (wp_clock_us() - q->asked_at_us) / 1000);
	else if (code == RD_KAFKA_RESP_ERR__TIMED_OUT)
		note_silence(q);
	read_config(q, event);
	q->has_config = true;
	q->has_answered |= was_heard(code);
	if (was_heard(code) && !is_complete(q, c, worker))
		return false;
	conclude(q, code, rd_kafka_event_error_string(event), ret);
	return true;
}

void wp_inquiry_doubt_broker(struct wp_inquiry *q)
{
	q->broker_id = -1;
}

void wp_inquiry_reset(struct wp_inquiry *q, struct wp_worker *worker)
{
	if (q->question != NULL)
		wp_worker_abandon(worker, q->job);
	q->question = NULL;
	q->has_result = false;
	q->topic_count = 0;
	q->broker_id = -1;
	q->is_blind = false;
	q->was_heard = false;
	q->opened_at_us = 0;
	q->stage = WP_INQUIRY_IDLE;
}
