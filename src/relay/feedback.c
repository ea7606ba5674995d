#include <assert.h>

#include "walpost/relay/feedback.h"

enum {
	FLOOR_MS = 10 * 1000,
	FLOOR_MIN_MS = 100,
	REPLY_GAP_MS = 100,
	ASK_AFTER_MS = 15 * 1000,
	HALF_OPEN_AFTER_MS = 40 * 1000,
	STUCK_AFTER_MS = 2 * 1000,
	STUCK_PINGS = 5,
};

static int64_t max_ms(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t min_ms(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void wp_feedback_init(struct wp_feedback *f, int64_t interval_ms)
{
	*f = (struct wp_feedback){ .interval_ms = interval_ms, .floor_ms = FLOOR_MS };
}

void wp_feedback_begin(struct wp_feedback *f, int64_t now_ms, int64_t wal_sender_timeout_ms,
		       wp_lsn confirmed_lsn)
{
	f->floor_ms = FLOOR_MS;
	if (wal_sender_timeout_ms > 0)
		f->floor_ms = max_ms(min_ms(FLOOR_MS, wal_sender_timeout_ms / 3), FLOOR_MIN_MS);
	f->sent_at_ms = now_ms;
	f->sent_flush = 0;
	f->confirmed = 0;
	f->reply_wanted = false;
	f->heard_at_ms = now_ms;
	f->asked = false;
	f->pings = 0;
	f->ping_lsn = confirmed_lsn;
	f->stuck_since_ms = now_ms;
}

void wp_feedback_forget(struct wp_feedback *f)
{
	f->highest_flush = 0;
}

void wp_feedback_heard_data(struct wp_feedback *f, int64_t now_ms)
{
	f->heard_at_ms = now_ms;
	f->asked = false;
	f->pings = 0;
}

void wp_feedback_heard_keepalive(struct wp_feedback *f, int64_t now_ms, bool reply_requested)
{
	f->heard_at_ms = now_ms;
	f->asked = false;
	f->keepalives++;
	if (!reply_requested)
		return;
	/*
	 * One that does not stop asks when it has heard nothing for half of its timeout
	 * (walsender.c: WalSndKeepaliveIfNecessary), which a reload may have lowered: two thirds
	 * of the time since our last status are a third of its timeout. One that stops asks at
	 * once and again: then we answer at the floor's minimum, for what is left of the stream.
	 */
	f->floor_ms = max_ms(min_ms(f->floor_ms, (now_ms - f->sent_at_ms) * 2 / 3), FLOOR_MIN_MS);
	f->reply_wanted = true;
	if (f->pings == 0)
		f->stuck_since_ms = now_ms;
	f->pings++;
}

void wp_feedback_suspended(struct wp_feedback *f, int64_t for_ms)
{
	f->sent_at_ms -= for_ms;
}

void wp_feedback_not_reading(struct wp_feedback *f, int64_t now_ms)
{
	f->heard_at_ms = now_ms;
	f->asked = false;
}

void wp_feedback_confirmed(struct wp_feedback *f)
{
	if (f->confirmed < WP_FEEDBACK_EVENTS)
		f->confirmed++;
}

int64_t wp_feedback_due(const struct wp_feedback *f, wp_lsn confirmed_lsn)
{
	int64_t due = f->sent_at_ms + f->floor_ms;

	if (confirmed_lsn > f->sent_flush && f->confirmed >= WP_FEEDBACK_EVENTS)
		due = f->sent_at_ms;
	else if (confirmed_lsn > f->sent_flush)
		due = min_ms(due, f->sent_at_ms + f->interval_ms);
	if (f->reply_wanted)
		due = min_ms(due, f->sent_at_ms + REPLY_GAP_MS);
	if (f->asked)
		due = min_ms(due, f->heard_at_ms + HALF_OPEN_AFTER_MS);
	else
		due = min_ms(due,
			     max_ms(f->heard_at_ms + ASK_AFTER_MS, f->sent_at_ms + REPLY_GAP_MS));
	return due;
}

bool wp_feedback_sent(struct wp_feedback *f, int64_t now_ms, wp_lsn flush)
{
	bool ask = !f->asked && now_ms - f->heard_at_ms >= ASK_AFTER_MS;

	assert(flush >= f->sent_flush);
	f->statuses++;
	f->sent_at_ms = now_ms;
	f->sent_flush = flush;
	f->confirmed = 0;
	f->highest_flush = wp_lsn_max(f->highest_flush, flush);
	f->reply_wanted = false;
	f->asked = f->asked || ask;
	return ask;
}

void wp_feedback_note(struct wp_feedback *f, int64_t now_ms, wp_lsn confirmed_lsn)
{
	if (confirmed_lsn == f->ping_lsn)
		return;
	f->ping_lsn = confirmed_lsn;
	f->stuck_since_ms = now_ms;
	f->pings = 0;
}

bool wp_feedback_server_stops(const struct wp_feedback *f, int64_t now_ms)
{
	return f->pings >= STUCK_PINGS && now_ms - f->stuck_since_ms >= STUCK_AFTER_MS;
}

bool wp_feedback_half_open(const struct wp_feedback *f, int64_t now_ms)
{
	return f->asked && now_ms - f->heard_at_ms >= HALF_OPEN_AFTER_MS;
}
