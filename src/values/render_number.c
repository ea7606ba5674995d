/* Renders integers and numerics, from the text that Postgres prints. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "render_parts.h"
#include "walpost/base/ascii.h"
#include "walpost/base/base64.h"
#include "walpost/base/buffer.h"
#include "walpost/base/display.h"

/*
 * This is a decimal number as Postgres prints a numeric, and its unscaled value as Java's
 * BigInteger writes it: what stands without the point, big-endian, two's complement, as short as
 * can be. Part of render. Borrows the text. Pure. Bounded: WP_DECIMAL_DIGITS_MAX digits, whose
 * conversion takes a tenth of a second.
 */
/* A numeric has NUMERIC_MAX_PRECISION before the point and 16,383 behind it (its documentation). */
enum { WP_DECIMAL_DIGITS_MAX = 131072 + 16383 };

struct wp_decimal {
	bool is_negative;	 /* never of zero */
	struct wp_span whole;	 /* digits before the point, without zeros at the front */
	struct wp_span fraction; /* digits behind the point */
	size_t zeros;		 /* that follow them */
};

/* So many digits are taken at once: their value, and what it is multiplied by, has 32 bits. */
#define CHUNK_DIGITS 9

static struct wp_span take_digits(const uint8_t **at, const uint8_t *end)
{
	struct wp_span digits = { .data = *at };

	while (*at < end && wp_is_digit(**at))
		(*at)++;
	digits.size = (size_t)(*at - digits.data);
	return digits;
}

static bool is_zero(struct wp_span digits)
{
	for (size_t i = 0; i < digits.size; i++) {
		if (digits.data[i] != '0')
			return false;
	}
	return true;
}

/* False: it is no such number, or has more digits than the bound. */
static bool decimal_read(struct wp_span text, struct wp_decimal *ret)
{
	const uint8_t *at = text.data;
	const uint8_t *end = text.data + text.size;
	struct wp_decimal d = { 0 };

	if (at < end && *at == '-') {
		d.is_negative = true;
		at++;
	}
	d.whole = take_digits(&at, end);
	d.fraction = (struct wp_span){ .data = at };
	if (d.whole.size == 0)
		return false;
	if (at < end && *at == '.') {
		at++;
		d.fraction = take_digits(&at, end);
		if (d.fraction.size == 0)
			return false;
	}
	if (at != end || d.whole.size + d.fraction.size > WP_DECIMAL_DIGITS_MAX)
		return false;
	for (; d.whole.size > 0 && *d.whole.data == '0'; d.whole.size--)
		d.whole.data++;
	if (d.whole.size == 0 && is_zero(d.fraction))
		d.is_negative = false;
	*ret = d;
	return true;
}

/* Makes it have exactly `scale` digits behind the point. False: it has more that are not zero. */
static bool decimal_set_scale(struct wp_decimal *d, size_t scale)
{
	if (scale >= d->fraction.size) {
		d->zeros = scale - d->fraction.size;
		return true;
	}
	struct wp_span cut = { d->fraction.data + scale, d->fraction.size - scale };
	if (!is_zero(cut))
		return false;
	d->fraction.size = scale;
	d->zeros = 0;
	return true;
}

/* Leaves no zeros at the end of the digits behind the point. */
static void decimal_strip(struct wp_decimal *d)
{
	d->zeros = 0;
	while (d->fraction.size > 0 && d->fraction.data[d->fraction.size - 1] == '0')
		d->fraction.size--;
}

static size_t decimal_scale(const struct wp_decimal *d)
{
	return d->fraction.size + d->zeros;
}

/* Counts the zeros behind the point that no other digit stands before. */
static size_t zeros_ahead(const struct wp_decimal *d)
{
	size_t count = 0;

	if (d->whole.size > 0)
		return 0;
	while (count < d->fraction.size && d->fraction.data[count] == '0')
		count++;
	return count == d->fraction.size ? count + d->zeros : count;
}

/* Counts the digits of the unscaled value, without zeros at the front; 0 for zero. */
static size_t decimal_size(const struct wp_decimal *d)
{
	return d->whole.size + decimal_scale(d) - zeros_ahead(d);
}

/* `index` counts all digits, the zeros at the front included. */
static unsigned digit_at(const struct wp_decimal *d, size_t index)
{
	if (index < d->whole.size)
		return d->whole.data[index] - (unsigned)'0';
	index -= d->whole.size;
	return index < d->fraction.size ? d->fraction.data[index] - (unsigned)'0' : 0;
}

/* Appends those from the one at `from` on; a zero for each beyond the last. WP_FULL, WP_NOMEM. */
static enum wp_rc decimal_write_digits(struct wp_buffer *into, const struct wp_decimal *d,
				       size_t from, size_t count)
{
	size_t first = zeros_ahead(d) + from;

	enum wp_rc rc = wp_buffer_reserve(into, count);
	if (rc != WP_OK)
		return rc;
	for (size_t i = first; i < first + count; i++)
		into->data[into->size++] = (uint8_t)('0' + digit_at(d, i));
	return WP_OK;
}

/* This is a magnitude: its lowest 32 bits come first. */
struct magnitude {
	uint32_t *words; /* owned */
	size_t count;
};

/* Room is there: each chunk of digits adds one word at most. */
static void multiply_and_add(struct magnitude *m, uint32_t factor, uint32_t summand)
{
	uint64_t carry = summand;

	for (size_t i = 0; i < m->count; i++) {
		carry += (uint64_t)m->words[i] * factor;
		m->words[i] = (uint32_t)carry;
		carry >>= 32;
	}
	if (carry > 0)
		m->words[m->count++] = (uint32_t)carry;
}

static void convert(const struct wp_decimal *d, struct magnitude *m)
{
	size_t ahead = zeros_ahead(d);
	size_t end = ahead + decimal_size(d);
	uint32_t factor = 1;
	uint32_t chunk = 0;

	for (size_t i = ahead; i < end; i++) {
		factor *= 10;
		chunk = chunk * 10 + digit_at(d, i);
		if ((i - ahead) % CHUNK_DIGITS == CHUNK_DIGITS - 1 || i + 1 == end) {
			multiply_and_add(m, factor, chunk);
			factor = 1;
			chunk = 0;
		}
	}
}

/* Prints it big-endian, with a byte for the sign in front; returns without what says nothing. */
static struct wp_span print_magnitude(const struct magnitude *m, bool negative, uint8_t *bytes)
{
	size_t size = m->count * 4 + 1;
	unsigned carry = negative;

	bytes[0] = negative ? 0xFF : 0;
	for (size_t i = size - 1; i > 0; i--) {
		size_t place = size - 1 - i;
		unsigned byte = m->words[place / 4] >> place % 4 * 8 & 0xFF;
		byte = (negative ? byte ^ 0xFF : byte) + carry;
		bytes[i] = (uint8_t)byte;
		carry = byte >> 8;
	}
	size_t from = 0;
	while (from + 1 < size && bytes[from] == (bytes[from + 1] & 0x80 ? 0xFF : 0))
		from++;
	return (struct wp_span){ bytes + from, size - from };
}

/* Appends the unscaled value in base64. WP_FULL, WP_NOMEM. */
static enum wp_rc decimal_write_base64(struct wp_buffer *into, const struct wp_decimal *d)
{
	size_t count = decimal_size(d) / CHUNK_DIGITS + 1;
	struct magnitude m = { 0 };
	enum wp_rc rc = WP_NOMEM;

	m.words = malloc(count * sizeof(uint32_t));
	uint8_t *bytes = malloc(count * 4 + 1);
	if (m.words != NULL && bytes != NULL) {
		convert(d, &m);
		assert(m.count <= count);
		rc = wp_base64_write(into, print_magnitude(&m, d->is_negative, bytes));
	}
	free(bytes);
	free(m.words);
	return rc;
}

#define VARHDRSZ 4
/* BigDecimal.toString() turns to an exponent below it (its documentation). */
#define PLAIN_EXPONENT_MIN (-6)

/* ---- integers ---- */

/* Postgres prints no zeros at the front, and no sign of zero. */
static bool is_integer(struct wp_span text, uint64_t max)
{
	bool negative = text.size > 0 && text.data[0] == '-';
	uint64_t number = 0;

	for (size_t i = negative; i < text.size; i++) {
		uint8_t c = text.data[i];
		if (c < '0' || c > '9' || number > max / 10)
			return false;
		number = number * 10 + (uint64_t)(c - '0');
	}
	return text.size > negative && number <= max + negative &&
	       (text.data[negative] != '0' || text.size == 1);
}

enum wp_rc wp_render_integer(struct wp_buffer *into, enum wp_type type, struct wp_span text,
			     struct wp_error *error)
{
	int size = type == WP_TYPE_INT2 ? 2 : type == WP_TYPE_INT4 ? 4 : 8;
	uint64_t max = UINT64_MAX >> (64 - 8 * size + 1);
	struct wp_excerpt shown;

	if (is_integer(text, max))
		return wp_buffer_append(into, text);
	return wp_error_set(error, WP_DATA, "\"%s\" is not an int%d in Postgres's format",
			    wp_excerpt(&shown, text), size);
}

/* ---- numerics ---- */

/*
 * The modifier is precision << 16 | scale of eleven bits, plus VARHDRSZ (make_numeric_typmod() in
 * PostgreSQL's src/backend/utils/adt/numeric.c; the scale has a sign since version 15).
 */
struct wp_render_scale wp_render_scale(int32_t modifier)
{
	if (modifier < VARHDRSZ)
		return (struct wp_render_scale){ .is_variable = modifier < 0 };
	int32_t packed = modifier - VARHDRSZ;
	return (struct wp_render_scale){
		.precision = packed >> 16 & 0xFFFF,
		.scale = ((packed & 0x7FF) ^ 1024) - 1024,
	};
}

static enum wp_rc refuse_numeric(struct wp_span text, struct wp_error *error)
{
	struct wp_excerpt shown;

	if (wp_span_is(text, "NaN") || wp_span_is(text, "Infinity") ||
	    wp_span_is(text, "-Infinity"))
		return wp_error_set(error, WP_DATA,
				    "a numeric is %s, which Connect's decimals cannot represent",
				    wp_excerpt(&shown, text));
	return wp_error_set(error, WP_DATA, "\"%s\" is not a numeric in Postgres's format",
			    wp_excerpt(&shown, text));
}

/* Writes 12345.678. */
static enum wp_rc write_plain(struct wp_buffer *into, const struct wp_decimal *d)
{
	enum wp_rc rc = wp_buffer_append(into, d->whole);

	if (rc == WP_OK && d->whole.size == 0)
		rc = wp_buffer_append_byte(into, '0');
	if (rc == WP_OK && decimal_scale(d) > 0)
		rc = wp_buffer_append_byte(into, '.');
	if (rc == WP_OK)
		rc = wp_buffer_append(into, d->fraction);
	for (size_t i = 0; i < d->zeros && rc == WP_OK; i++)
		rc = wp_buffer_append_byte(into, '0');
	return rc;
}

/* Writes 1.234E-7, all digits of the unscaled value; zero has one too. */
static enum wp_rc write_scientific(struct wp_buffer *into, const struct wp_decimal *d, size_t size,
				   long exponent)
{
	enum wp_rc rc = decimal_write_digits(into, d, 0, 1);

	if (rc == WP_OK && size > 1)
		rc = wp_buffer_append_byte(into, '.');
	if (rc == WP_OK)
		rc = decimal_write_digits(into, d, 1, size - 1);
	return rc == WP_OK ? wp_buffer_printf(into, "E%ld", exponent) : rc;
}

/* Writes it as BigDecimal.toString() does. */
static enum wp_rc write_big_decimal(struct wp_buffer *into, const struct wp_decimal *d)
{
	size_t size = decimal_size(d) > 0 ? decimal_size(d) : 1;
	long exponent = (long)size - 1 - (long)decimal_scale(d);
	enum wp_rc rc = WP_OK;

	if (d->is_negative)
		rc = wp_buffer_append_byte(into, '-');
	if (rc != WP_OK)
		return rc;
	return exponent >= PLAIN_EXPONENT_MIN ? write_plain(into, d)
					      : write_scientific(into, d, size, exponent);
}

/* Writes Debezium's VariableScaleDecimal, the same in each form. */
static enum wp_rc write_variable(struct wp_buffer *into, const struct wp_decimal *d)
{
	enum wp_rc rc = wp_buffer_printf(into, "{\"scale\":%zu,\"value\":\"", decimal_scale(d));

	if (rc == WP_OK)
		rc = decimal_write_base64(into, d);
	return rc == WP_OK ? wp_buffer_append_text(into, "\"}") : rc;
}

static enum wp_rc write_decimal(struct wp_buffer *into, const struct wp_decimal *d)
{
	enum wp_rc rc = wp_buffer_append_byte(into, '"');

	if (rc == WP_OK)
		rc = decimal_write_base64(into, d);
	return rc == WP_OK ? wp_buffer_append_byte(into, '"') : rc;
}

enum wp_rc wp_render_numeric(struct wp_buffer *into, int32_t modifier, struct wp_span text,
			     enum wp_render_form form, struct wp_error *error)
{
	struct wp_render_scale scale = wp_render_scale(modifier);
	struct wp_excerpt shown;
	struct wp_decimal d;

	if (!decimal_read(text, &d))
		return refuse_numeric(text, error);
	if (scale.is_variable) {
		decimal_strip(&d);
		return write_variable(into, &d);
	}
	assert(scale.scale >= 0);
	if (!decimal_set_scale(&d, (size_t)scale.scale))
		return wp_error_set(
			error, WP_DATA,
			"the numeric %s has more fractional digits than the column's scale %d",
			wp_excerpt(&shown, text), scale.scale);
	return form == WP_RENDER_JSON ? write_decimal(into, &d) : write_big_decimal(into, &d);
}
