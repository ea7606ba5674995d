/* The user may say this about logging in with a secret that expires. Strings are owned by the configuration. */
#ifndef WALPOST_LOGIN_OPTIONS_H
#define WALPOST_LOGIN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* They are in the order in which kafka.login and postgres.login name them; Postgres has the first four. */
enum wp_login_provider {
	WP_LOGIN_NONE,
	WP_LOGIN_AWS, /* aws-msk-iam, aws-rds-iam */
	WP_LOGIN_AZURE,
	WP_LOGIN_GCP,
	WP_LOGIN_OIDC,
	WP_LOGIN_FILE,
};

struct wp_login_options {
	enum wp_login_provider provider;
	const char *
		command; /* "" : none; else it wins over the provider. Words as in a shell, no more */
	const char *file;   /* of WP_LOGIN_FILE */
	const char *region; /* of AWS; "" : from the host name, then from AWS_REGION */
	const char *role;   /* of AWS, an ARN to assume; "" : none */
	int64_t timeout_ms; /* of one fetch, whatever it takes */
};

/* Does the user want one at all? */
static inline bool wp_login_is_wanted(const struct wp_login_options *options)
{
	return (options->command != NULL && options->command[0] != '\0') ||
	       options->provider != WP_LOGIN_NONE;
}

#endif
