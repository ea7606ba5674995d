/*
 * Which events go to the dead-letter topic, or are parked, when they come again? Those that Kafka refused
 * when they were sent alone: that is known only after the event, which is read again then.
 * An entry lives until Postgres may forget the event.
 *
 * Owns: its list. Pure. Bounded: WP_PENDING_DEAD_LETTERS_MAX entries.
 */
#ifndef WALPOST_RELAY_PENDING_DEAD_LETTERS_H
#define WALPOST_RELAY_PENDING_DEAD_LETTERS_H

#include "walpost/base/error.h"
#include "walpost/outbox/dead_letter.h"

enum { WP_PENDING_DEAD_LETTERS_MAX = 1024, WP_DEAD_LETTER_REASON_SIZE = 200 };

struct wp_pending_dead_letter {
	struct wp_position position;
	enum wp_letter letter; /* how much of the event its dead letter may hold */
	const char *code;      /* Kafka's, constant */
	char reason[WP_DEAD_LETTER_REASON_SIZE];
};

struct wp_pending_dead_letters {
	struct wp_pending_dead_letter *items; /* owned; NULL while there are none */
	size_t count;
	size_t capacity;
};

void wp_pending_dead_letters_release(struct wp_pending_dead_letters *d);
/* Returns NULL when the event is none of them. The answer is valid until the next add or forget. */
const struct wp_pending_dead_letter *
wp_pending_dead_letters_find(const struct wp_pending_dead_letters *d,
			     const struct wp_position *position);
/* If the event is there already, letter and reason are replaced. WP_FULL; WP_NOMEM. */
enum wp_rc wp_pending_dead_letters_add(struct wp_pending_dead_letters *d,
				       const struct wp_pending_dead_letter *pending) WP_MUST_CHECK;
/* Those of transactions that commit below the confirmed LSN will not come again. */
void wp_pending_dead_letters_forget(struct wp_pending_dead_letters *d, wp_lsn confirmed_lsn);

#endif
