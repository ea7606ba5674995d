/*
 * A consumer for who wants to see what topics hold: of no group, it commits nothing. Private to
 * kafka/.
 */
#ifndef WALPOST_KAFKA_CONSUMER_H
#define WALPOST_KAFKA_CONSUMER_H

#include <librdkafka/rdkafka.h>
#include <stddef.h>

#include "walpost/kafka/options.h"

struct wp_consumer_property {
	const char *name;
	const char *value;
};

/*
 * With what [kafka] says of connections, which producers and consumers share; `more` is
 * librdkafka's own, and must be right. Errors come on its main queue; its log lines end there.
 * NULL: librdkafka makes none. The caller destroys it.
 */
rd_kafka_t *wp_consumer_new(const struct wp_kafka_options *options,
			    const struct wp_consumer_property *more, size_t more_count);

#endif
