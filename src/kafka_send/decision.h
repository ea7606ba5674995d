/*
 * May a record go to its topic now? It is decided here, once for each try, by what is known of the topic: to which
 * partition, and whether the records behind it for that partition wait until it is confirmed; or what it waits for;
 * or why it can never be delivered. What follows from it is done by who asks (producer_send.c).
 *
 * Private to kafka_send/. Owns nothing. Pure.
 */
#ifndef WALPOST_SRC_KAFKA_SEND_DECISION_H
#define WALPOST_SRC_KAFKA_SEND_DECISION_H

#include "topics.h"
#include "walpost/kafka/properties.h"

/* The rules are as the configuration has them. */
struct wp_decision_rules {
	size_t message_max;
	bool compresses;
	const struct wp_placement *placement;
};

/* This says how things are at this moment. */
struct wp_decision_moment {
	int64_t now_ms;
	uint64_t random;	  /* where a record without a key goes */
	bool is_behind;		  /* others of its topic are queued, and go first */
	bool is_for_other_topics; /* whose turn it is */
};

enum wp_decision_kind {
	WP_DECISION_GO,
	WP_DECISION_WAIT,   /* for records in front of it, or for other topics' turn */
	WP_DECISION_ASK,    /* for its topic, which is to be asked for, perhaps once more */
	WP_DECISION_REFUSE, /* it can never be delivered */
};

struct wp_decision {
	enum wp_decision_kind kind;
	int32_t partition; /* GO */
	bool alone;	   /* GO: nothing more goes to that partition before it is confirmed */
	bool recounts;	   /* ASK: for partitions may have been added */
	bool is_deferred;  /* WAIT: only for other topics' turn */
	bool fits; /* by message.max.bytes and what is known of the topic, perhaps no longer true */
};

/* `error` is set with REFUSE only. */
struct wp_decision wp_decide(const struct wp_decision_rules *rules, const struct wp_topic *topic,
			     const struct wp_record *record,
			     const struct wp_decision_moment *moment, struct wp_error *error);

#endif
