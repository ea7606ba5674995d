/* Accepts a slot that was moved or made anew: records that it stands where it stands. */
#include <stdio.h>
#include <string.h>

#include "walpost/cli/cli.h"
#include "walpost/cli/outbox.h"
#include "walpost/postgres_preflight/slot_checkpoint.h"
#include "walpost/postgres/sql.h"

enum column {
	ACTIVE_PID,
	CONFIRMED,
	OWNER,
	SLOT_CHECKPOINT,
	SLOT_CHECKPOINT_AT,
	BYTES,
	SAME_SYSTEM,
	IS_BEHIND,
	NEXT_EPOCH,
};

/*
 * This is a statement of its own, for without the table the other cannot be asked. It gives no row
 * if there is no such table.
 */
static const char whether_ours[] =
	"SELECT has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') AND "
	"has_table_privilege(c.oid, 'UPDATE'), current_user FROM pg_class c JOIN pg_namespace n ON "
	"n.oid = c.relnamespace WHERE n.nspname = 'walpost' AND c.relname = 'slot_checkpoint' "
	"AND " WP_SLOT_CHECKPOINT_IS_WHOLE("c.oid");

static const char how_it_stands[] =
	"SELECT s.active_pid, s.confirmed_flush_lsn, w.owner, w.confirmed_lsn, "
	"to_char(w.confirmed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC', "
	"coalesce(pg_wal_lsn_diff(s.confirmed_flush_lsn, w.confirmed_lsn), 0), w.system_identifier "
	"= (SELECT system_identifier::text FROM pg_control_system()), "
	"coalesce(pg_current_wal_lsn() < w.confirmed_lsn, false), w.epoch + 1 FROM "
	"pg_replication_slots s LEFT JOIN walpost.slot_checkpoint w ON w.slot = s.slot_name WHERE "
	"s.slot_name = %L";

static const char *value(const PGresult *stands, enum column column)
{
	return PQgetvalue(stands, 0, (int)column);
}

static bool is(const PGresult *stands, enum column column)
{
	return *value(stands, column) == 't';
}

enum wp_rc wp_cli_renew_slot_checkpoint(struct wp_session *s, const char *slot, const char *by,
					PGresult **ret, struct wp_error *error)
{
	struct wp_statement statement;
	wp_statement_begin(&statement, s);
	wp_slot_checkpoint_renew_sql(&statement.sql, slot, by);
	return wp_statement_ask(&statement, ret, error);
}

static int write_it(struct wp_session *s, const char *slot, const PGresult *stands)
{
	struct wp_error error;
	PGresult *accepted;
	enum wp_rc rc =
		wp_cli_renew_slot_checkpoint(s, slot, "walpost slot accept", &accepted, &error);
	if (rc != WP_OK)
		return wp_cli_fail(WP_EXIT_FAILED, "slot %s was not accepted: %s", slot,
				   error.text);
	bool done = PQntuples(accepted) == 1;
	if (done)
		printf("slot %s: accepted at %s; relay %s had confirmed %s at %s, %s bytes "
		       "earlier\n",
		       slot, PQgetvalue(accepted, 0, 0), value(stands, OWNER),
		       value(stands, SLOT_CHECKPOINT), value(stands, SLOT_CHECKPOINT_AT),
		       value(stands, BYTES));
	PQclear(accepted);
	return done ? wp_cli_done()
		    : wp_cli_fail(WP_EXIT_FAILED,
				  "slot %s was not accepted: a relay has just acquired it", slot);
}

static int judge(struct wp_session *s, const char *slot, const PGresult *stands)
{
	if (PQntuples(stands) == 0)
		return wp_cli_fail(WP_EXIT_FAILED, "there is no slot %s", slot);
	if (!PQgetisnull(stands, 0, ACTIVE_PID))
		return wp_cli_fail(WP_EXIT_FAILED,
				   "slot %s is in use by process %s: there is nothing to accept",
				   slot, value(stands, ACTIVE_PID));
	if (PQgetisnull(stands, 0, OWNER)) {
		printf("slot %s: no relay has used it yet, so there is nothing to accept\n", slot);
		return wp_cli_done();
	}
	if (!is(stands, SAME_SYSTEM) || is(stands, IS_BEHIND))
		return wp_cli_fail(WP_EXIT_FAILED,
				   "slot %s was not accepted: this database is another one, or an "
				   "older state, than the one whose events were relayed, and its "
				   "positions repeat; set relay.epoch = %s instead",
				   slot, value(stands, NEXT_EPOCH));
	return write_it(s, slot, stands);
}

static int refuse_without(const PGresult *ours)
{
	if (PQntuples(ours) == 0)
		return wp_cli_fail(
			WP_EXIT_FAILED,
			"walpost.slot_checkpoint is missing or lacks columns, so there is no "
			"recorded position to accept; run walpost check for the cure");
	if (*PQgetvalue(ours, 0, 0) != 't')
		return wp_cli_fail(WP_EXIT_FAILED,
				   "role %s may not read and write walpost.slot_checkpoint: use a "
				   "role that may, or grant the privilege with walpost init --role",
				   PQgetvalue(ours, 0, 1));
	return WP_EXIT_OK;
}

int wp_cli_slot_accept(struct wp_session *s, const struct wp_postgres_options *options)
{
	struct wp_statement statement;
	struct wp_error error;
	PGresult *answer;
	const char *slot = options->slot;
	enum wp_rc rc = wp_session_query(s, whether_ours, &answer, &error);
	if (rc != WP_OK)
		return wp_cli_fail(WP_EXIT_FAILED, "%s", error.text);
	int exit_code = refuse_without(answer);
	PQclear(answer);
	if (exit_code != WP_EXIT_OK)
		return exit_code;
	wp_statement_begin(&statement, s);
	wp_sql_add(&statement.sql, how_it_stands, slot);
	rc = wp_statement_ask(&statement, &answer, &error);
	if (rc != WP_OK)
		return wp_cli_fail(WP_EXIT_FAILED, "%s", error.text);
	exit_code = judge(s, slot, answer);
	PQclear(answer);
	return exit_code;
}
