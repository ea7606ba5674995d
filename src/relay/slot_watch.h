/*
 * What do the answers beside the stream mean: would events be lost, how is the slot's log kept,
 * when may the slot be lost? And when is the next question due? All begins anew with each stream.
 *
 * One question sees two moments of the catalog, so that only the same trouble seen twice is
 * believed; but from the first one on the flush that the server is told stands still.
 *
 * Owns: the guard. Pure: time is passed in (monotonic ms).
 */
#ifndef WALPOST_SRC_RELAY_SLOT_WATCH_H
#define WALPOST_SRC_RELAY_SLOT_WATCH_H

#include "walpost/relay/wal_guard.h"
#include "walpost/source/source.h"

struct wp_slot_watch {
	uint64_t answers; /* judged */
	int64_t asked_ms;
	int64_t interval_ms;
	int64_t took_ms;     /* of the last answer */
	bool suspect;	     /* the last answer was bad */
	int64_t reminded_ms; /* of that, when no further answer comes */
	enum wp_keeping keeping;
	wp_lsn good; /* all that was committed below it came under a publication that was whole */
	wp_lsn good_next;
	bool withheld; /* the server has sent nothing between two answers that it waits for standbys */
	bool waited; /* the last answer was such a one */
	wp_lsn received;
	struct wp_wal_guard guard;
	struct wp_wal_guard_estimate estimate; /* the last */
};

enum wp_slot_watch_answer { /* any of these is to be told: */
			    WP_SLOT_UNRESERVED = 1 << 0,
			    WP_SLOT_EXTENDED = 1 << 1,
			    WP_SLOT_RESERVED = 1 << 2, /* again */
			    WP_SLOT_WAL_GUARD = 1 << 3,
			    WP_SLOT_LOSS_SUSPECTED = 1 << 4,
			    WP_SLOT_LOSS_CERTAIN = 1 << 5, /* stop */
};

void wp_slot_watch_init(struct wp_slot_watch *s);
/* `server`: where the log ended as the preconditions were found to hold. */
void wp_slot_watch_begin(struct wp_slot_watch *s, wp_lsn server, int64_t now_ms);
/* Judges one answer that is new. */
unsigned wp_slot_watch_judge(struct wp_slot_watch *s, const struct wp_slot_state *slot,
			     int64_t now_ms);
/* Notes, with each answer, how far the stream has come. */
void wp_slot_watch_received(struct wp_slot_watch *s, const struct wp_slot_state *slot,
			    wp_lsn received);
/* Returns true when the source is to be asked now. */
bool wp_slot_watch_asks(struct wp_slot_watch *s, bool asking, int64_t now_ms);
/* The source is asked now, for another reason. */
void wp_slot_watch_asked(struct wp_slot_watch *s, int64_t now_ms);
/* While nobody can be asked, it stays safe, but the log that is kept grows. True: say it again. */
bool wp_slot_watch_reminds(struct wp_slot_watch *s, int64_t now_ms);
int64_t wp_slot_watch_due(const struct wp_slot_watch *s, bool asking);

#endif
