/*
 * Has `walpost drain` marked the place where the relay is to stop? Behind the transaction that
 * has its mark nothing is read; once all before is confirmed, the server is asked whether that
 * drain still waits. If it does, the relay stops; else the mark is an old one, read again or met
 * late, and the relay goes on.
 *
 * A session of the server is a drain's life: it is named WP_DRAIN_SESSION and the number that its
 * mark has.
 *
 * Pure: nothing is called. One mark at a time: of several in one transaction the last counts.
 */
#ifndef WALPOST_SRC_RELAY_DRAIN_H
#define WALPOST_SRC_RELAY_DRAIN_H

#include "walpost/base/span.h"
#include "walpost/source/source.h"

enum wp_drain_state {
	WP_DRAIN_NONE,
	WP_DRAIN_MARKED, /* the COMMIT behind it is still to come */
	WP_DRAIN_HELD,	 /* nothing more is read */
	WP_DRAIN_STOPS,	 /* it was wanted: the relay stops at `lsn` */
};

struct wp_drain {
	enum wp_drain_state state;
	char number[16]; /* of the drain */
	wp_lsn lsn;	 /* the end of the transaction with the mark */
	bool asked;
	uint64_t answers; /* of the slot's state, as it was asked */
};

/* A mark was read. */
void wp_drain_mark(struct wp_drain *d, struct wp_span number);
/* The transaction with the mark is whole. */
void wp_drain_commit(struct wp_drain *d, wp_lsn end_lsn);
/* A stream begins, with WP_DRAIN_REREAD at a place before the mark. What was asked is not answered any more. */
enum wp_drain_begins { WP_DRAIN_BEHIND, WP_DRAIN_REREAD };
void wp_drain_begin(struct wp_drain *d, enum wp_drain_begins where);

enum wp_drain_step {
	WP_DRAIN_WAITS,
	WP_DRAIN_ASK,	     /* the source is to watch */
	WP_DRAIN_STOP,	     /* it is wanted */
	WP_DRAIN_GOES_ON,    /* it is not */
	WP_DRAIN_UNANSWERED, /* nobody said: goes on */
};
/* Goes on only while HELD. `rests`: all that was read is confirmed. */
enum wp_drain_step wp_drain_step(struct wp_drain *d, bool rests, const struct wp_slot_state *slot);

#endif
