/*
 * When is it written into the slot checkpoint row how far we came? That we have the slot is written at once,
 * before the slot moves: so whoever finds its own name there, and the slot beyond what it confirmed
 * itself, knows that no relay moved it. How far we come is written for its own sake, later: the
 * server's statistics lag behind.
 *
 * Pure: time is passed in (monotonic ms).
 */
#ifndef WALPOST_SRC_RELAY_SLOT_CHECKPOINT_SCHEDULE_H
#define WALPOST_SRC_RELAY_SLOT_CHECKPOINT_SCHEDULE_H

#include "walpost/wal/lsn.h"

struct wp_slot_checkpoint_schedule {
	int64_t due_ms;
	int64_t claim_ms; /* INT64_MAX: the row names us */
	int64_t held_ms;  /* until then nothing is confirmed to the server; 0: it may be */
	wp_lsn written;
	uint64_t written_events; /* confirmed as that was written */
};

/* A stream begins. `unclaimed`: the row names another owner still. */
void wp_slot_checkpoint_schedule_begin(struct wp_slot_checkpoint_schedule *s, bool unclaimed,
				       wp_lsn confirmed_lsn, uint64_t confirmed, int64_t now_ms);
/* Returns true when our name is to be written now, as long as the stream lasts, also while it is drained. */
bool wp_slot_checkpoint_schedule_claims(struct wp_slot_checkpoint_schedule *s, bool unclaimed,
					int64_t now_ms);
/* Returns true when `flush`, that of the last status, is to be written now. */
bool wp_slot_checkpoint_schedule_step(struct wp_slot_checkpoint_schedule *s, wp_lsn flush,
				      uint64_t confirmed, int64_t now_ms);

#endif
