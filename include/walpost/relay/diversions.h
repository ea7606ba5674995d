/*
 * Which events go to the dead-letter topic when they come again? Those that Kafka refused
 * when they were sent alone: that is known only after the event, which is read again then.
 * An entry lives until Postgres may forget the event.
 *
 * Owns: its list. Pure. Bounded: WP_DIVERSIONS_MAX entries.
 */
#ifndef WALPOST_RELAY_DIVERSIONS_H
#define WALPOST_RELAY_DIVERSIONS_H

#include "walpost/base/rc.h"
#include "walpost/outbox/dead_letter.h"

enum { WP_DIVERSIONS_MAX = 1024, WP_DIVERSION_REASON_SIZE = 200 };

struct wp_diversion {
	struct wp_position position;
	enum wp_letter letter; /* how much of the event its dead letter may hold */
	char reason[WP_DIVERSION_REASON_SIZE];
};

struct wp_diversions {
	struct wp_diversion *items; /* owned; NULL while there are none */
	size_t count;
	size_t capacity;
};

void wp_diversions_release(struct wp_diversions *d);
/* NULL: it is none of them. Valid until the next add or forget. */
const struct wp_diversion *wp_diversions_find(const struct wp_diversions *d,
					      const struct wp_position *position);
/* Of one that is there already, letter and reason are replaced. WP_FULL; WP_NOMEM. */
enum wp_rc wp_diversions_add(struct wp_diversions *d,
			     const struct wp_diversion *diversion) WP_MUST_CHECK;
/* Those of transactions that commit below the confirmed LSN will not come again. */
void wp_diversions_forget(struct wp_diversions *d, wp_lsn confirmed_lsn);

#endif
