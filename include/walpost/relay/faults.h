/*
 * Faults planted on purpose, in the simulation's build only: a checker that has
 * never caught anything proves nothing. In the product wp_fault() is a constant
 * false and the compiler drops the branch.
 */
#ifndef WALPOST_RELAY_FAULTS_H
#define WALPOST_RELAY_FAULTS_H

#include <stdbool.h>

enum wp_fault {
	WP_FAULT_NONE,
	WP_FAULT_CONFIRM_ON_RECEIPT, /* an event settles when it is sent */
	WP_FAULT_KEEPALIVE_JUMPS, /* a keepalive moves the confirmed LSN past what is in flight */
	WP_FAULT_ERROR_SETTLES,	  /* a refused event counts as confirmed */
	WP_FAULT_PURGE_SETTLES,	  /* a purged event counts as confirmed */
	WP_FAULT_ANY_ENTRY_PASSES, /* the confirmed LSN moves past a settled entry behind an unsettled one */
	WP_FAULT_RESUME_AFTER_MOVE,  /* resumes at read though another owner moved the slot */
	WP_FAULT_RESUME_AFTER_PURGE, /* resumes at read though tickets were purged */
	WP_FAULT_REWIND_TO_RECEIVED, /* a rewind streams from the received LSN instead of the confirmed one */
	WP_FAULT_GO_ON_AFTER_ERROR,   /* a refused event does not stop the ones behind it */
	WP_FAULT_SILENT_WHEN_PAUSED,  /* no status messages while paused */
	WP_FAULT_DEAF_WHEN_PAUSED,    /* no probe while paused */
	WP_FAULT_NEVER_LET_GO,	      /* answers a stopping server for ever */
	WP_FAULT_NO_DRAIN,	      /* stops without waiting for reports */
	WP_FAULT_HASTY_REWIND,	      /* does not hear a broken sink out */
	WP_FAULT_GUESS_GUILTY,	      /* names the event sent last, whoever was refused */
	WP_FAULT_LETTER_SETTLES,      /* a dead letter counts as confirmed when it is sent */
	WP_FAULT_CONFIRM_WHEN_BROKEN, /* confirms on though the publication is broken */
	WP_FAULT_TRUST_SLOT,	      /* starts from a slot that was moved behind its back */
	WP_FAULT_TRUST_HOLDER,	      /* whoever held the slot while we waited counts as a relay */
	WP_FAULT_PARKED_SETTLES,      /* a parked event counts as durable when it is put */
	WP_FAULT_PARKED_HASTY_DELETE, /* a parked event is deleted when it is sent again */
	WP_FAULT_PARKED_LOAD_FIRST,   /* the set is loaded before the generation is raised */
	WP_FAULT_PARKED_UNFENCED,     /* a put does not check the generation */
	WP_FAULT_PARKED_RELEASED, /* an aggregate flows again though events are on their way to the table */
	WP_FAULT_PARKED_OVERTAKEN, /* later events of an aggregate flow while it is being sent */
	WP_FAULT_PARKED_MOVES_BACK, /* one that fails again goes behind all others of its aggregate */
	WP_FAULT_PARKED_SET_KEPT,   /* a new stream does not load the set anew */
	WP_FAULT_PARKED_EARLY,	    /* a parked event is sent though one before it may come again */
	WP_FAULT_DRAIN_HASTY,	   /* stops at a drain's mark before all ahead of it is confirmed */
	WP_FAULT_DRAIN_UNASKED,	   /* stops at a mark that nobody waits for any more */
	WP_FAULT_CLEANUP_RECEIVED, /* old rows are removed once their events are received */
	WP_FAULT_CLEANUP_LSN_FIRST, /* how far the log is is read before the rows are looked at */
	WP_FAULT_CLEANUP_NO_FLOOR,  /* rows that were never streamed are removed */
	WP_FAULT_CLEANUP_PARKED,    /* so are those of parked events */
	WP_FAULT_CLEANUP_ANY_ROW,   /* and whatever has the place of a row that was looked at */
	WP_FAULT_CLEANUP_KEPT_BATCH, /* a batch outlives its stream, its floor not asked again: either alone is harmless */
	WP_FAULT_COUNT,
};

#ifdef WALPOST_PLANTED_FAULTS
extern enum wp_fault wp_planted_fault;
static inline bool wp_fault(enum wp_fault fault)
{
	return wp_planted_fault == fault;
}
#else
static inline bool wp_fault(enum wp_fault fault)
{
	(void)fault;
	return false;
}
#endif

#endif
