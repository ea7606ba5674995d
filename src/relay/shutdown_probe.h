/*
 * Does the server want to stop, without our hearing of it? The pings of a stopping server go
 * unread while we are not at the end of what it sent, and our own statuses keep its timeout from
 * helping. So it is asked on the side.
 *
 * Pure: time is passed in (monotonic ms).
 */
#ifndef WALPOST_SRC_RELAY_SHUTDOWN_PROBE_H
#define WALPOST_SRC_RELAY_SHUTDOWN_PROBE_H

#include "walpost/relay/machine.h"
#include "walpost/source/source.h"

struct wp_shutdown_probe {
	int64_t begun_ms;  /* the stream */
	int64_t quiet_ms;  /* when we last were at the end of what the server had sent */
	int64_t paused_ms; /* when we last did not read */
	int64_t asked_ms;
};

enum wp_probe_step {
	WP_PROBE_DO_NOTHING,
	WP_PROBE_ASK,
	WP_PROBE_LET_GO, /* it stops */
	WP_PROBE_LOST,	 /* nobody answers */
};

/* A stream begins. */
void wp_shutdown_probe_begin(struct wp_shutdown_probe *p, int64_t now_ms);
void wp_shutdown_probe_not_reading(struct wp_shutdown_probe *p, int64_t now_ms);
/* A keepalive: the server had nothing more to send. */
void wp_shutdown_probe_at_end(struct wp_shutdown_probe *p, int64_t now_ms);
/* Nothing is there to be read. */
void wp_shutdown_probe_found_nothing(struct wp_shutdown_probe *p, int64_t now_ms);
/* `behind`: while streaming, the server has sent less than it had when it was asked last. */
enum wp_probe_step wp_shutdown_probe_step(struct wp_shutdown_probe *p, enum wp_state state,
					  const struct wp_source_view *v, bool behind,
					  int64_t now_ms);
int64_t wp_shutdown_probe_due(const struct wp_shutdown_probe *p, enum wp_state state,
			      const struct wp_source_view *v);

#endif
