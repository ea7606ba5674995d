/* Seeds of a property: all of them, or the one given as --seed N. */
#ifndef WALPOST_TESTS_PROPERTY_SEEDS_H
#define WALPOST_TESTS_PROPERTY_SEEDS_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/backoff.h"

struct seeds {
	uint64_t first;
	uint64_t count;
};

static inline bool seeds_read(struct seeds *seeds, int argc, char **argv)
{
	if (argc == 1)
		return true;
	if (argc != 3 || strcmp(argv[1], "--seed") != 0)
		return false;
	*seeds = (struct seeds){ .first = strtoull(argv[2], NULL, 10), .count = 1 };
	return true;
}

/* The state of a random row of its own for each seed. */
static inline uint64_t seeds_start(uint64_t seed)
{
	return seed * 0x9E3779B97F4A7C15u + 1;
}

#endif
