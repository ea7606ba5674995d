/*
 * Has one librdkafka producer: opened with what [kafka] says, and closed but for
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
 * Judges what rd_kafka_new() said just now. Returns WP_CONFIG when it refuses the configuration, WP_IO when
 * it lacked something of the system, a thread mostly: later it may have it.
 */
enum wp_rc wp_client_not_made(const char *errstr, struct wp_error *error);
/*
 * `fd` is an eventfd: it becomes readable when the queue was empty and is not any more. Returns WP_CONFIG and
 * WP_IO as above, or WP_NOMEM.
 */
enum wp_rc wp_client_open(const struct wp_kafka_options *options,
			  const struct wp_kafka_bounds *bounds, const struct wp_client_shape *shape,
			  int fd, struct wp_client *ret, struct wp_error *error) WP_MUST_CHECK;
/*
 * Gives up all references but the last and returns it: the caller is left to do what blocks,
 * rd_kafka_destroy(). Topics and events of the client must be gone.
 */
rd_kafka_t *wp_client_close(struct wp_client *c);
/* Says what this version of librdkafka is known to get wrong, or returns NULL. */
const char *wp_client_version_trouble(int version);

/* A consumer is for those who want to see what topics hold: it is of no group and commits nothing. */
struct wp_consumer_property {
	const char *name;
	const char *value;
};

/*
 * Makes a consumer with what [kafka] says of connections, which producers and consumers share; `more` is
 * librdkafka's own, and must be right. Errors come on its main queue; its log lines end there. Returns NULL
 * when librdkafka makes none. The caller destroys it.
 */
rd_kafka_t *wp_consumer_new(const struct wp_kafka_options *options,
			    const struct wp_consumer_property *more, size_t more_count);

#endif
