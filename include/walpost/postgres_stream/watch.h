/*
 * Keeps one more connection beside the stream, for what must be known while it runs: does the
 * publication still bring the outbox, is the slot's log kept, which tables are partitions of
 * an outbox? And now and then it writes into the slot checkpoint row how far we are.
 *
 * Only for the partitions somebody waits. What else cannot be asked is not asked, with
 * backoff, and one warning in the log for as long as that lasts. The connection is given back every ten
 * seconds, and after a slow answer, for a server that shuts down "smart" waits for every client to leave.
 *
 * Owns: its connection and query. Borrows: loop, the setup's pointers, all until free.
 * Calls `done` from the loop after each question, answered or not. Bounded: by
 * connect_timeout_ms, and a quarter of a minute for a statement.
 */
#ifndef WALPOST_POSTGRES_STREAM_WATCH_H
#define WALPOST_POSTGRES_STREAM_WATCH_H

#include <ev.h>
#include <libpq-fe.h>

#include "walpost/postgres/options.h"
#include "walpost/postgres_preflight/slot_checkpoint.h"
#include "walpost/wal/partitions.h"

struct wp_watch_setup {
	const struct wp_postgres_options *options;
	const struct wp_requirements *wanted;
	PGconn *same_as; /* the stream's: the same server is asked, and its encoding quoted for */
	void (*done)(void *arg);
	/* The slot checkpoint row now says what was asked for; the arguments are what
	 * wp_slot_checkpoint_note_sql gives. */
	void (*written)(void *arg, const char *slot, bool was_anothers);
	/* There is an answer, which may be taken: it is then left all zeroes. NULL when there is none. */
	void (*partitions)(void *arg, struct wp_partitions *answer);
	void *arg;
};

struct wp_watch;

/* It connects when it is first asked something. Returns NULL when out of memory. */
struct wp_watch *wp_watch_new(struct ev_loop *loop, const struct wp_watch_setup *setup);
/* Ends it at once; NULL is fine. */
void wp_watch_free(struct wp_watch *w);
/* Asks for the state of the slot, unless that is under way or has failed too lately. */
void wp_watch_ask(struct wp_watch *w);
/* Asks for the partitions, before all else; `partitions` is called once. */
void wp_watch_ask_partitions(struct wp_watch *w);
/* Writes the row (wp_slot_checkpoint_note_sql) when it can; of several that wait it writes the newest. */
void wp_watch_write_down(struct wp_watch *w, const struct wp_slot_checkpoint_row *row,
			 const char *walsender, wp_lsn confirmed);
const struct wp_slot_state *wp_watch_slot_state(const struct wp_watch *w);

#endif
