/*
 * How long does what the server sends wait before it is taken? The walsender sends each row by
 * itself. To take each at once makes both sides, and then Kafka's client and broker, pay for a
 * wake-up and a request per row; to wait makes an event late. So the pause grows with the rate:
 * next to nothing when little comes, some milliseconds when there is a backlog.
 *
 * Owns nothing. Pure: time is passed in (monotonic, microseconds).
 */
#ifndef WALPOST_POSTGRES_PACE_H
#define WALPOST_POSTGRES_PACE_H

#include <stdint.h>

enum {
	/* A transaction's first message is not alone for long. */
	WP_PACE_PAUSE_MIN_US = 50,
	WP_PACE_PAUSE_MAX_US = 10000,
};

struct wp_pace {
	int64_t rate;	  /* messages a second, smoothed */
	int64_t taken_us; /* when they were taken last */
};

void wp_pace_init(struct wp_pace *p, int64_t now_us);
/* All that had come was taken: so many messages. */
void wp_pace_took(struct wp_pace *p, uint64_t messages, int64_t now_us);
/* More has come now: how long until it should be taken? */
int64_t wp_pace_pause_us(const struct wp_pace *p, int64_t now_us);
/*
 * In a longer pause the socket is to be emptied this often, for a full one stops the
 * walsender, and a Unix socket is full with some 200 messages.
 */
int64_t wp_pace_sip_us(const struct wp_pace *p);

#endif
