/*
 * When to tell the server where we are, and what its silence or its pings mean.
 *
 * - A status leaves when the confirmed LSN has moved (at most every interval, or at once when
 *   WP_FEEDBACK_EVENTS were confirmed since the last: so many, and what is in flight,
 *   come again after a crash), when the server asks (at most ten a second: a
 *   stopping server asks again and again), and at least every 10 s and within a
 *   third of wal_sender_timeout, whatever else happens: the server drops a client
 *   that says nothing. A timeout that is lowered while we stream shows in its questions.
 * - Nothing heard for a while: ask for a reply; still nothing: the connection
 *   is half open.
 * - Five pings or more that want a reply, no data between, and no progress of the confirmed LSN for 2 s: the
 *   server wants to stop and waits for a flush that cannot come (walsender.c:
 *   WalSndDone). Let it go.
 *
 * Pure: time is passed in (monotonic ms).
 */
#ifndef WALPOST_RELAY_FEEDBACK_H
#define WALPOST_RELAY_FEEDBACK_H

#include <stdbool.h>
#include <stdint.h>

#include "walpost/wal/lsn.h"

enum { WP_FEEDBACK_EVENTS = 500 };

struct wp_feedback {
	int64_t interval_ms; /* for progress */
	int64_t floor_ms;    /* for life */
	int64_t sent_at_ms;
	wp_lsn sent_flush;    /* the last flush of this stream */
	wp_lsn highest_flush; /* of all streams since the last wp_feedback_forget() */
	unsigned confirmed;   /* events since the last status */
	bool reply_wanted;
	int64_t heard_at_ms;
	bool asked;	 /* for a reply, since it was last heard */
	unsigned pings;	 /* in a row, with no data between */
	wp_lsn ping_lsn; /* where the confirmed LSN stood when it last moved */
	int64_t stuck_since_ms;
	uint64_t statuses;   /* sent, over all streams */
	uint64_t keepalives; /* heard, likewise */
};

void wp_feedback_init(struct wp_feedback *f, int64_t interval_ms);
/* A stream began. wal_sender_timeout_ms 0: none. */
void wp_feedback_begin(struct wp_feedback *f, int64_t now_ms, int64_t wal_sender_timeout_ms,
		       wp_lsn confirmed_lsn);
/* Another owner's positions hold now: nothing that was sent before counts. */
void wp_feedback_forget(struct wp_feedback *f);

void wp_feedback_heard_data(struct wp_feedback *f, int64_t now_ms);
void wp_feedback_heard_keepalive(struct wp_feedback *f, int64_t now_ms, bool reply_requested);
/* The machine was suspended: so much time passed that now_ms does not count, and the server does. */
void wp_feedback_suspended(struct wp_feedback *f, int64_t for_ms);
/* While we do not read, silence says nothing: the clock starts again. */
void wp_feedback_not_reading(struct wp_feedback *f, int64_t now_ms);

/* An event was confirmed. */
void wp_feedback_confirmed(struct wp_feedback *f);
/* Returns when a status is to leave, and not before. INT64_MAX never happens. */
int64_t wp_feedback_due(const struct wp_feedback *f, wp_lsn confirmed_lsn);
/* A status leaves now with this flush; returns whether it should ask for a reply. */
bool wp_feedback_sent(struct wp_feedback *f, int64_t now_ms, wp_lsn flush);
/* Notes how the confirmed LSN stands; call at each turn. */
void wp_feedback_note(struct wp_feedback *f, int64_t now_ms, wp_lsn confirmed_lsn);
bool wp_feedback_server_stops(const struct wp_feedback *f, int64_t now_ms);
bool wp_feedback_half_open(const struct wp_feedback *f, int64_t now_ms);

#endif
