/*
 * An event: a row of an outbox table, by meaning. Spans are borrowed from the row, or
 * from where its binary values were printed.
 */
#ifndef WALPOST_OUTBOX_EVENT_H
#define WALPOST_OUTBOX_EVENT_H

#include "walpost/base/span.h"
#include "walpost/outbox/position.h"

#define WP_EVENT_HEADERS_MAX 64

struct wp_event_header {
	struct wp_span name;
	struct wp_span value;
};

struct wp_event {
	struct wp_span id;
	struct wp_span key;
	struct wp_span type;	/* null: no type column, or NULL */
	struct wp_span route;	/* the raw topic; Debezium: aggregatetype */
	struct wp_span payload; /* as Postgres prints it; a bytea's bytes if it came in binary */
	bool payload_is_bytea;	/* printed: \x and hex digits, to be decoded */
	struct wp_event_header headers[WP_EVENT_HEADERS_MAX]; /* the configured columns */
	size_t header_count;
	const char *table;	/* "schema.name" */
	int64_t commit_time_us; /* since 2000-01-01 */
	struct wp_position position;
};

#endif
