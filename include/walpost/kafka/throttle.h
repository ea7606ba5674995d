/*
 * Do the brokers throttle us, as a quota has them do, and for how long? A throttled answer comes at
 * once, and names the time for which the broker then reads nothing more of that connection: a
 * silence that is no outage (KIP-219).
 *
 * Owns: what it was told. Pure; times are monotonic ms.
 */
#ifndef WALPOST_KAFKA_THROTTLE_H
#define WALPOST_KAFKA_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

struct wp_throttle {
	char broker[256];   /* the last that did */
	int64_t pending_ms; /* told by librdkafka, and not taken yet */
	int64_t longest_ms; /* of this episode */

	uint64_t total_ms; /* all throttle times together */
	int64_t until_ms;  /* then the broker reads again; the episode is over some seconds later */
	int64_t noted_ms;
	bool on;
};

/* An answer of that broker told it; 0 when it throttles no longer. */
void wp_throttle_told(struct wp_throttle *t, const char *broker, int64_t throttle_ms);
/* Takes what was told. Returns true when it is to be logged, once for an episode and then each minute. */
bool wp_throttle_step(struct wp_throttle *t, int64_t now_ms);

#endif
