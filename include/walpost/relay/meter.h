/*
 * How long do deliveries take, from a transaction's commit to the delivery report of each of its
 * events? One histogram a topic tells. And how old is the oldest that no report has come for?
 *
 * The ledger decides what is confirmed; the meter only counts, by the same tickets.
 *
 * Owns: a ring of events_max events. Bounded: WP_METER_TOPICS topics have a histogram of
 * their own, in the order in which they come; all others share one. Pure: time is passed in.
 * An event costs one hash of the topic's name.
 */
#ifndef WALPOST_RELAY_METER_H
#define WALPOST_RELAY_METER_H

#include "walpost/base/span.h"
#include "walpost/sink/sink.h"

#define WP_METER_TOPICS 64
#define WP_METER_BUCKETS 18

/* These are upper bounds in microseconds, ascending; what is above the last is counted in `count` only. */
extern const int64_t wp_meter_bounds_us[WP_METER_BUCKETS];

struct wp_meter_histogram {
	uint64_t buckets[WP_METER_BUCKETS]; /* each without those below it */
	uint64_t count;
	uint64_t sum_us;
};

struct wp_meter_topic {
	char name[WP_SINK_TOPIC_SIZE]; /* "": of all that had no room */
	struct wp_meter_histogram delivery;
};

struct wp_meter_event {
	int64_t commit_time_us;
	uint32_t sent_ms; /* its low bits */
	uint32_t topic;
};

struct wp_meter {
	struct wp_meter_event *events; /* owned ring, by ticket */
	size_t events_max;
	struct wp_meter_topic *topics; /* owned; the first is that of all others */
	size_t topic_count;
	uint16_t slots[4 * WP_METER_TOPICS]; /* hashes to topics; 0: free */
	uint32_t latest;		     /* that an event was sent to */
	int64_t now_ms;
};

enum wp_rc wp_meter_init(struct wp_meter *m, size_t events_max) WP_MUST_CHECK;
void wp_meter_release(struct wp_meter *m);
/* Makes room for more events; those from `first` to before `next` are kept. WP_NOMEM: as before. */
enum wp_rc wp_meter_widen(struct wp_meter *m, size_t events_max, wp_ticket first,
			  wp_ticket next) WP_MUST_CHECK;
/* What is sent from now on is sent at this monotonic time. */
void wp_meter_tick(struct wp_meter *m, int64_t now_ms);
/* Times of commit and report are of two clocks, both microseconds since 2000-01-01 UTC. */
void wp_meter_sent(struct wp_meter *m, wp_ticket ticket, struct wp_span topic,
		   int64_t commit_time_us);
/* A report that comes before the commit by the other clock took no time. */
void wp_meter_confirmed(struct wp_meter *m, wp_ticket ticket, int64_t wall_us);

/*
 * That share of all took at most so long: the upper bound of its bucket. INT64_MAX: above the
 * last; 0: there was none.
 */
int64_t wp_meter_quantile_us(const struct wp_meter_histogram *h, double share);

struct wp_meter_age {
	int64_t commit_time_us;
	int64_t waiting_ms; /* since it was sent, monotonic */
};
/* Returns the age of an event in flight. */
struct wp_meter_age wp_meter_age(const struct wp_meter *m, wp_ticket ticket);

#endif
