/*
 * How Jackson, Java's library, takes the numbers and strings of a JSON text and writes them
 * again. Part of expand. Pure.
 */
#ifndef WALPOST_SRC_ENVELOPE_JACKSON_H
#define WALPOST_SRC_ENVELOPE_JACKSON_H

#include "walpost/base/buffer.h"

/* com.fasterxml.jackson.core.StreamReadConstraints: what is above is not read. */
enum {
	WP_JACKSON_DEPTH_MAX = 1000,
	WP_JACKSON_DIGITS_MAX = 1000, /* of a number: all that stand in it */
};

enum wp_jackson_number {
	WP_JACKSON_INT,
	WP_JACKSON_LONG,
	WP_JACKSON_BIG, /* an integer that 64 bits do not hold */
	WP_JACKSON_DOUBLE,
};

/* Of the text of a number: how many digits stand in it, and as what it is read. */
size_t wp_jackson_digits(struct wp_span number);
enum wp_jackson_number wp_jackson_number_of(struct wp_span number);
/*
 * Appends a number that is an int, a long or a double. A double is what Double.toString() of
 * Java 19 and later gives: the fewest digits from which it comes back (earlier ones sometimes
 * write one more); above the largest double "Infinity", a string.
 */
enum wp_rc wp_jackson_write_number(struct wp_buffer *into, struct wp_span number) WP_MUST_CHECK;

/* Whether a string (with its quotes) would be written letter by letter as it stands. */
bool wp_jackson_is_same(struct wp_span string);
/* Appends a string, quotes and all; half of a surrogate pair is written as its escape. */
enum wp_rc wp_jackson_write_string(struct wp_buffer *into, struct wp_span string) WP_MUST_CHECK;

#endif
