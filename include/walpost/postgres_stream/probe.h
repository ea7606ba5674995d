/*
 * Is the server shutting down? It is asked on a connection of its own, for the stream's brings no
 * answer while it is not read.
 *
 * Owns: its connection. Borrows: loop and options. Calls `done` once, from the loop;
 * `done` may free it. Bounded: by connect_timeout_ms.
 */
#ifndef WALPOST_POSTGRES_STREAM_PROBE_H
#define WALPOST_POSTGRES_STREAM_PROBE_H

#include <ev.h>
#include <libpq-fe.h>

#include "walpost/postgres/options.h"
#include "walpost/source/source.h"

struct wp_probe_setup {
	const struct wp_postgres_options *options;
	const PGconn *same_as; /* the stream's, or NULL; for new only */
	void (*done)(void *arg);
	void *arg;
};

struct wp_probe_question;

enum wp_rc wp_probe_new(struct ev_loop *loop, const struct wp_probe_setup *setup,
			struct wp_probe_question **ret, struct wp_error *error) WP_MUST_CHECK;
/* NULL is fine. */
void wp_probe_free(struct wp_probe_question *q);
/* It is valid after `done`. */
enum wp_probe wp_probe_answer(const struct wp_probe_question *q);

#endif
