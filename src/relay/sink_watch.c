#include <stdio.h>
#include <string.h>

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
	       use->confirmed == w->stall.confirmed && v->reachable && works;
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

static unsigned wait_on(struct wp_topic_wait *w, const struct wp_sink_view *v, wp_lsn confirmed_lsn,
			int64_t patience_ms, int64_t now_ms)
{
	bool is_new = !w->on || strcmp(w->topic, v->topic) != 0;
	unsigned answer = 0;

	if (is_new) {
		w->on = true;
		(void)snprintf(w->topic, sizeof(w->topic), "%s", v->topic);
	}
	if (is_new || !v->reachable) /* nobody can tell whether it is there by now */
		w->since_ms = now_ms;
	w->confirmed_lsn = confirmed_lsn;
	if (now_ms - w->since_ms >= patience_ms)
		answer = WP_TOPIC_GIVE_UP;
	if (is_new || (answer == 0 && now_ms - w->noted_ms >= NOTE_EVERY_MS)) {
		w->noted_ms = now_ms;
		answer |= WP_TOPIC_NOTE;
	}
	return answer;
}

unsigned wp_topic_wait_step(struct wp_topic_wait *w, enum wp_state state,
			    const struct wp_sink_view *v, wp_lsn confirmed_lsn, int64_t patience_ms,
			    int64_t now_ms)
{
	/* A sink remembers the topic also when the event is another relay's by now. */
	if (state == WP_STANDBY)
		w->on = false;
	else if (v->state == WP_SINK_WAITING && state == WP_PAUSED)
		return wait_on(w, v, confirmed_lsn, patience_ms, now_ms);
	else if (v->state != WP_SINK_WAITING && w->on && confirmed_lsn > w->confirmed_lsn) {
		w->on = false;
		return WP_TOPIC_FOUND;
	}
	return 0;
}

int64_t wp_topic_wait_due(const struct wp_topic_wait *w, enum wp_state state,
			  const struct wp_sink_view *v, int64_t patience_ms)
{
	int64_t note_ms = w->noted_ms + NOTE_EVERY_MS;
	int64_t end_ms = w->since_ms + patience_ms;

	/* Found, and nothing confirmed yet: there is nothing to tell. */
	if (!w->on || state != WP_PAUSED || v->state != WP_SINK_WAITING)
		return INT64_MAX;
	return note_ms < end_ms ? note_ms : end_ms;
}

enum { STALLED_MS = 15 * 1000 };

void wp_delivery_init(struct wp_delivery *d)
{
	*d = (struct wp_delivery){ .confirmed_ms = INT64_MIN };
}

void wp_delivery_confirmed(struct wp_delivery *d, int64_t now_ms)
{
	d->confirmed++;
	d->confirmed_ms = now_ms;
}

void wp_delivery_begin(struct wp_delivery *d, int64_t now_ms)
{
	/* What waited while there was no stream has not waited for Kafka. */
	if (d->stalled == NULL)
		d->since_ms = now_ms;
	d->waited_ms = now_ms;
}

bool wp_delivery_step(struct wp_delivery *d, const char *cause, int64_t now_ms)
{
	const char *before = d->stalled;
	bool waits = cause != NULL;
	bool moved = d->confirmed > d->seen;

	d->seen = d->confirmed;
	/* Turns may lie far apart while nothing happens: from this one on it waits. */
	if (moved || (before == NULL && !(waits && d->waits)))
		d->since_ms = now_ms;
	if (waits)
		d->waited_ms = now_ms;
	d->waits = waits;
	if (before == NULL)
		d->stalled = now_ms - d->since_ms >= STALLED_MS ? cause : NULL;
	else if (moved || now_ms - d->waited_ms >= STALLED_MS)
		d->stalled = NULL;
	else if (waits)
		d->stalled = cause;
	return d->stalled != before;
}

int64_t wp_delivery_due(const struct wp_delivery *d, bool waits)
{
	if (d->stalled != NULL)
		return waits ? INT64_MAX : d->waited_ms + STALLED_MS;
	return waits ? d->since_ms + STALLED_MS : INT64_MAX;
}
