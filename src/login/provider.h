/*
 * The providers share this: the environment, one request to an endpoint, looking in one place after another.
 */
#ifndef WALPOST_LOGIN_PROVIDER_H
#define WALPOST_LOGIN_PROVIDER_H

#include "walpost/http_client/request.h"
#include "walpost/login/login.h"

/* This is one fetch: all its requests end by one deadline. */
struct wp_fetch {
	const struct wp_login_request *request;
	int64_t now_ms; /* Unix time */
	int64_t deadline_us;
};

struct wp_fetch wp_fetch_begin(const struct wp_login_request *r);
/* Makes a request with what all have alike. */
struct wp_http_request wp_fetch_request(const struct wp_fetch *f, const char *method,
					const char *url);

/* Says what users call the secret, and names the option with a program that fetches it. */
const char *wp_provider_secret_name(enum wp_login_purpose purpose);
const char *wp_provider_command_option(enum wp_login_purpose purpose);

/* Returns "" when it is not set. */
const char *wp_provider_env(const char *name);

/* Looks in one place. Returns WP_AGAIN with the error when nothing is there. */
typedef enum wp_rc (*wp_provider_look)(void *context, size_t place, struct wp_error *error);

/* Looks in one place after the other, until something is there. Returns WP_CONFIG when it is nowhere, and
 * the error names all. */
enum wp_rc wp_provider_look_everywhere(const char *name, size_t place_count, wp_provider_look look,
				       void *context, struct wp_error *error) WP_MUST_CHECK;

#endif
