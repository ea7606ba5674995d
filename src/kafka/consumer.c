/* Makes consumers, which share the settings of connections with the producer. */
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/kafka/client.h"
#include "login_conf.h"
#include "walpost/kafka/token.h"
#include "walpost/kafka/properties.h"

#define COUNT_OF(array_) (sizeof(array_) / sizeof((array_)[0]))

static bool concerns_connections(const char *name)
{
	static const char *const prefixes[] = {
		"bootstrap.servers",
		"metadata.broker.list",
		"broker.address.",
		"security.",
		"sasl.",
		"ssl.",
		"enable.ssl.",
		"enable.sasl.",
		"https.",
		"client.",
		"socket.",
		"reconnect.backoff.",
	};

	for (size_t i = 0; i < COUNT_OF(prefixes); i++) {
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

static void set_ours(rd_kafka_conf_t *conf, const struct wp_consumer_property *properties,
		     size_t count)
{
	char error[512];

	for (size_t i = 0; i < count; i++) {
		rd_kafka_conf_res_t result = rd_kafka_conf_set(
			conf, properties[i].name, properties[i].value, error, sizeof(error));
		assert(result == RD_KAFKA_CONF_OK);
		(void)result;
	}
}

static bool set_one(rd_kafka_conf_t *conf, const struct wp_property *p)
{
	char error[512];
	char *value = wp_property_now(p);

	bool done = value != NULL && rd_kafka_conf_set(conf, p->name, value, error,
						       sizeof(error)) == RD_KAFKA_CONF_OK;
	free(value);
	return done;
}

/* A consumer takes what the producer took: these are properties of both. */
static bool set_theirs(rd_kafka_conf_t *conf, const struct wp_kafka_options *options)
{
	for (size_t i = 0; i < options->property_count; i++) {
		const struct wp_property *p = &options->properties[i];
		if (concerns_connections(p->name) && !wp_login_conf_owns(options, p->name) &&
		    !set_one(conf, p))
			return false;
	}
	return wp_login_conf_apply(options, conf, NULL) == WP_OK;
}

rd_kafka_t *wp_consumer_new(const struct wp_kafka_options *options,
			    const struct wp_consumer_property *more, size_t more_count)
{
	static const struct wp_consumer_property ours[] = {
		{ "client.id", "walpost" },
		{ "enable.partition.eof", "true" },
		{ "auto.offset.reset", "earliest" },
		{ "enable.auto.commit", "false" },
		/* Somebody else's open transaction must not hide what lies behind it. */
		{ "isolation.level", "read_uncommitted" },
		{ "fetch.error.backoff.ms", "100" },
		{ "fetch.max.bytes", "8388608" },
		{ "queued.max.messages.kbytes", "1024" },
		{ "log.queue", "true" },
	};
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_t *rk = NULL;
	char error[512];

	set_ours(conf, ours, COUNT_OF(ours));
	set_ours(conf, more, more_count);
	if (set_theirs(conf, options)) {
		rd_kafka_conf_set_events(conf, RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG);
		wp_kafka_token_prepare(conf, options);
		rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, error, sizeof(error));
	}
	if (rk == NULL)
		rd_kafka_conf_destroy(conf);
	else
		wp_kafka_token_begin(rk, options);
	if (rk != NULL) /* its lines end with the queue: the sentence says what is to be known */
		(void)rd_kafka_set_log_queue(rk, NULL);
	return rk;
}
