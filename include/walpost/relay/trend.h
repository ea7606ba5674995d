/*
 * How does a slot move? Of samples that are taken now and then, two tell how fast the relay
 * confirms and the server writes, whether the distance shrinks and when it is gone; the guard
 * tells when the slot would be lost.
 *
 * Pure: time is passed in (monotonic ms). Bounded: by the guard.
 */
#ifndef WALPOST_RELAY_TREND_H
#define WALPOST_RELAY_TREND_H

#include <stdbool.h>
#include <stdint.h>

#include "walpost/relay/wal_guard.h"

struct wp_trend_sample {
	int64_t at_ms;
	uint64_t confirmed; /* positions in the log; 0: not known */
	uint64_t server;
	bool is_limited; /* max_slot_wal_keep_size: */
	int64_t safe_size;
};

struct wp_trend {
	struct wp_trend_sample last; /* at_ms 0: none */
	struct wp_wal_guard guard;
};

struct wp_trend_rates {
	bool is_known;		 /* two samples, and no position went backwards */
	int64_t confirmed_per_s; /* bytes */
	int64_t written_per_s;
	int64_t lag_per_s;   /* negative: it shrinks; 0 also when there is none to speak of */
	int64_t caught_up_s; /* INT64_MAX: not in sight; 0: it is */
	int64_t lost_in_s;   /* INT64_MAX: not in sight */
};

void wp_trend_init(struct wp_trend *t);
struct wp_trend_rates wp_trend_add(struct wp_trend *t, const struct wp_trend_sample *sample);

#endif
