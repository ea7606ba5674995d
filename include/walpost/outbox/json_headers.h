/*
 * The members of a JSON object become headers of a message, in their order, all those of one name: a
 * string stands for its text, null is a header without value, anything else stands as it is
 * written ("1.50", "true", an object with its braces and the space in it).
 *
 * Owns nothing. Borrows: the text, and the buffer that what holds escapes is unescaped into.
 * Pure. Bounded: by the text; how many are too many is the caller's affair.
 */
#ifndef WALPOST_OUTBOX_JSON_HEADERS_H
#define WALPOST_OUTBOX_JSON_HEADERS_H

#include "walpost/base/buffer.h"
#include "walpost/base/error.h"
#include "walpost/base/json.h"

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
