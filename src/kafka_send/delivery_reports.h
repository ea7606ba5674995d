/*
 * Reads what arrives on the clients' queues, one thing at a time: above all delivery reports, which come many
 * to an event, and errors and answers between them. Log lines and statistics are dealt with here.
 *
 * Private to kafka_send/. Owns: the event that is being read. Borrows: the clients, for a call.
 */
#ifndef WALPOST_SRC_KAFKA_SEND_DELIVERY_REPORTS_H
#define WALPOST_SRC_KAFKA_SEND_DELIVERY_REPORTS_H

#include "clients.h"

struct wp_delivery_reports {
	rd_kafka_event_t *event;
	bool has_reports; /* `event` is of these: asked of librdkafka once, not for each of them */
	bool has_more;	  /* the queues were not read to their end */
	size_t others;	  /* events without reports, in this turn */
	char fatal[512];
	struct wp_log_limit {
		int64_t since_ms;
		unsigned lines;
		unsigned dropped;
	} log_limit;
};

enum wp_arrival_kind {
	WP_ARRIVAL_REPORT,
	WP_ARRIVAL_ERROR,
	WP_ARRIVAL_FATAL,  /* an error that a client does not survive */
	WP_ARRIVAL_ANSWER, /* to DescribeConfigs */
};

/* What it points to is borrowed until the next one. */
struct wp_arrival {
	enum wp_arrival_kind kind;
	const rd_kafka_message_t *message; /* REPORT */
	rd_kafka_resp_err_t code;	   /* ERROR, FATAL; with librdkafka's sentence */
	const char *text;
	rd_kafka_event_t *event; /* ANSWER */
};

/* A turn begins: the queues are to be read. */
void wp_delivery_reports_begin(struct wp_delivery_reports *d);
/* Returns false when they are empty, or enough was read for one turn. */
bool wp_delivery_reports_next(struct wp_delivery_reports *d, struct wp_clients *clients,
			      int64_t now_ms, struct wp_arrival *ret);
bool wp_delivery_reports_are_due(const struct wp_delivery_reports *d);
/* To be called before the clients are closed. */
void wp_delivery_reports_drop(struct wp_delivery_reports *d);
/* Reads what a message's report says. Only one without error and with PERSISTED confirms a ticket. */
void wp_delivery_report_read(const rd_kafka_message_t *message, struct wp_report *ret);
/* Has a broker answered, if only "no"? librdkafka's own codes are negative. */
bool wp_delivery_report_is_answer(rd_kafka_resp_err_t code);

#endif
