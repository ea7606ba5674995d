#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/log.h"
#include "walpost/postgres/connection.h"
#include "walpost/postgres/probe.h"
#include "walpost/postgres/query.h"

struct wp_probe_question {
	struct ev_loop *loop; /* borrowed */
	void (*done)(void *arg);
	void *arg;
	struct wp_connection *connection;
	struct wp_query *query; /* for the root only */
	ev_timer limit;
	double limit_s;
	enum wp_probe answer;
	struct wp_root root;
};

static void finish(struct wp_probe_question *q)
{
	ev_timer_stop(q->loop, &q->limit);
	wp_query_free(q->query);
	q->query = NULL;
	wp_connection_free(q->connection);
	q->connection = NULL;
	q->done(q->arg);
}

/*
 * While a stream of ours lives the server cannot be starting up, so that its "cannot
 * connect now" means that it stops.
 */
static enum wp_probe judge(const struct wp_connection *c)
{
	if (wp_connection_pg(c))
		return WP_PROBE_ALIVE;
	const struct wp_source_failure *f = wp_connection_failure(c);
	if (!strcmp(f->sqlstate, "57P03"))
		return WP_PROBE_STOPPING;
	/* A server that refuses us, or TLS that fails, is there all the same. */
	bool answered = *f->sqlstate || f->reaction != WP_REACT_RECONNECT;
	return answered ? WP_PROBE_ALIVE : WP_PROBE_UNREACHABLE;
}

static void on_connected(void *arg)
{
	struct wp_probe_question *q = arg;
	q->answer = judge(q->connection);
	finish(q);
}

void wp_root_sql(uint32_t leaf_oid, char sql[WP_ROOT_SQL_SIZE])
{
	(void)snprintf(sql, WP_ROOT_SQL_SIZE,
		       "SELECT n.nspname, c.relname FROM pg_catalog.pg_class c "
		       "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
		       "WHERE c.oid = pg_catalog.pg_partition_root(%u::oid)",
		       leaf_oid);
}

void wp_root_read(const PGresult *result, struct wp_root *ret)
{
	ret->state = WP_ROOT_GONE;
	if (PQntuples(result) == 0)
		return;
	ret->state = WP_ROOT_KNOWN;
	(void)snprintf(ret->schema, sizeof(ret->schema), "%s", PQgetvalue(result, 0, 0));
	(void)snprintf(ret->name, sizeof(ret->name), "%s", PQgetvalue(result, 0, 1));
}

static void finish_without_root(struct wp_probe_question *q, const struct wp_why *why)
{
	wp_log(WP_LOG_WARN, "root_unknown", WP_INT("leaf", q->root.leaf_oid),
	       WP_TEXT("why", why->text));
	q->root.state = WP_ROOT_FAILED;
	finish(q);
}

static void on_root(void *arg, const PGresult *result, const struct wp_source_failure *failure)
{
	struct wp_probe_question *q = arg;
	if (failure) {
		finish_without_root(q, &failure->why);
		return;
	}
	wp_root_read(result, &q->root);
	finish(q);
}

static void on_limit(struct ev_loop *loop, ev_timer *w, int events)
{
	(void)loop, (void)events; /* one timer, always for its end */
	struct wp_why why;
	(void)wp_why_set(&why, WP_IO, "the server did not answer in time");
	finish_without_root(w->data, &why);
}

static void ask_root(void *arg)
{
	struct wp_probe_question *q = arg;
	PGconn *pg = wp_connection_pg(q->connection);
	if (!pg) {
		finish_without_root(q, &wp_connection_failure(q->connection)->why);
		return;
	}
	char sql[WP_ROOT_SQL_SIZE];
	struct wp_why why;
	wp_root_sql(q->root.leaf_oid, sql);
	if (wp_query_new(q->loop, pg, sql, on_root, q, &q->query, &why) != WP_OK) {
		finish_without_root(q, &why);
		return;
	}
	ev_now_update(q->loop);
	ev_timer_set(&q->limit, q->limit_s, 0.);
	ev_timer_start(q->loop, &q->limit);
}

static enum wp_rc begin(struct ev_loop *loop, const struct wp_probe_setup *setup,
			void (*connected)(void *arg), struct wp_probe_question **ret,
			struct wp_why *why)
{
	struct wp_probe_question *q = calloc(1, sizeof(*q));
	if (!q)
		return wp_why_set(why, WP_NOMEM, "out of memory for a question to the server");
	q->loop = loop;
	q->done = setup->done;
	q->arg = setup->arg;
	q->limit_s = (double)setup->options->connect_timeout_ms / 1000.;
	ev_timer_init(&q->limit, on_limit, 0., 0.);
	q->limit.data = q;
	struct wp_connection_setup to = {
		.options = setup->options,
		.kind = WP_CONNECTION_QUESTIONS,
		.done = connected,
		.arg = q,
		.same_as = setup->same_as,
	};
	enum wp_rc rc = wp_connection_new(loop, &to, &q->connection, why);
	if (rc != WP_OK) {
		free(q);
		return rc;
	}
	*ret = q;
	return WP_OK;
}

enum wp_rc wp_probe_new(struct ev_loop *loop, const struct wp_probe_setup *setup,
			struct wp_probe_question **ret, struct wp_why *why)
{
	enum wp_rc rc = begin(loop, setup, on_connected, ret, why);
	if (rc == WP_OK)
		(*ret)->answer = WP_PROBE_RUNNING;
	return rc;
}

enum wp_rc wp_probe_root_new(struct ev_loop *loop, const struct wp_probe_setup *setup,
			     uint32_t leaf_oid, struct wp_probe_question **ret, struct wp_why *why)
{
	enum wp_rc rc = begin(loop, setup, ask_root, ret, why);
	if (rc == WP_OK)
		(*ret)->root = (struct wp_root){ .state = WP_ROOT_ASKING, .leaf_oid = leaf_oid };
	return rc;
}

void wp_probe_free(struct wp_probe_question *q)
{
	if (!q)
		return;
	ev_timer_stop(q->loop, &q->limit);
	wp_query_free(q->query);
	wp_connection_free(q->connection);
	free(q);
}

enum wp_probe wp_probe_answer(const struct wp_probe_question *q)
{
	return q->answer;
}

const struct wp_root *wp_probe_root(const struct wp_probe_question *q)
{
	return &q->root;
}
