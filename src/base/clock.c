#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "walpost/base/clock.h"

enum { YEAR_S = 365 * 24 * 3600 };

static int64_t read_us(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t); /* cannot fail on Linux */
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t wp_clock_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

int64_t wp_clock_wall_ms(void)
{
	return read_us(CLOCK_REALTIME) / 1000;
}

int64_t wp_clock_boot_us(void)
{
	return read_us(CLOCK_BOOTTIME);
}

/* The timer never runs out but by being cancelled (timerfd_create(2)), or in a year, which does
 * no harm. */
static void arm(int fd)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_REALTIME, &now);
	/* After ECANCELED the clock was set just now. The timer is armed all the same, and
	 * readable. */
	(void)timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET,
			      &(struct itimerspec){ .it_value = { .tv_sec = now.tv_sec + YEAR_S } },
			      NULL);
}

int wp_clock_set_fd(void)
{
	int fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);

	if (fd >= 0)
		arm(fd);
	return fd;
}

void wp_clock_set_reset(int fd)
{
	uint64_t expirations;

	(void)!read(fd, &expirations, sizeof(expirations)); /* ECANCELED */
	arm(fd);
}
