#include "walpost/postgres_stream/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/backoff.h"
#include "walpost/base/log.h"
#include "walpost/postgres/connection.h"
#include "walpost/postgres_preflight/partitions.h"
#include "walpost/postgres_preflight/preflight.h"
#include "walpost/postgres/query.h"
#include "walpost/postgres/sql.h"

#define SQL_SIZE_MAX (1024 * 1024)
#define SLOW_S 0.1
#define LIFE_S 10.
#define PATIENCE_S 1. /* of the partitions, for the answer about the slot */

enum {
	ANSWER_S = 15,
	BACKOFF_FIRST_MS = 500,
	BACKOFF_MAX_MS = 10 * 1000,
	FAILURES_TO_WARN = 5,
};

struct wp_watch {
	struct ev_loop *loop; /* borrowed */
	struct wp_watch_setup setup;
	struct wp_slot_state slot_state;
	struct wp_connection *connection; /* NULL: none */
	struct wp_query *query;		  /* NULL: none under way */
	ev_timer limit;			  /* of the query */
	ev_tstamp born;			  /* the connection */
	ev_tstamp asked;		  /* the last question */
	ev_tstamp not_before;		  /* the next try */
	struct wp_backoff backoff;
	uint64_t random;
	unsigned failures; /* in a row */
	bool warned;
	struct wp_buffer note; /* SQL that waits; empty: none */
	bool asking_partitions;
	bool asks_slot_state; /* the query under way does */
};

static PGconn *pg_of(const struct wp_watch *w)
{
	return w->connection ? wp_connection_pg(w->connection) : NULL;
}

static void drop_query(struct wp_watch *w)
{
	ev_timer_stop(w->loop, &w->limit);
	wp_query_free(w->query);
	w->query = NULL;
	w->asks_slot_state = false;
}

static void drop(struct wp_watch *w)
{
	drop_query(w);
	wp_connection_free(w->connection);
	w->connection = NULL;
}

static void tell(struct wp_watch *w)
{
	w->slot_state.asking = false;
	w->setup.done(w->setup.arg);
}

static void tell_partitions(struct wp_watch *w, struct wp_partitions *answer)
{
	if (!w->asking_partitions)
		return;
	w->asking_partitions = false;
	w->setup.partitions(w->setup.arg, answer);
}

static void note_failure(struct wp_watch *w, const char *error)
{
	int64_t wait_ms = wp_backoff_next(&w->backoff, wp_random_next(&w->random));
	w->not_before = ev_now(w->loop) + (double)wait_ms / 1000.;
	w->failures++;
	w->slot_state.unanswered = true;
	wp_log(WP_LOG_DEBUG, "watch_failed", WP_TEXT("reason", error), WP_INT("retry_ms", wait_ms));
	if (w->failures >= FAILURES_TO_WARN && !w->warned) {
		w->warned = true;
		wp_log(WP_LOG_WARN, "watch_unavailable", WP_TEXT("reason", error),
		       WP_TEXT("means", "delivery continues, but changes of the publication and a "
					"threatened slot go unnoticed meanwhile"),
		       WP_TEXT("cure", "allow the role one more connection besides the stream"));
	}
}

/* This fails all, whatever was under way: what else waits here would fare no better. */
static void failed(struct wp_watch *w, const char *error)
{
	note_failure(w, error);
	tell_partitions(w, NULL);
	tell(w);
}

static void succeeded(struct wp_watch *w)
{
	wp_backoff_reset(&w->backoff);
	w->failures = 0;
	if (w->warned)
		wp_log(WP_LOG_INFO, "watch_available", WP_INT("answers", w->slot_state.answers));
	w->warned = false;
}

static void begin(struct wp_watch *w);
static void next(struct wp_watch *w);

/* The question about the slot looks at tables, and waits for who has one of them locked; that
 * about the partitions does not. */
static void slot_state_failed(struct wp_watch *w, const char *error)
{
	note_failure(w, error);
	tell(w);
	if (w->asking_partitions)
		begin(w);
}

/* Nobody is to wait for an idle session; who waits here begins anew. */
static void go_on(struct wp_watch *w, bool slow)
{
	if (slow || ev_now(w->loop) - w->born > LIFE_S)
		drop(w);
	if (w->asking_partitions || w->note.size > 0 || w->slot_state.asking)
		begin(w);
}

/* Returns true when the query gave something. A connection that is lost is dropped. */
static bool is_answer(struct wp_watch *w, const struct wp_source_failure *failure)
{
	drop_query(w);
	if (!failure)
		return true;
	if (!*failure->sqlstate || PQstatus(pg_of(w)) != CONNECTION_OK)
		drop(w);
	return false;
}

static void judge(struct wp_watch *w, const PGresult *result)
{
	struct wp_error error;
	struct wp_preflight *p = calloc(1, sizeof(*p));
	enum wp_rc rc = WP_NOMEM;
	if (p)
		rc = wp_preflight_judge(pg_of(w), result, w->setup.options, w->setup.wanted, p,
					&error);
	uint64_t answers = w->slot_state.answers + 1;
	if (rc == WP_OK)
		w->slot_state = p->slot_state;
	if (p)
		wp_findings_release(&p->findings);
	free(p);
	if (rc != WP_OK) {
		failed(w, rc == WP_NOMEM ? "out of memory" : error.text);
		return;
	}
	w->slot_state.answers = answers;
	succeeded(w);
	tell(w);
	/* After a slow answer the next question is far off. */
	go_on(w, ev_now(w->loop) - w->asked > SLOW_S);
}

static void on_answer(void *arg, const PGresult *result, const struct wp_source_failure *failure)
{
	struct wp_watch *w = arg;
	/* `result` lives until we return, the query need not. */
	if (is_answer(w, failure))
		judge(w, result);
	else
		slot_state_failed(w, failure->error.text);
}

static void on_partitions(void *arg, const PGresult *result,
			  const struct wp_source_failure *failure)
{
	struct wp_watch *w = arg;
	struct wp_partitions answer = { 0 };
	struct wp_error error;
	bool answered = is_answer(w, failure);
	if (answered && wp_partitions_answer(result, &answer, &error) == WP_OK) {
		succeeded(w);
		tell_partitions(w, &answer);
		go_on(w, false);
	} else {
		failed(w, answered ? error.text : failure->error.text);
	}
	wp_partitions_release(&answer);
}

static void on_written(void *arg, const PGresult *result, const struct wp_source_failure *failure)
{
	struct wp_watch *w = arg;
	if (failure)
		wp_log(WP_LOG_WARN, "checkpoint_not_written",
		       WP_TEXT("reason", failure->error.text));
	else if (PQntuples(result) == 1) /* 0: the stream has just ended */
		w->setup.written(w->setup.arg, PQgetvalue(result, 0, 0),
				 *PQgetvalue(result, 0, 1) == 't');
	if (is_answer(w, failure) || w->connection)
		next(w);
	else
		failed(w, failure->error.text);
}

static void on_limit(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop, (void)events; /* one timer, always for its end */
	struct wp_watch *w = timer->data;
	bool was_slot_state = w->asks_slot_state;
	drop(w);
	if (was_slot_state)
		slot_state_failed(w, "the server did not answer in time");
	else
		failed(w, "the server did not answer in time");
}

static void limit(struct wp_watch *w, ev_tstamp to_s)
{
	ev_timer_stop(w->loop, &w->limit);
	ev_timer_set(&w->limit, to_s, 0.);
	ev_timer_start(w->loop, &w->limit);
}

static void send(struct wp_watch *w, const char *sql, wp_query_done done)
{
	struct wp_error error;
	if (wp_query_new(w->loop, pg_of(w), sql, done, w, &w->query, &error) != WP_OK) {
		drop(w);
		failed(w, error.text);
		return;
	}
	ev_now_update(w->loop);
	w->asked = ev_now(w->loop);
	limit(w, ANSWER_S);
}

static void ask(struct wp_watch *w)
{
	struct wp_error error;
	struct wp_buffer sql;
	wp_buffer_init(&sql, SQL_SIZE_MAX);
	enum wp_rc rc = wp_buffer_append_text(&sql, wp_sql_impatiently);
	if (rc == WP_OK)
		rc = wp_preflight_sql(pg_of(w), w->setup.options, w->setup.wanted,
				      PQbackendPID(w->setup.same_as), &sql, &error);
	if (rc == WP_OK)
		send(w, (const char *)sql.data, on_answer);
	else
		failed(w, "the query cannot be built");
	w->asks_slot_state = w->query != NULL;
	wp_buffer_release(&sql);
}

static void ask_partitions(struct wp_watch *w)
{
	struct wp_error error;
	struct wp_buffer text;
	struct wp_sql sql;
	wp_buffer_init(&text, SQL_SIZE_MAX);
	wp_sql_init(&sql, pg_of(w), &text);
	wp_sql_add(&sql, "%s", wp_sql_impatiently);
	wp_partitions_sql(&sql, w->setup.wanted,
			  w->setup.options->allow_synchronous ? WP_PARTITIONS_FOR_SYNCHRONOUS
							      : WP_PARTITIONS_FOR_ANYBODY);
	if (wp_sql_end(&sql, &error) == WP_OK)
		send(w, (const char *)text.data, on_partitions);
	else
		failed(w, error.text);
	wp_buffer_release(&text);
}

/* Connected and idle: what is to be done? */
static void next(struct wp_watch *w)
{
	struct wp_buffer note = w->note;
	if (w->asking_partitions) {
		ask_partitions(w);
	} else if (note.size > 0) {
		wp_buffer_init(&w->note, SQL_SIZE_MAX);
		send(w, (const char *)note.data, on_written);
		wp_buffer_release(&note);
	} else if (w->slot_state.asking) {
		ask(w);
	}
}

static void on_connected(void *arg)
{
	struct wp_watch *w = arg;
	w->born = ev_now(w->loop);
	if (pg_of(w)) {
		next(w);
		return;
	}
	struct wp_error error = wp_connection_failure(w->connection)->error;
	drop(w);
	failed(w, error.text);
}

static void begin(struct wp_watch *w)
{
	if (w->query || (w->connection && !pg_of(w)))
		return; /* under way */
	if (w->connection) {
		next(w);
		return;
	}
	struct wp_connection_setup setup = {
		.options = w->setup.options,
		.kind = WP_CONNECTION_QUESTIONS,
		.done = on_connected,
		.arg = w,
		.same_as = w->setup.same_as,
	};
	struct wp_error error;
	if (wp_connection_new(w->loop, &setup, &w->connection, &error) != WP_OK)
		failed(w, error.text);
}

void wp_watch_ask(struct wp_watch *w)
{
	if (w->slot_state.asking || ev_now(w->loop) < w->not_before)
		return;
	w->slot_state.asking = true;
	begin(w);
}

void wp_watch_ask_partitions(struct wp_watch *w)
{
	w->asking_partitions = true;
	if (w->asks_slot_state) {
		ev_now_update(w->loop);
		limit(w, PATIENCE_S);
	}
	begin(w);
}

void wp_watch_write_down(struct wp_watch *w, const struct wp_slot_checkpoint_row *row,
			 const char *walsender, wp_lsn confirmed)
{
	struct wp_error error;
	wp_buffer_reset(&w->note);
	if (wp_slot_checkpoint_note_sql(w->setup.same_as, row, walsender, confirmed, &w->note,
					&error) != WP_OK)
		wp_buffer_reset(&w->note);
	begin(w);
}

const struct wp_slot_state *wp_watch_slot_state(const struct wp_watch *w)
{
	return &w->slot_state;
}

struct wp_watch *wp_watch_new(struct ev_loop *loop, const struct wp_watch_setup *setup)
{
	struct wp_watch *w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	*w = (struct wp_watch){ .loop = loop, .setup = *setup };
	w->random = (uint64_t)(ev_time() * 1e6);
	wp_backoff_init(&w->backoff, BACKOFF_FIRST_MS, BACKOFF_MAX_MS);
	wp_buffer_init(&w->note, SQL_SIZE_MAX);
	ev_timer_init(&w->limit, on_limit, 0., 0.);
	w->limit.data = w;
	return w;
}

void wp_watch_free(struct wp_watch *w)
{
	if (!w)
		return;
	drop(w);
	wp_buffer_release(&w->note);
	free(w);
}
