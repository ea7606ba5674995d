/* What the broker tells of itself, and what it would let us make. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preflight_asker.h"

enum { ANSWER_TIMEOUT_MS = 5000 };

rd_kafka_AdminOptions_t *wp_asker_admin_options(const struct wp_asker *a, rd_kafka_admin_op_t op)
{
	char error[256];
	int left = wp_asker_left_ms(a);
	rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(a->rk, op);

	/* Both in range by construction. */
	(void)rd_kafka_AdminOptions_set_request_timeout(
		options, left < ANSWER_TIMEOUT_MS ? left + 1 : ANSWER_TIMEOUT_MS, error,
		sizeof(error));
	if (a->broker_id >= 0)
		(void)rd_kafka_AdminOptions_set_broker(options, a->broker_id, error, sizeof(error));
	return options;
}

const rd_kafka_ConfigResource_t *wp_asker_config(struct wp_asker *a, rd_kafka_ResourceType_t kind,
						 const char *name, rd_kafka_event_t **ret_event)
{
	size_t count = 0;
	rd_kafka_ConfigResource_t *resource = rd_kafka_ConfigResource_new(kind, name);
	rd_kafka_AdminOptions_t *options =
		wp_asker_admin_options(a, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);

	rd_kafka_DescribeConfigs(a->rk, &resource, 1, options, a->queue);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_ConfigResource_destroy(resource);
	*ret_event = wp_asker_wait(a, RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT);
	if (*ret_event == NULL || rd_kafka_event_error(*ret_event) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return NULL;
	const rd_kafka_ConfigResource_t **resources = rd_kafka_DescribeConfigs_result_resources(
		rd_kafka_event_DescribeConfigs_result(*ret_event), &count);
	bool is_told = count == 1 &&
		       rd_kafka_ConfigResource_error(resources[0]) == RD_KAFKA_RESP_ERR_NO_ERROR;
	return is_told ? resources[0] : NULL;
}

const char *wp_config_value(const rd_kafka_ConfigResource_t *resource, const char *name)
{
	size_t count;
	const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(resource, &count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(rd_kafka_ConfigEntry_name(entries[i]), name) == 0)
			return rd_kafka_ConfigEntry_value(entries[i]);
	return NULL;
}

static int number_of(const rd_kafka_ConfigResource_t *resource, const char *name)
{
	const char *value = wp_config_value(resource, name);

	return value == NULL ? 0 : (int)strtol(value, NULL, 10);
}

static void read_broker(struct wp_asker *a, const rd_kafka_ConfigResource_t *resource)
{
	const char *creates = wp_config_value(resource, "auto.create.topics.enable");

	if (creates != NULL)
		a->cluster.auto_create = strcmp(creates, "true") == 0 ? WP_YES : WP_NO;
	a->cluster.partitions = number_of(resource, "num.partitions");
	a->cluster.replicas = number_of(resource, "default.replication.factor");
}

static void ask_broker(struct wp_asker *a)
{
	char name[16];
	rd_kafka_event_t *event;

	(void)snprintf(name, sizeof(name), "%d", (int)a->broker_id);
	const rd_kafka_ConfigResource_t *resource =
		wp_asker_config(a, RD_KAFKA_RESOURCE_BROKER, name, &event);
	if (resource != NULL)
		read_broker(a, resource);
	if (event != NULL)
		rd_kafka_event_destroy(event);
}

/* The broker judges, and makes nothing. */
static void try_to_create(struct wp_asker *a)
{
	char error[256];
	size_t count = 0;
	rd_kafka_NewTopic_t *topic =
		rd_kafka_NewTopic_new("walpost-check", 1, 1, error, sizeof(error));
	rd_kafka_AdminOptions_t *options =
		wp_asker_admin_options(a, RD_KAFKA_ADMIN_OP_CREATETOPICS);

	(void)rd_kafka_AdminOptions_set_validate_only(options, 1, error, sizeof(error));
	rd_kafka_CreateTopics(a->rk, &topic, 1, options, a->queue);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_NewTopic_destroy(topic);
	rd_kafka_event_t *event = wp_asker_wait(a, RD_KAFKA_EVENT_CREATETOPICS_RESULT);
	if (event == NULL)
		return;
	if (rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR_NO_ERROR) {
		const rd_kafka_topic_result_t **results = rd_kafka_CreateTopics_result_topics(
			rd_kafka_event_CreateTopics_result(event), &count);
		rd_kafka_resp_err_t code = count == 1 ? rd_kafka_topic_result_error(results[0])
						      : RD_KAFKA_RESP_ERR_UNKNOWN;
		if (code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
		    code == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED)
			a->cluster.may_create = WP_NO;
		else if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
			a->cluster.may_create = WP_YES;
	}
	rd_kafka_event_destroy(event);
}

void wp_asker_ask_cluster(struct wp_asker *a)
{
	if (!a->cluster.creates_topics)
		return;
	ask_broker(a);
	if (a->cluster.auto_create != WP_NO)
		try_to_create(a);
}
