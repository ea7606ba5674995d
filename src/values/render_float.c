#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/display.h"

#include "render_parts.h"

#define TEXT_SIZE 64
#define DIGITS_MIN 2
#define DIGITS_MAX 17
/* Java writes a number from 1e-3 up to below 1e7 without an exponent. */
#define PLAIN_EXPONENT_MIN (-3)
#define PLAIN_EXPONENT_MAX 6

/*
 * Which decimal Java prints (Double.toString() since JDK 19, which says it in its documentation):
 * of those that are read as the same number, those with the fewest digits, but at least two; of
 * these the nearest. Postgres's own digits will not do: it writes 5e-324 where Java has 4.9E-324,
 * and never takes a decimal that lies exactly between two numbers.
 *
 * Sign and special numbers are dealt with before.
 */
struct digits {
	char text[DIGITS_MAX + 1];
	size_t count;
	int exponent; /* of the first digit */
};

/* Is "digits" times ten to the exponent read as `number`? The locale is C always. */
static bool stands_for(uint64_t digits, int exponent, enum wp_type type, double number)
{
	char text[TEXT_SIZE];

	(void)snprintf(text, sizeof(text), "%" PRIu64 "e%d", digits, exponent);
	if (type == WP_TYPE_FLOAT4)
		return (double)strtof(text, NULL) == number;
	return strtod(text, NULL) == number;
}

/*
 * The nearest decimal with `count` digits, if it will do. The one above it may be meant too:
 * below a power of two the numbers lie closer.
 */
static bool find_decimal(double number, enum wp_type type, int count, uint64_t *ret_digits,
			 int *ret_exponent)
{
	char text[TEXT_SIZE];
	char *end;

	(void)snprintf(text, sizeof(text), "%.*e", count - 1, number);
	text[1] = text[0]; /* over the point: count >= 2 */
	uint64_t digits = strtoull(text + 1, &end, 10);
	int exponent = (int)strtol(end + 1, NULL, 10) - (count - 1);
	for (uint64_t above = 0; above <= 1; above++) {
		if (!stands_for(digits + above, exponent, type, number))
			continue;
		*ret_digits = digits + above;
		*ret_exponent = exponent;
		return true;
	}
	return false;
}

static struct digits digits_of(double number, enum wp_type type)
{
	struct digits d = { .text = "0" };
	uint64_t digits = 0;
	int exponent = 0;
	int count = DIGITS_MIN;

	while (count < DIGITS_MAX && !find_decimal(number, type, count, &digits, &exponent))
		count++;
	if (count == DIGITS_MAX)
		(void)find_decimal(number, type, count, &digits, &exponent);
	for (; digits % 10 == 0 && digits > 0; digits /= 10)
		exponent++;
	d.count = (size_t)snprintf(d.text, sizeof(d.text), "%" PRIu64, digits);
	d.exponent = exponent + (int)d.count - 1;
	return d;
}

static enum wp_rc write_zeros(struct wp_buffer *into, int count)
{
	return count <= 0 ? WP_OK : wp_buffer_printf(into, "%0*d", count, 0);
}

/* A run of digits; a single zero where there are none. */
static enum wp_rc write_run(struct wp_buffer *into, const struct digits *d, size_t from, size_t to)
{
	if (from >= to)
		return wp_buffer_append_byte(into, '0');
	return wp_buffer_append(into,
				(struct wp_span){ (const uint8_t *)d->text + from, to - from });
}

/* 0.00123, 123.0 */
static enum wp_rc write_plain(struct wp_buffer *into, const struct digits *d)
{
	size_t before = d->exponent < 0 ? 0 : (size_t)d->exponent + 1;
	size_t whole = before < d->count ? before : d->count;

	enum wp_rc rc = write_run(into, d, 0, whole);
	if (rc == WP_OK)
		rc = write_zeros(into, (int)(before - whole));
	if (rc == WP_OK)
		rc = wp_buffer_append_byte(into, '.');
	if (rc == WP_OK)
		rc = write_zeros(into, -d->exponent - 1);
	return rc == WP_OK ? write_run(into, d, whole, d->count) : rc;
}

/* 1.23E-5, 1.0E300 */
static enum wp_rc write_scientific(struct wp_buffer *into, const struct digits *d)
{
	enum wp_rc rc = write_run(into, d, 0, 1);

	if (rc == WP_OK)
		rc = wp_buffer_append_byte(into, '.');
	if (rc == WP_OK)
		rc = write_run(into, d, 1, d->count);
	return rc == WP_OK ? wp_buffer_printf(into, "E%d", d->exponent) : rc;
}

static enum wp_rc write_number(struct wp_buffer *into, enum wp_type type, double number)
{
	enum wp_rc rc = WP_OK;

	if (signbit(number))
		rc = wp_buffer_append_byte(into, '-');
	if (rc != WP_OK)
		return rc;
	if (number == 0)
		return wp_buffer_append_text(into, "0.0");
	struct digits d = digits_of(fabs(number), type);
	return d.exponent < PLAIN_EXPONENT_MIN || d.exponent > PLAIN_EXPONENT_MAX
		       ? write_scientific(into, &d)
		       : write_plain(into, &d);
}

/* ["-"] digits ["." digits] ["e" ["-" / "+"] digits], where strtod() would take much more. */
static bool is_number(const char *text)
{
	static const char digits[] = "0123456789";
	size_t size;

	text += *text == '-';
	size = strspn(text, digits);
	text += size;
	if (size > 0 && *text == '.') {
		size = strspn(text + 1, digits);
		text += 1 + size;
	}
	if (size > 0 && *text == 'e') {
		text += text[1] == '-' || text[1] == '+' ? 2 : 1;
		size = strspn(text, digits);
		text += size;
	}
	return size > 0 && *text == '\0';
}

/* False: Postgres prints no such number. */
static bool read_number(enum wp_type type, struct wp_span text, double *ret)
{
	char copy[TEXT_SIZE] = "";

	if (text.size >= sizeof(copy) || memchr(text.data, '\0', text.size) != NULL)
		return false;
	memcpy(copy, text.data, text.size);
	if (!is_number(copy))
		return false;
	*ret = type == WP_TYPE_FLOAT4 ? (double)strtof(copy, NULL) : strtod(copy, NULL);
	return isfinite(*ret);
}

enum wp_rc wp_render_float(struct wp_buffer *into, enum wp_type type, struct wp_span text,
			   enum wp_render_form form, struct wp_error *error)
{
	struct wp_excerpt shown;
	double number;

	if (wp_span_is(text, "NaN") || wp_span_is(text, "Infinity") ||
	    wp_span_is(text, "-Infinity")) {
		/* Jackson quotes what JSON has no number for. */
		if (form != WP_RENDER_JSON)
			return wp_buffer_append(into, text);
		return wp_buffer_printf(into, "\"%.*s\"", (int)text.size, (const char *)text.data);
	}
	if (!read_number(type, text, &number))
		return wp_error_set(error, WP_DATA, "\"%s\" is not a float%d in Postgres's format",
				    wp_excerpt(&shown, text), type == WP_TYPE_FLOAT4 ? 4 : 8);
	return write_number(into, type, number);
}
