/*
 * Reads the ends of topics for the highest walpost-position: a short-lived consumer, without a
 * group, that commits nothing. It blocks, so it is for the worker. It needs the right to read the
 * topics; what it may not or cannot read is counted and said.
 *
 * Bounded: 4,096 partitions, 64 of them at a time, the last 4,096 messages of each at
 * most, and `timeout_ms` in all.
 */
#ifndef WALPOST_KAFKA_INSPECT_TOPIC_ENDS_H
#define WALPOST_KAFKA_INSPECT_TOPIC_ENDS_H

#include "walpost/base/wake.h"
#include "walpost/base/worker.h"
#include "walpost/kafka/options.h"
#include "walpost/sink/topic_ends.h"

enum { WP_TOPIC_ENDS_PARTITIONS_MAX = 4096 };

/* `ret->state` is KNOWN, UNREACHABLE or UNKNOWN. */
void wp_topic_ends_read(const struct wp_kafka_options *options,
			const struct wp_topic_ends_question *question, int timeout_ms,
			struct wp_topic_ends *ret);

/* Does that on the worker, one question at a time. Owns its job and the answer; borrows the rest. */
struct wp_topic_ends_job {
	const struct wp_kafka_options *options;
	struct wp_worker *worker;
	struct wp_wake wake; /* the answer is there */
	bool is_asking;
	uint64_t job;
	bool has_answer; /* that was not taken */
	struct wp_topic_ends answer;
};

/* There is an answer at once: that it is being asked, or cannot be. A new question drops the old one. */
void wp_topic_ends_job_ask(struct wp_topic_ends_job *j,
			   const struct wp_topic_ends_question *question);
/* Returns true when it is another answer than the last one taken. */
bool wp_topic_ends_job_take(struct wp_topic_ends_job *j, struct wp_topic_ends *ret);
void wp_topic_ends_job_drop(struct wp_topic_ends_job *j);

#endif
