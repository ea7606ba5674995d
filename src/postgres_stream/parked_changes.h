/*
 * Keeps changes of rows of walpost.parked that are not committed yet, in order.
 *
 * Owns: their texts. Pure. Bounded: by parking, which submits those of a round.
 */
#ifndef WALPOST_POSTGRES_STREAM_PARKED_CHANGES_H
#define WALPOST_POSTGRES_STREAM_PARKED_CHANGES_H

#include "walpost/source/parked.h"

struct wp_parked_changes {
	struct wp_parked_change *items; /* owned; their texts too */
	size_t count;
	size_t room;
	size_t sent;   /* of them, from the first on */
	size_t singly; /* so many are sent one by one: one of them is refused */
};

/* They are copied. Returns WP_NOMEM when only some of them were. */
enum wp_rc wp_parked_changes_add(struct wp_parked_changes *c,
				 const struct wp_parked_change *changes,
				 size_t count) WP_MUST_CHECK;
void wp_parked_changes_release(struct wp_parked_changes *c);
/* Says how many from the first on go in one statement, which changes a row once; 0 when there are none. */
size_t wp_parked_changes_batch(const struct wp_parked_changes *c);
/* These are as in parked_puts: what was sent failed, or its outcome is unknown; it is sent one by one,
 * false when it was one; so many are committed. */
void wp_parked_changes_unsent(struct wp_parked_changes *c);
bool wp_parked_changes_divide(struct wp_parked_changes *c);
size_t wp_parked_changes_committed(struct wp_parked_changes *c);

#endif
