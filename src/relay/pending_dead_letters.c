#include <stdlib.h>

#include "walpost/relay/pending_dead_letters.h"

enum { FIRST_CAPACITY = 8 };

void wp_pending_dead_letters_release(struct wp_pending_dead_letters *d)
{
	free(d->items);
	*d = (struct wp_pending_dead_letters){ 0 };
}

static struct wp_pending_dead_letter *find_pending(const struct wp_pending_dead_letters *d,
						   const struct wp_position *position)
{
	for (size_t i = 0; i < d->count; i++) {
		if (wp_position_compare(&d->items[i].position, position) == 0)
			return &d->items[i];
	}
	return NULL;
}

const struct wp_pending_dead_letter *
wp_pending_dead_letters_find(const struct wp_pending_dead_letters *d,
			     const struct wp_position *position)
{
	return find_pending(d, position);
}

static enum wp_rc grow_pending(struct wp_pending_dead_letters *d)
{
	size_t capacity = d->capacity == 0 ? FIRST_CAPACITY : d->capacity * 2;

	if (d->count == WP_PENDING_DEAD_LETTERS_MAX)
		return WP_FULL;
	struct wp_pending_dead_letter *items = realloc(d->items, capacity * sizeof(*items));
	if (items == NULL)
		return WP_NOMEM;
	d->items = items;
	d->capacity = capacity;
	return WP_OK;
}

enum wp_rc wp_pending_dead_letters_add(struct wp_pending_dead_letters *d,
				       const struct wp_pending_dead_letter *pending)
{
	struct wp_pending_dead_letter *known = find_pending(d, &pending->position);

	if (known != NULL) {
		*known = *pending;
		return WP_OK;
	}
	if (d->count == d->capacity) {
		enum wp_rc rc = grow_pending(d);
		if (rc != WP_OK)
			return rc;
	}
	d->items[d->count++] = *pending;
	return WP_OK;
}

void wp_pending_dead_letters_forget(struct wp_pending_dead_letters *d, wp_lsn confirmed_lsn)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->count; i++) {
		if (d->items[i].position.commit_lsn >= confirmed_lsn)
			d->items[kept++] = d->items[i];
	}
	d->count = kept;
	if (kept == 0)
		wp_pending_dead_letters_release(d);
}
