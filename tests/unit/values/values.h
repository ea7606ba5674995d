/* A value as it comes, made field by field and printed. One program, one value at a time. */
#ifndef WALPOST_TESTS_OUTBOX_VALUES_H
#define WALPOST_TESTS_OUTBOX_VALUES_H

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "walpost/values/binary.h"

#define BYTES_MAX 65536
#define TEXT_MAX 400000

struct bytes {
	uint8_t data[BYTES_MAX];
	size_t size;
};

static struct bytes value;
static char text[TEXT_MAX]; /* of the last value that was printed */

static inline void put(uint64_t number, size_t size)
{
	assert_true(value.size + size <= BYTES_MAX);
	for (size_t i = size; i-- > 0; number >>= 8)
		value.data[value.size + i] = (uint8_t)number;
	value.size += size;
}

/*
 * In a buffer that has the room it asked for and not a byte more, so that a sanitizer
 * sees what goes beyond.
 */
static inline enum wp_rc print_array(enum wp_type type, enum wp_type element)
{
	struct wp_span bytes = { .data = value.data, .size = value.size };
	size_t room = wp_binary_room(type, element, bytes);
	struct wp_buffer texts = { .data = malloc(room > 0 ? room : 1),
				   .capacity = room,
				   .size_max = room };
	struct wp_span printed = { 0 };

	assert_non_null(texts.data);
	enum wp_rc rc = wp_binary_text(type, element, bytes, &texts, &printed);
	CHECK(texts.size <= room);
	if (rc == WP_OK) {
		CHECK(printed.size < TEXT_MAX);
		memcpy(text, printed.data, printed.size);
		text[printed.size] = '\0';
	}
	free(texts.data);
	return rc;
}

static inline enum wp_rc print(enum wp_type type)
{
	return print_array(type, WP_TYPE_OTHER);
}

/* Of one number of that many bytes. */
static inline const char *of_number(enum wp_type type, size_t size, uint64_t number)
{
	value.size = 0;
	put(number, size);
	CHECK_EQ(print(type), WP_OK);
	return text;
}

static inline void refuses_number(enum wp_type type, size_t size, uint64_t number)
{
	value.size = 0;
	put(number, size);
	CHECK_EQ(print(type), WP_CONFIG);
}

static inline void refuses_sizes_around(enum wp_type type, size_t size)
{
	value.size = 0;
	CHECK_EQ(print(type), WP_CONFIG);
	put(0, size - 1);
	CHECK_EQ(print(type), WP_CONFIG);
	put(0, 1);
	CHECK_EQ(print(type), WP_OK);
	put(0, 1);
	CHECK_EQ(print(type), WP_CONFIG);
}

#endif
