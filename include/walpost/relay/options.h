/* What the user may say about the relay itself. */
#ifndef WALPOST_RELAY_OPTIONS_H
#define WALPOST_RELAY_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

enum wp_sink_kind { WP_SINK_KIND_KAFKA, WP_SINK_KIND_STDOUT };

struct wp_relay_options {
	enum wp_sink_kind sink;
	size_t in_flight_events;      /* sent and not confirmed, at most */
	size_t in_flight_bytes;	      /* likewise, with per-event overhead counted */
	int64_t feedback_interval_ms; /* confirmed positions are told at most this often */
	int64_t topic_wait_ms;	      /* how long a missing or forbidden topic may stay so */
	int64_t shutdown_timeout_ms;
	uint16_t epoch;
};

#endif
