#include "walpost/kafka/throttle.h"

#include <stdio.h>

/* Answers that follow each other so closely are of one episode; a question may take so long. */
#define OVER_AFTER_MS 10000
#define NOTE_EVERY_MS 60000
/* An outage is not taken for a throttle for longer than this. */
#define SILENCE_MAX_MS 60000

void wp_throttle_told(struct wp_throttle *t, const char *broker, int64_t throttle_ms)
{
	if (throttle_ms <= 0)
		return;
	(void)snprintf(t->broker, sizeof(t->broker), "%s", broker);
	t->pending_ms += throttle_ms;
	if (throttle_ms > t->longest_ms)
		t->longest_ms = throttle_ms;
}

static bool take(struct wp_throttle *t, int64_t now_ms)
{
	int64_t silence_ms = t->longest_ms < SILENCE_MAX_MS ? t->longest_ms : SILENCE_MAX_MS;
	bool begins = !t->on;

	t->total_ms += (uint64_t)t->pending_ms;
	if (begins || now_ms + silence_ms > t->until_ms)
		t->until_ms = now_ms + silence_ms;
	t->pending_ms = 0;
	t->on = true;
	if (!begins && now_ms - t->noted_ms < NOTE_EVERY_MS)
		return false;
	t->noted_ms = now_ms;
	return true;
}

bool wp_throttle_step(struct wp_throttle *t, int64_t now_ms)
{
	if (t->pending_ms > 0)
		return take(t, now_ms);
	t->on = t->on && now_ms < t->until_ms + OVER_AFTER_MS;
	if (!t->on)
		t->longest_ms = 0;
	return false;
}
