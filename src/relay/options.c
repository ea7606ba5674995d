/* The bounds of what is in flight grow with the partitions that events go to (options.h). */
#include "walpost/relay/options.h"

struct wp_in_flight_limits wp_in_flight_limits_for(const struct wp_relay_options *options,
						   size_t partitions)
{
	struct wp_in_flight_limits w = { options->in_flight_events, options->in_flight_bytes };

	if (options->in_flight_bytes_max <= options->in_flight_bytes)
		return w;
	size_t times = partitions / WP_IN_FLIGHT_PARTITIONS;
	if (times < 1)
		times = 1;
	if (times > WP_IN_FLIGHT_TIMES_MAX)
		times = WP_IN_FLIGHT_TIMES_MAX;
	w.events *= times;
	w.bytes *= times;
	if (w.bytes > options->in_flight_bytes_max)
		w.bytes = options->in_flight_bytes_max;
	return w;
}
