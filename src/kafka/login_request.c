#include "login_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/host_name.h"
#include "walpost/kafka/properties.h"

#define COUNT_OF(array_) (sizeof(array_) / sizeof((array_)[0]))

/* These are librdkafka's names for what our own client credentials grant needs, in the order of
 * `owned`. */
static const char *const oidc_names[] = {
	"sasl.oauthbearer.token.endpoint.url",
	"sasl.oauthbearer.client.id",
	"sasl.oauthbearer.client.secret",
	"sasl.oauthbearer.scope",
};

/* Takes the first host and its port of "b-1.x.kafka.eu-west-1.amazonaws.com:9098,b-2...", or of
 * "SASL_SSL://[::1]:9092". */
static void take_first(const char *servers, struct wp_kafka_login_request *r)
{
	size_t size;
	const char *at = wp_host_first(servers, &size);

	(void)snprintf(r->host, sizeof(r->host), "%.*s", (int)(size < 255 ? size : 255), at);
	at += size + (at[size] == ']');
	if (*at == ':')
		(void)snprintf(
			r->port, sizeof(r->port), "%.*s",
			(int)(strspn(at + 1, "0123456789") < 7 ? strspn(at + 1, "0123456789") : 7),
			at + 1);
	else
		(void)snprintf(r->port, sizeof(r->port), "9092");
}

static char *value_of(const struct wp_kafka_options *options, const char *name)
{
	const struct wp_property *p = wp_property_find(options, name);

	return p != NULL ? wp_property_now(p) : strdup("");
}

enum wp_rc wp_login_request_of(const struct wp_kafka_options *options,
			       struct wp_kafka_login_request *ret)
{
	bool is_usual = wp_property_find(options, "bootstrap.servers") != NULL;
	const char *servers = is_usual ? "bootstrap.servers" : "metadata.broker.list";
	bool complete = true;

	*ret = (struct wp_kafka_login_request){ .host = "" };
	char *list = value_of(options, servers);
	if (list != NULL)
		take_first(list, ret);
	complete = list != NULL;
	free(list);
	for (size_t i = 0; i < COUNT_OF(oidc_names); i++)
		ret->owned[i] = value_of(options, oidc_names[i]);
	ret->owned[4] = value_of(options, "https.ca.location");
	ret->owned[5] = value_of(options, "sasl.oauthbearer.extensions");
	for (size_t i = 0; i < COUNT_OF(ret->owned); i++)
		complete = complete && ret->owned[i] != NULL;
	ret->request = (struct wp_login_request){
		.purpose = WP_LOGIN_FOR_KAFKA,
		.options = &options->login_options,
		.host = ret->host,
		.port = ret->port,
		.user = "",
		.oidc = { ret->owned[0], ret->owned[1], ret->owned[2], ret->owned[3] },
		.ca_file = ret->owned[4],
		.extensions = ret->owned[5],
	};
	return complete ? WP_OK : WP_NOMEM;
}

void wp_login_request_release(struct wp_kafka_login_request *r)
{
	for (size_t i = 0; i < COUNT_OF(r->owned); i++) {
		if (r->owned[i] != NULL)
			explicit_bzero(r->owned[i], strlen(r->owned[i]));
		free(r->owned[i]);
		r->owned[i] = NULL;
	}
}
