/*
 * Is the relay to stop, by when, with which exit code, and does the process stay up then? A stop
 * is asked for from outside, by a signal or by a mark in the log (drain.h), or by a halt of our
 * own, of which the first is the reason that counts.
 *
 * Pure: time is passed in (monotonic ms).
 */
#ifndef WALPOST_SRC_RELAY_STOP_H
#define WALPOST_SRC_RELAY_STOP_H

#include "drain.h"
#include "walpost/base/error.h"
#include "walpost/relay/machine.h"
#include "walpost/relay/options.h"

struct wp_stop {
	bool asked;
	bool by_us_only; /* a halt of our own asked, nobody from outside */
	int64_t by_ms;	 /* the end of all patience */
	int exit_code;
	const char *halt_event; /* NULL: nothing made it stop */
	struct wp_error halt_error;
	bool slot_lost;	  /* that is why */
	bool sink_lost;	  /* while it drains: what is in flight is not waited for any more */
	int64_t noted_ms; /* that it is held */
	struct wp_drain drain;
};

/* A stop is asked for from outside. */
void wp_stop_ask(struct wp_stop *s, int64_t patience_ms, int64_t now_ms);
/* The relay stops by itself, in good order, with that exit code. False: there is a reason already. */
bool wp_stop_halt(struct wp_stop *s, int exit_code, const char *event, const struct wp_error *error,
		  int64_t patience_ms, int64_t now_ms);
/* Nothing more will be confirmed; returns true when that leaves less time, until `by_ms`. */
bool wp_stop_hurry(struct wp_stop *s, int64_t by_ms);
/* From then on an open transaction's COMMIT is not read up to any more. */
int64_t wp_stop_gives_up_commit_at(const struct wp_stop *s, int64_t patience_ms);

enum wp_stop_step {
	WP_STOP_NOTHING,
	WP_STOP_HOLD, /* stays up, delivering nothing: not for a supervisor to start again */
	WP_STOP_LEAVE,
	WP_STOP_REMIND, /* that it is held, and why */
};
enum wp_stop_step wp_stop_step(struct wp_stop *s, enum wp_state state, enum wp_on_halt on_halt,
			       int64_t now_ms);
int64_t wp_stop_due(const struct wp_stop *s, enum wp_state state, int64_t patience_ms);

#endif
