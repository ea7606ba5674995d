#include "preflight_asker.h"

#include <stdio.h>
#include <string.h>

#include "walpost/base/clock.h"
#include "walpost/kafka/reaction.h"
#include "walpost/kafka/statistics.h"

enum { ANSWER_TIMEOUT_MS = 5000 };

int wp_asker_left_ms(const struct wp_asker *a)
{
	int64_t left = a->deadline_ms - wp_clock_us() / 1000;

	return left < 0 ? 0 : (int)left;
}

/* -- what comes beside answers ------------------------------------------------------- */

void wp_asker_read_fatal(struct wp_asker *a)
{
	char text[512];
	rd_kafka_resp_err_t code = rd_kafka_fatal_error(a->rk, text, sizeof(text));

	if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	a->idempotence = WP_IDEMPOTENCE_REFUSED;
	a->code = code;
	(void)wp_error_set(&a->trouble, WP_CONFIG, "%s", text);
}

static void read_error(struct wp_asker *a, rd_kafka_event_t *event)
{
	rd_kafka_resp_err_t code = rd_kafka_event_error(event);

	wp_asker_broker_failed(a, rd_kafka_event_error_string(event));
	if (code == RD_KAFKA_RESP_ERR__FATAL) {
		wp_asker_read_fatal(a);
		return;
	}
	/* That all brokers are down says less than why. */
	if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN && a->trouble.text[0] != '\0')
		return;
	/* What refused us may be followed by less. */
	if (a->is_refused || a->idempotence == WP_IDEMPOTENCE_REFUSED)
		return;
	const char *text = rd_kafka_event_error_string(event);
	a->code = code;
	(void)wp_error_set(&a->trouble, WP_IO, "%s", text);
	a->is_refused = wp_authentication_is_login(code) || wp_authentication_is_tls(code, text);
}

/* Reads "eos": { "idemp_state": "Assigned", ... }: nothing else tells that a producer id was
 * given. */
static void read_statistics(struct wp_asker *a, rd_kafka_event_t *event)
{
	const char *at = strstr(rd_kafka_event_stats(event), "\"idemp_state\"");
	const char *end = at == NULL ? NULL : strchr(at, ',');
	const char *assigned = at == NULL ? NULL : strstr(at, "\"Assigned\"");

	if (assigned != NULL && end != NULL && assigned < end &&
	    a->idempotence == WP_IDEMPOTENCE_NOT_KNOWN)
		a->idempotence = WP_IDEMPOTENCE_GRANTED;
	wp_asker_brokers_up(a, rd_kafka_event_stats(event));
}

void wp_asker_take(struct wp_asker *a, rd_kafka_event_t *event)
{
	switch (rd_kafka_event_type(event)) {
	case RD_KAFKA_EVENT_ERROR:
		read_error(a, event);
		break;
	case RD_KAFKA_EVENT_STATS:
		read_statistics(a, event);
		break;
	default:
		break; /* an answer that came too late */
	}
	rd_kafka_event_destroy(event);
}

rd_kafka_event_t *wp_asker_wait(struct wp_asker *a, rd_kafka_event_type_t kind)
{
	int left;

	while ((left = wp_asker_left_ms(a)) > 0) {
		rd_kafka_event_t *event = rd_kafka_queue_poll(a->queue, left);
		if (event != NULL && rd_kafka_event_type(event) == kind)
			return event;
		if (event != NULL)
			wp_asker_take(a, event);
	}
	return NULL;
}

rd_kafka_AdminOptions_t *wp_asker_admin_options(const struct wp_asker *a, rd_kafka_admin_op_t op)
{
	char errstr[256];
	int left = wp_asker_left_ms(a);
	rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(a->rk, op);

	/* Both values are in range by construction. */
	(void)rd_kafka_AdminOptions_set_request_timeout(
		options, left < ANSWER_TIMEOUT_MS ? left + 1 : ANSWER_TIMEOUT_MS, errstr,
		sizeof(errstr));
	if (a->broker_id >= 0)
		(void)rd_kafka_AdminOptions_set_broker(options, a->broker_id, errstr,
						       sizeof(errstr));
	return options;
}

const rd_kafka_ConfigResource_t *wp_asker_config(struct wp_asker *a, rd_kafka_ResourceType_t kind,
						 const char *name, rd_kafka_event_t **ret_event,
						 rd_kafka_resp_err_t *ret_code)
{
	size_t count = 0;
	rd_kafka_ConfigResource_t *resource = rd_kafka_ConfigResource_new(kind, name);
	rd_kafka_AdminOptions_t *options =
		wp_asker_admin_options(a, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);

	rd_kafka_DescribeConfigs(a->rk, &resource, 1, options, a->queue);
	rd_kafka_AdminOptions_destroy(options);
	rd_kafka_ConfigResource_destroy(resource);
	*ret_event = wp_asker_wait(a, RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT);
	*ret_code = *ret_event == NULL ? RD_KAFKA_RESP_ERR__TIMED_OUT
				       : rd_kafka_event_error(*ret_event);
	if (*ret_code != RD_KAFKA_RESP_ERR_NO_ERROR)
		return NULL;
	const rd_kafka_ConfigResource_t **resources = rd_kafka_DescribeConfigs_result_resources(
		rd_kafka_event_DescribeConfigs_result(*ret_event), &count);
	*ret_code = count == 1 ? rd_kafka_ConfigResource_error(resources[0])
			       : RD_KAFKA_RESP_ERR__BAD_MSG;
	return *ret_code == RD_KAFKA_RESP_ERR_NO_ERROR ? resources[0] : NULL;
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

/* ---- brokers ---- */

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

/* The text is like "sasl_ssl://host:port/id: Connect to ... failed: ... (after 3ms in state
 * CONNECT)". */
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
