/*
 * Asks what the catalog tells of the columns that the outboxes need (wal/column_facts), and so how rows are
 * asked for: one SELECT and its answer.
 *
 * Owns: nothing. Borrows: its arguments.
 */
#ifndef WALPOST_POSTGRES_PREFLIGHT_COLUMNS_H
#define WALPOST_POSTGRES_PREFLIGHT_COLUMNS_H

#include <libpq-fe.h>

#include "walpost/postgres/options.h"
#include "walpost/postgres/sql.h"
#include "walpost/wal/column_facts.h"
#include "walpost/wal/relations.h"

/* Asks about one table at least. */
void wp_columns_sql(struct wp_sql *sql, const struct wp_requirements *wanted);
/* `result` is NULL when there is no table to ask about. */
enum wp_transfer wp_columns_read(const PGresult *result, enum wp_binary binary,
				 struct wp_column_facts *ret);

/*
 * Gives the Relation message, and the Type messages before it, that the server would send of a table as its
 * catalog has it now: so that what judges the stream can judge a table of which nothing was streamed yet. One
 * SELECT and its answer.
 */
/* The SELECT gives a row for each column of each table; it asks about one table at least. */
void wp_described_sql(struct wp_sql *sql, const struct wp_requirements *wanted);
/*
 * Hands over the messages about the wanted table of that index, or about the newest of a pattern. `ret` is
 * NULL when there is no such table. Returns WP_FULL and WP_NOMEM of the relations.
 */
enum wp_rc wp_described_put(const PGresult *result, size_t table, struct wp_relations *into,
			    struct wp_relation **ret) WP_MUST_CHECK;

/*
 * The built-in types whose binary form values/binary reads, as a list of SQL literals. Arrays
 * of them, enums and domains are read too.
 */
#define WP_BINARY_TYPE_NAMES                                                                  \
	"'bool', 'bytea', 'char', 'name', 'int8', 'int2', 'int4', 'text', 'json', 'float4', " \
	"'float8', 'bpchar', 'varchar', 'date', 'time', 'timestamp', 'timestamptz', "         \
	"'numeric', 'uuid', 'jsonb'"

#endif
