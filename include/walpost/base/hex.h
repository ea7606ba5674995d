/*
 * Says what hexadecimal digits stand for. Pure.
 */
#ifndef WALPOST_BASE_HEX_H
#define WALPOST_BASE_HEX_H

#include <stdint.h>

/* Returns 0 to 15, of either case; -1 when it is none. It is here to be inlined, for each byte of a bytea. */
static inline int wp_hex_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns the unit of UTF-16 that four hexadecimal digits stand for, as JSON has them behind \u: they must
 * be digits. */
static inline uint32_t wp_hex_unit(const uint8_t *digits)
{
	uint32_t unit = 0;

	for (int i = 0; i < 4; i++)
		unit = unit << 4 | (uint32_t)wp_hex_value(digits[i]);
	return unit;
}

#endif
