/*
 * Is it alive, is it ready? It is judged by progress and by our own monotonic clock, never by the
 * time of a commit.
 *
 * Live: the relay takes its turns. A process that does not is cured by a new one; one that
 * waits for Postgres, Kafka or a human is not, and so it is live.
 * Ready: it has reached Kafka once, and streams, however far behind, and is heard and confirmed; or
 * it stands by for who does.
 */
#ifndef WALPOST_TELEMETRY_HEALTH_H
#define WALPOST_TELEMETRY_HEALTH_H

#include "walpost/telemetry/telemetry.h"

/* A turn, or the end of a state, is overdue by so much: the process is stuck. */
#define WP_LIVE_LATE_MS (30 * 1000)
/* Connecting again takes this long at most before it counts. */
#define WP_READY_AWAY_MS (15 * 1000)
/* Events have waited this long for a report, or to be sent at all, and none at all has come for half of it. */
#define WP_READY_STALLED_MS (60 * 1000)
/* The server was silent for this long, though it pings twice in wal_sender_timeout. */
#define WP_READY_DEAF_MS (60 * 1000)

void wp_verdict_of(const struct wp_telemetry *v, struct wp_health_verdict *ret);
/* Writes one line each: "ok" or what is wrong first, then the reasons. Returns WP_FULL, WP_NOMEM. */
enum wp_rc wp_livez_text(struct wp_buffer *into, const struct wp_health_verdict *v) WP_MUST_CHECK;
enum wp_rc wp_readyz_text(struct wp_buffer *into, const struct wp_health_verdict *v) WP_MUST_CHECK;

#endif
