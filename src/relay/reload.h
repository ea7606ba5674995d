/*
 * Which task is in force? A new one waits until nothing is in flight; the one before is kept until
 * the new one proved good, to go back to when the server, or the first row, refuses it.
 *
 * Owns: what was learned of the rows that the task brings. Borrows: the tasks. Pure.
 */
#ifndef WALPOST_SRC_RELAY_RELOAD_H
#define WALPOST_SRC_RELAY_RELOAD_H

#include "walpost/relay/relay.h"

/* A task without outboxes (NULL) is none. */
struct wp_reload {
	struct wp_relay_task asked;  /* not in effect yet */
	struct wp_relay_task now;    /* in effect */
	struct wp_relay_task before; /* to go back to, until the one in effect proved good */
	uint64_t transactions;	     /* with events, as it took effect */
	bool accepted;		     /* the server has let a stream begin with it */
	/* These are of the task in effect, told or found out once: */
	bool as_text;	 /* its rows are not to come in binary */
	bool asked_anew; /* about types, with the stream begun anew there */
	wp_lsn asked_anew_at;
	bool unlabelled_noted;
	uint64_t changes; /* that took effect */
	uint64_t refused; /* of these taken back, or never in effect */
};

/* This is in line, for it is asked before each frame. */
static inline bool wp_reload_waits(const struct wp_reload *r)
{
	return r->asked.outboxes != NULL;
}
bool wp_reload_uses(const struct wp_reload *r, const struct wp_outboxes *outboxes);
/* This one is in effect from now on. */
void wp_reload_put(struct wp_reload *r, const struct wp_relay_task *task);
/* It was asked for, and follows `before`. */
void wp_reload_changed(struct wp_reload *r, const struct wp_relay_task *before,
		       uint64_t transactions);
/* Transactions with events have come under it: it is good. */
void wp_reload_step(struct wp_reload *r, uint64_t transactions);
/* May what the server refuses be the fault of the task? Rows may be also when it accepted. */
bool wp_reload_may_be_refused(const struct wp_reload *r);
/* Takes the task to go back to, so that there is none any more; false: there was none. */
bool wp_reload_take_before(struct wp_reload *r, struct wp_relay_task *ret);
/* May types be asked for anew, for a row at `at`? Only once at each place, for it may as well not help. */
bool wp_reload_asks_anew(struct wp_reload *r, wp_lsn at);

#endif
