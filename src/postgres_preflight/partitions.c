#include "preflight_judge.h"
#include "walpost/postgres_preflight/partitions.h"

/*
 * This is plain SQL over pg_inherits: pg_partition_tree() would lock every partition, and wait for
 * who has one locked; and a plain statement sees exactly the snapshot that it tells. A partition
 * that is being detached is still in the tree, for its rows in the log may be older. With an outbox
 * below another one a partition is of the nearer; one that has its own name goes before a pattern.
 * Only partitions are below a partitioned table, and only children by inheritance below a plain
 * one.
 */
static const char partitions_sql[] =
	"roots AS (\n"
	"  SELECT c.oid, t.at, NULL::name AS schema, NULL::name AS name, c.relkind = 'r' AS "
	"is_plain\n"
	"  FROM tables t\n"
	"  JOIN pg_catalog.pg_namespace n ON n.nspname = t.schema\n"
	"  JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = t.name\n"
	"  WHERE NOT t.is_pattern AND c.relkind IN ('r', 'p')\n"
	"  UNION ALL\n"
	"  SELECT oid, at, nspname, relname, relkind = 'r' FROM fitting),\n"
	"tree (oid, at, depth, root, is_plain) AS (\n"
	"  SELECT oid, at, 0, CASE WHEN schema IS NULL THEN 0 ELSE oid END, is_plain FROM roots\n"
	"  UNION ALL\n"
	"  SELECT i.inhrelid, t.at, t.depth + 1, t.root, t.is_plain\n"
	"  FROM tree t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid)\n"
	"SELECT coalesce((SELECT pg_catalog.string_agg(p.oid || ' ' || p.at ||\n"
	"    CASE WHEN p.is_plain THEN ' c' ELSE coalesce(' ' || nullif(p.root, 0), '') END,\n"
	"    ',' ORDER BY p.oid) FROM (SELECT DISTINCT ON (oid) oid, at, root, is_plain FROM tree\n"
	"      WHERE depth > 0 OR NOT is_plain ORDER BY oid, depth, root, at) p), ''),\n"
	"  coalesce((SELECT pg_catalog.json_object_agg(r.oid, pg_catalog.json_build_array(\n"
	"      r.schema::text, r.name::text) ORDER BY r.oid) FROM (SELECT DISTINCT oid, schema, "
	"name\n"
	"    FROM roots WHERE schema IS NOT NULL AND NOT is_plain) r)::text, '{}'),\n"
	"  pg_catalog.pg_current_snapshot(), ";

/*
 * Whoever attaches a partition, or makes one, locks the table above it until the end of the
 * transaction, and that partition is in the tree as of this snapshot unless it was made by the same
 * transaction. Locks are read before it is asked whether the transaction still runs: one that ends
 * gives them up one after the other. The xids have 32 bits; none is older than xmin. A lock on a
 * plain outbox says nothing: an application may lock it around its inserts, and a commit that waits
 * for us would then wait for ever.
 */
static const char harmless_sql[] =
	"coalesce((SELECT pg_catalog.string_agg(h.xid::text, ',') FROM (\n"
	"  WITH locks AS MATERIALIZED (SELECT * FROM pg_catalog.pg_locks),\n"
	"  candidates AS MATERIALIZED (\n"
	"    SELECT (b.xmin + (l.transactionid::text::int8 - b.xmin % 4294967296 + 4294967296)\n"
	"      % 4294967296)::text::xid8 AS xid\n"
	"    FROM locks l, (SELECT pg_catalog.pg_snapshot_xmin(\n"
	"      pg_catalog.pg_current_snapshot())::text::int8) b (xmin)\n"
	"    WHERE l.locktype = 'transactionid' AND l.granted AND l.mode = 'ExclusiveLock'\n"
	"      AND NOT EXISTS (SELECT FROM locks s JOIN tree t ON t.oid = s.relation AND NOT "
	"t.is_plain\n"
	"        WHERE s.virtualtransaction = l.virtualtransaction AND s.locktype = 'relation'\n"
	"          AND s.mode NOT IN ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')))\n"
	"  SELECT xid FROM candidates WHERE pg_catalog.pg_xact_status(xid) = 'in progress') h), "
	"'')";

enum answer_column {
	ANSWER_PARTITIONS,
	ANSWER_ROOTS,
	ANSWER_SNAPSHOT,
	ANSWER_HARMLESS,
	ANSWER_COLUMNS
};

void wp_partitions_sql(struct wp_sql *sql, const struct wp_requirements *wanted,
		       enum wp_partitions_for whom)
{
	wp_sql_add(sql, "WITH RECURSIVE ");
	wp_preflight_add_tables(sql, wanted);
	wp_sql_add(sql, "%s", partitions_sql);
	wp_sql_add(sql, "%s", whom == WP_PARTITIONS_FOR_SYNCHRONOUS ? harmless_sql : "''");
}

enum wp_rc wp_partitions_answer(const PGresult *result, struct wp_partitions *ret,
				struct wp_error *error)
{
	enum wp_rc rc = WP_PROTO;

	if (PQntuples(result) == 1 && PQnfields(result) == ANSWER_COLUMNS)
		rc = wp_partitions_read(
			ret, &(struct wp_partitions_text){
				     .partitions = PQgetvalue(result, 0, ANSWER_PARTITIONS),
				     .roots = PQgetvalue(result, 0, ANSWER_ROOTS),
				     .snapshot = PQgetvalue(result, 0, ANSWER_SNAPSHOT),
				     .harmless = PQgetvalue(result, 0, ANSWER_HARMLESS),
			     });
	switch (rc) {
	case WP_OK:
		return WP_OK;
	case WP_FULL:
		return wp_error_set(error, rc, "the outboxes have more than %d partitions",
				    WP_PARTITIONS_MAX);
	case WP_NOMEM:
		return wp_error_set(error, rc, "out of memory for the partitions of the outboxes");
	default:
		return wp_error_set(
			error, rc,
			"unexpected form of the server's answer about the outbox partitions");
	}
}
