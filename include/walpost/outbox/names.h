/*
 * Table names and patterns as users write them, and which role a relation in
 * the stream has. SQL rules: an unquoted part is folded to lower case, a quoted
 * one stands for itself with "" for a quote; without a schema it is public. In a
 * pattern an unquoted * stands for any run of characters of that part; a single
 * * alone matches every table. Pure.
 */
#ifndef WALPOST_OUTBOX_NAMES_H
#define WALPOST_OUTBOX_NAMES_H

#include "walpost/base/span.h"
#include "walpost/base/why.h"

#define WP_NAME_SIZE 256 /* NAMEDATALEN is 64; with room for other builds */

struct wp_table_name {
	char schema[WP_NAME_SIZE];
	char name[WP_NAME_SIZE];
};

/* WP_CONFIG with why. */
enum wp_rc wp_table_name_parse(const char *text, struct wp_table_name *ret, struct wp_why *why) WP_MUST_CHECK;
/* "schema"."name" with SQL quoting where needed; returns `text`. */
char *wp_table_name_text(const struct wp_table_name *name, char *text, size_t size);

struct wp_patterns;
/* Comma-separated; "" is the empty list. WP_CONFIG with why. */
enum wp_rc wp_patterns_new(const char *list, struct wp_patterns **ret, struct wp_why *why) WP_MUST_CHECK;
void wp_patterns_free(struct wp_patterns *p);
bool wp_patterns_match(const struct wp_patterns *p, struct wp_span schema, struct wp_span name);

#endif
