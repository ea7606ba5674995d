/* Bytes from hex text, in memory of just their size: reading past the end is seen. */
#ifndef WALPOST_TESTS_UNIT_WAL_BYTES_H
#define WALPOST_TESTS_UNIT_WAL_BYTES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "walpost/base/span.h"

/* Blanks are skipped. Freed by free_bytes(). */
static inline struct wp_span bytes_of(const char *hex)
{
	size_t size = 0;
	uint8_t *data = malloc(strlen(hex) / 2 + 1);

	CHECK(data != NULL);
	while (*hex != '\0') {
		unsigned value;
		int used;
		if (sscanf(hex, " %2x%n", &value, &used) != 1)
			break;
		data[size++] = (uint8_t)value;
		hex += used;
	}
	uint8_t *exact = realloc(data, size > 0 ? size : 1);
	CHECK(exact != NULL);
	return (struct wp_span){ .data = exact, .size = size };
}

/* The first `size` bytes of it and then `tail`, again in memory of their own. */
static inline struct wp_span bytes_with(struct wp_span bytes, size_t size, const char *tail)
{
	uint8_t *data = malloc(size + strlen(tail) + 1);

	CHECK(data != NULL);
	memcpy(data, bytes.data, size);
	memcpy(data + size, tail, strlen(tail));
	uint8_t *exact = realloc(data, size + strlen(tail) > 0 ? size + strlen(tail) : 1);
	CHECK(exact != NULL);
	return (struct wp_span){ .data = exact, .size = size + strlen(tail) };
}

static inline void free_bytes(struct wp_span bytes)
{
	free((void *)(uintptr_t)bytes.data);
}

#endif
