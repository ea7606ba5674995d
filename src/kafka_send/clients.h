/*
 * The producer's clients and their lifecycle: may records go to librdkafka now, or are clients to
 * be opened, reopened, given up? One client takes a few hundred partitions for each broker, then
 * another is opened beside it. A closed one is destroyed on the worker, for rd_kafka_destroy()
 * blocks, and none is opened before: a new producer never races the requests of the old one.
 *
 * Private to kafka_send/. Owns: the clients, and an eventfd, readable when something arrived or a job
 * on the worker is done. Borrows: options, worker. Bounded: WP_CLIENTS_MAX clients.
 */
#ifndef WALPOST_SRC_KAFKA_SEND_CLIENTS_H
#define WALPOST_SRC_KAFKA_SEND_CLIENTS_H

#include "topics.h"
#include "walpost/base/worker.h"
#include "walpost/kafka/client.h"
#include "walpost/login/token.h"

#define WP_CLIENTS_MAX 8

enum wp_client_phase {
	WP_PHASE_OPENING, /* the old clients are not quite gone, or the new one not made */
	WP_PHASE_RUNNING,
	WP_PHASE_BROKEN, /* until they are reopened */
	WP_PHASE_FAILED, /* for good */
};

struct wp_clients {
	const struct wp_kafka_options *options;
	struct wp_kafka_bounds bounds;
	struct wp_worker *worker;
	int fd;
	enum wp_client_phase phase;
	struct wp_error failure; /* BROKEN, FAILED; or why the last one could not be opened */
	bool reopens; /* asked for: once nothing is in flight, and nothing more is sent */
	int64_t opened_at_ms;
	int64_t open_at_ms;		       /* not before: the last try did not succeed */
	struct wp_client list[WP_CLIENTS_MAX]; /* the first asks all questions, too */
	size_t count;			       /* 0: none is open */
	bool warned;			       /* that one more could not be opened */
	size_t polled;			       /* whose queue was read last */
	struct wp_client_shape shape;	       /* of those opened from now on */
	size_t batch_size;		       /* as configured */
	rd_kafka_t *closed[WP_CLIENTS_MAX];    /* the worker had no room for them yet */
	size_t closed_count;
	bool is_destroying; /* on the worker */
	uint64_t destroy_job;
};

/* Returns WP_NOMEM when there is no eventfd. */
enum wp_rc wp_clients_init(struct wp_clients *c, const struct wp_kafka_options *options,
			   const struct wp_kafka_bounds *bounds, struct wp_worker *worker,
			   struct wp_error *error) WP_MUST_CHECK;
/* They are to be closed before. What the worker has no room for ends with the process. */
void wp_clients_release(struct wp_clients *c);
/* Makes the eventfd readable. `arg` is the clients. */
void wp_clients_wake(void *arg);

/* Opens the first client and is RUNNING then; else returns what wp_client_open() does. */
enum wp_rc wp_clients_open(struct wp_clients *c, int64_t now_ms,
			   struct wp_error *error) WP_MUST_CHECK;
/* Is it OPENING, are the old ones gone, and is it time? */
bool wp_clients_may_open(const struct wp_clients *c, int64_t now_ms);
/* Gives up all clients; the worker destroys them. All that refers to them must be gone. */
void wp_clients_close(struct wp_clients *c);
/* Does the same, and is OPENING then. */
void wp_clients_reopen(struct wp_clients *c);
/* Goes from RUNNING to BROKEN: nothing can be sent, or the order of what was is not known. */
void wp_clients_break(struct wp_clients *c, rd_kafka_resp_err_t code, const char *text);
/* Fails for good: Kafka does not let us in. */
void wp_clients_fail(struct wp_clients *c, const char *text, const char *cure);
/* Hands closed ones to the worker, if it had no room before. */
void wp_clients_step(struct wp_clients *c);
int64_t wp_clients_due(const struct wp_clients *c, int64_t now_ms);

/* Gives the topic its client, perhaps one opened for it, and a handle. Returns false when librdkafka gave none. */
bool wp_clients_assign(struct wp_clients *c, struct wp_topic *topic, size_t broker_count);
/* A topic takes no batch above `limit` bytes (0: not known). Returns true when clients are to be reopened for it. */
bool wp_clients_fit_batches(struct wp_clients *c, const char *topic, size_t limit);
/* The login is for connections made from now on. Returns false when that is not possible in place. */
bool wp_clients_set_login(struct wp_clients *c, const char *user, const char *password);
/* The same for SASL/OAUTHBEARER. */
void wp_clients_set_token(struct wp_clients *c, const struct wp_token *token);
/* Returns the next event, from each client's queue in turn: that of list[polled]. NULL when all are empty. */
rd_kafka_event_t *wp_clients_poll(struct wp_clients *c);
/* What librdkafka has queued and not sent is reported as purged. */
void wp_clients_purge(struct wp_clients *c);
/* Sums up the figures of all; brokers are as the first client sees them. */
void wp_clients_figures(const struct wp_clients *c, struct wp_sink_figures *ret);

#endif
