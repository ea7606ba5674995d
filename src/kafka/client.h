/*
 * One life of a librdkafka producer, and its end: rd_kafka_destroy() blocks,
 * so it is done on the worker.
 *
 * Private to kafka/. Owns the handle and its main queue, on which everything
 * arrives: delivery reports, errors, log lines, answers of the admin API.
 */
#ifndef WALPOST_KAFKA_CLIENT_H
#define WALPOST_KAFKA_CLIENT_H

#include <librdkafka/rdkafka.h>

#include "walpost/base/worker.h"
#include "walpost/kafka/properties.h"
#include "walpost/sink/sink.h"

/* Of one producer. */
#define WP_CLIENTS_MAX 8

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
 * do (wp_client_bury). Topics and events of the client must be gone.
 */
rd_kafka_t *wp_client_close(struct wp_client *c);
/*
 * Destroys `count` of them on the worker; `done(arg)` is called by wp_worker_collect() unless
 * the job is abandoned. WP_FULL, WP_NOMEM: they are still the caller's.
 */
enum wp_rc wp_client_bury(rd_kafka_t *const *rks, size_t count, struct wp_worker *worker,
			  void (*done)(void *arg), void *arg, uint64_t *ret_job) WP_MUST_CHECK;

/* A line of librdkafka's, in our log; not more than some a second. */
struct wp_client_log {
	int64_t since_ms;
	unsigned count;
	unsigned dropped;
};
void wp_client_log_line(struct wp_client_log *l, rd_kafka_event_t *event, int64_t now_ms);
/* NULL, or what this version of librdkafka is known to get wrong. */
const char *wp_client_version_trouble(int version);

#endif
