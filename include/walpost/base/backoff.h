/*
 * Says how long to wait before the next try: exponential with full jitter on the
 * upper half, reset by success. Pure: randomness is passed in.
 */
#ifndef WALPOST_BASE_BACKOFF_H
#define WALPOST_BASE_BACKOFF_H

#include <stdint.h>

struct wp_backoff {
	int64_t first_ms;
	int64_t max_ms;
	unsigned tries;
};

void wp_backoff_init(struct wp_backoff *b, int64_t first_ms, int64_t max_ms);
void wp_backoff_reset(struct wp_backoff *b);
/* Returns the delay before the next try, in [d/2, d], d = min(first * 2^tries, max). */
int64_t wp_backoff_next(struct wp_backoff *b, uint64_t random);

/* This is splitmix64: seeded randomness for jitter; not for secrets. */
uint64_t wp_random_next(uint64_t *state);

#endif
