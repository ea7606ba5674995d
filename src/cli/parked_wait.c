/* Waits until a relay has delivered the events of a retry or failed, and tells what came of it. */
#include "parked.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/clock.h"
#include "walpost/base/display.h"
#include "walpost/cli/cli.h"
#include "walpost/cli/output.h"

/* -- progress -------------------------------------------------------------------------------- */

enum { BAR_WIDTH = 30, SAY_EVERY_MS = 5000 };

static int64_t now_ms(void)
{
	return wp_clock_us() / 1000;
}

static void draw(const struct wp_cli_parked_progress *s, int64_t done, int64_t all)
{
	static const char full[] = "##############################";
	int width = all > 0 ? (int)(done * BAR_WIDTH / all) : BAR_WIDTH;

	(void)fprintf(stderr, "\r\033[K[%-*.*s] %" PRId64 " of %" PRId64 " %s", BAR_WIDTH, width,
		      full, done, all, s->what);
	(void)fflush(stderr); /* the next one tells as much */
}

void wp_cli_parked_say_progress(struct wp_cli_parked_progress *s, int64_t done, int64_t all)
{
	int64_t now = now_ms();

	if (wp_terminal_is(stderr)) {
		s->on_terminal = true;
		draw(s, done, all);
		return;
	}
	if (s->has_said && (s->said == done || now - s->said_ms < SAY_EVERY_MS))
		return;
	wp_cli_say(stderr, "%" PRId64 " of %" PRId64 " %s\n", done, all, s->what);
	s->has_said = true;
	s->said = done;
	s->said_ms = now;
}

void wp_cli_parked_end_progress(struct wp_cli_parked_progress *s)
{
	if (s->on_terminal)
		(void)fputs("\r\033[K", stderr);
	s->on_terminal = false;
}

/* -- how it stands ----------------------------------------------------------------------------- */

#define ASK_EVERY_MS 250
#define ASK_EVERY_MAX_MS 10000

struct wait {
	struct wp_cli_parked *p;
	const struct wp_cli_parked_asked *asked;
	int64_t left;	    /* events that were parked when it was asked for, and still are */
	int64_t aggregates; /* whose they are */
	int64_t unheard;    /* of these: the relay has not begun */
	int64_t failed;	    /* of these: tried, in vain */
	bool streams;
};

/*
 * `rest` tells of each aggregate that has some left how many, and the first. Events that followed
 * since are the relay's business. An attempt has failed when it was counted after the retry was
 * heard, for that sets attempts to 0.
 */
static void write_rest(struct wp_sql *sql, const struct wait *w)
{
	char first_id[24], last_id[24];

	(void)snprintf(first_id, sizeof(first_id), "%" PRId64, w->asked->first_id);
	(void)snprintf(last_id, sizeof(last_id), "%" PRId64, w->asked->last_id);
	wp_sql_add(sql,
		   "WITH asked AS MATERIALIZED (SELECT id, outbox, key, \"position\" "
		   "FROM walpost.parked_acts WHERE id BETWEEN %s AND %s AND slot = %L "
		   "AND act = 'retry' AND at = %L::timestamptz), "
		   "again AS (SELECT a.id, p.\"position\" FROM asked a JOIN walpost.parked p "
		   "ON p.outbox = a.outbox AND hashtextextended(p.key, 0) = "
		   "hashtextextended(a.key, 0) AND p.key = a.key WHERE p.slot = %L "
		   "AND p.\"position\" <= %L AND p.act IS DISTINCT FROM 'skip' "
		   "UNION ALL SELECT a.id, p.\"position\" FROM asked a JOIN walpost.parked p "
		   "ON p.\"position\" = a.\"position\" WHERE a.key IS NULL AND p.slot = %L "
		   "AND p.act IS DISTINCT FROM 'skip'), "
		   "rest AS (SELECT g.events, p.*, coalesce(p.act IS NULL AND p.attempts > 0 "
		   "AND p.last_attempt_at >= %L::timestamptz, false) AS failed "
		   "FROM (SELECT count(*) AS events, min(\"position\") AS first FROM again "
		   "GROUP BY id) g JOIN walpost.parked p ON p.slot = %L "
		   "AND p.\"position\" = g.first) ",
		   first_id, last_id, w->p->postgres.slot, w->asked->at, w->p->postgres.slot,
		   w->asked->last_position, w->p->postgres.slot, w->asked->at, w->p->postgres.slot);
}

static enum wp_rc look(struct wait *w, struct wp_error *error)
{
	struct wp_statement statement;
	PGresult *r;

	wp_statement_begin(&statement, &w->p->session);
	write_rest(&statement.sql, w);
	wp_sql_add(&statement.sql,
		   "SELECT coalesce(sum(events), 0), count(*), count(*) FILTER (WHERE act = "
		   "'retry'), count(*) FILTER (WHERE failed), coalesce((SELECT active FROM "
		   "pg_replication_slots WHERE slot_name = %L), false) FROM rest",
		   w->p->postgres.slot);
	enum wp_rc rc = wp_statement_ask(&statement, &r, error);
	if (rc != WP_OK)
		return rc;
	w->left = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
	w->aggregates = strtoll(PQgetvalue(r, 0, 1), NULL, 10);
	w->unheard = strtoll(PQgetvalue(r, 0, 2), NULL, 10);
	w->failed = strtoll(PQgetvalue(r, 0, 3), NULL, 10);
	w->streams = *PQgetvalue(r, 0, 4) == 't';
	PQclear(r);
	return WP_OK;
}

/* Asks for the aggregates that failed, and those that are still under way. */
static enum wp_rc ask_rest(struct wait *w, PGresult **ret, struct wp_error *error)
{
	struct wp_statement statement;
	char limit[24];

	(void)snprintf(limit, sizeof(limit), "%" PRId64, w->p->limit);
	wp_statement_begin(&statement, &w->p->session);
	write_rest(&statement.sql, w);
	wp_sql_add(&statement.sql,
		   "SELECT outbox, key, events, \"position\", id, failed, code, reason FROM rest "
		   "ORDER BY failed DESC, \"position\" LIMIT %s",
		   limit);
	return wp_statement_ask(&statement, ret, error);
}

/* -- waiting ------------------------------------------------------------------------------------- */

static bool is_over(const struct wait *w)
{
	return w->failed == w->aggregates;
}

static enum wp_rc await(struct wait *w, struct wp_error *error)
{
	struct wp_cli_parked_progress progress = { .what = "events delivered" };
	struct wp_console *console = &w->p->console;
	int64_t end = now_ms() + w->p->timeout_ms;
	enum wp_rc rc = WP_OK;

	while (rc == WP_OK) {
		int64_t began = now_ms();
		rc = look(w, error);
		if (rc != WP_OK)
			break;
		wp_cli_parked_say_progress(&progress, w->asked->events - w->left, w->asked->events);
		int64_t now = now_ms(), pause = 4 * (now - began);
		if (is_over(w) || now >= end)
			break;
		/* Where looking takes long it is done less often. */
		pause = pause < ASK_EVERY_MS ? ASK_EVERY_MS : pause;
		pause = pause > ASK_EVERY_MAX_MS ? ASK_EVERY_MAX_MS : pause;
		wp_console_wait(console, (double)(pause < end - now ? pause : end - now) / 1000.);
		if (console->interrupted)
			rc = wp_error_set(error, WP_IO, "interrupted");
	}
	wp_cli_parked_end_progress(&progress);
	return rc;
}

/* -- what came of it ----------------------------------------------------------------------------- */

enum rest_column { R_OUTBOX, R_KEY, R_EVENTS, R_POSITION, R_ID, R_FAILED, R_CODE, R_REASON };

static void print_rest(const struct wait *w, const PGresult *r)
{
	for (int row = 0; row < PQntuples(r); row++) {
		struct wp_excerpt outbox, key, id;
		bool failed = *PQgetvalue(r, row, R_FAILED) == 't';
		wp_cli_say(stdout, "  outbox %s  key %s  events left %s  first %s  id %s  %s%s%s\n",
			   wp_excerpt(&outbox, wp_span_of(PQgetvalue(r, row, R_OUTBOX))),
			   PQgetisnull(r, row, R_KEY)
				   ? "none"
				   : wp_excerpt(&key, wp_span_of(PQgetvalue(r, row, R_KEY))),
			   PQgetvalue(r, row, R_EVENTS), PQgetvalue(r, row, R_POSITION),
			   PQgetisnull(r, row, R_ID)
				   ? "none"
				   : wp_excerpt(&id, wp_span_of(PQgetvalue(r, row, R_ID))),
			   failed ? PQgetvalue(r, row, R_CODE) : "still under way",
			   failed ? ": " : "", failed ? PQgetvalue(r, row, R_REASON) : "");
	}
	if (w->aggregates > PQntuples(r))
		wp_cli_say(stdout, "  and %" PRId64 " more; `walpost parked list` shows them\n",
			   w->aggregates - PQntuples(r));
}

/* An event that park.retry.attempts has sent to the dead-letter topic has left the table, too. */
static const char *delivered(const struct wait *w)
{
	return w->p->config.relay.park.retry_attempts > 0
		       ? "delivered or sent to the dead-letter topic"
		       : "delivered";
}

static int say_in_words(const struct wait *w, const PGresult *rest)
{
	int64_t done = w->asked->events - w->left;

	wp_cli_say(stdout, "slot %s: %" PRId64 " of %" PRId64 " event%s %s", w->p->postgres.slot,
		   done, w->asked->events, w->asked->events == 1 ? "" : "s", delivered(w));
	if (w->aggregates > 0)
		wp_cli_say(stdout,
			   "; %" PRId64 " of %" PRId64 " aggregate%s still parked:", w->aggregates,
			   w->asked->aggregates, w->asked->aggregates == 1 ? "" : "s");
	wp_cli_say(stdout, "\n");
	print_rest(w, rest);
	return wp_cli_done();
}

static int say_in_json(const struct wait *w, const PGresult *rest, json_t *summary)
{
	(void)json_object_set_new(summary, "relay_streams", json_boolean(w->streams));
	(void)json_object_set_new(summary, "delivered", json_integer(w->asked->events - w->left));
	(void)json_object_set_new(summary, "failed_aggregates", json_integer(w->failed));
	(void)json_object_set_new(summary, "aggregates_under_way",
				  json_integer(w->aggregates - w->failed));
	(void)json_object_set_new(summary, "aggregates", wp_cli_parked_json(rest, 0));
	return wp_cli_json_print(json_incref(summary), "the result");
}

static int judge(const struct wait *w)
{
	int64_t under_way = w->aggregates - w->failed;

	if (w->aggregates == 0)
		return WP_EXIT_OK;
	if (under_way == 0)
		return wp_cli_fail(WP_EXIT_HUMAN,
				   "%" PRId64 " aggregate%s failed again: remove the cause and "
				   "retry, or discard an event with `walpost parked skip`",
				   w->failed, w->failed == 1 ? "" : "s");
	return wp_cli_fail(
		WP_EXIT_FAILED, "after %g s %" PRId64 " aggregate%s still under way%s%s",
		(double)w->p->timeout_ms / 1000., under_way, under_way == 1 ? " is" : "s are",
		w->streams ? "" : "; no relay streams from the slot any more",
		w->streams && w->unheard == under_way
			? "; the relay has not begun: does it run with relay.poison = park?"
			: "");
}

static int say(struct wait *w, json_t *summary)
{
	struct wp_error error;
	PGresult *rest;
	enum wp_rc rc = ask_rest(w, &rest, &error);

	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	int exit_code = w->p->json ? say_in_json(w, rest, summary) : say_in_words(w, rest);
	PQclear(rest);
	return exit_code == WP_EXIT_OK ? judge(w) : exit_code;
}

int wp_cli_parked_wait(struct wp_cli_parked *p, const struct wp_cli_parked_asked *asked,
		       json_t *summary)
{
	struct wait w = { .p = p, .asked = asked };
	struct wp_error error;
	enum wp_rc rc = await(&w, &error);
	int exit_code =
		rc == WP_OK
			? say(&w, summary)
			: wp_cli_fail(
				  wp_cli_exit_of(rc),
				  "%s; the retry was asked for, and goes on without this command",
				  error.text);

	json_decref(summary);
	return exit_code;
}
