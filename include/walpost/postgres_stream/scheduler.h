/*
 * Moves scheduled events to their outboxes when their time has come, by walpost.move_due() (sql/schedule.sql), in a
 * session beside the stream. The server's clock alone counts: each answer says how long until the next one, and a
 * notification or a second that has passed lead to the next question. A relay that does not stream moves nothing; of
 * several that do, one moves at a time, and which one does not matter.
 *
 * A database without that function is asked for it once a minute, without an error in its log. What fails otherwise is
 * tried again with backoff, and logged once a minute when it lasts (`scheduling_unavailable`).
 *
 * Owns: its session. Borrows: loop, options and stream until free. Bounded: one statement at a time, of 500 events.
 * Single-threaded, on the loop.
 */
#ifndef WALPOST_POSTGRES_STREAM_SCHEDULER_H
#define WALPOST_POSTGRES_STREAM_SCHEDULER_H

#include <ev.h>

#include "walpost/postgres/options.h"
#include "walpost/source/scheduled.h"
#include "walpost/source/source.h"

struct wp_scheduler_setup {
	const struct wp_postgres_options *options;
	struct wp_source
		*stream; /* wp_stream_new()'s: moves on the same server. NULL: for a test */
};

enum wp_scheduling { WP_SCHEDULING_OFF, WP_SCHEDULING_ON };

struct wp_scheduler;

/* It is off at first. Returns NULL when out of memory. */
struct wp_scheduler *wp_scheduler_new(struct ev_loop *loop, const struct wp_scheduler_setup *setup);
/* Ends it at once; NULL is fine. */
void wp_scheduler_free(struct wp_scheduler *s);
/* To be turned ON while the relay streams, as often as one likes; off, it has no connection. */
void wp_scheduler_turn(struct wp_scheduler *s, enum wp_scheduling scheduling);
/* Valid until the next call, which is any of the loop. */
const struct wp_scheduled_figures *wp_scheduler_figures(const struct wp_scheduler *s);

#endif
