#include "walpost/postgres_stream/last_slot_checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "walpost/base/buffer.h"
#include "walpost/base/log.h"
#include "walpost/postgres/connection.h"
#include "walpost/postgres/query.h"

#define SQL_SIZE_MAX (1024 * 1024)

struct wp_last_slot_checkpoint {
	struct ev_loop *loop; /* borrowed */
	struct wp_connection *connection;
	struct wp_query *query;
	struct wp_last_slot_checkpoint_setup setup;
};

static void on_done(void *arg, const PGresult *result, const struct wp_source_failure *failure)
{
	struct wp_last_slot_checkpoint *f = arg;
	if (!failure && strcmp(PQcmdTuples((PGresult *)result), "1") != 0)
		wp_log(WP_LOG_INFO, "checkpoint_not_written",
		       WP_TEXT("reason",
			       "another process uses the slot, or the row in "
			       "walpost.slot_checkpoint is missing or belongs to another relay"));
	f->setup.done(f->setup.arg, failure ? &failure->error : NULL);
}

static void on_connected(void *arg)
{
	struct wp_last_slot_checkpoint *f = arg;
	PGconn *pg = wp_connection_pg(f->connection);
	struct wp_buffer sql;
	struct wp_error error;
	if (!pg) {
		f->setup.done(f->setup.arg, &wp_connection_failure(f->connection)->error);
		return;
	}
	wp_buffer_init(&sql, SQL_SIZE_MAX);
	enum wp_rc rc = f->setup.confirmed == 0
				? wp_slot_checkpoint_trouble_sql(pg, &f->setup.row, &sql, &error)
				: wp_slot_checkpoint_end_sql(pg, &f->setup.row, f->setup.walsender,
							     f->setup.confirmed, &sql, &error);
	if (rc == WP_OK)
		rc = wp_query_new(f->loop, pg, (const char *)sql.data, on_done, f, &f->query,
				  &error);
	wp_buffer_release(&sql);
	if (rc != WP_OK)
		f->setup.done(f->setup.arg, &error);
}

enum wp_rc wp_last_slot_checkpoint_new(struct ev_loop *loop,
				       const struct wp_last_slot_checkpoint_setup *setup,
				       struct wp_last_slot_checkpoint **ret, struct wp_error *error)
{
	struct wp_last_slot_checkpoint *f = calloc(1, sizeof(*f));
	if (!f)
		return wp_error_set(error, WP_NOMEM, "out of memory");
	*f = (struct wp_last_slot_checkpoint){ .loop = loop, .setup = *setup };
	struct wp_connection_setup to = {
		.options = setup->options,
		.kind = WP_CONNECTION_QUESTIONS,
		.done = on_connected,
		.arg = f,
		.same_as = setup->same_as,
	};
	enum wp_rc rc = wp_connection_new(loop, &to, &f->connection, error);
	if (rc != WP_OK) {
		wp_last_slot_checkpoint_free(f);
		return rc;
	}
	*ret = f;
	return WP_OK;
}

void wp_last_slot_checkpoint_free(struct wp_last_slot_checkpoint *f)
{
	if (!f)
		return;
	wp_query_free(f->query);
	wp_connection_free(f->connection);
	free(f);
}
