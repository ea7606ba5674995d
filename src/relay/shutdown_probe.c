#include "shutdown_probe.h"
#include "walpost/relay/faults.h"

enum { AFTER_MS = 2 * 1000, EVERY_MS = 2500 };

void wp_shutdown_probe_begin(struct wp_shutdown_probe *p, int64_t now_ms)
{
	*p = (struct wp_shutdown_probe){
		.begun_ms = now_ms,
		.quiet_ms = now_ms,
		.paused_ms = now_ms - AFTER_MS,
		.asked_ms = now_ms,
	};
}

void wp_shutdown_probe_not_reading(struct wp_shutdown_probe *p, int64_t now_ms)
{
	p->paused_ms = now_ms;
}

void wp_shutdown_probe_at_end(struct wp_shutdown_probe *p, int64_t now_ms)
{
	p->quiet_ms = now_ms;
}

void wp_shutdown_probe_found_nothing(struct wp_shutdown_probe *p, int64_t now_ms)
{
	/* Later than that nothing can have been stuck behind what we did not read. */
	if (now_ms - p->paused_ms >= AFTER_MS)
		p->quiet_ms = now_ms;
}

static bool is_wanted(const struct wp_shutdown_probe *p, enum wp_state state,
		      const struct wp_source_view *v, bool behind, int64_t now_ms)
{
	if (wp_fault(WP_FAULT_DEAF_WHEN_PAUSED))
		return false;
	bool deaf = now_ms - p->quiet_ms >= AFTER_MS;
	/* Asked beside the stream it was silent, as a stopping server is from its first moment. */
	bool silent = v->slot_state.unanswered && behind;

	return state != WP_DRAINING && (deaf || silent) && now_ms - p->asked_ms >= EVERY_MS;
}

enum wp_probe_step wp_shutdown_probe_step(struct wp_shutdown_probe *p, enum wp_state state,
					  const struct wp_source_view *v, bool behind,
					  int64_t now_ms)
{
	bool deaf = p->asked_ms > p->quiet_ms;

	/* A server that is behind pings, when it stops, only after it has sent the rest. */
	if (v->probe == WP_PROBE_STOPPING && p->asked_ms > p->begun_ms && (deaf || behind))
		return WP_PROBE_LET_GO;
	if (deaf && v->probe == WP_PROBE_UNREACHABLE && state == WP_PAUSED)
		return WP_PROBE_LOST;
	if (v->probe == WP_PROBE_RUNNING || !is_wanted(p, state, v, behind, now_ms))
		return WP_PROBE_DO_NOTHING;
	p->asked_ms = now_ms;
	return WP_PROBE_ASK;
}

int64_t wp_shutdown_probe_due(const struct wp_shutdown_probe *p, enum wp_state state,
			      const struct wp_source_view *v)
{
	int64_t after_ms = p->quiet_ms + AFTER_MS;
	int64_t again_ms = p->asked_ms + EVERY_MS;

	if (state != WP_PAUSED || v->probe == WP_PROBE_RUNNING)
		return INT64_MAX;
	return after_ms > again_ms ? after_ms : again_ms;
}
