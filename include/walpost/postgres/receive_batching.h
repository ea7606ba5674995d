/*
 * How long does what the server sends wait before it is taken? The walsender sends each row by
 * itself. To take each at once makes both sides, and then Kafka's client and broker, pay for a
 * wake-up and a request per row; to wait makes an event late. So the pause grows with the rate:
 * none when little comes, some milliseconds when there is a backlog; but no longer
 * than until a good gulp is there, or the walsender would wait for us.
 *
 * Owns nothing. Pure: time is passed in (monotonic, microseconds).
 */
#ifndef WALPOST_POSTGRES_RECEIVE_BATCHING_H
#define WALPOST_POSTGRES_RECEIVE_BATCHING_H

#include <stdint.h>

enum {
	/* A shorter one is none: to sleep and to wake cost more than it saves. */
	WP_PACE_PAUSE_MIN_US = 100,
	WP_PACE_PAUSE_MAX_US = 10000,
};

struct wp_receive_batching {
	int64_t rate;	   /* messages a second, smoothed */
	int64_t byte_rate; /* bytes a second, smoothed */
	int64_t taken_us;  /* when they were taken last */
};

void wp_receive_batching_init(struct wp_receive_batching *p, int64_t now_us);
/* All that had come was taken: so many messages, so many bytes. */
void wp_receive_batching_took(struct wp_receive_batching *p, uint64_t messages, uint64_t bytes,
			      int64_t now_us);
/* From the beginning of one take to the next, or 0: what comes is taken at once. */
int64_t wp_receive_batching_pause_us(const struct wp_receive_batching *p, int64_t now_us);

#endif
