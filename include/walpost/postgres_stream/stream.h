/*
 * The real source: it has a replication connection on the loop (libev) and, until the stream starts, one for
 * SQL beside it. It never blocks: names are resolved on the worker, connecting is polled, SQL is sent and
 * awaited as events.
 *
 * Owns: its connections and watchers. Borrows: loop, options, wake. Bounded: by libpq's input buffer (largest
 * row, about twice).
 */
#ifndef WALPOST_POSTGRES_STREAM_STREAM_H
#define WALPOST_POSTGRES_STREAM_STREAM_H

#include <ev.h>
#include <libpq-fe.h>

#include "walpost/base/wake.h"
#include "walpost/postgres/options.h"
#include "walpost/source/source.h"

struct wp_stream_setup {
	const struct wp_postgres_options *options;
	struct wp_requirements wanted;
	const char *owner;    /* this process's name in the slot checkpoint row, < WP_OWNER_SIZE */
	uint16_t epoch;	      /* written there too */
	bool removes_dropped; /* with cleanup.dropped = remove */
	bool prints;	      /* with relay.sink = stdout */
	struct wp_wake wake;
};

/* Returns WP_CONFIG with the error when libpq does not take the conninfo. */
enum wp_rc wp_stream_new(struct ev_loop *loop, const struct wp_stream_setup *setup,
			 struct wp_source **ret, struct wp_error *error) WP_MUST_CHECK;
void wp_stream_free(struct wp_source *s);
/* The connection of the stream, for who has to do with the same server, or NULL when it is not connected.
 * Valid until the next call of an operation. */
const PGconn *wp_stream_connection(const struct wp_source *s);

#endif
