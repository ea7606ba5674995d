/*
 * Writes the last word to the slot checkpoint after a stream, how far the slot may stand by us, on a
 * connection of its own.
 *
 * Owns: its connection and query. Borrows: loop, options and the row with its texts. Calls `done` once, from
 * the loop, never from within new; `done` may free it. Not bounded in time: whoever waits for it has a limit,
 * and frees it.
 */
#ifndef WALPOST_POSTGRES_STREAM_LAST_SLOT_CHECKPOINT_H
#define WALPOST_POSTGRES_STREAM_LAST_SLOT_CHECKPOINT_H

#include <ev.h>
#include <libpq-fe.h>

#include "walpost/base/error.h"
#include "walpost/postgres/options.h"
#include "walpost/postgres_preflight/slot_checkpoint.h"

struct wp_last_slot_checkpoint;

/* `error` is NULL when it was done. */
typedef void (*wp_last_slot_checkpoint_done)(void *arg, const struct wp_error *error);

struct wp_last_slot_checkpoint_setup {
	const struct wp_postgres_options *options;
	const PGconn *
		same_as; /* the stream's, for wp_last_slot_checkpoint_new() only; NULL: it is gone */
	struct wp_slot_checkpoint_row row;
	wp_lsn confirmed;   /* 0: we never had the slot, and only the trouble is written */
	char walsender[16]; /* that was ours; "0": none */
	wp_last_slot_checkpoint_done done;
	void *arg;
};

enum wp_rc wp_last_slot_checkpoint_new(struct ev_loop *loop,
				       const struct wp_last_slot_checkpoint_setup *setup,
				       struct wp_last_slot_checkpoint **ret,
				       struct wp_error *error) WP_MUST_CHECK;
/* NULL is fine. */
void wp_last_slot_checkpoint_free(struct wp_last_slot_checkpoint *f);

#endif
