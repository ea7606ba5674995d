/*
 * The table that an event comes from may be part of its topic, its key and its headers: ${schema} and
 * ${table}, for one outbox that is many tables. Pure.
 */
#ifndef WALPOST_OUTBOX_ORIGIN_H
#define WALPOST_OUTBOX_ORIGIN_H

#include <stdbool.h>

#include "walpost/base/buffer.h"
#include "walpost/base/error.h"
#include "walpost/envelope/event.h"

enum wp_origin_part { WP_ORIGIN_NONE, WP_ORIGIN_SCHEMA, WP_ORIGIN_TABLE };

/* Which variable is the text? It is nothing else. */
enum wp_origin_part wp_origin_variable(const char *text);
/* Returns "schema" or "table". */
const char *wp_origin_name(enum wp_origin_part part);
/* Returns null of a message, which comes from no table. */
struct wp_span wp_origin_value(const struct wp_origin *origin, enum wp_origin_part part);

/* Checks a text with variables in it. WP_CONFIG with the error, which begins with `option`: a $ begins none. */
enum wp_rc wp_origin_check(const char *template, const char *option,
			   struct wp_error *error) WP_MUST_CHECK;
/* Appends the text with the values of its variables. WP_NOMEM, WP_FULL. */
enum wp_rc wp_origin_write(struct wp_buffer *into, const char *template,
			   const struct wp_origin *origin) WP_MUST_CHECK;

#endif
