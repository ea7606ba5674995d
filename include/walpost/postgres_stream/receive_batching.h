/*
 * How long does what the server sends wait before it is taken? The walsender sends each row by itself. To take each at once
 * makes both sides, and then Kafka's client and broker, pay for a wake-up and a request per row; to wait makes an event
 * late. So the pause grows with the rate: none when little comes, some milliseconds when there is a backlog; but no longer
 * than until a good gulp is there, or the walsender would wait for us.
 *
 * Owns nothing. Pure: time is passed in (monotonic, microseconds).
 */
#ifndef WALPOST_POSTGRES_STREAM_RECEIVE_BATCHING_H
#define WALPOST_POSTGRES_STREAM_RECEIVE_BATCHING_H

#include <stdbool.h>
#include <stdint.h>

enum {
	/* A shorter pause is none: to sleep and to wake cost more than it saves. */
	WP_PACE_PAUSE_MIN_US = 100,
	WP_PACE_PAUSE_MAX_US = 10000,
};

struct wp_receive_batching {
	int64_t rate;	   /* messages a second, smoothed */
	int64_t byte_rate; /* bytes a second, smoothed */
	int64_t taken_us;  /* when they were taken last */
};

void wp_receive_batching_init(struct wp_receive_batching *p, int64_t now_us);
/* Says that all that had come was taken: so many messages, so many bytes. */
void wp_receive_batching_took(struct wp_receive_batching *p, uint64_t messages, uint64_t bytes,
			      int64_t now_us);
/* Returns the time from the beginning of one take to the next, or 0 when what comes is taken at once. */
int64_t wp_receive_batching_pause_us(const struct wp_receive_batching *p, int64_t now_us);

/*
 * This is about what lies between us and the server, and what its socket holds. A walsender writes each message
 * by itself, and what that costs it depends on what becomes of the one before (measured on
 * Linux 6.18, one-row transactions to a reader that throws them away: 54,000 a second when each
 * is a segment of its own, 120,000 when they gather):
 *
 * A Unix socket holds some 160 of them, then the walsender sleeps: it must be emptied often.
 * By TCP each is a segment, whose way the walsender pays for, unless the receive window is full:
 * then they gather in its own send buffer, of megabytes, and go as one. So the window is kept
 * small where the server is on the same machine (a round trip below 60 us); over a network a large
 * window is needed, and it is left alone.
 *
 * Owns nothing; borrows the descriptor of a connected socket.
 */
enum wp_socket_tuning {
	WP_SOCKET_LOCAL, /* a Unix socket */
	WP_SOCKET_NEAR,	 /* TCP on one machine; its window was made small */
	WP_SOCKET_FAR,
};

/* The kernel's refusal is no error: then it is far. */
enum wp_socket_tuning wp_socket_tuning_fit(int fd);
/*
 * Was what we sent sent again, and is it not acknowledged? A receive buffer that small segments have filled
 * beyond its size takes no acknowledgement either (seen on Linux 6.18): what we send goes ever more seldom,
 * and the server hears nothing for its timeout. To read some helps.
 */
bool wp_socket_tuning_is_stuck(int fd);

#endif
