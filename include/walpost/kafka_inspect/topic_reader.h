/*
 * Reads whole topics, from their beginning or from a time on, to where they end when reading
 * begins. A consumer of no group: it joins none, commits nothing, and needs READ and DESCRIBE on
 * the topics, no more. Blocks; for commands.
 *
 * Owns: the consumer. Borrows: the options. Bounded: WP_READER_PARTITIONS_MAX partitions, 64 of
 * them at a time, of each 1 MiB ahead.
 */
#ifndef WALPOST_KAFKA_INSPECT_TOPIC_READER_H
#define WALPOST_KAFKA_INSPECT_TOPIC_READER_H

#include <stdbool.h>

#include "walpost/base/error.h"
#include "walpost/kafka/options.h"
#include "walpost/sink/record.h"

enum { WP_READER_PARTITIONS_MAX = 4096 };

/* Of producers' transactions: what is open or was aborted, or neither. */
enum wp_reader_isolation { WP_READ_UNCOMMITTED, WP_READ_COMMITTED };

/* Of records in a topic that keeps the broker's times: none, WP_TIMESTAMP_NOW, or those. */
enum wp_reader_times { WP_TIMES_OF_EVENTS, WP_TIMES_OF_ANYBODY };

struct wp_topic_reading {
	int64_t since_ms; /* since 1970; 0: from the beginning */
	enum wp_reader_times times;
	/* For each record; all it points to lives for the call. What is not WP_OK ends the reading. */
	enum wp_rc (*take)(void *arg, const struct wp_record *record, int64_t offset);
	/* Some ten times a second, with offsets that are done and in all. False ends the reading. */
	bool (*go_on)(void *arg, uint64_t done, uint64_t all);
	void *arg;
};

struct wp_topic_reader;

/* WP_CONFIG with the error: what [kafka] says suits no consumer. */
enum wp_rc wp_topic_reader_new(const struct wp_kafka_options *options,
			       enum wp_reader_isolation isolation, struct wp_topic_reader **ret,
			       struct wp_error *error) WP_MUST_CHECK;
void wp_topic_reader_free(struct wp_topic_reader *r);
/*
 * One topic more to be read; `name` is NUL-terminated behind its end, and none that was added
 * before. The number of its partitions: 0 when there is no such topic. WP_CONFIG with the error: it
 * is not for us to see; WP_IO: nobody answers, or a partition has no leader; WP_FULL; WP_NOMEM.
 */
enum wp_rc wp_topic_reader_add(struct wp_topic_reader *r, struct wp_span name,
			       int32_t *ret_partitions, struct wp_error *error) WP_MUST_CHECK;
/* Once. WP_CONFIG: a topic is not for us to read; WP_IO: also when interrupted; WP_NOMEM. */
enum wp_rc wp_topic_reader_read(struct wp_topic_reader *r, const struct wp_topic_reading *reading,
				struct wp_error *error) WP_MUST_CHECK;

#endif
