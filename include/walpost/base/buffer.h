/*
 * A growing buffer that cannot exist without a limit.
 *
 * Owns: its memory. Bounded: size_max, given at init. Appending past it gives
 * WP_FULL and leaves the content as it was.
 */
#ifndef WALPOST_BASE_BUFFER_H
#define WALPOST_BASE_BUFFER_H

#include "walpost/base/error.h"
#include "walpost/base/span.h"

struct wp_buffer {
	uint8_t *data; /* owned */
	size_t size;
	size_t capacity;
	size_t size_max;
};

void wp_buffer_init(struct wp_buffer *b, size_t size_max);
void wp_buffer_release(struct wp_buffer *b);
/* It is empty again; memory is kept. */
void wp_buffer_reset(struct wp_buffer *b);
/* It is empty again; memory is given back if a huge content left much more than `wanted` bytes. */
void wp_buffer_empty(struct wp_buffer *b, size_t wanted);
/* Makes room for `size` more bytes without moving: WP_OK, WP_FULL or WP_NOMEM. */
enum wp_rc wp_buffer_reserve(struct wp_buffer *b, size_t size) WP_MUST_CHECK;
enum wp_rc wp_buffer_append(struct wp_buffer *b, struct wp_span bytes) WP_MUST_CHECK;
enum wp_rc wp_buffer_append_text(struct wp_buffer *b, const char *text) WP_MUST_CHECK;
enum wp_rc wp_buffer_append_byte(struct wp_buffer *b, uint8_t byte) WP_MUST_CHECK;
enum wp_rc wp_buffer_printf(struct wp_buffer *b, const char *format, ...)
	WP_PRINTF(2, 3) WP_MUST_CHECK;
/* It is valid until the next call that changes the buffer, and never a null span. */
struct wp_span wp_buffer_span(const struct wp_buffer *b);

/*
 * Writes one piece after the other: the first failure is remembered, so that what is written reads like the
 * text. After it nothing more counts.
 */
struct wp_writer {
	struct wp_buffer *into; /* borrowed */
	enum wp_rc rc;
};

void wp_writer_keep(struct wp_writer *w, enum wp_rc rc);
void wp_writer_put(struct wp_writer *w, const char *text);
void wp_writer_printf(struct wp_writer *w, const char *format, ...) WP_PRINTF(2, 3);

#endif
