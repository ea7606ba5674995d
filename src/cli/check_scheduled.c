/*
 * Checks events that are sent later (sql/schedule.sql): may the relay move them, could they be
 * moved into its outboxes, and does anybody move what is due? A database without them is well.
 */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "walpost/cli/outbox.h"

/* These are the columns of the first answer, in order. */
enum { FUNCTION, WHOLE, MAY, ROLE };
/* These are the columns of the second answer, in order. */
enum { DUE, OVERDUE, FAILED, LATE_S, REASON };

/* Asks the catalog, because names cannot be resolved without USAGE on the schema. */
static void write_rights(struct wp_sql *sql, const struct wp_check *c)
{
	(void)c; /* the question is the same for all */
	wp_sql_add(
		sql,
		"SELECT p.oid IS NOT NULL, coalesce(t.relowner = p.proowner, false), "
		"coalesce(has_schema_privilege(n.oid, 'USAGE') AND has_function_privilege(p.oid, "
		"'EXECUTE') AND has_function_privilege(s.oid, 'EXECUTE'), false), current_user\n"
		"FROM (VALUES (1)) one LEFT JOIN pg_namespace n ON n.nspname = 'walpost'\n"
		"LEFT JOIN pg_proc p ON p.pronamespace = n.oid AND p.proname = 'move_due'\n"
		"LEFT JOIN pg_proc s ON s.pronamespace = n.oid AND s.proname = 'scheduled_state'\n"
		"LEFT JOIN pg_class t ON t.relnamespace = n.oid AND t.relname = 'scheduled'");
}

static void write_state(struct wp_sql *sql, const struct wp_check *c)
{
	(void)c; /* the question is the same for all */
	wp_sql_add(sql,
		   "%sSELECT due, overdue, failed, late_ms / 1000, coalesce(error, '') FROM "
		   "walpost.scheduled_state()",
		   wp_sql_impatiently);
}

/* Asks for the first outbox out of the mover's reach, as walpost.schedule_refusal() judges it. */
static void write_outboxes(struct wp_sql *sql, const struct wp_check *c)
{
	wp_sql_add(sql, "SELECT format('%%I.%%I', n.nspname, t.relname), t.relowner::regrole, "
			"p.proowner::regrole,\n"
			"  pg_has_role(t.relowner, p.proowner, 'MEMBER')\n"
			"FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace, pg_proc p\n"
			"WHERE p.pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = "
			"'walpost') AND p.proname = 'move_due'\n"
			"  AND NOT (pg_has_role(t.relowner, p.proowner, 'MEMBER') AND "
			"has_table_privilege(p.proowner, t.oid, 'INSERT') AND "
			"has_schema_privilege(p.proowner, n.oid, 'USAGE'))\n"
			"  AND (n.nspname, t.relname) IN (('', '')");
	for (size_t i = 0; i < c->wanted.wanted.count; i++)
		wp_sql_add(sql, ", (%L, %L)", c->wanted.names[i].schema, c->wanted.names[i].name);
	wp_sql_add(sql, ") ORDER BY 1 LIMIT 1");
}

static void add(struct wp_check *c, enum wp_finding_level level, const struct wp_error *what,
		const char *cure)
{
	wp_findings_add(&c->found.findings, level, WP_ROOM_SLOT, "scheduled", what->text, cure);
}

/* This is no warning, because perhaps nobody wants to schedule events for that table. */
static void add_outbox(struct wp_check *c, const PGresult *r)
{
	struct wp_error what;
	bool is_member = *PQgetvalue(r, 0, 3) == 't';
	if (is_member)
		(void)wp_error_set(&what, WP_OK,
				   "events for table %s cannot be scheduled: role %s, the owner of "
				   "walpost.move_due(), may not insert into it",
				   PQgetvalue(r, 0, 0), PQgetvalue(r, 0, 2));
	else
		(void)wp_error_set(
			&what, WP_OK,
			"events for table %s cannot be scheduled: its triggers would run as %s, "
			"the owner of walpost.move_due(), of which its owner %s is not a member",
			PQgetvalue(r, 0, 0), PQgetvalue(r, 0, 2), PQgetvalue(r, 0, 1));
	add(c, WP_FINDING_OK, &what, "");
}

static void judge_outboxes(struct wp_check *c, struct wp_session *session)
{
	struct wp_error error;
	PGresult *outboxes;
	if (wp_check_ask(c, session, write_outboxes, &outboxes, &error) != WP_OK)
		return;
	if (PQntuples(outboxes) == 1)
		add_outbox(c, outboxes);
	PQclear(outboxes);
}

static void judge_state(struct wp_check *c, struct wp_session *session)
{
	struct wp_error what, error;
	PGresult *r;
	if (wp_check_ask(c, session, write_state, &r, &error) != WP_OK) {
		add(c, WP_FINDING_WARN, &error, "");
		return;
	}
	bool is_late = strcmp(PQgetvalue(r, 0, OVERDUE), "0") != 0;
	bool has_failed = strcmp(PQgetvalue(r, 0, FAILED), "0") != 0;
	if (is_late)
		(void)wp_error_set(&what, WP_CONFIG,
				   "%s scheduled events or more are overdue, the oldest for %s s: "
				   "no relay moves them",
				   PQgetvalue(r, 0, OVERDUE), PQgetvalue(r, 0, LATE_S));
	else if (has_failed)
		(void)wp_error_set(
			&what, WP_CONFIG,
			"%s scheduled events are set aside, the oldest was due %s s ago: %.500s",
			PQgetvalue(r, 0, FAILED), PQgetvalue(r, 0, LATE_S),
			PQgetvalue(r, 0, REASON));
	else
		(void)wp_error_set(&what, WP_OK,
				   "scheduled events can be moved, and none is overdue");
	add(c, is_late || has_failed ? WP_FINDING_WARN : WP_FINDING_OK, &what,
	    is_late ? "-- start walpost run with relay.schedule = yes"
	    : has_failed
		    ? "-- let the table take them, or walpost.unschedule(id); SELECT id, error "
		      "FROM walpost.scheduled WHERE attempts > 0"
		    : "");
	PQclear(r);
}

void wp_check_scheduled(struct wp_check *c, struct wp_session *session)
{
	struct wp_error what;
	PGresult *rights;
	if (wp_check_ask(c, session, write_rights, &rights, &what) != WP_OK)
		return;
	bool is_there = *PQgetvalue(rights, 0, FUNCTION) == 't';
	bool may = *PQgetvalue(rights, 0, MAY) == 't';
	if (is_there && *PQgetvalue(rights, 0, WHOLE) != 't') {
		(void)wp_error_set(&what, WP_CONFIG,
				   "walpost.scheduled and walpost.move_due() have different "
				   "owners: row-level security hides the events");
		add(c, WP_FINDING_WARN, &what, "-- let one role own both");
	} else if (is_there && may) {
		judge_state(c, session);
		judge_outboxes(c, session);
	} else if (is_there && c->config.relay.schedule) {
		(void)wp_error_set(&what, WP_CONFIG,
				   "role %s may not execute walpost.move_due(): this relay sends "
				   "no scheduled events",
				   PQgetvalue(rights, 0, ROLE));
		wp_check_add_grants(c, session, WP_FINDING_WARN, "scheduled", &what,
				    WP_GRANTS_SCHEDULE, PQgetvalue(rights, 0, ROLE));
	}
	PQclear(rights);
}
