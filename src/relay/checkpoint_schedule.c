#include "checkpoint_schedule.h"

enum { CLAIM_MS = 200, FIRST_MS = 5 * 1000, EVERY_MS = 60 * 1000 };

/* The log of other tables moves the slot too; that alone is written down more coarsely. */
#define WITHOUT_EVENTS_BYTES (UINT64_C(1) << 20)

void wp_checkpoint_schedule_begin(struct wp_checkpoint_schedule *s, bool unclaimed,
				  wp_lsn confirmed_lsn, uint64_t confirmed, int64_t now_ms)
{
	*s = (struct wp_checkpoint_schedule){
		.due_ms = now_ms + (unclaimed ? CLAIM_MS : FIRST_MS),
		.written = confirmed_lsn,
		.written_events = confirmed,
	};
}

bool wp_checkpoint_schedule_step(struct wp_checkpoint_schedule *s, bool unclaimed, wp_lsn flush,
				 uint64_t confirmed, int64_t now_ms)
{
	bool events = confirmed > s->written_events;

	if (now_ms < s->due_ms)
		return false;
	if (unclaimed) {
		s->due_ms = now_ms + (flush == 0 ? CLAIM_MS : FIRST_MS);
		return flush != 0;
	}
	s->due_ms = now_ms + EVERY_MS;
	if (flush <= s->written || (!events && flush - s->written < WITHOUT_EVENTS_BYTES))
		return false;
	s->written = flush;
	s->written_events = confirmed;
	return true;
}
