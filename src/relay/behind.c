#include "walpost/relay/behind.h"

static enum wp_behind judge_past(const struct wp_position *delivered, const struct wp_timelines *t,
				 wp_lsn *ret_end)
{
	for (size_t i = 0; i < t->count; i++) {
		if (t->past[i].timeline != delivered->timeline)
			continue;
		*ret_end = t->past[i].ends_at;
		return delivered->commit_lsn >= *ret_end ? WP_BEHIND_PROMOTED : WP_BEHIND_NOT;
	}
	/* Older than all that is remembered: what it has of that it has for long. */
	if (t->count == WP_TIMELINES_MAX && delivered->timeline < t->past[0].timeline) {
		*ret_end = t->past[0].ends_at;
		return delivered->commit_lsn >= *ret_end ? WP_BEHIND_PROMOTED : WP_BEHIND_NOT;
	}
	*ret_end = 0;
	return WP_BEHIND_NEWER;
}

enum wp_behind wp_behind_judge(const struct wp_position *delivered,
			       const struct wp_timelines *timelines, wp_lsn server_lsn,
			       wp_lsn *ret_end)
{
	*ret_end = server_lsn;
	if (delivered->timeline == timelines->current)
		return delivered->commit_lsn >= server_lsn ? WP_BEHIND_LOST : WP_BEHIND_NOT;
	/* Without its history a promoted server can be judged by its end only. */
	if (delivered->timeline < timelines->current && timelines->count == 0)
		return delivered->commit_lsn >= server_lsn ? WP_BEHIND_PROMOTED : WP_BEHIND_NOT;
	if (delivered->timeline < timelines->current)
		return judge_past(delivered, timelines, ret_end);
	*ret_end = 0;
	return WP_BEHIND_NEWER;
}
