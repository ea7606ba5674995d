/*
 * What does Debezium's table.expand.json.payload make of a JSON payload, and Kafka Connect's
 * JsonConverter of that? A payload that is an object becomes a Connect Struct, with a schema found
 * in its values, and is written from there: members that are null and empty arrays are left out,
 * numbers are as Java has them, and each object of an array has the members of all of them.
 *
 * Owns: the value and what it was made from. Borrows: the payload, until the next call.
 * Bounded: size_max of the value; beside it some 300 bytes for each of the payload's values, of
 * which there may be no more than could fit into size_max. Recursion ends where Jackson's does, at 1,000 containers within
 * each other.
 * Single-threaded.
 */
#ifndef WALPOST_ENVELOPE_EXPAND_H
#define WALPOST_ENVELOPE_EXPAND_H

#include "walpost/base/buffer.h"
#include "walpost/base/error.h"

struct wp_expand_options {
	bool keep_nulls;	/* table.json.payload.null.behavior = optional_bytes */
	bool keep_empty_arrays; /* table.json.payload.empty.array.behavior = optional_string */
};

enum wp_expanded_as {
	WP_EXPANDED_VALUE, /* it is expanded */
	WP_EXPANDED_TEXT,  /* Debezium warns: the payload stays the text it is, with its schema */
	WP_EXPANDED_BARE,  /* the same, but the schema is null from then on: the payload is [] */
};

struct wp_expanded {
	enum wp_expanded_as as;
	struct wp_span value; /* VALUE: JSON, valid until the next call; else null */
	const char *because;  /* TEXT, BARE: a constant, "an array's elements are all null" */
};

struct wp_expand;

/* WP_NOMEM. */
enum wp_rc wp_expand_new(const struct wp_expand_options *options, size_t size_max,
			 struct wp_expand **ret) WP_MUST_CHECK;
void wp_expand_free(struct wp_expand *e);

/*
 * `payload` is not null. WP_DATA: Debezium's task would stop at it (a payload that is an array, an
 * integer beyond 64 bits, elements that do not fit the first one), or it is above size_max.
 * WP_NOMEM. The sentence does not say of which row.
 */
enum wp_rc wp_expand_payload(struct wp_expand *e, struct wp_span payload, struct wp_expanded *ret,
			     struct wp_error *error) WP_MUST_CHECK;

/*
 * Appends the schema, an object, of the payload that was expanded last. It is named `column`, the
 * payload's, and what is within after it. `field`: its name as a member of another schema; null:
 * it stands alone. WP_DATA: it is nested deeper than Jackson writes. WP_FULL, WP_NOMEM: `into`
 * holds a part of it.
 */
enum wp_rc wp_expand_schema(struct wp_expand *e, struct wp_span column, struct wp_span field,
			    struct wp_buffer *into, struct wp_error *error) WP_MUST_CHECK;

/* Returns the bytes that were written for the last payload, also when it was refused in the end. */
size_t wp_expand_written(const struct wp_expand *e);

#endif
