#include <linux/tcp.h> /* glibc's has no tcpi_min_rtt */
#include <netinet/in.h>
#include <sys/socket.h>

#include "walpost/postgres/socket_tuning.h"

/*
 * Half of it is the window (tcp(7), SO_RCVBUF: the kernel doubles it for its bookkeeping), which
 * must not be below a segment: of 64 KiB on a loopback, with less the sender waits for a
 * timer of 200 ms.
 */
#define WINDOW_BYTES (96 * 1024)
/*
 * On one machine what waits in the sender's buffer is sent while we read, by our own call. Over a
 * network it comes a trip later, when we have read all and pause: a window for each pause.
 */
#define NEAR_US 60

static int family_of(int fd)
{
	struct sockaddr_storage address = { 0 };
	socklen_t size = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
		return AF_UNSPEC;
	return address.ss_family;
}

static bool ask(int fd, struct tcp_info *ret)
{
	socklen_t size = sizeof(*ret);

	*ret = (struct tcp_info){ 0 };
	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, ret, &size) == 0;
}

/* The least counts: an answer that took the server long was acknowledged late. 0: not known. */
static bool is_near(int fd)
{
	struct tcp_info info;

	return ask(fd, &info) && info.tcpi_min_rtt > 0 && info.tcpi_min_rtt < NEAR_US;
}

enum wp_socket_tuning wp_socket_tuning_fit(int fd)
{
	int bytes = WINDOW_BYTES;

	if (family_of(fd) == AF_UNIX)
		return WP_SOCKET_LOCAL;
	if (is_near(fd) && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)) == 0)
		return WP_SOCKET_NEAR;
	return WP_SOCKET_FAR;
}

bool wp_socket_tuning_is_stuck(int fd)
{
	struct tcp_info info;

	return ask(fd, &info) && info.tcpi_unacked > 0 && info.tcpi_retransmits > 0;
}
