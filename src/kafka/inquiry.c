#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inquiry.h"

#define METADATA_TIMEOUT_MS 2000
#define CONFIG_TIMEOUT_MS 3000

/* Owned by the job. The client outlives it: it is destroyed on the same worker, later. */
struct wp_question {
	rd_kafka_t *rk;
	char topic[WP_TOPIC_NAME_MAX + 1];
	rd_kafka_resp_err_t code;
	int32_t broker_id;
	int32_t partition_count;
	struct wp_inquiry *asker; /* touched by `done` only */
};

/* librdkafka makes up the negative ones itself when nobody answers. */
static bool was_heard(rd_kafka_resp_err_t code)
{
	return code >= RD_KAFKA_RESP_ERR_UNKNOWN || code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
	       code == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE;
}

/* The question is closed with this. */
static void conclude(struct wp_inquiry *q, rd_kafka_resp_err_t code, const char *text,
		     struct wp_answer *ret)
{
	struct wp_answer a = { .about = q->about,
			       .heard = was_heard(code),
			       .code = code,
			       .partition_count = q->partition_count };

	(void)snprintf(a.topic, sizeof(a.topic), "%s", q->topic);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		(void)snprintf(a.text, sizeof(a.text), "%s",
			       text != NULL && text[0] != '\0' ? text : rd_kafka_err2str(code));
	q->stage = WP_INQUIRY_IDLE;
	*ret = a;
}

void wp_inquiry_init(struct wp_inquiry *q, void (*wake)(void *arg), void *arg)
{
	*q = (struct wp_inquiry){ .wake = wake, .wake_arg = arg };
}

/* ---- metadata ---- */

static void read_metadata(struct wp_question *question, const struct rd_kafka_metadata *metadata)
{
	question->code = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	question->broker_id = metadata->orig_broker_id;
	for (int i = 0; i < metadata->topic_cnt; i++) {
		if (strcmp(metadata->topics[i].topic, question->topic) != 0)
			continue;
		question->code = metadata->topics[i].err;
		question->partition_count = metadata->topics[i].partition_cnt;
	}
}

static void run_question(void *arg)
{
	struct wp_question *question = arg;
	const struct rd_kafka_metadata *metadata;

	rd_kafka_topic_t *topic = NULL; /* only for the brokers */

	if (question->topic[0] != '\0') {
		topic = rd_kafka_topic_new(question->rk, question->topic, NULL);
		if (topic == NULL) {
			question->code = rd_kafka_last_error();
			return;
		}
	}
	question->code = rd_kafka_metadata(question->rk, 0, topic, &metadata, METADATA_TIMEOUT_MS);
	if (question->code == RD_KAFKA_RESP_ERR_NO_ERROR) {
		read_metadata(question, metadata);
		rd_kafka_metadata_destroy(metadata);
	}
	if (topic != NULL)
		rd_kafka_topic_destroy(topic);
}

static void end_question(void *arg)
{
	struct wp_question *question = arg;
	struct wp_inquiry *q = question->asker;

	assert(q->stage == WP_INQUIRY_METADATA);
	q->has_metadata = true;
	q->code = question->code;
	q->broker_id = question->broker_id;
	q->partition_count = question->partition_count;
	q->question = NULL;
	free(question);
	q->wake(q->wake_arg);
}

enum wp_rc wp_inquiry_ask(struct wp_inquiry *q, const struct wp_client *c, struct wp_worker *worker,
			  enum wp_inquiry_about about, const char *topic)
{
	assert(q->stage == WP_INQUIRY_IDLE);
	assert(strlen(topic) <= WP_TOPIC_NAME_MAX);
	struct wp_question *question = calloc(1, sizeof(*question));
	if (question == NULL)
		return WP_NOMEM;
	*question = (struct wp_question){ .rk = c->rk, .broker_id = -1, .asker = q };
	(void)snprintf(question->topic, sizeof(question->topic), "%s", topic);
	struct wp_job job = {
		.run = run_question, .done = end_question, .drop = free, .arg = question
	};
	enum wp_rc rc = wp_worker_submit(worker, &job, &q->job);
	if (rc != WP_OK) {
		free(question);
		return rc;
	}
	q->stage = WP_INQUIRY_METADATA;
	q->about = about;
	q->question = question;
	(void)snprintf(q->topic, sizeof(q->topic), "%s", topic);
	return WP_OK;
}

/* ---- configuration ---- */

static void ask_config(struct wp_inquiry *q, const struct wp_client *c)
{
	char error[256];

	q->stage = WP_INQUIRY_CONFIG;
	q->serial++;
	rd_kafka_ConfigResource_t *resource =
		rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, q->topic);
	rd_kafka_AdminOptions_t *options =
		rd_kafka_AdminOptions_new(c->rk, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
	/* Both in range by construction. */
	(void)rd_kafka_AdminOptions_set_request_timeout(options, CONFIG_TIMEOUT_MS, error,
							sizeof(error));
	if (q->broker_id >= 0)
		(void)rd_kafka_AdminOptions_set_broker(options, q->broker_id, error, sizeof(error));
	rd_kafka_AdminOptions_set_opaque(options, (void *)(uintptr_t)q->serial);
	rd_kafka_DescribeConfigs(c->rk, &resource, 1, options, c->queue);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_ConfigResource_destroy(resource);
}

bool wp_inquiry_step(struct wp_inquiry *q, const struct wp_client *c, struct wp_answer *ret)
{
	if (!q->has_metadata)
		return false;
	q->has_metadata = false;
	/* A topic just made may have no leader yet: it is there once its partitions are. */
	bool is_there = (q->code == RD_KAFKA_RESP_ERR_NO_ERROR ||
			 q->code == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE) &&
			q->partition_count > 0;
	if (q->code == RD_KAFKA_RESP_ERR_NO_ERROR && !is_there)
		q->code = RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
	if (is_there && q->about == WP_INQUIRY_TOPIC) {
		ask_config(q, c);
		return false;
	}
	conclude(q, is_there ? RD_KAFKA_RESP_ERR_NO_ERROR : q->code, NULL, ret);
	return true;
}

static size_t limit_of(const rd_kafka_ConfigResource_t *resource)
{
	size_t count;
	const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(resource, &count);

	for (size_t i = 0; i < count; i++) {
		const char *value = rd_kafka_ConfigEntry_value(entries[i]);
		if (strcmp(rd_kafka_ConfigEntry_name(entries[i]), "max.message.bytes") == 0 &&
		    value != NULL)
			return (size_t)strtoull(value, NULL, 10);
	}
	return 0;
}

/* NULL: the request as a whole failed. */
static const rd_kafka_ConfigResource_t *resource_of(rd_kafka_event_t *event)
{
	size_t count = 0;

	if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return NULL;
	const rd_kafka_ConfigResource_t **resources = rd_kafka_DescribeConfigs_result_resources(
		rd_kafka_event_DescribeConfigs_result(event), &count);
	return count > 0 ? resources[0] : NULL;
}

bool wp_inquiry_read(struct wp_inquiry *q, rd_kafka_event_t *event, struct wp_answer *ret)
{
	if (q->stage != WP_INQUIRY_CONFIG ||
	    (uintptr_t)rd_kafka_event_opaque(event) != (uintptr_t)q->serial)
		return false;

	const rd_kafka_ConfigResource_t *resource = resource_of(event);
	rd_kafka_resp_err_t code = resource != NULL ? rd_kafka_ConfigResource_error(resource)
						    : rd_kafka_event_error(event);
	/* We may not read it, or the broker does not know how: the topic is there all the same. */
	bool is_there = was_heard(code) && code != RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	conclude(q, is_there ? RD_KAFKA_RESP_ERR_NO_ERROR : code,
		 rd_kafka_event_error_string(event), ret);
	if (resource != NULL && code == RD_KAFKA_RESP_ERR_NO_ERROR)
		ret->limit = limit_of(resource);
	return true;
}

void wp_inquiry_reset(struct wp_inquiry *q, struct wp_worker *worker)
{
	if (q->question != NULL)
		wp_worker_abandon(worker, q->job);
	q->question = NULL;
	q->has_metadata = false;
	q->stage = WP_INQUIRY_IDLE;
}
