#include "walpost/kafka/token.h"

#include <stdio.h>

#include "login_request.h"
#include "walpost/base/clock.h"

/* A token that does not say how long it lasts is taken to last so long. */
#define LIFETIME_MS (15 * 60 * 1000)

static bool set_token(rd_kafka_t *rk, const struct wp_token *t, char *errstr, size_t size)
{
	const char *extensions[WP_TOKEN_EXTENSIONS_MAX * 2];
	int64_t until_ms =
		t->expires_at_ms != 0 ? t->expires_at_ms : wp_clock_wall_ms() + LIFETIME_MS;

	for (size_t i = 0; i < t->extension_count; i++) {
		extensions[i * 2] = t->extensions[i].name;
		extensions[i * 2 + 1] = t->extensions[i].value;
	}
	/* librdkafka wants some principal; the broker takes it from the token. */
	return rd_kafka_oauthbearer_set_token(rk, t->text, until_ms,
					      t->principal[0] != '\0' ? t->principal : "walpost",
					      extensions, t->extension_count * 2, errstr,
					      size) == RD_KAFKA_RESP_ERR_NO_ERROR;
}

bool wp_kafka_token_hand_over(rd_kafka_t *rk, const struct wp_token *token)
{
	char errstr[256];

	return set_token(rk, token, errstr, sizeof(errstr));
}

static void on_refresh(rd_kafka_t *rk, const char *config, void *opaque)
{
	const struct wp_kafka_options *options = opaque;
	struct wp_kafka_login_request request;
	struct wp_token token = { .text = NULL };
	struct wp_error error;
	char errstr[256];

	(void)config; /* sasl.oauthbearer.config, which is for librdkafka's own tokens */
	enum wp_rc rc = wp_login_request_of(options, &request);
	if (rc == WP_OK)
		rc = wp_login_get(options->login, &request.request, &token, &error);
	else
		(void)wp_error_set(&error, rc, "out of memory");
	wp_login_request_release(&request);
	if (rc == WP_OK && !set_token(rk, &token, errstr, sizeof(errstr))) {
		rc = WP_IO;
		(void)wp_error_set(&error, rc, "librdkafka does not take the token: %s", errstr);
	}
	wp_token_release(&token);
	/* librdkafka asks again in ten seconds. */
	if (rc != WP_OK)
		(void)rd_kafka_oauthbearer_set_token_failure(rk, error.text);
}

void wp_kafka_token_prepare(rd_kafka_conf_t *conf, const struct wp_kafka_options *options)
{
	if (options->login == NULL)
		return;
	rd_kafka_conf_set_oauthbearer_token_refresh_cb(conf, on_refresh);
	rd_kafka_conf_set_opaque(conf, (void *)options);
	rd_kafka_conf_enable_sasl_queue(conf, 1);
}

void wp_kafka_token_begin(rd_kafka_t *rk, const struct wp_kafka_options *options)
{
	if (options->login == NULL)
		return;
	/* NULL means that it is done; it fails only where the queue was not enabled. */
	rd_kafka_error_t *error = rd_kafka_sasl_background_callbacks_enable(rk);
	if (error != NULL)
		rd_kafka_error_destroy(error);
}
