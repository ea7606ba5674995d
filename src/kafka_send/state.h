/*
 * The producer is made of these parts, each with a header of its own. None of them knows the producer
 * or calls upwards; what they answer is ordered by producer.c (what the relay asks for, and each
 * turn), producer_events.c (what arrives) and producer_send.c (what is sent).
 *
 * Private to kafka_send/.
 */
#ifndef WALPOST_SRC_KAFKA_SEND_STATE_H
#define WALPOST_SRC_KAFKA_SEND_STATE_H

#include "admission.h"
#include "backlog.h"
#include "clients.h"
#include "credentials.h"
#include "decision.h"
#include "delivery_reports.h"
#include "idempotence.h"
#include "inquiry.h"
#include "reachability.h"
#include "walpost/kafka_send/producer.h"
#include "walpost/kafka_inspect/topic_ends.h"

struct wp_producer {
	struct wp_sink sink;
	struct wp_clients clients;
	struct wp_delivery_reports reports;
	struct wp_inquiry inquiry;
	struct wp_reachability reachability;
	struct wp_idempotence idempotence;
	struct wp_credentials credentials;
	struct wp_admission admission;
	struct wp_decision_rules rules;
	uint64_t random; /* where records without a key go */
	struct wp_backlog backlog;
	struct wp_topic_ends_job topic_ends;
	int64_t now_ms;		/* of the last collect() */
	int64_t reported_at_ms; /* the last delivery report */
	bool has_refused;	/* a record: until restart() nothing more is taken, nor sent */
	struct wp_sink_view view;
	struct wp_sink_figures figures;
};

/* Counts, of those in flight, the ones that librdkafka has. */
static inline size_t wp_producer_sent(const struct wp_producer *p)
{
	return p->view.in_flight - p->admission.topics.queued_count - p->backlog.given_back.count;
}

/* ---- producer_send ---- */

/*
 * Sends or queues it. Returns WP_AGAIN when it waits with the relay; WP_DATA; WP_FULL; WP_NOMEM; WP_IO when
 * librdkafka takes no more, the clients are broken.
 */
enum wp_rc wp_producer_send(struct wp_producer *p, wp_ticket ticket, const struct wp_record *record,
			    struct wp_error *error) WP_MUST_CHECK;
/* Sends what is queued and may go by now. */
void wp_producer_send_queued(struct wp_producer *p);

/* ---- producer_events ---- */

/* Reads what has arrived; returns the number of reports, at most `max`. */
size_t wp_producer_read(struct wp_producer *p, struct wp_report *reports, size_t max);
/* Takes an answer of the inquiry, be it the worker's part or the queue's. */
void wp_producer_take_answer(struct wp_producer *p, const struct wp_answer *answer);
/* Kafka does not let us in, for good. */
void wp_producer_fail_login(struct wp_producer *p, rd_kafka_resp_err_t code, const char *text);

#endif
