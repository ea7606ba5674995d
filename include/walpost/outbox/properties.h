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

#endif
