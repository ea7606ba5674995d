/*
 * Does the sink's other side answer, and does it confirm? Two things that a log must say once a
 * minute: that nobody answers (an outage), and that Kafka answers but confirms nothing of what is
 * in flight (a stall), as of a partition that takes no writes, which is tried for ever without a
 * word. Then what follows from it: is a topic waited for too long, do deliveries stand still?
 *
 * Pure: time is passed in (monotonic ms).
 */
#ifndef WALPOST_SRC_RELAY_SINK_WATCH_H
#define WALPOST_SRC_RELAY_SINK_WATCH_H

#include "walpost/relay/machine.h"
#include "walpost/sink/sink.h"
#include "walpost/wal/lsn.h"

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

/* How the relay stands. */
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
/* It is broken: for how long? */
int64_t wp_sink_watch_broken_for(struct wp_sink_watch *w, int64_t now_ms);
/* It may keep reports back until it is gone (librdkafka does): so long they are waited for. */
enum { WP_SINK_BROKEN_MS = 2 * 1000 };

/*
 * How long has the relay waited for a topic, or for a right on the cluster, and is that too long?
 * Told once a minute. The wait is over when something is confirmed again.
 */
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

/*
 * Is anything confirmed while something waits for it, whatever the cause? For the status and for
 * the slot checkpoint row: over all streams, told after 15 s, and over only when something was confirmed
 * or nothing has waited for as long. Idle is not stalled, nor is a slow Kafka.
 *
 * Not the stall above, which is one of the causes, and begins anew with each outage.
 */
struct wp_delivery {
	uint64_t confirmed;   /* events, by this process */
	int64_t confirmed_ms; /* the last; INT64_MIN: none */
	uint64_t seen;	      /* of these, as of the last turn */
	bool waits;	      /* likewise */
	int64_t since_ms;     /* when something was confirmed last, or began to wait */
	int64_t waited_ms;    /* when something waited last */
	const char *stalled;  /* why nothing is confirmed; NULL: it is, or nothing waits */
};

void wp_delivery_init(struct wp_delivery *d);
/* One event. */
void wp_delivery_confirmed(struct wp_delivery *d, int64_t now_ms);
/* A stream begins. */
void wp_delivery_begin(struct wp_delivery *d, int64_t now_ms);
/*
 * `cause`: why what was read is not confirmed, constant text; NULL: nothing waits. True: `stalled`
 * is another now.
 */
bool wp_delivery_step(struct wp_delivery *d, const char *cause, int64_t now_ms);
int64_t wp_delivery_due(const struct wp_delivery *d, bool waits);

#endif
