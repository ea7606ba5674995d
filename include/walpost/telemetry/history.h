/*
 * The last minutes, for the charts of the page: a ring of samples.
 * Bounded: WP_HISTORY_SAMPLES. Pure.
 */
#ifndef WALPOST_TELEMETRY_HISTORY_H
#define WALPOST_TELEMETRY_HISTORY_H

#include "walpost/relay/relay.h"

#define WP_HISTORY_SAMPLES 150
#define WP_HISTORY_EVERY_MS 2000

struct wp_history_sample {
	int64_t at_ms;	  /* monotonic */
	double events_s;  /* confirmed a second, since the sample before */
	double lag_bytes; /* below 0: not known */
	double in_flight; /* events */
};

struct wp_history {
	struct wp_history_sample samples[WP_HISTORY_SAMPLES];
	size_t first;
	size_t count;
	uint64_t confirmed; /* as of the last */
	int64_t at_ms;	    /* likewise; 0: none yet */
};

void wp_history_add(struct wp_history *h, int64_t now_ms, const struct wp_relay_snapshot *s);
/* 0 is the oldest. */
const struct wp_history_sample *wp_history_at(const struct wp_history *h, size_t index);

#endif
