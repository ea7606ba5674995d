/* Which brokers are there, and what librdkafka tells of them: errors, and that one has let us in. */
#include <stdio.h>
#include <string.h>

#include "preflight_asker.h"
#include "walpost/kafka/statistics.h"

void wp_asker_take_brokers(struct wp_asker *a, const struct rd_kafka_metadata *metadata)
{
	struct wp_cluster_facts *c = &a->cluster;

	c->told_count = 0;
	for (int i = 0; i < metadata->broker_cnt && c->told_count < WP_BROKERS_TOLD_MAX; i++) {
		struct wp_broker_facts *b = &c->told[c->told_count++];
		*b = (struct wp_broker_facts){ .id = metadata->brokers[i].id };
		(void)snprintf(b->name, sizeof(b->name), "%s:%d", metadata->brokers[i].host,
			       metadata->brokers[i].port);
	}
}

/* "sasl_ssl://host:port/id: Connect to ... failed: ... (after 3ms in state CONNECT)" */
void wp_asker_broker_failed(struct wp_asker *a, const char *text)
{
	char prefix[340];

	for (size_t i = 0; i < a->cluster.told_count; i++) {
		struct wp_broker_facts *b = &a->cluster.told[i];
		(void)snprintf(prefix, sizeof(prefix), "%s/%d: ", b->name, (int)b->id);
		const char *at = strstr(text, prefix);
		if (at == NULL)
			continue;
		at += strlen(prefix);
		const char *end = strstr(at, " (after ");
		(void)snprintf(b->why, sizeof(b->why), "%.*s",
			       end != NULL ? (int)(end - at) : (int)strlen(at), at);
	}
}

static void note_up(void *arg, int32_t id)
{
	struct wp_cluster_facts *c = arg;

	for (size_t i = 0; i < c->told_count; i++)
		if (c->told[i].id == id)
			c->told[i].answers = true;
}

void wp_asker_brokers_up(struct wp_asker *a, const char *statistics)
{
	wp_statistics_each_up(statistics, strlen(statistics), note_up, &a->cluster);
}
