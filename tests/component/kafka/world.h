/* A mock cluster, a producer on it, and a loop: poll() over both descriptors. */
#ifndef WALPOST_TESTS_KAFKA_WORLD_H
#define WALPOST_TESTS_KAFKA_WORLD_H

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "support/patience.h"
#include "walpost/base/worker.h"
#include "walpost/kafka_send/producer.h"

#define TOPIC "orders"

struct world {
	rd_kafka_t *host; /* runs the mock cluster */
	rd_kafka_mock_cluster_t *cluster;
	int broker_count;
	struct wp_worker *worker;
	struct wp_kafka_options options;
	struct wp_kafka_bounds bounds;
	struct wp_sink *sink;
	int64_t now_ms;
	struct wp_report reports[4096]; /* all that came, in order */
	size_t report_count;
};

void world_init(struct world *w, int broker_count);
void world_release(struct world *w);
void world_property(struct world *w, const char *name, const char *value);
void world_topic(struct world *w, const char *name, int partitions);
/* The mock creates what a client asks for and allows, so a missing topic is one that says so. */
void world_topic_says(struct world *w, const char *name, rd_kafka_resp_err_t code);
/* The sink on the cluster; fails the test with the reason. */
void world_open(struct world *w);
/* The same, and sends once so that the topic is in use; forgets the reports. */
void world_open_for(struct world *w, const char *topic);
void world_close(struct world *w);
void world_down(struct world *w);
void world_up(struct world *w);

/* Waits for a descriptor or for what is due, at most `wait_ms`; serves the worker. */
void world_pump(struct world *w, int64_t wait_ms);
/* The reports that are there. */
void world_collect(struct world *w);
/* One pump and one collect. */
void world_turn(struct world *w);
const struct wp_sink_view *world_view(struct world *w);
#define WORLD_DEADLINE_MS 30000
/* Turns until the condition holds; fails the test after the deadline. */
#define WORLD_UNTIL(w_, condition_)                \
	do {                                       \
		int64_t since_ = world_clock_ms(); \
		while (!(condition_)) {            \
			WORLD_GOES_ON(since_);     \
			world_turn(w_);            \
		}                                  \
	} while (0)
/* For a loop of a test's own. */
#define WORLD_GOES_ON(since_) CHECK_IN_TIME(world_clock_ms() - (since_), WORLD_DEADLINE_MS)
int64_t world_clock_ms(void);

struct wp_record world_record(const char *topic, const char *key, const char *value);
enum wp_rc world_offer(struct world *w, wp_ticket ticket, const struct wp_record *record,
		       struct wp_error *error);
/* Offers until it is taken, and until nothing waits to be sent. */
void world_send(struct world *w, wp_ticket ticket, const struct wp_record *record);
/* NULL: no report with this ticket yet. */
const struct wp_report *world_report(const struct world *w, wp_ticket ticket);
size_t world_count(const struct world *w, enum wp_outcome outcome);
/* Sends once so that the topic is in use, and forgets the reports. */
void world_use(struct world *w, const char *topic);

#endif
