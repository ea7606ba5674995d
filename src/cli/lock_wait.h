/*
 * For whom does a session of a command wait? A second session of the same server asks this while
 * the first waits: afterwards nobody knows.
 *
 * Owns: nothing. Borrows: its arguments. Pure.
 */
#ifndef WALPOST_SRC_CLI_LOCK_WAIT_H
#define WALPOST_SRC_CLI_LOCK_WAIT_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "walpost/base/error.h"
#include "walpost/postgres/sql.h"

/* A wait is told when it has lasted this long. */
#define WP_LOCK_WAIT_S 8

/* Writes a SELECT that gives a row when the backend `waiter` has waited that long for a lock, and none else. */
void wp_lock_wait_sql(struct wp_sql *sql, int waiter);
/* Is it the lock of a table, and not of a row or a transaction? */
bool wp_lock_wait_is_for_table(const PGresult *answer);
/* Says what is locked, by whom, and what to do. */
void wp_lock_wait_say(const PGresult *answer, struct wp_error *ret);

#endif
