#include "sink_watch.h"

enum { NOTE_EVERY_MS = 60 * 1000 };

void wp_sink_watch_init(struct wp_sink_watch *w)
{
	*w = (struct wp_sink_watch){ .broken_ms = INT64_MAX };
}

static unsigned watch_reach(struct wp_sink_watch *w, const struct wp_sink_view *v, int64_t now_ms)
{
	bool was_out = w->outage.on;

	w->reached |= v->reachable;
	w->outage.on = was_out && !v->reachable;
	if (v->reachable)
		return was_out ? WP_SINK_REACHABLE : 0;
	if (!was_out && v->error.text[0] == '\0')
		return 0;
	if (!was_out) {
		w->outage.on = true;
		w->outage.since_ms = w->outage.noted_ms = now_ms;
		return WP_SINK_UNREACHABLE;
	}
	if (now_ms - w->outage.noted_ms < NOTE_EVERY_MS)
		return 0;
	w->outage.noted_ms = now_ms;
	/* A topic that is waited for has a line of its own. */
	return v->state == WP_SINK_WAITING ? 0 : WP_SINK_STILL_UNREACHABLE;
}

static bool is_stalled(const struct wp_sink_watch *w, const struct wp_sink_view *v,
		       const struct wp_sink_use *use)
{
	bool works = v->state == WP_SINK_READY || v->state == WP_SINK_STARTING;

	return (use->state == WP_STREAMING || use->state == WP_PAUSED) && use->in_flight > 0 &&
	       use->confirmed == w->stall.confirmed && v->reachable && works && !v->throttled;
}

static unsigned watch_stall(struct wp_sink_watch *w, const struct wp_sink_view *v,
			    const struct wp_sink_use *use, int64_t now_ms)
{
	bool moved = use->confirmed > w->stall.confirmed;
	bool was_noted = w->stall.noted;

	if (!is_stalled(w, v, use)) {
		w->stall.noted = was_noted && !moved;
		w->stall.confirmed = use->confirmed;
		w->stall.since_ms = w->stall.noted_ms = now_ms;
		return was_noted && moved ? WP_SINK_CONFIRMS : 0;
	}
	if (now_ms - w->stall.noted_ms < NOTE_EVERY_MS)
		return 0;
	w->stall.noted_ms = now_ms;
	w->stall.noted = true;
	return WP_SINK_STALLED;
}

unsigned wp_sink_watch_step(struct wp_sink_watch *w, const struct wp_sink_view *v,
			    const struct wp_sink_use *use, int64_t now_ms)
{
	unsigned reach = watch_reach(w, v, now_ms);

	return reach | watch_stall(w, v, use, now_ms);
}

int64_t wp_sink_watch_due(const struct wp_sink_watch *w, const struct wp_sink_view *v,
			  const struct wp_sink_use *use)
{
	if (use->state == WP_HELD)
		return INT64_MAX;
	if (w->outage.on)
		return w->outage.noted_ms + NOTE_EVERY_MS;
	return is_stalled(w, v, use) ? w->stall.noted_ms + NOTE_EVERY_MS : INT64_MAX;
}

int64_t wp_sink_watch_broken_for(struct wp_sink_watch *w, int64_t now_ms)
{
	if (w->broken_ms == INT64_MAX)
		w->broken_ms = now_ms;
	return now_ms - w->broken_ms;
}
