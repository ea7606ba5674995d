/*
 * Translates properties of Java's Kafka producer, as librdkafka (2.0 and newer) knows them:
 * [kafka], [relay].
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "translate.h"

#define KAFKA "kafka"
#define SERIALIZERS "org.apache.kafka.common.serialization."

/* The value of these means the same in both; they are dropped if `ours` is NULL. */
static const struct {
	const char *theirs;
	const char *ours;
	const char *error;
} producer[] = {
	{ "security.protocol", "security.protocol", NULL },
	{ "sasl.kerberos.service.name", "sasl.kerberos.service.name", NULL },
	{ "client.id", "client.id", NULL },
	{ "compression.type", "compression.type", NULL },
	{ "acks", NULL, "walpost always waits for all in-sync replicas" },
	{ "enable.idempotence", NULL, "walpost's producer is always idempotent" },
	{ "retries", NULL,
	  "walpost retries until Kafka accepts the event or rejects it permanently" },
	{ "delivery.timeout.ms", NULL, "walpost never discards an event because of a timeout" },
	{ "max.block.ms", NULL, "walpost stops reading while Kafka accepts nothing" },
	{ "max.in.flight.requests.per.connection", NULL,
	  "walpost uses 1, which costs least CPU; any value keeps the order" },
	{ "buffer.memory", NULL, "relay.in_flight.bytes limits the data in flight" },
	{ "client.dns.lookup", NULL, "librdkafka always tries all addresses of a name" },
	{ "send.buffer.bytes", NULL, "the system's own size" },
	{ "receive.buffer.bytes", NULL, "the system's own size" },
	{ "compression.gzip.level", NULL, "librdkafka's own level" },
	{ "compression.lz4.level", NULL, "librdkafka's own level" },
	{ "compression.zstd.level", NULL, "librdkafka's own level" },
	{ "partitioner.adaptive.partitioning.enable", NULL,
	  "it applies to records without a key, which may go to any partition" },
	{ "partitioner.availability.timeout.ms", NULL,
	  "it applies to records without a key, which may go to any partition" },
	{ "metadata.max.idle.ms", NULL, "librdkafka decides how long to cache a topic" },
	{ "metric.reporters", NULL, "walpost reports in its log" },
	{ "metrics.num.samples", NULL, "walpost reports in its log" },
	{ "metrics.recording.level", NULL, "walpost reports in its log" },
	{ "metrics.sample.window.ms", NULL, "walpost reports in its log" },
	{ "ssl.protocol", NULL, "OpenSSL and the broker agree on one" },
	{ "ssl.provider", NULL, "it applies to Java only" },
	{ "ssl.enabled.protocols", NULL, "OpenSSL and the broker agree on one" },
	{ "ssl.keymanager.algorithm", NULL, "it applies to Java only" },
	{ "ssl.trustmanager.algorithm", NULL, "it applies to Java only" },
	{ "ssl.secure.random.implementation", NULL, "it applies to Java only" },
	{ "ssl.truststore.type", NULL, "librdkafka reads PEM" },
	{ "ssl.keystore.type", NULL, "librdkafka reads PEM and PKCS#12" },
	{ "sasl.client.callback.handler.class", NULL, "it applies to Java only" },
	{ "sasl.kerberos.kinit.cmd", NULL, "librdkafka has its own command" },
};

/* These are numbers, with what librdkafka 2.0 to 2.8 takes of them. */
static const struct number {
	const char *theirs;
	const char *ours;
	int64_t least;
	int64_t most;
	enum { NEAREST, OWN_DEFAULT } below; /* what becomes of a smaller one */
} numbers[] = {
	{ "linger.ms", "linger.ms", 0, 900000, NEAREST },
	{ "batch.size", "batch.size", 1, INT32_MAX, NEAREST },
	{ "max.request.size", "message.max.bytes", 1000, 1000000000, NEAREST },
	{ "request.timeout.ms", "request.timeout.ms", 1, 900000, NEAREST },
	/* The nearest would ask for all metadata once a millisecond. */
	{ "metadata.max.age.ms", "metadata.max.age.ms", 1, 86400000, OWN_DEFAULT },
	{ "reconnect.backoff.ms", "reconnect.backoff.ms", 0, 3600000, NEAREST },
	{ "reconnect.backoff.max.ms", "reconnect.backoff.max.ms", 0, 3600000, NEAREST },
	{ "retry.backoff.ms", "retry.backoff.ms", 1, 300000, NEAREST },
	/* Never is -1 in Java, and 0 in librdkafka. */
	{ "connections.max.idle.ms", "connections.max.idle.ms", 0, INT32_MAX, NEAREST },
};

/* These are wanted, and cannot be taken from here. */
static const struct {
	const char *theirs;
	const char *error;
} wanted[] = {
	{ "sasl.jaas.config",
	  "a secret, not copied: set WALPOST__KAFKA__SASL_USERNAME, and set "
	  "WALPOST__KAFKA__SASL_PASSWORD_FILE to the name of a file with the password; with "
	  "Kerberos set sasl.kerberos.principal and sasl.kerberos.keytab" },
	{ "ssl.truststore.password", "only Java key stores need it; a PEM file has no password" },
	{ "ssl.keystore.password",
	  "a secret, not copied: set WALPOST__KAFKA__SSL_KEYSTORE_PASSWORD_FILE to the name of a "
	  "file with the password" },
	{ "ssl.key.password", "a secret, not copied: set WALPOST__KAFKA__SSL_KEY_PASSWORD_FILE to "
			      "the name of a file with the password" },
	{ "ssl.keystore.key",
	  "a secret, not copied: write the key to a file, and set ssl.key.location to its name" },
	{ "ssl.keystore.certificate.chain",
	  "write it to a file, and set ssl.certificate.location to its name" },
	{ "ssl.truststore.certificates",
	  "write them to a file, and set ssl.ca.location to its name" },
	{ "ssl.cipher.suites", "OpenSSL uses other names: set ssl.cipher.suites" },
	{ "sasl.login.callback.handler.class",
	  "a Java class: set login, or token_command to a program that prints the token" },
};

static struct wp_import_item *find(struct wp_translation *t, const char *key)
{
	return wp_import_find(t, WP_IMPORT_PRODUCER, key);
}

static void translate_stores(struct wp_translation *t)
{
	struct wp_import_item *trust = find(t, "ssl.truststore.location");
	struct wp_import_item *key = find(t, "ssl.keystore.location");
	const struct wp_import_item *trust_type = find(t, "ssl.truststore.type");
	const struct wp_import_item *key_type = find(t, "ssl.keystore.type");

	if (trust != NULL && trust_type != NULL && wp_import_is(trust_type->value, "pem")) {
		wp_import_say(t, KAFKA, trust, WP_IMPORT_TRANSLATED, NULL);
		wp_import_set(t, KAFKA, "ssl.ca.location", trust->value);
	} else if (trust != NULL) {
		wp_import_say(t, KAFKA, trust, WP_IMPORT_FILL_IN,
			      "librdkafka cannot read a Java key store: export its certificates as "
			      "PEM, and set ssl.ca.location to the file's name");
	}
	if (key != NULL && key_type != NULL && wp_import_is(key_type->value, "pkcs12")) {
		wp_import_say(t, KAFKA, key, WP_IMPORT_TRANSLATED, NULL);
		wp_import_set(t, KAFKA, "ssl.keystore.location", key->value);
	} else if (key != NULL) {
		wp_import_say(t, KAFKA, key, WP_IMPORT_FILL_IN,
			      "librdkafka reads a PKCS#12 file as ssl.keystore.location, or PEM "
			      "files as ssl.certificate.location and ssl.key.location");
	}
}

static void translate_endpoint(struct wp_translation *t)
{
	struct wp_import_item *item = find(t, "ssl.endpoint.identification.algorithm");

	if (item == NULL)
		return;
	if (!wp_import_is(item->value, "https") && !wp_import_is(item->value, "")) {
		wp_import_say(t, KAFKA, item, WP_IMPORT_FILL_IN,
			      "its value is unknown here: walpost verifies the broker's name, as "
			      "with https, unless it is set to none");
		return;
	}
	wp_import_say(t, KAFKA, item, WP_IMPORT_TRANSLATED, NULL);
	wp_import_set(t, KAFKA, item->key, wp_import_is(item->value, "https") ? "https" : "none");
}

/* Connect's worker has its brokers in a file of its own. */
static void translate_brokers(struct wp_translation *t)
{
	struct wp_import_item *worker = wp_import_find(t, WP_IMPORT_CONNECTOR, "bootstrap.servers");
	struct wp_import_item *item = find(t, "bootstrap.servers");

	if (item != NULL && worker != NULL)
		wp_import_say(t, KAFKA, worker, WP_IMPORT_DROPPED,
			      "the producer has its own brokers");
	if (item == NULL)
		item = worker;
	if (item == NULL) {
		wp_import_note(t, KAFKA, "bootstrap.servers is not set", WP_IMPORT_FILL_IN, "%s",
			       t->is_server ? "set it to Kafka's address"
					    : "the brokers are those of the Connect worker, which "
					      "are not in this file: add them here");
		wp_import_set(t, KAFKA, "bootstrap.servers", "localhost:9092");
		return;
	}
	if (wp_import_may_be_secret(item->value)) {
		wp_import_say(t, KAFKA, item, WP_IMPORT_FILL_IN,
			      "not copied, because it may contain a secret: set the brokers here");
		wp_import_set(t, KAFKA, "bootstrap.servers", "localhost:9092");
		return;
	}
	wp_import_say(t, KAFKA, item, WP_IMPORT_TRANSLATED, NULL);
	wp_import_set(t, KAFKA, "bootstrap.servers",
		      item->value[0] == '\0' ? "localhost:9092" : item->value);
}

static bool is_standard_partitioner(const char *class)
{
	return class[0] == '\0' ||
	       strcmp(class, "org.apache.kafka.clients.producer.internals.DefaultPartitioner") == 0;
}

static void translate_partitioner(struct wp_translation *t)
{
	static const char *const others[] = { "interceptor.classes", "transactional.id",
					      "partitioner.ignore.keys" };
	struct wp_import_item *item = find(t, "partitioner.class");

	if (item != NULL && is_standard_partitioner(item->value))
		wp_import_say(t, KAFKA, item, WP_IMPORT_DROPPED,
			      "walpost chooses partitions in the same way, by murmur2 of the key");
	else if (item != NULL)
		wp_import_say(t, KAFKA, item, WP_IMPORT_UNSUPPORTED,
			      "walpost chooses partitions by murmur2 of the key, like Java's "
			      "default partitioner; events of a key may move to another partition");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		item = find(t, others[i]);
		if (item == NULL)
			continue;
		if (item->value[0] == '\0' || wp_import_is(item->value, "false"))
			wp_import_say(t, KAFKA, item, WP_IMPORT_DROPPED, "it is not in use");
		else
			wp_import_say(t, KAFKA, item, WP_IMPORT_UNSUPPORTED,
				      "walpost's producer has no equivalent");
	}
}

/* Serializers are given bytes or a text already; those of Kafka pass it on. */
static void translate_serializers(struct wp_translation *t)
{
	static const char *const keys[] = { "key.serializer", "value.serializer" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct wp_import_item *item = find(t, keys[i]);

		if (item == NULL)
			continue;
		if (strcmp(item->value, SERIALIZERS "StringSerializer") == 0 ||
		    strcmp(item->value, SERIALIZERS "ByteArraySerializer") == 0)
			wp_import_say(t, KAFKA, item, WP_IMPORT_DROPPED,
				      "the format determines the bytes");
		else
			wp_import_say(t, KAFKA, item, WP_IMPORT_UNSUPPORTED,
				      "walpost does not support this serializer; it writes the "
				      "bytes of the format");
	}
}

static void translate_plain(struct wp_translation *t, struct wp_import_item *item, size_t i)
{
	if (producer[i].ours == NULL) {
		wp_import_say(t, KAFKA, item, WP_IMPORT_DROPPED, "%s", producer[i].error);
		return;
	}
	if (item->elsewhere)
		wp_import_say(t, KAFKA, item, WP_IMPORT_FILL_IN,
			      "its value is defined elsewhere: set %s", producer[i].ours);
	else
		wp_import_say(t, KAFKA, item, WP_IMPORT_TRANSLATED, NULL);
	if (!item->elsewhere)
		wp_import_set(t, KAFKA, producer[i].ours, item->value);
}

/* Reads a number as Java's ConfigDef does: outer spaces do not count. */
static bool read_number(const char *text, int64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(text, &end, 10);
	return end != text && errno == 0 && end[strspn(end, " \t")] == '\0';
}

static void translate_number(struct wp_translation *t, struct wp_import_item *item,
			     const struct number *number)
{
	char value[24];
	int64_t given;
	int64_t taken;

	if (item->elsewhere) {
		wp_import_say(t, KAFKA, item, WP_IMPORT_FILL_IN,
			      "its value is defined elsewhere: set %s", number->ours);
		return;
	}
	if (!read_number(item->value, &given)) {
		wp_import_say(t, KAFKA, item, WP_IMPORT_UNSUPPORTED, "it is no whole number");
		return;
	}
	if (given < number->least && number->below == OWN_DEFAULT) {
		wp_import_say(t, KAFKA, item, WP_IMPORT_DROPPED,
			      "librdkafka allows %" PRId64 " to %" PRId64 "; its default stays",
			      number->least, number->most);
		return;
	}
	taken = given < number->least ? number->least
				      : (given > number->most ? number->most : given);
	if (taken == given)
		wp_import_say(t, KAFKA, item, WP_IMPORT_TRANSLATED, NULL);
	else
		wp_import_say(t, KAFKA, item, WP_IMPORT_TRANSLATED,
			      "librdkafka allows %" PRId64 " to %" PRId64 ": set to the nearest",
			      number->least, number->most);
	(void)snprintf(value, sizeof(value), "%" PRId64, taken);
	wp_import_set(t, KAFKA, number->ours, value);
}

static void translate_mechanism(struct wp_translation *t)
{
	static const char *const known[] = { "GSSAPI", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512",
					     "OAUTHBEARER" };
	struct wp_import_item *item = find(t, "sasl.mechanism");
	bool has = item != NULL && item->elsewhere;

	if (item == NULL)
		return;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		has = has || strcmp(item->value, known[i]) == 0;
	if (!has) {
		wp_import_say(t, KAFKA, item, WP_IMPORT_UNSUPPORTED,
			      "librdkafka does not support this mechanism: use PLAIN, "
			      "SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or GSSAPI");
	} else if (item->elsewhere) {
		wp_import_say(t, KAFKA, item, WP_IMPORT_FILL_IN,
			      "its value is defined elsewhere: set sasl.mechanism");
	} else {
		wp_import_say(t, KAFKA, item, WP_IMPORT_TRANSLATED, NULL);
		wp_import_set(t, KAFKA, "sasl.mechanism", item->value);
	}
}

/* Says what becomes of rows that cannot be sent. */
static void translate_errors(struct wp_translation *t)
{
	struct wp_import_item *item = wp_import_find(t, WP_IMPORT_CONNECTOR, "errors.tolerance");

	if (item == NULL)
		return;
	if (wp_import_is(item->value, "all"))
		wp_import_say(t, "relay", item, WP_IMPORT_DROPPED,
			      "Connect skips a row that it cannot send. walpost does not: it stops "
			      "(exit code 3), or sends the row to a dead-letter topic with poison "
			      "= dead-letter and dead_letter.topic = ...");
	else
		wp_import_say(t, "relay", item, WP_IMPORT_DROPPED,
			      "walpost also stops at a row that it cannot send (poison = stop)");
}

void wp_import_kafka(struct wp_translation *t)
{
	translate_brokers(t);
	bool is_login = wp_import_login(t);
	for (size_t i = 0; i < sizeof(producer) / sizeof(producer[0]); i++) {
		struct wp_import_item *item = find(t, producer[i].theirs);

		if (item != NULL && !item->taken)
			translate_plain(t, item, i);
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct wp_import_item *item = find(t, numbers[i].theirs);

		if (item != NULL)
			translate_number(t, item, &numbers[i]);
	}
	if (!is_login)
		translate_mechanism(t);
	translate_endpoint(t);
	translate_stores(t);
	translate_partitioner(t);
	translate_serializers(t);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct wp_import_item *item = find(t, wanted[i].theirs);

		if (item != NULL && !item->taken)
			wp_import_say(t, KAFKA, item, WP_IMPORT_FILL_IN, "%s", wanted[i].error);
	}
	/* Java's default is murmur2 too; what consumers see of a new topic is the broker's. */
	wp_import_note(t, KAFKA, "missing topics", WP_IMPORT_TRANSLATED,
		       "Java's producer requests them from the broker, which creates them if "
		       "auto.create.topics.enable is set");
	wp_import_set(t, KAFKA, "allow.auto.create.topics", "true");
	translate_errors(t);
}
