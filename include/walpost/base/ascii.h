/*
 * Is it a digit or a letter of ASCII, whatever the locale? Pure.
 */
#ifndef WALPOST_BASE_ASCII_H
#define WALPOST_BASE_ASCII_H

#include <stdbool.h>

static inline bool wp_is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static inline bool wp_is_letter(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

#endif
