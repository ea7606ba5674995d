/*
 * Reads what java.util.Properties.load() reads: the text of Debezium's tracingspancontext column,
 * "#comment\ntraceparent=00-...\ntracestate=a\:b". Names and values come one after the other, as
 * they stand in the text; of one name that stands twice Java keeps the last value.
 *
 * Owns nothing. Borrows: the text, and the buffer that names and values are unescaped into.
 * Pure. Bounded: by the text; how many are too many is the caller's affair.
 */
#ifndef WALPOST_OUTBOX_PROPERTIES_H
#define WALPOST_OUTBOX_PROPERTIES_H

#include "walpost/base/buffer.h"
#include "walpost/base/error.h"
#include "walpost/base/json.h"

struct wp_property {
	struct wp_span name;  /* may be empty; null: that was all */
	struct wp_span value; /* may be empty */
};

struct wp_properties {
	const uint8_t *at;
	const uint8_t *end;
	struct wp_buffer *into;
};

/*
 * `text` is not null. Makes room in `into` for all that comes, so that it does not move: names
 * and values, which are appended there, are valid until somebody else changes it. WP_FULL,
 * WP_NOMEM.
 */
enum wp_rc wp_properties_init(struct wp_properties *p, struct wp_span text, struct wp_buffer *into,
			      struct wp_error *error) WP_MUST_CHECK;
/*
 * WP_DATA, after which there is no next: \u without four hexadecimal digits (Java throws), or with
 * half of a surrogate pair, which is no text.
 */
enum wp_rc wp_properties_next(struct wp_properties *p, struct wp_property *ret,
			      struct wp_error *error) WP_MUST_CHECK;

/*
 * The members of a JSON object as headers of a message, in their order, those of one name all: a
 * string stands for its text, null is a header without value, anything else stands as it is
 * written ("1.50", "true", an object with its braces and the space in it).
 *
 * Borrows: the text, and the buffer that what holds escapes is unescaped into.
 */
struct wp_json_header {
	struct wp_span name;  /* null: that was all */
	struct wp_span value; /* null: a null; may be empty */
};

struct wp_json_headers {
	struct wp_json_walk walk;
	struct wp_buffer *into;
};

/*
 * `text` is not null. Makes room in `into` for all that comes, so that it does not move: names
 * and values are valid as long as the text is, and until somebody else changes the buffer.
 * WP_DATA: the text is not a JSON object. WP_FULL, WP_NOMEM.
 */
enum wp_rc wp_json_headers_init(struct wp_json_headers *h, struct wp_span text,
				struct wp_buffer *into, struct wp_error *error) WP_MUST_CHECK;
/* WP_DATA: a name is empty, or a name or a string holds half of a surrogate pair. */
enum wp_rc wp_json_headers_next(struct wp_json_headers *h, struct wp_json_header *ret,
				struct wp_error *error) WP_MUST_CHECK;

#endif
