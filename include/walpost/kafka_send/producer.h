/*
 * The sink on librdkafka: idempotent, gapless, acks=all, no message timeout, Java's
 * partitioner. Delivery reports are events on our loop (event queue, eventfd).
 * A ticket is confirmed only by a report without error and status PERSISTED.
 *
 * Owns: the producer, its topics. Borrows: options and worker (for
 * rd_kafka_destroy, which blocks). librdkafka's threads never run our code.
 * Bounded: by what the relay sends; librdkafka's own queue limits lie above
 * in_flight_events and in_flight_bytes.
 */
#ifndef WALPOST_KAFKA_SEND_PRODUCER_H
#define WALPOST_KAFKA_SEND_PRODUCER_H

#include "walpost/base/worker.h"
#include "walpost/kafka/properties.h"
#include "walpost/sink/sink.h"

/* Returns WP_CONFIG with the error when a property is unknown, wrong, or breaks the promise. */
enum wp_rc wp_producer_new(const struct wp_kafka_options *options,
			   const struct wp_kafka_bounds *bounds, struct wp_worker *worker,
			   struct wp_sink **ret, struct wp_error *error) WP_MUST_CHECK;

#endif
