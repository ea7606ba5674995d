#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/buffer.h"

#define CAPACITY_MIN 64
#define CAPACITY_KEPT ((size_t)1024 * 1024)

void wp_buffer_init(struct wp_buffer *b, size_t size_max)
{
	assert(size_max < SIZE_MAX);
	*b = (struct wp_buffer){ .size_max = size_max };
}

void wp_buffer_release(struct wp_buffer *b)
{
	free(b->data);
	*b = (struct wp_buffer){ 0 };
}

void wp_buffer_reset(struct wp_buffer *b)
{
	b->size = 0;
}

void wp_buffer_empty(struct wp_buffer *b, size_t wanted)
{
	size_t size_max = b->size_max;

	wp_buffer_reset(b);
	if (b->capacity <= CAPACITY_KEPT || wanted >= b->capacity / 8)
		return;
	wp_buffer_release(b);
	wp_buffer_init(b, size_max);
}

static size_t next_capacity(const struct wp_buffer *b, size_t wanted)
{
	size_t capacity = b->capacity > CAPACITY_MIN ? b->capacity : CAPACITY_MIN;

	while (capacity < wanted && capacity <= b->size_max / 2)
		capacity *= 2;
	return capacity < wanted || capacity > b->size_max ? b->size_max : capacity;
}

enum wp_rc wp_buffer_reserve(struct wp_buffer *b, size_t size)
{
	assert(b->size <= b->size_max);
	if (size > b->size_max - b->size)
		return WP_FULL;
	if (size <= b->capacity - b->size)
		return WP_OK;

	size_t capacity = next_capacity(b, b->size + size);
	/* It has one byte more than it tells: vsnprintf() writes a NUL that does not count. */
	uint8_t *data = realloc(b->data, capacity + 1);
	if (data == NULL)
		return WP_NOMEM;
	b->data = data;
	b->capacity = capacity;
	return WP_OK;
}

enum wp_rc wp_buffer_append(struct wp_buffer *b, struct wp_span bytes)
{
	enum wp_rc rc = wp_buffer_reserve(b, bytes.size);
	if (rc != WP_OK)
		return rc;
	if (bytes.size > 0)
		memcpy(b->data + b->size, bytes.data, bytes.size);
	b->size += bytes.size;
	return WP_OK;
}

enum wp_rc wp_buffer_append_text(struct wp_buffer *b, const char *text)
{
	return wp_buffer_append(b, wp_span_of(text));
}

enum wp_rc wp_buffer_append_byte(struct wp_buffer *b, uint8_t byte)
{
	return wp_buffer_append(b, (struct wp_span){ .data = &byte, .size = 1 });
}

WP_PRINTF(2, 0)
static enum wp_rc append_formatted(struct wp_buffer *b, const char *format, va_list arguments)
{
	va_list again;

	va_copy(again, arguments);
	int size = vsnprintf(NULL, 0, format, again);
	va_end(again);
	/* It is longer than an int can say, hence than any limit of ours. */
	if (size < 0)
		return WP_FULL;

	enum wp_rc rc = wp_buffer_reserve(b, (size_t)size);
	if (rc != WP_OK || size == 0)
		return rc;
	(void)vsnprintf((char *)b->data + b->size, (size_t)size + 1, format, arguments);
	b->size += (size_t)size;
	return WP_OK;
}

enum wp_rc wp_buffer_printf(struct wp_buffer *b, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	enum wp_rc rc = append_formatted(b, format, arguments);
	va_end(arguments);
	return rc;
}

struct wp_span wp_buffer_span(const struct wp_buffer *b)
{
	if (b->data == NULL)
		return wp_span_of("");
	return (struct wp_span){ .data = b->data, .size = b->size };
}

void wp_writer_keep(struct wp_writer *w, enum wp_rc rc)
{
	if (w->rc == WP_OK)
		w->rc = rc;
}

void wp_writer_put(struct wp_writer *w, const char *text)
{
	wp_writer_keep(w, wp_buffer_append_text(w->into, text));
}

void wp_writer_printf(struct wp_writer *w, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	wp_writer_keep(w, append_formatted(w->into, format, arguments));
	va_end(arguments);
}
