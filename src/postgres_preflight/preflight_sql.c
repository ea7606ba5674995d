/* Writes the question of the preflight, as one SQL text. */
#include <stdio.h>

#include "preflight_judge.h"
#include "walpost/postgres_preflight/preflight.h"
#include "walpost/postgres_preflight/publication.h"
#include "walpost/postgres/sql.h"

/*
 * The SELECT gives a row for each table that is wanted, all by one text for every version: what a
 * version may lack is asked of the row as JSON, where a missing column is a missing key. All
 * expressions are to be read with pg_catalog as the only schema in the search path. Each is written
 * once, however many tables there are: the text stays short, and is planned once.
 *
 *   tables  the outbox tables            columns  the columns that each needs
 *   fitting the tables that a pattern stands for, of each pattern
 *   before  the role that settings give our sessions, which are set to none
 *   policed tables of schema walpost whose policies apply to us; ours: a relay reads or writes it
 *   lacks   the objects of schema walpost that it may use, and we may not, by the groups that belong together; and the
 *           privilege that we have not got: NULL, if only the schema is closed to us
 *   slot    our slot            pub     our publication
 *   mine    our walsender, when there is one already; 0: none
 *   listed  what the publication publishes, as the server lists it, but for walpost's own tables
 *   tab     each table that is there, by its place among those that are wanted (at)
 *   up      it and the tables it is a partition of; tree: it and its own partitions, at all levels
 *   child   the tables that inherit from an outbox, at all levels, and have no section of their own; not
 *           those that outbox.ignore names exactly. chunk: TimescaleDB made it. children: the names of
 *           some of each outbox with which something is wrong
 *   ours    up, tree, all tables that fit its pattern, and its children
 *   rels    the publication's entries for any of ours: is one for up, and which are limited
 *   mates   the tables of all outboxes, what they are partitions of or have as such, and their children
 *   alike   tables whose names differ from its in case only, and that are no outbox's
 *   leaves  outbox.leaves of each table; ignored: what outbox.ignore names exactly
 *   lookalike  tables of the publication that are nobody's, but have the lasting columns of an outbox
 *   asked   what of these is one table's, in a row: to look for it in each of them once more for each table would take the
 *           square of their number
 *
 * and of the one table that a row is about:
 *
 *   near    listed, of ours; is_up: of up
 *   leaf    where its rows are stored; covered: listed, or one above it is
 *   wanted  the columns we need and their types; generated: '' no, 's' and 'v' how, NULL no such column
 */
static const char with[] =
	"role AS (SELECT * FROM pg_roles WHERE rolname = current_user),\n"
	"before AS (SELECT oid, rolname FROM pg_roles WHERE rolname <> current_user\n"
	"  AND rolname = current_setting('" WP_ROLE_BEFORE_SETTING "', true)),\n"
	"policed AS (SELECT 'walpost.' || quote_ident(c.relname) AS quoted, c.relname IN\n"
	"    ('slot_checkpoint', 'skip', 'reissue', 'parked', 'parking', 'parked_acts') AS ours\n"
	"  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace\n"
	"  WHERE n.nspname = 'walpost' AND c.relrowsecurity AND c.relname <> 'scheduled'\n"
	"    AND row_security_active(c.oid)),\n"
	"lacks AS (\n"
	"  SELECT w.what, 'walpost.' || quote_ident(c.relname) AS object, p.at,\n"
	"    CASE WHEN NOT has_table_privilege(c.oid, p.name) THEN p.name END AS privilege\n"
	"  FROM (VALUES ('checkpoint', 'slot_checkpoint', '{SELECT,INSERT,UPDATE}'::text[]),\n"
	"    ('checkpoint', 'skip', '{SELECT,INSERT}'), ('reissue', 'reissue', "
	"'{SELECT,INSERT,DELETE}'),\n"
	"    ('retried', 'dead_letters_retried', '{SELECT,INSERT,UPDATE}'),\n"
	"    ('retried', 'replay', '{SELECT,INSERT,UPDATE}'),\n"
	"    ('parked', 'parked', '{SELECT,INSERT,UPDATE,DELETE}'),\n"
	"    ('parked', 'parking', '{SELECT,INSERT,UPDATE,DELETE}'),\n"
	"    ('parked', 'parked_acts', '{SELECT,INSERT}'),\n"
	"    ('cleanup', 'cleanup_floor', '{SELECT,INSERT,UPDATE,DELETE}'),\n"
	"    ('cleanup', 'cleanup_detached', '{SELECT}')) w (what, name, privileges)\n"
	"  JOIN pg_class c ON c.relname = w.name\n"
	"  JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'walpost', before b,\n"
	"  unnest(w.privileges) WITH ORDINALITY p (name, at)\n"
	"  WHERE has_schema_privilege(b.oid, n.oid, 'USAGE')\n"
	"    AND has_table_privilege(b.oid, c.oid, p.name)\n"
	"    AND NOT (has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, "
	"p.name))\n"
	"  UNION ALL SELECT w.what, 'FUNCTION ' || f.oid::regprocedure, 1,\n"
	"    CASE WHEN NOT has_function_privilege(f.oid, 'EXECUTE') THEN 'EXECUTE' END\n"
	"  FROM (VALUES ('schedule', 'move_due'),\n"
	"    ('schedule', 'scheduled_state'), ('cleanup', 'cleanup_look_partition'),\n"
	"    ('cleanup', 'cleanup_remove_partition')) w (what, name)\n"
	"  JOIN pg_proc f ON f.proname = w.name\n"
	"  JOIN pg_namespace n ON n.oid = f.pronamespace AND n.nspname = 'walpost', before b\n"
	"  WHERE has_function_privilege(b.oid, f.oid, 'EXECUTE')\n"
	"    AND NOT has_function_privilege(f.oid, 'EXECUTE')),\n"
	"grants AS (\n"
	"  SELECT 'SCHEMA walpost' AS object, 'USAGE' AS privileges FROM pg_namespace n\n"
	"  WHERE n.nspname = 'walpost' AND NOT has_schema_privilege(n.oid, 'USAGE')\n"
	"    AND EXISTS (SELECT FROM lacks)\n"
	"  UNION ALL SELECT object, string_agg(privilege, ', ' ORDER BY at) FROM lacks\n"
	"  WHERE privilege IS NOT NULL GROUP BY object),\n"
	"mine AS (SELECT %s AS pid),\n"
	"slot AS (SELECT to_jsonb(s) AS j FROM pg_replication_slots s WHERE s.slot_name = %L),\n"
	"pub AS (SELECT p.oid, p.pubname, to_jsonb(p) AS j FROM pg_publication p WHERE p.pubname = "
	"%L),\n"
	"listed AS (SELECT c.oid, to_jsonb(t) AS j,\n"
	"    quote_ident(t.schemaname) || '.' || quote_ident(t.tablename) AS quoted\n"
	"  FROM pub JOIN pg_publication_tables t ON t.pubname = pub.pubname\n"
	/* Rows of these are passed over: see outbox/outboxes.c. */
	"    AND NOT (t.schemaname = 'walpost' AND t.tablename IN ('slot_checkpoint', 'skip'))\n"
	/* The lookup uses both parts of the index, also where thousands have the same name. */
	"  CROSS JOIN LATERAL (SELECT c.oid FROM pg_class c WHERE c.relname = t.tablename\n"
	"    AND c.relnamespace = (SELECT n.oid FROM pg_namespace n WHERE n.nspname = "
	"t.schemaname)\n"
	"    OFFSET 0) c),\n"
	"tab AS MATERIALIZED (SELECT t.at, c.oid, c.relkind, c.relpersistence FROM tables t\n"
	"  JOIN pg_namespace n ON n.nspname = t.schema\n"
	"  JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t.name),\n"
	"up AS (SELECT at, oid FROM tab\n"
	"  UNION SELECT t.at, a.relid FROM tab t, pg_partition_ancestors(t.oid::regclass) a),\n"
	"tree AS (SELECT t.at, p.relid AS oid FROM tab t, pg_partition_tree(t.oid::regclass) p),\n"
	/* Another session's temporary table is in nobody's way: nobody else can read it. */
	"child AS MATERIALIZED (WITH RECURSIVE down AS (\n"
	"    SELECT t.at, t.oid, false AS inherits FROM tab t WHERE t.relkind = 'r'\n"
	"    UNION SELECT f.at, f.oid, false FROM fitting f WHERE f.relkind = 'r'\n"
	"    UNION SELECT d.at, i.inhrelid, true FROM down d\n"
	"      JOIN pg_inherits i ON i.inhparent = d.oid)\n"
	"  SELECT d.at, c.oid, c.relkind AS kind, c.relpersistence AS persistence,\n"
	"    quote_ident(n.nspname) || '.' || quote_ident(c.relname) AS quoted,\n"
	"    n.nspname = '_timescaledb_internal' AND c.relname ~ '^_hyper_[0-9]+_[0-9]+_chunk$'\n"
	"      AS chunk,\n"
	"    c.oid IN (SELECT oid FROM listed) AS listed,\n"
	"    c.oid IN (SELECT oid FROM fitting) OR EXISTS (SELECT FROM leaves v\n"
	"      WHERE n.nspname LIKE v.schema AND c.relname LIKE v.name) AS configured\n"
	"  FROM down d JOIN pg_class c ON c.oid = d.oid AND c.relpersistence <> 't'\n"
	"  JOIN pg_namespace n ON n.oid = c.relnamespace\n"
	"  WHERE d.inherits\n"
	"    AND NOT EXISTS (SELECT FROM given g WHERE NOT g.is_pattern\n"
	"      AND g.schema = n.nspname AND g.name = c.relname)\n"
	"    AND NOT EXISTS (SELECT FROM ignored i WHERE n.nspname LIKE i.schema\n"
	"      AND c.relname LIKE i.name)),\n"
	"children AS MATERIALIZED (SELECT at,\n"
	"    (array_agg(quoted) FILTER (WHERE kind <> 'f' AND NOT listed))[1:5] AS unlisted,\n"
	"    (array_agg(quoted) FILTER (WHERE kind <> 'f' AND NOT configured))[1:5] AS "
	"unconfigured,\n"
	"    (array_agg(quoted) FILTER (WHERE kind <> 'f' AND persistence = 'u'))[1:5] AS "
	"unlogged,\n"
	"    (array_agg(quoted) FILTER (WHERE kind = 'f'))[1:5] AS elsewhere,\n"
	"    (array_agg(quoted) FILTER (WHERE chunk AND NOT (listed AND configured)))[1:5] AS "
	"chunks\n"
	"  FROM (SELECT * FROM child ORDER BY quoted) c GROUP BY at),\n"
	"ours AS MATERIALIZED (SELECT at, oid, bool_or(is_up) AS is_up FROM (\n"
	"    SELECT at, oid, true AS is_up FROM up\n"
	"    UNION ALL SELECT at, oid, false FROM tree\n"
	"    UNION ALL SELECT at, oid, false FROM fitting\n"
	"    UNION ALL SELECT at, oid, false FROM child) o GROUP BY at, oid),\n"
	"rels AS (SELECT r.at, bool_or(r.is_up AND NOT r.is_excepted) AS has_up,\n"
	"    (array_agg(r.quoted ORDER BY r.quoted) FILTER (WHERE r.is_excepted))[1:10]\n"
	"      AS excepted,\n"
	"    (array_agg(r.quoted ORDER BY r.quoted) FILTER (WHERE r.is_limited))[1:10] AS limited\n"
	"  FROM (SELECT o.at, o.is_up,\n"
	"      quote_ident(n.nspname) || '.' || quote_ident(c.relname) AS quoted,\n"
	"      to_jsonb(r)->>'prattrs' IS NOT NULL OR to_jsonb(r)->>'prqual' IS NOT NULL\n"
	"        AS is_limited,\n"
	/* PostgreSQL 19 has FOR ALL TABLES EXCEPT (TABLE ...). */
	"      coalesce((to_jsonb(r)->>'prexcept')::boolean, false) AS is_excepted\n"
	"    FROM ours o JOIN pg_publication_rel r ON r.prrelid = o.oid\n"
	"    JOIN pub ON pub.oid = r.prpubid JOIN pg_class c ON c.oid = o.oid\n"
	"    JOIN pg_namespace n ON n.oid = c.relnamespace) r GROUP BY r.at),\n"
	"mates AS (SELECT oid FROM ours\n"
	"  UNION SELECT p.relid FROM fitting f, pg_partition_tree(f.oid::regclass) p\n"
	"    WHERE f.relkind = 'p'),\n"
	"alike AS MATERIALIZED (SELECT t.at, c.oid IN (SELECT oid FROM listed) AS is_listed,\n"
	"    quote_ident(n.nspname) || '.' || quote_ident(c.relname) AS quoted FROM tables t\n"
	"  JOIN pg_namespace n ON lower(n.nspname) = lower(t.schema)\n"
	"  JOIN pg_class c ON c.relnamespace = n.oid AND lower(c.relname) = lower(t.name)\n"
	"  WHERE c.relkind IN ('r', 'p') AND c.oid NOT IN (SELECT oid FROM mates)),\n"
	"lookalike AS MATERIALIZED (SELECT l.quoted FROM listed l\n"
	"  JOIN pg_class c ON c.oid = l.oid JOIN pg_namespace n ON n.oid = c.relnamespace\n"
	"  WHERE l.oid NOT IN (SELECT oid FROM mates) AND n.nspname <> 'walpost'\n"
	"    AND NOT EXISTS (SELECT FROM ignored i WHERE n.nspname LIKE i.schema\n"
	"      AND c.relname LIKE i.name)\n"
	"    AND NOT EXISTS (SELECT FROM leaves v WHERE n.nspname LIKE v.schema\n"
	"      AND c.relname LIKE v.name)\n"
	"    AND EXISTS (SELECT FROM lasting t WHERE NOT EXISTS (SELECT FROM\n"
	"      jsonb_array_elements_text(t.names) w (name) WHERE NOT EXISTS (SELECT FROM\n"
	"        pg_attribute a WHERE a.attrelid = l.oid AND a.attname = w.name\n"
	"        AND a.attnum > 0 AND NOT a.attisdropped)))),\n"
	"slot_checkpoint AS (SELECT c.oid, n.oid AS nsp FROM pg_class c JOIN pg_namespace n ON "
	"n.oid = c.relnamespace\n"
	"  WHERE n.nspname = 'walpost' AND c.relname = 'slot_checkpoint' AND c.relkind = 'r'),\n"
	"reissue AS (SELECT c.oid, n.oid AS nsp FROM pg_class c JOIN pg_namespace n ON n.oid = "
	"c.relnamespace\n"
	"  WHERE n.nspname = 'walpost' AND c.relname = 'reissue' AND c.relkind = 'r'),\n"
	"reissue_pub AS (SELECT * FROM pg_publication WHERE pubname = '" WP_REISSUE_PUBLICATION
	"'),\n"
	"asked AS MATERIALIZED (SELECT t.at, t.schema, t.name,\n"
	"    b.oid, b.relkind, b.relpersistence, w.columns, r.has_up, r.limited, r.excepted,\n"
	"    k.unlisted, k.unconfigured, k.unlogged, k.elsewhere, k.chunks,\n"
	"    l.oids AS near_oids, l.names AS near_names, l.js AS near_js, l.ups AS near_ups\n"
	"  FROM tables t LEFT JOIN tab b ON b.at = t.at LEFT JOIN columns w ON w.at = t.at\n"
	"  LEFT JOIN rels r ON r.at = t.at LEFT JOIN children k ON k.at = t.at\n"
	"  LEFT JOIN (SELECT o.at, array_agg(l.oid) AS oids, array_agg(l.quoted) AS names,\n"
	"      array_agg(l.j) AS js, array_agg(o.is_up) AS ups\n"
	"    FROM ours o JOIN listed l ON l.oid = o.oid GROUP BY o.at) l ON l.at = t.at)\n"
	"SELECT answer.*, asked.at FROM asked CROSS JOIN LATERAL (\n"
	"WITH near AS (SELECT * FROM unnest(asked.near_oids, asked.near_names, asked.near_js,\n"
	"    asked.near_ups) l (oid, quoted, j, is_up)),\n"
	"leaf AS (SELECT c.oid, c.relkind AS kind, c.relpersistence AS persistence,\n"
	"    quote_ident(c.nspname) || '.' || quote_ident(c.relname) AS quoted,\n"
	"    EXISTS (SELECT FROM near l WHERE l.oid = c.oid\n"
	"      OR l.oid IN (SELECT relid FROM pg_partition_ancestors(c.oid::regclass))) AS "
	"covered\n"
	"  FROM (SELECT asked.oid WHERE asked.relkind <> 'p' UNION\n"
	"    SELECT relid FROM pg_partition_tree(asked.oid::regclass) WHERE isleaf) o\n"
	/* The planner, who takes partitions to be many, would read all tables for each table. */
	"  CROSS JOIN LATERAL (SELECT c.oid, c.relkind, c.relpersistence, c.relname, n.nspname\n"
	"    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace\n"
	"    WHERE c.oid = o.oid AND c.relkind <> 'p' OFFSET 0) c),\n"
	"wanted AS (SELECT w.at, w.name, a.atttypid AS type, a.attgenerated::text AS generated\n"
	"  FROM unnest(asked.columns) WITH ORDINALITY w (name, at)\n"
	"  LEFT JOIN pg_attribute a ON a.attrelid = asked.oid\n"
	"    AND a.attname = w.name AND a.attnum > 0 AND NOT a.attisdropped)\n"
	"SELECT ";

/*
 * A pattern's newest table stands for all, which are made alike; without one, the row is of no table.
 */
static const char tables_sql[] =
	"),\n"
	/* Each part is asked by itself: the planner, who takes few to fit, would look into each
	 * schema for each name. */
	"spaces AS MATERIALIZED (SELECT g.at, n.oid, n.nspname FROM given g\n"
	"  JOIN pg_catalog.pg_namespace n ON n.nspname LIKE g.schema\n"
	"    AND n.nspname NOT IN ('walpost', 'information_schema') AND n.nspname !~ '^pg_'\n"
	"  WHERE g.is_pattern),\n"
	"named AS MATERIALIZED (SELECT g.at, c.oid, c.relnamespace, c.relkind, c.relname FROM "
	"given g\n"
	"  JOIN pg_catalog.pg_class c ON c.relname LIKE g.name\n"
	"    AND c.relkind IN ('r', 'p') AND NOT c.relispartition\n"
	"  WHERE g.is_pattern),\n"
	/* A table that has a section of its own is of that; of several patterns the first has
	 * it. */
	"fitting AS (SELECT DISTINCT ON (c.oid) s.at, c.oid, c.relkind, s.nspname, c.relname\n"
	"  FROM spaces s JOIN named c ON c.relnamespace = s.oid AND c.at = s.at\n"
	"  WHERE NOT EXISTS (SELECT FROM given g WHERE NOT g.is_pattern\n"
	"    AND g.schema = s.nspname AND g.name = c.relname)\n"
	"  ORDER BY c.oid, s.at),\n"
	"tables (at, schema, name, is_pattern) AS (\n"
	"  SELECT at, schema::name, name::name, false FROM given WHERE NOT is_pattern\n"
	"  UNION ALL\n"
	"  SELECT g.at, coalesce(f.nspname, ''), coalesce(f.relname, ''), true FROM given g\n"
	"  LEFT JOIN (SELECT DISTINCT ON (at) * FROM fitting ORDER BY at, oid DESC) f ON f.at = "
	"g.at\n"
	"  WHERE g.is_pattern),\n";

static const char with_end[] = ") answer\nORDER BY asked.at";

struct number {
	char text[24];
};

static const struct column {
	const char *expression;
} columns[] = {
#define COLUMN(name_, sql_) { sql_ },
	WP_PREFLIGHT_COLUMNS(COLUMN)
#undef COLUMN
};

static struct number number_text(size_t number)
{
	struct number text;

	(void)snprintf(text.text, sizeof(text.text), "%zu", number);
	return text;
}

void wp_preflight_add_tables(struct wp_sql *sql, const struct wp_requirements *wanted)
{
	wp_sql_add(sql, "given (at, schema, name, is_pattern) AS (VALUES ");
	for (size_t i = 0; i < wanted->count; i++)
		wp_sql_add(sql, "%s(%s, %L::text, %L::text, %s)", i > 0 ? ", " : "",
			   number_text(i).text, wanted->tables[i].schema, wanted->tables[i].name,
			   wanted->tables[i].is_pattern ? "true" : "false");
	if (wanted->count == 0)
		wp_sql_add(sql, "(0, ''::text, ''::text, false)");
	wp_sql_add(sql, "%s", tables_sql);
}

void wp_tables_sql(struct wp_sql *sql, const struct wp_requirements *wanted)
{
	wp_sql_add(sql, "WITH ");
	wp_preflight_add_tables(sql, wanted);
	wp_sql_add(sql,
		   "every (at, schema, name) AS (\n"
		   "  SELECT at, schema, name FROM given WHERE NOT is_pattern\n"
		   "  UNION ALL SELECT at, nspname, relname FROM fitting)\n"
		   "SELECT * FROM every ORDER BY at, schema COLLATE \"C\", name COLLATE \"C\"");
}

static void add_columns(struct wp_sql *sql, const struct wp_requirements *wanted)
{
	/* The first row gives the types, and is of no table. */
	wp_sql_add(sql, "columns (at, columns) AS (VALUES (-1, '{}'::text[])");
	for (size_t i = 0; i < wanted->count; i++) {
		const struct wp_requirements_table *table = &wanted->tables[i];
		wp_sql_add(sql, ", (%s, ARRAY[", number_text(i).text);
		for (size_t j = 0; j < table->column_count; j++)
			wp_sql_add(sql, "%s%L", j > 0 ? ", " : "", table->columns[j]);
		wp_sql_add(sql, "]::text[])");
	}
	wp_sql_add(sql, "),\n");
}

static const char *list_text(const char *json)
{
	return json == NULL ? "[]" : json;
}

/* It matters which tables are alike only where a pattern could take one for another's. */
static void add_patterns(struct wp_sql *sql, const struct wp_requirements *wanted)
{
	wp_sql_add(sql, "leaves AS (SELECT v.at, p.pair->>0 AS schema, p.pair->>1 AS name\n"
			"  FROM (VALUES (-1, '[]'::jsonb)");
	for (size_t i = 0; i < wanted->count; i++)
		wp_sql_add(sql, ", (%s, %L)", number_text(i).text,
			   list_text(wanted->tables[i].leaves));
	wp_sql_add(sql,
		   ") v (at, list), pg_catalog.jsonb_array_elements(v.list) p (pair)),\n"
		   "ignored AS (SELECT p.pair->>0 AS schema, p.pair->>1 AS name\n"
		   "  FROM pg_catalog.jsonb_array_elements(%L::jsonb) p (pair)),\n"
		   "lasting AS (SELECT DISTINCT v.names FROM (VALUES (NULL::jsonb)",
		   list_text(wanted->ignored));
	for (size_t i = 0; i < wanted->count && wanted->ignores_by_pattern; i++)
		if (wanted->tables[i].lasting != NULL)
			wp_sql_add(sql, ", (%L)", wanted->tables[i].lasting);
	wp_sql_add(sql, ") v (names) WHERE v.names IS NOT NULL),\n");
}

enum wp_rc wp_preflight_sql(PGconn *pg, const struct wp_postgres_options *options,
			    const struct wp_requirements *wanted, int walsender,
			    struct wp_buffer *into, struct wp_error *error)
{
	char pid[24];
	struct wp_sql sql;

	(void)snprintf(pid, sizeof(pid), "%d", walsender);
	wp_sql_init(&sql, pg, into);
	wp_sql_add(&sql, "WITH ");
	wp_preflight_add_tables(&sql, wanted);
	add_columns(&sql, wanted);
	add_patterns(&sql, wanted);
	wp_sql_add(&sql, with, pid, options->slot, options->publication);
	for (size_t i = 0; i < A_COUNT; i++)
		wp_sql_add(&sql, "%s%s", i ? ",\n  " : "", columns[i].expression);
	wp_sql_add(&sql, "%s", with_end);
	return wp_sql_end(&sql, error);
}
