/*
 * One last statement beside a stream that has ended in good order, on a connection of its
 * own.
 *
 * Owns: its connection and query. Borrows: loop, options. Calls `done` once, from the loop,
 * never from within new; `done` may free it. Not bounded in time: whoever waits for it has a
 * limit, and frees it.
 */
#ifndef WALPOST_POSTGRES_FAREWELL_H
#define WALPOST_POSTGRES_FAREWELL_H

#include <ev.h>
#include <libpq-fe.h>

#include "walpost/base/why.h"
#include "walpost/postgres/options.h"

struct wp_farewell;

/* `why` is NULL when it was done. */
typedef void (*wp_farewell_done)(void *arg, const struct wp_why *why);

struct wp_farewell_setup {
	const struct wp_postgres_options *options;
	const PGconn *same_as; /* the stream's; for wp_farewell_new only */
	const char *sql;       /* copied */
	wp_farewell_done done;
	void *arg;
};

enum wp_rc wp_farewell_new(struct ev_loop *loop, const struct wp_farewell_setup *setup,
			   struct wp_farewell **ret, struct wp_why *why) WP_MUST_CHECK;
/* NULL is fine. */
void wp_farewell_free(struct wp_farewell *f);

#endif
