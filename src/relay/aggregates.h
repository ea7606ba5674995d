/*
 * Which aggregates are parked, by outbox and key? And how many events do all of them have, since when, for
 * which reasons, and when is the first due? What becomes of them is parking's.
 *
 * Owns: the aggregates, until drop() or clear(). Pure; time is passed
 * in (monotonic ms). Bounded: by its user.
 */
#ifndef WALPOST_SRC_RELAY_AGGREGATES_H
#define WALPOST_SRC_RELAY_AGGREGATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "walpost/base/error.h"
#include "walpost/relay/parking_figures.h"
#include "walpost/wal/position.h"

struct wp_aggregate {
	struct wp_aggregate *next; /* of its bucket */
	uint64_t hash;
	struct wp_span outbox;	     /* behind the key */
	struct wp_position position; /* of its first event, as far as is known */
	uint64_t events;	 /* in the table, or on their way to it; corrected by each load */
	uint64_t fresh;		 /* of these put since its rows were loaded */
	uint64_t credit;	 /* while it is being sent: two let one event in */
	struct wp_position sent; /* its event that was delivered last */
	uint64_t delivered;	 /* since it was parked, or loaded */
	wp_lsn last_lsn;	 /* the transaction of its event that was parked last */
	int64_t due_ms;		 /* INT64_MAX: never by itself */
	int64_t since_ms;	 /* its oldest was parked */
	int64_t moved_ms;	 /* its last was confirmed */
	uint64_t round;		 /* that it was chosen for last; 0: none of this stream */
	unsigned code;
	bool alone;   /* its first event is to be sent while nothing else is in flight */
	bool sending; /* its first event was confirmed: the rest follows */
	bool has_key;
	size_t key_size;
	uint8_t key[];
};

struct wp_aggregates {
	struct wp_aggregate **buckets; /* owned, with what they hold */
	size_t bucket_count;
	size_t count;
	uint64_t events;
	int64_t due_ms;	   /* the earliest of all, or earlier; INT64_MAX: never */
	int64_t since_ms;  /* the oldest of all; INT64_MAX: none */
	bool is_since_old; /* that is gone: to be found by tick() */
	int64_t since_found_ms;
	struct wp_parking_code codes[WP_PARKING_CODES_MAX]; /* of their first events */
	size_t code_count;
};

enum wp_rc wp_aggregates_init(struct wp_aggregates *set) WP_MUST_CHECK;
void wp_aggregates_clear(struct wp_aggregates *set);
void wp_aggregates_release(struct wp_aggregates *set);
/* With a call in each turn, the set's `since_ms` is right within a second. */
void wp_aggregates_tick(struct wp_aggregates *set, int64_t now_ms);

/* An event without a key is an aggregate of its own, by its position. NULL: it is not parked. */
struct wp_aggregate *wp_aggregates_find(const struct wp_aggregates *set, struct wp_span outbox,
					struct wp_span key, const struct wp_position *position);
bool wp_aggregate_is(const struct wp_aggregate *a, struct wp_span outbox, struct wp_span key,
		     const struct wp_position *position);
/* Adds an aggregate that is not there yet, without a code. `outbox` and `key` are copied. NULL: no memory. */
struct wp_aggregate *wp_aggregates_add(struct wp_aggregates *set, struct wp_span outbox,
				       struct wp_span key, const struct wp_position *position);
void wp_aggregates_drop(struct wp_aggregates *set, struct wp_aggregate *a);

/* Gives the aggregate its first code (`is_new`), or another one. */
void wp_aggregates_set_code(struct wp_aggregates *set, struct wp_aggregate *a, struct wp_span code,
			    bool is_new);
void wp_aggregates_count(struct wp_aggregates *set, struct wp_aggregate *a, uint64_t events);
void wp_aggregates_set_due(struct wp_aggregates *set, struct wp_aggregate *a, int64_t due_ms);
void wp_aggregates_set_since(struct wp_aggregates *set, struct wp_aggregate *a, int64_t since_ms);

#endif
