#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "walpost/base/notify.h"

bool wp_notify_is_wanted(void)
{
	const char *path = getenv("NOTIFY_SOCKET");

	return path != NULL && (path[0] == '/' || path[0] == '@');
}

/* Returns 0 when there is none that we could reach. */
static socklen_t address_of(struct sockaddr_un *ret)
{
	const char *path = getenv("NOTIFY_SOCKET");

	if (!wp_notify_is_wanted() || strlen(path) >= sizeof(ret->sun_path))
		return 0;
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(ret->sun_path, path, strlen(path));
	if (path[0] == '@')
		ret->sun_path[0] = '\0'; /* of the abstract namespace */
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
}

void wp_notify(const char *lines)
{
	struct sockaddr_un address;
	socklen_t size = address_of(&address);

	if (size == 0)
		return;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	/* Whoever does not listen is not told. */
	(void)!sendto(fd, lines, strlen(lines), MSG_NOSIGNAL, (struct sockaddr *)&address, size);
	(void)close(fd);
}

/* Reads a number of the environment, and nothing else; -1 when it is none. */
static int64_t number_of(const char *name)
{
	const char *text = getenv(name);
	char *end;

	if (text == NULL || text[0] < '0' || text[0] > '9')
		return -1;
	errno = 0;
	long long number = strtoll(text, &end, 10);
	return errno != 0 || *end != '\0' ? -1 : number;
}

int64_t wp_notify_watchdog_ms(void)
{
	int64_t us = number_of("WATCHDOG_USEC");
	int64_t pid = number_of("WATCHDOG_PID");

	if (us <= 0 || (pid >= 0 && pid != getpid()))
		return 0;
	return us < 1000 ? 1 : us / 1000;
}
