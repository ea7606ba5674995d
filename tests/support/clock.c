/*
 * Preloaded together with libfaketime, which steps the wall clock that a program reads but does not
 * know glibc's cnd_timedwait(): librdkafka would compute a deadline on the stepped clock and wait
 * for it on the kernel's, so that after a step back each wait ended at once. Here the wait takes as
 * long as was asked for at the clock that was read.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <threads.h>
#include <time.h>

#define SECOND_NS 1000000000LL

static int64_t ns_of(const struct timespec *t)
{
	return (int64_t)t->tv_sec * SECOND_NS + t->tv_nsec;
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return ns_of(&now);
}

/* glibc's C11 conditions and mutexes are its POSIX ones. */
int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex,
		  const struct timespec *restrict deadline)
{
	int64_t left = ns_of(deadline) - now_ns(CLOCK_REALTIME);
	int64_t until = now_ns(CLOCK_MONOTONIC) + (left > 0 ? left : 0);
	struct timespec then = { .tv_sec = until / SECOND_NS, .tv_nsec = until % SECOND_NS };

	switch (pthread_cond_clockwait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex,
				       CLOCK_MONOTONIC, &then)) {
	case 0:
		return thrd_success;
	case ETIMEDOUT:
		return thrd_timedout;
	default:
		return thrd_error;
	}
}
