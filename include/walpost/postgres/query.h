/*
 * Sends one SQL string on the loop, awaits it as events, and hands its last result to `done`. Works on plain
 * and, without parameters, on replication connections.
 *
 * Owns: its watchers, the results. Borrows: the PGconn, which must be idle. Calls `done` once, from the loop,
 * never from within wp_query_new().
 */
#ifndef WALPOST_POSTGRES_QUERY_H
#define WALPOST_POSTGRES_QUERY_H

#include <ev.h>
#include <libpq-fe.h>

#include "walpost/source/source.h"

struct wp_query;

/* `result` (borrowed for the call) is the last statement's, NULL when `failure` is set. */
typedef void (*wp_query_done)(void *arg, const PGresult *result,
			      const struct wp_source_failure *failure);

enum wp_rc wp_query_new(struct ev_loop *loop, PGconn *pg, const char *sql, wp_query_done done,
			void *arg, struct wp_query **ret, struct wp_error *error) WP_MUST_CHECK;
/* The statement and its parameters, as text: $1 is the first of `values`. All is copied. */
struct wp_query_statement {
	const char *sql;
	const char *const *values;
	size_t count;
};
enum wp_rc wp_query_statement_new(struct ev_loop *loop, PGconn *pg,
				  const struct wp_query_statement *statement, wp_query_done done,
				  void *arg, struct wp_query **ret,
				  struct wp_error *error) WP_MUST_CHECK;
/* May be called before or after `done`, also from within it. NULL is fine. */
void wp_query_free(struct wp_query *q);

#endif
