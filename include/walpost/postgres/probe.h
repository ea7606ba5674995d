/*
 * Two questions that cannot wait for the stream's own connection, each asked on
 * one of its own: is the server shutting down, and which partitioned table is this
 * leaf's root?
 *
 * Owns: its connection and query. Borrows: loop and options. Calls `done` once, from
 * the loop; `done` may free it. Bounded: by connect_timeout_ms, the question once more.
 */
#ifndef WALPOST_POSTGRES_PROBE_H
#define WALPOST_POSTGRES_PROBE_H

#include <ev.h>
#include <libpq-fe.h>

#include "walpost/postgres/options.h"
#include "walpost/wal/source.h"

struct wp_probe_setup {
	const struct wp_postgres_options *options;
	const PGconn *same_as; /* the stream's, or NULL; for new only */
	void (*done)(void *arg);
	void *arg;
};

#define WP_ROOT_SQL_SIZE 256

/* The question itself, for who asks it on a connection of his own. */
void wp_root_sql(uint32_t leaf_oid, char sql[WP_ROOT_SQL_SIZE]);
/* Of its answer: KNOWN with its names, or GONE. */
void wp_root_read(const PGresult *result, struct wp_root *ret);

struct wp_probe_question;

enum wp_rc wp_probe_new(struct ev_loop *loop, const struct wp_probe_setup *setup,
			struct wp_probe_question **ret, struct wp_why *why) WP_MUST_CHECK;
enum wp_rc wp_probe_root_new(struct ev_loop *loop, const struct wp_probe_setup *setup,
			     uint32_t leaf_oid, struct wp_probe_question **ret,
			     struct wp_why *why) WP_MUST_CHECK;
/* NULL is fine. */
void wp_probe_free(struct wp_probe_question *q);
/* Valid after `done`. */
enum wp_probe wp_probe_answer(const struct wp_probe_question *q);
const struct wp_root *wp_probe_root(const struct wp_probe_question *q);

#endif
