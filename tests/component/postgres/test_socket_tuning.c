#include <linux/tcp.h> /* as the code under test */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/check.h"
#include "walpost/postgres_stream/receive_batching.h"

struct pair {
	int ours, theirs;
};

/* Over the loopback, with a round trip behind them. */
static struct pair connect_tcp(void)
{
	struct pair p;
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t size = sizeof(at);
	char byte = 'x';
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_EQ(bind(listener, (struct sockaddr *)&at, size), 0);
	CHECK_EQ(listen(listener, 1), 0);
	CHECK_EQ(getsockname(listener, (struct sockaddr *)&at, &size), 0);
	p.ours = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQ(connect(p.ours, (struct sockaddr *)&at, size), 0);
	p.theirs = accept(listener, NULL, NULL);
	CHECK(p.theirs >= 0);
	CHECK_EQ(write(p.ours, &byte, 1), 1);
	CHECK_EQ(read(p.theirs, &byte, 1), 1);
	CHECK_EQ(write(p.theirs, &byte, 1), 1);
	CHECK_EQ(read(p.ours, &byte, 1), 1);
	(void)close(listener);
	return p;
}

static void disconnect(const struct pair *p)
{
	(void)close(p->ours);
	(void)close(p->theirs);
}

static int receive_buffer(int fd)
{
	int bytes = 0;
	socklen_t size = sizeof(bytes);

	CHECK_EQ(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &size), 0);
	return bytes;
}

static void a_unix_socket_is_local(void **state)
{
	int ends[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	int before = receive_buffer(ends[0]);
	CHECK_EQ(wp_socket_tuning_fit(ends[0]), WP_SOCKET_LOCAL);
	CHECK_EQ(receive_buffer(ends[0]), before);
	CHECK(!wp_socket_tuning_is_stuck(ends[0]));
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/* QEMU passes no more than four bytes of the kernel's answer on. */
static bool tells_round_trips(int fd)
{
	struct tcp_info info;
	socklen_t size = sizeof(info);

	CHECK_EQ(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size), 0);
	return size > offsetof(struct tcp_info, tcpi_min_rtt);
}

/* The kernel doubles what it is told (tcp(7)). */
static void the_window_of_a_near_server_is_made_small(void **state)
{
	struct pair p = connect_tcp();

	if (!tells_round_trips(p.ours)) {
		disconnect(&p);
		print_message("skipped: TCP_INFO is cut short here, as by QEMU\n");
		skip();
	}
	/* On a busy machine even this road is long sometimes. */
	for (int i = 0; i < 100 && wp_socket_tuning_fit(p.ours) != WP_SOCKET_NEAR; i++) {
		disconnect(&p);
		p = connect_tcp();
	}
	CHECK_EQ(wp_socket_tuning_fit(p.ours), WP_SOCKET_NEAR);
	CHECK_EQ(receive_buffer(p.ours), 2 * 96 * 1024);
	CHECK(!wp_socket_tuning_is_stuck(p.ours));
	disconnect(&p);
}

/* The other end does not read: it is slow, but it has acknowledged what arrived. */
static void who_does_not_read_has_still_heard_us(void **state)
{
	char bytes[1000] = { 0 };

	struct pair p = connect_tcp();
	CHECK_EQ(write(p.ours, bytes, sizeof(bytes)), sizeof(bytes));
	CHECK(!wp_socket_tuning_is_stuck(p.ours));
	disconnect(&p);
}

static void what_is_no_socket_is_far_and_not_stuck(void **state)
{
	CHECK_EQ(wp_socket_tuning_fit(-1), WP_SOCKET_FAR);
	CHECK(!wp_socket_tuning_is_stuck(-1));
}

int main(void)
{
	return RUN(PLAIN(a_unix_socket_is_local), PLAIN(the_window_of_a_near_server_is_made_small),
		   PLAIN(who_does_not_read_has_still_heard_us),
		   PLAIN(what_is_no_socket_is_far_and_not_stuck));
}
