/*
 * When will the slot be lost? From samples of safe_wal_size (how many bytes of log may
 * still be written until max_slot_wal_keep_size takes the slot) the guard tells how fast
 * they become fewer, and so how long they last.
 *
 * safe_wal_size is a saw: it falls as the log is written and jumps up when the slot lets go of
 * a segment. So highest points are compared, of the older and the newer half of a window,
 * and falls of less than two segments mean nothing while there is more than that left. A
 * short window sees a flood, a long one what seeps. When the limit itself was lowered, what was
 * seen before says nothing.
 *
 * Pure: time is passed in (monotonic ms). Bounded: two windows of 64 samples.
 */
#ifndef WALPOST_RELAY_WAL_GUARD_H
#define WALPOST_RELAY_WAL_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WP_WAL_GUARD_SAMPLES 64
/* What lasts longer is nothing to be told of. */
#define WP_WAL_GUARD_WARN_BELOW_S (60 * 60)

struct wp_wal_guard_window {
	int64_t span_ms;
	int64_t spacing_ms; /* samples that come sooner are not kept */
	struct {
		int64_t at_ms;
		int64_t size;
	} samples[WP_WAL_GUARD_SAMPLES]; /* a ring */
	size_t first;
	size_t count;
};

struct wp_wal_guard {
	struct wp_wal_guard_window flood;
	struct wp_wal_guard_window seep;
	uint64_t lost_at; /* the position up to which may be written; 0: not known */
	int64_t told_ms;  /* INT64_MIN: not yet */
	bool told_urgent;
};

enum wp_wal_guard_level { WP_WAL_GUARD_FINE, WP_WAL_GUARD_WARN, WP_WAL_GUARD_URGENT };

struct wp_wal_guard_estimate {
	enum wp_wal_guard_level level;
	int64_t left;	 /* bytes */
	int64_t rate;	 /* bytes a second by which they become fewer; 0: they do not */
	int64_t seconds; /* until the slot may be lost; INT64_MAX: not in sight */
};

void wp_wal_guard_init(struct wp_wal_guard *g);
/* Nothing is known any more: unlimited, or another stream. */
void wp_wal_guard_forget(struct wp_wal_guard *g);
/* `server`: how far the log is written; 0: not known. */
struct wp_wal_guard_estimate wp_wal_guard_sample(struct wp_wal_guard *g, int64_t now_ms,
						 int64_t safe_size, uint64_t server);
/* Is this estimate to be told? It is once a minute while it is bad, and when it turns urgent. */
bool wp_wal_guard_tells(struct wp_wal_guard *g, int64_t now_ms,
			const struct wp_wal_guard_estimate *e);

#endif
