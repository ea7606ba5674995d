#include "slot_checkpoint_schedule.h"

enum {
	CLAIM_AGAIN_MS = 2 * 1000,
	HOLD_MAX_MS = 10 * 1000, /* a row that cannot be written must not keep the log for ever */
	FIRST_MS = 5 * 1000,
	EVERY_MS = 60 * 1000,
};

/* The log of other tables moves the slot too; that alone is written down more coarsely. */
#define WITHOUT_EVENTS_BYTES (UINT64_C(1) << 20)

void wp_slot_checkpoint_schedule_begin(struct wp_slot_checkpoint_schedule *s, bool unclaimed,
				       wp_lsn confirmed_lsn, uint64_t confirmed, int64_t now_ms)
{
	*s = (struct wp_slot_checkpoint_schedule){
		.due_ms = now_ms + FIRST_MS,
		.claim_ms = unclaimed ? now_ms : INT64_MAX,
		.held_ms = unclaimed ? now_ms + HOLD_MAX_MS : 0,
		.written = confirmed_lsn,
		.written_events = confirmed,
	};
}

bool wp_slot_checkpoint_schedule_claims(struct wp_slot_checkpoint_schedule *s, bool unclaimed,
					int64_t now_ms)
{
	if (!unclaimed)
		s->claim_ms = INT64_MAX;
	if (!unclaimed || now_ms >= s->held_ms)
		s->held_ms = 0;
	if (now_ms < s->claim_ms)
		return false;
	s->claim_ms = now_ms + CLAIM_AGAIN_MS;
	return true;
}

bool wp_slot_checkpoint_schedule_step(struct wp_slot_checkpoint_schedule *s, wp_lsn flush,
				      uint64_t confirmed, int64_t now_ms)
{
	bool events = confirmed > s->written_events;

	if (now_ms < s->due_ms)
		return false;
	s->due_ms = now_ms + EVERY_MS;
	if (flush <= s->written || (!events && flush - s->written < WITHOUT_EVENTS_BYTES))
		return false;
	s->written = flush;
	s->written_events = confirmed;
	return true;
}
