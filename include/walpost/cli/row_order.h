/*
 * In which order were the rows of a table committed? Whatever sends rows again (`walpost backfill`,
 * `walpost replay`) keeps the order of each key by a column: the one that was named, that of
 * outbox.column.timestamp, the identity or serial column of the primary key, that of
 * outbox.column.inserted, or a timestamptz whose default is clock_timestamp(). None that may be NULL
 * is taken, unless it was named. Without any it sends only rows of which no two are of one key, or
 * rows whose order was given up.
 *
 * Rows of one key, one value and one transaction, to which created_at = now() gives the same, come in
 * the order of the statements that inserted them (cmin), while nobody has touched them since.
 *
 * Owns and borrows nothing.
 */
#ifndef WALPOST_CLI_ROW_ORDER_H
#define WALPOST_CLI_ROW_ORDER_H

#include "walpost/cli/session.h"
#include "walpost/outbox/names.h"
#include "walpost/outbox/options.h"

#define WP_ROW_ORDER_NONE "none" /* of --order-by, unless a column has that name */
#define WP_ROW_ORDER_STATEMENT "cmin::text::bigint"

struct wp_row_order {
	char column[WP_NAME_SIZE]; /* "": none */
	char candidates[300];	   /* names, with commas between; "": none */
	bool may_be_null;	   /* the column */
	bool is_given_up;
};

/*
 * `wanted` was named on the command line; NULL or "" if nothing was. Returns WP_CONFIG with the
 * error if the column that was named does not exist, or has no order.
 */
enum wp_rc wp_row_order_find(struct wp_session *s, const struct wp_table_name *table,
			     const char *wanted, const struct wp_outbox_options *outbox,
			     struct wp_row_order *ret, struct wp_error *error) WP_MUST_CHECK;
/* Is the key known? One that is a member of a column is not: all rows then count as of one key. */
bool wp_row_order_knows_key(const struct wp_outbox_options *outbox);
/* Adds the key of a row as text; `row` is "o." or "". */
void wp_row_order_add_key(struct wp_sql *sql, const struct wp_outbox_options *outbox,
			  const char *row);
/*
 * Returns WP_CONFIG with the error, which says what to do: several rows have that key, or perhaps
 * one if it is NULL, and there is no order.
 */
enum wp_rc wp_row_order_refuse(const struct wp_row_order *order, const char *table, const char *key,
			       struct wp_error *error) WP_MUST_CHECK;
/* Says nothing if there are no such rows. */
void wp_row_order_say_ties(const char *column, const char *table, uint64_t rows);

#endif
