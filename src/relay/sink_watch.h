/*
 * Does the sink's other side answer, and does it confirm? Two things that a log must say once a
 * minute: that nobody answers (an outage), and that Kafka answers but confirms nothing of what is
 * in flight (a stall), as of a partition that takes no writes, which is tried for ever without a
 * word. Whether deliveries stand still, whatever the cause, is another question: delivery.h.
 *
 * Pure: time is passed in (monotonic ms).
 */
#ifndef WALPOST_SRC_RELAY_SINK_WATCH_H
#define WALPOST_SRC_RELAY_SINK_WATCH_H

#include "walpost/relay/machine.h"
#include "walpost/sink/sink.h"

struct wp_sink_watch {
	bool reached;	   /* once */
	size_t partitions; /* that the in-flight limits were set for */
	int64_t broken_ms; /* when it was first seen to be; INT64_MAX: it is not */
	struct {
		bool on; /* and was told */
		int64_t since_ms;
		int64_t noted_ms;
	} outage;
	struct {
		uint64_t confirmed; /* as of the last turn: any more, and it is over */
		int64_t since_ms;
		int64_t noted_ms;
		bool noted;
	} stall;
};

/* This is how the relay stands. */
struct wp_sink_use {
	enum wp_state state;
	size_t in_flight;
	uint64_t confirmed; /* events, so far */
};

enum wp_sink_watch_answer { /* any of these is to be told: */
			    WP_SINK_UNREACHABLE = 1 << 0,
			    WP_SINK_STILL_UNREACHABLE = 1 << 1,
			    WP_SINK_REACHABLE = 1 << 2, /* again */
			    WP_SINK_STALLED = 1 << 3,
			    WP_SINK_CONFIRMS = 1 << 4, /* again, after a stall that was told */
};

void wp_sink_watch_init(struct wp_sink_watch *w);
unsigned wp_sink_watch_step(struct wp_sink_watch *w, const struct wp_sink_view *v,
			    const struct wp_sink_use *use, int64_t now_ms);
int64_t wp_sink_watch_due(const struct wp_sink_watch *w, const struct wp_sink_view *v,
			  const struct wp_sink_use *use);
/* The sink is broken; returns for how long. */
int64_t wp_sink_watch_broken_for(struct wp_sink_watch *w, int64_t now_ms);
/* The sink may keep reports back until it is gone (librdkafka does): so long they are waited for. */
enum { WP_SINK_BROKEN_MS = 2 * 1000 };

#endif
