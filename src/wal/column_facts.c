#include <string.h>

#include "walpost/wal/column_facts.h"

void wp_column_facts_begin(struct wp_column_facts *f)
{
	f->count = 0;
	f->labels[0] = '\0';
	f->labels_size = 1;
}

void wp_column_facts_add(struct wp_column_facts *f, const struct wp_column_fact *fact,
			 const char *labels)
{
	if (f->count == WP_COLUMN_FACTS_MAX)
		return;
	struct wp_column_fact *to = &f->items[f->count++];
	*to = *fact;
	to->labels_at = 0;
	size_t size = labels == NULL ? 0 : strlen(labels) + 1;
	if (size == 0 || size > WP_COLUMN_LABELS_SIZE - f->labels_size)
		return;
	to->labels_at = f->labels_size;
	memcpy(f->labels + f->labels_size, labels, size);
	f->labels_size += size;
}

const struct wp_column_fact *wp_column_facts_find(const struct wp_column_facts *f, size_t table,
						  struct wp_span name)
{
	for (size_t i = 0; i < f->count; i++) {
		if (f->items[i].table == table && wp_span_is(name, f->items[i].name))
			return &f->items[i];
	}
	return NULL;
}

const char *wp_column_facts_labels(const struct wp_column_facts *f,
				   const struct wp_column_fact *fact)
{
	return fact->labels_at == 0 ? NULL : f->labels + fact->labels_at;
}
