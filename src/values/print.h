/*
 * These are the printers of binary.c, one file for each kind of value. Each appends to `texts` what Postgres prints for
 * `value`, whose room must have been made before: it never moves what stands there. WP_CONFIG: it has no form that we
 * know; then what was appended means nothing, but it did not exceed the room either. No one else needs them.
 */
#ifndef WALPOST_SRC_VALUES_PRINT_H
#define WALPOST_SRC_VALUES_PRINT_H

#include <assert.h>
#include <string.h>

#include "walpost/base/buffer.h"
#include "walpost/wal/relations.h"

static inline void wp_print_bytes(struct wp_buffer *texts, const void *bytes, size_t size)
{
	assert(size <= texts->capacity - texts->size);
	memcpy(texts->data + texts->size, bytes, size);
	texts->size += size;
}

static inline void wp_print_text(struct wp_buffer *texts, const char *text)
{
	wp_print_bytes(texts, text, strlen(text));
}

static inline void wp_print_char(struct wp_buffer *texts, char c)
{
	assert(texts->size < texts->capacity);
	texts->data[texts->size++] = (uint8_t)c;
}

/* print_number.c */
void wp_print_integer(struct wp_buffer *texts, int64_t number);
/* Prints it with zeroes before, to at least `width` digits, which may be up to 20. */
void wp_print_padded(struct wp_buffer *texts, uint64_t number, size_t width);
enum wp_rc wp_print_int(enum wp_type type, struct wp_span value,
			struct wp_buffer *texts) WP_MUST_CHECK;
size_t wp_numeric_room(struct wp_span value);
enum wp_rc wp_print_numeric(struct wp_span value, struct wp_buffer *texts) WP_MUST_CHECK;

/* float.c */
enum wp_rc wp_print_float(enum wp_type type, struct wp_span value,
			  struct wp_buffer *texts) WP_MUST_CHECK;

/* print_time.c */
enum wp_rc wp_print_date(struct wp_span value, struct wp_buffer *texts) WP_MUST_CHECK;
enum wp_rc wp_print_time(struct wp_span value, struct wp_buffer *texts) WP_MUST_CHECK;
enum wp_rc wp_print_timestamp(enum wp_type type, struct wp_span value,
			      struct wp_buffer *texts) WP_MUST_CHECK;

/* print_scalar.c prints all types but arrays. */
/* Returns the bytes that its text takes at most; 0: the text stands in the value. */
size_t wp_scalar_room(enum wp_type type, struct wp_span value);
/* `ret` points to what was appended, or into `value`. */
enum wp_rc wp_scalar_text(enum wp_type type, struct wp_span value, struct wp_buffer *texts,
			  struct wp_span *ret) WP_MUST_CHECK;

/* print_array.c */
size_t wp_array_room(enum wp_type element, struct wp_span value);
enum wp_rc wp_print_array(enum wp_type element, struct wp_span value,
			  struct wp_buffer *texts) WP_MUST_CHECK;

#endif
