#include "walpost/postgres/async_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/backoff.h"
#include "walpost/base/log.h"
#include "walpost/postgres/connection.h"
#include "walpost/postgres/query.h"

#define LIFE_S 10. /* of a connection */

enum {
	PATIENCE_MAX_S = 640, /* a row of nearly 1 GB on a slow server */
	ANSWER_LATE_S = 5,    /* it is to say so */
	BACKOFF_FIRST_MS = 100,
	BACKOFF_MAX_MS = 5000,
	NOTHING = 0,
	SETTINGS = -1, /* what is sent first */
};

struct wp_async_session {
	struct ev_loop *loop; /* borrowed */
	struct wp_async_session_setup setup;
	struct wp_error trouble;

	struct wp_connection *connection; /* NULL: none */
	bool is_set;			  /* the session */
	bool is_old;			  /* to be given back when it is idle */
	int patience_s;
	struct wp_query *query; /* NULL: none under way */
	int what;		/* it is; NOTHING: none */
	int failing; /* what failed last, and has not succeeded since; NOTHING: connecting */
	unsigned long closes; /* so far */
	ev_timer limit;	      /* of the query */
	ev_timer life;	      /* of the connection */
	ev_timer again;	      /* nothing is tried before */
	ev_io idle;	      /* what comes without being asked for */
	struct wp_backoff backoff;
	uint64_t random;
};

static void begin(struct wp_async_session *s);

PGconn *wp_async_session_pg(const struct wp_async_session *s)
{
	return s->connection ? wp_connection_pg(s->connection) : NULL;
}

const struct wp_error *wp_async_session_trouble(const struct wp_async_session *s)
{
	return &s->trouble;
}

static void changed(struct wp_async_session *s)
{
	s->setup.calls->changed(s->setup.arg);
}

static void drop_query(struct wp_async_session *s)
{
	ev_timer_stop(s->loop, &s->limit);
	wp_query_free(s->query);
	s->query = NULL;
	s->what = NOTHING;
}

static void drop(struct wp_async_session *s)
{
	drop_query(s);
	ev_timer_stop(s->loop, &s->life);
	ev_io_stop(s->loop, &s->idle);
	s->is_set = s->is_old = false;
	if (!s->connection)
		return;
	wp_connection_free(s->connection);
	s->connection = NULL;
	if (s->setup.calls->disconnected)
		s->setup.calls->disconnected(s->setup.arg);
}

/* ---- failures ---- */

/* The session tries again with backoff, whatever failed. */
static void fail(struct wp_async_session *s, const char *error, const char *sqlstate)
{
	const struct wp_async_session_calls *calls = s->setup.calls;
	const char *cure = calls->cure && *sqlstate ? calls->cure(s->setup.arg, sqlstate) : NULL;
	int64_t wait_ms = wp_backoff_next(&s->backoff, wp_random_next(&s->random));
	(void)wp_error_set(&s->trouble, WP_IO, "%.1500s%s%s", error, cure ? "; " : "",
			   cure ? cure : "");
	wp_log(WP_LOG_DEBUG, "session_failed", WP_TEXT("purpose", s->setup.purpose),
	       WP_TEXT("reason", s->trouble.text), WP_INT("retry_ms", wait_ms));
	ev_timer_stop(s->loop, &s->again);
	ev_timer_set(&s->again, (double)wait_ms / 1e3, 0.);
	ev_timer_start(s->loop, &s->again);
	changed(s);
}

/* A statement that was refused for a reason of its own is not well because another one is, or
 * because there is a connection again. */
static void succeeded(struct wp_async_session *s, int what)
{
	if (what == SETTINGS || (s->failing != NOTHING && s->failing != what))
		return;
	s->failing = NOTHING;
	wp_backoff_reset(&s->backoff);
	s->trouble.text[0] = '\0';
}

static bool ends_session(const struct wp_async_session *s, const char *sqlstate)
{
	return !*sqlstate || PQstatus(wp_async_session_pg(s)) != CONNECTION_OK ||
	       !strncmp(sqlstate, "57P", 3) || !strcmp(sqlstate, "25006");
}

/* The statement is over. */
static void statement_failed(struct wp_async_session *s, const struct wp_source_failure *failure)
{
	/* Below its first line (DETAIL, CONTEXT) the message may show the row. */
	struct wp_source_failure f = *failure;
	f.error.text[strcspn(f.error.text, "\n")] = '\0';
	int what = s->what;
	unsigned long closes = s->closes;
	drop_query(s);
	if (ends_session(s, f.sqlstate))
		drop(s);
	bool at_once = what != SETTINGS && s->setup.calls->failed(s->setup.arg, &f);
	if (closes != s->closes)
		return;
	if (at_once) {
		begin(s);
		return;
	}
	/* The statement may be about a large row, and would take as long each time. */
	if (!strcmp(f.sqlstate, "57014") && s->patience_s < PATIENCE_MAX_S) {
		s->patience_s *= 2;
		s->is_set = false;
	}
	if (*f.sqlstate && what != SETTINGS)
		s->failing = what;
	fail(s, f.error.text, f.sqlstate);
}

static void on_limit(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop, (void)events; /* one timer, always for its end */
	struct wp_async_session *s = timer->data;
	int what = s->what;
	unsigned long closes = s->closes;
	struct wp_source_failure failure = { 0 };
	(void)wp_error_set(&failure.error, WP_IO, "the server did not answer in time");
	drop(s);
	if (what != SETTINGS)
		(void)s->setup.calls->failed(s->setup.arg, &failure);
	if (closes != s->closes)
		return;
	s->failing = what == SETTINGS ? NOTHING : what;
	fail(s, failure.error.text, "");
}

/* ---- statements ---- */

static void hear(struct wp_async_session *s);

static void on_answer(void *arg, const PGresult *result, const struct wp_source_failure *failure)
{
	struct wp_async_session *s = arg;
	struct wp_error error;
	if (failure) {
		statement_failed(s, failure);
		return;
	}
	int what = s->what;
	unsigned long closes = s->closes;
	enum wp_rc rc = WP_OK;
	if (what == SETTINGS)
		s->is_set = true;
	else
		rc = s->setup.calls->answer(s->setup.arg, result, &error);
	if (closes != s->closes)
		return;
	drop_query(s);
	if (rc != WP_OK) {
		s->failing = what;
		fail(s, error.text, "");
		return;
	}
	succeeded(s, what);
	hear(s);
	begin(s);
	changed(s);
}

static enum wp_rc send(struct wp_async_session *s,
		       const struct wp_async_session_statement *statement, struct wp_error *error)
{
	struct wp_query_statement one = {
		.sql = statement->sql,
		.values = statement->values,
		.count = statement->count,
	};
	enum wp_rc rc = wp_query_statement_new(s->loop, wp_async_session_pg(s), &one, on_answer, s,
					       &s->query, error);
	if (rc != WP_OK)
		return rc;
	ev_io_stop(s->loop, &s->idle);
	s->what = statement->what;
	int limit_s = s->patience_s + ANSWER_LATE_S;
	if (limit_s < statement->limit_s)
		limit_s = statement->limit_s;
	ev_now_update(s->loop);
	ev_timer_stop(s->loop, &s->limit);
	ev_timer_set(&s->limit, limit_s, 0.);
	ev_timer_start(s->loop, &s->limit);
	return WP_OK;
}

enum wp_rc wp_async_session_send(struct wp_async_session *s,
				 const struct wp_async_session_statement *statement,
				 struct wp_error *error)
{
	return send(s, statement, error);
}

/*
 * Tables grow from nothing faster than statistics follow, and rows are always found by an index here.
 *
 * synchronous_commit off: the server would answer before it has flushed, and lose in a crash what
 * was done with Kafka in mind.
 */
#define SETTINGS_SQL(synchronous_)                                        \
	"SELECT set_config('statement_timeout', $1::text || 's', false)," \
	" set_config('lock_timeout', '5000', false),"                     \
	" set_config('enable_hashjoin', 'off', false),"                   \
	" set_config('enable_mergejoin', 'off', false),"                  \
	" set_config('synchronous_commit', " synchronous_ ", false)"

static enum wp_rc send_settings(struct wp_async_session *s, struct wp_error *error)
{
	char patience[16];
	const char *values[] = { patience };
	(void)snprintf(patience, sizeof(patience), "%d", s->patience_s);
	struct wp_async_session_statement statement = {
		.sql = s->setup.options->allow_synchronous
			       ? SETTINGS_SQL("'local'")
			       : SETTINGS_SQL(
					 "CASE current_setting('synchronous_commit') WHEN 'off'"
					 " THEN 'on' ELSE"
					 " current_setting('synchronous_commit') END"),
		.values = values,
		.count = 1,
		.what = SETTINGS,
	};
	return send(s, &statement, error);
}

static void send_next(struct wp_async_session *s)
{
	struct wp_error error;
	unsigned long closes = s->closes;
	enum wp_rc rc =
		s->is_set ? s->setup.calls->ask(s->setup.arg, &error) : send_settings(s, &error);
	if (rc == WP_OK || closes != s->closes)
		return;
	if (rc != WP_NOMEM)
		drop(s);
	fail(s, error.text, "");
}

/* ---- what comes without being asked for ---- */

/* Notifications that came together with an answer are heard too. */
static void hear(struct wp_async_session *s)
{
	bool any = false;
	PGnotify *notification;
	while (s->setup.calls->notified &&
	       (notification = PQnotifies(wp_async_session_pg(s))) != NULL) {
		any = true;
		PQfreemem(notification);
	}
	if (any)
		s->setup.calls->notified(s->setup.arg);
}

static void on_idle(struct ev_loop *loop, ev_io *io, int events)
{
	(void)loop, (void)events; /* one watcher, always for reading */
	struct wp_async_session *s = io->data;
	if (PQconsumeInput(wp_async_session_pg(s)) == 1 &&
	    PQstatus(wp_async_session_pg(s)) == CONNECTION_OK)
		hear(s);
	else
		drop(s);
	begin(s);
}

static void watch_idle(struct wp_async_session *s)
{
	if (!s->setup.calls->notified || !wp_async_session_pg(s) || ev_is_active(&s->idle))
		return;
	ev_io_set(&s->idle, PQsocket(wp_async_session_pg(s)), EV_READ);
	ev_io_start(s->loop, &s->idle);
}

/* ---- the connection ---- */

static void on_connected(void *arg)
{
	struct wp_async_session *s = arg;
	if (!wp_async_session_pg(s)) {
		struct wp_error error = wp_connection_failure(s->connection)->error;
		drop(s);
		fail(s, error.text, ""); /* with its cure */
		return;
	}
	ev_now_update(s->loop);
	ev_timer_set(&s->life, LIFE_S, 0.);
	ev_timer_start(s->loop, &s->life);
	begin(s);
}

static void connect_to(struct wp_async_session *s)
{
	struct wp_connection_setup setup = {
		.options = s->setup.options,
		.kind = WP_CONNECTION_SQL, /* a walsender takes no parameters */
		.done = on_connected,
		.arg = s,
		.same_as = s->setup.stream ? s->setup.connection_of(s->setup.stream) : NULL,
	};
	struct wp_error error;
	if (s->setup.stream && !setup.same_as)
		fail(s, "the stream is not connected", "");
	else if (wp_connection_new(s->loop, &setup, &s->connection, &error) != WP_OK)
		fail(s, error.text, "");
}

static void begin(struct wp_async_session *s)
{
	bool is_connecting = s->connection && !wp_async_session_pg(s);
	if (s->query || is_connecting || ev_is_active(&s->again))
		return;
	if (s->is_old)
		drop(s);
	if (!s->setup.calls->wants(s->setup.arg))
		watch_idle(s);
	else if (!s->connection)
		connect_to(s);
	else
		send_next(s);
}

static void on_again(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop, (void)events; /* one timer, always for its end */
	begin(timer->data);
}

static void on_life(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop, (void)events; /* one timer, always for its end */
	struct wp_async_session *s = timer->data;
	s->is_old = true;
	begin(s);
}

void wp_async_session_poke(struct wp_async_session *s)
{
	begin(s);
}

void wp_async_session_close(struct wp_async_session *s)
{
	drop(s);
	ev_timer_stop(s->loop, &s->again);
	wp_backoff_reset(&s->backoff);
	s->patience_s = WP_ASYNC_SESSION_PATIENCE_S;
	s->trouble.text[0] = '\0';
	s->failing = NOTHING;
	s->closes++;
}

struct wp_async_session *wp_async_session_new(struct ev_loop *loop,
					      const struct wp_async_session_setup *setup)
{
	struct wp_async_session *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->loop = loop;
	s->setup = *setup;
	s->random = (uint64_t)(ev_time() * 1e6);
	s->patience_s = WP_ASYNC_SESSION_PATIENCE_S;
	wp_backoff_init(&s->backoff, BACKOFF_FIRST_MS, BACKOFF_MAX_MS);
	ev_timer_init(&s->limit, on_limit, 0., 0.);
	ev_timer_init(&s->life, on_life, 0., 0.);
	ev_timer_init(&s->again, on_again, 0., 0.);
	ev_init(&s->idle, on_idle);
	s->limit.data = s->life.data = s->again.data = s->idle.data = s;
	return s;
}

void wp_async_session_free(struct wp_async_session *s)
{
	if (!s)
		return;
	wp_async_session_close(s);
	free(s);
}
