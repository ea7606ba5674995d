/*
 * `walpost drain`: the relay stops once all that was committed until now is confirmed. Its mark, a
 * row of walpost.reissue, tells the relay where; the session's application_name tells it that the
 * drain still waits (relay/drain.h), so that a mark that is read later stops nobody.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "reissue_slot.h"
#include "walpost/base/clock.h"
#include "walpost/cli/cli.h"
#include "walpost/cli/output.h"
#include "walpost/postgres_preflight/publication.h"

enum {
	TIMEOUT_MS = 5 * 60 * 1000,
	NOBODY_FOR_MS = 3000,	 /* a relay reconnects within this, mostly */
	GONE_FOR_MS = 60 * 1000, /* with Kafka away it notices late that its connection is gone */
	TAKEN_WITHIN_MS = 5000,	 /* a standby takes a free slot over within this */
	PASSED_FOR_MS = 2000, /* a relay that has passed the mark so long ago does not stop there */
};
#define ASK_EVERY_S 0.05

struct drain {
	struct wp_config config;
	const char *timeout_text;
	const char *slot_text;
	bool json;
	int64_t timeout_ms;
	const char *name; /* of the slot */
	struct wp_console console;
	struct wp_session session;
	struct wp_reissue_slot slot;
	char number[16];
	char before[WP_LSN_TEXT_SIZE]; /* all that was committed until then ends below it */
	char behind[WP_LSN_TEXT_SIZE]; /* behind the last mark */
	char end[WP_LSN_TEXT_SIZE];    /* of the log, as it is now */
	int64_t missing;	       /* bytes from what is confirmed to `before`, or the end */
	int64_t standbys;
	int64_t parked;
	bool has_scheduled;
	int64_t began_ms;
};

static int64_t now_ms(void)
{
	return wp_clock_us() / 1000;
}

static void copy(char *to, size_t room, const PGresult *from, int column)
{
	(void)snprintf(to, room, "%s", PQgetvalue(from, 0, column));
}

/* -- asking ---------------------------------------------------------------------------------- */

/* The number has nine digits, and so is none of another's. */
static enum wp_rc take_number(struct drain *d, struct wp_error *error)
{
	PGresult *r;
	enum wp_rc rc = wp_session_query(
		&d->session,
		"SELECT n, pg_catalog.set_config('application_name', '" WP_DRAIN_SESSION
		"' || n, false) FROM (SELECT (100000000 + pg_catalog.floor(pg_catalog.random() * "
		"900000000))::bigint::text AS n) numbered",
		&r, error);

	if (rc != WP_OK)
		return rc;
	copy(d->number, sizeof(d->number), r, 0);
	PQclear(r);
	return WP_OK;
}

/* This waits for no synchronous standby, because the relay may be one. */
static enum wp_rc write_mark(struct drain *d, struct wp_error *error)
{
	struct wp_statement statement;
	struct wp_error ignored;
	PGresult *r = NULL;

	enum wp_rc rc =
		wp_session_do(&d->session, "BEGIN; SET LOCAL synchronous_commit = 'local'", error);
	if (rc != WP_OK)
		return rc;
	wp_statement_begin(&statement, &d->session);
	wp_sql_add(&statement.sql,
		   "INSERT INTO walpost.reissue (slot, outbox, reason, \"position\", kind) "
		   "VALUES (%L, '', 'drain', %L, 'mark') "
		   "RETURNING id, pg_catalog.pg_current_wal_insert_lsn()",
		   d->name, d->number);
	rc = wp_statement_ask(&statement, &r, error);
	if (rc == WP_OK) {
		if (d->before[0] == '\0') /* a mark that is repeated promises no more */
			copy(d->before, sizeof(d->before), r, 1);
		wp_statement_begin(&statement, &d->session);
		wp_sql_add(&statement.sql, "DELETE FROM walpost.reissue WHERE id = %s",
			   PQgetvalue(r, 0, 0));
		PQclear(r);
		r = NULL;
		rc = wp_statement_ask(&statement, &r, error);
	}
	PQclear(r);
	if (rc == WP_OK)
		rc = wp_session_do(&d->session, "COMMIT", error);
	else if (strcmp(d->session.failure.sqlstate, "42501") == 0)
		rc = wp_error_set(
			error, WP_CONFIG,
			"the role may not write table walpost.reissue: GRANT SELECT, "
			"INSERT, DELETE ON walpost.reissue TO it, as sql/grants.sql does");
	if (rc != WP_OK) {
		(void)!wp_session_do(&d->session, "ROLLBACK", &ignored);
		return rc;
	}
	rc = wp_session_query(&d->session, "SELECT pg_catalog.pg_current_wal_insert_lsn()", &r,
			      error);
	if (rc != WP_OK)
		return rc;
	copy(d->behind, sizeof(d->behind), r, 0);
	PQclear(r);
	return WP_OK;
}

/* Returns 0 also without the right to ask; it is then not told of. */
static int64_t ask_number(struct drain *d, const char *sql)
{
	struct wp_statement statement;
	struct wp_error ignored;
	PGresult *r;

	wp_statement_begin(&statement, &d->session);
	wp_sql_add(&statement.sql, sql, d->name);
	if (wp_statement_ask(&statement, &r, &ignored) != WP_OK)
		return 0;
	int64_t number = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
	PQclear(r);
	return number;
}

/*
 * A standby that waits for the slot logs in as the relay does, to the same database. The server
 * does not tell for which slot a standby waits: with several slots in one database, those of the
 * others count too.
 */
static enum wp_rc ask_more(struct drain *d, struct wp_error *error)
{
	struct wp_statement statement;
	PGresult *r;

	wp_statement_begin(&statement, &d->session);
	wp_sql_add(&statement.sql,
		   "SELECT pg_catalog.pg_current_wal_insert_lsn(), greatest(0, CASE WHEN %L = '' "
		   "THEN pg_catalog.pg_current_wal_insert_lsn() ELSE nullif(%L, '')::pg_lsn END "
		   "- s.confirmed_flush_lsn)::bigint, (SELECT count(*) FROM "
		   "pg_catalog.pg_stat_replication r JOIN pg_catalog.pg_stat_activity USING (pid) "
		   "JOIN pg_catalog.pg_stat_replication mine ON mine.pid = s.active_pid "
		   "WHERE r.pid <> mine.pid AND datname = s.database "
		   "AND r.application_name = mine.application_name AND NOT EXISTS (SELECT FROM "
		   "pg_catalog.pg_replication_slots o WHERE o.active_pid = r.pid)), "
		   "pg_catalog.to_regclass('walpost.parked') IS NOT NULL, "
		   "pg_catalog.to_regprocedure('walpost.scheduled_state()') IS NOT NULL "
		   "FROM pg_catalog.pg_replication_slots s WHERE s.slot_name = %L",
		   d->before, d->before, d->name);
	enum wp_rc rc = wp_statement_ask(&statement, &r, error);
	if (rc != WP_OK)
		return rc;
	bool parks = false, schedules = false;
	if (PQntuples(r) == 1) {
		copy(d->end, sizeof(d->end), r, 0);
		d->missing = strtoll(PQgetvalue(r, 0, 1), NULL, 10);
		d->standbys = strtoll(PQgetvalue(r, 0, 2), NULL, 10);
		parks = *PQgetvalue(r, 0, 3) == 't';
		schedules = *PQgetvalue(r, 0, 4) == 't';
	}
	PQclear(r);
	d->parked =
		parks ? ask_number(d, "SELECT count(*) FROM walpost.parked WHERE slot = %L") : 0;
	d->has_scheduled =
		schedules && ask_number(d, "SELECT (s.due > 0 OR s.failed > 0 OR s.next_ms > 0)"
					   "::int FROM walpost.scheduled_state() s") > 0;
	return WP_OK;
}

/* -- waiting --------------------------------------------------------------------------------- */

enum outcome { OUTCOME_DRAINED, OUTCOME_NOBODY, OUTCOME_LATE, OUTCOME_TAKEN };

static enum wp_rc pause(struct drain *d, struct wp_error *error)
{
	wp_console_wait(&d->console, ASK_EVERY_S);
	return d->console.interrupted
		       ? wp_error_set(error, WP_IO,
				      "interrupted: the relay goes on, for its mark means nothing "
				      "without this command")
		       : WP_OK;
}

/* The slot is free, and all is confirmed. Only where standbys were seen one can take it. */
static enum wp_rc watch_standby(struct drain *d, enum outcome *ret, struct wp_error *error)
{
	int64_t until_ms = now_ms() + (d->standbys > 0 ? TAKEN_WITHIN_MS : 0);
	enum wp_rc rc = WP_OK;

	*ret = OUTCOME_DRAINED;
	while (rc == WP_OK && now_ms() < until_ms) {
		rc = pause(d, error);
		if (rc == WP_OK)
			rc = wp_reissue_slot_ask(&d->slot, d->before, error);
		if (rc == WP_OK && d->slot.reads != WP_READS_NOBODY) {
			*ret = OUTCOME_TAKEN;
			break;
		}
	}
	return rc;
}

static enum wp_rc await(struct drain *d, enum outcome *ret, struct wp_error *error)
{
	int64_t seen_ms = now_ms(), passed_ms = 0;
	enum wp_rc rc = WP_OK;

	for (;;) {
		rc = wp_reissue_slot_ask(&d->slot, d->behind, error);
		bool is_passed = d->slot.is_reached;
		if (rc == WP_OK)
			rc = wp_reissue_slot_ask(&d->slot, d->before, error);
		if (rc != WP_OK)
			return rc;
		int64_t now = now_ms();
		if (d->slot.reads != WP_READS_NOBODY)
			seen_ms = now;
		else if (d->slot.is_reached)
			return watch_standby(d, ret, error);
		passed_ms = !is_passed ? 0 : passed_ms == 0 ? now : passed_ms;
		/* Its reader is gone, or could not ask whether we wait. */
		if (is_passed && now - passed_ms > PASSED_FOR_MS &&
		    d->slot.reads != WP_READS_NOBODY) {
			rc = write_mark(d, error);
			passed_ms = 0;
		}
		*ret = now - seen_ms > GONE_FOR_MS ? OUTCOME_NOBODY : OUTCOME_LATE;
		if (rc != WP_OK || *ret == OUTCOME_NOBODY || now - d->began_ms > d->timeout_ms)
			return rc;
		wp_cli_say_progress("slot %s: %s of %s confirmed", d->name, d->slot.confirmed,
				    d->before);
		rc = pause(d, error);
		if (rc != WP_OK)
			return rc;
	}
}

/* -- saying it ------------------------------------------------------------------------------- */

static int print_json(const struct drain *d, enum outcome outcome)
{
	json_t *object = json_object();

	(void)json_object_set_new(object, "slot", json_string(d->name));
	(void)json_object_set_new(
		object, "drained",
		json_boolean(outcome == OUTCOME_DRAINED || outcome == OUTCOME_TAKEN));
	(void)json_object_set_new(object, "taken_over", json_boolean(outcome == OUTCOME_TAKEN));
	(void)json_object_set_new(object, "confirmed_lsn", json_string(d->slot.confirmed));
	(void)json_object_set_new(object, "missing_bytes", json_integer(d->missing));
	(void)json_object_set_new(object, "parked", json_integer(d->parked));
	(void)json_object_set_new(object, "scheduled", json_boolean(d->has_scheduled));
	(void)json_object_set_new(object, "seconds",
				  json_real((double)(now_ms() - d->began_ms) / 1000.));
	char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	json_decref(object);
	if (text == NULL)
		return wp_cli_fail(WP_EXIT_FAILED, "out of memory for the output");
	wp_cli_say(stdout, "%s\n", text);
	free(text);
	return wp_cli_done();
}

static int say(const struct drain *d, enum outcome outcome)
{
	bool is_drained = outcome == OUTCOME_DRAINED || outcome == OUTCOME_TAKEN;

	if (d->json) {
		int exit_code = print_json(d, outcome);
		if (exit_code != WP_EXIT_OK)
			return exit_code;
	} else if (is_drained) {
		wp_cli_say(stdout, "slot %s: drained at %s\n", d->name, d->slot.confirmed);
		if (d->parked > 0)
			wp_cli_say(stdout,
				   "%" PRId64 " event%s remain%s parked in walpost.parked: "
				   "`walpost parked list` shows them\n",
				   d->parked, d->parked == 1 ? "" : "s", d->parked == 1 ? "s" : "");
		if (d->has_scheduled)
			wp_cli_say(stdout,
				   "Scheduled events remain in walpost.scheduled: a relay sends "
				   "them when they are due\n");
		int exit_code = wp_cli_done();
		if (exit_code != WP_EXIT_OK)
			return exit_code;
	}
	switch (outcome) {
	case OUTCOME_DRAINED:
		return WP_EXIT_OK;
	case OUTCOME_TAKEN:
		return wp_cli_fail(WP_EXIT_FAILED,
				   "process %s reads slot %s now: a standby took it over, or the "
				   "relay was started again. Stop the standby relays first, then "
				   "drain again",
				   d->slot.process, d->name);
	case OUTCOME_NOBODY:
		return wp_cli_fail(WP_EXIT_FAILED,
				   "no relay reads slot %s: it is at %s, and %" PRId64
				   " bytes of WAL up to %s may hold events that are not in Kafka. "
				   "Start a relay, then drain again",
				   d->name, d->slot.confirmed, d->missing,
				   d->before[0] != '\0' ? d->before : d->end);
	default:
		return wp_cli_fail(WP_EXIT_FAILED,
				   "after %g s slot %s has confirmed %s, %" PRId64
				   " bytes short of %s: the relay continues, for this drain has "
				   "ended. `walpost status` shows what holds it up",
				   (double)d->timeout_ms / 1000., d->name, d->slot.confirmed,
				   d->missing, d->before);
	}
}

/* -- the command ----------------------------------------------------------------------------- */

/* While a relay reconnects, there is none for a moment. */
static enum wp_rc find_reader(struct drain *d, struct wp_error *error)
{
	int64_t until_ms = now_ms() + NOBODY_FOR_MS;
	enum wp_rc rc = wp_reissue_slot_ask(&d->slot, "0/0", error);

	while (rc == WP_OK && d->slot.reads == WP_READS_NOBODY && now_ms() < until_ms) {
		rc = pause(d, error);
		if (rc == WP_OK)
			rc = wp_reissue_slot_ask(&d->slot, "0/0", error);
	}
	if (rc != WP_OK || d->slot.reads == WP_READS_NOBODY)
		return rc;
	return wp_reissue_slot_await_reader(&d->slot, error);
}

static enum wp_rc drain(struct drain *d, enum outcome *ret, struct wp_error *error)
{
	*ret = OUTCOME_NOBODY;
	enum wp_rc rc = find_reader(d, error);
	if (rc == WP_OK)
		rc = ask_more(d, error);
	if (rc != WP_OK || d->slot.reads == WP_READS_NOBODY)
		return rc;
	if (d->standbys > 0)
		(void)wp_cli_fail(0,
				  "%" PRId64
				  " standby relay%s wait%s for slot %s, and will take it "
				  "over: stop standbys before a drain",
				  d->standbys, d->standbys == 1 ? "" : "s",
				  d->standbys == 1 ? "s" : "", d->name);
	int64_t standbys = d->standbys;
	rc = take_number(d, error);
	if (rc == WP_OK)
		rc = write_mark(d, error);
	if (rc == WP_OK)
		rc = await(d, ret, error);
	wp_cli_say_progress("%s", "");
	if (rc == WP_OK)
		rc = ask_more(d, error);
	d->standbys = standbys;
	return rc;
}

static int connect_and_drain(struct drain *d)
{
	struct wp_postgres_options postgres = d->config.postgres;
	struct wp_error error;
	enum outcome outcome;

	if (d->slot_text != NULL)
		postgres.slot = d->slot_text;
	d->name = postgres.slot;
	d->slot = (struct wp_reissue_slot){ .session = &d->session, .slot = d->name };
	d->began_ms = now_ms();
	enum wp_rc rc = wp_session_begin(&d->session, &d->console, &postgres, &error);
	if (rc == WP_OK)
		rc = drain(d, &outcome, &error);
	int exit_code =
		rc == WP_OK ? say(d, outcome) : wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	wp_session_release(&d->session);
	wp_console_release(&d->console);
	return exit_code;
}

int wp_command_drain(int argc, char **argv)
{
	struct drain d = { .timeout_ms = TIMEOUT_MS };
	const struct wp_cli_option options[] = {
		{ "--timeout", "DURATION", "wait this long, 5min by default", NULL,
		  &d.timeout_text },
		{ "--slot", "NAME", "this slot instead of postgres.slot", NULL, &d.slot_text },
		{ "--json", NULL, "as one JSON object", &d.json, NULL },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost drain",
		.about = "Stops the relay once everything committed so far is confirmed, and prints the LSN\n"
			 "up to which it is. The relay ends with exit code 0; it reads nothing further.\n"
			 "Stop the applications before, if nothing may be committed after that LSN, and\n"
			 "stop standby relays, or one of them takes the slot over.",
		WP_CLI_OPTIONS(options),
		.exits = {
			[WP_EXIT_OK] = "drained: the slot is free, and all is confirmed",
			[WP_EXIT_FAILED] = "not in time, no relay reads the slot, or another one took it over",
			[WP_EXIT_CONFIG] = "wrong usage or configuration, or a table or privilege is missing",
		},
	};
	struct wp_cli_line line;
	int exit_code;

	if (!wp_cli_parse(&usage, argc, argv, &line, &exit_code))
		return exit_code;
	if (wp_cli_duration("--timeout", d.timeout_text, &d.timeout_ms) != WP_EXIT_OK)
		return WP_EXIT_CONFIG;
	exit_code = wp_cli_config(&line, &d.config);
	if (exit_code == WP_EXIT_OK)
		exit_code = connect_and_drain(&d);
	wp_config_release(&d.config);
	return exit_code;
}
