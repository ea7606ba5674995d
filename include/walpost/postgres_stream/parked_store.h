/*
 * Parked events, rows of walpost.parked (sql/parked.sql), read and written beside the stream: the
 * implementation of source/parked.h on a connection of its own.
 *
 * It connects when there is something to do, to the server of the stream. The connection is given
 * back every ten seconds, for a server that shuts down "smart" waits for every client to leave; so
 * nothing here depends on a session. What fails is tried again with backoff.
 *
 * A commit counts as durable when the server has answered it: with synchronous_commit = off it is
 * set to on. Where the relay may itself be among the synchronous standbys it is set to local, or a
 * commit waits for us who wait for it. A slot with `failover` may go on at a standby: there a commit
 * counts once each slot of synchronized_standby_slots is past it, as for the server's own walsender.
 *
 * Owns: its connection and query, what was put and is to be changed, all answers. Borrows: loop, and
 * the setup's pointers, until free. Calls `wake` from the loop, and from open(), put() and the others
 * when a connection cannot even begin. Bounded: by source/parked.h; 15 s for a statement, 2 min to
 * read the set.
 */
#ifndef WALPOST_POSTGRES_STREAM_PARKED_STORE_H
#define WALPOST_POSTGRES_STREAM_PARKED_STORE_H

#include <ev.h>

#include "walpost/base/wake.h"
#include "walpost/postgres/options.h"
#include "walpost/source/parked.h"
#include "walpost/source/source.h"

struct wp_parked_store_setup {
	const struct wp_postgres_options *options;
	const char *owner; /* this process's name in walpost.parking */
	/*
	 * The source of wp_stream_new(), which has the slot when open() is called. The store is connected to
	 * its server while it is connected, and the generation is raised only while its walsender has the
	 * slot. NULL: for a test.
	 */
	struct wp_source *stream;
	struct wp_wake wake; /* view() or collect() may say something new */
};

/* Returns NULL when out of memory. */
struct wp_parked_store *wp_parked_store_new(struct ev_loop *loop,
					    const struct wp_parked_store_setup *setup);
/* Ends it at once; NULL is fine. */
void wp_parked_store_free(struct wp_parked_store *s);

#endif
