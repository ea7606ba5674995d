/*
 * What is there to be said to people? The relay's files add notes as they decide; who runs the
 * relay takes them between two steps and logs them.
 *
 * Owns: a ring. Pure. Bounded: WP_NOTES_MAX; the oldest go first.
 */
#ifndef WALPOST_SRC_RELAY_NOTES_H
#define WALPOST_SRC_RELAY_NOTES_H

#include "walpost/relay/relay.h"

enum { WP_NOTES_MAX = 64 };

struct wp_notes {
	struct wp_note ring[WP_NOTES_MAX];
	size_t first;
	size_t count;
};

/* Adds a note without text, which the caller fills in. It is valid until the next one is added or taken. */
struct wp_note *wp_notes_add(struct wp_notes *n, enum wp_note_level level, const char *event,
			     wp_lsn lsn);
/* Takes the oldest; false: there is none. */
bool wp_notes_take(struct wp_notes *n, struct wp_note *ret);

#endif
