/*
 * When has the stream's connection grown so large that a new one is worth its while? What libpq
 * once had to hold for a huge row, it keeps room for until its connection ends.
 *
 * Pure: time is passed in (monotonic ms).
 */
#ifndef WALPOST_SRC_RELAY_STREAM_RENEWAL_H
#define WALPOST_SRC_RELAY_STREAM_RENEWAL_H

#include <stddef.h>
#include <stdint.h>

struct wp_stream_renewal {
	size_t largest_frame; /* of this stream */
	int64_t busy_ms;      /* when an event was sent, or a larger frame came, last */
	int64_t renewed_ms;   /* last, if it was */
	uint64_t count;	      /* of renewals so far */
};

/* A frame of that size came. This is in line, for there are many. */
static inline void wp_stream_renewal_came(struct wp_stream_renewal *r, size_t size, int64_t now_ms)
{
	if (size <= r->largest_frame)
		return;
	r->largest_frame = size;
	r->busy_ms = now_ms;
}
/* An event was sent. */
static inline void wp_stream_renewal_sent(struct wp_stream_renewal *r, int64_t now_ms)
{
	r->busy_ms = now_ms;
}
void wp_stream_renewal_renewed(struct wp_stream_renewal *r, int64_t now_ms);
/* Returns when a renewal is due, once it is quiet. `retained`: bytes of log from restart_lsn on; -1: not known. */
int64_t wp_stream_renewal_due(const struct wp_stream_renewal *r, int64_t retained);

#endif
