#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "login_conf.h"
#include "walpost/base/secret.h"
#include "walpost/base/secret_file.h"
#include "walpost/kafka/properties.h"
#include "walpost/kafka/provider.h"

#define COUNT_OF(array_) (sizeof(array_) / sizeof((array_)[0]))
#define VALUE_SIZE 4096

static const struct {
	const char *name;
	const char *value;
} defaults[] = {
	{ "client.id", "walpost" },
	{ "enable.idempotence", "true" },
	{ "enable.gapless.guarantee", "true" },
	{ "acks", "all" },
	/* An expired message would leave a hole that later ones fill out of order. */
	{ "message.timeout.ms", "0" },
	/* Java and Debezium place keys in this way. */
	{ "partitioner", "murmur2_random" },
	{ "allow.auto.create.topics", "false" },
	/* Measured, it takes a third off what the broker works, and a fifth off what we do. */
	{ "compression.type", "lz4" },
	/* What comes fast comes in bursts already (postgres/receive_batching.h). */
	{ "linger.ms", "0" },
	/*
	 * A broker works at one request of a connection at a time (Kafka's SocketServer mutes it until
	 * the answer is sent). And with more, librdkafka (2.0 to 2.15, rdkafka_broker.c,
	 * rd_kafka_toppar_producer_serve) polls without a pause whenever a partition with five
	 * messages unacknowledged has another: a core of its own, where Kafka is slow.
	 */
	{ "max.in.flight.requests.per.connection", "1" },
	{ "socket.nagle.disable", "true" },
	{ "socket.keepalive.enable", "true" },
	{ "delivery.report.only.error", "false" },
	{ "statistics.interval.ms", "0" },
};

/* These are not to be set at all: setting already acts, or hands a text to where a pointer
 * belongs. */
static const struct {
	const char *name;
	const char *reason;
} forbidden[] = {
	{ "plugin.library.paths", "a plugin's code could change or drop records" },
	{ "interceptors", "an interceptor could change or drop records" },
	{ "transactional.id", "the relay does not run transactions" },
	{ "ut_handle_ProduceResponse", "it is librdkafka's own test hook" },
	{ "test.mock.num.brokers", "events that were never sent would be confirmed" },
	{ "topic.blacklist", "walpost would wait forever for a matching topic" },
};

enum judgement { MUST_BE, MUST_NOT_BE, MUST_BE_EMPTY };

struct rule {
	const char *name;
	const char *alias; /* or NULL */
	enum judgement judgement;
	const char *value;
	const char *allowed;
	const char *reason;
};

static const struct rule rules[] = {
	{ "enable.idempotence", NULL, MUST_BE, "true", "true",
	  "without it a retried batch is written twice or out of order" },
	{ "enable.gapless.guarantee", NULL, MUST_BE, "true", "true",
	  "without it later events overtake one that failed" },
	{ "request.required.acks", "acks", MUST_BE, "-1", "all",
	  "otherwise the failure of a broker can lose a confirmed event" },
	{ "message.timeout.ms", "delivery.timeout.ms", MUST_BE, "0", "0",
	  "later events overtake an event that times out" },
	{ "message.send.max.retries", "retries", MUST_BE, "2147483647", "2147483647",
	  "later events overtake an event that is given up" },
	{ "queuing.strategy", NULL, MUST_BE, "fifo", "fifo", "events must leave in order" },
	{ "partitioner", NULL, MUST_NOT_BE, "random",
	  "murmur2_random, murmur2, consistent_random, consistent, fnv1a_random or fnv1a",
	  "events of one key must share a partition to keep their order" },
	{ "delivery.report.only.error", NULL, MUST_BE, "false", "false",
	  "an event is confirmed by its delivery report" },
	{ "transactional.id", NULL, MUST_BE_EMPTY, "", "nothing",
	  "the relay does not run transactions" },
	{ "plugin.library.paths", NULL, MUST_BE_EMPTY, "", "nothing",
	  "a plugin's code could change or drop records" },
};

/* Returns false when the property does not exist or has no value. */
static bool read_back(const rd_kafka_conf_t *conf, const char *name, char value[VALUE_SIZE])
{
	size_t size = VALUE_SIZE;

	value[0] = '\0';
	if (rd_kafka_conf_get(conf, name, value, &size) != RD_KAFKA_CONF_OK)
		return false;
	value[VALUE_SIZE - 1] = '\0';
	return true;
}

int64_t wp_properties_number(const rd_kafka_conf_t *conf, const char *name)
{
	char value[VALUE_SIZE];

	bool known = read_back(conf, name, value);
	assert(known);
	return strtoll(value, NULL, 10);
}

void wp_properties_principal(const rd_kafka_conf_t *conf, char *ret, size_t size)
{
	char user[VALUE_SIZE];
	size_t user_size = sizeof(user);

	ret[0] = '\0';
	if (rd_kafka_conf_get(conf, "sasl.username", user, &user_size) == RD_KAFKA_CONF_OK &&
	    user[0] != '\0')
		(void)snprintf(ret, size, "User:%s", user); /* cut: for people */
}

bool wp_properties_is(const rd_kafka_conf_t *conf, const char *name, const char *value)
{
	char effective[VALUE_SIZE];

	return read_back(conf, name, effective) && strcmp(effective, value) == 0;
}

const struct wp_placement *wp_properties_placement(const rd_kafka_conf_t *conf)
{
	char name[VALUE_SIZE];

	bool known = read_back(conf, "partitioner", name);
	assert(known);
	const struct wp_placement *placement = wp_placement_find(name);
	assert(placement != NULL); /* the rules let no other pass */
	return placement;
}

/* Finds the property that decided: the last that stands under either name. NULL when none of the
 * user's did. */
static const struct wp_property *find(const struct wp_kafka_options *options, const char *name,
				      const char *alias)
{
	const struct wp_property *found = NULL;

	for (size_t i = 0; i < options->property_count; i++) {
		const struct wp_property *p = &options->properties[i];
		if (strcmp(p->name, name) == 0 || (alias != NULL && strcmp(p->name, alias) == 0))
			found = p;
	}
	return found;
}

static const char *shown(const struct wp_property *p)
{
	if (p->file != NULL) /* it may be otherwise by now */
		return "(of its file)";
	return wp_property_is_secret(p->name) ? "(hidden)" : p->value;
}

static const char *place(const struct wp_property *p)
{
	return p->where != NULL ? p->where : "configuration";
}

static enum wp_rc refuse(const struct wp_property *p, const char *reason, const char *allowed,
			 struct wp_error *error)
{
	return wp_error_set(error, WP_CONFIG, "kafka: %s = %s (%s) is refused: %s; allowed: %s",
			    p->name, shown(p), place(p), reason, allowed);
}

static void set_ours(rd_kafka_conf_t *conf, const char *name, const char *value)
{
	char errstr[512];

	rd_kafka_conf_res_t result = rd_kafka_conf_set(conf, name, value, errstr, sizeof(errstr));
	assert(result == RD_KAFKA_CONF_OK);
	(void)result;
}

char *wp_property_now(const struct wp_property *p)
{
	return wp_secret_now(p->file, p->value);
}

/* librdkafka would take what stands before the @ for a host, and name it in its errors. */
static enum wp_rc refuse_login(const struct wp_property *p, struct wp_error *error)
{
	return wp_error_set(
		error, WP_CONFIG,
		"kafka: %s (%s) is refused: it contains an @ (the value is not shown, because it "
		"may contain a password); it takes host:port[,host:port...]; user and password are "
		"sasl.username and sasl.password",
		p->name, place(p));
}

static enum wp_rc set_theirs(rd_kafka_conf_t *conf, const struct wp_property *p,
			     struct wp_error *error)
{
	char errstr[512];

	for (size_t i = 0; i < COUNT_OF(forbidden); i++) {
		if (strcmp(p->name, forbidden[i].name) == 0)
			return refuse(p, forbidden[i].reason, "nothing", error);
	}
	char *value = wp_property_now(p);
	if (value == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for the Kafka properties");
	if ((strcmp(p->name, "bootstrap.servers") == 0 ||
	     strcmp(p->name, "metadata.broker.list") == 0) &&
	    strchr(value, '@') != NULL) {
		free(value);
		return refuse_login(p, error);
	}
	rd_kafka_conf_res_t result =
		rd_kafka_conf_set(conf, p->name, value, errstr, sizeof(errstr));
	free(value);
	switch (result) {
	case RD_KAFKA_CONF_OK:
		return WP_OK;
	case RD_KAFKA_CONF_UNKNOWN:
		return wp_error_set(error, WP_CONFIG,
				    "kafka: librdkafka %s has no property %s (%s); allowed: the "
				    "producer properties of its CONFIGURATION.md",
				    rd_kafka_version_str(), p->name, place(p));
	case RD_KAFKA_CONF_INVALID:
		break;
	}
	/* librdkafka's sentence may quote the value. */
	return wp_error_set(error, WP_CONFIG, "kafka: %s = %s (%s) is refused by librdkafka %s: %s",
			    p->name, shown(p), place(p), rd_kafka_version_str(),
			    wp_property_is_secret(p->name) ? "invalid value" : errstr);
}

static bool is_kept(const struct rule *rule, const rd_kafka_conf_t *conf)
{
	char value[VALUE_SIZE];

	bool known = read_back(conf, rule->name, value);
	switch (rule->judgement) {
	case MUST_BE:
		return known && strcmp(value, rule->value) == 0;
	case MUST_NOT_BE:
		return known && strcmp(value, rule->value) != 0;
	case MUST_BE_EMPTY:
		return !known || value[0] == '\0';
	}
	return false;
}

static enum wp_rc judge(const struct wp_kafka_options *options, const rd_kafka_conf_t *conf,
			struct wp_error *error)
{
	for (size_t i = 0; i < COUNT_OF(rules); i++) {
		const struct rule *rule = &rules[i];
		if (is_kept(rule, conf))
			continue;
		const struct wp_property *p = find(options, rule->name, rule->alias);
		if (p != NULL)
			return refuse(p, rule->reason, rule->allowed, error);
		return wp_error_set(error, WP_CONFIG, "kafka: %s is refused: %s; allowed: %s",
				    rule->name, rule->reason, rule->allowed);
	}
	return WP_OK;
}

/*
 * librdkafka's own queue must never fill before the relay's bound is reached.
 * It frees a report's room only when the whole batch of reports is read, hence
 * a batch more; and one event larger than the bound is let in alone.
 */
static enum wp_rc raise_limit(const struct wp_kafka_options *options, rd_kafka_conf_t *conf,
			      const char *name, int64_t needed, struct wp_error *error)
{
	char text[32], allowed[96];
	const struct wp_property *theirs = find(options, name, NULL);
	int64_t effective = wp_properties_number(conf, name);

	if (needed > INT_MAX)
		needed = INT_MAX;
	/* 0 is librdkafka's word for no limit (messages only). */
	if (effective >= needed || effective == 0)
		return WP_OK;
	(void)snprintf(text, sizeof(text), "%lld", (long long)needed);
	if (theirs == NULL) {
		set_ours(conf, name, text);
		return WP_OK;
	}
	(void)snprintf(allowed, sizeof(allowed), "%s or more, or leave it out", text);
	return refuse(theirs,
		      "librdkafka's queue would be full before the relay's own limit "
		      "(relay.in_flight.events, relay.in_flight.bytes, with many partitions up to "
		      "relay.in_flight.bytes_max) is reached",
		      allowed, error);
}

static enum wp_rc raise_limits(const struct wp_kafka_options *options,
			       const struct wp_kafka_bounds *bounds, rd_kafka_conf_t *conf,
			       struct wp_error *error)
{
	int64_t batch_count = wp_properties_number(conf, "batch.num.messages");
	int64_t batch_size = wp_properties_number(conf, "batch.size");
	int64_t message_max = wp_properties_number(conf, "message.max.bytes");

	if (bounds->in_flight_events > INT_MAX || bounds->in_flight_bytes > INT64_MAX / 4)
		return wp_error_set(error, WP_CONFIG,
				    "kafka: relay.in_flight.events and relay.in_flight.bytes "
				    "exceed librdkafka's limits (2147483647 events, 2 TiB)");
	int64_t bytes = (int64_t)bounds->in_flight_bytes + batch_size + message_max;
	enum wp_rc rc = raise_limit(options, conf, "queue.buffering.max.messages",
				    (int64_t)bounds->in_flight_events + batch_count, error);
	if (rc != WP_OK)
		return rc;
	return raise_limit(options, conf, "queue.buffering.max.kbytes", bytes / 1024 + 1, error);
}

static enum wp_rc need_brokers(const rd_kafka_conf_t *conf, struct wp_error *error)
{
	char value[VALUE_SIZE];

	if (read_back(conf, "metadata.broker.list", value) && value[0] != '\0')
		return WP_OK;
	return wp_error_set(error, WP_CONFIG,
			    "kafka: bootstrap.servers is missing; set it to "
			    "host:port[,host:port...] of your brokers");
}

/* Such a client would log in nowhere, and look like a Kafka that does not answer. */
static enum wp_rc need_token(const rd_kafka_conf_t *conf, struct wp_error *error)
{
	char protocol[VALUE_SIZE];

	if (!read_back(conf, "security.protocol", protocol) || strncmp(protocol, "sasl", 4) != 0 ||
	    !wp_properties_is(conf, "sasl.mechanisms", "OAUTHBEARER") ||
	    wp_properties_is(conf, "sasl.oauthbearer.method", "oidc") ||
	    wp_properties_is(conf, "enable.sasl.oauthbearer.unsecure.jwt", "true"))
		return WP_OK;
	return wp_error_set(error, WP_CONFIG,
			    "kafka: sasl.mechanisms = OAUTHBEARER lacks a token source: set "
			    "kafka.login or kafka.token_command");
}

/* Event Hubs refuses our lz4, and in its smaller tiers all compression. */
static void set_compression(const struct wp_kafka_options *options, rd_kafka_conf_t *conf)
{
	char servers[VALUE_SIZE], value[VALUE_SIZE];

	if (find(options, "compression.type", "compression.codec") != NULL ||
	    !read_back(conf, "metadata.broker.list", servers) ||
	    !read_back(conf, "compression.type", value))
		return;
	if (!wp_kafka_provider_takes(wp_kafka_provider_find(servers), value))
		set_ours(conf, "compression.type", "none");
}

static enum wp_rc fill(const struct wp_kafka_options *options, const struct wp_kafka_bounds *bounds,
		       rd_kafka_conf_t *conf, struct wp_error *error)
{
	enum wp_rc rc;

	for (size_t i = 0; i < COUNT_OF(defaults); i++)
		set_ours(conf, defaults[i].name, defaults[i].value);
	for (size_t i = 0; i < options->property_count; i++) {
		const struct wp_property *p = &options->properties[i];
		rc = wp_login_conf_owns(options, p->name) ? WP_OK : set_theirs(conf, p, error);
		if (rc != WP_OK)
			return rc;
	}
	set_compression(options, conf);
	/* librdkafka's lines belong into our log, whatever was asked for. */
	set_ours(conf, "log.queue", "true");
	rc = judge(options, conf, error);
	if (rc != WP_OK)
		return rc;
	rc = raise_limits(options, bounds, conf, error);
	if (rc != WP_OK)
		return rc;
	rc = wp_login_is_wanted(&options->login_options) ? wp_login_conf_apply(options, conf, error)
							 : need_token(conf, error);
	return rc == WP_OK ? need_brokers(conf, error) : rc;
}

enum wp_rc wp_properties_conf(const struct wp_kafka_options *options,
			      const struct wp_kafka_bounds *bounds, rd_kafka_conf_t **ret,
			      struct wp_error *error)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();

	assert(options->property_count <= WP_PROPERTIES_MAX);
	enum wp_rc rc = fill(options, bounds, conf, error);
	if (rc != WP_OK) {
		rd_kafka_conf_destroy(conf);
		return rc;
	}
	*ret = conf;
	return WP_OK;
}

/* It is for the producer to complain of a property that is refused. */
size_t wp_properties_record_max(const struct wp_kafka_options *options)
{
	static const char name[] = "message.max.bytes";
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char errstr[512];

	for (size_t i = 0; i < options->property_count; i++) {
		const struct wp_property *p = &options->properties[i];
		if (strcmp(p->name, name) == 0)
			(void)rd_kafka_conf_set(conf, name, p->value, errstr, sizeof(errstr));
	}
	size_t size = (size_t)wp_properties_number(conf, name);
	rd_kafka_conf_destroy(conf);
	return size;
}
