/*
 * Removes rows of the outboxes whose events are in Kafka (source/cleanup.h, by sql/cleanup.sql), in a session beside the
 * stream: one outbox after the other, batch after batch, the oldest rows first. After each batch it waits three times
 * as long as the server needed for it, and at least the pause; when nothing is old enough, the interval.
 *
 * With WP_CLEANUP_DROP a batch is a partition, and before each look partitions are made ahead.
 *
 * A batch that may not be removed within ten minutes, for Kafka is away say, is looked at again; one that was looked at on
 * another server, or before it was started anew, is not removed. What fails is tried again with backoff, from the look at
 * the next outbox on, and logged once a minute when it lasts (`cleanup_unavailable`).
 *
 * Owns: its session, a copy of the tables' names. Borrows: loop, options and stream until free. Bounded: one batch.
 * Single-threaded, on the loop.
 */
#ifndef WALPOST_POSTGRES_STREAM_CLEANER_H
#define WALPOST_POSTGRES_STREAM_CLEANER_H

#include <ev.h>

#include "walpost/base/wake.h"
#include "walpost/postgres/options.h"
#include "walpost/source/cleanup.h"
#include "walpost/source/source.h"

#define WP_CLEANUP_TABLES_MAX 64

/* Names are as in the catalog. */
struct wp_cleanup_table {
	const char *outbox; /* for people */
	const char *schema;
	const char *name;
	const char *inserted;  /* column: when the row was inserted */
	const char *id;	       /* column: of the event */
	const char *processed; /* column that is set, with mode mark; NULL: rows are deleted */
};

struct wp_cleaner_setup {
	const struct wp_postgres_options *options;
	const struct wp_cleanup_options *cleanup;
	struct wp_source *stream; /* wp_stream_new()'s: the same server. NULL: for a test */
	struct wp_wake wake;
};

/* It is closed at first, and has no table. Returns NULL when out of memory. */
struct wp_cleanup_store *wp_cleaner_new(struct ev_loop *loop, const struct wp_cleaner_setup *setup);
/* These tables count from now on; they are copied, and are at most TABLES_MAX. Closes, for the relay to
 * open again. Counts begin anew. */
void wp_cleaner_set_tables(struct wp_cleanup_store *s, const struct wp_cleanup_table *tables,
			   size_t count);
/* Ends it at once; NULL is fine. */
void wp_cleaner_free(struct wp_cleanup_store *s);

#endif
