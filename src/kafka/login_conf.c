#include "login_conf.h"

#include <assert.h>
#include <string.h>

#include "walpost/login/token.h"

#define OAUTH "sasl.oauthbearer."

bool wp_login_conf_owns(const struct wp_kafka_options *options, const char *name)
{
	if (!wp_login_is_wanted(&options->login_options))
		return false;
	/* An older librdkafka knows neither of the two, and none does anything with them here. */
	if (strcmp(name, "https.ca.location") == 0 || strcmp(name, OAUTH "extensions") == 0)
		return true;
	return options->login_options.provider == WP_LOGIN_OIDC &&
	       strncmp(name, OAUTH, strlen(OAUTH)) == 0;
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
	char text[256];

	rd_kafka_conf_res_t result = rd_kafka_conf_set(conf, name, value, text, sizeof(text));
	assert(result == RD_KAFKA_CONF_OK);
	(void)result;
}

static bool is(const rd_kafka_conf_t *conf, const char *name, const char *value)
{
	char text[256];
	size_t size = sizeof(text);

	return rd_kafka_conf_get(conf, name, text, &size) == RD_KAFKA_CONF_OK &&
	       strcmp(text, value) == 0;
}

static bool is_set(const struct wp_kafka_options *options, const char *name)
{
	const struct wp_property *p = wp_property_find(options, name);

	return p != NULL && (p->file != NULL || p->value[0] != '\0');
}

static enum wp_rc need_oidc(const struct wp_kafka_options *options, struct wp_error *error)
{
	static const char *const names[] = { OAUTH "token.endpoint.url", OAUTH "client.id" };

	for (size_t i = 0; i < 2; i++)
		if (!is_set(options, names[i]))
			return wp_error_set(error, WP_CONFIG,
					    "kafka: kafka.login = oidc needs %s, which is not set",
					    names[i]);
	return WP_OK;
}

static enum wp_rc judge_extensions(const struct wp_kafka_options *options, struct wp_error *error)
{
	const struct wp_property *p = wp_property_find(options, OAUTH "extensions");
	struct wp_token scratch = { .text = NULL };
	struct wp_error wrong;

	if (p == NULL || p->file != NULL || wp_token_extend(&scratch, p->value, &wrong) == WP_OK)
		return WP_OK;
	return wp_error_set(error, WP_CONFIG, "kafka: %s", wrong.text);
}

enum wp_rc wp_login_conf_apply(const struct wp_kafka_options *options, rd_kafka_conf_t *conf,
			       struct wp_error *error)
{
	if (!wp_login_is_wanted(&options->login_options))
		return WP_OK;
	if (!is_set(options, "security.protocol"))
		set(conf, "security.protocol", "sasl_ssl");
	else if (!is(conf, "security.protocol", "sasl_ssl") &&
		 !is(conf, "security.protocol", "sasl_plaintext"))
		return wp_error_set(error, WP_CONFIG,
				    "kafka: security.protocol must be sasl_ssl for a login with a "
				    "token: remove it, or kafka.login and kafka.token_command");
	if (!is_set(options, "sasl.mechanism") && !is_set(options, "sasl.mechanisms"))
		set(conf, "sasl.mechanisms", "OAUTHBEARER");
	else if (!is(conf, "sasl.mechanisms", "OAUTHBEARER"))
		return wp_error_set(error, WP_CONFIG,
				    "kafka: sasl.mechanisms must be OAUTHBEARER for a login with a "
				    "token: remove it, or kafka.login and kafka.token_command");
	if (options->login_options.provider == WP_LOGIN_OIDC && need_oidc(options, error) != WP_OK)
		return WP_CONFIG;
	return judge_extensions(options, error);
}
