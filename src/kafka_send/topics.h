/*
 * Keeps what is known of each topic in use: does it exist, may it be written, how large may a batch be, its
 * partitions, and librdkafka's handle on it. Survives a new producer, all but the handles and what that one knew of
 * partitions.
 *
 * Private to kafka_send/. Owns: its entries with the records queued for them, and their number, and through `drop` the
 * handles. Calls: `drop` only. Bounded: `capacity` topics; the one unused for longest makes room, but none that has records
 * queued or in flight: more topics than `capacity` are kept only while all have some. A pointer to a topic lives until the
 * next wp_topics_get() of another name, or for as long as it has such records.
 */
#ifndef WALPOST_SRC_KAFKA_SEND_TOPICS_H
#define WALPOST_SRC_KAFKA_SEND_TOPICS_H

#include <stdbool.h>

#include "walpost/base/error.h"
#include "walpost/base/span.h"
#include "walpost/sink/sink.h"

/*
 * Records that were taken and cannot be sent yet, first in, first out. Each is copied whole, with
 * what names it to people, into one allocation.
 *
 * Owns: its records. Calls: nothing. Bounded by who fills it.
 */
struct wp_queued {
	struct wp_queued *next;
	wp_ticket ticket;
	struct wp_record record; /* all it points to lies behind it; without `columns` */
	struct wp_report report; /* for who gives it back unsent */
};

struct wp_queue {
	struct wp_queued *first; /* NULL: empty */
	struct wp_queued *last;
	size_t count;
};

/* The caller owns it until it is pushed; free() ends it. Returns NULL when out of memory. */
struct wp_queued *wp_queued_new(wp_ticket ticket, const struct wp_record *record);
/* The queue takes the record. */
void wp_queue_push(struct wp_queue *q, struct wp_queued *item);
/* The caller owns it from here on. Returns NULL when the queue is empty. */
struct wp_queued *wp_queue_pop(struct wp_queue *q);
void wp_queue_clear(struct wp_queue *q);

#define WP_TOPIC_NAME_MAX 249 /* Kafka's own limit */

enum wp_topic_state {
	WP_TOPIC_UNKNOWN, /* to be asked for, not before ask_at_ms */
	WP_TOPIC_READY,
};

enum wp_topic_trouble {
	WP_TOPIC_FINE,
	WP_TOPIC_MISSING,
	WP_TOPIC_FORBIDDEN,
	WP_TOPIC_NO_PARTITION,
	WP_TOPIC_REFUSED, /* INVALID_TOPIC_EXCEPTION */
};

struct wp_topic_partition {
	/* The producer of now knows this of it. */
	wp_ticket pioneer;	 /* sent first and alone, and not reported yet; 0: none */
	int64_t confirmed_at_ms; /* INT64_MIN: nothing was confirmed on it */
	/* These are of the record sent last among those confirmed, by any producer of this process. */
	wp_ticket ticket; /* 0: none */
	int64_t offset;
};

struct wp_topic {
	char name[WP_TOPIC_NAME_MAX + 1];
	size_t name_size;
	enum wp_topic_state state;
	enum wp_topic_trouble trouble; /* the last answer, or what a report said */
	int64_t troubled_at_ms;	       /* when that began */
	char *no_creation; /* owned: the broker's reason not to create it; NULL: not known */
	int64_t why_at_ms; /* then that is asked for; 0 at first */
	unsigned failures; /* reports against it since the last good one */
	int64_t ask_at_ms;
	int64_t answered_at_ms;
	size_t in_flight;	/* records sent and not reported; none that is queued */
	unsigned client;	/* of the producer's: whose `handle` it is */
	bool is_expected;	/* to be asked for before an event comes */
	bool recounts;		/* asked for because a partition was missing */
	size_t limit;		/* bytes of a batch at most; 0: not known */
	const char *limit_name; /* static: the property that sets it */
	void *handle;		/* owned; NULL: none yet */
	struct wp_topic_partition *partitions; /* owned */
	int32_t partition_count;
	struct wp_queue queue; /* what waits for it, or for the first record of a partition */
	bool is_retried;       /* something happened that these may have waited for */
	bool is_deferred;      /* in the backlog's list of topics whose turn comes later */
	struct wp_topic *next_deferred;

	/* These are the cache's own. */
	struct wp_topic *next;
	struct wp_topic *newer;
	struct wp_topic *older;
	uint64_t hash;
};

struct wp_topics {
	struct wp_topic **buckets;
	size_t bucket_count; /* a power of two */
	size_t count;
	size_t capacity;
	size_t partition_count; /* of all of them */
	size_t queued_count;	/* records, of all of them */
	size_t waiting_count;	/* of these: for topics that are not READY */
	bool any_is_retried;
	struct wp_topic *newest;
	struct wp_topic *oldest;
	void (*drop)(void *handle);
};

/* `capacity` is at least 2. */
enum wp_rc wp_topics_init(struct wp_topics *t, size_t capacity,
			  void (*drop)(void *handle)) WP_MUST_CHECK;
void wp_topics_release(struct wp_topics *t);
/* Returns the topic of this name, new and UNKNOWN if need be; NULL when out of memory, or when no such
 * name is possible (longer than WP_TOPIC_NAME_MAX). */
struct wp_topic *wp_topics_get(struct wp_topics *t, struct wp_span name);
/* Returns NULL when it is not there. Does not count as use. */
struct wp_topic *wp_topics_find(const struct wp_topics *t, const char *name);
void wp_topics_set_state(struct wp_topics *t, struct wp_topic *topic, enum wp_topic_state state);
/* Records are queued for the topic in order. push() takes one; what pop() gives is the caller's. */
void wp_topics_push(struct wp_topics *t, struct wp_topic *topic, struct wp_queued *item);
struct wp_queued *wp_topics_pop(struct wp_topics *t, struct wp_topic *topic);
void wp_topics_clear_queues(struct wp_topics *t);
/* What the queued records of this topic, or of all topics, wait for may have come. */
void wp_topics_retry(struct wp_topics *t, struct wp_topic *topic);
void wp_topics_retry_all(struct wp_topics *t);
/* Returns the next to be retried behind `after` (NULL: the first), which it is not any more; NULL when
 * there is no more. */
struct wp_topic *wp_topics_next_retried(struct wp_topics *t, const struct wp_topic *after);
/* To be called before the producer they belong to goes: partitions are as new to the next one. */
void wp_topics_drop_handles(struct wp_topics *t);
/*
 * A record was confirmed at `offset`, negative when Kafka did not tell it, as for a retried batch that it had
 * already. Returns true when at that offset or above, `ret_before`, one was confirmed that was sent before
 * it, so that Kafka no longer has that one. Reports out of the order of sending tell nothing.
 */
bool wp_partition_lost_data(struct wp_topic_partition *partition, wp_ticket ticket, int64_t offset,
			    int64_t *ret_before);
/* A record was sent to that partition; it is `alone` when it is the first, or one that may be refused. */
void wp_topic_sent(struct wp_topic *topic, int32_t partition, wp_ticket ticket, bool alone);
/* Its report came, of the partition of that number. Returns true as wp_partition_lost_data() does. */
bool wp_topics_reported(struct wp_topics *t, struct wp_topic *topic, int32_t index,
			const struct wp_report *report, int64_t offset, int64_t now_ms,
			int64_t *ret_before);
/* New partitions are as never used. After WP_NOMEM all is as before. */
enum wp_rc wp_topics_set_partitions(struct wp_topics *t, struct wp_topic *topic,
				    int32_t count) WP_MUST_CHECK;

#endif
