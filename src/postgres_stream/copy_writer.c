/* Sends the server statuses and the end of the copy, as its socket takes them. */
#include "copy_parts.h"

#include <assert.h>

/* Returns 1 when it was taken, 0 when there is no room, -1 when the connection is lost, as
 * libpq's PQputCopyData() does. */
static int put_next(struct wp_copy *c)
{
	int taken;

	switch (c->output) {
	case WP_OUTPUT_STATUS:
	case WP_OUTPUT_STATUS_AND_END:
		taken = PQputCopyData(c->pg, (const char *)c->pending, WP_STATUS_SIZE);
		if (taken == 1)
			c->output = c->output == WP_OUTPUT_STATUS ? WP_OUTPUT_NONE : WP_OUTPUT_END;
		return taken;
	case WP_OUTPUT_END:
		taken = PQputCopyEnd(c->pg, NULL);
		if (taken == 1)
			c->output = WP_OUTPUT_NONE;
		return taken;
	case WP_OUTPUT_NONE:
		break;
	}
	return 1;
}

/* Nothing new is given to libpq before it got rid of the last status: that bounds its buffer. */
static void flush_pending(struct wp_copy *c)
{
	for (;;) {
		int rest = PQflush(c->pg);
		if (rest > 0)
			break;
		if (rest == 0 && c->output == WP_OUTPUT_NONE) {
			ev_io_stop(c->loop, &c->writable);
			return;
		}
		int taken = rest < 0 ? -1 : put_next(c);
		if (taken < 0) {
			wp_copy_abandon(c);
			return;
		}
		if (taken == 0)
			break;
	}
	wp_copy_take_what_libpq_read(c);
	ev_io_start(c->loop, &c->writable);
}

static void on_copy_writable(struct ev_loop *loop, ev_io *w, int events)
{
	(void)loop, (void)events; /* one watcher, always for writing */
	flush_pending(w->data);
}

enum wp_rc wp_copy_status(struct wp_copy *c, const struct wp_status *status)
{
	assert(c->state == WP_COPY_RUNNING);
	if (!wp_copy_has_frames(c)) /* the server takes no more; next() will tell how it ended */
		return WP_OK;
	wp_status_write(status, c->pending);
	c->output = WP_OUTPUT_STATUS;
	flush_pending(c);
	if (!wp_copy_is_over(c))
		wp_copy_relieve(c);
	/* libpq looks for notices while it writes. */
	if (c->skipped != WP_SKIPPED_NOTHING && !wp_copy_is_over(c))
		wp_copy_fail_skipped(c);
	return c->state == WP_COPY_RUNNING ? WP_OK : WP_IO;
}

void wp_copy_write_end(struct wp_copy *c)
{
	c->output = c->output == WP_OUTPUT_STATUS ? WP_OUTPUT_STATUS_AND_END : WP_OUTPUT_END;
	flush_pending(c);
}

void wp_copy_writer_init(struct wp_copy *c)
{
	ev_io_init(&c->writable, on_copy_writable, PQsocket(c->pg), EV_WRITE);
	c->writable.data = c;
	ev_io_start(c->loop, &c->writable); /* for what PQsendQuery() has left */
}
