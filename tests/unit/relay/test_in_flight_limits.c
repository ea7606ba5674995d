#include "support/check.h"
#include "walpost/relay/options.h"

#define MIB ((size_t)1024 * 1024)

static const struct wp_relay_options defaults = {
	.in_flight_events = 8192,
	.in_flight_bytes = 12 * MIB,
	.in_flight_bytes_max = 64 * MIB,
};

static void check(const struct wp_relay_options *options, size_t partitions, size_t events,
		  size_t bytes)
{
	struct wp_in_flight_limits w = wp_in_flight_limits_for(options, partitions);

	CHECK_EQ(w.events, events);
	CHECK_EQ(w.bytes, bytes);
}

static void few_partitions_leave_the_bounds_as_configured(void **state)
{
	check(&defaults, 0, 8192, 12 * MIB);
	check(&defaults, 511, 8192, 12 * MIB);
}

static void each_256_more_add_them_once_more(void **state)
{
	check(&defaults, 512, 2 * 8192, 24 * MIB);
	check(&defaults, 767, 2 * 8192, 24 * MIB);
	check(&defaults, 768, 3 * 8192, 36 * MIB);
}

static void the_bytes_end_at_their_own_bound_and_the_events_at_eight_times(void **state)
{
	check(&defaults, 2000, 7 * 8192, 64 * MIB);
	check(&defaults, 2048, 8 * 8192, 64 * MIB);
	check(&defaults, SIZE_MAX, 8 * 8192, 64 * MIB);
}

static void with_no_more_bytes_allowed_the_limits_do_not_grow(void **state)
{
	struct wp_relay_options options = defaults;

	options.in_flight_bytes_max = options.in_flight_bytes;
	check(&options, SIZE_MAX, 8192, 12 * MIB);
	options.in_flight_bytes_max = 64 * 1024;
	check(&options, SIZE_MAX, 8192, 12 * MIB);
	options.in_flight_bytes_max = options.in_flight_bytes + 1;
	check(&options, SIZE_MAX, 8 * 8192, 12 * MIB + 1);
}

int main(void)
{
	return RUN(PLAIN(few_partitions_leave_the_bounds_as_configured),
		   PLAIN(each_256_more_add_them_once_more),
		   PLAIN(the_bytes_end_at_their_own_bound_and_the_events_at_eight_times),
		   PLAIN(with_no_more_bytes_allowed_the_limits_do_not_grow));
}
