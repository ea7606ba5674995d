/*
 * What is there to be said to people? The relay's files add notes as they decide; who runs the
 * relay takes them between two steps and logs them. And which rows is it time to warn of?
 *
 * Owns: a ring. Pure: time is passed in (monotonic ms). Bounded: WP_NOTES_MAX; the oldest go first.
 */
#ifndef WALPOST_SRC_RELAY_NOTES_H
#define WALPOST_SRC_RELAY_NOTES_H

#include "walpost/relay/pipeline.h"
#include "walpost/relay/relay.h"

enum { WP_NOTES_MAX = 64 };

struct wp_notes {
	struct wp_note ring[WP_NOTES_MAX];
	size_t first;
	size_t count;
};

/* Without text; the caller fills that in. Valid until the next one is added or taken. */
struct wp_note *wp_notes_add(struct wp_notes *n, enum wp_note_level level, const char *event,
			     wp_lsn lsn);
/* The oldest; false: none. */
bool wp_notes_take(struct wp_notes *n, struct wp_note *ret);

/* Of rows and messages that are no events, not each is warned of, for there may be millions. */
enum wp_row_warning {
	WP_WARN_ROW_UPDATED,
	WP_WARN_ROW_UPDATED_ERROR, /* where the option asks for an error */
	WP_WARN_MESSAGE_REFUSED,
	WP_ROW_WARNING_COUNT,
};

struct wp_row_warnings {
	int64_t noted_ms[WP_ROW_WARNING_COUNT]; /* last; 0: never */
	int64_t ignored_since_ms; /* the first ignored row was seen, and no event yet; 0: not so */
	bool only_ignored_noted;
};

/* True: warn of this one, and of no other for a while. */
bool wp_row_warnings_are_due(struct wp_row_warnings *w, enum wp_row_warning which, int64_t now_ms);
/*
 * Rows of others, and of the outbox none for a minute: true once. Not for an outbox that is idle
 * later: one event tells that its name is right.
 */
bool wp_row_warnings_only_ignored(struct wp_row_warnings *w,
				  const struct wp_pipeline_counts *counts, int64_t now_ms);
int64_t wp_row_warnings_due(const struct wp_row_warnings *w,
			    const struct wp_pipeline_counts *counts);

#endif
