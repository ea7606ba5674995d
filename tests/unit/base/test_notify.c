#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/check.h"
#include "walpost/base/notify.h"

static char path[64];

/* A manager that listens: on a file, or with a leading zero in the abstract namespace. */
static int listen_at(const char *name, size_t size)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	memcpy(address.sun_path, name, size);
	CHECK(fd >= 0);
	CHECK_EQ(bind(fd, (struct sockaddr *)&address,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size)),
		 0);
	return fd;
}

static void check_heard(int fd, const char *wanted)
{
	char text[256] = "";
	ssize_t size = recv(fd, text, sizeof(text) - 1, 0);

	CHECK_EQ(size, (ssize_t)strlen(wanted));
	CHECK_TEXT(text, wanted);
}

static int set_up(void **state)
{
	(void)snprintf(path, sizeof(path), "/tmp/walpost-notify-%ld", (long)getpid());
	(void)unlink(path);
	(void)unsetenv("NOTIFY_SOCKET");
	(void)unsetenv("WATCHDOG_USEC");
	(void)unsetenv("WATCHDOG_PID");
	return 0;
}

static void a_manager_hears_what_it_is_told(void **state)
{
	int fd = listen_at(path, strlen(path));

	(void)setenv("NOTIFY_SOCKET", path, 1);
	CHECK(wp_notify_is_wanted());
	wp_notify("READY=1\nSTATUS=streaming");
	check_heard(fd, "READY=1\nSTATUS=streaming");
	(void)close(fd);
	(void)unlink(path);
}

static void a_manager_in_the_abstract_namespace_too(void **state)
{
	char name[64];
	int size = snprintf(name, sizeof(name), "@walpost-notify-%ld", (long)getpid());

	(void)setenv("NOTIFY_SOCKET", name, 1);
	name[0] = '\0';
	int fd = listen_at(name, (size_t)size);
	wp_notify("WATCHDOG=1");
	check_heard(fd, "WATCHDOG=1");
	(void)close(fd);
}

static void without_a_manager_or_with_one_that_is_gone_nothing_happens(void **state)
{
	CHECK(!wp_notify_is_wanted());
	wp_notify("READY=1");
	(void)setenv("NOTIFY_SOCKET", "", 1);
	CHECK(!wp_notify_is_wanted());
	(void)setenv("NOTIFY_SOCKET", "vsock:1:2", 1);
	CHECK(!wp_notify_is_wanted());
	(void)setenv("NOTIFY_SOCKET", path, 1);
	wp_notify("READY=1");
	char long_path[200];
	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[0] = '/';
	long_path[sizeof(long_path) - 1] = '\0';
	(void)setenv("NOTIFY_SOCKET", long_path, 1);
	wp_notify("READY=1");
}

static void the_watchdog_is_this_process_s_or_nobody_s(void **state)
{
	char own[32];

	CHECK_EQ(wp_notify_watchdog_ms(), 0);
	(void)setenv("WATCHDOG_USEC", "30000000", 1);
	CHECK_EQ(wp_notify_watchdog_ms(), 30000);
	(void)snprintf(own, sizeof(own), "%ld", (long)getpid());
	(void)setenv("WATCHDOG_PID", own, 1);
	CHECK_EQ(wp_notify_watchdog_ms(), 30000);
	(void)setenv("WATCHDOG_PID", "1", 1);
	CHECK_EQ(wp_notify_watchdog_ms(), 0);
	(void)unsetenv("WATCHDOG_PID");
	static const char *const wrong[] = { "", "x", "0", "-5", "3s", "99999999999999999999" };
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		(void)setenv("WATCHDOG_USEC", wrong[i], 1);
		CHECK_EQ(wp_notify_watchdog_ms(), 0);
	}
	(void)setenv("WATCHDOG_USEC", "10", 1);
	CHECK_EQ(wp_notify_watchdog_ms(), 1);
}

int main(void)
{
	return RUN(FRESH(a_manager_hears_what_it_is_told),
		   FRESH(a_manager_in_the_abstract_namespace_too),
		   FRESH(without_a_manager_or_with_one_that_is_gone_nothing_happens),
		   FRESH(the_watchdog_is_this_process_s_or_nobody_s));
}
