/*
 * Reads the tails of topics for the highest walpost-position: a short-lived consumer, without a group, that commits nothing.
 * Blocks: for the worker. It needs the right to read the topics; what it may not
 * or cannot read is counted and said.
 *
 * Bounded: 4,096 partitions, 64 of them at a time, the last 4,096 messages of each at
 * most, and `timeout_ms` in all.
 */
#ifndef WALPOST_KAFKA_TAIL_H
#define WALPOST_KAFKA_TAIL_H

#include "walpost/kafka/options.h"
#include "walpost/sink/tail.h"

enum { WP_TAIL_PARTITIONS_MAX = 4096 };

/* `ret->state` is KNOWN, UNREACHABLE or UNKNOWN. */
void wp_tail_read(const struct wp_kafka_options *options, const struct wp_tail_question *question,
		  int timeout_ms, struct wp_tail *ret);

#endif
