#include "walpost/postgres/farewell.h"

#include <stdlib.h>
#include <string.h>

#include "walpost/postgres/query.h"

struct wp_farewell {
	struct ev_loop *loop; /* borrowed */
	PGconn *pg;	      /* borrowed */
	char *sql;
	wp_farewell_done done;
	void *arg;
	ev_timer begin; /* so that nothing is called from within new */
	ev_io readable;
	struct wp_query *query;
};

static void on_done(void *arg, const PGresult *result, const struct wp_source_failure *failure)
{
	(void)result; /* no row: another one has the slot by now */
	struct wp_farewell *f = arg;
	f->done(f->arg, failure ? &failure->why : NULL);
}

static void fail(struct wp_farewell *f, const char *what)
{
	struct wp_why why;
	(void)wp_why_set(&why, WP_IO, "%s", what);
	f->done(f->arg, &why);
}

static void ask(struct wp_farewell *f)
{
	struct wp_why why;
	ev_io_stop(f->loop, &f->readable);
	if (wp_query_new(f->loop, f->pg, f->sql, on_done, f, &f->query, &why) != WP_OK)
		fail(f, why.text);
}

/* Until the server is ready for a query again. */
static void read_away(struct wp_farewell *f)
{
	while (!PQisBusy(f->pg)) {
		PGresult *rest = PQgetResult(f->pg);
		if (!rest) {
			ask(f);
			return;
		}
		PQclear(rest);
	}
	ev_io_start(f->loop, &f->readable);
}

static void on_begin(struct ev_loop *loop, ev_timer *w, int events)
{
	(void)loop, (void)events; /* one timer, always for its end */
	read_away(w->data);
}

static void on_readable(struct ev_loop *loop, ev_io *w, int events)
{
	(void)loop, (void)events; /* one reader, always for reading */
	struct wp_farewell *f = w->data;
	if (PQconsumeInput(f->pg)) {
		read_away(f);
		return;
	}
	ev_io_stop(f->loop, &f->readable);
	fail(f, "the connection ended with the stream");
}

enum wp_rc wp_farewell_new(struct ev_loop *loop, PGconn *pg, const char *sql, wp_farewell_done done,
			   void *arg, struct wp_farewell **ret, struct wp_why *why)
{
	struct wp_farewell *f = calloc(1, sizeof(*f));
	if (!f)
		return wp_why_set(why, WP_NOMEM, "out of memory");
	*f = (struct wp_farewell){ .loop = loop, .pg = pg, .done = done, .arg = arg };
	f->sql = strdup(sql);
	if (!f->sql || PQsocket(pg) < 0) {
		enum wp_rc rc = f->sql ? WP_IO : WP_NOMEM;
		wp_farewell_free(f);
		return wp_why_set(why, rc,
				  rc == WP_IO ? "the connection is gone" : "out of memory");
	}
	ev_timer_init(&f->begin, on_begin, 0., 0.);
	ev_io_init(&f->readable, on_readable, PQsocket(pg), EV_READ);
	f->begin.data = f->readable.data = f;
	ev_timer_start(loop, &f->begin);
	*ret = f;
	return WP_OK;
}

void wp_farewell_free(struct wp_farewell *f)
{
	if (!f)
		return;
	if (f->loop) {
		ev_timer_stop(f->loop, &f->begin);
		ev_io_stop(f->loop, &f->readable);
	}
	wp_query_free(f->query);
	free(f->sql);
	free(f);
}
