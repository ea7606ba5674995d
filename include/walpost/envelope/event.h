/*
 * An event: a row of an outbox table, or a logical message, by meaning. Spans are borrowed
 * from the row, or from where its binary values were printed; null is a NULL, or that the
 * outbox has no such column.
 */
#ifndef WALPOST_ENVELOPE_EVENT_H
#define WALPOST_ENVELOPE_EVENT_H

#include "walpost/base/span.h"
#include "walpost/wal/position.h"
#include "walpost/values/render.h"

/* An event comes from the outbox's table; of a row in a partition that is the one that is partitioned. */
struct wp_origin {
	struct wp_span schema; /* null, and so is `table`: of a message */
	struct wp_span table;
};

#define WP_EVENT_FIELDS_MAX 60

/* A field is a configured column and the name that it goes by. */
struct wp_event_field {
	struct wp_span name; /* NUL-terminated behind its end */
	struct wp_span value;
	const struct wp_column_type *type;
};

struct wp_event_fields {
	struct wp_event_field items[WP_EVENT_FIELDS_MAX];
	size_t count;
};

struct wp_event {
	struct wp_span id;
	struct wp_span key;
	struct wp_span type;
	struct wp_span route;	/* the raw topic; Debezium: aggregatetype */
	struct wp_span payload; /* as Postgres prints it; a bytea's bytes if it came in binary */
	bool payload_is_bytea;	/* printed: \x and hex digits, to be decoded */
	struct wp_span timestamp;
	struct wp_span expires;
	struct wp_span partition;
	struct wp_span json_headers;
	struct wp_span properties;
	struct wp_span ce_source;
	struct wp_span ce_subject;
	struct wp_span schema_version;
	struct wp_event_fields headers;
	size_t data_headers; /* the last so many of them were named by the application's data */
	struct wp_event_fields members;	   /* beside the payload in the value */
	struct wp_event_fields extensions; /* of a CloudEvent */
	const struct wp_column_type *id_type;
	const struct wp_column_type *key_type;
	const struct wp_column_type *type_type;
	const struct wp_column_type *payload_type;
	const struct wp_column_type *timestamp_type;
	const struct wp_column_type *expires_type;
	struct wp_span
		reissued; /* of one that is sent once more: why, and its first position; else null */
	struct wp_span topic;	/* of such a one: where it goes, instead of by its route; or null */
	const char *target;	/* with that: "OUTBOX -> TOPIC" */
	struct wp_span content; /* of a message all of it, as it came; of a row null */
	bool is_refused;	/* reading it gave WP_DATA */
	bool key_is_unknown;	/* then: not NULL, but not to be had */
	const char *table;	/* "schema.name" as SQL has it; of a message its prefix */
	struct wp_span schema;	/* the same in its parts, as they are; of a message null */
	struct wp_span name;
	struct wp_origin origin;
	const char *outbox;	/* of one of a pattern's tables: that, as SQL has it; else NULL */
	int64_t commit_time_us; /* since 2000-01-01 */
	struct wp_position position;
};

#endif
