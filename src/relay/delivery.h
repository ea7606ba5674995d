/*
 * Is anything confirmed while something waits for it, whatever the cause? For the status and for
 * the slot checkpoint row: over all streams, told after 15 s, and over only when something was confirmed
 * or nothing has waited for as long. Idle is not stalled, nor is a slow Kafka. After a third refusal
 * at the same confirmed LSN only what is confirmed in order counts, beyond what was before: the events
 * around one that Kafka does not take are confirmed each time anew.
 *
 * Not the stall of sink_watch.h, which is one of the causes, and begins anew with each outage.
 *
 * Owns: the count of events confirmed. Pure: time is passed in (monotonic ms).
 */
#ifndef WALPOST_SRC_RELAY_DELIVERY_H
#define WALPOST_SRC_RELAY_DELIVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "walpost/relay/ledger.h"

struct wp_delivery {
	uint64_t confirmed;   /* events, by this process */
	int64_t confirmed_ms; /* the last; INT64_MIN: none */
	uint64_t settled;     /* otherwise: parked */
	uint64_t seen;	      /* of both, as of the last turn */
	bool waits;	      /* likewise */
	int64_t since_ms;     /* when something was confirmed last, or began to wait */
	int64_t waited_ms;    /* when something waited last */
	const char *stalled;  /* why nothing is confirmed; NULL: it is, or nothing waits */
	wp_lsn lsn;	      /* the confirmed one, as of the last turn */
	wp_ticket base;	  /* the oldest unconfirmed when that was reached, or the stream began */
	uint64_t best;	  /* events confirmed in order since then, the most of all streams */
	unsigned rewinds; /* for that, since the confirmed LSN moved */
};

void wp_delivery_init(struct wp_delivery *d);
/* One event was confirmed. */
void wp_delivery_confirmed(struct wp_delivery *d, int64_t now_ms);
/* An event that is not to be confirmed is settled. */
void wp_delivery_settled(struct wp_delivery *d);
/* An event was refused, not for its own sake: all from the confirmed LSN on is sent again. */
void wp_delivery_rewound(struct wp_delivery *d);
/* Does that happen over and over? */
bool wp_delivery_repeats(const struct wp_delivery *d);
/* A stream begins. */
void wp_delivery_begin(struct wp_delivery *d, const struct wp_ledger *ledger, int64_t now_ms);
/*
 * `cause` says why what was read is not confirmed, in constant text; NULL: nothing waits. Returns true when `stalled`
 * is another now.
 */
bool wp_delivery_step(struct wp_delivery *d, const struct wp_ledger *ledger, const char *cause,
		      int64_t now_ms);
int64_t wp_delivery_due(const struct wp_delivery *d, bool waits);

#endif
