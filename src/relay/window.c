#include "walpost/relay/window.h"

static size_t times_for(size_t partitions)
{
	size_t times = partitions / WP_WINDOW_PARTITIONS;

	if (times < 1)
		return 1;
	return times < WP_WINDOW_TIMES_MAX ? times : WP_WINDOW_TIMES_MAX;
}

struct wp_window wp_window_for(const struct wp_relay_options *options, size_t partitions)
{
	struct wp_window w = { options->in_flight_events, options->in_flight_bytes };

	if (options->in_flight_bytes_max <= options->in_flight_bytes)
		return w;
	size_t times = times_for(partitions);
	w.events *= times;
	w.bytes *= times;
	if (w.bytes > options->in_flight_bytes_max)
		w.bytes = options->in_flight_bytes_max;
	return w;
}
