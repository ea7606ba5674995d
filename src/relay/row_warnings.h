/*
 * Which rows and messages that are no events is it time to warn of? Not of each: there may be
 * millions. The counts tell how many.
 *
 * Pure: time is passed in (monotonic ms).
 */
#ifndef WALPOST_SRC_RELAY_ROW_WARNINGS_H
#define WALPOST_SRC_RELAY_ROW_WARNINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "walpost/relay/pipeline.h"

enum wp_row_warning {
	WP_WARN_ROW_UPDATED,
	WP_WARN_ROW_UPDATED_ERROR, /* where the option asks for an error */
	WP_WARN_MESSAGE_REFUSED,
	WP_WARN_REISSUE_REFUSED,
	WP_WARN_PARKED_ATTEMPT,
	WP_WARN_PARKED_RELEASED,
	WP_ROW_WARNING_COUNT,
};

#define WP_WARN_PREFIXES_MAX 8
#define WP_WARN_PREFIX_SIZE 64

struct wp_row_warnings {
	int64_t noted_ms[WP_ROW_WARNING_COUNT]; /* last; 0: never */
	int64_t ignored_since_ms; /* the first ignored row was seen, and no event yet; 0: not so */
	bool only_ignored_noted;
	bool reissue_elsewhere_noted;
	char prefixes[WP_WARN_PREFIXES_MAX][WP_WARN_PREFIX_SIZE]; /* of ignored messages, noted */
	size_t prefix_count;
};

/* True: no message of this prefix, up to its first 63 bytes, was ignored before. Few prefixes are remembered. */
bool wp_row_warnings_is_new_prefix(struct wp_row_warnings *w, struct wp_span prefix);

/* Returns true when this one is to be warned of, and no other for a while. */
bool wp_row_warnings_are_due(struct wp_row_warnings *w, enum wp_row_warning which, int64_t now_ms);
/*
 * Returns true once, when rows of others came, and of the outbox none for a minute. An outbox that is idle later does
 * not count: one event tells that its name is right.
 */
bool wp_row_warnings_only_ignored(struct wp_row_warnings *w,
				  const struct wp_pipeline_counts *counts, int64_t now_ms);
int64_t wp_row_warnings_due(const struct wp_row_warnings *w,
			    const struct wp_pipeline_counts *counts);

#endif
