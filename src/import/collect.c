#include <stdlib.h>
#include <string.h>

#include "read.h"

static enum wp_rc grow(struct wp_import_properties *p, struct wp_error *error)
{
	size_t capacity = p->capacity == 0 ? 64 : p->capacity * 2;
	struct wp_import_property *items;

	if (p->count < p->capacity)
		return WP_OK;
	if (p->count == WP_IMPORT_PROPERTIES_MAX)
		return wp_error_set(error, WP_CONFIG, "it has more than %d properties",
				    WP_IMPORT_PROPERTIES_MAX);
	items = realloc(p->items, capacity * sizeof(items[0]));
	if (items == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for %zu properties", capacity);
	p->items = items;
	p->capacity = capacity;
	return WP_OK;
}

enum wp_rc wp_import_add(struct wp_import_properties *p, const struct wp_import_place *place,
			 struct wp_error *error)
{
	char *texts = (char *)p->texts.data;
	enum wp_rc rc = grow(p, error);

	if (rc != WP_OK)
		return rc;
	p->items[p->count++] = (struct wp_import_property){
		.name = texts + place->name,
		.value = place->value == WP_IMPORT_NO_VALUE ? NULL : texts + place->value,
		.line = place->line,
		.outside = place->outside,
	};
	return WP_OK;
}

enum wp_rc wp_import_end_text(struct wp_import_properties *p, size_t start, unsigned line,
			      struct wp_error *error)
{
	if (p->texts.size > start &&
	    memchr(p->texts.data + start, '\0', p->texts.size - start) != NULL)
		return wp_error_set(error, WP_CONFIG, "line %u: a NUL character in a text", line);
	if (wp_buffer_append_byte(&p->texts, '\0') != WP_OK)
		return wp_error_set(error, WP_NOMEM, "out of memory for the texts");
	return WP_OK;
}
