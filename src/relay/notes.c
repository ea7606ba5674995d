#include "notes.h"

static void drop_oldest(struct wp_notes *n)
{
	n->first = (n->first + 1) % WP_NOTES_MAX;
	n->count--;
}

struct wp_note *wp_notes_add(struct wp_notes *n, enum wp_note_level level, const char *event,
			     wp_lsn lsn)
{
	if (n->count == WP_NOTES_MAX)
		drop_oldest(n);
	struct wp_note *note = &n->ring[(n->first + n->count++) % WP_NOTES_MAX];
	*note = (struct wp_note){ .level = level, .event = event, .lsn = lsn, .wait_ms = -1 };
	return note;
}

bool wp_notes_take(struct wp_notes *n, struct wp_note *ret)
{
	if (n->count == 0)
		return false;
	*ret = n->ring[n->first];
	drop_oldest(n);
	return true;
}
