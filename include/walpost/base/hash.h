/*
 * This is FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv): for short names, which nobody gains by
 * making collide. Pure.
 */
#ifndef WALPOST_BASE_HASH_H
#define WALPOST_BASE_HASH_H

#include <stdint.h>

#include "walpost/base/span.h"

#define WP_HASH_BEGIN UINT64_C(0xcbf29ce484222325)
#define WP_HASH_PRIME UINT64_C(0x100000001b3)

/* Hashes what was hashed before, and these bytes; with WP_HASH_BEGIN nothing was. */
static inline uint64_t wp_hash(uint64_t before, struct wp_span bytes)
{
	for (size_t i = 0; i < bytes.size; i++)
		before = (before ^ bytes.data[i]) * WP_HASH_PRIME;
	return before;
}

#endif
