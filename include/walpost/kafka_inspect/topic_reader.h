/*
 * Reads whole topics, from their beginning or from a time on, to where they end when reading
 * begins. The consumer has no group: it joins none, commits nothing, and needs READ and DESCRIBE
 * on the topics, no more. It blocks: it is for commands.
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

/* This says which records of producers' transactions are read: also those of open or aborted ones, or not. */
enum wp_reader_isolation { WP_READ_UNCOMMITTED, WP_READ_COMMITTED };

/* This says which times records have in a topic that keeps the broker's: none (WP_TIMESTAMP_NOW), or the broker's. */
enum wp_reader_times { WP_TIMES_OF_EVENTS, WP_TIMES_OF_ANYBODY };

struct wp_topic_reading {
	int64_t since_ms; /* since 1970; 0: from the beginning */
	enum wp_reader_times times;
	/* Called for each record; all it points to lives for the call. Any other result than WP_OK ends the reading. */
	enum wp_rc (*take)(void *arg, const struct wp_record *record, int64_t offset);
	/* Called some ten times a second, with the offsets that are done and all of them. False ends the reading. */
	bool (*go_on)(void *arg, uint64_t done, uint64_t all);
	void *arg;
};

struct wp_topic_reader;

/* Returns WP_CONFIG with the error when what [kafka] says suits no consumer. */
enum wp_rc wp_topic_reader_new(const struct wp_kafka_options *options,
			       enum wp_reader_isolation isolation, struct wp_topic_reader **ret,
			       struct wp_error *error) WP_MUST_CHECK;
void wp_topic_reader_free(struct wp_topic_reader *r);
/*
 * Adds one topic to be read; `name` is NUL-terminated behind its end, and none that was added before. Gives
 * the number of its partitions, 0 when there is no such topic. Returns WP_CONFIG with the error when it is
 * not for us to see; WP_IO when nobody answers, or a partition has no leader; WP_FULL; WP_NOMEM.
 */
enum wp_rc wp_topic_reader_add(struct wp_topic_reader *r, struct wp_span name,
			       int32_t *ret_partitions, struct wp_error *error) WP_MUST_CHECK;
/* To be called once. Returns WP_CONFIG when a topic is not for us to read; WP_IO, also when interrupted; WP_NOMEM. */
enum wp_rc wp_topic_reader_read(struct wp_topic_reader *r, const struct wp_topic_reading *reading,
				struct wp_error *error) WP_MUST_CHECK;

#endif
