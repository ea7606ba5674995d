/*
 * protobuf-c wants fields to look like this. It is for the modules that pack messages; a header of its own because
 * protobuf-c.h comes along.
 */
#ifndef WALPOST_SRC_ENVELOPE_PACKING_H
#define WALPOST_SRC_ENVELOPE_PACKING_H

#include <assert.h>
#include <string.h>

#include <protobuf-c/protobuf-c.h>

#include "walpost/base/buffer.h"

/* protobuf-c reads them only, but has no const. */
static inline ProtobufCBinaryData bytes_of(struct wp_span bytes)
{
	return (ProtobufCBinaryData){ .len = bytes.size, .data = (uint8_t *)(uintptr_t)bytes.data };
}

/* protobuf-c ends a string at its first NUL. */
static inline bool has_nul(struct wp_span text)
{
	return text.size > 0 && memchr(text.data, '\0', text.size) != NULL;
}

/* Makes a NUL-terminated copy in room that was reserved; NULL for a null span. */
static inline char *copy(struct wp_buffer *texts, struct wp_span text)
{
	char *at = (char *)texts->data + texts->size;

	if (wp_span_is_null(text))
		return NULL;
	if (text.size > 0)
		memcpy(at, text.data, text.size);
	at[text.size] = '\0';
	texts->size += text.size + 1;
	assert(texts->size <= texts->capacity);
	return at;
}

#endif
