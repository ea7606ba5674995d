/*
 * Checks parked events (sql/parked.sql). With relay.poison = park, the relay begins to stream only
 * once it has read them, and waits for as long as it cannot write them. Without it nobody sends
 * them.
 */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "walpost/cli/outbox.h"

/* These are the columns of the first answer, in order. */
enum { MISSING, LACKING, MAY, MAY_READ, ROLE };
/* These are the columns of the second answer, in order. */
enum { EVENTS, AGGREGATES, OLDEST };

/* Asks the catalog, because names cannot be resolved without USAGE on the schema. */
static void write_tables(struct wp_sql *sql, const struct wp_check *c)
{
	(void)c; /* the question is the same for all */
	wp_sql_add(sql,
		   "WITH w (name, columns) AS (VALUES ('parked', "
		   "'{slot,position,outbox,key,id,type,topic,relation,row,content,reissued,"
		   "settings,committed_at,parked_at,code,reason,first_reason,attempts,last_attempt_"
		   "at,next_attempt_at,alone,act}'::text[]),\n"
		   "  ('parking', '{slot,generation,owner,raised_at}')),\n"
		   "t AS (SELECT c.oid, w.name, w.columns, n.oid AS nsp FROM w, pg_class c, "
		   "pg_namespace n WHERE n.nspname = 'walpost' AND c.relnamespace = n.oid\n"
		   "  AND c.relname = w.name AND c.relkind IN ('r', 'p')),\n"
		   "may AS (SELECT name, bool_and(has_schema_privilege(current_user, nsp, 'USAGE') "
		   "AND has_table_privilege(current_user, oid, p)) AS do_all,\n"
		   "  bool_and(has_schema_privilege(current_user, nsp, 'USAGE') AND "
		   "has_table_privilege(current_user, oid, 'SELECT')) AS read\n"
		   "  FROM t, unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) p GROUP BY name)\n");
	wp_sql_add(sql,
		   "SELECT (SELECT string_agg('walpost.' || name, ' and ' ORDER BY name) FROM w "
		   "WHERE name NOT IN (SELECT name FROM t)),\n"
		   "  (SELECT string_agg(format('walpost.%%I.%%I', name, c), ', ') FROM t, "
		   "unnest(columns) c WHERE NOT EXISTS (SELECT FROM pg_attribute a "
		   "WHERE a.attrelid = t.oid AND a.attname = c AND NOT a.attisdropped)),\n"
		   "  (SELECT bool_and(do_all) FROM may), (SELECT read FROM may WHERE name = "
		   "'parked'), "
		   "current_user");
}

static void write_parked(struct wp_sql *sql, const struct wp_check *c)
{
	wp_sql_add(sql,
		   "%sSELECT coalesce(sum(events), 0), count(*), to_char(min(oldest) AT TIME ZONE "
		   "'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC'\n"
		   "FROM (SELECT count(*) AS events, min(parked_at) AS oldest FROM walpost.parked "
		   "WHERE slot = %L\n"
		   "  GROUP BY outbox, key, CASE WHEN key IS NULL THEN \"position\" END) a",
		   wp_sql_impatiently, c->config.postgres.slot);
}

static void add(struct wp_check *c, enum wp_finding_level level, const struct wp_error *what,
		const char *cure)
{
	wp_findings_add(&c->found.findings, level, WP_ROOM_SLOT, "parked", what->text, cure);
}

/* Returns true if a relay can use the tables. */
static bool judge_tables(struct wp_check *c, struct wp_session *session, const PGresult *row)
{
	struct wp_error what;
	if (!PQgetisnull(row, 0, MISSING)) {
		(void)wp_error_set(&what, WP_CONFIG,
				   "table %s is missing: with relay.poison = park, walpost run "
				   "waits for it before it streams",
				   PQgetvalue(row, 0, MISSING));
		add(c, WP_FINDING_FAIL, &what, "-- run walpost init, or sql/parked.sql");
		return false;
	}
	if (!PQgetisnull(row, 0, LACKING)) {
		(void)wp_error_set(&what, WP_CONFIG,
				   "missing columns: %.900s; with relay.poison = park, walpost run "
				   "waits for them before it streams",
				   PQgetvalue(row, 0, LACKING));
		add(c, WP_FINDING_FAIL, &what,
		    "-- add the columns as sql/parked.sql defines them; or, if nothing is parked, "
		    "drop the table and run sql/parked.sql");
		return false;
	}
	if (*PQgetvalue(row, 0, MAY) != 't') {
		(void)wp_error_set(
			&what, WP_CONFIG,
			"role %s may not read and write walpost.parked and walpost.parking: with "
			"relay.poison = park, walpost run waits for that before it streams",
			PQgetvalue(row, 0, ROLE));
		wp_check_add_grants(c, session, WP_FINDING_FAIL, "parked", &what, WP_GRANTS_PARKED,
				    PQgetvalue(row, 0, ROLE));
		return false;
	}
	return true;
}

static void judge_used(struct wp_check *c, const PGresult *row)
{
	struct wp_error what;
	bool none = !row || !strcmp(PQgetvalue(row, 0, EVENTS), "0");
	if (none)
		(void)wp_error_set(&what, WP_OK,
				   "walpost.parked and walpost.parking are writable%s%s",
				   row ? ", and nothing is parked for slot " : "",
				   row ? c->config.postgres.slot : "");
	else
		(void)wp_error_set(&what, WP_OK,
				   "%s events of %s aggregates are parked for slot %s, the oldest "
				   "since %s; `walpost parked list` shows them",
				   PQgetvalue(row, 0, EVENTS), PQgetvalue(row, 0, AGGREGATES),
				   c->config.postgres.slot, PQgetvalue(row, 0, OLDEST));
	(void)wp_error_set(&what, WP_OK,
			   "%.1500s. A parked event arrives behind others with higher positions: "
			   "consumers that drop duplicates by walpost-position must keep the "
			   "highest of each key, not of each partition",
			   what.text);
	add(c, WP_FINDING_OK, &what, "");
}

/* Later events of these aggregates overtake the parked ones. */
static void judge_left(struct wp_check *c, const PGresult *row)
{
	struct wp_error what;
	if (!row || !strcmp(PQgetvalue(row, 0, EVENTS), "0"))
		return;
	(void)wp_error_set(&what, WP_CONFIG,
			   "%s events of %s aggregates are parked for slot %s, the oldest since "
			   "%s, and relay.poison is not park: no relay sends them, and later "
			   "events of these aggregates are sent before them",
			   PQgetvalue(row, 0, EVENTS), PQgetvalue(row, 0, AGGREGATES),
			   c->config.postgres.slot, PQgetvalue(row, 0, OLDEST));
	add(c, WP_FINDING_WARN, &what, "-- set relay.poison = park");
}

void wp_check_parked(struct wp_check *c, struct wp_session *session)
{
	bool parks = c->config.relay.poison == WP_POISON_PARK;
	struct wp_error error;
	PGresult *tables, *parked = NULL;
	if (wp_check_ask(c, session, write_tables, &tables, &error) != WP_OK) {
		if (parks)
			add(c, WP_FINDING_FAIL, &error, "");
		return;
	}
	bool may_read = *PQgetvalue(tables, 0, MAY_READ) == 't' && PQgetisnull(tables, 0, LACKING);
	bool usable = !parks || judge_tables(c, session, tables);
	PQclear(tables);
	/* If they could not be counted in time, their number is not known. */
	if (may_read && wp_check_ask(c, session, write_parked, &parked, &error) != WP_OK)
		parked = NULL;
	if (parks && usable)
		judge_used(c, parked);
	else if (!parks)
		judge_left(c, parked);
	PQclear(parked);
}
