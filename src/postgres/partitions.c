#include "preflight_judge.h"
#include "walpost/postgres/partitions.h"

/*
 * By plain SQL over pg_inherits: pg_partition_tree() would lock every partition, and wait for who
 * has one locked; and a plain statement sees exactly the snapshot that it tells. One that is being
 * detached is still in the tree, for its rows in the log may be older. With an outbox below
 * another one a partition is of the nearer.
 */
static const char partitions_sql[] =
	"tree (oid, at, depth) AS (\n"
	"  SELECT c.oid, t.at, 0 FROM tables t\n"
	"  JOIN pg_catalog.pg_namespace n ON n.nspname = t.schema\n"
	"  JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = t.name\n"
	"    AND c.relkind = 'p'\n"
	"  UNION ALL\n"
	"  SELECT i.inhrelid, t.at, t.depth + 1\n"
	"  FROM tree t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid)\n"
	"SELECT coalesce((SELECT pg_catalog.string_agg(p.oid || ' ' || p.at, ',' ORDER BY p.oid)\n"
	"    FROM (SELECT DISTINCT ON (oid) oid, at FROM tree ORDER BY oid, depth) p), ''),\n"
	"  pg_catalog.pg_current_snapshot()";

enum answer_column { ANSWER_PARTITIONS, ANSWER_SNAPSHOT, ANSWER_COLUMNS };

void wp_partitions_sql(struct wp_sql *sql, const struct wp_wanted *wanted)
{
	wp_sql_add(sql, "WITH RECURSIVE ");
	wp_preflight_add_tables(sql, wanted);
	wp_sql_add(sql, "%s", partitions_sql);
}

enum wp_rc wp_partitions_answer(const PGresult *result, struct wp_partitions *ret,
				struct wp_why *why)
{
	enum wp_rc rc = WP_PROTO;

	if (PQntuples(result) == 1 && PQnfields(result) == ANSWER_COLUMNS)
		rc = wp_partitions_read(ret, PQgetvalue(result, 0, ANSWER_PARTITIONS),
					PQgetvalue(result, 0, ANSWER_SNAPSHOT));
	switch (rc) {
	case WP_OK:
		return WP_OK;
	case WP_FULL:
		return wp_why_set(why, rc, "the outboxes have more than %d partitions",
				  WP_PARTITIONS_MAX);
	case WP_NOMEM:
		return wp_why_set(why, rc, "out of memory for the partitions of the outboxes");
	default:
		return wp_why_set(why, rc,
				  "the server's answer about the partitions of the outboxes is "
				  "none that PostgreSQL gives");
	}
}
