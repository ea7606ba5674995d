#include "slot_watch.h"

enum {
	EVERY_MS = 2 * 1000,
	SHARE = 20, /* when two in a row took a while it is asked for that much more seldom */
	SELDOM_MS = 60 * 1000,
	SUSPECT_MS = 250,
	REMIND_EVERY_MS = 60 * 1000,
};

void wp_slot_watch_init(struct wp_slot_watch *s)
{
	*s = (struct wp_slot_watch){ 0 };
	wp_wal_guard_init(&s->guard);
}

void wp_slot_watch_begin(struct wp_slot_watch *s, wp_lsn server, int64_t now_ms)
{
	s->answers = 0;
	s->asked_ms = now_ms;
	s->interval_ms = EVERY_MS;
	s->took_ms = 0;
	s->suspect = s->withheld = s->waited = false;
	s->good = s->good_next = server;
	wp_wal_guard_forget(&s->guard);
	/* `keeping` is the slot's, not the stream's: what was told of it is not told again. */
}

static unsigned judge_keeping(struct wp_slot_watch *s, enum wp_keeping keeping)
{
	bool was_bad = s->keeping == WP_KEEPING_EXTENDED || s->keeping == WP_KEEPING_UNRESERVED;

	if (keeping == s->keeping)
		return 0;
	s->keeping = keeping;
	if (keeping == WP_KEEPING_UNRESERVED)
		return WP_SLOT_UNRESERVED;
	if (keeping == WP_KEEPING_EXTENDED)
		return WP_SLOT_EXTENDED;
	return was_bad && keeping == WP_KEEPING_RESERVED ? WP_SLOT_RESERVED : 0;
}

static unsigned guard(struct wp_slot_watch *s, const struct wp_slot_state *slot, int64_t now_ms)
{
	if (!slot->limited) {
		wp_wal_guard_forget(&s->guard);
		return 0;
	}
	s->estimate = wp_wal_guard_sample(&s->guard, now_ms, slot->safe_size, slot->server_lsn);
	return wp_wal_guard_tells(&s->guard, now_ms, &s->estimate) ? WP_SLOT_WAL_GUARD : 0;
}

static unsigned judge_loss(struct wp_slot_watch *s, const struct wp_slot_state *slot,
			   int64_t now_ms)
{
	bool again = s->suspect;

	s->suspect = slot->loss.text[0] != '\0';
	if (s->suspect && again)
		return WP_SLOT_LOSS_CERTAIN;
	if (s->suspect) {
		s->reminded_ms = now_ms;
		return WP_SLOT_LOSS_SUSPECTED;
	}
	/* What was changed while this question was asked is later than the answer before it. */
	s->good = s->good_next;
	s->good_next = slot->server_lsn;
	return 0;
}

/* A single one may have waited for this process, which was stopped, not for a slow server. */
static int64_t interval_after(struct wp_slot_watch *s, int64_t took_ms)
{
	int64_t interval_ms = (took_ms < s->took_ms ? took_ms : s->took_ms) * SHARE;

	s->took_ms = took_ms;
	if (interval_ms > SELDOM_MS)
		return SELDOM_MS;
	return interval_ms < EVERY_MS ? EVERY_MS : interval_ms;
}

unsigned wp_slot_watch_judge(struct wp_slot_watch *s, const struct wp_slot_state *slot,
			     int64_t now_ms)
{
	unsigned answer = judge_keeping(s, slot->keeping) | guard(s, slot, now_ms);

	answer |= judge_loss(s, slot, now_ms);
	s->answers = slot->answers;
	/* A suspect is asked for soon; a change in two statements has a moment for the second. */
	int64_t every_ms = interval_after(s, now_ms - s->asked_ms);
	s->interval_ms = s->suspect ? SUSPECT_MS : every_ms;
	return answer;
}

/* A walsender that waits for a standby now and then is none that sends nothing. */
void wp_slot_watch_received(struct wp_slot_watch *s, const struct wp_slot_state *slot,
			    wp_lsn received)
{
	bool waits = slot->withheld[0] != '\0';

	s->withheld = waits && s->waited && s->received == received;
	s->waited = waits;
	s->received = received;
}

bool wp_slot_watch_asks(struct wp_slot_watch *s, bool asking, int64_t now_ms)
{
	if (asking || now_ms - s->asked_ms < s->interval_ms)
		return false;
	s->asked_ms = now_ms;
	return true;
}

void wp_slot_watch_asked(struct wp_slot_watch *s, int64_t now_ms)
{
	s->asked_ms = now_ms;
}

bool wp_slot_watch_reminds(struct wp_slot_watch *s, int64_t now_ms)
{
	if (!s->suspect || now_ms - s->reminded_ms < REMIND_EVERY_MS)
		return false;
	s->reminded_ms = now_ms;
	return true;
}

int64_t wp_slot_watch_due(const struct wp_slot_watch *s, bool asking)
{
	int64_t due_ms = asking ? INT64_MAX /* its end wakes us */ : s->asked_ms + s->interval_ms;

	if (s->suspect && s->reminded_ms + REMIND_EVERY_MS < due_ms)
		return s->reminded_ms + REMIND_EVERY_MS;
	return due_ms;
}
