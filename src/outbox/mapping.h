/*
 * Which column of a relation means what? A mapping is made by table.c once for a Relation, and
 * read by row.c for each row.
 */
#ifndef WALPOST_SRC_OUTBOX_MAPPING_H
#define WALPOST_SRC_OUTBOX_MAPPING_H

#include <stdint.h>

#include "member.h"
#include "walpost/envelope/event.h"
#include "walpost/outbox/table.h"

#define WP_NO_COLUMN SIZE_MAX

/* One column at most can be each of these. */
enum wp_role {
	WP_ROLE_ID,
	WP_ROLE_KEY,
	WP_ROLE_KEY_FALLBACK,
	WP_ROLE_TYPE,
	WP_ROLE_ROUTE,
	WP_ROLE_PAYLOAD,
	WP_ROLE_TIMESTAMP,
	WP_ROLE_EXPIRES,
	WP_ROLE_PARTITION,
	WP_ROLE_JSON_HEADERS,
	WP_ROLE_PROPERTIES,
	WP_ROLE_CE_SOURCE,
	WP_ROLE_CE_SUBJECT,
	WP_ROLE_SCHEMA_VERSION,
	WP_ROLE_COUNT,
};

/* Several columns can be each of these, by name. */
enum wp_list { WP_LIST_HEADERS, WP_LIST_MEMBERS, WP_LIST_EXTENSIONS, WP_LIST_COUNT };

/* These return the option that names the column, and the name, which is "" when there is none. */
const char *wp_role_option(enum wp_role role);
const char *wp_role_column(const struct wp_outbox_options *options, enum wp_role role);
const char *wp_list_option(enum wp_list list);
const char *wp_list_columns(const struct wp_outbox_options *options, enum wp_list list);
/* May a table lack it, with columns.missing = ignore? */
bool wp_role_is_further(enum wp_role role);

struct wp_mapped {
	size_t index; /* in the row, or WP_NO_COLUMN */
	struct wp_column_type type;
	struct wp_span
		standard; /* what it is when it is NULL; null: nothing. Borrowed of the facts, or the mapping's */
};

struct wp_mapped_field {
	struct wp_span name; /* NUL-terminated */
	struct wp_mapped column;
};

/*
 * It is one allocation, for a partitioned table may have thousands of leaves: the struct, its fields, then all texts.
 */
struct wp_mapping {
	const struct wp_outbox_options *options; /* borrowed */
	size_t column_count;			 /* of the relation */
	enum wp_transfer transfer;
	struct wp_mapped roles[WP_ROLE_COUNT];
	struct wp_members *members; /* owned; NULL: no column is one of JSON */
	struct wp_error *missing; /* owned: no row of this can be an event; NULL: none is missing */
	const char *table;	  /* for messages */
	struct wp_span schema;
	struct wp_span name;
	struct wp_origin origin;
	const char *outbox; /* of the event; NULL: the outbox's own name is it */
	size_t list_counts[WP_LIST_COUNT];
	struct wp_mapped_field fields[]; /* of all lists, one behind the other */
};

#endif
