/*
 * When is the next try due, and when is none of use any more? After a connection that was lost,
 * after a sink that was begun anew, after a server that wants to stop, and between two questions
 * about a slot that another has.
 *
 * All times are monotonic milliseconds. Owns: its randomness. Pure: time is passed in.
 */
#ifndef WALPOST_SRC_RELAY_RETRY_H
#define WALPOST_SRC_RELAY_RETRY_H

#include <stdbool.h>
#include <stddef.h>

#include "walpost/base/backoff.h"
#include "walpost/wal/lsn.h"

struct wp_retry {
	struct wp_backoff connect;
	struct wp_backoff rewind;
	int64_t away_until_ms; /* no connection before: the server was let go */
	uint64_t random;
	uint64_t reconnects; /* so far; tries to connect are none */
	uint64_t rewinds;
};

void wp_retry_init(struct wp_retry *r, uint64_t seed);
int64_t wp_retry_after_loss(struct wp_retry *r, int64_t now_ms);
int64_t wp_retry_after_rewind(struct wp_retry *r, int64_t now_ms);
/* The wait is long enough for a server to stop, or to be promoted. */
int64_t wp_retry_stay_away(struct wp_retry *r, int64_t now_ms);
/* Returns when a standby asks again. */
int64_t wp_retry_refresh(struct wp_retry *r, int64_t now_ms);

/* Counts how often the same trouble came at the same place. */
struct wp_repeated_trouble {
	char code[40];
	wp_lsn at;
	size_t count; /* without getting past `at` */
};
/* The trouble came; returns true when it has come `max` times. */
bool wp_retry_is_useless(struct wp_repeated_trouble *t, const char *code, wp_lsn at, size_t max);

#endif
