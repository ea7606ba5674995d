/* Describes a table as the server's Relation and Type messages would, from its catalog. */
#include "walpost/postgres_preflight/columns.h"

#include <stdlib.h>

#include "preflight_judge.h"

/* A domain is described as the type under it, as the server does (logicalrep_write_typ). */
static const char sql_text[] =
	/* A pattern has one table, which stands for all. */
	"wanted AS (SELECT at, schema, name FROM tables WHERE name <> ''),\n"
	"columns AS (SELECT w.at, w.schema, w.name, a.attnum, a.attname, a.atttypid, a.atttypmod,\n"
	"    c.relreplident = 'f' AS is_key\n"
	"  FROM wanted w\n"
	"  JOIN pg_catalog.pg_namespace n ON n.nspname = w.schema\n"
	"  JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = w.name\n"
	"  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0\n"
	"    AND NOT a.attisdropped),\n"
	"under AS (SELECT DISTINCT atttypid AS type, atttypid AS base FROM columns\n"
	"  UNION ALL SELECT u.type, t.typbasetype FROM under u\n"
	"  JOIN pg_catalog.pg_type t ON t.oid = u.base WHERE t.typtype = 'd')\n"
	"SELECT c.at, c.attname, c.atttypid, c.atttypmod, c.is_key, n.nspname, t.typname,\n"
	"  c.schema, c.name\n"
	"FROM columns c JOIN under u ON u.type = c.atttypid\n"
	"JOIN pg_catalog.pg_type t ON t.oid = u.base AND t.typtype <> 'd'\n"
	"JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace\n"
	"ORDER BY c.at, c.attnum";

enum described_column {
	D_TABLE,
	D_NAME,
	D_TYPE,
	D_MODIFIER,
	D_IS_KEY,
	D_TYPE_SCHEMA,
	D_TYPE_NAME,
	D_TABLE_SCHEMA,
	D_TABLE_NAME,
};

/* The server says nothing of types with a lower oid: they are the same everywhere. */
enum { FIRST_TOLD_OID = 10000 };

void wp_described_sql(struct wp_sql *sql, const struct wp_requirements *wanted)
{
	wp_sql_add(sql, "WITH RECURSIVE ");
	wp_preflight_add_tables(sql, wanted);
	wp_sql_add(sql, "%s", sql_text);
}

static const char *value(const PGresult *result, int row, enum described_column column)
{
	return PQgetvalue(result, row, (int)column);
}

static enum wp_rc put_type(const PGresult *result, int row, uint32_t oid, struct wp_relations *into)
{
	const struct wp_change change = {
		.kind = WP_CHANGE_TYPE,
		.as.type = {
			.oid = oid,
			.schema = wp_span_of(value(result, row, D_TYPE_SCHEMA)),
			.name = wp_span_of(value(result, row, D_TYPE_NAME)),
		},
	};
	return wp_relations_put_type(into, &change);
}

static struct wp_column column_of(const PGresult *result, int row)
{
	return (struct wp_column){
		.name = wp_span_of(value(result, row, D_NAME)),
		.type_oid = (uint32_t)strtoul(value(result, row, D_TYPE), NULL, 10),
		.type_modifier = (int32_t)strtol(value(result, row, D_MODIFIER), NULL, 10),
		.is_key = *value(result, row, D_IS_KEY) == 't',
	};
}

/* Collects its columns, and returns the row of the last; WP_FULL when there are more than a
 * table can have. */
static enum wp_rc collect(const PGresult *result, size_t table, struct wp_relations *into,
			  struct wp_column columns[WP_COLUMNS_MAX], size_t *ret_count, int *ret_row)
{
	size_t count = 0;
	enum wp_rc rc = WP_OK;

	for (int row = 0; row < PQntuples(result) && rc == WP_OK; row++) {
		if (strtoul(value(result, row, D_TABLE), NULL, 10) != table)
			continue;
		if (count == WP_COLUMNS_MAX)
			return WP_FULL;
		columns[count] = column_of(result, row);
		if (columns[count].type_oid >= FIRST_TOLD_OID)
			rc = put_type(result, row, columns[count].type_oid, into);
		count++;
		*ret_row = row;
	}
	*ret_count = count;
	return rc;
}

enum wp_rc wp_described_put(const PGresult *result, size_t table, struct wp_relations *into,
			    struct wp_relation **ret)
{
	struct wp_column columns[WP_COLUMNS_MAX];
	size_t count = 0;
	int row = 0;

	*ret = NULL;
	enum wp_rc rc = collect(result, table, into, columns, &count, &row);
	if (rc != WP_OK || count == 0)
		return rc;
	const struct wp_change change = {
		.kind = WP_CHANGE_RELATION,
		.as.relation = {
			.oid = (uint32_t)table + 1, /* no message refers to it */
			.schema = wp_span_of(value(result, row, D_TABLE_SCHEMA)),
			.name = wp_span_of(value(result, row, D_TABLE_NAME)),
			.columns = columns,
			.column_count = count,
		},
	};
	return wp_relations_put(into, &change, ret);
}
