/* What the user may say about the relay itself. */
#ifndef WALPOST_RELAY_OPTIONS_H
#define WALPOST_RELAY_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

enum wp_sink_kind { WP_SINK_KIND_KAFKA, WP_SINK_KIND_STDOUT };
/* What an event that can never be delivered does. */
enum wp_poison { WP_POISON_STOP, WP_POISON_DEAD_LETTER };
/* What a stop for a human does: end the process, or stay up and wait for the signal to. */
enum wp_on_halt { WP_ON_HALT_EXIT, WP_ON_HALT_HOLD };

struct wp_relay_options {
	enum wp_sink_kind sink;
	size_t in_flight_events; /* sent and not confirmed, at most */
	size_t in_flight_bytes;	 /* likewise, with per-event overhead counted */
	size_t in_flight_bytes_max; /* what that may become with many partitions (in_flight_limits.h) */
	int64_t feedback_interval_ms; /* confirmed positions are told at most this often */
	int64_t topic_wait_ms;	      /* how long a missing or forbidden topic may stay so */
	int64_t shutdown_timeout_ms;
	enum wp_poison poison;
	const char *dead_letter_topic; /* "": none */
	size_t rewinds_max;	       /* at the same position, before a human must act */
	enum wp_on_halt on_halt;
	uint16_t epoch;
};

#endif
