#include <assert.h>

#include "walpost/base/backoff.h"

void wp_backoff_init(struct wp_backoff *b, int64_t first_ms, int64_t max_ms)
{
	assert(first_ms > 0);
	assert(max_ms >= first_ms);
	*b = (struct wp_backoff){ .first_ms = first_ms, .max_ms = max_ms };
}

void wp_backoff_reset(struct wp_backoff *b)
{
	b->tries = 0;
}

int64_t wp_backoff_next(struct wp_backoff *b, uint64_t random)
{
	int64_t delay_ms = b->first_ms;

	for (unsigned i = 0; i < b->tries && delay_ms < b->max_ms; i++)
		delay_ms = delay_ms > b->max_ms / 2 ? b->max_ms : delay_ms * 2;
	/* More doublings than an int64_t has bits change nothing. */
	if (b->tries < 64)
		b->tries++;

	int64_t half_ms = delay_ms / 2;
	uint64_t choices = (uint64_t)(delay_ms - half_ms) + 1;
	return half_ms + (int64_t)(random % choices);
}

uint64_t wp_random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15u;

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}
