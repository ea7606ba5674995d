/*
 * A decimal number as Postgres prints a numeric, and its unscaled value as Java's BigInteger
 * writes it: what stands without the point, big-endian, two's complement, as short as can be.
 * Part of render. Borrows the text. Pure.
 * Bounded: WP_DECIMAL_DIGITS_MAX digits, whose conversion takes a tenth of a second.
 */
#ifndef WALPOST_SRC_VALUES_DECIMAL_H
#define WALPOST_SRC_VALUES_DECIMAL_H

#include "walpost/base/buffer.h"

/* NUMERIC_MAX_PRECISION before the point of a numeric and 16,383 behind it (its documentation). */
enum { WP_DECIMAL_DIGITS_MAX = 131072 + 16383 };

struct wp_decimal {
	bool is_negative;	 /* never of zero */
	struct wp_span whole;	 /* digits before the point, without zeros at the front */
	struct wp_span fraction; /* digits behind the point */
	size_t zeros;		 /* that follow them */
};

/* False: no such number, or more digits than the bound. */
bool wp_decimal_read(struct wp_span text, struct wp_decimal *ret);
/* Exactly `scale` digits behind the point. False: it has more that are not zero. */
bool wp_decimal_set_scale(struct wp_decimal *d, size_t scale);
/* No zeros at the end of the digits behind the point. */
void wp_decimal_strip(struct wp_decimal *d);
size_t wp_decimal_scale(const struct wp_decimal *d);
/* Digits of the unscaled value, without zeros at the front; 0 for zero. */
size_t wp_decimal_size(const struct wp_decimal *d);
/* Appends those from the one at `from` on; a zero for each beyond the last. WP_FULL, WP_NOMEM. */
enum wp_rc wp_decimal_write_digits(struct wp_buffer *into, const struct wp_decimal *d, size_t from,
				   size_t count) WP_MUST_CHECK;
/* Appends the unscaled value in base64. WP_FULL, WP_NOMEM. */
enum wp_rc wp_decimal_write_base64(struct wp_buffer *into,
				   const struct wp_decimal *d) WP_MUST_CHECK;

#endif
