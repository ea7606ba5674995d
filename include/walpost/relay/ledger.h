/*
 * The ledger answers one question: up to which WAL position may Postgres
 * forget? It holds one entry per transaction with events, in commit order. The
 * answer moves past an entry only when that entry is closed (COMMIT was seen)
 * and settled (the sink confirmed every event), and so did all entries before it.
 *
 * Two positions: `confirmed_lsn` goes to Postgres as flush; `received_lsn` is how far the stream
 * was taken, whole transactions only: where to resume while tickets live on.
 *
 * Owns: two rings, of events and of transactions. Calls: nothing.
 * Single-threaded. Bounded: at most events_max tickets between the oldest
 * unconfirmed event and the newest, which bounds the entries too: each holds at
 * least one of them, but for an open one whose events are all confirmed, which is
 * then the only one.
 */
#ifndef WALPOST_RELAY_LEDGER_H
#define WALPOST_RELAY_LEDGER_H

#include <stdbool.h>

#include "walpost/base/error.h"
#include "walpost/sink/sink.h"
#include "walpost/wal/lsn.h"

struct wp_ledger_event {
	uint64_t entry; /* number of its transaction */
	size_t size;
	bool settled;
};

struct wp_ledger_entry {
	wp_lsn end_lsn; /* where confirmed_lsn goes when this is passed; 0: nowhere (dropped) */
	size_t pending; /* events not confirmed yet */
	bool closed;
};

struct wp_ledger {
	struct wp_ledger_event *events;	 /* owned ring, by ticket */
	struct wp_ledger_entry *entries; /* owned ring, by entry number */
	size_t events_max;
	size_t bytes_max;
	wp_ticket first_ticket; /* the oldest that may be unconfirmed */
	wp_ticket next_ticket;
	uint64_t first_entry;
	uint64_t next_entry;
	bool open; /* the newest entry waits for its COMMIT */
	bool lost; /* a ticket will never be settled: only a stream from the confirmed LSN heals that */
	size_t in_flight;
	size_t bytes;
	size_t bytes_highest; /* since wp_ledger_take_highest() */
	wp_lsn confirmed_lsn;
	wp_lsn received_lsn;
};

enum wp_settled { WP_SETTLED, WP_SETTLED_ALREADY /* forgotten or confirmed before: ignored */ };

enum wp_rc wp_ledger_init(struct wp_ledger *l, size_t events_max, size_t bytes_max) WP_MUST_CHECK;
void wp_ledger_release(struct wp_ledger *l);
/* Bounds are higher from now on; neither may be lower than before. WP_NOMEM: as before. */
enum wp_rc wp_ledger_widen(struct wp_ledger *l, size_t events_max, size_t bytes_max) WP_MUST_CHECK;

/* May an event of this size be added? One larger than bytes_max may when alone. */
bool wp_ledger_has_room(const struct wp_ledger *l, size_t size);
/* Returns the ticket that the next wp_ledger_add() will give. */
wp_ticket wp_ledger_next(const struct wp_ledger *l);
/* An event was handed to the sink; opens the transaction's entry if it is its first. */
void wp_ledger_add(struct wp_ledger *l, size_t size);
/* COMMIT was read. Without events it is a marker in the same queue, as a keepalive is. */
void wp_ledger_commit(struct wp_ledger *l, wp_lsn end_lsn);
/*
 * The server has nothing for us below wal_end. It never passes the commit being
 * sent (walsender.c: sentPtr moves after a record is decoded), so this is right
 * in the middle of a transaction too. Never jumps the queue.
 */
void wp_ledger_keepalive(struct wp_ledger *l, wp_lsn wal_end);
enum wp_settled wp_ledger_settle(struct wp_ledger *l, wp_ticket ticket);
/* The stream was lost in the middle of a transaction, which will be sent again whole:
 * its entry must not wait for a COMMIT that never comes. Its tickets live on. */
void wp_ledger_drop_open(struct wp_ledger *l);
/* A ticket was purged or refused: until wp_ledger_forget() no stream may go on from the received LSN. */
void wp_ledger_lose(struct wp_ledger *l);
/* All tickets and entries are forgotten; both positions become `lsn`. */
void wp_ledger_forget(struct wp_ledger *l, wp_lsn lsn);

/* Returns the most bytes that were in flight since it was asked last. */
size_t wp_ledger_take_highest(struct wp_ledger *l);

wp_lsn wp_ledger_confirmed_lsn(const struct wp_ledger *l);
wp_lsn wp_ledger_received_lsn(const struct wp_ledger *l);

#endif
