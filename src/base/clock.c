#include <time.h>

#include "walpost/base/clock.h"

int64_t wp_clock_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail on Linux */
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}
