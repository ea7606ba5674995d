/*
 * Is a libpq connection string right, and what of it may be shown? libpq itself takes it apart, so
 * both forms (key=value and URI) are right, and nothing is guessed but what libpq cannot know:
 * a password that was not percent-encoded in a URI. Owns nothing. Pure.
 */
#ifndef WALPOST_POSTGRES_CONNINFO_H
#define WALPOST_POSTGRES_CONNINFO_H

#include <stdbool.h>

#include "walpost/base/buffer.h"
#include "walpost/base/error.h"

/* Returns WP_CONFIG with the error, which quotes nothing that could belong to a password, or WP_NOMEM. */
enum wp_rc wp_conninfo_check(const char *conninfo, struct wp_error *error) WP_MUST_CHECK;
/* Is true also when it cannot be taken apart yet may hold a secret. */
bool wp_conninfo_has_secret(const char *conninfo);
/* Is there a password for the server, which can be taken apart? */
bool wp_conninfo_has_password(const char *conninfo);
/* Writes it as key=value, secrets as asterisks; asterisks alone when it is not right. The caller frees the
 * text; NULL when out of memory. */
char *wp_conninfo_masked(const char *conninfo);
/* Appends keyword=value, quoted as libpq wants it, with a space before it when it is not the first. */
enum wp_rc wp_conninfo_append(struct wp_buffer *b, const char *keyword,
			      const char *value) WP_MUST_CHECK;

#endif
