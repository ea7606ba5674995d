/*
 * Asks the relay to retry or to discard parked events (`walpost parked retry`, `skip` and `purge`),
 * and tells what will be done.
 */
#include "parked.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/display.h"
#include "walpost/cli/cli.h"

enum { BATCH = 1000, /* events, in one statement */ RELAY_LOOKS = 50 };
#define RELAY_LOOK_EVERY_S 0.1

/* Holds what an act is about, as it was when it was looked at. */
struct act {
	struct wp_cli_parked *p;
	PGresult *events; /* owned: see event_column */
	PGresult *listed; /* owned: the first of them, or their aggregates, to be shown */
	struct wp_cli_parked_asked asked;
	int64_t changed;
	bool streams; /* a process reads the slot */
};

static const struct {
	const char *name;
	const char *act; /* for the relay */
	const char *done;
} verbs[] = {
	[WP_CLI_PARKED_RETRY] = { "retry", "retry", "asked for" },
	[WP_CLI_PARKED_SKIP] = { "skip", "skip", "discarded" },
	[WP_CLI_PARKED_PURGE] = { "purge", "skip", "discarded" },
};

static const char *plural(int64_t count)
{
	return count == 1 ? "" : "s";
}

/* -- what it is about -------------------------------------------------------------------- */

enum event_column { POSITION, AGGREGATE_EVENTS, NOT_DISCARDED, IS_FIRST };

/* Events are discarded from the end: no later one is sent instead until the last statement. */
static enum wp_rc ask_events(struct act *a, struct wp_error *error)
{
	struct wp_statement statement;

	wp_statement_begin(&statement, &a->p->session);
	wp_cli_parked_seen_sql(&statement.sql, a->p);
	wp_sql_add(&statement.sql, "SELECT \"position\", events, events - discarded, is_first ");
	wp_cli_parked_chosen_sql(&statement.sql, a->p);
	wp_sql_add(&statement.sql, a->p->act == WP_CLI_PARKED_RETRY
					   ? " ORDER BY \"position\""
					   : " ORDER BY \"position\" DESC");
	return wp_statement_ask(&statement, &a->events, error);
}

static const char facts_sql[] = "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD "
				"HH24:MI:SS.US') || '+00', "
				"max(\"position\") FROM walpost.parked WHERE slot = %L";

static enum wp_rc ask_facts(struct act *a, struct wp_error *error)
{
	struct wp_statement statement;
	PGresult *r;

	wp_statement_begin(&statement, &a->p->session);
	wp_sql_add(&statement.sql, facts_sql, a->p->postgres.slot);
	enum wp_rc rc = wp_statement_ask(&statement, &r, error);
	if (rc != WP_OK)
		return rc;
	(void)snprintf(a->asked.at, sizeof(a->asked.at), "%s", PQgetvalue(r, 0, 0));
	(void)snprintf(a->asked.last_position, sizeof(a->asked.last_position), "%s",
		       PQgetvalue(r, 0, 1));
	PQclear(r);
	return WP_OK;
}

static void count(struct act *a)
{
	bool is_retry = a->p->act == WP_CLI_PARKED_RETRY;

	for (int row = 0; row < PQntuples(a->events); row++) {
		int64_t events = strtoll(PQgetvalue(a->events, row, NOT_DISCARDED), NULL, 10);
		a->asked.aggregates += *PQgetvalue(a->events, row, IS_FIRST) == 't';
		a->asked.events += is_retry ? events : 1;
	}
	if (a->p->act == WP_CLI_PARKED_SKIP) /* the event may not be the first */
		a->asked.aggregates = PQntuples(a->events);
}

/* All questions see the same rows, so that what is shown is what is done. */
static enum wp_rc look(struct act *a, struct wp_error *error)
{
	enum wp_rc rc = wp_session_do(&a->p->session,
				      "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", error);
	if (rc == WP_OK)
		rc = ask_facts(a, error);
	if (rc == WP_OK)
		rc = ask_events(a, error);
	if (rc == WP_OK)
		rc = a->p->act == WP_CLI_PARKED_RETRY
			     ? wp_cli_parked_ask_aggregates(a->p, &a->listed, error)
			     : wp_cli_parked_ask_events(a->p, &a->listed, error);
	if (rc == WP_OK)
		rc = wp_session_do(&a->p->session, "COMMIT", error);
	if (rc == WP_OK)
		count(a);
	return rc;
}

/* -- asking for it ------------------------------------------------------------------------- */

static void write_batch(struct wp_sql *sql, const struct act *a, int from, int to)
{
	const char *slot = a->p->postgres.slot, *act = verbs[a->p->act].act;

	wp_sql_add(sql, "WITH asked (\"position\", events) AS (VALUES ");
	for (int row = from; row < to; row++)
		wp_sql_add(sql, "%s(%L COLLATE \"C\", %s::bigint)", row > from ? ", " : "",
			   PQgetvalue(a->events, row, POSITION),
			   PQgetvalue(a->events, row, AGGREGATE_EVENTS));
	wp_sql_add(sql,
		   "), marked AS (UPDATE walpost.parked p SET act = %L FROM asked a "
		   "WHERE p.slot = %L AND p.\"position\" = a.\"position\" "
		   "AND p.act IS DISTINCT FROM 'skip' RETURNING p.outbox, p.key, p.id, "
		   "p.\"position\", a.events, p.code, p.reason) "
		   "INSERT INTO walpost.parked_acts (at, slot, act, outbox, key, id_of_event, "
		   "\"position\", events, code, reason) "
		   "SELECT %L::timestamptz, %L, %L, m.* FROM marked m ORDER BY m.\"position\" "
		   "RETURNING id",
		   act, slot, a->asked.at, slot, verbs[a->p->act].name);
}

/* Rows that are gone meanwhile are passed over. */
static enum wp_rc mark_batch(struct act *a, int from, int to, struct wp_error *error)
{
	struct wp_statement statement;
	PGresult *r;

	wp_statement_begin(&statement, &a->p->session);
	write_batch(&statement.sql, a, from, to);
	enum wp_rc rc = wp_statement_ask(&statement, &r, error);
	if (rc != WP_OK)
		return rc;
	for (int row = 0; row < PQntuples(r); row++) {
		int64_t id = strtoll(PQgetvalue(r, row, 0), NULL, 10);
		if (a->changed == 0 || id < a->asked.first_id)
			a->asked.first_id = id;
		if (id > a->asked.last_id)
			a->asked.last_id = id;
		a->changed++;
	}
	PQclear(r);
	return WP_OK;
}

/* Between two streams of a relay, as after an event that Kafka refused, none runs for a moment. */
static enum wp_rc find_relay(struct act *a, struct wp_error *error)
{
	enum wp_rc rc = WP_OK;

	for (int i = 0; rc == WP_OK && !a->streams && i < RELAY_LOOKS; i++) {
		struct wp_statement statement;
		PGresult *r = NULL;
		if (i > 0)
			wp_console_wait(&a->p->console, RELAY_LOOK_EVERY_S);
		wp_statement_begin(&statement, &a->p->session);
		wp_sql_add(&statement.sql,
			   "SELECT true FROM pg_replication_slots WHERE slot_name = %L AND active",
			   a->p->postgres.slot);
		rc = wp_statement_ask(&statement, &r, error);
		a->streams = rc == WP_OK && PQntuples(r) > 0;
		PQclear(r);
	}
	return rc;
}

static enum wp_rc mark(struct act *a, struct wp_error *error)
{
	struct wp_cli_parked_progress progress = { .what = verbs[a->p->act].done };
	int all = PQntuples(a->events);
	enum wp_rc rc = WP_OK;

	for (int from = 0; rc == WP_OK && from < all; from += BATCH) {
		int to = all - from > BATCH ? from + BATCH : all;
		rc = mark_batch(a, from, to, error);
		if (rc == WP_OK && all > BATCH)
			wp_cli_parked_say_progress(&progress, to, all);
	}
	wp_cli_parked_end_progress(&progress);
	return rc == WP_OK ? find_relay(a, error) : rc;
}

/* -- saying it ------------------------------------------------------------------------------- */

/* Holds a text such as "3 events of 2 aggregates". */
struct amount {
	char text[96];
};

static const char *amount(struct amount *t, int64_t events, int64_t aggregates)
{
	(void)snprintf(t->text, sizeof(t->text), "%" PRId64 " event%s of %" PRId64 " aggregate%s",
		       events, plural(events), aggregates, plural(aggregates));
	return t->text;
}

/* The caller owns the object. */
static json_t *summary_of(const struct act *a)
{
	bool is_retry = a->p->act == WP_CLI_PARKED_RETRY;
	json_t *object = json_object();

	(void)json_object_set_new(object, "slot", json_string(a->p->postgres.slot));
	(void)json_object_set_new(object, "act", json_string(verbs[a->p->act].name));
	(void)json_object_set_new(object, "aggregate_count", json_integer(a->asked.aggregates));
	(void)json_object_set_new(object, "event_count", json_integer(a->asked.events));
	(void)json_object_set_new(object, "recorded", json_integer(a->changed));
	(void)json_object_set_new(object, "relay_streams",
				  wp_cli_parked_changes(a->p) ? json_boolean(a->streams)
							      : json_null());
	(void)json_object_set_new(
		object, is_retry ? "aggregates" : "events",
		wp_cli_parked_json(a->listed, is_retry ? WP_CLI_PARKED_AGGREGATE_HIDDEN
						       : WP_CLI_PARKED_EVENT_HIDDEN));
	return object;
}

static int say_what_would_be(const struct act *a)
{
	const struct wp_cli_parked *p = a->p;
	struct amount t;
	int exit_code;

	(void)amount(&t, a->asked.events, a->asked.aggregates);
	if (p->json) {
		exit_code = wp_cli_json_print(summary_of(a), "the result");
	} else if (p->act == WP_CLI_PARKED_RETRY) {
		wp_cli_parked_print_aggregates(a->listed);
		wp_cli_say(stdout, "slot %s: a retry would be asked for %s\n", p->postgres.slot,
			   t.text);
		exit_code = wp_cli_done();
	} else {
		wp_cli_say(stdout,
			   "slot %s: %s would be discarded; consumers would never get %s:\n",
			   p->postgres.slot, t.text, a->asked.events == 1 ? "it" : "them");
		wp_cli_parked_print_events(a->listed);
		exit_code = wp_cli_done();
	}
	if (exit_code != WP_EXIT_OK)
		return exit_code;
	if (p->dry_run)
		return wp_cli_fail(WP_EXIT_OK, "nothing was changed");
	return wp_cli_fail(WP_EXIT_FAILED, "nothing was changed; to discard %s, use --force",
			   a->asked.events == 1 ? "this event" : "these events");
}

static void say_when(const struct act *a)
{
	if (a->streams)
		wp_cli_say(stdout, "The relay does it within seconds if it runs with "
				   "relay.poison = park.\n");
	else
		wp_cli_say(stdout,
			   "No relay streams from slot %s: it is done when one runs with "
			   "relay.poison = park.\n",
			   a->p->postgres.slot);
}

static int say_discarded(const struct act *a)
{
	const struct wp_cli_parked *p = a->p;

	if (p->json)
		return wp_cli_json_print(summary_of(a), "the result");
	wp_cli_parked_print_events(a->listed);
	wp_cli_say(stdout,
		   "slot %s: %" PRId64 " of %" PRId64 " event%s discarded and recorded in "
		   "walpost.parked_acts; consumers never get %s, unless walpost backfill or replay "
		   "sends the row%s\n",
		   p->postgres.slot, a->changed, a->asked.events, plural(a->asked.events),
		   a->asked.events == 1 ? "it" : "them", plural(a->asked.events));
	if (a->changed < a->asked.events)
		wp_cli_say(stdout, "The others were delivered or discarded in the meantime.\n");
	say_when(a);
	return wp_cli_done();
}

static int say_asked(const struct act *a)
{
	struct wp_cli_parked *p = a->p;
	struct amount t;

	if (!p->json)
		wp_cli_say(stdout, "slot %s: a retry is asked for %s\n", p->postgres.slot,
			   amount(&t, a->asked.events, a->asked.aggregates));
	if (!p->no_wait && a->streams && a->changed > 0)
		return wp_cli_parked_wait(p, &a->asked, summary_of(a));
	if (!p->json)
		say_when(a);
	int exit_code = p->json ? wp_cli_json_print(summary_of(a), "the result") : wp_cli_done();
	if (exit_code != WP_EXIT_OK || p->no_wait || a->changed == 0)
		return exit_code;
	return wp_cli_fail(WP_EXIT_FAILED, "not waited for: no relay streams from slot %s",
			   p->postgres.slot);
}

/* -- the command ----------------------------------------------------------------------------- */

/* Nothing like that is parked, or it is discarded already. */
static int nothing(struct act *a)
{
	struct wp_cli_parked *p = a->p;
	struct wp_error error;
	PGresult *r;
	enum wp_rc rc = wp_cli_parked_ask_aggregates(p, &r, &error);

	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	bool is_there = PQntuples(r) > 0;
	PQclear(r);
	if (!is_there && wp_cli_parked_is_narrowed(&p->filter))
		return wp_cli_parked_none(p);
	if (p->json)
		return wp_cli_json_print(summary_of(a), "the result");
	if (!is_there)
		return wp_cli_parked_none(p);
	wp_cli_say(stdout, "slot %s: all of that is discarded already\n", p->postgres.slot);
	return wp_cli_done();
}

static int change(struct act *a)
{
	struct wp_error error;
	enum wp_rc rc = mark(a, &error);

	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc),
				   "%s: failed after %" PRId64 " of %d, which are recorded in "
				   "walpost.parked_acts and will be done: %s",
				   verbs[a->p->act].name, a->changed, PQntuples(a->events),
				   error.text);
	return a->p->act == WP_CLI_PARKED_RETRY ? say_asked(a) : say_discarded(a);
}

static int look_and_act(struct act *a)
{
	struct wp_error error;
	enum wp_rc rc = look(a, &error);

	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	if (PQntuples(a->events) == 0)
		return nothing(a);
	if (a->p->act == WP_CLI_PARKED_SKIP && PQntuples(a->events) > 1)
		return wp_cli_fail(WP_EXIT_CONFIG,
				   "skip discards one event, but %d aggregates are chosen: choose "
				   "one by --outbox and --key, or the event by --position",
				   PQntuples(a->events));
	return wp_cli_parked_changes(a->p) ? change(a) : say_what_would_be(a);
}

int wp_cli_parked_ask(struct wp_cli_parked *p)
{
	struct act a = { .p = p };
	int exit_code = look_and_act(&a);

	PQclear(a.events);
	PQclear(a.listed);
	return exit_code;
}
