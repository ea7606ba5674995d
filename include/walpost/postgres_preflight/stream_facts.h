/*
 * Asks what must be known before a stream may start, one after the other: system and timelines on its
 * replication connection, and by SQL on one beside it every precondition (preflight), the slot, the slot
 * checkpoint row, columns and partitions. Ends an old walsender of ours that still holds the slot.
 *
 * Owns: its query. Borrows: both PGconns, which must be idle, and the setup's pointers. Calls `done` once,
 * from the loop, never from within new.
 */
#ifndef WALPOST_POSTGRES_PREFLIGHT_STREAM_FACTS_H
#define WALPOST_POSTGRES_PREFLIGHT_STREAM_FACTS_H

#include <ev.h>
#include <libpq-fe.h>

#include "walpost/postgres/options.h"
#include "walpost/source/source.h"

/* This names a server process unmistakably: a pid may come again, with its start time it may not. */
struct wp_walsender {
	char pid[16];
	char started[64];
};

enum wp_asking {
	WP_ASK_FIRST, /* all; what preflight warns of is logged */
	WP_ASK_ALL,
	WP_ASK_AGAIN, /* all but preflight */
};

struct wp_stream_facts_setup {
	const struct wp_postgres_options *options;
	const struct wp_requirements *wanted;
	struct wp_walsender old; /* ours that streamed last; empty: none */
	enum wp_asking asking;
};

struct wp_stream_facts_answer {
	struct wp_source_facts source;
	/* They are not asked for while another has the slot. They may be taken: then they are to be left all zeroes. */
	struct wp_partitions partitions;
	struct wp_walsender self;	       /* the replication connection's */
	struct wp_error slot_checkpoint_error; /* what is wrong with its row or columns, or "" */
};

/* `answer` is NULL when `failure` is set; both are valid for the call. */
typedef void (*wp_stream_facts_done)(void *arg, struct wp_stream_facts_answer *answer,
				     const struct wp_source_failure *failure);

struct wp_stream_facts;

enum wp_rc wp_stream_facts_new(struct ev_loop *loop, PGconn *replication, PGconn *pg,
			       const struct wp_stream_facts_setup *setup, wp_stream_facts_done done,
			       void *arg, struct wp_stream_facts **ret,
			       struct wp_error *error) WP_MUST_CHECK;
/* May be called from within `done`, too. NULL is fine. */
void wp_stream_facts_free(struct wp_stream_facts *f);

#endif
