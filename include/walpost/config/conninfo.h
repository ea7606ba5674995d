/*
 * What of a libpq connection string may be shown. libpq itself takes it apart, so
 * both forms (key=value and URI) are right, and nothing is guessed.
 */
#ifndef WALPOST_CONFIG_CONNINFO_H
#define WALPOST_CONFIG_CONNINFO_H

#include <stdbool.h>

#include "walpost/base/buffer.h"
#include "walpost/base/why.h"

/* WP_CONFIG with why; libpq's own words are withheld where they could quote a password. */
enum wp_rc wp_conninfo_check(const char *conninfo, struct wp_why *why) WP_MUST_CHECK;
/* True also when it cannot be taken apart yet may hold a secret. */
bool wp_conninfo_has_secret(const char *conninfo);
/* As key=value, secrets as asterisks; asterisks only when it cannot be taken apart.
 * Heap; the caller frees it. NULL: no memory. */
char *wp_conninfo_masked(const char *conninfo);
/* Appends keyword=value, quoted as libpq wants it, with a space before it when it is not the first. */
enum wp_rc wp_conninfo_append(struct wp_buffer *b, const char *keyword,
			      const char *value) WP_MUST_CHECK;

#endif
