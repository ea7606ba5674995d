#include "walpost/postgres_stream/scheduler.h"

#include <stdlib.h>
#include <string.h>

#include "walpost/base/log.h"
#include "walpost/postgres/async_session.h"
#include "walpost/postgres_stream/stream.h"

#define LOOK_AGAIN_S 60.   /* for what `init` has not created */
#define TROUBLE_LASTS_S 5. /* a server that is away for less is no news */
#define TROUBLE_EVERY_S 60.

enum {
	WAIT_MAX_MS = 1000, /* schedule() notifies only of what is due before */
	WAIT_IDLE_MS = 50,  /* what is due is locked by another transaction */
	WAIT_BUSY_MS = 200, /* another relay moves, and goes on until nothing is due */
};

enum statement { LOOKING = 1, LISTENING, MOVING };

struct wp_scheduler {
	struct ev_loop *loop; /* borrowed */
	struct wp_async_session *session;
	bool on;
	bool absent; /* there is no such function; until look_again */
	bool found;
	bool listens;
	bool is_due; /* to ask */
	enum statement sent;
	ev_timer due;
	ev_timer look_again;
	double trouble_since; /* 0: none */
	double told;	      /* of it, last; 0: not yet */
	struct wp_scheduled_figures figures;
};

/* This asks the catalog: who may not use the schema cannot ask by name. */
static const char look_sql[] =
	"SELECT p.oid IS NOT NULL, coalesce(has_schema_privilege(n.oid, 'USAGE') AND "
	"has_function_privilege(p.oid, 'EXECUTE'), false), current_user FROM (VALUES (1)) one LEFT "
	"JOIN (pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace AND "
	"n.nspname = 'walpost') ON p.proname = 'move_due'";
enum { EXISTS, ALLOWED, ROLE };

static const char move_sql[] = "SELECT moved, set_aside, busy, due, overdue, failed, late_ms, "
			       "next_ms, error FROM walpost.move_due(500)";
enum { MOVED, SET_ASIDE, BUSY, DUE, OVERDUE, FAILED, LATE, NEXT, ERROR, MOVE_COLUMNS };

static bool wants(void *arg)
{
	const struct wp_scheduler *s = arg;
	return s->on && !s->absent && (!s->found || !s->listens || s->is_due);
}

static enum wp_rc ask(void *arg, struct wp_error *error)
{
	struct wp_scheduler *s = arg;
	s->sent = !s->found ? LOOKING : !s->listens ? LISTENING : MOVING;
	const char *sql = s->sent == LOOKING	 ? look_sql
			  : s->sent == LISTENING ? "LISTEN walpost_scheduled"
						 : move_sql;
	/* What is notified from now on wants another look. */
	s->is_due = false;
	/* All are of one kind: what the server refuses is over when any succeeds. */
	struct wp_async_session_statement statement = { .sql = sql, .what = (int)s->sent };
	return wp_async_session_send(s->session, &statement, error);
}

static void wait(struct wp_scheduler *s, ev_timer *timer, double seconds)
{
	ev_now_update(s->loop);
	ev_timer_stop(s->loop, timer);
	ev_timer_set(timer, seconds, 0.);
	ev_timer_start(s->loop, timer);
}

static enum wp_rc looked(struct wp_scheduler *s, const PGresult *r, struct wp_error *error)
{
	s->absent = *PQgetvalue(r, 0, EXISTS) != 't';
	if (s->absent) {
		s->figures.known = false;
		s->figures.trouble.text[0] = '\0';
		wait(s, &s->look_again, LOOK_AGAIN_S);
		wp_async_session_close(s->session);
		return WP_OK;
	}
	if (*PQgetvalue(r, 0, ALLOWED) != 't')
		return wp_error_set(error, WP_IO,
				    "role %s may not execute walpost.move_due(); run "
				    "sql/grants.sql for this role, or set relay.schedule = off",
				    PQgetvalue(r, 0, ROLE));
	s->found = true;
	return WP_OK;
}

static int64_t number(const PGresult *r, int column)
{
	return strtoll(PQgetvalue(r, 0, column), NULL, 10);
}

static void set_aside(const PGresult *r)
{
	wp_log(WP_LOG_WARN, "scheduled_failed", WP_INT("events", number(r, SET_ASIDE)),
	       WP_TEXT("reason", PQgetvalue(r, 0, ERROR)));
}

static void moved(struct wp_scheduler *s, const PGresult *r)
{
	int64_t next_ms = PQgetisnull(r, 0, NEXT) ? WAIT_MAX_MS : number(r, NEXT);
	bool any = number(r, MOVED) + number(r, SET_ASIDE) > 0;
	s->figures.known = true;
	s->figures.due = (uint64_t)number(r, DUE);
	s->figures.overdue = (uint64_t)number(r, OVERDUE);
	s->figures.failed = (uint64_t)number(r, FAILED);
	s->figures.late_ms = number(r, LATE);
	s->figures.moved += (uint64_t)number(r, MOVED);
	s->figures.attempts_failed += (uint64_t)number(r, SET_ASIDE);
	if (number(r, SET_ASIDE) > 0)
		set_aside(r);
	if (any && next_ms == 0) {
		s->is_due = true;
		return;
	}
	bool is_locked = number(r, DUE) + number(r, FAILED) > 0;
	if (!any && (next_ms == 0 || (is_locked && next_ms < WAIT_IDLE_MS)))
		next_ms = WAIT_IDLE_MS;
	if (*PQgetvalue(r, 0, BUSY) == 't')
		next_ms = WAIT_BUSY_MS;
	if (next_ms > WAIT_MAX_MS)
		next_ms = WAIT_MAX_MS;
	wait(s, &s->due, (double)next_ms / 1e3);
}

static enum wp_rc answer(void *arg, const PGresult *r, struct wp_error *error)
{
	struct wp_scheduler *s = arg;
	switch (s->sent) {
	case LOOKING:
		if (PQntuples(r) != 1)
			break;
		return looked(s, r, error);
	case LISTENING:
		/* An event may have become due before we listened. */
		s->listens = s->is_due = true;
		return WP_OK;
	case MOVING:
		if (PQntuples(r) != 1 || PQnfields(r) != MOVE_COLUMNS)
			break;
		moved(s, r);
		return WP_OK;
	}
	return wp_error_set(error, WP_IO, "the server's answer has another form than expected");
}

static bool failed(void *arg, const struct wp_source_failure *failure)
{
	(void)failure; /* the session says it */
	struct wp_scheduler *s = arg;
	/* The function may be gone, or the right to use it. */
	s->found = false;
	s->is_due = true;
	return false;
}

static void tell(struct wp_scheduler *s, double now)
{
	if (now - s->trouble_since < TROUBLE_LASTS_S ||
	    (s->told > 0 && now - s->told < TROUBLE_EVERY_S))
		return;
	s->told = now;
	wp_log(WP_LOG_WARN, "scheduling_unavailable", WP_TEXT("reason", s->figures.trouble.text));
}

static void changed(void *arg)
{
	struct wp_scheduler *s = arg;
	double now = ev_time();
	s->figures.trouble = *wp_async_session_trouble(s->session);
	if (s->figures.trouble.text[0]) {
		if (s->trouble_since <= 0)
			s->trouble_since = now;
		tell(s, now);
		return;
	}
	if (s->told > 0)
		wp_log(WP_LOG_INFO, "scheduling_resumed", WP_INT("due", (int64_t)s->figures.due));
	s->trouble_since = s->told = 0;
}

static void disconnected(void *arg)
{
	struct wp_scheduler *s = arg;
	s->listens = false;
}

static void poke(struct wp_scheduler *s)
{
	s->is_due = true;
	wp_async_session_poke(s->session);
}

static void notified(void *arg)
{
	struct wp_scheduler *s = arg;
	s->is_due = true; /* the session looks next */
}

static void on_due(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop, (void)events; /* one timer, always for its end */
	poke(timer->data);
}

static void on_look_again(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop, (void)events; /* one timer, always for its end */
	struct wp_scheduler *s = timer->data;
	s->absent = false;
	poke(s);
}

static const struct wp_async_session_calls calls = {
	.wants = wants,
	.ask = ask,
	.answer = answer,
	.failed = failed,
	.changed = changed,
	.disconnected = disconnected,
	.notified = notified,
};

static void stop(struct wp_scheduler *s)
{
	wp_async_session_close(s->session);
	ev_timer_stop(s->loop, &s->due);
	ev_timer_stop(s->loop, &s->look_again);
	s->absent = s->found = false;
	s->figures.known = false;
	s->figures.trouble.text[0] = '\0';
	s->trouble_since = s->told = 0;
}

void wp_scheduler_turn(struct wp_scheduler *s, enum wp_scheduling scheduling)
{
	bool on = scheduling == WP_SCHEDULING_ON;
	if (on == s->on)
		return;
	s->on = on;
	if (on)
		poke(s);
	else
		stop(s);
}

const struct wp_scheduled_figures *wp_scheduler_figures(const struct wp_scheduler *s)
{
	return &s->figures;
}

struct wp_scheduler *wp_scheduler_new(struct ev_loop *loop, const struct wp_scheduler_setup *setup)
{
	struct wp_scheduler *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->loop = loop;
	s->session = wp_async_session_new(loop, &(struct wp_async_session_setup){
							.options = setup->options,
							.stream = setup->stream,
							.connection_of = wp_stream_connection,
							.purpose = "scheduled events",
							.calls = &calls,
							.arg = s,
						});
	if (!s->session) {
		free(s);
		return NULL;
	}
	ev_timer_init(&s->due, on_due, 0., 0.);
	ev_timer_init(&s->look_again, on_look_again, 0., 0.);
	s->due.data = s->look_again.data = s;
	return s;
}

void wp_scheduler_free(struct wp_scheduler *s)
{
	if (!s)
		return;
	stop(s);
	wp_async_session_free(s->session);
	free(s);
}
