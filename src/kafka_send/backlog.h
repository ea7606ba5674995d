/*
 * Records that were taken and not sent: which topic's turn is it, and which records are given back
 * unsent? Each topic has a queue of its own (topics.h): records that wait for an answer about it, or
 * for the first record of a partition to be confirmed. With several clients, topics are deferred
 * beyond that, so that all records of one go to librdkafka together.
 *
 * Private to kafka_send/. Owns: the order of deferred topics, and the records given back. Borrows: the
 * topics. Pure. Bounded by the records that the relay has in flight.
 */
#ifndef WALPOST_SRC_KAFKA_SEND_BACKLOG_H
#define WALPOST_SRC_KAFKA_SEND_BACKLOG_H

#include "topics.h"

struct wp_backlog {
	struct wp_topic *first_deferred; /* linked by next_deferred */
	struct wp_topic *last_deferred;
	int64_t deferred_at_ms;	    /* the first of them */
	struct wp_queue given_back; /* each with its report */
};

/* Returns false when a record that could be sent is to be queued, and its topic deferred, for others go first. */
bool wp_backlog_is_free(const struct wp_backlog *b, bool has_room);
void wp_backlog_defer(struct wp_backlog *b, struct wp_topic *topic, int64_t now_ms);
/*
 * Returns the deferred topic whose turn it is, or NULL if there is none, or no room for more in librdkafka
 * and something was reported within the last second.
 */
struct wp_topic *wp_backlog_next_deferred(struct wp_backlog *b, bool has_room,
					  int64_t reported_at_ms, int64_t now_ms);
/* Takes a record that was not sent; its report is collected. */
void wp_backlog_give_back(struct wp_backlog *b, struct wp_queued *item,
			  const struct wp_report *report);
/* Gives back all that are queued, as purged. */
void wp_backlog_purge(struct wp_backlog *b, struct wp_topics *topics);
/* Gives the reports of those given back. */
size_t wp_backlog_collect(struct wp_backlog *b, struct wp_report *reports, size_t max);
/* Forgets all, without reports. */
void wp_backlog_drop(struct wp_backlog *b, struct wp_topics *topics);

#endif
