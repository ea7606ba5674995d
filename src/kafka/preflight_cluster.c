/* What the broker tells of itself, and what it would let us make. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preflight_asker.h"

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
	char errstr[256];
	size_t count = 0;
	rd_kafka_NewTopic_t *topic =
		rd_kafka_NewTopic_new("walpost-check", 1, 1, errstr, sizeof(errstr));
	rd_kafka_AdminOptions_t *options =
		wp_asker_admin_options(a, RD_KAFKA_ADMIN_OP_CREATETOPICS);

	(void)rd_kafka_AdminOptions_set_validate_only(options, 1, errstr, sizeof(errstr));
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
