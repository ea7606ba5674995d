#include <stdio.h>
#include <string.h>

#include "topic_wait.h"

enum { NOTE_EVERY_MS = 60 * 1000 };

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

	/* The topic may be found and nothing confirmed yet: there is nothing to tell then. */
	if (!w->on || state != WP_PAUSED || v->state != WP_SINK_WAITING)
		return INT64_MAX;
	return note_ms < end_ms ? note_ms : end_ms;
}
