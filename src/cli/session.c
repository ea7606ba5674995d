#include "walpost/cli/session.h"

#include <signal.h>

#include "lock_wait.h"
#include "walpost/cli/cli.h"
#include "walpost/postgres/query.h"
#include "walpost/postgres_preflight/slot.h"

static void on_signal(struct ev_loop *loop, ev_signal *w, int events)
{
	(void)events; /* a signal watcher, always for its signal */
	struct wp_console *c = w->data;
	c->interrupted = true;
	/* The default comes back, so that a second one ends us at once. */
	ev_signal_stop(loop, &c->interrupt);
	ev_signal_stop(loop, &c->terminate);
}

enum wp_rc wp_console_init(struct wp_console *c, struct wp_error *error)
{
	*c = (struct wp_console){ .loop = ev_loop_new(EVFLAG_AUTO) };
	if (!c->loop)
		return wp_error_set(error, WP_NOMEM,
				    "cannot create an event loop: neither epoll nor poll works");
	ev_signal_init(&c->interrupt, on_signal, SIGINT);
	ev_signal_init(&c->terminate, on_signal, SIGTERM);
	c->interrupt.data = c->terminate.data = c;
	ev_signal_start(c->loop, &c->interrupt);
	ev_signal_start(c->loop, &c->terminate);
	return WP_OK;
}

void wp_console_release(struct wp_console *c)
{
	if (c->loop) {
		ev_signal_stop(c->loop, &c->interrupt);
		ev_signal_stop(c->loop, &c->terminate);
		ev_loop_destroy(c->loop);
	}
	*c = (struct wp_console){ 0 };
}

static void on_passed(struct ev_loop *loop, ev_timer *w, int events)
{
	(void)loop, (void)events; /* one timer, always for its time */
	*(bool *)w->data = true;
}

void wp_console_wait(struct wp_console *c, double seconds)
{
	bool passed = false;
	ev_timer timer;
	ev_timer_init(&timer, on_passed, seconds, 0.);
	timer.data = &passed;
	ev_now_update(c->loop);
	ev_timer_start(c->loop, &timer);
	while (!passed && !c->interrupted)
		(void)ev_run(c->loop, EVRUN_ONCE); /* says whether watchers are left; they are */
	ev_timer_stop(c->loop, &timer);
}

struct ticker {
	ev_timer timer;
	struct wp_session *session;
	bool within;
};

static void on_tick(struct ev_loop *loop, ev_timer *w, int events)
{
	(void)loop, (void)events; /* one timer, always for its time */
	struct ticker *t = w->data;
	if (t->within)
		return;
	t->within = true;
	t->session->waiting(t->session->waiting_arg);
	t->within = false;
}

/* The server would go on without us, and perhaps make the slot after all. */
static void cancel(PGconn *pg)
{
	char problem[256];
	PGcancel *request = PQgetCancel(pg);
	if (request)
		(void)PQcancel(request, problem, sizeof(problem)); /* if this fails, it goes on */
	PQfreeCancel(request);
}

/* -- a lock that others hold --------------------------------------------------------- */

#define LOOK_EVERY_S 2.

/* Looks at a session whose statement takes long, by a second one. */
struct lock_watch {
	ev_timer timer;
	struct wp_session *waiter;
	struct wp_session session;
	bool opened;
	bool within;
};

static enum wp_rc open_as(struct wp_session *s, struct wp_console *console,
			  const struct wp_postgres_options *options, enum wp_connection_kind kind,
			  const PGconn *same_as, struct wp_error *error);

static enum wp_rc ask_lock(struct lock_watch *w, PGresult **ret, struct wp_error *error)
{
	struct wp_session *waiter = w->waiter;
	struct wp_statement statement;
	enum wp_rc rc = WP_OK;
	if (!w->opened) {
		w->opened = true;
		rc = open_as(&w->session, waiter->console, waiter->options, WP_CONNECTION_QUESTIONS,
			     wp_session_pg(waiter), error);
		w->session.options = NULL;
		if (rc != WP_OK && !waiter->console->interrupted)
			(void)wp_cli_fail(0,
					  "an SQL statement takes longer than %d s; whether it "
					  "waits for a lock cannot be asked: %s",
					  WP_LOCK_WAIT_S, error->text);
	}
	if (rc != WP_OK || !w->session.connection || !wp_session_pg(&w->session))
		return WP_IO;
	wp_statement_begin(&statement, &w->session);
	wp_lock_wait_sql(&statement.sql, PQbackendPID(wp_session_pg(waiter)));
	return wp_statement_ask(&statement, ret, error);
}

/* A statement that says itself for whom it waits goes on, unless a table is locked. */
static void look_for_lock(struct lock_watch *w)
{
	struct wp_session *waiter = w->waiter;
	struct wp_error error;
	PGresult *answer;
	if (ask_lock(w, &answer, &error) != WP_OK)
		return;
	if (PQntuples(answer) == 1 && !waiter->done &&
	    (!waiter->waiting || wp_lock_wait_is_for_table(answer))) {
		wp_lock_wait_say(answer, &waiter->locked);
		cancel(wp_session_pg(waiter));
	}
	PQclear(answer);
}

static void on_look(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop, (void)events; /* one timer, always for its time */
	struct lock_watch *w = timer->data;
	if (w->within || w->waiter->done)
		return;
	w->within = true;
	look_for_lock(w);
	w->within = false;
}

static void lock_watch_begin(struct lock_watch *w, struct wp_session *waiter)
{
	*w = (struct lock_watch){ .waiter = waiter };
	waiter->locked.text[0] = '\0';
	ev_timer_init(&w->timer, on_look, WP_LOCK_WAIT_S + .2, LOOK_EVERY_S);
	w->timer.data = w;
	ev_now_update(waiter->console->loop);
	if (waiter->options)
		ev_timer_start(waiter->console->loop, &w->timer);
}

static void lock_watch_end(struct lock_watch *w)
{
	ev_timer_stop(w->waiter->console->loop, &w->timer);
	wp_session_release(&w->session);
}

/* -- sessions ------------------------------------------------------------------------ */

/* Runs the loop until the session's operation is done, or the user interrupts. */
static enum wp_rc run(struct wp_session *s, struct wp_error *error)
{
	struct ticker ticker = { .session = s };
	struct ev_loop *loop = s->console->loop;
	if (s->waiting) {
		ev_timer_init(&ticker.timer, on_tick, s->waiting_every_s, s->waiting_every_s);
		ticker.timer.data = &ticker;
		ev_timer_start(loop, &ticker.timer);
	}
	while (!s->done && !s->console->interrupted)
		(void)ev_run(loop, EVRUN_ONCE); /* says whether watchers are left; they are */
	if (s->waiting)
		ev_timer_stop(loop, &ticker.timer);
	return s->done ? WP_OK : wp_error_set(error, WP_IO, "interrupted");
}

static void on_connected(void *arg)
{
	((struct wp_session *)arg)->done = true;
}

static enum wp_rc rc_of(enum wp_reaction reaction)
{
	return reaction == WP_REACT_STOP_CONFIG ? WP_CONFIG : WP_IO;
}

static enum wp_rc open_as(struct wp_session *s, struct wp_console *console,
			  const struct wp_postgres_options *options, enum wp_connection_kind kind,
			  const PGconn *same_as, struct wp_error *error)
{
	*s = (struct wp_session){ .console = console, .options = options };
	struct wp_connection_setup setup = {
		.options = options,
		.kind = kind,
		.done = on_connected,
		.arg = s,
		.same_as = same_as,
	};
	enum wp_rc rc = wp_connection_new(console->loop, &setup, &s->connection, error);
	if (rc != WP_OK)
		return rc;
	rc = run(s, error);
	if (rc != WP_OK || wp_connection_pg(s->connection))
		return rc;
	const struct wp_source_failure *failure = wp_connection_failure(s->connection);
	return wp_error_set(error, rc_of(failure->reaction), "%s", failure->error.text);
}

enum wp_rc wp_session_open(struct wp_session *s, struct wp_console *console,
			   const struct wp_postgres_options *options, enum wp_connection_kind kind,
			   struct wp_error *error)
{
	return open_as(s, console, options, kind, NULL, error);
}

enum wp_rc wp_session_begin(struct wp_session *s, struct wp_console *console,
			    const struct wp_postgres_options *options, struct wp_error *error)
{
	enum wp_rc rc = wp_slot_name_check(options->slot, error);
	if (rc == WP_OK)
		rc = wp_console_init(console, error);
	return rc == WP_OK ? wp_session_open(s, console, options, WP_CONNECTION_SQL, error) : rc;
}

void wp_session_release(struct wp_session *s)
{
	PQclear(s->result);
	wp_connection_free(s->connection);
	*s = (struct wp_session){ 0 };
}

PGconn *wp_session_pg(const struct wp_session *s)
{
	return wp_connection_pg(s->connection);
}

static void on_answer(void *arg, const PGresult *result, const struct wp_source_failure *failure)
{
	struct wp_session *s = arg;
	s->done = true;
	if (failure)
		s->failure = *failure;
	else
		s->result = PQcopyResult(result, PG_COPYRES_TUPLES);
}

/* A right on a table is of no use without that on its schema, which names no table. */
static enum wp_rc explain(struct wp_session *s, struct wp_error *error)
{
	static const char denied[] = "permission denied for schema ";
	const char *text = s->failure.error.text;
	const char *name = strstr(text, denied);
	enum wp_rc rc = rc_of(s->failure.reaction);

	if (strcmp(s->failure.sqlstate, "42501") != 0 || name == NULL)
		return wp_error_set(error, rc, "%s", text);
	name += strlen(denied);
	size_t size = strcspn(name, "\n"); /* then comes the place in the statement */
	const char *role = PQuser(wp_session_pg(s));
	char *schema = PQescapeIdentifier(wp_session_pg(s), name, size);
	char *grantee = PQescapeIdentifier(wp_session_pg(s), role, strlen(role));
	(void)wp_error_set(error, rc, "%.*s: GRANT USAGE ON SCHEMA %s TO %s",
			   (int)(name - text) + (int)size, text, schema == NULL ? name : schema,
			   grantee == NULL ? role : grantee);
	PQfreemem(schema);
	PQfreemem(grantee);
	return rc;
}

enum wp_rc wp_session_query(struct wp_session *s, const char *sql, PGresult **ret,
			    struct wp_error *error)
{
	struct wp_query *query;
	struct lock_watch watch;
	s->done = false;
	s->failure = (struct wp_source_failure){ 0 };
	enum wp_rc rc =
		wp_query_new(s->console->loop, wp_session_pg(s), sql, on_answer, s, &query, error);
	if (rc != WP_OK)
		return rc;
	lock_watch_begin(&watch, s);
	rc = run(s, error);
	lock_watch_end(&watch);
	wp_query_free(query);
	if (rc != WP_OK) {
		cancel(wp_session_pg(s));
		return rc;
	}
	if (s->failure.reaction == WP_REACT_NONE)
		s->locked.text[0] = '\0'; /* it came through all the same */
	if (*s->locked.text != '\0')
		return wp_error_set(error, WP_IO, "%s", s->locked.text);
	if (s->failure.reaction != WP_REACT_NONE)
		return explain(s, error);
	if (!s->result)
		return wp_error_set(error, WP_NOMEM, "out of memory for a result from the server");
	*ret = s->result;
	s->result = NULL;
	return WP_OK;
}

enum wp_rc wp_session_do(struct wp_session *s, const char *sql, struct wp_error *error)
{
	PGresult *result = NULL;
	enum wp_rc rc = wp_session_query(s, sql, &result, error);
	if (rc == WP_OK)
		PQclear(result);
	return rc;
}

void wp_statement_begin(struct wp_statement *s, struct wp_session *session)
{
	s->session = session;
	wp_buffer_init(&s->text, WP_SQL_SIZE_MAX);
	wp_sql_init(&s->sql, wp_session_pg(session), &s->text);
}

enum wp_rc wp_statement_ask(struct wp_statement *s, PGresult **ret, struct wp_error *error)
{
	enum wp_rc rc = wp_sql_end(&s->sql, error);
	if (rc == WP_OK)
		rc = wp_session_query(s->session, (const char *)s->text.data, ret, error);
	wp_buffer_release(&s->text);
	return rc;
}
