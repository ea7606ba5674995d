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
#include "walpost/base/error.h"

#define WP_NAME_SIZE 256	     /* NAMEDATALEN is 64; with room for other builds */
#define WP_TABLE_NAME_TEXT_SIZE 1032 /* both parts quoted, every byte a quote */
#define WP_PATTERNS_MAX 256

struct wp_table_name {
	char schema[WP_NAME_SIZE];
	char name[WP_NAME_SIZE];
};

/* WP_CONFIG with the error. A plain part is [a-zA-Z_][a-zA-Z0-9_$]*, letters beyond ASCII included;
 * all else is to be quoted. */
enum wp_rc wp_table_name_parse(const char *text, struct wp_table_name *ret,
			       struct wp_error *error) WP_MUST_CHECK;
/* Writes schema.name, each part quoted where SQL needs it, keywords too; cut at `size`; returns `text`. */
char *wp_table_name_text(const struct wp_table_name *name, char *text, size_t size);

/* Does a text name ${schema} or ${table}? */
bool wp_origin_is_named(const char *text);

struct wp_patterns;
/*
 * Patterns are comma-separated, at most WP_PATTERNS_MAX; "" is the empty list. A quoted and an unquoted run may follow
 * each other in one part: "Outbox_p"*. WP_CONFIG with the error; WP_NOMEM.
 */
enum wp_rc wp_patterns_new(const char *list, struct wp_patterns **ret,
			   struct wp_error *error) WP_MUST_CHECK;
void wp_patterns_free(struct wp_patterns *p);
bool wp_patterns_match(const struct wp_patterns *p, struct wp_span schema, struct wp_span name);
/* Does one of them name this table alone, without a *? */
bool wp_patterns_name(const struct wp_patterns *p, struct wp_span schema, struct wp_span name);

/* This is one of a list, as wp_table_pattern_parse() gives it. */
struct wp_pattern_like {
	struct wp_table_name like;
	bool is_exact; /* one table's name */
};
size_t wp_patterns_count(const struct wp_patterns *p);
/* False: it is too long. */
bool wp_patterns_like(const struct wp_patterns *p, size_t index,
		      struct wp_pattern_like *ret) WP_MUST_CHECK;

/* Does it stand for many tables? One with an unquoted * does: tenant_*.outbox. */
bool wp_table_is_pattern(const char *text);
/*
 * Reads a pattern of one table's name, with its parts as SQL's LIKE has them: % for *, and a backslash before what
 * would mean something else. WP_CONFIG with the error: it is none, is a list, or is too long.
 */
enum wp_rc wp_table_pattern_parse(const char *text, struct wp_table_name *ret_like,
				  struct wp_error *error) WP_MUST_CHECK;

#endif
