/*
 * A sink is given this: one Kafka record to be. All spans are borrowed and live
 * until the call that got the record returns. Null and empty differ.
 */
#ifndef WALPOST_SINK_RECORD_H
#define WALPOST_SINK_RECORD_H

#include <stdbool.h>

#include "walpost/base/span.h"
#include "walpost/wal/position.h"

#define WP_RECORD_HEADERS_MAX 128
/* A record that has too many holds so many: what always fits beside those that data names. */
#define WP_RECORD_HEADERS_KEPT_MAX (WP_RECORD_HEADERS_MAX + 72)
#define WP_RECORD_COLUMNS_MAX 136
#define WP_PARTITION_BY_KEY (-1)
#define WP_TIMESTAMP_NOW INT64_C(0) /* when it is sent */

struct wp_header {
	struct wp_span name;  /* NUL-terminated behind its end */
	struct wp_span value; /* null: a header with a null value */
};

struct wp_record {
	struct wp_span topic; /* NUL-terminated behind its end; a valid Kafka topic name */
	struct wp_span key;
	struct wp_span value;
	const struct wp_header *headers; /* at most WP_RECORD_HEADERS_MAX; of one that cannot be
					  * sent, and of a dead letter, more */
	size_t header_count;
	int64_t timestamp_ms; /* since 1970, or WP_TIMESTAMP_NOW */
	int32_t partition;    /* or WP_PARTITION_BY_KEY */
	struct wp_position position;
	/* These are for a dead letter only: what of the row is nowhere else in the record, by name. */
	const struct wp_header *columns;
	size_t column_count;
	size_t beside_value; /* the first so many; the others are within the value */
	/* These are for messages to people only. */
	const char *table; /* "schema.name"; of a message its prefix */
	struct wp_span id;
	bool is_message; /* and no row: it is nowhere but in the log */
};

/* Returns the bytes of topic-independent content: key, value, header names and values. */
static inline size_t wp_record_size(const struct wp_record *record)
{
	size_t size = record->key.size + record->value.size;

	for (size_t i = 0; i < record->header_count; i++)
		size += record->headers[i].name.size + record->headers[i].value.size;
	return size;
}

#endif
