/*
 * How many events of each outbox were dropped, and why? Counts survive a change of configuration.
 *
 * Owns: its items. Pure. Bounded: one for each outbox that any was dropped of.
 */
#ifndef WALPOST_RELAY_DROP_COUNTS_H
#define WALPOST_RELAY_DROP_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "walpost/outbox/drop.h"
#include "walpost/outbox/names.h"

struct wp_drop_count {
	char outbox[WP_TABLE_NAME_TEXT_SIZE]; /* its table, or the prefix of its messages */
	uint64_t types;			      /* outbox.skip.types */
	uint64_t expired;		      /* dropped, or sent to the dead-letter topic */
};

struct wp_drop_counts {
	struct wp_drop_count *items; /* owned */
	size_t count;
};

/* Without memory for a new outbox it is not counted. */
void wp_drop_counts_add(struct wp_drop_counts *c, const char *outbox, enum wp_drop drop);
void wp_drop_counts_release(struct wp_drop_counts *c);

#endif
