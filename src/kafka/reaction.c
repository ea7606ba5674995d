#include <stddef.h>

#include "walpost/kafka/reaction.h"

struct row {
	rd_kafka_resp_err_t code;
	enum wp_reaction reaction;
	bool event_level;
	const char *cure; /* of what only the event's topic can change; or NULL */
};

static const struct row table[] = {
	{ RD_KAFKA_RESP_ERR_NO_ERROR, WP_REACT_NONE, false, NULL },
	/* By our own purge, or because the producer broke over another record. */
	{ RD_KAFKA_RESP_ERR__PURGE_QUEUE, WP_REACT_NONE, false, NULL },
	{ RD_KAFKA_RESP_ERR__PURGE_INFLIGHT, WP_REACT_NONE, false, NULL },

	/* One record can cause these, and then its whole batch fails. */
	{ RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, WP_REACT_ISOLATE, true,
	  "raise max.message.bytes of the topic and start again" },
	/* Above segment.bytes; a batch of innocent events can be, so each goes alone then. */
	{ RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE, WP_REACT_ISOLATE, true,
	  "raise segment.bytes of the topic and start again" },
	{ RD_KAFKA_RESP_ERR_INVALID_RECORD, WP_REACT_ISOLATE, true,
	  "a compacted topic rejects records without a key: change cleanup.policy of the topic, or "
	  "give the event a key" },
	{ RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, WP_REACT_ISOLATE, true,
	  "its commit time is outside the range that the topic accepts: raise "
	  "message.timestamp.before.max.ms or message.timestamp.after.max.ms of the topic" },

	/* A human creates or allows it, and it flows on. */
	{ RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, WP_REACT_WAIT_TOPIC, false, NULL },
	{ RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, WP_REACT_WAIT_TOPIC, false, NULL },
	{ RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, WP_REACT_WAIT_TOPIC, false, NULL },
	{ RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION, WP_REACT_WAIT_TOPIC, false, NULL },
	{ RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, WP_REACT_WAIT_TOPIC, false, NULL },
	{ RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, WP_REACT_WAIT_TOPIC, false, NULL },

	/* The producer is unusable, or the order of what is in flight unknown. */
	{ RD_KAFKA_RESP_ERR__FATAL, WP_REACT_REWIND, false, NULL },
	{ RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE, WP_REACT_REWIND, false, NULL },
	{ RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, WP_REACT_REWIND, false, NULL },
	{ RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID, WP_REACT_REWIND, false, NULL },
	{ RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, WP_REACT_REWIND, false, NULL },
	{ RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, WP_REACT_REWIND, false, NULL },
};

static const struct row *find(rd_kafka_resp_err_t code)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (table[i].code == code)
			return &table[i];
	}
	return NULL;
}

enum wp_reaction wp_kafka_reaction(rd_kafka_resp_err_t code)
{
	const struct row *row = find(code);

	return row != NULL ? row->reaction : WP_REACT_REWIND;
}

bool wp_kafka_is_event_level(rd_kafka_resp_err_t code)
{
	const struct row *row = find(code);

	return row != NULL && row->event_level;
}

const char *wp_kafka_cure(rd_kafka_resp_err_t code)
{
	const struct row *row = find(code);

	return row != NULL ? row->cure : NULL;
}
