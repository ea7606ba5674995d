#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/kafka/client.h"
#include "preflight_asker.h"
#include "walpost/kafka/token.h"
#include "walpost/base/clock.h"
#include "walpost/kafka_inspect/preflight.h"
#include "walpost/kafka/properties.h"
#include "walpost/kafka/reaction.h"

/* Asks what the broker tells of itself, and what it would let us make. */

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
	rd_kafka_resp_err_t code; /* a broker that may not be asked makes no finding */

	(void)snprintf(name, sizeof(name), "%d", (int)a->broker_id);
	const rd_kafka_ConfigResource_t *resource =
		wp_asker_config(a, RD_KAFKA_RESOURCE_BROKER, name, &event, &code);
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

#define SLICE_MS 500
#define STATS_EACH_MS "200"
#define IDEMPOTENCE_MS 5000

static int64_t now_ms(void)
{
	return wp_clock_us() / 1000;
}

static void take_all(struct wp_asker *a)
{
	rd_kafka_event_t *event;

	while ((event = rd_kafka_queue_poll(a->queue, 0)) != NULL)
		wp_asker_take(a, event);
}

/* -- reaching it --------------------------------------------------------------------- */

static void add(struct wp_findings *ret, enum wp_finding_level level, const char *name,
		const char *what, const char *cure)
{
	wp_findings_add(ret, level, WP_ROOM_KAFKA, name, what, cure);
}

static void describe(struct wp_asker *a, const struct rd_kafka_metadata *metadata,
		     struct wp_error *ret_sentence)
{
	char *cluster = rd_kafka_clusterid(a->rk, wp_asker_left_ms(a));

	(void)wp_error_set(ret_sentence, WP_OK, "reached %d broker%s of Kafka cluster %s by %s",
			   metadata->broker_cnt, metadata->broker_cnt == 1 ? "" : "s",
			   cluster != NULL ? cluster : "(without id)", metadata->orig_broker_name);
	if (cluster != NULL)
		rd_kafka_mem_free(a->rk, cluster);
	a->cluster.brokers = metadata->broker_cnt;
	a->broker_id = metadata->orig_broker_id;
	wp_asker_take_brokers(a, metadata);
}

static enum wp_rc refuse(const struct wp_asker *a, struct wp_error *error)
{
	const char *text = a->trouble.text;

	if (wp_authentication_lacks_token(text))
		return wp_error_set(error, WP_CONFIG, "no Kafka broker was asked: %s", text);
	if (a->is_refused) {
		struct wp_error cure;
		wp_authentication_cure(a->code, text, rd_kafka_version(), a->cluster.by_token,
				       &cure);
		return wp_error_set(error, WP_CONFIG, "Kafka rejects the login: %s; %s", text,
				    cure.text);
	}
	if (wp_authentication_hung_up(text))
		return wp_error_set(error, WP_IO, "no Kafka broker answers: %s%s", text,
				    WP_HUNG_UP_CURE);
	return wp_error_set(error, WP_IO,
			    "no Kafka broker answers: %s; correct bootstrap.servers in [kafka], or "
			    "start Kafka",
			    text[0] != '\0' ? text : "timed out");
}

/*
 * Asks in slices, so that a refusal is told at once and not after the whole time; each is longer
 * than the one before, for an answer that comes after its slice is not heard.
 */
static enum wp_rc reach(struct wp_asker *a, struct wp_error *ret_sentence, struct wp_error *error)
{
	const struct rd_kafka_metadata *metadata;

	int slice = SLICE_MS;

	while (wp_asker_left_ms(a) > 0 && !a->is_refused) {
		int left = wp_asker_left_ms(a);
		if (rd_kafka_metadata(a->rk, 0, NULL, &metadata, left < slice ? left : slice) ==
		    RD_KAFKA_RESP_ERR_NO_ERROR) {
			describe(a, metadata, ret_sentence);
			rd_kafka_metadata_destroy(metadata);
			return WP_OK;
		}
		take_all(a);
		slice = slice < left ? 2 * slice : slice;
	}
	return refuse(a, error);
}

/* -- the addresses that they advertise: bootstrap servers may answer where these do not ----- */

#define BROKER_TRIAL_MS 5000

/* librdkafka connects to a broker that is asked something; the statistics tell whether it got there. */
static void ask_each(const struct wp_asker *a, rd_kafka_queue_t *nowhere)
{
	for (size_t i = 0; i < a->cluster.told_count; i++) {
		char name[16], errstr[256];
		(void)snprintf(name, sizeof(name), "%d", (int)a->cluster.told[i].id);
		rd_kafka_ConfigResource_t *resource =
			rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_BROKER, name);
		rd_kafka_AdminOptions_t *options =
			rd_kafka_AdminOptions_new(a->rk, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
		(void)rd_kafka_AdminOptions_set_request_timeout(options, BROKER_TRIAL_MS, errstr,
								sizeof(errstr)); /* in range */
		rd_kafka_DescribeConfigs(a->rk, &resource, 1, options, nowhere);
		rd_kafka_AdminOptions_destroy(options);
		rd_kafka_ConfigResource_destroy(resource);
	}
}

/* Returns NULL when there is no such broker. */
static const struct wp_broker_facts *first(const struct wp_asker *a, bool answers)
{
	for (size_t i = 0; i < a->cluster.told_count; i++)
		if (a->cluster.told[i].answers == answers)
			return &a->cluster.told[i];
	return NULL;
}

static void try_brokers(struct wp_asker *a)
{
	rd_kafka_queue_t *nowhere = rd_kafka_queue_new(a->rk);
	int64_t until_ms = now_ms() + BROKER_TRIAL_MS;

	ask_each(a, nowhere);
	while (first(a, false) != NULL && now_ms() < until_ms) {
		rd_kafka_event_t *event = rd_kafka_queue_poll(a->queue, SLICE_MS);
		if (event != NULL)
			wp_asker_take(a, event);
	}
	rd_kafka_queue_destroy(nowhere);
	/* What is asked from now on is asked of one that answers. */
	if (wp_broker_is_silent(&a->cluster, a->broker_id) && first(a, true) != NULL)
		a->broker_id = first(a, true)->id;
}

/* -- producing ------------------------------------------------------------------------- */

static void judge_idempotence(const struct wp_asker *a, struct wp_findings *ret)
{
	char what[700], cure[900];

	switch (a->idempotence) {
	case WP_IDEMPOTENCE_GRANTED:
		add(ret, WP_FINDING_OK, "kafka_idempotence",
		    "Kafka assigns a producer id: retries cause no duplicates", "");
		break;
	case WP_IDEMPOTENCE_REFUSED:
		(void)snprintf(what, sizeof(what),
			       "Kafka assigns no producer id, which is required to send: %.500s",
			       a->trouble.text);
		wp_cluster_cure_right(&a->cluster, "IdempotentWrite", NULL, cure, sizeof(cure));
		add(ret, WP_FINDING_FAIL, "kafka_idempotence", what, cure);
		break;
	case WP_IDEMPOTENCE_NOT_KNOWN:
		add(ret, WP_FINDING_WARN, "kafka_idempotence",
		    "Kafka did not assign a producer id, which is required to send, in time",
		    "-- run the check again; see the brokers' logs about the transaction "
		    "coordinator");
		break;
	}
}

static void check_idempotence(struct wp_asker *a, struct wp_findings *ret)
{
	int64_t until = now_ms() + IDEMPOTENCE_MS;

	while (a->idempotence == WP_IDEMPOTENCE_NOT_KNOWN && now_ms() < until) {
		rd_kafka_event_t *event = rd_kafka_queue_poll(a->queue, SLICE_MS);
		if (event != NULL)
			wp_asker_take(a, event);
		wp_asker_read_fatal(a); /* not always told by an event */
	}
	judge_idempotence(a, ret);
}

/* -- the client ------------------------------------------------------------------------- */

static void check_library(struct wp_findings *ret)
{
	char what[300];
	const char *trouble = wp_client_version_trouble(rd_kafka_version());

	(void)snprintf(what, sizeof(what), "librdkafka %s%s%s", rd_kafka_version_str(),
		       trouble != NULL ? " " : "", trouble != NULL ? trouble : "");
	if (trouble == NULL)
		add(ret, WP_FINDING_OK, "librdkafka", what, "");
	else
		add(ret, WP_FINDING_WARN, "librdkafka", what,
		    "-- install another version of librdkafka1, and restart walpost");
}

static void read_text(const rd_kafka_conf_t *conf, const char *name, char *ret, size_t size)
{
	if (rd_kafka_conf_get(conf, name, ret, &size) != RD_KAFKA_CONF_OK)
		ret[0] = '\0';
}

static void read_conf(struct wp_asker *a, const rd_kafka_conf_t *conf)
{
	struct wp_cluster_facts *c = &a->cluster;

	read_text(conf, "bootstrap.servers", c->servers, sizeof(c->servers));
	wp_properties_principal(conf, c->principal, sizeof(c->principal));
	c->provider = wp_kafka_provider_find(c->servers);
	c->by_token = wp_properties_is(conf, "sasl.mechanisms", "OAUTHBEARER");
	read_text(conf, "compression.type", c->compression, sizeof(c->compression));
	c->message_max = wp_properties_number(conf, "message.max.bytes");
	c->creates_topics = wp_properties_is(conf, "allow.auto.create.topics", "true");
	c->version = rd_kafka_version_str();
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
	char errstr[256];

	(void)rd_kafka_conf_set(conf, name, value, errstr, sizeof(errstr)); /* both are known */
}

static enum wp_rc open_asker(struct wp_asker *a, const struct wp_kafka_options *options,
			     int timeout_ms, struct wp_error *error)
{
	/* The relay's own bounds are judged when it starts. */
	struct wp_kafka_bounds bounds = { 1, 1 };
	rd_kafka_conf_t *conf;
	char errstr[512];

	*a = (struct wp_asker){ .deadline_ms = now_ms() + timeout_ms, .broker_id = -1 };
	enum wp_rc rc = wp_properties_conf(options, &bounds, &conf, error);
	if (rc != WP_OK)
		return rc;
	read_conf(a, conf);
	/* Asking for a topic makes it, where the broker does that. */
	set(conf, "allow.auto.create.topics", "false");
	set(conf, "statistics.interval.ms", STATS_EACH_MS);
	rd_kafka_conf_set_events(conf,
				 RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG | RD_KAFKA_EVENT_STATS);
	wp_kafka_token_prepare(conf, options);
	a->rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, errstr, sizeof(errstr));
	if (a->rk == NULL) {
		rc = wp_client_not_made(errstr, error);
		rd_kafka_conf_destroy(conf);
		return rc;
	}
	wp_kafka_token_begin(a->rk, options);
	/* The client's lines end with the queue: the sentence says what is to be known. */
	(void)rd_kafka_set_log_queue(a->rk, NULL);
	a->queue = rd_kafka_queue_get_main(a->rk);
	return WP_OK;
}

static void close_asker(struct wp_asker *a)
{
	rd_kafka_queue_destroy(a->queue);
	rd_kafka_destroy(a->rk);
}

enum wp_rc wp_kafka_reach(const struct wp_kafka_options *options, int timeout_ms,
			  struct wp_error *ret_sentence, struct wp_error *error)
{
	struct wp_asker a;

	enum wp_rc rc = open_asker(&a, options, timeout_ms, error);
	if (rc != WP_OK)
		return rc;
	rc = reach(&a, ret_sentence, error);
	close_asker(&a);
	return rc;
}

static void check_all(struct wp_asker *a, const struct wp_topic_wanted *topics, size_t topic_count,
		      int timeout_ms, struct wp_findings *ret)
{
	struct wp_error sentence, error;

	if (reach(a, &sentence, &error) != WP_OK) {
		add(ret, WP_FINDING_FAIL, "kafka", error.text,
		    wp_authentication_lacks_token(error.text)
			    ? "-- see kafka.login or kafka.token_command"
			    : "-- see [kafka], above all bootstrap.servers");
		return;
	}
	add(ret, WP_FINDING_OK, "kafka", sentence.text, "");
	try_brokers(a);
	if (!wp_brokers_judge(&a->cluster, ret))
		return;
	check_idempotence(a, ret);
	a->deadline_ms = now_ms() + timeout_ms; /* for what comes now */
	/* What would the broker make of topics that are missing? */
	if (a->cluster.creates_topics) {
		ask_broker(a);
		if (a->cluster.auto_create != WP_NO)
			try_to_create(a);
	}
	wp_cluster_judge(&a->cluster, ret);
	wp_asker_check_topics(a, topics, topic_count, ret);
}

void wp_kafka_check(const struct wp_kafka_options *options, const struct wp_topic_wanted *topics,
		    size_t topic_count, int timeout_ms, struct wp_findings *ret)
{
	struct wp_asker a;
	struct wp_error error;

	check_library(ret);
	if (open_asker(&a, options, timeout_ms, &error) != WP_OK) {
		add(ret, WP_FINDING_FAIL, "kafka", error.text, "-- see [kafka]");
		return;
	}
	wp_kafka_provider_judge(&a.cluster, ret);
	check_all(&a, topics, topic_count, timeout_ms, ret);
	close_asker(&a);
}
