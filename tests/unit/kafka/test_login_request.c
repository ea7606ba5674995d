/* What is asked of a provider: host and port of the first broker, and what OIDC needs. */
#include "login_conf.h"
#include "login_request.h"
#include "support/check.h"

static void asks_for(const char *servers, const char *host, const char *port)
{
	struct wp_kafka_options options = {
		.properties = { { .name = "bootstrap.servers", .value = servers } },
		.property_count = 1,
	};
	struct wp_kafka_login_request r;

	CHECK_EQ(wp_login_request_of(&options, &r), WP_OK);
	CHECK_TEXT(r.request.host, host);
	CHECK_TEXT(r.request.port, port);
	CHECK_TEXT(r.request.oidc.client_secret, "");
	wp_login_request_release(&r);
}

static void the_first_broker_is_named(void **state)
{
	asks_for(
		"b-1.a.kafka.eu-west-1.amazonaws.com:9098,b-2.a.kafka.eu-west-1.amazonaws.com:9098",
		"b-1.a.kafka.eu-west-1.amazonaws.com", "9098");
	asks_for("orders.servicebus.windows.net", "orders.servicebus.windows.net", "9092");
	asks_for(" a:1 , b:2", "a", "1");
	asks_for("SASL_SSL://a:1,b:2", "a", "1");
	asks_for("a,SASL_SSL://b:2", "a", "9092");
	asks_for("[::1]:9093,b:2", "::1", "9093");
	asks_for("[::1],b:2", "::1", "9092");
	asks_for("", "", "9092");
}

static void what_oidc_needs_comes_from_properties(void **state)
{
	struct wp_kafka_options options = {
		.properties = { { .name = "metadata.broker.list", .value = "a:1" },
				{ .name = "sasl.oauthbearer.client.id", .value = "id" },
				{ .name = "sasl.oauthbearer.client.secret", .value = "hush" },
				{ .name = "sasl.oauthbearer.token.endpoint.url",
				  .value = "https://t" },
				{ .name = "https.ca.location", .value = "/ca.pem" } },
		.property_count = 5,
		.login_options = { .provider = WP_LOGIN_OIDC },
	};
	struct wp_kafka_login_request r;

	CHECK_EQ(wp_login_request_of(&options, &r), WP_OK);
	CHECK_TEXT(r.request.host, "a");
	CHECK_TEXT(r.request.oidc.token_url, "https://t");
	CHECK_TEXT(r.request.oidc.client_id, "id");
	CHECK_TEXT(r.request.oidc.client_secret, "hush");
	CHECK_TEXT(r.request.oidc.scope, "");
	CHECK_TEXT(r.request.ca_file, "/ca.pem");
	wp_login_request_release(&r);
	CHECK(wp_login_conf_owns(&options, "sasl.oauthbearer.scope"));
	CHECK(!wp_login_conf_owns(&options, "sasl.mechanisms"));
	options.login_options.provider = WP_LOGIN_AWS;
	CHECK(!wp_login_conf_owns(&options, "sasl.oauthbearer.scope"));
}

int main(void)
{
	return RUN(PLAIN(the_first_broker_is_named), PLAIN(what_oidc_needs_comes_from_properties));
}
