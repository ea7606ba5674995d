/* These are the user's options for the relay itself. */
#ifndef WALPOST_RELAY_OPTIONS_H
#define WALPOST_RELAY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "walpost/source/cleanup.h"

enum wp_sink_kind { WP_SINK_KIND_KAFKA, WP_SINK_KIND_STDOUT };
/* An event that can never be delivered has this effect. */
enum wp_poison { WP_POISON_STOP, WP_POISON_DEAD_LETTER, WP_POISON_PARK };
/* A stop for a human ends the process, or keeps it up until the signal to end comes. */
enum wp_on_halt { WP_ON_HALT_EXIT, WP_ON_HALT_HOLD };

struct wp_park_options {
	size_t aggregates_max;	/* parked at a time; above, the relay stops */
	size_t events_max;	/* likewise, of all aggregates */
	int64_t retry_first_ms; /* until the first attempt; each further wait is twice the last, */
	int64_t retry_max_ms;	/* at most */
	size_t retry_attempts;	/* that may fail until the dead-letter topic; 0: any number */
};

struct wp_relay_options {
	enum wp_sink_kind sink;
	size_t in_flight_events;      /* sent and not confirmed, at most */
	size_t in_flight_bytes;	      /* likewise, with per-event overhead counted */
	size_t in_flight_bytes_max;   /* what that may become with many partitions (below) */
	int64_t feedback_interval_ms; /* confirmed positions are told at most this often */
	int64_t topic_wait_ms;	      /* how long a missing or forbidden topic may stay so */
	int64_t shutdown_timeout_ms;
	enum wp_poison poison;
	const char *dead_letter_topic; /* "": none */
	struct wp_park_options park;
	size_t rewinds_max; /* at the same position, before a human must act */
	enum wp_on_halt on_halt;
	uint16_t epoch;
	struct wp_cleanup_options cleanup;
	bool schedule; /* events of walpost.scheduled are moved to their outboxes */
};

/*
 * How much may be in flight, where events go to so many partitions? A request to Kafka carries events of one partition,
 * and costs librdkafka a look at each partition of the broker: with a fixed number of events in flight, twice the
 * partitions make twice the requests of half the size, each at twice the price. So the bounds grow with the partitions
 * in use: as configured they are for 256 partitions, each further 256 add them once more.
 */
#define WP_IN_FLIGHT_PARTITIONS 256
#define WP_IN_FLIGHT_TIMES_MAX 8

struct wp_in_flight_limits {
	size_t events;
	size_t bytes;
};

/* More partitions never give less; SIZE_MAX partitions give the most there can be. */
struct wp_in_flight_limits wp_in_flight_limits_for(const struct wp_relay_options *options,
						   size_t partitions);

#endif
