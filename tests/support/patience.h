/*
 * How long a test waits for what is to happen at all. On a busy machine a deadline is stretched, as in
 * lib/waiting.py; where the time is the promise, the test is among those of RUN_ALONE().
 */
#ifndef WALPOST_TESTS_PATIENCE_H
#define WALPOST_TESTS_PATIENCE_H

#include <stdbool.h>
#include <stdlib.h>
#include <sys/sysinfo.h>

#include "support/check.h"

/* By how much a deadline is stretched now: WALPOST_PATIENCE, or how many processes want each core. */
static inline double patience(void)
{
	const char *wanted = getenv("WALPOST_PATIENCE");
	double load = 0;

	if (wanted != NULL)
		return strtod(wanted, NULL);
	if (getloadavg(&load, 1) != 1)
		return 1;
	load /= get_nprocs();
	return load < 1 ? 1 : load > 4 ? 4 : load;
}

/* Has it taken longer than it may? */
static inline bool is_late(double took, double limit)
{
	return took > limit && took > limit * patience();
}

/* The runner tries a test once more, alone, that failed by these words (lib/second_try.py). */
#define CHECK_IN_TIME(took_, limit_)                                                     \
	do {                                                                             \
		if (is_late((double)(took_), (double)(limit_)))                          \
			fail_msg("too late: %s took longer than %s", __func__, #limit_); \
	} while (0)
#define FAIL_LATE(what_) fail_msg("too late: waited in vain until %s", (what_))

/* Of a program that has tests of both kinds: is it to run those that want the machine for themselves? */
static inline bool runs_alone(void)
{
	return getenv("WALPOST_TEST_ALONE") != NULL;
}

#endif
