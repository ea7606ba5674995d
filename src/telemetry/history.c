/* Keeps the last minutes for the charts of the page. */
#include <assert.h>

#include "walpost/telemetry/telemetry.h"

static double rate(const struct wp_history *h, int64_t now_ms, uint64_t confirmed)
{
	if (h->at_ms == 0 || now_ms <= h->at_ms)
		return 0;
	return (double)(confirmed - h->confirmed) * 1000. / (double)(now_ms - h->at_ms);
}

void wp_history_add(struct wp_history *h, int64_t now_ms, const struct wp_relay_snapshot *s)
{
	uint64_t lag;

	if (h->count == WP_HISTORY_SAMPLES) {
		h->first = (h->first + 1) % WP_HISTORY_SAMPLES;
		h->count--;
	}
	h->samples[(h->first + h->count++) % WP_HISTORY_SAMPLES] = (struct wp_history_sample){
		.at_ms = now_ms,
		.events_s = rate(h, now_ms, s->confirmed),
		.lag_bytes = wp_relay_lag(s, &lag) ? (double)lag : -1,
		.in_flight = (double)s->in_flight,
	};
	h->confirmed = s->confirmed;
	h->at_ms = now_ms;
}

const struct wp_history_sample *wp_history_at(const struct wp_history *h, size_t index)
{
	assert(index < h->count);
	return &h->samples[(h->first + index) % WP_HISTORY_SAMPLES];
}
