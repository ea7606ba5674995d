#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inquiry.h"

static void begin(struct wp_inquiry *q, enum wp_inquiry_stage stage, const char *topic)
{
	assert(q->stage == WP_INQUIRY_IDLE);
	assert(strlen(topic) <= WP_TOPIC_NAME_MAX);
	q->stage = stage;
	q->serial++;
	(void)snprintf(q->topic, sizeof(q->topic), "%s", topic);
}

/* Errors that librdkafka makes up itself when nobody answers. */
static bool was_heard(rd_kafka_resp_err_t code)
{
	return code >= RD_KAFKA_RESP_ERR_UNKNOWN ||
	       code == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE ||
	       code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
}

static struct wp_answer answer_of(const struct wp_inquiry *q, rd_kafka_resp_err_t code,
				  const char *text)
{
	struct wp_answer a = { .heard = was_heard(code), .stage = q->stage, .code = code };

	(void)snprintf(a.topic, sizeof(a.topic), "%s", q->topic);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		(void)snprintf(a.text, sizeof(a.text), "%s",
			       text != NULL && text[0] != '\0' ? text : rd_kafka_err2str(code));
	return a;
}

void wp_inquiry_init(struct wp_inquiry *q, void (*wake)(void *arg), void *arg)
{
	*q = (struct wp_inquiry){ .wake = wake, .wake_arg = arg };
}

/* ---- configuration ---- */

void wp_inquiry_ask_config(struct wp_inquiry *q, const struct wp_client *c, const char *topic,
			   int timeout_ms)
{
	char error[256];

	begin(q, WP_INQUIRY_CONFIG, topic);
	rd_kafka_ConfigResource_t *resource =
		rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic);
	rd_kafka_AdminOptions_t *options =
		rd_kafka_AdminOptions_new(c->rk, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
	/* In range by construction. */
	(void)rd_kafka_AdminOptions_set_request_timeout(options, timeout_ms, error, sizeof(error));
	rd_kafka_AdminOptions_set_opaque(options, (void *)(uintptr_t)q->serial);
	rd_kafka_DescribeConfigs(c->rk, &resource, 1, options, c->queue);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_ConfigResource_destroy(resource);
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

bool wp_inquiry_read(struct wp_inquiry *q, rd_kafka_event_t *event, struct wp_answer *ret)
{
	size_t count = 0;

	if (q->stage != WP_INQUIRY_CONFIG ||
	    (uintptr_t)rd_kafka_event_opaque(event) != (uintptr_t)q->serial)
		return false;

	struct wp_answer a =
		answer_of(q, rd_kafka_event_error(event), rd_kafka_event_error_string(event));
	const rd_kafka_ConfigResource_t **resources = NULL;
	if (a.code == RD_KAFKA_RESP_ERR_NO_ERROR)
		resources = rd_kafka_DescribeConfigs_result_resources(
			rd_kafka_event_DescribeConfigs_result(event), &count);
	if (count > 0) {
		a = answer_of(q, rd_kafka_ConfigResource_error(resources[0]),
			      rd_kafka_ConfigResource_error_string(resources[0]));
		a.limit = limit_of(resources[0]);
		a.heard = true;
	}
	q->stage = WP_INQUIRY_IDLE;
	*ret = a;
	return true;
}

/* ---- metadata ---- */

/* Owned by the job. The client outlives it: it is destroyed on the same worker, later. */
struct wp_question {
	rd_kafka_t *rk;
	char topic[WP_TOPIC_NAME_MAX + 1];
	int timeout_ms;
	rd_kafka_resp_err_t code;
	struct wp_inquiry *asker; /* touched by `done` only */
};

static rd_kafka_resp_err_t topic_error(const struct rd_kafka_metadata *metadata, const char *topic)
{
	for (int i = 0; i < metadata->topic_cnt; i++) {
		if (strcmp(metadata->topics[i].topic, topic) == 0)
			return metadata->topics[i].err;
	}
	return RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
}

static void run_question(void *arg)
{
	struct wp_question *question = arg;
	const struct rd_kafka_metadata *metadata;

	rd_kafka_topic_t *topic = rd_kafka_topic_new(question->rk, question->topic, NULL);
	if (topic == NULL) {
		question->code = rd_kafka_last_error();
		return;
	}
	question->code = rd_kafka_metadata(question->rk, 0, topic, &metadata, question->timeout_ms);
	if (question->code == RD_KAFKA_RESP_ERR_NO_ERROR) {
		question->code = topic_error(metadata, question->topic);
		rd_kafka_metadata_destroy(metadata);
	}
	rd_kafka_topic_destroy(topic);
}

static void end_question(void *arg)
{
	struct wp_question *question = arg;
	struct wp_inquiry *q = question->asker;

	assert(q->stage == WP_INQUIRY_METADATA);
	q->answer = answer_of(q, question->code, NULL);
	q->answered = true;
	q->question = NULL;
	free(question);
	q->wake(q->wake_arg);
}

enum wp_rc wp_inquiry_ask_metadata(struct wp_inquiry *q, const struct wp_client *c,
				   struct wp_worker *worker, const char *topic, int timeout_ms)
{
	struct wp_question *question = calloc(1, sizeof(*question));
	if (question == NULL)
		return WP_NOMEM;
	*question = (struct wp_question){ .rk = c->rk, .timeout_ms = timeout_ms, .asker = q };
	(void)snprintf(question->topic, sizeof(question->topic), "%s", topic);
	struct wp_job job = {
		.run = run_question, .done = end_question, .drop = free, .arg = question
	};
	enum wp_rc rc = wp_worker_submit(worker, &job, &q->job);
	if (rc != WP_OK) {
		free(question);
		return rc;
	}
	begin(q, WP_INQUIRY_METADATA, topic);
	q->question = question;
	return WP_OK;
}

bool wp_inquiry_take(struct wp_inquiry *q, struct wp_answer *ret)
{
	if (!q->answered)
		return false;
	*ret = q->answer;
	q->answered = false;
	q->stage = WP_INQUIRY_IDLE;
	return true;
}

void wp_inquiry_reset(struct wp_inquiry *q, struct wp_worker *worker)
{
	if (q->question != NULL)
		wp_worker_abandon(worker, q->job);
	q->question = NULL;
	q->answered = false;
	q->stage = WP_INQUIRY_IDLE;
}
