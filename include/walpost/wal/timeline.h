/*
 * On which timeline was an LSN written? It is read from the history file that
 * TIMELINE_HISTORY returns: lines "tli <tab> switch LSN <tab> reason", comments
 * with '#', oldest first (PostgreSQL: timeline.c). What lies below a switch
 * point was written on that line's timeline or one before it.
 *
 * Pure. Bounded: the newest WP_TIMELINES_MAX switches; LSNs older than those
 * belong to the oldest known.
 */
#ifndef WALPOST_WAL_TIMELINE_H
#define WALPOST_WAL_TIMELINE_H

#include "walpost/base/error.h"
#include "walpost/wal/lsn.h"

#define WP_TIMELINES_MAX 128

struct wp_timelines {
	uint32_t current;
	size_t count;
	struct {
		uint32_t timeline;
		wp_lsn ends_at; /* the first LSN that is not on it any more */
	} past[WP_TIMELINES_MAX];
};

/* `history` may be null: timeline 1 has none. WP_PROTO on a malformed line. */
enum wp_rc wp_timelines_read(struct wp_timelines *t, uint32_t current, struct wp_span history,
			     struct wp_error *error) WP_MUST_CHECK;
uint32_t wp_timelines_at(const struct wp_timelines *t, wp_lsn lsn);

#endif
