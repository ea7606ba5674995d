#include <stdlib.h>

#include "walpost/relay/diversions.h"

enum { FIRST_CAPACITY = 8 };

void wp_diversions_release(struct wp_diversions *d)
{
	free(d->items);
	*d = (struct wp_diversions){ 0 };
}

static bool is_same(const struct wp_position *a, const struct wp_position *b)
{
	return a->commit_lsn == b->commit_lsn && a->ordinal == b->ordinal &&
	       a->timeline == b->timeline && a->epoch == b->epoch;
}

static struct wp_diversion *find(const struct wp_diversions *d, const struct wp_position *position)
{
	for (size_t i = 0; i < d->count; i++) {
		if (is_same(&d->items[i].position, position))
			return &d->items[i];
	}
	return NULL;
}

const struct wp_diversion *wp_diversions_find(const struct wp_diversions *d,
					      const struct wp_position *position)
{
	return find(d, position);
}

static enum wp_rc grow(struct wp_diversions *d)
{
	size_t capacity = d->capacity == 0 ? FIRST_CAPACITY : d->capacity * 2;

	if (d->count == WP_DIVERSIONS_MAX)
		return WP_FULL;
	struct wp_diversion *items = realloc(d->items, capacity * sizeof(*items));
	if (items == NULL)
		return WP_NOMEM;
	d->items = items;
	d->capacity = capacity;
	return WP_OK;
}

enum wp_rc wp_diversions_add(struct wp_diversions *d, const struct wp_diversion *diversion)
{
	struct wp_diversion *known = find(d, &diversion->position);

	if (known != NULL) {
		*known = *diversion;
		return WP_OK;
	}
	if (d->count == d->capacity) {
		enum wp_rc rc = grow(d);
		if (rc != WP_OK)
			return rc;
	}
	d->items[d->count++] = *diversion;
	return WP_OK;
}

void wp_diversions_forget(struct wp_diversions *d, wp_lsn confirmed_lsn)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->count; i++) {
		if (d->items[i].position.commit_lsn >= confirmed_lsn)
			d->items[kept++] = d->items[i];
	}
	d->count = kept;
	if (kept == 0)
		wp_diversions_release(d);
}
