#include "walpost/cli/row_order.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "walpost/cli/cli.h"
#include "walpost/outbox/columns.h"

enum answer { NAME, COUNTS_UP, IS_CANDIDATE, IS_ORDERED, IS_NOT_NULL, IS_INSERT_TIME };

/*
 * Asks of each column whether it counts up in the primary key, could say the order, can be sorted
 * by, and is the time of the insert by its default, as in the table that `walpost init` makes. As
 * the first of that key it tells rows apart by itself, or those of a partitioned table with the
 * partition.
 */
static const char columns_sql[] =
	"SELECT a.attname, (a.attidentity <> '' OR pg_catalog.pg_get_serial_sequence(%L, "
	"a.attname) IS NOT NULL) AND EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid = "
	"a.attrelid AND i.indisprimary AND i.indkey[0] = a.attnum), a.atttypid IN "
	"('int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'timestamp'::regtype, "
	"'timestamptz'::regtype), t.typcategory IN ('N', 'D', 'S') OR a.atttypid = "
	"'uuid'::regtype, a.attnotnull, a.atttypid = 'timestamptz'::regtype AND EXISTS (SELECT "
	"FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND "
	"pg_catalog.pg_get_expr(d.adbin, d.adrelid) = 'clock_timestamp()') FROM "
	"pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid WHERE "
	"a.attrelid = %L::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum";

static bool is_true(const PGresult *columns, int row, enum answer which)
{
	return *PQgetvalue(columns, row, (int)which) == 't';
}

/* Returns -1 if there is none. */
static int find_column(const PGresult *columns, const char *name)
{
	for (int row = 0; row < PQntuples(columns); row++) {
		if (strcmp(PQgetvalue(columns, row, NAME), name) == 0)
			return row;
	}
	return -1;
}

/* A row without a value has no place: such a column is taken only if it was named. */
static bool is_complete(const PGresult *columns, int row)
{
	return is_true(columns, row, IS_CANDIDATE) && is_true(columns, row, IS_NOT_NULL);
}

static int find_complete(const PGresult *columns, const char *name)
{
	int row = find_column(columns, name);

	return row >= 0 && is_complete(columns, row) ? row : -1;
}

static int find_first(const PGresult *columns, enum answer which)
{
	for (int row = 0; row < PQntuples(columns); row++) {
		if (is_true(columns, row, which) && is_complete(columns, row))
			return row;
	}
	return -1;
}

static void list_candidates(const PGresult *columns, char *into, size_t size)
{
	size_t used = 0;

	into[0] = '\0';
	for (int row = 0; row < PQntuples(columns); row++) {
		if (!is_true(columns, row, IS_CANDIDATE))
			continue;
		int written = snprintf(into + used, size - used, "%s%s", used > 0 ? ", " : "",
				       PQgetvalue(columns, row, NAME));
		used += written > 0 && (size_t)written < size - used ? (size_t)written : 0;
		into[used] = '\0';
	}
}

static void take(struct wp_row_order *order, const PGresult *columns, int row)
{
	(void)snprintf(order->column, sizeof(order->column), "%s", PQgetvalue(columns, row, NAME));
	order->may_be_null = !is_true(columns, row, IS_NOT_NULL);
}

static const char *candidates(const struct wp_row_order *order)
{
	return order->candidates[0] != '\0' ? order->candidates : "none";
}

static enum wp_rc take_wanted(struct wp_row_order *order, const PGresult *columns,
			      const char *table, const char *wanted, struct wp_error *error)
{
	int row = find_column(columns, wanted);

	if (row < 0 && strcmp(wanted, WP_ROW_ORDER_NONE) == 0) {
		order->is_given_up = true;
		return WP_OK;
	}
	if (row < 0)
		return wp_error_set(error, WP_CONFIG,
				    "table %s has no column %.100s to order by. Candidates: %s",
				    table, wanted, candidates(order));
	if (!is_true(columns, row, IS_ORDERED))
		return wp_error_set(error, WP_CONFIG,
				    "table %s: column %.100s is neither a number nor a time, nor a "
				    "text or uuid, and gives no order. Candidates: %s",
				    table, wanted, candidates(order));
	take(order, columns, row);
	return WP_OK;
}

static enum wp_rc judge(struct wp_row_order *order, const PGresult *columns, const char *table,
			const char *wanted, const struct wp_outbox_options *outbox,
			struct wp_error *error)
{
	list_candidates(columns, order->candidates, sizeof(order->candidates));
	if (wanted != NULL && wanted[0] != '\0')
		return take_wanted(order, columns, table, wanted, error);
	int row = find_complete(columns, outbox->column_timestamp);
	if (row < 0)
		row = find_first(columns, COUNTS_UP);
	if (row < 0)
		row = find_complete(columns, outbox->column_inserted);
	if (row < 0)
		row = find_first(columns, IS_INSERT_TIME);
	if (row >= 0)
		take(order, columns, row);
	return WP_OK;
}

enum wp_rc wp_row_order_find(struct wp_session *s, const struct wp_table_name *table,
			     const char *wanted, const struct wp_outbox_options *outbox,
			     struct wp_row_order *ret, struct wp_error *error)
{
	char name[WP_TABLE_NAME_TEXT_SIZE];
	struct wp_row_order order = { .column = "" };
	struct wp_statement statement;
	PGresult *columns;

	(void)wp_table_name_text(table, name, sizeof(name));
	wp_statement_begin(&statement, s);
	wp_sql_add(&statement.sql, columns_sql, name, name);
	enum wp_rc rc = wp_statement_ask(&statement, &columns, error);
	if (rc != WP_OK)
		return rc;
	rc = judge(&order, columns, name, wanted, outbox, error);
	PQclear(columns);
	if (rc == WP_OK)
		*ret = order;
	return rc;
}

bool wp_row_order_knows_key(const struct wp_outbox_options *outbox)
{
	return !wp_column_is_member(outbox->column_key) &&
	       !wp_column_is_member(outbox->column_key_fallback);
}

void wp_row_order_add_key(struct wp_sql *sql, const struct wp_outbox_options *outbox,
			  const char *row)
{
	const char *fallback = outbox->column_key_fallback;

	if (!wp_row_order_knows_key(outbox))
		wp_sql_add(sql, "''::text");
	else if (fallback[0] != '\0')
		wp_sql_add(sql, "coalesce(%s%I::text, %s%I::text)", row, outbox->column_key, row,
			   fallback);
	else
		wp_sql_add(sql, "%s%I::text", row, outbox->column_key);
}

enum wp_rc wp_row_order_refuse(const struct wp_row_order *order, const char *table, const char *key,
			       struct wp_error *error)
{
	bool has_any = order->candidates[0] != '\0';

	return wp_error_set(
		error, WP_CONFIG,
		"table %s: nothing says the order of its rows, and several of those to be sent "
		"%s%.100s; %s%s. To send them in any order, so that consumers may receive the "
		"events of a key reversed: --order-by " WP_ROW_ORDER_NONE,
		table, key != NULL ? "have key " : "may have the same key", key != NULL ? key : "",
		has_any ? "name the column that gives the order in which they were committed with "
			  "--order-by. Candidates: "
			: "no column is a number or a time to give to --order-by",
		order->candidates);
}

void wp_row_order_say_ties(const char *column, const char *table, uint64_t rows)
{
	if (rows > 0)
		wp_cli_say(stderr,
			   "walpost: table %s: %" PRIu64
			   " row%s the same %s as another of the same key, and nothing else says "
			   "their order: they may be sent in another one\n",
			   table, rows, rows == 1 ? " has" : "s have", column);
}
