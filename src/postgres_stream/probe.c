#include <stdlib.h>
#include <string.h>

#include "walpost/postgres/connection.h"
#include "walpost/postgres_stream/probe.h"

struct wp_probe_question {
	void (*done)(void *arg);
	void *arg;
	struct wp_connection *connection;
	enum wp_probe answer;
};

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
	wp_connection_free(q->connection);
	q->connection = NULL;
	q->done(q->arg);
}

enum wp_rc wp_probe_new(struct ev_loop *loop, const struct wp_probe_setup *setup,
			struct wp_probe_question **ret, struct wp_error *error)
{
	struct wp_probe_question *q = calloc(1, sizeof(*q));
	if (!q)
		return wp_error_set(error, WP_NOMEM, "out of memory for a question to the server");
	q->done = setup->done;
	q->arg = setup->arg;
	q->answer = WP_PROBE_RUNNING;
	struct wp_connection_setup to = {
		.options = setup->options,
		.kind = WP_CONNECTION_QUESTIONS,
		.done = on_connected,
		.arg = q,
		.same_as = setup->same_as,
	};
	enum wp_rc rc = wp_connection_new(loop, &to, &q->connection, error);
	if (rc != WP_OK) {
		free(q);
		return rc;
	}
	*ret = q;
	return WP_OK;
}

void wp_probe_free(struct wp_probe_question *q)
{
	if (!q)
		return;
	wp_connection_free(q->connection);
	free(q);
}

enum wp_probe wp_probe_answer(const struct wp_probe_question *q)
{
	return q->answer;
}
