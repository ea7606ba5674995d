#include <stddef.h>

#include "walpost/kafka/reaction.h"

struct row {
	rd_kafka_resp_err_t code;
	enum wp_reaction reaction;
	bool event_level;
};

static const struct row table[] = {
	{ RD_KAFKA_RESP_ERR_NO_ERROR, WP_REACT_NONE, false },
	/* By our own purge, or because the producer broke over another record. */
	{ RD_KAFKA_RESP_ERR__PURGE_QUEUE, WP_REACT_NONE, false },
	{ RD_KAFKA_RESP_ERR__PURGE_INFLIGHT, WP_REACT_NONE, false },

	/* One record can cause these, and then its whole batch fails. */
	{ RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, WP_REACT_ISOLATE, true },
	{ RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE, WP_REACT_ISOLATE, true },
	{ RD_KAFKA_RESP_ERR_INVALID_RECORD, WP_REACT_ISOLATE, true },
	{ RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, WP_REACT_ISOLATE, true },

	/* A human creates or allows it, and it flows on. */
	{ RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, WP_REACT_WAIT_TOPIC, false },
	{ RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, WP_REACT_WAIT_TOPIC, false },
	{ RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, WP_REACT_WAIT_TOPIC, false },
	{ RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION, WP_REACT_WAIT_TOPIC, false },
	{ RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, WP_REACT_WAIT_TOPIC, false },
	{ RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, WP_REACT_WAIT_TOPIC, false },

	/* The producer is unusable, or the order of what is in flight unknown. */
	{ RD_KAFKA_RESP_ERR__FATAL, WP_REACT_REWIND, false },
	{ RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE, WP_REACT_REWIND, false },
	{ RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, WP_REACT_REWIND, false },
	{ RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID, WP_REACT_REWIND, false },
	{ RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, WP_REACT_REWIND, false },
	{ RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, WP_REACT_REWIND, false },
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
