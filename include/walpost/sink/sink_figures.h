/*
 * What a sink tells of itself in figures, for people. Kafka's are librdkafka's own statistics;
 * a sink that has none leaves `known` false.
 */
#ifndef WALPOST_SINK_SINK_FIGURES_H
#define WALPOST_SINK_SINK_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
