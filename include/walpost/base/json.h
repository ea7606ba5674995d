/*
 * Reads JSON text (RFC 8259) where it stands, and writes it piece by piece. What is read stays as it is:
 * numbers are never turned into numbers, members never reordered or made unique.
 *
 * Owns nothing, allocates nothing but in the buffers it is given. Pure. Bounded: WP_JSON_DEPTH_MAX containers
 * within each other; no recursion.
 */
#ifndef WALPOST_BASE_JSON_H
#define WALPOST_BASE_JSON_H

#include "walpost/base/buffer.h"

enum { WP_JSON_DEPTH_MAX = 1024 };

enum wp_json_kind {
	WP_JSON_NULL,
	WP_JSON_FALSE,
	WP_JSON_TRUE,
	WP_JSON_NUMBER,
	WP_JSON_STRING,
	WP_JSON_ARRAY,
	WP_JSON_OBJECT,
};

/* A value that was found to be well-formed: a string with its quotes, an object with its braces. */
struct wp_json {
	enum wp_json_kind kind;
	struct wp_span text; /* without the space around it */
};

/* Tells the kind of a well-formed value by its first byte. */
enum wp_json_kind wp_json_kind_of(uint8_t first);

struct wp_json_fault {
	const char *what; /* constant: "a comma or ] is missing" */
	size_t offset;	  /* of the byte at which it shows */
};

/*
 * Reads the one value that `text` is, with space around it. Returns WP_DATA when it is not JSON, not UTF-8,
 * or null; `fault` may be NULL. A \u escape may be half of a surrogate pair: only unescaping refuses it.
 */
enum wp_rc wp_json_read(struct wp_span text, struct wp_json *ret,
			struct wp_json_fault *fault) WP_MUST_CHECK;
/* Reads the value that `text` begins with, whatever follows it. */
enum wp_rc wp_json_read_first(struct wp_span text, struct wp_json *ret,
			      struct wp_json_fault *fault) WP_MUST_CHECK;

enum wp_json_walk_state {
	WP_JSON_WALK_BEGINS,
	WP_JSON_WALK_GOES_ON,
	WP_JSON_WALK_ENDED, /* all of the text is the container */
	WP_JSON_WALK_BROKE, /* the text is no object: wp_json_read() tells why */
};

/* Walks over members of an object or elements of an array, in their order. */
struct wp_json_walk {
	const uint8_t *at;
	const uint8_t *end;
	bool is_object;
	bool was_read; /* before: nothing is wrong with it */
	enum wp_json_walk_state state;
};

void wp_json_walk_init(struct wp_json_walk *w, const struct wp_json *container);
/* Walks over a text that was not read before and is to be an object: one pass reads it and walks. */
void wp_json_walk_text(struct wp_json_walk *w, struct wp_span text);
/*
 * Returns false when that was all, or the text is no object, as `state` tells. `ret_name` is the name with
 * its quotes; null in an array.
 */
bool wp_json_walk_next(struct wp_json_walk *w, struct wp_span *ret_name, struct wp_json *ret);

/*
 * Appends what a string (with its quotes, well-formed) stands for. Returns WP_DATA when it holds half of a
 * surrogate pair; WP_FULL, WP_NOMEM.
 */
enum wp_rc wp_json_unescape(struct wp_span string, struct wp_buffer *into) WP_MUST_CHECK;

enum wp_json_escapes {
	WP_JSON_NEEDED,	 /* what must be escaped */
	WP_JSON_DISPLAY, /* and what may not stand before people (base/display.h) */
	WP_JSON_JACKSON, /* and what Jackson, Java's library, escapes: beyond U+FFFF, as pairs */
};

/* Appends `text`, which is UTF-8, as a string, quotes and all. */
enum wp_rc wp_json_write_string(struct wp_buffer *into, struct wp_span text,
				enum wp_json_escapes escapes) WP_MUST_CHECK;

#endif
