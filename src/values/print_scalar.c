/* Prints values of all types but arrays that came in binary. */
#include "print.h"

#define UUID_SIZE 16
#define UUID_TEXT_SIZE 36
#define JSONB_VERSION 1

static const char digits[] = "0123456789abcdef";

/* The text of these types has a bound; zero: it stands in the value, or depends on it. */
static const size_t rooms[] = {
	[WP_TYPE_CHAR] = sizeof("\\377") - 1,
	[WP_TYPE_UUID] = UUID_TEXT_SIZE,
	[WP_TYPE_BOOL] = 1,
	[WP_TYPE_INT2] = sizeof("-32768") - 1,
	[WP_TYPE_INT4] = sizeof("-2147483648") - 1,
	[WP_TYPE_INT8] = sizeof("-9223372036854775808") - 1,
	[WP_TYPE_FLOAT4] = sizeof("-1.23456789e-38") - 1,
	[WP_TYPE_FLOAT8] = sizeof("-1.2345678901234567e-308") - 1,
	[WP_TYPE_DATE] = sizeof("5874897-12-31") - 1, /* as long as 4713-01-01 BC */
	[WP_TYPE_TIME] = sizeof("23:59:59.999999") - 1,
	[WP_TYPE_TIMESTAMP] = sizeof("4713-01-01 23:59:59.999999 BC") - 1,
	[WP_TYPE_TIMESTAMPTZ] = sizeof("4713-01-01 23:59:59.999999+00 BC") - 1,
	[WP_TYPE_ARRAY] = 0,
};

size_t wp_scalar_room(enum wp_type type, struct wp_span value)
{
	switch (type) {
	case WP_TYPE_BYTEA:
		/* This is half of all sizes there are: a frame of a stream is far below. */
		return 2 + 2 * value.size;
	case WP_TYPE_NUMERIC:
		return wp_numeric_room(value);
	default:
		return rooms[type];
	}
}

static void put_hex_byte(uint8_t to[2], uint8_t byte)
{
	to[0] = (uint8_t)digits[byte >> 4];
	to[1] = (uint8_t)digits[byte & 15];
}

/* Prints 8-4-4-4-12 (uuid_out). */
static enum wp_rc print_uuid(struct wp_span value, struct wp_buffer *texts)
{
	uint8_t text[UUID_TEXT_SIZE];
	size_t at = 0;

	if (value.size != UUID_SIZE)
		return WP_CONFIG;
	for (size_t i = 0; i < UUID_SIZE; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			text[at++] = '-';
		put_hex_byte(text + at, value.data[i]);
		at += 2;
	}
	wp_print_bytes(texts, text, UUID_TEXT_SIZE);
	return WP_OK;
}

/* Prints as bytea_output = hex does, which text mode forces. */
static enum wp_rc print_bytea(struct wp_span value, struct wp_buffer *texts)
{
	wp_print_text(texts, "\\x");
	assert(value.size <= (texts->capacity - texts->size) / 2);
	for (size_t i = 0; i < value.size; i++) {
		put_hex_byte(texts->data + texts->size, value.data[i]);
		texts->size += 2;
	}
	return WP_OK;
}

static enum wp_rc print_bool(struct wp_span value, struct wp_buffer *texts)
{
	if (value.size != 1 || value.data[0] > 1)
		return WP_CONFIG;
	wp_print_char(texts, value.data[0] ? 't' : 'f');
	return WP_OK;
}

/*
 * charout prints nothing for NUL. Since PostgreSQL 15 a byte that is not ASCII is \ooo; 14 sends it
 * as it is, which is no UTF-8 and not what the same row gives after an upgrade: so here it is \ooo
 * for all.
 */
static enum wp_rc print_char(struct wp_span value, struct wp_buffer *texts)
{
	if (value.size != 1)
		return WP_CONFIG;
	uint8_t c = value.data[0];
	if (c < 0x80) {
		wp_print_bytes(texts, &c, c != 0);
		return WP_OK;
	}
	wp_print_char(texts, '\\');
	wp_print_char(texts, (char)('0' + (c >> 6)));
	wp_print_char(texts, (char)('0' + (c >> 3 & 7)));
	wp_print_char(texts, (char)('0' + (c & 7)));
	return WP_OK;
}

static enum wp_rc print_value(enum wp_type type, struct wp_span value, struct wp_buffer *texts)
{
	switch (type) {
	case WP_TYPE_CHAR:
		return print_char(value, texts);
	case WP_TYPE_UUID:
		return print_uuid(value, texts);
	case WP_TYPE_BYTEA:
		return print_bytea(value, texts);
	case WP_TYPE_BOOL:
		return print_bool(value, texts);
	case WP_TYPE_INT2:
	case WP_TYPE_INT4:
	case WP_TYPE_INT8:
		return wp_print_int(type, value, texts);
	case WP_TYPE_FLOAT4:
	case WP_TYPE_FLOAT8:
		return wp_print_float(type, value, texts);
	case WP_TYPE_NUMERIC:
		return wp_print_numeric(value, texts);
	case WP_TYPE_DATE:
		return wp_print_date(value, texts);
	case WP_TYPE_TIME:
		return wp_print_time(value, texts);
	case WP_TYPE_TIMESTAMP:
	case WP_TYPE_TIMESTAMPTZ:
		return wp_print_timestamp(type, value, texts);
	default:
		return WP_CONFIG;
	}
}

enum wp_rc wp_scalar_text(enum wp_type type, struct wp_span value, struct wp_buffer *texts,
			  struct wp_span *ret)
{
	size_t start = texts->size;

	switch (type) {
	case WP_TYPE_TEXT:
	case WP_TYPE_ENUM:
	case WP_TYPE_JSON:
		*ret = value;
		return WP_OK;
	case WP_TYPE_JSONB:
		if (value.size == 0 || value.data[0] != JSONB_VERSION)
			return WP_CONFIG;
		*ret = (struct wp_span){ .data = value.data + 1, .size = value.size - 1 };
		return WP_OK;
	default:
		break;
	}
	enum wp_rc rc = print_value(type, value, texts);
	if (rc == WP_OK)
		*ret = (struct wp_span){ .data = texts->data + start, .size = texts->size - start };
	return rc;
}
