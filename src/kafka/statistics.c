#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "walpost/kafka/statistics.h"

static uint64_t count_of(const json_t *object, const char *name)
{
	json_int_t value = json_integer_value(json_object_get(object, name));

	return value > 0 ? (uint64_t)value : 0;
}

/* Before a broker is known by its number, it stands there as it was configured. */
static bool is_numbered(const json_t *broker)
{
	return json_integer_value(json_object_get(broker, "nodeid")) >= 0;
}

static bool any_is_numbered(json_t *brokers)
{
	const char *name;
	json_t *broker;

	json_object_foreach(brokers, name, broker)
	{
		if (is_numbered(broker))
			return true;
	}
	return false;
}

static bool is_up(const json_t *broker)
{
	const char *state = json_string_value(json_object_get(broker, "state"));

	return state != NULL && strcmp(state, "UP") == 0;
}

static void read_broker(const char *name, const json_t *broker, struct wp_sink_broker *ret)
{
	const json_t *rtt = json_object_get(broker, "rtt");

	*ret = (struct wp_sink_broker){
		.up = is_up(broker),
		.rtt_p50_us = (int64_t)count_of(rtt, "p50"),
		.rtt_p99_us = (int64_t)count_of(rtt, "p99"),
	};
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
}

static void read_brokers(json_t *brokers, struct wp_sink_figures *ret)
{
	bool numbered = any_is_numbered(brokers);
	const char *name;
	json_t *broker;

	json_object_foreach(brokers, name, broker)
	{
		ret->retries += count_of(broker, "txretries");
		ret->timeouts += count_of(broker, "req_timeouts");
		if (is_numbered(broker) == numbered && ret->broker_count < WP_SINK_BROKERS_MAX)
			read_broker(name, broker, &ret->brokers[ret->broker_count++]);
	}
}

void wp_statistics_read(const char *text, size_t size, struct wp_sink_figures *ret)
{
	json_t *root = json_loadb(text, size, 0, NULL);

	if (json_is_object(root)) {
		*ret = (struct wp_sink_figures){
			.known = true,
			.messages = count_of(root, "msg_cnt"),
			.bytes = count_of(root, "msg_size"),
			.requests = count_of(root, "tx"),
			.sent_bytes = count_of(root, "tx_bytes"),
		};
		read_brokers(json_object_get(root, "brokers"), ret);
	}
	json_decref(root);
}

void wp_statistics_each_up(const char *text, size_t size, void (*found)(void *arg, int32_t id),
			   void *arg)
{
	json_t *root = json_loadb(text, size, 0, NULL);
	const char *name;
	json_t *broker;

	json_object_foreach(json_object_get(root, "brokers"), name, broker)
	{
		if (is_numbered(broker) && is_up(broker))
			found(arg, (int32_t)json_integer_value(json_object_get(broker, "nodeid")));
	}
	json_decref(root);
}
