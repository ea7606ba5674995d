#include "walpost/relay/drop_counts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct wp_drop_count *count_of_outbox(struct wp_drop_counts *c, const char *outbox)
{
	for (size_t i = 0; i < c->count; i++) {
		if (strcmp(c->items[i].outbox, outbox) == 0)
			return &c->items[i];
	}
	struct wp_drop_count *items = realloc(c->items, (c->count + 1) * sizeof(*items));
	if (items == NULL)
		return NULL;
	c->items = items;
	struct wp_drop_count *added = &items[c->count++];
	*added = (struct wp_drop_count){ 0 };
	(void)snprintf(added->outbox, sizeof(added->outbox), "%s", outbox);
	return added;
}

void wp_drop_counts_add(struct wp_drop_counts *c, const char *outbox, enum wp_drop drop)
{
	struct wp_drop_count *count = count_of_outbox(c, outbox);

	if (count != NULL && drop == WP_DROP_TYPE)
		count->types++;
	if (count != NULL && drop == WP_DROP_EXPIRED)
		count->expired++;
}

void wp_drop_counts_release(struct wp_drop_counts *c)
{
	free(c->items);
	*c = (struct wp_drop_counts){ 0 };
}
