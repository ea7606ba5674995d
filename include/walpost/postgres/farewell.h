/*
 * The last word to the witness after a stream: how far the slot may stand by us. On a
 * connection of its own.
 *
 * Owns: its connection and query. Borrows: loop, options and the row with its texts. Calls `done` once, from the loop,
 * never from within new; `done` may free it. Not bounded in time: whoever waits for it has a
 * limit, and frees it.
 */
#ifndef WALPOST_POSTGRES_FAREWELL_H
#define WALPOST_POSTGRES_FAREWELL_H

#include <ev.h>
#include <libpq-fe.h>

#include "walpost/base/why.h"
#include "walpost/postgres/options.h"
#include "walpost/postgres/witness.h"

struct wp_farewell;

/* `why` is NULL when it was done. */
typedef void (*wp_farewell_done)(void *arg, const struct wp_why *why);

struct wp_farewell_setup {
	const struct wp_postgres_options *options;
	const PGconn *same_as; /* the stream's, NULL: it is gone; for wp_farewell_new only */
	struct wp_witness_row row;
	wp_lsn confirmed;   /* 0: we never had the slot, and only the trouble is written */
	char walsender[16]; /* that was ours; "0": none */
	wp_farewell_done done;
	void *arg;
};

enum wp_rc wp_farewell_new(struct ev_loop *loop, const struct wp_farewell_setup *setup,
			   struct wp_farewell **ret, struct wp_why *why) WP_MUST_CHECK;
/* NULL is fine. */
void wp_farewell_free(struct wp_farewell *f);

#endif
