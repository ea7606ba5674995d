/*
 * Runs one replication stream: START_REPLICATION, COPY BOTH, and its end in any of the ways there are.
 *
 * It reads only after the socket was readable, and stops watching while nobody asks for frames, so that an idle or paused
 * relay costs nothing; but a paused one that the server does not hear any more (receive_batching.h) reads some into libpq,
 * to be taken later. What comes gathers for as long as receive_batching.h says before next() gives any of it. What the
 * socket does not take of a status follows when it can; of those that wait, only the newest is sent.
 *
 * Owns: its watchers, a timer and the frame it handed out last. Borrows: the PGconn, idle at the start and only good for
 * closing afterwards. Calls `wake` after changes of its state and when next() may have something. Bounded: by libpq's input
 * buffer (the largest row, about twice).
 */
#ifndef WALPOST_POSTGRES_STREAM_COPY_H
#define WALPOST_POSTGRES_STREAM_COPY_H

#include <ev.h>
#include <libpq-fe.h>

#include "walpost/base/wake.h"
#include "walpost/wal/pgoutput.h"
#include "walpost/source/source.h"

enum wp_copy_state {
	WP_COPY_STARTING,
	WP_COPY_RUNNING,
	WP_COPY_FINISHING,
	WP_COPY_FINISHED,
	WP_COPY_FAILED,
};

struct wp_copy_setup {
	const char *slot;
	const char *publication;
	bool reissue; /* its publication too */
	wp_lsn at;
	enum wp_transfer transfer;
	struct wp_wake wake;
};

struct wp_copy;

/* Returns WP_IO, WP_NOMEM with the error. */
enum wp_rc wp_copy_new(struct ev_loop *loop, PGconn *pg, const struct wp_copy_setup *setup,
		       struct wp_copy **ret, struct wp_error *error) WP_MUST_CHECK;
void wp_copy_free(struct wp_copy *c);
enum wp_copy_state wp_copy_state(const struct wp_copy *c);
/* It is valid in WP_COPY_FAILED. */
const struct wp_source_failure *wp_copy_failure(const struct wp_copy *c);
/* These four are as in wp_source_ops, and for RUNNING only. */
enum wp_rc wp_copy_next(struct wp_copy *c, struct wp_span *ret);
enum wp_rc wp_copy_status(struct wp_copy *c, const struct wp_status *status);
void wp_copy_reading(struct wp_copy *c, enum wp_reading reading);
void wp_copy_finish(struct wp_copy *c);

#endif
