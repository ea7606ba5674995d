/*
 * How much may be in flight, where events go to so many
 * partitions?
 *
 * A request to Kafka carries events of one partition, and costs librdkafka a look at each partition
 * of the broker: with a fixed number of events in flight, twice the partitions make twice the
 * requests of half the size, each at twice the price. So the bounds grow with the partitions in
 * use, up to relay.in_flight.bytes_max.
 *
 * Pure.
 */
#ifndef WALPOST_RELAY_IN_FLIGHT_LIMITS_H
#define WALPOST_RELAY_IN_FLIGHT_LIMITS_H

#include "walpost/relay/options.h"

/* The bounds as configured are for so many partitions; each further so many add them once more. */
#define WP_IN_FLIGHT_PARTITIONS 256
#define WP_IN_FLIGHT_TIMES_MAX 8

struct wp_in_flight_limits {
	size_t events;
	size_t bytes;
};

/* Never less for more partitions; SIZE_MAX partitions: the most there can be. */
struct wp_in_flight_limits wp_in_flight_limits_for(const struct wp_relay_options *options,
						   size_t partitions);

#endif
