/*
 * Checks what cleanup.mode needs: whether the relay may remove rows, whether they can be found
 * fast, and whether something keeps it from removing them. Without cleanup.mode nothing is asked.
 */
#include <stdio.h>
#include <string.h>

#include "check.h"

/* These are the columns of the answer, in order. NULL and "" mean that nothing is wrong. */
enum { FUNCTIONS, FLOORS, RIGHT, ROLE, INDEX, VACUUM, TABLE, SCHEMA };

static void add(struct wp_check *c, enum wp_finding_level level, const struct wp_error *what,
		const char *cure)
{
	wp_findings_add(&c->found.findings, level, WP_ROOM_SLOT, "cleanup", what->text, cure);
}

static void write_question(struct wp_sql *sql, const struct wp_cleanup_table *t, bool drops)
{
	wp_sql_add(sql,
		   "SELECT (SELECT count(*) = 2 FROM pg_proc p WHERE p.pronamespace = (SELECT oid "
		   "FROM "
		   "pg_namespace WHERE nspname = 'walpost') AND (p.proname = "
		   "'cleanup_remove_partition' "
		   "OR p.proname = 'cleanup_forget' AND p.prosrc LIKE '%%walpost.sent%%')),\n"
		   "  (SELECT has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(f.oid, "
		   "'SELECT') AND has_table_privilege(f.oid, 'INSERT') AND "
		   "has_table_privilege(f.oid, 'UPDATE') "
		   "FROM pg_class f JOIN pg_namespace n ON n.oid = f.relnamespace "
		   "WHERE n.nspname = 'walpost' AND f.relname = 'cleanup_floor'),\n");
	if (drops)
		wp_sql_add(sql,
			   "  (SELECT has_function_privilege(p.oid, 'EXECUTE') AND "
			   "pg_has_role(p.proowner, c.relowner, 'MEMBER') FROM pg_proc p WHERE "
			   "p.proname = 'cleanup_remove_partition' AND p.pronamespace = (SELECT "
			   "oid FROM pg_namespace WHERE nspname = 'walpost')), current_user,\n");
	else if (t->processed)
		wp_sql_add(sql,
			   "  has_table_privilege(c.oid, 'SELECT') AND EXISTS (SELECT FROM "
			   "pg_attribute m WHERE m.attrelid = c.oid AND m.attname = %L AND "
			   "has_column_privilege(c.oid, m.attnum, 'UPDATE')), current_user,\n",
			   t->processed);
	else
		wp_sql_add(sql, "  has_table_privilege(c.oid, 'SELECT') AND "
				"has_table_privilege(c.oid, 'DELETE'), current_user,\n");
	wp_sql_add(sql,
		   "  EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisvalid AND "
		   "i.indkey[0] = a.attnum AND pg_get_expr(i.indpred, i.indrelid) IS NOT DISTINCT "
		   "FROM ");
	if (t->processed)
		wp_sql_add(sql, "format('(%%I IS NULL)', %L)),\n", t->processed);
	else
		wp_sql_add(sql, "NULL),\n");
	wp_sql_add(
		sql,
		"  'autovacuum_enabled=false' <> ALL (coalesce(c.reloptions, '{}')) AND "
		"'autovacuum_enabled=off' <> ALL (coalesce(c.reloptions, '{}')), c.oid::regclass,\n"
		"  CASE WHEN NOT has_schema_privilege(s.oid, 'USAGE') THEN quote_ident(s.nspname) "
		"END\n"
		"FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace\n"
		"JOIN pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped\n");
	wp_sql_add(sql, "WHERE s.nspname = %L AND c.relname = %L AND a.attname = %L", t->schema,
		   t->name, t->inserted);
}

static bool is(const PGresult *r, int column)
{
	return *PQgetvalue(r, 0, column) == 't';
}

/* The cure grants all rights at once, because granting one that is there already does no harm. */
static void add_grants(struct wp_check *c, const struct wp_cleanup_table *t, bool drops,
		       const struct wp_error *what, const PGresult *r)
{
	const char *role = PQgetvalue(r, 0, ROLE), *table = PQgetvalue(r, 0, TABLE);
	char cure[1024];
	int size = 0;

	if (!PQgetisnull(r, 0, SCHEMA))
		size = snprintf(cure, sizeof(cure), "GRANT USAGE ON SCHEMA %.150s TO %.70s;\n",
				PQgetvalue(r, 0, SCHEMA), role);
	if (drops)
		(void)snprintf(cure + size, sizeof(cure) - (size_t)size,
			       "-- run sql/cleanup.sql as the owner of %.150s, then sql/grants.sql "
			       "for role %.70s",
			       table, role);
	else
		(void)snprintf(cure + size, sizeof(cure) - (size_t)size,
			       "GRANT SELECT, %s%.70s%s ON %.150s TO %.70s;\n"
			       "GRANT USAGE ON SCHEMA walpost TO %.70s;\n"
			       "GRANT SELECT, INSERT, UPDATE ON walpost.cleanup_floor TO %.70s;",
			       t->processed ? "UPDATE (" : "DELETE",
			       t->processed ? t->processed : "", t->processed ? ")" : "", table,
			       role, role, role);
	add(c, WP_FINDING_FAIL, what, cure);
}

/* Returns false if nothing more is to be asked about the table. */
static bool judge_means(struct wp_check *c, const struct wp_cleanup_table *t, bool drops,
			const PGresult *r)
{
	struct wp_error what;
	if (PQntuples(r) == 0) {
		(void)wp_error_set(
			&what, WP_CONFIG,
			"table %s has no column %s, which is outbox.column.inserted: its rows stay",
			t->outbox, t->inserted);
		add(c, WP_FINDING_FAIL, &what, "-- add the column, or name another");
		return false;
	}
	if (!is(r, FUNCTIONS)) {
		(void)wp_error_set(
			&what, WP_CONFIG,
			"the functions of sql/cleanup.sql are missing, or older than this walpost: "
			"rows stay, or go that are not known to be in Kafka");
		add(c, WP_FINDING_FAIL, &what, "-- run walpost init, or sql/cleanup.sql");
		return false;
	}
	if (!PQgetisnull(r, 0, SCHEMA)) {
		(void)wp_error_set(&what, WP_CONFIG,
				   "role %s may not use schema %s, so it cannot remove rows of "
				   "table %s: rows stay",
				   PQgetvalue(r, 0, ROLE), PQgetvalue(r, 0, SCHEMA),
				   PQgetvalue(r, 0, TABLE));
		add_grants(c, t, drops, &what, r);
		return false;
	}
	if (is(r, FLOORS) && is(r, RIGHT))
		return true;
	(void)wp_error_set(&what, WP_CONFIG,
			   "role %s may not remove rows of table %s, or not write "
			   "walpost.cleanup_floor: rows stay",
			   PQgetvalue(r, 0, ROLE), PQgetvalue(r, 0, TABLE));
	add_grants(c, t, drops, &what, r);
	return false;
}

static void judge_speed(struct wp_check *c, const struct wp_cleanup_table *t, const PGresult *r)
{
	struct wp_error what;
	char cure[512];
	if (!is(r, INDEX)) {
		char where[96] = "";
		if (t->processed)
			(void)snprintf(where, sizeof(where), " WHERE %.70s IS NULL", t->processed);
		(void)wp_error_set(&what, WP_CONFIG,
				   "table %s has no index that begins with %s%s: each batch of "
				   "cleanup reads all of it",
				   PQgetvalue(r, 0, TABLE), t->inserted, where);
		(void)snprintf(cure, sizeof(cure), "CREATE INDEX CONCURRENTLY ON %.200s (%.70s)%s;",
			       PQgetvalue(r, 0, TABLE), t->inserted, where);
		add(c, WP_FINDING_WARN, &what, cure);
	}
	if (!is(r, VACUUM)) {
		(void)wp_error_set(&what, WP_CONFIG,
				   "autovacuum is off for table %s: the place of removed rows is "
				   "not used again",
				   PQgetvalue(r, 0, TABLE));
		(void)snprintf(cure, sizeof(cure), "ALTER TABLE %.200s RESET (autovacuum_enabled);",
			       PQgetvalue(r, 0, TABLE));
		add(c, WP_FINDING_WARN, &what, cure);
	}
}

/* Rows in a default partition stay, and keep a partition for their time from being made. */
static void judge_default(struct wp_check *c, struct wp_session *session,
			  const struct wp_cleanup_table *t)
{
	struct wp_statement s;
	struct wp_error what, error;
	PGresult *r;
	wp_statement_begin(&s, session);
	wp_sql_add(&s.sql,
		   "SELECT p.partdefid::regclass FROM pg_partitioned_table p, %I.%I o WHERE "
		   "p.partrelid = ",
		   t->schema, t->name);
	wp_sql_add(&s.sql,
		   "format('%%I.%%I', %L, %L)::regclass AND o.tableoid = p.partdefid LIMIT 1",
		   t->schema, t->name);
	if (wp_statement_ask(&s, &r, &error) != WP_OK)
		return; /* a role that may not read the table is told elsewhere */
	if (PQntuples(r) == 1) {
		(void)wp_error_set(&what, WP_CONFIG,
				   "the default partition %s of table %s has rows: they stay, and "
				   "no partition for their time can be made",
				   PQgetvalue(r, 0, 0), t->outbox);
		add(c, WP_FINDING_WARN, &what, "-- move them to partitions of their own");
	}
	PQclear(r);
}

/* Asks what the publication has against cleanup, once the functions are known to be there. */
static void judge_publication(struct wp_check *c, struct wp_session *session,
			      const struct wp_cleanup_table *t)
{
	struct wp_statement s;
	struct wp_error what, error;
	PGresult *r;
	wp_statement_begin(&s, session);
	wp_sql_add(&s.sql,
		   "SELECT refusal FROM walpost.cleanup_generation(%L, %L, format('%%I.%%I', %L, "
		   "%L)::regclass, %L) "
		   "WHERE owner IS NOT NULL",
		   c->config.postgres.slot, c->config.postgres.publication, t->schema, t->name,
		   t->inserted);
	if (wp_statement_ask(&s, &r, &error) != WP_OK)
		return; /* the relay will say so */
	if (PQntuples(r) == 1 && !PQgetisnull(r, 0, 0)) {
		(void)wp_error_set(&what, WP_CONFIG, "cleanup leaves table %s alone: %s", t->outbox,
				   PQgetvalue(r, 0, 0));
		add(c, WP_FINDING_WARN, &what, "-- change that, or set cleanup.mode = none");
	}
	PQclear(r);
}

static void judge(struct wp_check *c, struct wp_session *session, const struct wp_cleanup_table *t)
{
	struct wp_statement s;
	struct wp_error what;
	PGresult *r;
	bool drops = c->config.relay.cleanup.mode == WP_CLEANUP_DROP;
	wp_statement_begin(&s, session);
	write_question(&s.sql, t, drops);
	if (wp_statement_ask(&s, &r, &what) != WP_OK) {
		add(c, WP_FINDING_WARN, &what, "");
		return;
	}
	size_t before = c->found.findings.count;
	if (judge_means(c, t, drops, r)) {
		if (drops)
			judge_default(c, session, t);
		else
			judge_speed(c, t, r);
		if (*session->locked.text == '\0')
			judge_publication(c, session, t);
	}
	bool is_known = *session->locked.text == '\0';
	if (is_known && c->found.findings.count == before && !wp_check_is_brief(c)) {
		(void)wp_error_set(&what, WP_OK,
				   "rows of table %s can be removed once their events are in "
				   "Kafka; `walpost cleanup` tells how many",
				   PQgetvalue(r, 0, TABLE));
		add(c, WP_FINDING_OK, &what, "");
	}
	PQclear(r);
}

void wp_check_cleanup(struct wp_check *c, struct wp_session *session)
{
	static struct wp_cleaned cleaned; /* static because it is large */
	if (c->config.relay.cleanup.mode == WP_CLEANUP_NONE)
		return;
	wp_requirements_cleaned(&c->config.outboxes, &c->config.relay.cleanup, &cleaned);
	/* What is locked stays so for the next questions, and each of them would forget it. */
	for (size_t i = 0; i < cleaned.count && *session->locked.text == '\0'; i++)
		judge(c, session, &cleaned.tables[i]);
}
