/*
 * When are the outboxes' partitions asked for, for a row that may be of one? Tables that come for
 * the first time come in numbers: asked seldom, one answer does for all that was committed until
 * then.
 *
 * Pure: time is passed in (monotonic ms).
 */
#ifndef WALPOST_SRC_RELAY_PARTITION_QUESTION_H
#define WALPOST_SRC_RELAY_PARTITION_QUESTION_H

#include "walpost/source/source.h"

struct wp_partition_question {
	bool open;
	uint32_t xid;	  /* the transaction that the answer must cover */
	int64_t due_ms;	  /* when to ask; INT64_MAX: an answer is awaited */
	int64_t asked_ms; /* last */
	int64_t wait_ms;  /* from there to the next */
};

enum wp_partition_step {
	WP_PARTITIONS_KNOWN, /* no question is open */
	WP_PARTITIONS_AWAITED,
	WP_PARTITIONS_ASK,     /* now */
	WP_PARTITIONS_UNKNOWN, /* the question failed; it is asked again, later */
};

void wp_partition_question_init(struct wp_partition_question *q);
/* A row of transaction `xid` waits. */
enum wp_partition_step wp_partition_question_open(struct wp_partition_question *q, uint32_t xid,
						  int64_t now_ms);
enum wp_partition_step wp_partition_question_step(struct wp_partition_question *q,
						  enum wp_asked asked, int64_t now_ms);

#endif
