/*
 * The list of extra columns that become headers (`outbox.headers`):
 *
 *   column[:name] , ...        tenant, trace_id:traceparent, "we,ird":x
 *
 * Spaces around column and name do not count. What holds a comma, a colon, a
 * double quote or outer spaces stands in double quotes, with "" for a quote.
 * Without a name the header has the column's. Both may stand twice. Pure.
 */
#ifndef WALPOST_OUTBOX_COLUMNS_H
#define WALPOST_OUTBOX_COLUMNS_H

#include <stddef.h>

#include "walpost/base/why.h"
#include "walpost/outbox/event.h"

/* What is left of an event's headers by id, type, walpost-position, walpost-source. */
#define WP_HEADER_COLUMNS_MAX (WP_EVENT_HEADERS_MAX - 4)
#define WP_HEADER_COLUMNS_SIZE 8192

struct wp_header_column {
	const char *column;
	const char *name;
};

/* Points into its own storage: not to be copied. */
struct wp_header_columns {
	struct wp_header_column items[WP_HEADER_COLUMNS_MAX];
	size_t count;
	char storage[WP_HEADER_COLUMNS_SIZE];
};

/* "" is the empty list. WP_CONFIG with why: form, number, size of all names together. */
enum wp_rc wp_header_columns_parse(const char *list, struct wp_header_columns *ret,
				   struct wp_why *why) WP_MUST_CHECK;

#endif
