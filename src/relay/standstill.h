/*
 * Did this process, or its machine, stand still since the last turn? If it did for longer than the
 * server waits for a word (SIGSTOP, a suspended machine, for which CLOCK_BOOTTIME goes on), or with
 * all clocks (a paused VM, whose wall clock is set right later), another may have the slot by now,
 * and what has come before is old.
 *
 * Pure: time is passed in.
 */
#ifndef WALPOST_SRC_RELAY_STANDSTILL_H
#define WALPOST_SRC_RELAY_STANDSTILL_H

#include "walpost/relay/relay.h"

struct wp_standstill {
	struct wp_now last; /* turn; ms 0: none yet */
	int64_t due_ms;	    /* the next, for all that was due after it; at once for the first */
};

/*
 * A turn begins. Returns true with the error. `ret_suspended_ms`: the part of the time since the last turn that the
 * monotonic clock did not count. `streams`: turns come far more often than the server's patience lasts; otherwise there
 * may be nothing to do for long.
 */
bool wp_standstill_turn(struct wp_standstill *s, struct wp_now now, bool streams,
			int64_t patience_ms, int64_t *ret_suspended_ms, struct wp_error *error);
/* The turn ends; the next is due at that time. */
void wp_standstill_rest(struct wp_standstill *s, int64_t due_ms);

#endif
