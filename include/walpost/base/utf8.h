/*
 * Says what is UTF-8: shortest forms only, no surrogates, nothing above U+10FFFF (Unicode 15, table 3-7).
 * Pure.
 */
#ifndef WALPOST_BASE_UTF8_H
#define WALPOST_BASE_UTF8_H

#include "walpost/base/span.h"

enum { WP_UTF8_SIZE_MAX = 4 };

/* Counts the bytes of the character at `at`, of which `left` (1 or more) are there; 0 when it is none. */
size_t wp_utf8_size(const uint8_t *at, size_t left);
/* Returns the character itself; `at` is of a size that wp_utf8_size() gave. */
uint32_t wp_utf8_character(const uint8_t *at, size_t size);
/* Writes the character, which is no surrogate, and tells of how many bytes it is. */
size_t wp_utf8_encode(uint32_t character, uint8_t bytes[WP_UTF8_SIZE_MAX]);
/* A NUL is a character too. */
bool wp_utf8_is_valid(struct wp_span text);

/* A text that was cut behind `size` bytes may end inside a character: takes its bytes back. */
void wp_utf8_cut(char *text, size_t size);

#endif
