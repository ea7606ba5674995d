/*
 * One librdkafka producer: opened with what [kafka] says, and closed but for
 * rd_kafka_destroy(), which blocks.
 *
 * Owns the handle and its main queue, on which everything arrives: delivery reports, errors, log
 * lines, answers of the admin API.
 */
#ifndef WALPOST_KAFKA_CLIENT_H
#define WALPOST_KAFKA_CLIENT_H

#include <stddef.h>

#include <librdkafka/rdkafka.h>

#include "walpost/kafka/options.h"
#include "walpost/kafka/properties.h"
#include "walpost/sink/sink.h"

struct wp_client_shape {
	enum wp_batching batching;
	size_t batch_size; /* 0: as configured */
};

struct wp_client {
	rd_kafka_t *rk; /* NULL: none */
	rd_kafka_queue_t *queue;
	size_t partitions; /* of the topics that were sent to by it: librdkafka keeps them */
	struct wp_sink_figures figures;
};

/*
 * What rd_kafka_new() said, just now. WP_CONFIG: it refuses the configuration; WP_IO: it
 * lacked something of the system, a thread mostly: later it may have it.
 */
enum wp_rc wp_client_not_made(const char *errstr, struct wp_error *error);
/*
 * `fd` is an eventfd: it becomes readable when the queue was empty and is not any more.
 * WP_CONFIG, WP_IO as above; WP_NOMEM.
 */
enum wp_rc wp_client_open(const struct wp_kafka_options *options,
			  const struct wp_kafka_bounds *bounds, const struct wp_client_shape *shape,
			  int fd, struct wp_client *ret, struct wp_error *error) WP_MUST_CHECK;
/*
 * Gives up all references but the last and returns it: what blocks is left to
 * do, rd_kafka_destroy(). Topics and events of the client must be gone.
 */
rd_kafka_t *wp_client_close(struct wp_client *c);
/* NULL, or what this version of librdkafka is known to get wrong. */
const char *wp_client_version_trouble(int version);

/*
 * A consumer for who wants to see what topics hold: of no group, it commits nothing.
 */
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
