#include "walpost/postgres_stream/cleaner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/log.h"
#include "walpost/postgres/async_session.h"
#include "walpost/postgres_stream/stream.h"

enum {
	BATCH_TIMES = 3, /* as long as a batch took, the server has rest */
	PAUSE_MAX_MS = 60 * 1000,
	LOOKED_MAX_MS = 600 * 1000,
	WAITS_MS = 1000, /* for transactions that run, say */
	NAME_SIZE = 64,
	QUALIFIED_SIZE = 2 * (2 * NAME_SIZE + 2) + 2,
	ARGUMENTS = 11,
};
#define TROUBLE_LASTS_S 5. /* a server that is away for less is no news */
#define TROUBLE_EVERY_S 60.

enum statement { STATEMENT_LOOK = 1, STATEMENT_REMOVE };

struct table {
	char outbox[2 * NAME_SIZE];
	char qualified[QUALIFIED_SIZE]; /* quoted */
	char inserted[NAME_SIZE];
	char id[NAME_SIZE];
	char processed[NAME_SIZE]; /* "": rows are deleted */
	struct wp_error waits;
	bool told; /* of it */
};

/* This holds what cleanup_look() answered; it is owned. */
struct batch {
	char *rows;
	char *first;
	char *last;
	char *server;
	uint64_t count;
	int64_t took_us;
};

struct cleaner {
	struct wp_cleanup_store base;
	struct ev_loop *loop; /* borrowed, as the setup's pointers */
	struct wp_cleaner_setup setup;
	struct wp_async_session *session;
	struct wp_cleanup_view view;
	struct table tables[WP_CLEANUP_TABLES_MAX];
	struct wp_cleanup_count counts[WP_CLEANUP_TABLES_MAX]; /* of these */
	size_t table_count;
	size_t at;   /* the table that is cleaned */
	bool is_due; /* to look */
	enum statement sent;
	double sent_at;
	struct batch batch;
	ev_timer timer;	      /* LOOKING: until the next look; LOOKED: until it is too old */
	double trouble_since; /* 0: none */
	double told;	      /* of it, last; 0: not yet */
};

static struct cleaner *self(struct wp_cleanup_store *s)
{
	return (struct cleaner *)s;
}

static struct table *current(struct cleaner *c)
{
	return &c->tables[c->at];
}

static void wake(struct cleaner *c)
{
	c->setup.wake.call(c->setup.wake.arg);
}

/* -- when ------------------------------------------------------------------------ */

static void forget(struct cleaner *c)
{
	free(c->batch.rows);
	free(c->batch.first);
	free(c->batch.last);
	free(c->batch.server);
	c->batch = (struct batch){ 0 };
	c->view.lsn = 0;
}

static void start_timer(struct cleaner *c, int64_t ms)
{
	ev_now_update(c->loop);
	ev_timer_stop(c->loop, &c->timer);
	ev_timer_set(&c->timer, (double)ms / 1e3, 0.);
	ev_timer_start(c->loop, &c->timer);
}

static void look_now(struct cleaner *c)
{
	forget(c);
	ev_timer_stop(c->loop, &c->timer);
	c->view.state = WP_CLEANUP_LOOKING;
	c->is_due = true;
}

static void look_later(struct cleaner *c, int64_t ms)
{
	forget(c);
	c->view.state = WP_CLEANUP_LOOKING;
	c->is_due = false;
	start_timer(c, ms);
}

static void next_table(struct cleaner *c)
{
	int64_t interval_ms = c->setup.cleanup->interval_ms;
	c->at = (c->at + 1) % c->table_count;
	if (c->at != 0)
		look_now(c);
	else if (c->view.waits.text[0] && interval_ms > WAITS_MS)
		look_later(c, WAITS_MS);
	else
		look_later(c, interval_ms);
}

/* The longer the server needs, the longer it may rest. */
static int64_t pause_after(const struct cleaner *c, int64_t took_us)
{
	int64_t ms = took_us * BATCH_TIMES / 1000;
	if (ms < c->setup.cleanup->pause_ms)
		ms = c->setup.cleanup->pause_ms;
	return ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS;
}

/* -- what is asked ------------------------------------------------------------------ */

#define WHICH "($1, $2, $3::regclass, $4, $5, $6, $7::interval, "
#define LOOK(function_)                                                                      \
	"SELECT looked, rows, first, last, server, lsn, waits FROM walpost." function_ WHICH \
	"$8::"                                                                               \
	"integer)"
#define REMOVE(function_) "SELECT walpost." function_ WHICH "$8::text[], $9, $10, $11)"
enum { LOOKED, ROWS, FIRST, LAST, SERVER, LSN, WAITS, LOOK_COLUMNS };

static const char *sql_of(const struct cleaner *c, bool removes)
{
	if (c->setup.cleanup->mode == WP_CLEANUP_DROP)
		return removes ? REMOVE("cleanup_remove_partition")
			       : LOOK("cleanup_look_partition");
	return removes ? REMOVE("cleanup_remove") : LOOK("cleanup_look");
}

static bool wants(void *arg)
{
	const struct cleaner *c = arg;
	return (c->view.state == WP_CLEANUP_LOOKING && c->is_due) ||
	       c->view.state == WP_CLEANUP_REMOVING;
}

static enum wp_rc ask(void *arg, struct wp_error *error)
{
	struct cleaner *c = arg;
	const struct table *t = current(c);
	bool removes = c->view.state == WP_CLEANUP_REMOVING;
	char keep[32], batch[24];
	const char *values[ARGUMENTS] = {
		c->setup.options->slot,
		c->setup.options->publication,
		t->qualified,
		t->inserted,
		t->id,
		t->processed[0] ? t->processed : NULL,
		keep,
		removes ? c->batch.rows : batch,
		c->batch.first,
		c->batch.last,
		c->batch.server,
	};
	(void)snprintf(keep, sizeof(keep), "%" PRId64 " ms", c->setup.cleanup->keep_ms);
	(void)snprintf(batch, sizeof(batch), "%zu",
		       c->setup.cleanup->mode == WP_CLEANUP_DROP
			       ? c->setup.cleanup->partitions_ahead
			       : c->setup.cleanup->batch);
	c->sent = removes ? STATEMENT_REMOVE : STATEMENT_LOOK;
	c->sent_at = ev_time();
	struct wp_async_session_statement statement = {
		.sql = sql_of(c, removes),
		.values = values,
		.count = removes ? ARGUMENTS : ARGUMENTS - 3,
		.what = (int)c->sent,
	};
	return wp_async_session_send(c->session, &statement, error);
}

static int64_t took_us(const struct cleaner *c)
{
	double seconds = ev_time() - c->sent_at;
	return seconds > 0 ? (int64_t)(seconds * 1e6) : 0;
}

/* -- what is answered ---------------------------------------------------------------- */

static void keep_waits(struct cleaner *c, const char *why)
{
	struct table *t = current(c);
	struct wp_error waits = { .text = "" };
	if (*why)
		(void)wp_error_set(&waits, WP_OK, "outbox %s: %s", t->outbox, why);
	bool lasts = strcmp(waits.text, t->waits.text) == 0;
	t->waits = waits;
	c->view.waits.text[0] = '\0';
	for (size_t i = 0; i < c->table_count; i++)
		if (c->tables[i].waits.text[0])
			c->view.waits = c->tables[i].waits;
	if (*why && lasts && !t->told)
		wp_log(WP_LOG_INFO, "cleanup_waits", WP_TEXT("outbox", t->outbox),
		       WP_TEXT("reason", why));
	t->told = *why && lasts;
}

static enum wp_rc keep_batch(struct cleaner *c, const PGresult *r, struct wp_error *error)
{
	struct batch *b = &c->batch;
	forget(c);
	b->count = strtoull(PQgetvalue(r, 0, LOOKED), NULL, 10);
	b->took_us = took_us(c);
	b->rows = strdup(PQgetvalue(r, 0, ROWS));
	b->first = strdup(PQgetvalue(r, 0, FIRST));
	b->last = strdup(PQgetvalue(r, 0, LAST));
	b->server = strdup(PQgetvalue(r, 0, SERVER));
	if (!b->rows || !b->first || !b->last || !b->server)
		return wp_error_set(error, WP_NOMEM, "out of memory for a batch of old rows");
	if (wp_lsn_parse(wp_span_of(PQgetvalue(r, 0, LSN)), &c->view.lsn) != WP_OK ||
	    c->view.lsn == 0)
		return wp_error_set(error, WP_PROTO, "the server's answer has no position");
	c->view.state = WP_CLEANUP_LOOKED;
	start_timer(c, LOOKED_MAX_MS);
	return WP_OK;
}

static enum wp_rc looked(struct cleaner *c, const PGresult *r, struct wp_error *error)
{
	c->is_due = false;
	keep_waits(c, PQgetvalue(r, 0, WAITS));
	if (strcmp(PQgetvalue(r, 0, LOOKED), "0"))
		return keep_batch(c, r, error);
	next_table(c);
	return WP_OK;
}

static void removed(struct cleaner *c, const PGresult *r)
{
	uint64_t count = strtoull(PQgetvalue(r, 0, 0), NULL, 10);
	bool drops = c->setup.cleanup->mode == WP_CLEANUP_DROP;
	bool is_last = count == 0 || (!drops && c->batch.count < c->setup.cleanup->batch);
	int64_t took = c->batch.took_us + took_us(c);
	c->counts[c->at].removed += count;
	wp_log(WP_LOG_DEBUG, "rows_removed", WP_TEXT("outbox", current(c)->outbox),
	       WP_INT("rows", (int64_t)count), WP_INT("took_ms", took / 1000));
	if (is_last)
		next_table(c);
	else
		look_later(c, pause_after(c, took));
}

static enum wp_rc answer(void *arg, const PGresult *r, struct wp_error *error)
{
	struct cleaner *c = arg;
	enum wp_rc rc = WP_OK;
	if (PQntuples(r) != 1 || PQnfields(r) != (c->sent == STATEMENT_LOOK ? LOOK_COLUMNS : 1))
		return wp_error_set(error, WP_PROTO,
				    "the server's answer has another form than expected");
	if (c->sent == STATEMENT_LOOK)
		rc = looked(c, r, error);
	else
		removed(c, r);
	if (rc != WP_OK)
		look_now(c);
	wake(c);
	return rc;
}

/* The next look sees what was removed and what was not. One outbox that fails must not keep the
 * others from theirs. */
static bool failed(void *arg, const struct wp_source_failure *failure)
{
	struct cleaner *c = arg;
	(void)failure; /* the session says it, and waits before it asks again */
	if (c->view.state != WP_CLEANUP_CLOSED) {
		c->at = (c->at + 1) % c->table_count;
		look_now(c);
	}
	wake(c);
	return false;
}

static const char *cure(void *arg, const char *sqlstate)
{
	(void)arg; /* the same for all */
	if (!strcmp(sqlstate, "42883") || !strcmp(sqlstate, "3F000") || !strcmp(sqlstate, "42P01"))
		return "run walpost init or sql/cleanup.sql once as an administrator, or set "
		       "cleanup.mode = none";
	if (!strcmp(sqlstate, "42501"))
		return "run sql/grants.sql for the relay's role, and grant it USAGE on the schema "
		       "of the outbox, and SELECT and DELETE on the outbox (with cleanup.mode = "
		       "mark UPDATE of the column; with "
		       "drop-partitions the owner of the outbox runs sql/cleanup.sql)";
	if (!strcmp(sqlstate, "55P03"))
		return "another transaction holds the rows; they are tried again";
	if (!strcmp(sqlstate, "57014"))
		return "an index on the outbox's column.inserted makes the look fast";
	return NULL;
}

static void tell(struct cleaner *c, double now)
{
	if (now - c->trouble_since < TROUBLE_LASTS_S ||
	    (c->told > 0 && now - c->told < TROUBLE_EVERY_S))
		return;
	c->told = now;
	wp_log(WP_LOG_WARN, "cleanup_unavailable", WP_TEXT("reason", c->view.trouble.text));
}

static void changed(void *arg)
{
	struct cleaner *c = arg;
	double now = ev_time();
	c->view.trouble = *wp_async_session_trouble(c->session);
	if (c->view.trouble.text[0]) {
		if (c->trouble_since <= 0)
			c->trouble_since = now;
		tell(c, now);
		return;
	}
	if (c->told > 0)
		wp_log(WP_LOG_INFO, "cleanup_resumed", WP_INT("outboxes", (int64_t)c->table_count));
	c->trouble_since = c->told = 0;
}

static const struct wp_async_session_calls calls = {
	.wants = wants,
	.ask = ask,
	.answer = answer,
	.failed = failed,
	.changed = changed,
	.cure = cure,
};

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop, (void)events; /* one timer, always for its end */
	struct cleaner *c = timer->data;
	look_now(c);
	wp_async_session_poke(c->session);
}

/* -- the interface -------------------------------------------------------------------- */

static void open(struct wp_cleanup_store *s)
{
	struct cleaner *c = self(s);
	if (c->view.state != WP_CLEANUP_CLOSED || c->table_count == 0)
		return;
	c->at = 0;
	look_now(c);
	wp_async_session_poke(c->session);
}

static void close(struct wp_cleanup_store *s)
{
	struct cleaner *c = self(s);
	c->view.state = WP_CLEANUP_CLOSED; /* first: the session's end is heard */
	forget(c);
	c->is_due = false;
	ev_timer_stop(c->loop, &c->timer);
	wp_async_session_close(c->session);
	c->view.waits.text[0] = c->view.trouble.text[0] = '\0';
	c->trouble_since = c->told = 0;
}

static void remove_batch(struct wp_cleanup_store *s)
{
	struct cleaner *c = self(s);
	if (c->view.state != WP_CLEANUP_LOOKED)
		return;
	ev_timer_stop(c->loop, &c->timer);
	c->view.state = WP_CLEANUP_REMOVING;
	wp_async_session_poke(c->session);
}

static const struct wp_cleanup_view *view(struct wp_cleanup_store *s)
{
	return &self(s)->view;
}

static const struct wp_cleanup_store_ops ops = {
	.open = open,
	.close = close,
	.remove = remove_batch,
	.view = view,
};

/* Quotes by SQL's rules; returns the place behind it. */
static char *quote(char *to, const char *name)
{
	*to++ = '"';
	for (; *name; name++) {
		if (*name == '"')
			*to++ = '"';
		*to++ = *name;
	}
	*to++ = '"';
	return to;
}

static void copy_table(struct table *to, const struct wp_cleanup_table *from)
{
	char schema[NAME_SIZE], name[NAME_SIZE];
	(void)snprintf(schema, sizeof(schema), "%s", from->schema);
	(void)snprintf(name, sizeof(name), "%s", from->name);
	char *end = quote(to->qualified, schema);
	*end++ = '.';
	*quote(end, name) = '\0';
	(void)snprintf(to->outbox, sizeof(to->outbox), "%s", from->outbox);
	(void)snprintf(to->inserted, sizeof(to->inserted), "%s", from->inserted);
	(void)snprintf(to->id, sizeof(to->id), "%s", from->id);
	(void)snprintf(to->processed, sizeof(to->processed), "%s",
		       from->processed ? from->processed : "");
}

void wp_cleaner_set_tables(struct wp_cleanup_store *s, const struct wp_cleanup_table *tables,
			   size_t count)
{
	struct cleaner *c = self(s);
	close(s);
	c->table_count = count < WP_CLEANUP_TABLES_MAX ? count : WP_CLEANUP_TABLES_MAX;
	for (size_t i = 0; i < c->table_count; i++) {
		copy_table(&c->tables[i], &tables[i]);
		c->counts[i] = (struct wp_cleanup_count){ .outbox = c->tables[i].outbox };
	}
	c->view.count = c->table_count;
	wake(c);
}

/* -- life ------------------------------------------------------------------------------ */

struct wp_cleanup_store *wp_cleaner_new(struct ev_loop *loop, const struct wp_cleaner_setup *setup)
{
	struct cleaner *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	*c = (struct cleaner){ .base = { &ops }, .loop = loop, .setup = *setup };
	ev_timer_init(&c->timer, on_timer, 0., 0.);
	c->timer.data = c;
	c->session = wp_async_session_new(loop, &(struct wp_async_session_setup){
							.options = setup->options,
							.stream = setup->stream,
							.connection_of = wp_stream_connection,
							.purpose = "cleanup",
							.calls = &calls,
							.arg = c,
						});
	if (!c->session) {
		free(c);
		return NULL;
	}
	c->view.counts = c->counts;
	return &c->base;
}

void wp_cleaner_free(struct wp_cleanup_store *s)
{
	if (!s)
		return;
	struct cleaner *c = self(s);
	close(s);
	wp_async_session_free(c->session);
	free(c);
}
