/*
 * What lies between us and the server, and what its socket holds. A walsender writes each message
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
#ifndef WALPOST_POSTGRES_SOCKET_TUNING_H
#define WALPOST_POSTGRES_SOCKET_TUNING_H

#include <stdbool.h>

enum wp_socket_tuning {
	WP_SOCKET_LOCAL, /* a Unix socket */
	WP_SOCKET_NEAR,	 /* TCP on one machine; its window was made small */
	WP_SOCKET_FAR,
};

/* The kernel's refusal is no error: then it is far. */
enum wp_socket_tuning wp_socket_tuning_fit(int fd);
/*
 * What we sent was sent again and is not acknowledged. A receive buffer that small segments have
 * filled beyond its size takes no acknowledgement either (seen on Linux 6.18): what we send goes
 * ever more seldom, and the server hears nothing for its timeout. To read some helps.
 */
bool wp_socket_tuning_is_stuck(int fd);

#endif
