#include <assert.h>

#include "walpost/outbox/binary.h"

#define UUID_SIZE 16
#define UUID_TEXT_SIZE 36
#define JSONB_VERSION 1

static const char digits[] = "0123456789abcdef";

size_t wp_binary_room(enum wp_type type, struct wp_span value)
{
	if (type == WP_TYPE_UUID)
		return UUID_TEXT_SIZE;
	/* Half of all sizes there are: a frame of a stream is far below. */
	return type == WP_TYPE_BYTEA ? 2 + 2 * value.size : 0;
}

static void add(struct wp_buffer *texts, char c)
{
	assert(texts->size < texts->capacity);
	texts->data[texts->size++] = (uint8_t)c;
}

static void add_hex(struct wp_buffer *texts, uint8_t byte)
{
	add(texts, digits[byte >> 4]);
	add(texts, digits[byte & 15]);
}

static struct wp_span since(const struct wp_buffer *texts, size_t start)
{
	return (struct wp_span){ .data = texts->data + start, .size = texts->size - start };
}

/* 8-4-4-4-12 (uuid_out). */
static struct wp_span print_uuid(struct wp_span value, struct wp_buffer *texts)
{
	size_t start = texts->size;

	for (size_t i = 0; i < UUID_SIZE; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			add(texts, '-');
		add_hex(texts, value.data[i]);
	}
	return since(texts, start);
}

/* As bytea_output = hex, which text mode forces. */
static struct wp_span print_bytea(struct wp_span value, struct wp_buffer *texts)
{
	size_t start = texts->size;

	add(texts, '\\');
	add(texts, 'x');
	for (size_t i = 0; i < value.size; i++)
		add_hex(texts, value.data[i]);
	return since(texts, start);
}

enum wp_rc wp_binary_text(enum wp_type type, struct wp_span value, struct wp_buffer *texts,
			  struct wp_span *ret)
{
	switch (type) {
	case WP_TYPE_TEXT:
		*ret = value;
		return WP_OK;
	case WP_TYPE_JSONB:
		if (value.size == 0 || value.data[0] != JSONB_VERSION)
			return WP_CONFIG;
		*ret = (struct wp_span){ .data = value.data + 1, .size = value.size - 1 };
		return WP_OK;
	case WP_TYPE_UUID:
		if (value.size != UUID_SIZE)
			return WP_CONFIG;
		*ret = print_uuid(value, texts);
		return WP_OK;
	case WP_TYPE_BYTEA:
		*ret = print_bytea(value, texts);
		return WP_OK;
	default:
		return WP_CONFIG;
	}
}
