#include "parked_changes.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 256 }; /* of one statement */

static void forget(struct wp_parked_changes *c, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free((char *)c->items[i].reason);
		free((char *)c->items[i].code);
	}
	c->count -= count;
	if (count > 0)
		memmove(c->items, c->items + count, c->count * sizeof(*c->items));
}

static enum wp_rc make_room(struct wp_parked_changes *c, size_t count)
{
	size_t room = c->room;
	if (c->count + count <= room)
		return WP_OK;
	while (room < c->count + count)
		room = room ? 2 * room : 64;
	struct wp_parked_change *larger = realloc(c->items, room * sizeof(*larger));
	if (!larger)
		return WP_NOMEM;
	c->items = larger;
	c->room = room;
	return WP_OK;
}

static enum wp_rc copy(const struct wp_parked_change *c, struct wp_parked_change *ret)
{
	*ret = *c;
	ret->reason = c->reason ? strdup(c->reason) : NULL;
	ret->code = c->code ? strdup(c->code) : NULL;
	if ((!c->reason || ret->reason) && (!c->code || ret->code))
		return WP_OK;
	free((char *)ret->reason);
	free((char *)ret->code);
	return WP_NOMEM;
}

enum wp_rc wp_parked_changes_add(struct wp_parked_changes *c,
				 const struct wp_parked_change *changes, size_t count)
{
	enum wp_rc rc = make_room(c, count);
	for (size_t i = 0; i < count && rc == WP_OK; i++) {
		rc = copy(&changes[i], &c->items[c->count]);
		c->count += rc == WP_OK;
	}
	return rc;
}

void wp_parked_changes_release(struct wp_parked_changes *c)
{
	forget(c, c->count);
	free(c->items);
}

static bool is_among(const struct wp_parked_change *changes, size_t count,
		     const struct wp_position *position)
{
	for (size_t i = 0; i < count; i++)
		if (wp_position_compare(&changes[i].position, position) == 0)
			return true;
	return false;
}

size_t wp_parked_changes_batch(const struct wp_parked_changes *c)
{
	size_t max = c->singly > 0 ? 1 : ROWS_MAX;
	size_t count = 0;
	while (count < max && count < c->count &&
	       !is_among(c->items, count, &c->items[count].position))
		count++;
	return count;
}

void wp_parked_changes_unsent(struct wp_parked_changes *c)
{
	c->sent = 0;
}

bool wp_parked_changes_divide(struct wp_parked_changes *c)
{
	size_t count = c->sent;
	c->sent = 0;
	if (count <= 1)
		return false;
	c->singly = count;
	return true;
}

size_t wp_parked_changes_committed(struct wp_parked_changes *c)
{
	size_t count = c->sent;
	c->singly -= count < c->singly ? count : c->singly;
	c->sent = 0;
	forget(c, count);
	return count;
}
