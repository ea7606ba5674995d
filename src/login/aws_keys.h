/*
 * Holds keys of AWS, and reads them as its endpoints write them. They are overwritten when they are released.
 * Pure.
 */
#ifndef WALPOST_LOGIN_AWS_KEYS_H
#define WALPOST_LOGIN_AWS_KEYS_H

#include "sigv4.h"
#include "walpost/base/error.h"
#include "walpost/base/span.h"

#define WP_AWS_KEY_SIZE 256
#define WP_AWS_SESSION_SIZE 8192

/* The release overwrites them. */
struct wp_aws_credentials {
	char id[WP_AWS_KEY_SIZE]; /* "" : none */
	char secret[WP_AWS_KEY_SIZE];
	char session[WP_AWS_SESSION_SIZE]; /* "" : they last */
	int64_t expires_at_ms;		   /* Unix time; 0: they last, or do not say */
};

void wp_aws_credentials_release(struct wp_aws_credentials *c);
struct wp_sigv4_keys wp_aws_credentials_keys(const struct wp_aws_credentials *c);

/* This says how an answer is read (answer_fields.h), and what it calls the session. */
struct wp_aws_answer {
	bool (*field)(struct wp_span answer, const char *name, char *ret, size_t size);
	const char *session;
};

/* Takes them from AWS's XML and JSON alike. Returns WP_IO with the error, which names `url`, when there are none. */
enum wp_rc wp_aws_keys_take(const struct wp_aws_answer *how, struct wp_span answer, const char *url,
			    struct wp_aws_credentials *ret, struct wp_error *error) WP_MUST_CHECK;
/* Reads what the endpoints of containers and instances answer. */
enum wp_rc wp_aws_keys_read(struct wp_span answer, const char *url, struct wp_aws_credentials *ret,
			    struct wp_error *error) WP_MUST_CHECK;

#endif
