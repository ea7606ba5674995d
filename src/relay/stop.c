#include "stop.h"
#include "walpost/base/error.h"

enum { REMIND_EVERY_MS = 60 * 1000 };

static void begin(struct wp_stop *s, int64_t patience_ms, int64_t now_ms)
{
	if (s->asked)
		return;
	s->asked = true;
	s->by_us_only = true;
	s->by_ms = now_ms + patience_ms;
}

void wp_stop_ask(struct wp_stop *s, int64_t patience_ms, int64_t now_ms)
{
	begin(s, patience_ms, now_ms);
	s->by_us_only = false;
}

bool wp_stop_halt(struct wp_stop *s, int exit_code, const char *event, const struct wp_error *error,
		  int64_t patience_ms, int64_t now_ms)
{
	if (s->exit_code != 0)
		return false;
	s->exit_code = exit_code;
	s->halt_event = event;
	s->halt_error = *error;
	begin(s, patience_ms, now_ms);
	return true;
}

bool wp_stop_hurry(struct wp_stop *s, int64_t by_ms)
{
	if (s->by_ms <= by_ms)
		return false;
	s->by_ms = by_ms;
	return true;
}

int64_t wp_stop_gives_up_commit_at(const struct wp_stop *s, int64_t patience_ms)
{
	return s->by_ms - patience_ms / 2;
}

enum wp_stop_step wp_stop_step(struct wp_stop *s, enum wp_state state, enum wp_on_halt on_halt,
			       int64_t now_ms)
{
	bool is_to_hold = on_halt == WP_ON_HALT_HOLD && s->exit_code == WP_EXIT_HUMAN;

	if (state == WP_STOPPED && is_to_hold && s->by_us_only) {
		s->noted_ms = now_ms;
		return WP_STOP_HOLD;
	}
	if (state != WP_HELD)
		return WP_STOP_NOTHING;
	if (!s->by_us_only)
		return WP_STOP_LEAVE;
	if (now_ms - s->noted_ms < REMIND_EVERY_MS)
		return WP_STOP_NOTHING;
	s->noted_ms = now_ms;
	return WP_STOP_REMIND;
}

int64_t wp_stop_due(const struct wp_stop *s, enum wp_state state, int64_t patience_ms)
{
	if (state == WP_HELD)
		return s->noted_ms + REMIND_EVERY_MS;
	return s->asked && state < WP_DRAINING ? wp_stop_gives_up_commit_at(s, patience_ms)
					       : INT64_MAX;
}
