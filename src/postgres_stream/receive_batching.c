#include <linux/tcp.h> /* glibc's has no tcpi_min_rtt */
#include <netinet/in.h>
#include <sys/socket.h>

#include "walpost/postgres_stream/receive_batching.h"

/* Rates are smoothed over so much time. */
#define WINDOW_US 10000
#define SECOND_US INT64_C(1000000)
/*
 * The pause grows with the square of the rate: 2.7 ms at 20,000 messages a second, the most from
 * 39,000 on.
 */
#define RATE_SQUARED_PER_US 150000
#define RATE_MAX 1000000
/*
 * From 500 transactions of one row a second on, what comes gathers for this long at least: at 1,000
 * that is two of them, which wake this thread and Kafka's once. Less saves next to nothing.
 */
#define GATHER_RATE 1500
#define GATHER_US 2000
/*
 * A gulp is what makes Kafka's client and a receive window of ours (below) work well, and is far
 * from what a walsender's send buffer holds.
 */
#define GULP_BYTES INT64_C(400000)
/* More than this is not believed of one take; so that nothing below overflows. */
#define TAKE_MAX INT64_C(100000000)

static int64_t at_least(int64_t value, int64_t least)
{
	return value < least ? least : value;
}

static int64_t at_most(int64_t value, int64_t most)
{
	return value > most ? most : value;
}

void wp_receive_batching_init(struct wp_receive_batching *p, int64_t now_us)
{
	*p = (struct wp_receive_batching){ .taken_us = now_us };
}

static void smooth(int64_t *rate, uint64_t amount, int64_t took_us)
{
	int64_t weight_us = took_us < WINDOW_US ? took_us : WINDOW_US;
	int64_t counted = amount > TAKE_MAX ? TAKE_MAX : (int64_t)amount;

	*rate += (counted * SECOND_US / took_us - *rate) * weight_us / WINDOW_US;
}

void wp_receive_batching_took(struct wp_receive_batching *p, uint64_t messages, uint64_t bytes,
			      int64_t now_us)
{
	int64_t took_us = at_least(now_us - p->taken_us, 1);

	smooth(&p->rate, messages, took_us);
	smooth(&p->byte_rate, bytes, took_us);
	p->taken_us = now_us;
}

int64_t wp_receive_batching_pause_us(const struct wp_receive_batching *p, int64_t now_us)
{
	/* When nothing was taken for a while, what is remembered is less than it was. */
	int64_t since_us = now_us - p->taken_us;
	int64_t rate_now = since_us <= WINDOW_US ? p->rate : p->rate * WINDOW_US / since_us;
	int64_t rate = at_most(rate_now, RATE_MAX);
	int64_t pause_us = rate * rate / RATE_SQUARED_PER_US;
	if (rate >= GATHER_RATE)
		pause_us = at_least(pause_us, GATHER_US);
	int64_t gulp_us = GULP_BYTES * SECOND_US / at_least(p->byte_rate, 1);

	pause_us = at_most(at_most(pause_us, gulp_us), WP_PACE_PAUSE_MAX_US);
	return pause_us < WP_PACE_PAUSE_MIN_US ? 0 : pause_us;
}

/*
 * Half of it is the window (tcp(7), SO_RCVBUF: the kernel doubles it for its bookkeeping), which
 * must not be below a segment: of 64 KiB on a loopback, with less the sender waits for a
 * timer of 200 ms.
 */
#define WINDOW_BYTES (96 * 1024)
/*
 * On one machine, what waits in the sender's buffer is sent while we read, by our own call. Over a
 * network it comes a trip later, when we have read all and pause: a window for each pause.
 */
#define NEAR_US 60

static int address_family_of(int fd)
{
	struct sockaddr_storage address = { 0 };
	socklen_t size = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
		return AF_UNSPEC;
	return address.ss_family;
}

static bool read_tcp_info(int fd, struct tcp_info *ret)
{
	socklen_t size = sizeof(*ret);

	*ret = (struct tcp_info){ 0 };
	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, ret, &size) == 0;
}

/* The least round trip counts: an answer that took the server long was acknowledged late. 0
 * means that it is not known. */
static bool is_near(int fd)
{
	struct tcp_info info;

	return read_tcp_info(fd, &info) && info.tcpi_min_rtt > 0 && info.tcpi_min_rtt < NEAR_US;
}

enum wp_socket_tuning wp_socket_tuning_fit(int fd)
{
	int bytes = WINDOW_BYTES;

	if (address_family_of(fd) == AF_UNIX)
		return WP_SOCKET_LOCAL;
	if (is_near(fd) && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)) == 0)
		return WP_SOCKET_NEAR;
	return WP_SOCKET_FAR;
}

bool wp_socket_tuning_is_stuck(int fd)
{
	struct tcp_info info;

	return read_tcp_info(fd, &info) && info.tcpi_unacked > 0 && info.tcpi_retransmits > 0;
}
