/*
 * Is the database behind what was delivered from it? An event's position tells
 * timeline and place of its COMMIT; the server's history tells what of that
 * timeline it has. Pure.
 */
#ifndef WALPOST_RELAY_BEHIND_H
#define WALPOST_RELAY_BEHIND_H

#include "walpost/wal/position.h"
#include "walpost/wal/timeline.h"

enum wp_behind {
	WP_BEHIND_NOT,
	WP_BEHIND_LOST,	    /* same timeline: its log ends before the event */
	WP_BEHIND_PROMOTED, /* it left the event's timeline before the event */
	WP_BEHIND_NEWER,    /* the event's timeline is none of its past, nor its own */
};

/* `ret_end` is where the server's share of the event's timeline ends; 0 for NEWER. */
enum wp_behind wp_behind_judge(const struct wp_position *delivered,
			       const struct wp_timelines *timelines, wp_lsn server_lsn,
			       wp_lsn *ret_end);

#endif
