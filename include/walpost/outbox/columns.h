/*
 * A list of extra columns and the names that they go by (`outbox.headers`):
 *
 *   column[:name] , ...        tenant, trace_id:traceparent, "we,ird":x
 *
 * Spaces around column and name do not count. What holds a comma, a colon, a
 * double quote or outer spaces stands in double quotes, with "" for a quote; a column may have ::
 * within. Without a name it is the column's. Both may stand twice. ${schema} and ${table} stand for the table
 * that a row comes from, and are no columns; without a name they are "schema" and "table". Pure.
 */
#ifndef WALPOST_OUTBOX_COLUMNS_H
#define WALPOST_OUTBOX_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "walpost/base/error.h"
#include "walpost/envelope/event.h"

#define WP_COLUMN_LIST_MAX WP_EVENT_FIELDS_MAX
#define WP_COLUMN_LIST_SIZE 8192

struct wp_listed_column {
	const char *column;
	const char *name;
};

/* It points into its own storage: not to be copied. */
struct wp_column_list {
	struct wp_listed_column items[WP_COLUMN_LIST_MAX];
	size_t count;
	char storage[WP_COLUMN_LIST_SIZE];
};

/*
 * "" is the empty list. WP_CONFIG with the error, which begins with `option`: form, number or size of all names
 * together is wrong.
 */
enum wp_rc wp_column_list_parse(const char *list, const char *option, struct wp_column_list *ret,
				struct wp_error *error) WP_MUST_CHECK;

/* Does an option that says this name a member of a JSON column (src/outbox/member.h)? */
bool wp_column_is_member(const char *column);

#endif
