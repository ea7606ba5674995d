/*
 * float4 and float8 as Postgres prints them, and as Java does. Both look for a decimal that reads
 * back as the same number: of those with the fewest digits the nearest, of two as near the one
 * whose last digit is even. They differ in the fewest digits that they print, and in decimals that
 * lie exactly between two numbers: to Java such a one stands for the number that strtod() reads it
 * as, Postgres never takes it (Ryu, d2s.c and f2s.c). So 5e-324 and 9.999999999999999e+22 of
 * Postgres are 4.9E-324 and 1.0E23 to Java (Double.toString() since JDK 19; its documentation
 * states the rules).
 *
 * printf() and strtod() are exact in glibc. walpost does not call setlocale(), so that the locale
 * is C always, and the point is '.'.
 */
#include <assert.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/display.h"
#include "walpost/base/wire.h"

#include "print.h"
#include "render_parts.h"

#define TEXT_SIZE 64
#define DIGITS_MAX 17

/* These are IEEE 754's two formats that Postgres has. */
struct format {
	enum wp_type type;
	int bits;	   /* of a mantissa */
	int digits;	   /* of decimals with so many, at most one reads as a given number ... */
	double normal_min; /* ... from here on; below, numbers lie farther apart */
};

static const struct format float4 = { WP_TYPE_FLOAT4, FLT_MANT_DIG, FLT_DIG, FLT_MIN };
static const struct format float8 = { WP_TYPE_FLOAT8, DBL_MANT_DIG, DBL_DIG, DBL_MIN };

struct rules {
	int digits_min;
	bool takes_halfway; /* a decimal exactly between two numbers */
	int plain_min;	    /* exponents from here on are not written ... */
	int plain_end;	    /* ... up to this one; 0: the format's digits */
	const char *whole;  /* stands behind digits without a fraction */
	const char *mark;   /* of an exponent */
	const char *plus;
	int exponent_digits_min;
};

static const struct rules postgres = { 1, false, -4, 0, "", "e", "+", 2 };
static const struct rules java = { 2, true, -3, 7, ".0", "E", "", 1 };

struct decimal {
	char digits[DIGITS_MAX + 1];
	int count;
	int exponent; /* of the first digit */
};

static double read_as(enum wp_type type, const char *text)
{
	return type == WP_TYPE_FLOAT4 ? (double)strtof(text, NULL) : strtod(text, NULL);
}

/* What lies in the middle has one bit more than a mantissa. Nothing does among subnormal ones. */
static bool is_halfway(uint64_t digits, int exponent, const struct format *f)
{
	for (; exponent < 0 && digits % 5 == 0; exponent++)
		digits /= 5;
	while (digits % 2 == 0)
		digits /= 2;
	for (; exponent > 0 && digits >> f->bits == 0; exponent--)
		digits *= 5;
	return exponent == 0 && digits >> f->bits == 1;
}

/* Is digits * 10^exponent read as `number`? */
static bool stands_for(double number, uint64_t digits, int exponent, const struct format *f,
		       const struct rules *r)
{
	char text[TEXT_SIZE];

	(void)snprintf(text, sizeof(text), "%" PRIu64 "e%d", digits, exponent);
	return read_as(f->type, text) == number &&
	       (r->takes_halfway || !is_halfway(digits, exponent, f));
}

static struct decimal shortest(double number, const struct format *f, const struct rules *r)
{
	struct decimal d = { .digits = "0", .count = 1 };
	int count = number < f->normal_min ? r->digits_min : f->digits;
	uint64_t digits;
	int exponent;

	if (number == 0)
		return d;
	for (;; count++) {
		char text[TEXT_SIZE];
		char *end;
		assert(count <= DIGITS_MAX);
		(void)snprintf(text, sizeof(text), "%#.*e", count - 1, number);
		text[1] = text[0]; /* over the point */
		digits = strtoull(text + 1, &end, 10);
		exponent = (int)strtol(end + 1, NULL, 10) - (count - 1);
		/* Below a power of two numbers lie closer: the decimal above may do alone. */
		if (stands_for(number, digits, exponent, f, r) ||
		    stands_for(number, ++digits, exponent, f, r))
			break;
	}
	for (; digits % 10 == 0; digits /= 10)
		exponent++;
	d.count = snprintf(d.digits, sizeof(d.digits), "%" PRIu64, digits);
	d.exponent = exponent + d.count - 1;
	return d;
}

static void print_shortest(double number, const struct format *f, const struct rules *r,
			   char text[TEXT_SIZE])
{
	struct decimal d = shortest(fabs(number), f, r);
	const char *sign = signbit(number) ? "-" : "";
	int plain_end = r->plain_end > 0 ? r->plain_end : f->digits;
	int whole = d.exponent + 1;

	if (d.exponent < r->plain_min || d.exponent >= plain_end)
		(void)snprintf(text, TEXT_SIZE, "%s%c%s%s%s%s%0*d", sign, d.digits[0],
			       d.count > 1 ? "." : r->whole, d.digits + 1, r->mark,
			       d.exponent < 0 ? "-" : r->plus, r->exponent_digits_min,
			       abs(d.exponent));
	else if (whole <= 0)
		(void)snprintf(text, TEXT_SIZE, "%s0.%.*s%s", sign, -whole, "000", d.digits);
	else if (whole < d.count)
		(void)snprintf(text, TEXT_SIZE, "%s%.*s.%s", sign, whole, d.digits,
			       d.digits + whole);
	else
		(void)snprintf(text, TEXT_SIZE, "%s%s%.*s%s", sign, d.digits, whole - d.count,
			       "00000000000000", r->whole);
}

/* float4send, float8send give the bits; float4out, float8out print, extra_float_digits = 3. */
enum wp_rc wp_print_float(enum wp_type type, struct wp_span value, struct wp_buffer *texts)
{
	const struct format *f = type == WP_TYPE_FLOAT4 ? &float4 : &float8;
	char text[TEXT_SIZE];
	struct wp_wire w;
	double number;
	float single;

	wp_wire_init(&w, value);
	uint64_t bits = type == WP_TYPE_FLOAT4 ? wp_wire_u32(&w) : wp_wire_u64(&w);
	if (wp_wire_end(&w) != WP_OK)
		return WP_CONFIG;
	uint32_t single_bits = (uint32_t)bits;
	memcpy(&single, &single_bits, sizeof(single));
	memcpy(&number, &bits, sizeof(number));
	if (type == WP_TYPE_FLOAT4)
		number = (double)single;
	if (isnan(number)) {
		wp_print_text(texts, "NaN");
	} else if (isinf(number)) {
		wp_print_text(texts, number < 0 ? "-Infinity" : "Infinity");
	} else {
		print_shortest(number, f, &postgres, text);
		wp_print_text(texts, text);
	}
	return WP_OK;
}

/* Is it ["-"] digits ["." digits] ["e" ["-" / "+"] digits]? strtod() would take much more. */
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
static bool read_float(enum wp_type type, struct wp_span text, double *ret)
{
	char copy[TEXT_SIZE] = "";

	if (text.size >= sizeof(copy) || memchr(text.data, '\0', text.size) != NULL)
		return false;
	memcpy(copy, text.data, text.size);
	if (!is_number(copy))
		return false;
	*ret = read_as(type, copy);
	return isfinite(*ret);
}

enum wp_rc wp_render_float(struct wp_buffer *into, enum wp_type type, struct wp_span text,
			   enum wp_render_form form, struct wp_error *error)
{
	char printed[TEXT_SIZE];
	struct wp_excerpt shown;
	double number;

	if (wp_span_is(text, "NaN") || wp_span_is(text, "Infinity") ||
	    wp_span_is(text, "-Infinity")) {
		/* Jackson quotes what JSON has no number for. */
		if (form != WP_RENDER_JSON)
			return wp_buffer_append(into, text);
		return wp_buffer_printf(into, "\"%.*s\"", (int)text.size, (const char *)text.data);
	}
	if (!read_float(type, text, &number))
		return wp_error_set(error, WP_DATA, "\"%s\" is not a float%d in Postgres's format",
				    wp_excerpt(&shown, text), type == WP_TYPE_FLOAT4 ? 4 : 8);
	print_shortest(number, type == WP_TYPE_FLOAT4 ? &float4 : &float8, &java, printed);
	return wp_buffer_append_text(into, printed);
}
