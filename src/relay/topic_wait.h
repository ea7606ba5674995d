/*
 * How long has the relay waited for a topic, or for a right on the cluster, and is that too long?
 * A wait is told of once a minute. It is over when something is confirmed again.
 *
 * Pure: time is passed in (monotonic ms).
 */
#ifndef WALPOST_SRC_RELAY_TOPIC_WAIT_H
#define WALPOST_SRC_RELAY_TOPIC_WAIT_H

#include "walpost/relay/machine.h"
#include "walpost/sink/sink.h"
#include "walpost/wal/lsn.h"

struct wp_topic_wait {
	bool on;
	char topic[WP_SINK_TOPIC_SIZE]; /* "": for a right on the cluster */
	int64_t since_ms;
	int64_t noted_ms;
	wp_lsn confirmed_lsn; /* confirmed until now */
};

enum wp_topic_wait_answer {			       /* any of: */
			    WP_TOPIC_NOTE = 1 << 0,    /* tell what is waited for */
			    WP_TOPIC_FOUND = 1 << 1,   /* tell that it was found */
			    WP_TOPIC_GIVE_UP = 1 << 2, /* a human must act */
};

unsigned wp_topic_wait_step(struct wp_topic_wait *w, enum wp_state state,
			    const struct wp_sink_view *v, wp_lsn confirmed_lsn, int64_t patience_ms,
			    int64_t now_ms);
int64_t wp_topic_wait_due(const struct wp_topic_wait *w, enum wp_state state,
			  const struct wp_sink_view *v, int64_t patience_ms);

#endif
