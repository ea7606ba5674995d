/*
 * Binary values that no server would send: each byte string as every type, and as every
 * array. What is printed must fit the room that was asked for, also of what is refused;
 * a float must read back as the same number.
 *
 *   Byte1 type   Byte1 element   then the value
 */
#include <string.h>

#include "fuzz.h"
#include "walpost/values/binary.h"

#define ROOM_MAX (1 << 20)

static size_t sum; /* so that reading is no dead code */

static void read_all(struct wp_span s)
{
	for (size_t i = 0; i < s.size; i++)
		sum += s.data[i];
}

static uint64_t bits_of(struct wp_span value)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < value.size; i++)
		bits = bits << 8 | value.data[i];
	return bits;
}

static void need_same_number(enum wp_type type, struct wp_span value, struct wp_span text)
{
	char copy[32];
	uint64_t bits = 0;
	uint32_t bits4 = 0;

	NEED(text.size < sizeof(copy));
	memcpy(copy, text.data, text.size);
	copy[text.size] = '\0';
	if (strcmp(copy, "NaN") == 0)
		return;
	double number = strtod(copy, NULL);
	float number4 = strtof(copy, NULL);
	memcpy(&bits, &number, sizeof(bits));
	memcpy(&bits4, &number4, sizeof(bits4));
	NEED(bits_of(value) == (type == WP_TYPE_FLOAT8 ? bits : bits4));
}

/* The room exactly, so that a sanitizer sees a byte beyond it. */
static void print(enum wp_type type, enum wp_type element, struct wp_span value)
{
	size_t room = wp_binary_room(type, element, value);
	struct wp_span text = { 0 };

	if (room > ROOM_MAX)
		return;
	struct wp_buffer texts = { .data = malloc(room > 0 ? room : 1),
				   .capacity = room,
				   .size_max = room };
	NEED(texts.data != NULL);
	enum wp_rc rc = wp_binary_text(type, element, value, &texts, &text);
	NEED(rc == WP_OK || rc == WP_CONFIG);
	NEED(texts.size <= room);
	if (rc == WP_OK) {
		NEED(!wp_span_is_null(text));
		read_all(text);
	}
	if (rc == WP_OK && (type == WP_TYPE_FLOAT4 || type == WP_TYPE_FLOAT8))
		need_same_number(type, value, text);
	free(texts.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	struct wp_span value = { .data = data + 2, .size = size - 2 };
	print((enum wp_type)(data[0] % (WP_TYPE_ARRAY + 1)),
	      (enum wp_type)(data[1] % (WP_TYPE_ARRAY + 1)), value);
	return 0;
}
