#include "walpost/postgres_preflight/columns.h"

#include <stdio.h>
#include <stdlib.h>

#include "preflight_judge.h"

/*
 * This asks what the stream does not tell of the columns that we need and of types
 * (wal/column_facts). `down` goes from each domain of the database through those it is made of.
 * Types of our columns come first, then the newest, so that what finds no room is what matters
 * least. An oid is not used again before all four billion were.
 */
#define TEXT_OF(number_) #number_
#define NUMBER(number_) TEXT_OF(number_)

static const char columns_sql[] =
	"),\n"
	/* A pattern gives its newest tables: what holds of all of them is taken for all. */
	"there AS (\n"
	"  SELECT w.at, w.columns, c.oid FROM tables t JOIN wanted w ON w.at = t.at\n"
	"  JOIN pg_catalog.pg_namespace n ON n.nspname = t.schema\n"
	"  JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = t.name\n"
	"  WHERE NOT t.is_pattern\n"
	"  UNION ALL\n"
	"  SELECT w.at, w.columns, f.oid FROM (SELECT f.at, f.oid,\n"
	"      pg_catalog.row_number() OVER (PARTITION BY f.at ORDER BY f.oid DESC) AS place\n"
	"    FROM fitting f) f JOIN wanted w ON w.at = f.at\n"
	"  WHERE f.place <= 1000),\n"
	"mine AS (\n"
	"  SELECT e.at, e.attname, e.type, pg_catalog.bool_and(e.not_null) AS not_null,\n"
	"    CASE WHEN pg_catalog.count(e.standard) = pg_catalog.count(*)\n"
	"      AND pg_catalog.min(e.standard) = pg_catalog.max(e.standard)\n"
	"      THEN pg_catalog.min(e.standard) END AS standard FROM (\n"
	"    SELECT t.at, a.attname, a.atttypid AS type, a.attnotnull AS not_null,\n"
	/* With the table's oid the server would lock it; a DEFAULT has no column in it. */
	"      CASE WHEN a.attgenerated = '' THEN (SELECT pg_catalog.pg_get_expr(d.adbin, 0)\n"
	"        FROM pg_catalog.pg_attrdef d WHERE d.adrelid = t.oid AND d.adnum = a.attnum)\n"
	"      END AS standard\n"
	"    FROM there t JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid\n"
	"      AND a.attname = ANY (t.columns) AND a.attnum > 0 AND NOT a.attisdropped) e\n"
	"  GROUP BY e.at, e.attname, e.type),\n"
	"down AS (\n"
	"  SELECT t.oid, t.typbasetype AS base, t.typtypmod AS modifier, t.typnotnull AS not_null\n"
	"  FROM pg_catalog.pg_type t WHERE t.typtype = 'd'\n"
	"  UNION ALL\n"
	"  SELECT d.oid, t.typbasetype,\n"
	"    CASE WHEN d.modifier = -1 THEN t.typtypmod ELSE d.modifier END, d.not_null OR "
	"t.typnotnull\n"
	"  FROM down d JOIN pg_catalog.pg_type t ON t.oid = d.base WHERE t.typtype = 'd'),\n"
	"types AS (\n"
	"  SELECT t.*, EXISTS (SELECT FROM mine m WHERE m.type = t.oid) AS is_mine FROM (\n"
	"    SELECT d.oid, d.base, d.modifier, d.not_null\n"
	"    FROM down d JOIN pg_catalog.pg_type t ON t.oid = d.base WHERE t.typtype <> 'd'\n"
	"    UNION ALL\n"
	"    SELECT t.oid, t.oid, -1, false FROM pg_catalog.pg_type t\n"
	"    WHERE t.typtype = 'e' OR t.typtype = 'b' AND t.typname IN ('citext', 'ltree')) t\n"
	"  ORDER BY is_mine DESC, t.oid DESC LIMIT " NUMBER(
		WP_TYPE_FACTS_MAX) ")\n"
				   "SELECT m.at, m.attname, m.type AS oid, t.oid AS base, NULL AS "
				   "modifier, m.not_null,\n"
				   "  NULL AS known_as, NULL AS labels,\n"
				   "  t.typtype = 'e' OR EXISTS (SELECT FROM pg_catalog.pg_type k\n"
				   "    WHERE t.oid IN (k.oid, k.typarray) AND k.typnamespace = "
				   "'pg_catalog'::pg_catalog.regnamespace\n"
				   "      AND k.typname IN (" WP_BINARY_TYPE_NAMES ")) AS flag,\n"
				   "  CASE WHEN pg_catalog.length(m.standard) <= 4096 THEN "
				   "m.standard END\n"
				   "FROM mine m LEFT JOIN down d ON d.oid = m.type\n"
				   "  JOIN pg_catalog.pg_type t ON t.oid = coalesce(d.base, "
				   "m.type) AND t.typtype <> 'd'\n"
				   "UNION ALL\n"
				   "SELECT NULL, NULL, y.oid, y.base, y.modifier, y.not_null,\n"
				   "  CASE WHEN t.typtype = 'e' THEN 'enum' WHEN t.typname IN "
				   "('citext', 'ltree') THEN "
				   "t.typname ELSE '' END,\n"
				   "  (SELECT string_agg(e.enumlabel, ',' ORDER BY "
				   "e.enumsortorder)\n"
				   "    FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid),\n"
				   "  y.is_mine, NULL\n"
				   "FROM types y JOIN pg_catalog.pg_type t ON t.oid = y.base\n"
				   "ORDER BY at, flag DESC, oid DESC";

/* The columns of a row, which is about a column, or about a type, which has no table. */
enum column_column {
	COLUMN_TABLE,
	COLUMN_NAME,
	COLUMN_TYPE,
	COLUMN_BASE,
	COLUMN_MODIFIER,
	COLUMN_NOT_NULL,
	COLUMN_KNOWN_AS,
	COLUMN_LABELS,
	COLUMN_FLAG, /* the column is read in binary; the type is that of a column */
	COLUMN_DEFAULT,
};

static void add_wanted_columns(struct wp_sql *sql, const struct wp_requirements *wanted)
{
	for (size_t i = 0; i < wanted->count; i++) {
		const struct wp_requirements_table *table = &wanted->tables[i];
		char at[24];
		(void)snprintf(at, sizeof(at), "%zu", i);
		wp_sql_add(sql, "%s(%s, ARRAY[", i ? ", " : "", at);
		for (size_t j = 0; j < table->all_count; j++)
			wp_sql_add(sql, "%s%L", j ? ", " : "", table->columns[j]);
		wp_sql_add(sql, "]::name[])");
	}
}

void wp_columns_sql(struct wp_sql *sql, const struct wp_requirements *wanted)
{
	wp_sql_add(sql, "WITH RECURSIVE ");
	wp_preflight_add_tables(sql, wanted);
	wp_sql_add(sql, "wanted (at, columns) AS (VALUES ");
	add_wanted_columns(sql, wanted);
	wp_sql_add(sql, "%s", columns_sql);
}

static uint32_t read_oid(const PGresult *result, int row, enum column_column column)
{
	return (uint32_t)strtoul(PQgetvalue(result, row, (int)column), NULL, 10);
}

static bool read_bool(const PGresult *result, int row, enum column_column column)
{
	return *PQgetvalue(result, row, (int)column) == 't';
}

static void read_column(struct wp_column_facts *facts, const PGresult *result, int row)
{
	struct wp_column_fact fact = {
		.table = strtoul(PQgetvalue(result, row, COLUMN_TABLE), NULL, 10),
		.type_oid = read_oid(result, row, COLUMN_TYPE),
		.is_not_null = read_bool(result, row, COLUMN_NOT_NULL),
	};

	(void)snprintf(fact.name, sizeof(fact.name), "%s", PQgetvalue(result, row, COLUMN_NAME));
	wp_column_facts_add(facts, &fact,
			    PQgetisnull(result, row, COLUMN_DEFAULT)
				    ? NULL
				    : PQgetvalue(result, row, COLUMN_DEFAULT));
}

static void read_type(struct wp_column_facts *facts, const PGresult *result, int row)
{
	struct wp_type_fact fact = {
		.oid = read_oid(result, row, COLUMN_TYPE),
		.base_oid = read_oid(result, row, COLUMN_BASE),
		.modifier = (int32_t)strtol(PQgetvalue(result, row, COLUMN_MODIFIER), NULL, 10),
		.is_not_null = read_bool(result, row, COLUMN_NOT_NULL),
	};
	const char *labels = PQgetisnull(result, row, COLUMN_LABELS)
				     ? NULL
				     : PQgetvalue(result, row, COLUMN_LABELS);

	(void)snprintf(fact.known_as, sizeof(fact.known_as), "%s",
		       PQgetvalue(result, row, COLUMN_KNOWN_AS));
	if (!wp_column_facts_add_type(facts, &fact, labels) && read_bool(result, row, COLUMN_FLAG))
		facts->unlabelled++;
}

enum wp_transfer wp_columns_read(const PGresult *result, enum wp_binary binary,
				 struct wp_column_facts *ret)
{
	int count = result ? PQntuples(result) : 0;
	size_t columns = 0;
	bool all_in_binary = true;
	wp_column_facts_begin(ret);
	for (int row = 0; row < count; row++) {
		if (PQgetisnull(result, row, COLUMN_TABLE)) {
			read_type(ret, result, row);
			continue;
		}
		columns++;
		all_in_binary &= read_bool(result, row, COLUMN_FLAG);
		read_column(ret, result, row);
	}
	/* A column of which nothing is known cannot be relied on. */
	all_in_binary &= columns > 0 && ret->count == columns;
	/* Rows of tables that are not there yet, or were otherwise, are taken as they come. */
	bool in_binary = binary == WP_BINARY_ON || (binary == WP_BINARY_AUTO && all_in_binary);
	return in_binary ? WP_TRANSFER_BINARY : WP_TRANSFER_TEXT;
}
