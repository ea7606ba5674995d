/*
 * What a hexadecimal digit stands for. Pure.
 */
#ifndef WALPOST_BASE_HEX_H
#define WALPOST_BASE_HEX_H

#include <stdint.h>

/* 0 to 15, of either case; -1: it is none. For each byte of a bytea: here to be inlined. */
static inline int wp_hex_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
