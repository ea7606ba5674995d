#include "provider.h"

#include <stdlib.h>

#include "walpost/base/clock.h"

#define US_PER_MS 1000

struct wp_fetch wp_fetch_begin(const struct wp_login_request *r)
{
	return (struct wp_fetch){ .request = r,
				  .now_ms = wp_clock_wall_ms(),
				  .deadline_us =
					  wp_clock_us() + r->options->timeout_ms * US_PER_MS };
}

/* This is for where none is configured: AWS's SDKs have a variable of their own, OpenSSL has one
 * for all. */
static const char *find_ca_file(const struct wp_login_request *r)
{
	const char *file = r->ca_file;

	if (file[0] == '\0' && r->options->provider == WP_LOGIN_AWS)
		file = wp_provider_env("AWS_CA_BUNDLE");
	return file[0] != '\0' ? file : wp_provider_env("SSL_CERT_FILE");
}

struct wp_http_request wp_fetch_request(const struct wp_fetch *f, const char *method,
					const char *url)
{
	return (struct wp_http_request){ .method = method,
					 .url = url,
					 .ca_file = find_ca_file(f->request),
					 .deadline_us = f->deadline_us };
}

const char *wp_provider_secret_name(enum wp_login_purpose purpose)
{
	return purpose == WP_LOGIN_FOR_KAFKA ? "token" : "password";
}

const char *wp_provider_command_option(enum wp_login_purpose purpose)
{
	return purpose == WP_LOGIN_FOR_KAFKA ? "kafka.token_command" : "postgres.password_command";
}

const char *wp_provider_env(const char *name)
{
	const char *value = getenv(name);

	return value == NULL ? "" : value;
}

enum wp_rc wp_provider_look_everywhere(const char *name, size_t place_count, wp_provider_look look,
				       void *context, struct wp_error *error)
{
	struct wp_error looked = { .text = "" };

	for (size_t place = 0; place < place_count; place++) {
		struct wp_error missing = { .text = "" };
		enum wp_rc rc = look(context, place, &missing);
		if (rc == WP_OK)
			return WP_OK;
		if (rc != WP_AGAIN)
			return wp_error_set(error, rc, "%s", missing.text);
		(void)wp_error_set(&looked, rc, "%s%s%s", looked.text, place > 0 ? "; " : "",
				   missing.text);
	}
	return wp_error_set(error, WP_CONFIG,
			    "no %s credentials were found: %s; give the process one of these", name,
			    looked.text);
}
