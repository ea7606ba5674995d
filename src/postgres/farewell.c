#include "walpost/postgres/farewell.h"

#include <stdlib.h>
#include <string.h>

#include "walpost/postgres/connection.h"
#include "walpost/postgres/query.h"

struct wp_farewell {
	struct ev_loop *loop; /* borrowed */
	struct wp_connection *connection;
	struct wp_query *query;
	char *sql;
	wp_farewell_done done;
	void *arg;
};

static void on_done(void *arg, const PGresult *result, const struct wp_source_failure *failure)
{
	(void)result; /* no row: another one has the slot by now */
	struct wp_farewell *f = arg;
	f->done(f->arg, failure ? &failure->why : NULL);
}

static void on_connected(void *arg)
{
	struct wp_farewell *f = arg;
	PGconn *pg = wp_connection_pg(f->connection);
	struct wp_why why;
	if (!pg) {
		f->done(f->arg, &wp_connection_failure(f->connection)->why);
		return;
	}
	if (wp_query_new(f->loop, pg, f->sql, on_done, f, &f->query, &why) != WP_OK)
		f->done(f->arg, &why);
}

enum wp_rc wp_farewell_new(struct ev_loop *loop, const struct wp_farewell_setup *setup,
			   struct wp_farewell **ret, struct wp_why *why)
{
	struct wp_farewell *f = calloc(1, sizeof(*f));
	if (!f)
		return wp_why_set(why, WP_NOMEM, "out of memory");
	*f = (struct wp_farewell){ .loop = loop, .done = setup->done, .arg = setup->arg };
	struct wp_connection_setup to = {
		.options = setup->options,
		.kind = WP_CONNECTION_QUESTIONS,
		.done = on_connected,
		.arg = f,
		.same_as = setup->same_as,
	};
	f->sql = strdup(setup->sql);
	enum wp_rc rc = f->sql ? wp_connection_new(loop, &to, &f->connection, why)
			       : wp_why_set(why, WP_NOMEM, "out of memory");
	if (rc != WP_OK) {
		wp_farewell_free(f);
		return rc;
	}
	*ret = f;
	return WP_OK;
}

void wp_farewell_free(struct wp_farewell *f)
{
	if (!f)
		return;
	wp_query_free(f->query);
	wp_connection_free(f->connection);
	free(f->sql);
	free(f);
}
