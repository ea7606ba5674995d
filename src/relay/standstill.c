#include "standstill.h"

enum {
	WALL_JUMP_MS = 60 * 1000,
	SUSPENDED_MS = 100,	 /* less is rounding */
	WAIT_MAX_MS = 60 * 1000, /* of run, between two turns */
};

/* So much time could pass after the last turn with nothing to do. */
static int64_t idle_ms(const struct wp_standstill *s)
{
	if (s->due_ms <= s->last.ms)
		return 0;
	return s->due_ms - s->last.ms < WAIT_MAX_MS ? s->due_ms - s->last.ms : WAIT_MAX_MS;
}

bool wp_standstill_turn(struct wp_standstill *s, struct wp_now now, bool streams,
			int64_t patience_ms, int64_t *ret_suspended_ms, struct wp_error *error)
{
	bool first = s->last.ms == 0;
	int64_t gap_ms = now.boot_ms - s->last.boot_ms;
	int64_t still_ms = streams ? gap_ms : gap_ms - idle_ms(s);
	/* The wall clock went ahead of the time that passed by so much. */
	int64_t jump_ms = (now.wall_us - s->last.wall_us) / 1000 - gap_ms;
	int64_t suspended_ms = gap_ms - (now.ms - s->last.ms);

	s->last = now;
	*ret_suspended_ms = first || suspended_ms < SUSPENDED_MS ? 0 : suspended_ms;
	if (first)
		return false;
	if (patience_ms > 0 && still_ms >= patience_ms)
		(void)wp_error_set(error, WP_IO,
				   "the event loop was blocked for %lld ms, more than "
				   "wal_sender_timeout: unconfirmed events are read again, because "
				   "another relay may have sent them meanwhile",
				   (long long)still_ms);
	else if (jump_ms > WALL_JUMP_MS)
		(void)wp_error_set(error, WP_IO,
				   "the wall clock jumped ahead by %lld ms, as after a pause of "
				   "the virtual machine: unconfirmed events are read again, "
				   "because another relay may have sent them meanwhile",
				   (long long)jump_ms);
	else
		return false;
	return true;
}

void wp_standstill_rest(struct wp_standstill *s, int64_t due_ms)
{
	s->due_ms = due_ms;
}
