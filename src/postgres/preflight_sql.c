#include <stdio.h>

#include "preflight_answer.h"
#include "walpost/postgres/preflight.h"
#include "walpost/postgres/sql.h"

/*
 * A row for each table that is wanted, all by one text for every version: what a version may lack is asked of the row as JSON,
 * where a missing column is a missing key. All expressions are to be read with
 * pg_catalog as the only schema in the search path.
 *
 *   slot    our slot            pub     our publication       tab  the outbox table
 *   mine    our walsender, when there is one already; 0: none
 *   up      it and the tables it is a partition of
 *   ours    up and its own partitions, at all levels
 *   mates   the same of all outboxes
 *   listed  what the publication publishes, as the server lists it
 *   mates   the tables of all outboxes, and what they are partitions of or have as such
 *   leaf    where its rows are stored; covered: listed, or one above it is
 *   wanted  the columns we need and their types; generated: '' no, 's' and 'v' how, NULL no such column
 */
static const char with[] =
	"WITH role AS (SELECT * FROM pg_roles WHERE rolname = session_user),\n"
	"mine AS (SELECT %s AS pid),\n"
	"slot AS (SELECT to_jsonb(s) AS j FROM pg_replication_slots s WHERE s.slot_name = %L),\n"
	"pub AS (SELECT p.oid, p.pubname, to_jsonb(p) AS j FROM pg_publication p WHERE p.pubname = "
	"%L),\n"
	"tab AS (SELECT c.oid, c.relkind, c.relpersistence FROM pg_class c\n"
	"  JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %L AND c.relname = "
	"%L),\n"
	"up AS (SELECT oid FROM tab UNION\n"
	"  SELECT relid FROM pg_partition_ancestors((SELECT oid FROM tab)::regclass)),\n"
	"ours AS (SELECT oid FROM up UNION\n"
	"  SELECT relid FROM pg_partition_tree((SELECT oid FROM tab)::regclass)),\n"
	"mates AS (WITH wanted AS (SELECT c.oid FROM pg_class c\n"
	"    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE (n.nspname, c.relname) IN (";

static const char with_listed[] =
	"))\n"
	"  SELECT oid FROM wanted\n"
	"  UNION SELECT a.relid FROM wanted w, pg_partition_ancestors(w.oid::regclass) a\n"
	"  UNION SELECT t.relid FROM wanted w, pg_partition_tree(w.oid::regclass) t),\n"
	"listed AS (SELECT c.oid, to_jsonb(t) AS j,\n"
	"    quote_ident(n.nspname) || '.' || quote_ident(c.relname) AS quoted\n"
	"  FROM pub JOIN pg_publication_tables t ON t.pubname = pub.pubname\n"
	"  JOIN pg_namespace n ON n.nspname = t.schemaname\n"
	"  JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t.tablename),\n"
	"leaf AS (SELECT c.oid, c.relkind AS kind, c.relpersistence AS persistence,\n"
	"    quote_ident(n.nspname) || '.' || quote_ident(c.relname) AS quoted,\n"
	"    EXISTS (SELECT FROM listed l WHERE l.oid = c.oid\n"
	"      OR l.oid IN (SELECT relid FROM pg_partition_ancestors(c.oid::regclass))) AS "
	"covered\n"
	"  FROM (SELECT oid FROM tab WHERE relkind <> 'p' UNION\n"
	"    SELECT relid FROM pg_partition_tree((SELECT oid FROM tab)::regclass) WHERE isleaf) o\n"
	"  JOIN pg_class c ON c.oid = o.oid AND c.relkind <> 'p'\n"
	"  JOIN pg_namespace n ON n.oid = c.relnamespace),\n"
	"witness AS (SELECT c.oid, n.oid AS nsp FROM pg_class c JOIN pg_namespace n ON n.oid = "
	"c.relnamespace\n"
	"  WHERE n.nspname = 'walpost' AND c.relname = 'witness' AND c.relkind = 'r'),\n"
	"wanted AS (SELECT w.at, w.name, a.atttypid AS type, to_jsonb(a)->>'attgenerated' AS "
	"generated\n"
	"  FROM (VALUES ";

static const char with_end[] =
	") w (at, name) LEFT JOIN pg_attribute a ON a.attrelid = (SELECT oid FROM tab)\n"
	"    AND a.attname = w.name AND a.attnum > 0 AND NOT a.attisdropped)\n"
	"SELECT ";

static const struct column {
	const char *expression;
} columns[] = {
#define COLUMN(name_, sql_) { sql_ },
	WP_PREFLIGHT_COLUMNS(COLUMN)
#undef COLUMN
};

static void add_names(struct wp_sql *sql, const struct wp_wanted *wanted)
{
	for (size_t i = 0; i < wanted->count; i++)
		wp_sql_add(sql, "%s(%L, %L)", i > 0 ? ", " : "", wanted->tables[i].schema,
			   wanted->tables[i].name);
	if (wanted->count == 0)
		wp_sql_add(sql, "(NULL, NULL)");
}

static void add_columns(struct wp_sql *sql, const struct wp_wanted_table *table)
{
	char at[24];

	for (size_t i = 0; i < table->column_count; i++) {
		(void)snprintf(at, sizeof(at), "%zu", i);
		wp_sql_add(sql, "%s(%s, %L::text)", i ? ", " : "", at, table->columns[i]);
	}
	if (table->column_count == 0)
		wp_sql_add(sql, "(0, NULL::text)");
}

static void add_row(struct wp_sql *sql, const struct wp_postgres_options *options,
		    const struct wp_wanted *wanted, size_t index, int walsender)
{
	static const struct wp_wanted_table none = { .schema = "", .name = "" };
	const struct wp_wanted_table *table = wanted->count > 0 ? &wanted->tables[index] : &none;
	char number[24];

	(void)snprintf(number, sizeof(number), "%d", walsender);
	wp_sql_add(sql, with, number, options->slot, options->publication, table->schema,
		   table->name);
	add_names(sql, wanted);
	wp_sql_add(sql, "%s", with_listed);
	add_columns(sql, table);
	wp_sql_add(sql, "%s", with_end);
	for (size_t i = 0; i < A_COUNT; i++)
		wp_sql_add(sql, "%s%s", i ? ",\n  " : "", columns[i].expression);
	(void)snprintf(number, sizeof(number), "%zu", index);
	wp_sql_add(sql, ",\n  %s", number);
}

enum wp_rc wp_preflight_sql(PGconn *pg, const struct wp_postgres_options *options,
			    const struct wp_wanted *wanted, int walsender, struct wp_buffer *into,
			    struct wp_why *why)
{
	char last[24];
	struct wp_sql sql;

	wp_sql_init(&sql, pg, into);
	for (size_t i = 0; i < wanted->count || i == 0; i++) {
		wp_sql_add(&sql, "%s(", i > 0 ? "\nUNION ALL\n" : "");
		add_row(&sql, options, wanted, i, walsender);
		wp_sql_add(&sql, ")");
	}
	(void)snprintf(last, sizeof(last), "%d", A_COUNT + 1);
	wp_sql_add(&sql, "\nORDER BY %s", last);
	return wp_sql_end(&sql, why);
}
