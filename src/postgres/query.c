#include "walpost/postgres/query.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/postgres/connection.h"

struct wp_query {
	struct ev_loop *loop; /* borrowed */
	PGconn *pg;	      /* borrowed */
	wp_query_done done;
	void *arg;
	ev_io readable;
	ev_io writable;
	PGresult *last; /* owned */
};

static void stop(struct wp_query *q)
{
	ev_io_stop(q->loop, &q->readable);
	ev_io_stop(q->loop, &q->writable);
}

static void cut_newline(char *text)
{
	for (size_t size = strlen(text);
	     size > 0 && (text[size - 1] == '\n' || text[size - 1] == ' '); size--)
		text[size - 1] = '\0';
}

/* With `result` NULL the connection itself is lost. */
static struct wp_source_failure failure_of(PGconn *pg, const PGresult *result)
{
	struct wp_source_failure f = { .reaction = WP_REACT_RECONNECT };
	const char *sqlstate = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
	if (sqlstate) {
		(void)snprintf(f.sqlstate, sizeof(f.sqlstate), "%s", sqlstate);
		f.reaction = wp_postgres_reaction(WP_PHASE_SQL, sqlstate);
	}
	const char *text = result ? PQresultErrorMessage(result) : PQerrorMessage(pg);
	(void)wp_error_set(&f.error, WP_IO, "%s",
			   *text ? text : "the server closed the connection");
	cut_newline(f.error.text);
	/*
	 * With row_security off (session_settings.c) the server refuses what a policy would hide.
	 * The message may be translated, so it is told by the function of the server (rls.c).
	 */
	const char *function = result ? PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION) : NULL;
	f.row_security = function && !strcmp(function, "check_enable_rls");
	if (f.row_security) {
		struct wp_error said = f.error;
		(void)wp_error_set(&f.error, WP_IO,
				   "%.1000s; rows that its policies hide from role %s would look "
				   "as if they did not exist: give the role BYPASSRLS, or use the "
				   "table's owner",
				   said.text, PQuser(pg));
	}
	return f;
}

/* `done` may free `q`: nothing of it is touched afterwards. */
static void finish(struct wp_query *q, const struct wp_source_failure *failure)
{
	PGresult *last = q->last;
	q->last = NULL;
	stop(q);
	q->done(q->arg, failure ? NULL : last, failure);
	PQclear(last);
}

static void finish_with_last(struct wp_query *q)
{
	struct wp_source_failure failure;
	switch (PQresultStatus(q->last)) {
	case PGRES_EMPTY_QUERY:
	case PGRES_COMMAND_OK:
	case PGRES_TUPLES_OK:
	case PGRES_COPY_IN:
	case PGRES_COPY_OUT:
	case PGRES_COPY_BOTH:
		finish(q, NULL);
		return;
	default:
		failure = failure_of(q->pg, q->last);
		finish(q, &failure);
	}
}

static bool begins_copy(const PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);
	return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
}

static bool is_error(const PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);
	return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE;
}

/* Keeps the last result, but never lets one that follows an error hide it. */
static void keep(struct wp_query *q, PGresult *result)
{
	if (q->last && is_error(q->last)) {
		PQclear(result);
		return;
	}
	PQclear(q->last);
	q->last = result;
}

static void collect(struct wp_query *q)
{
	while (!PQisBusy(q->pg)) {
		PGresult *result = PQgetResult(q->pg);
		if (result)
			keep(q, result);
		if (!result || begins_copy(q->last)) {
			finish_with_last(q);
			return;
		}
	}
}

/* Sends what the socket takes; returns WP_IO when the connection is lost. */
static enum wp_rc flush(struct wp_query *q)
{
	int rest = PQflush(q->pg);
	if (rest < 0)
		return WP_IO;
	if (rest > 0)
		ev_io_start(q->loop, &q->writable);
	else
		ev_io_stop(q->loop, &q->writable);
	return WP_OK;
}

static void on_readable(struct ev_loop *loop, ev_io *w, int events)
{
	(void)loop, (void)events; /* one reader, always for reading */
	struct wp_query *q = w->data;
	if (PQconsumeInput(q->pg)) {
		collect(q);
		return;
	}
	/* The server's last word (an ErrorResponse) may have come before the end. */
	PGresult *result = PQisBusy(q->pg) ? NULL : PQgetResult(q->pg);
	if (result)
		keep(q, result);
	struct wp_source_failure failure =
		failure_of(q->pg, q->last && is_error(q->last) ? q->last : NULL);
	finish(q, &failure);
}

static void on_writable(struct ev_loop *loop, ev_io *w, int events)
{
	(void)loop, (void)events; /* one writer, always for writing */
	struct wp_query *q = w->data;
	if (flush(q) == WP_OK)
		return;
	struct wp_source_failure failure = failure_of(q->pg, NULL);
	finish(q, &failure);
}

static bool send(PGconn *pg, const struct wp_query_statement *s)
{
	if (PQsetnonblocking(pg, 1) != 0)
		return false;
	return s->count == 0 ? PQsendQuery(pg, s->sql)
			     : PQsendQueryParams(pg, s->sql, (int)s->count, NULL, s->values, NULL,
						 NULL, 0);
}

enum wp_rc wp_query_new(struct ev_loop *loop, PGconn *pg, const char *sql, wp_query_done done,
			void *arg, struct wp_query **ret, struct wp_error *error)
{
	const struct wp_query_statement statement = { .sql = sql };
	return wp_query_statement_new(loop, pg, &statement, done, arg, ret, error);
}

enum wp_rc wp_query_statement_new(struct ev_loop *loop, PGconn *pg,
				  const struct wp_query_statement *statement, wp_query_done done,
				  void *arg, struct wp_query **ret, struct wp_error *error)
{
	struct wp_query *q = calloc(1, sizeof(*q));
	if (!q)
		return wp_error_set(error, WP_NOMEM, "out of memory for an SQL query");
	*q = (struct wp_query){ .loop = loop, .pg = pg, .done = done, .arg = arg };
	if (!send(pg, statement)) {
		free(q);
		return wp_error_set(error, WP_IO, "cannot send SQL to the server: %s",
				    PQerrorMessage(pg));
	}
	int fd = PQsocket(pg);
	assert(fd >= 0);
	ev_io_init(&q->readable, on_readable, fd, EV_READ);
	ev_io_init(&q->writable, on_writable, fd, EV_WRITE);
	q->readable.data = q->writable.data = q;
	ev_io_start(loop, &q->readable);
	if (flush(q) != WP_OK) {
		wp_query_free(q);
		return wp_error_set(error, WP_IO, "cannot send SQL to the server: %s",
				    PQerrorMessage(pg));
	}
	*ret = q;
	return WP_OK;
}

void wp_query_free(struct wp_query *q)
{
	if (!q)
		return;
	stop(q);
	PQclear(q->last);
	free(q);
}
