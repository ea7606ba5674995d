/*
 * One last statement on the connection of a stream that has ended in good order: what
 * is left of the COPY is read away without blocking, then the statement is run.
 *
 * Owns: its watchers, the query. Borrows: the PGconn, on which nobody else waits. Calls `done`
 * once, from the loop, never from within new; `done` may free it. Not bounded in time: whoever
 * waits for it has a limit, and frees it.
 */
#ifndef WALPOST_POSTGRES_FAREWELL_H
#define WALPOST_POSTGRES_FAREWELL_H

#include <ev.h>
#include <libpq-fe.h>

#include "walpost/base/why.h"

struct wp_farewell;

/* `why` is NULL when it was done. */
typedef void (*wp_farewell_done)(void *arg, const struct wp_why *why);

enum wp_rc wp_farewell_new(struct ev_loop *loop, PGconn *pg, const char *sql, wp_farewell_done done,
			   void *arg, struct wp_farewell **ret, struct wp_why *why) WP_MUST_CHECK;
/* NULL is fine. */
void wp_farewell_free(struct wp_farewell *f);

#endif
