#include <limits.h>
#include <string.h>

#include "support/check.h"
#include "walpost/kafka/properties.h"

static const struct wp_kafka_bounds bounds = { 16384, 64 << 20 };

static struct wp_kafka_options options;
static struct wp_error error;

static void with(const char *name, const char *value)
{
	CHECK(options.property_count < WP_PROPERTIES_MAX);
	options.properties[options.property_count++] =
		(struct wp_property){ .name = name, .value = value, .where = "walpost.conf:12" };
}

static int set_up(void **state)
{
	options = (struct wp_kafka_options){ 0 };
	error.text[0] = '\0';
	with("bootstrap.servers", "localhost:9092");
	return 0;
}

static rd_kafka_conf_t *accepted(void)
{
	rd_kafka_conf_t *conf = NULL;

	enum wp_rc rc = wp_properties_conf(&options, &bounds, &conf, &error);
	CHECK_TEXT(error.text, "");
	CHECK_EQ(rc, WP_OK);
	return conf;
}

static void refused(const char *name, const char *value)
{
	rd_kafka_conf_t *conf = NULL;

	(void)set_up(NULL);
	with(name, value);
	CHECK_EQ(wp_properties_conf(&options, &bounds, &conf, &error), WP_CONFIG);
	CHECK(conf == NULL);
	CHECK_HAS(error.text, name);
	CHECK_HAS(error.text, "walpost.conf:12");
}

static void the_defaults_keep_the_promise(void **state)
{
	rd_kafka_conf_t *conf = accepted();

	CHECK(wp_properties_is(conf, "enable.idempotence", "true"));
	CHECK(wp_properties_is(conf, "enable.gapless.guarantee", "true"));
	CHECK(wp_properties_is(conf, "acks", "-1"));
	CHECK(wp_properties_is(conf, "message.timeout.ms", "0"));
	CHECK(wp_properties_is(conf, "partitioner", "murmur2_random"));
	CHECK(wp_properties_is(conf, "allow.auto.create.topics", "false"));
	CHECK(wp_properties_is(conf, "queue.buffering.max.ms", "0"));
	CHECK_EQ(wp_properties_number(conf, "max.in.flight.requests.per.connection"), 1);
	CHECK(wp_properties_is(conf, "delivery.report.only.error", "false"));
	CHECK(wp_properties_is(conf, "log.queue", "true"));
	CHECK(wp_properties_is(conf, "client.id", "walpost"));
	CHECK(wp_properties_is(conf, "socket.nagle.disable", "true"));
	CHECK(wp_properties_is(conf, "compression.codec", "lz4"));
	CHECK(!wp_properties_is(conf, "no.such.thing", "none"));
	rd_kafka_conf_destroy(conf);
}

static void check_compression(const char *servers, const char *name, const char *value,
			      const char *wanted)
{
	(void)set_up(NULL);
	options.properties[0].value = servers;
	if (name != NULL)
		with(name, value);
	rd_kafka_conf_t *conf = accepted();

	CHECK(wp_properties_is(conf, "compression.codec", wanted));
	rd_kafka_conf_destroy(conf);
}

static void event_hubs_gets_no_compression_unless_asked_for(void **state)
{
	const char *hubs = "shop.servicebus.windows.net:9093";

	check_compression(hubs, NULL, NULL, "none");
	check_compression(hubs, "compression.type", "gzip", "gzip");
	check_compression(hubs, "compression.codec", "lz4", "lz4"); /* check says that it fails */
	check_compression("b-1.shop.abc.c2.kafka.eu-west-1.amazonaws.com:9098", NULL, NULL, "lz4");
}

static void the_users_value_wins_where_it_breaks_nothing(void **state)
{
	with("linger.ms", "20");
	with("client.id", "mine");
	with("partitioner", "consistent_random");
	with("allow.auto.create.topics", "true");
	with("max.in.flight", "3");
	with("compression.codec", "none");
	rd_kafka_conf_t *conf = accepted();

	CHECK_EQ(wp_properties_number(conf, "linger.ms"), 20);
	CHECK_EQ(wp_properties_number(conf, "max.in.flight.requests.per.connection"), 3);
	CHECK(wp_properties_is(conf, "client.id", "mine"));
	CHECK(wp_properties_is(conf, "compression.type", "none"));
	CHECK(wp_properties_is(conf, "partitioner", "consistent_random"));
	rd_kafka_conf_destroy(conf);
}

static void the_later_of_two_wins(void **state)
{
	with("acks", "1");
	with("acks", "all");
	rd_kafka_conf_destroy(accepted());
}

static void what_breaks_the_promise_is_refused(void **state)
{
	refused("enable.idempotence", "false");
	refused("enable.gapless.guarantee", "false");
	refused("acks", "1");
	CHECK_HAS(error.text, "allowed: all");
	refused("acks", "0");
	refused("message.timeout.ms", "300000");
	refused("retries", "5");
	refused("partitioner", "random");
	refused("delivery.report.only.error", "true");
	refused("transactional.id", "me");
	refused("queuing.strategy", "lifo");
	refused("plugin.library.paths", "/tmp/nothing.so");
	refused("interceptors", "x");
	refused("ut_handle_ProduceResponse", "1");
	refused("test.mock.num.brokers", "1");
	refused("topic.blacklist", ".*");
}

static void an_alias_does_not_slip_past(void **state)
{
	refused("request.required.acks", "1");
	CHECK_HAS(error.text, "request.required.acks = 1");
	refused("delivery.timeout.ms", "1000");
	refused("message.send.max.retries", "0");
}

static void an_unknown_or_wrong_property_is_refused_with_its_place(void **state)
{
	refused("bootstrap.server", "localhost");
	CHECK_HAS(error.text, "has no property");
	refused("linger.ms", "soon");
	CHECK_HAS(error.text, "soon");
	refused("compression.type", "zip");
	refused("dr_msg_cb", "0x1");
}

static void a_login_before_a_broker_is_refused_and_not_repeated(void **state)
{
	refused("bootstrap.servers", "SASL_SSL://relay:hush@kafka:9092");
	CHECK_HAS(error.text, "sasl.password");
	CHECK(strstr(error.text, "hush") == NULL);
	refused("metadata.broker.list", "kafka:9092,relay:hush@kafka2:9092");
	CHECK(strstr(error.text, "hush") == NULL);
}

static void a_login_by_token_without_a_method_is_refused(void **state)
{
	rd_kafka_conf_t *conf = NULL;

	with("security.protocol", "SASL_SSL");
	with("sasl.mechanisms", "OAUTHBEARER");
	CHECK_EQ(wp_properties_conf(&options, &bounds, &conf, &error), WP_CONFIG);
	CHECK_HAS(error.text, "set kafka.login or kafka.token_command");
	with("enable.sasl.oauthbearer.unsecure.jwt", "true");
	CHECK_EQ(wp_properties_conf(&options, &bounds, &conf, &error), WP_OK);
	rd_kafka_conf_destroy(conf);
}

static void log_in(enum wp_login_provider provider)
{
	options.login_options = (struct wp_login_options){ .provider = provider, .command = "" };
}

static void a_login_with_a_token_chooses_protocol_and_mechanism(void **state)
{
	rd_kafka_conf_t *conf = NULL;

	log_in(WP_LOGIN_AWS);
	CHECK_EQ(wp_properties_conf(&options, &bounds, &conf, &error), WP_OK);
	CHECK(wp_properties_is(conf, "security.protocol", "sasl_ssl"));
	CHECK(wp_properties_is(conf, "sasl.mechanisms", "OAUTHBEARER"));
	rd_kafka_conf_destroy(conf);
	with("security.protocol", "SASL_PLAINTEXT");
	CHECK_EQ(wp_properties_conf(&options, &bounds, &conf, &error), WP_OK);
	CHECK(wp_properties_is(conf, "security.protocol", "sasl_plaintext"));
	rd_kafka_conf_destroy(conf);
	with("sasl.mechanism", "PLAIN");
	CHECK_EQ(wp_properties_conf(&options, &bounds, &conf, &error), WP_CONFIG);
	CHECK_HAS(error.text, "sasl.mechanisms must be OAUTHBEARER");
	with("security.protocol", "SSL");
	CHECK_EQ(wp_properties_conf(&options, &bounds, &conf, &error), WP_CONFIG);
	CHECK_HAS(error.text, "security.protocol must be sasl_ssl");
	log_in(WP_LOGIN_NONE);
}

/* librdkafka built without libcurl does not even know them. */
static void what_oidc_needs_is_ours(void **state)
{
	rd_kafka_conf_t *conf = NULL;

	log_in(WP_LOGIN_OIDC);
	CHECK_EQ(wp_properties_conf(&options, &bounds, &conf, &error), WP_CONFIG);
	CHECK_HAS(error.text, "needs sasl.oauthbearer.token.endpoint.url");
	with("sasl.oauthbearer.token.endpoint.url", "https://a/token");
	with("sasl.oauthbearer.client.id", "id");
	with("sasl.oauthbearer.client.secret", "hush");
	with("sasl.oauthbearer.scope", "kafka");
	with("https.ca.location", "/ca.pem");
	CHECK_EQ(wp_properties_conf(&options, &bounds, &conf, &error), WP_OK);
	CHECK(!wp_properties_is(conf, "sasl.oauthbearer.client.id", "id"));
	rd_kafka_conf_destroy(conf);
	log_in(WP_LOGIN_NONE);
}

static void no_broker_is_refused(void **state)
{
	rd_kafka_conf_t *conf = NULL;

	options.property_count = 0;
	CHECK_EQ(wp_properties_conf(&options, &bounds, &conf, &error), WP_CONFIG);
	CHECK_HAS(error.text, "bootstrap.servers is missing");
}

static void librdkafkas_queue_lies_above_the_relays_bounds(void **state)
{
	struct wp_kafka_bounds large = { 1 << 20, (size_t)4 << 30 };
	rd_kafka_conf_t *conf = NULL;

	CHECK_EQ(wp_properties_conf(&options, &large, &conf, &error), WP_OK);
	CHECK(wp_properties_number(conf, "queue.buffering.max.messages") > 1 << 20);
	CHECK(wp_properties_number(conf, "queue.buffering.max.kbytes") > 4 << 20);
	rd_kafka_conf_destroy(conf);
}

static void bounds_beyond_librdkafkas_are_refused(void **state)
{
	struct wp_kafka_bounds events = { (size_t)INT_MAX + 1, 1 };
	struct wp_kafka_bounds bytes = { 1, SIZE_MAX };
	rd_kafka_conf_t *conf = NULL;

	CHECK_EQ(wp_properties_conf(&options, &events, &conf, &error), WP_CONFIG);
	CHECK_EQ(wp_properties_conf(&options, &bytes, &conf, &error), WP_CONFIG);
	events.in_flight_events--;
	CHECK_EQ(wp_properties_conf(&options, &events, &conf, &error), WP_OK);
	rd_kafka_conf_destroy(conf);
}

static void a_queue_limit_below_the_bounds_is_refused(void **state)
{
	/* 16,384 events and one batch of 10,000 whose reports are half read. */
	refused("queue.buffering.max.messages", "26383");
	CHECK_HAS(error.text, "26384 or more");
	refused("queue.buffering.max.kbytes", "65536");
	(void)set_up(NULL);
	error.text[0] = '\0';
	with("queue.buffering.max.messages", "26384");
	rd_kafka_conf_destroy(accepted());
	with("queue.buffering.max.messages", "0");
	rd_kafka_conf_destroy(accepted());
}

static void a_secret_is_not_shown_when_it_is_refused(void **state)
{
	refused("sasl.jaas.config", "hunter2");
	CHECK(strstr(error.text, "hunter2") == NULL);
	refused("my.password", "hunter2");
	CHECK(strstr(error.text, "hunter2") == NULL);
}

static void the_largest_record_is_told_without_a_producer(void **state)
{
	CHECK_EQ(wp_properties_record_max(&options), 1000000);
	with("message.max.bytes", "2000");
	with("message.max.bytes", "3000");
	with("linger.ms", "wrong");
	CHECK_EQ(wp_properties_record_max(&options), 3000);
	with("message.max.bytes", "none");
	CHECK_EQ(wp_properties_record_max(&options), 3000);
}

int main(void)
{
	return RUN(FRESH(the_defaults_keep_the_promise),
		   FRESH(event_hubs_gets_no_compression_unless_asked_for),
		   FRESH(the_users_value_wins_where_it_breaks_nothing),
		   FRESH(the_later_of_two_wins), FRESH(what_breaks_the_promise_is_refused),
		   FRESH(an_alias_does_not_slip_past),
		   FRESH(an_unknown_or_wrong_property_is_refused_with_its_place),
		   FRESH(a_login_before_a_broker_is_refused_and_not_repeated),
		   FRESH(a_login_by_token_without_a_method_is_refused),
		   FRESH(a_login_with_a_token_chooses_protocol_and_mechanism),
		   FRESH(what_oidc_needs_is_ours), FRESH(no_broker_is_refused),
		   FRESH(librdkafkas_queue_lies_above_the_relays_bounds),
		   FRESH(bounds_beyond_librdkafkas_are_refused),
		   FRESH(a_queue_limit_below_the_bounds_is_refused),
		   FRESH(a_secret_is_not_shown_when_it_is_refused),
		   FRESH(the_largest_record_is_told_without_a_producer));
}
