#include "walpost/postgres/columns.h"

#include <stdio.h>
#include <stdlib.h>

#include "binary_types.h"

/*
 * What the stream does not tell of the columns that we need (wal/column_facts). `under` goes
 * down from each column's type through its domains. An oid is not used again before all four
 * billion were.
 */
static const char columns_sql[] = "WITH RECURSIVE wanted (at, schema, name, columns) AS (VALUES ";

static const char columns_sql_end[] =
	"),\n"
	"under AS (\n"
	"  SELECT w.at, a.attname, a.atttypid AS column_type, a.atttypid AS type, a.atttypmod AS "
	"modifier,\n"
	"    a.attnotnull AS not_null\n"
	"  FROM wanted w\n"
	"  JOIN pg_catalog.pg_namespace n ON n.nspname = w.schema\n"
	"  JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = w.name\n"
	"  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = ANY (w.columns)\n"
	"    AND a.attnum > 0 AND NOT a.attisdropped\n"
	"  UNION ALL\n"
	"  SELECT u.at, u.attname, u.column_type, t.typbasetype,\n"
	"    CASE WHEN u.modifier = -1 THEN t.typtypmod ELSE u.modifier END, u.not_null OR "
	"t.typnotnull\n"
	"  FROM under u JOIN pg_catalog.pg_type t ON t.oid = u.type WHERE t.typtype = 'd')\n"
	"SELECT u.at, u.attname, u.column_type, u.type, u.modifier, u.not_null,\n"
	"  CASE WHEN t.typtype = 'e' THEN 'enum' WHEN t.typname IN ('citext', 'ltree') THEN "
	"t.typname ELSE '' END,\n"
	"  (SELECT string_agg(e.enumlabel, ',' ORDER BY e.enumsortorder)\n"
	"    FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid),\n"
	"  t.typtype = 'e' OR EXISTS (SELECT FROM pg_catalog.pg_type k\n"
	"    WHERE t.oid IN (k.oid, k.typarray) AND k.typnamespace = "
	"'pg_catalog'::pg_catalog.regnamespace\n"
	"      AND k.typname IN (" WP_BINARY_TYPE_NAMES "))\n"
	"FROM under u JOIN pg_catalog.pg_type t ON t.oid = u.type WHERE t.typtype <> 'd'\n"
	"ORDER BY u.at";

enum column_column {
	COLUMN_TABLE,
	COLUMN_NAME,
	COLUMN_TYPE,
	COLUMN_BASE,
	COLUMN_MODIFIER,
	COLUMN_NOT_NULL,
	COLUMN_KNOWN_AS,
	COLUMN_LABELS,
	COLUMN_READ_IN_BINARY,
};

static void add_wanted_columns(struct wp_sql *sql, const struct wp_wanted *wanted)
{
	for (size_t i = 0; i < wanted->count; i++) {
		const struct wp_wanted_table *table = &wanted->tables[i];
		char at[24];
		(void)snprintf(at, sizeof(at), "%zu", i);
		wp_sql_add(sql, "%s(%s, %L::name, %L::name, ARRAY[", i ? ", " : "", at,
			   table->schema, table->name);
		for (size_t j = 0; j < table->all_count; j++)
			wp_sql_add(sql, "%s%L", j ? ", " : "", table->columns[j]);
		wp_sql_add(sql, "]::name[])");
	}
}

void wp_columns_sql(struct wp_sql *sql, const struct wp_wanted *wanted)
{
	wp_sql_add(sql, "%s", columns_sql);
	add_wanted_columns(sql, wanted);
	wp_sql_add(sql, "%s", columns_sql_end);
}

static void read_column(struct wp_column_facts *facts, const PGresult *result, int row)
{
	struct wp_column_fact fact = {
		.table = strtoul(PQgetvalue(result, row, COLUMN_TABLE), NULL, 10),
		.type_oid = (uint32_t)strtoul(PQgetvalue(result, row, COLUMN_TYPE), NULL, 10),
		.base_oid = (uint32_t)strtoul(PQgetvalue(result, row, COLUMN_BASE), NULL, 10),
		.modifier = (int32_t)strtol(PQgetvalue(result, row, COLUMN_MODIFIER), NULL, 10),
		.is_not_null = *PQgetvalue(result, row, COLUMN_NOT_NULL) == 't',
	};

	(void)snprintf(fact.name, sizeof(fact.name), "%s", PQgetvalue(result, row, COLUMN_NAME));
	(void)snprintf(fact.known_as, sizeof(fact.known_as), "%s",
		       PQgetvalue(result, row, COLUMN_KNOWN_AS));
	wp_column_facts_add(facts, &fact,
			    PQgetisnull(result, row, COLUMN_LABELS)
				    ? NULL
				    : PQgetvalue(result, row, COLUMN_LABELS));
}

enum wp_transfer wp_columns_read(const PGresult *result, enum wp_binary binary,
				 struct wp_column_facts *ret)
{
	int count = result ? PQntuples(result) : 0;
	bool all_in_binary = count > 0;
	wp_column_facts_begin(ret);
	for (int row = 0; row < count; row++) {
		read_column(ret, result, row);
		all_in_binary &= *PQgetvalue(result, row, COLUMN_READ_IN_BINARY) == 't';
	}
	/* An enum of which nothing is known cannot be read in binary. */
	all_in_binary &= ret->count == (size_t)count;
	/* Rows of tables that are not there yet, or were otherwise, come as they come. */
	bool in_binary = binary == WP_BINARY_ON || (binary == WP_BINARY_AUTO && all_in_binary);
	return in_binary ? WP_TRANSFER_BINARY : WP_TRANSFER_TEXT;
}
