/*
 * Records go to a sink. The relay sends with a ticket and later collects reports by
 * ticket; nothing calls back. kafka_send/producer and sink/stdout are real ones, the
 * simulation has another; all pass one contract suite.
 *
 *   STARTING -> READY ⇄ WAITING          (a topic is missing or forbidden, or a right; it comes by itself)
 *   any -> BROKEN                        (a fatal error: restart() is asked for)
 *   any -> FAILED                        (configuration or a human: failure says why)
 *   READY, WAITING, BROKEN -restart-> STARTING
 *
 * Each record taken gets exactly one report, unless restart() or free came
 * before: then its ticket is never reported again.
 * Single-threaded: all calls on the loop's thread.
 */
#ifndef WALPOST_SINK_SINK_H
#define WALPOST_SINK_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "walpost/base/error.h"
#include "walpost/sink/record.h"
#include "walpost/sink/topic_ends.h"

/*
 * A sink tells this of itself in figures, for people. Kafka's are librdkafka's own statistics; a sink that has none
 * leaves `known` false.
 */
#define WP_SINK_BROKERS_MAX 32
#define WP_SINK_BROKER_SIZE 128

struct wp_sink_broker {
	char name[WP_SINK_BROKER_SIZE]; /* host:port/id */
	bool up;
	int64_t rtt_p50_us; /* of the last interval; 0: there was no request */
	int64_t rtt_p99_us;
};

struct wp_sink_figures {
	bool known;	     /* else the rest means nothing */
	uint64_t messages;   /* queued or on their way */
	uint64_t bytes;	     /* likewise */
	uint64_t requests;   /* since the client began; it begins anew at times */
	uint64_t sent_bytes; /* likewise; so are these */
	uint64_t retries;
	uint64_t timeouts;
	struct wp_sink_broker brokers[WP_SINK_BROKERS_MAX]; /* more are left out */
	size_t broker_count;
};

/* A ticket counts up, and never restarts within a process. 0 is no ticket. */
typedef uint64_t wp_ticket;

enum wp_outcome {
	WP_CONFIRMED, /* the sink's word that it is kept: the only thing that settles */
	WP_REFUSED,   /* not kept, or not known to be; `reaction` says what next */
	WP_PURGED,    /* taken back by our own purge(): not an error */
};

struct wp_report {
	wp_ticket ticket;
	enum wp_outcome outcome;
	enum wp_reaction reaction; /* WP_REFUSED only */
	bool event_level;	   /* WP_REFUSED: of the closed list that may be poison */
	const char *code;	   /* constant text, e.g. MSG_SIZE_TOO_LARGE; NULL unless refused */
	size_t limit;		   /* bytes the topic takes, for a size error; 0 unknown */
	const char *cure;	   /* event_level: what to change; constant text, or NULL */
};

enum wp_sink_state {
	WP_SINK_STARTING,
	WP_SINK_READY,
	WP_SINK_WAITING,
	WP_SINK_BROKEN,
	WP_SINK_FAILED,
};

enum { WP_SINK_TOPIC_SIZE = 256 };

struct wp_sink_view {
	enum wp_sink_state state;
	enum wp_reaction reaction;	 /* FAILED: STOP_CONFIG or STOP_HUMAN */
	bool reachable;			 /* the last that was heard of the other side was good */
	char topic[WP_SINK_TOPIC_SIZE];	 /* WAITING: which; "": for a right on the cluster */
	struct wp_error error;		 /* WAITING, BROKEN, FAILED; or why not reachable */
	const struct wp_record *waiting; /* for that topic, since longest; NULL: what is offered.
					  * Borrowed, until the next call */
	size_t in_flight;		 /* records taken and not reported yet */
	size_t queued; /* of these: not sent, for their topics are not known; purge() takes all back */
	size_t record_max; /* bytes of the largest record it takes; 0: any; constant */
	size_t partitions; /* of the topics in use; 0: it has none */
	bool throttled;	   /* the other side slows us down (a quota): its silence is no outage */
	uint64_t throttled_ms;		 /* the times for which it did so, together */
	uint64_t data_losses;		 /* times that what was confirmed was found to be gone */
	struct wp_topic_ends topic_ends; /* the answer to ask_topic_ends() */
};

enum wp_batching { WP_BATCHING_NORMAL, WP_BATCHING_ONE_BY_ONE };

struct wp_sink;

struct wp_sink_ops {
	/*
	 * WP_OK: taken, copied; a report will come. It is not sent yet, perhaps: what waits for its topic holds up no
	 * other, unless one by one or WAITING. Not taken: WP_AGAIN (topic not known yet, waiting, starting: offer it
	 * again after the next wake); WP_FULL (own queue full); WP_DATA with the error (never deliverable: size, naming
	 * size and limit); WP_IO (broken).
	 */
	enum wp_rc (*send)(struct wp_sink *s, wp_ticket ticket, const struct wp_record *record,
			   struct wp_error *error);
	/* Takes reports that have come, at most `max`; also does what is due at now_ms. */
	size_t (*collect)(struct wp_sink *s, int64_t now_ms, struct wp_report *reports, size_t max);
	/* Takes back what is queued and not on its way: reported as PURGED. */
	void (*purge)(struct wp_sink *s);
	/* Forgets everything and begins anew, without waiting; STARTING until ready.
	 * The old one is quite gone before the new one sends. */
	void (*restart)(struct wp_sink *s, enum wp_batching batching);
	/* Adds the topics that events went to. */
	void (*topics)(struct wp_sink *s, struct wp_topic_list *into);
	/*
	 * Events for these topics (comma-separated) may come: what is to be known of them is asked
	 * for at once and together. NULL, the function itself: there is nothing to know.
	 */
	void (*prefetch)(struct wp_sink *s, const char *topics);
	/* Asks what the topics hold already: view()->topic_ends, after a wake or at once. A new question drops the
	 * old one. In any state; restart() does not touch it. */
	void (*ask_topic_ends)(struct wp_sink *s, const struct wp_topic_ends_question *question);
	const struct wp_sink_view *(*view)(struct wp_sink *s);
	/* Returns figures for people. NULL, the function itself: it has none. */
	const struct wp_sink_figures *(*figures)(struct wp_sink *s);
	/* Returns the descriptor whose readiness means "collect": poll() events in `ret_events` (0: none wanted
	 * now). It is asked again after each step. */
	int (*fd)(struct wp_sink *s, short *ret_events);
	/* The descriptor was ready: makes it unready until more comes. It is not called for each collect(), of which
	 * most are due anyway. NULL, the function itself: collect() makes it unready. */
	void (*woken)(struct wp_sink *s);
	/* Returns when it wants to be collected at the latest, monotonic ms; INT64_MAX: never. */
	int64_t (*due)(struct wp_sink *s);
	/* Ends within wait_ms, abandoning what does not. NULL is fine. */
	void (*free)(struct wp_sink *s, int64_t wait_ms);
};

struct wp_sink {
	const struct wp_sink_ops *ops;
};

#endif
