#include "stream_renewal.h"

enum {
	FROM_BYTES = 8 * 1024 * 1024,
	AFTER_MS = 5 * 1000,
	EVERY_MS = 60 * 1000,
	RETAINED_MAX = 512 * 1024 * 1024,
};

void wp_stream_renewal_renewed(struct wp_stream_renewal *r, int64_t now_ms)
{
	r->renewed_ms = now_ms;
	r->count++;
}

int64_t wp_stream_renewal_due(const struct wp_stream_renewal *r, int64_t retained)
{
	int64_t due_ms = r->busy_ms + AFTER_MS;
	int64_t again_ms = r->renewed_ms + EVERY_MS;

	/* A new stream is decoded from restart_lsn on, which takes a server its time. */
	if (r->largest_frame < FROM_BYTES || retained > RETAINED_MAX)
		return INT64_MAX;
	return r->count > 0 && again_ms > due_ms ? again_ms : due_ms;
}
