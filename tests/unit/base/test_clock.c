#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "support/check.h"
#include "walpost/base/clock.h"

static void the_clock_since_boot_is_not_behind_the_monotonic_one(void **state)
{
	int64_t monotonic_us = wp_clock_us();

	CHECK(wp_clock_boot_us() >= monotonic_us);
}

/* That it is readable when it is set cannot be tried without setting it. */
static void a_clock_that_nobody_sets_is_quiet(void **state)
{
	int fd = wp_clock_set_fd();
	struct pollfd p = { .fd = fd, .events = POLLIN };

	CHECK(fd >= 0);
	CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
	CHECK_EQ(poll(&p, 1, 0), 0);
	wp_clock_set_reset(fd);
	CHECK_EQ(poll(&p, 1, 0), 0);
	CHECK_EQ(close(fd), 0);
}

int main(void)
{
	return RUN(PLAIN(the_clock_since_boot_is_not_behind_the_monotonic_one),
		   PLAIN(a_clock_that_nobody_sets_is_quiet));
}
