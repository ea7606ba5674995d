/* Writes numbers and strings as Jackson does (json_tree.h). */
#include <assert.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_tree.h"
#include "walpost/base/hex.h"
#include "walpost/base/utf8.h"

/* ---- numbers ---- */

size_t wp_jackson_digits(struct wp_span number)
{
	size_t count = 0;

	for (size_t i = 0; i < number.size; i++)
		count += number.data[i] >= '0' && number.data[i] <= '9';
	return count;
}

static bool is_fraction(struct wp_span number)
{
	for (size_t i = 0; i < number.size; i++) {
		if (memchr(".eE", number.data[i], 3) != NULL)
			return true;
	}
	return false;
}

static bool is_at_most(struct wp_span digits, const char *limit)
{
	size_t size = strlen(limit);

	return digits.size < size || (digits.size == size && memcmp(digits.data, limit, size) <= 0);
}

enum wp_jackson_number wp_jackson_number_of(struct wp_span number)
{
	bool negative = number.data[0] == '-';
	struct wp_span digits = { number.data + negative, number.size - negative };

	if (is_fraction(number))
		return WP_JACKSON_DOUBLE;
	if (is_at_most(digits, negative ? "2147483648" : "2147483647"))
		return WP_JACKSON_INT;
	if (is_at_most(digits, negative ? "9223372036854775808" : "9223372036854775807"))
		return WP_JACKSON_LONG;
	return WP_JACKSON_BIG;
}

#define DIGITS_MAX 17 /* so many tell any two doubles apart */

/* 1.25e-7 is the digits 125 with the exponent -7. */
struct decimal {
	char digits[DIGITS_MAX + 1];
	int count;
	int exponent;
};

static struct decimal rounded(double value, int count)
{
	char text[32];
	struct decimal d = { .count = count };

	(void)snprintf(text, sizeof(text), "%.*e", count - 1, value);
	d.digits[0] = text[0];
	memcpy(d.digits + 1, text + 2, (size_t)count - 1);
	d.exponent = (int)strtol(text + count + 2, NULL, 10);
	return d;
}

static bool gives(const struct decimal *d, double value)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%c.%se%d", d->digits[0], d->digits + 1, d->exponent);
	return strtod(text, NULL) == value;
}

static void step_up(struct decimal *d)
{
	int i = d->count - 1;

	for (; i >= 0 && d->digits[i] == '9'; i--)
		d->digits[i] = '0';
	if (i >= 0) {
		d->digits[i]++;
		return;
	}
	d->digits[0] = '1';
	d->exponent++;
}

/*
 * Finds the fewest digits, but two at least, that give the value, and of those the nearest to it.
 * At a power of two the doubles below are closer than those above: the nearest decimal, when it is
 * below, may give another double where the next one above gives this.
 */
static struct decimal shortest_decimal(double value)
{
	struct decimal d;

	for (int count = 2; count < DIGITS_MAX; count++) {
		d = rounded(value, count);
		if (gives(&d, value))
			return d;
		step_up(&d);
		if (gives(&d, value))
			return d;
	}
	return rounded(value, DIGITS_MAX);
}

/* Writes the digits in front of the point, with zeroes where they end, then the others. */
static enum wp_rc write_digits(struct wp_buffer *into, const struct decimal *d, int before)
{
	int whole = d->count < before ? d->count : before;
	int rest = d->count - whole;

	return wp_buffer_printf(into, "%.*s%.*s.%.*s", whole, d->digits, before - whole, "000000",
				rest > 0 ? rest : 1, rest > 0 ? d->digits + whole : "0");
}

static enum wp_rc write_positive(struct wp_buffer *into, double value)
{
	struct decimal d = shortest_decimal(value);

	if (d.count == 2 && d.digits[1] == '0')
		d.count = 1;
	if (value >= 1e-3 && value < 1)
		return wp_buffer_printf(into, "0.%.*s%.*s", -d.exponent - 1, "00", d.count,
					d.digits);
	if (value >= 1 && value < 1e7)
		return write_digits(into, &d, d.exponent + 1);
	enum wp_rc rc = write_digits(into, &d, 1);
	return rc == WP_OK ? wp_buffer_printf(into, "E%d", d.exponent) : rc;
}

static enum wp_rc write_double(struct wp_buffer *into, struct wp_span number)
{
	char text[WP_JACKSON_DIGITS_MAX + 8]; /* with signs, point, e and NUL */
	bool negative = number.data[0] == '-';

	assert(number.size < sizeof(text));
	memcpy(text, number.data, number.size);
	text[number.size] = '\0';
	double value = strtod(text + negative, NULL);
	if (value > DBL_MAX)
		return wp_buffer_append_text(into, negative ? "\"-Infinity\"" : "\"Infinity\"");
	enum wp_rc rc = wp_buffer_append_text(into, negative ? "-" : "");
	if (rc != WP_OK)
		return rc;
	return value > 0 ? write_positive(into, value) : wp_buffer_append_text(into, "0.0");
}

enum wp_rc wp_jackson_write_number(struct wp_buffer *into, struct wp_span number)
{
	if (wp_jackson_number_of(number) == WP_JACKSON_DOUBLE)
		return write_double(into, number);
	if (wp_span_is(number, "-0"))
		return wp_buffer_append_byte(into, '0');
	return wp_buffer_append(into, number);
}

/* ---- strings ---- */

static bool is_single_unit(uint8_t c)
{
	return c != '\\' && c < 0xF0; /* from there on Java has pairs */
}

bool wp_jackson_is_same(struct wp_span string)
{
	for (size_t i = 0; i < string.size; i++) {
		if (!is_single_unit(string.data[i]))
			return false;
	}
	return true;
}

static enum wp_rc write_escape(struct wp_buffer *into, uint32_t unit)
{
	return wp_buffer_printf(into, "\\u%04X", (unsigned)unit);
}

/* Writes what a \u escape stands for: a character, or half of one. */
static enum wp_rc write_unit(struct wp_buffer *into, uint32_t unit)
{
	static const char SHORT[] = "btn?fr"; /* from U+0008 on; there is none for U+000B */
	uint8_t bytes[WP_UTF8_SIZE_MAX];

	if (unit >= 8 && unit <= 13 && unit != 11)
		return wp_buffer_printf(into, "\\%c", SHORT[unit - 8]);
	if (unit < 0x20 || (unit >= 0xD800 && unit <= 0xDFFF))
		return write_escape(into, unit);
	if (unit == '"' || unit == '\\')
		return wp_buffer_printf(into, "\\%c", (int)unit);
	size_t size = wp_utf8_encode(unit, bytes);
	return wp_buffer_append(into, (struct wp_span){ bytes, size });
}

/* Writes what stands at `at` and is not plain; tells how many bytes of the text it was. */
static enum wp_rc write_other(struct wp_buffer *into, const uint8_t *at, size_t left,
			      size_t *ret_size)
{
	if (*at != '\\') {
		*ret_size = wp_utf8_size(at, left);
		uint32_t above = wp_utf8_character(at, *ret_size) - 0x10000;
		enum wp_rc rc = write_escape(into, 0xD800 + (above >> 10));
		return rc == WP_OK ? write_escape(into, 0xDC00 + (above & 0x3FF)) : rc;
	}
	*ret_size = at[1] == 'u' ? 6 : 2;
	if (at[1] == 'u')
		return write_unit(into, wp_hex_unit(at + 2));
	if (at[1] == '/')
		return wp_buffer_append_byte(into, '/');
	return wp_buffer_append(into, (struct wp_span){ at, 2 });
}

enum wp_rc wp_jackson_write_string(struct wp_buffer *into, struct wp_span string)
{
	enum wp_rc rc = WP_OK;
	size_t at = 0;

	while (at < string.size && rc == WP_OK) {
		size_t from = at;
		while (at < string.size && is_single_unit(string.data[at]))
			at++;
		rc = wp_buffer_append(into, (struct wp_span){ string.data + from, at - from });
		if (rc == WP_OK && at < string.size) {
			size_t size = 0;
			rc = write_other(into, string.data + at, string.size - at, &size);
			at += size;
		}
	}
	return rc;
}
