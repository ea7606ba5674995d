/* Collects the properties of a file; their texts are in one buffer. */
#include <stdlib.h>
#include <string.h>

#include "walpost/base/java_properties.h"

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

enum wp_rc wp_import_add(struct wp_import_properties *p, const struct wp_import_property *property,
			 struct wp_error *error)
{
	enum wp_rc rc = grow(p, error);

	if (rc == WP_OK)
		p->items[p->count++] = *property;
	return rc;
}

/* All room is there from the beginning, so that no text ever moves. */
static enum wp_rc refuse(enum wp_rc rc, unsigned line, struct wp_error *error)
{
	if (rc == WP_FULL)
		return wp_error_set(error, WP_CONFIG, "line %u: it repeats too much", line);
	return wp_error_set(error, rc, "line %u: out of memory for the texts", line);
}

enum wp_rc wp_import_append_byte(struct wp_import_properties *p, uint8_t byte, unsigned line,
				 struct wp_error *error)
{
	enum wp_rc rc = wp_buffer_append_byte(&p->texts, byte);

	return rc == WP_OK ? rc : refuse(rc, line, error);
}

enum wp_rc wp_import_end_text(struct wp_import_properties *p, size_t start, unsigned line,
			      char **ret, struct wp_error *error)
{
	enum wp_rc rc;

	if (p->texts.size > start &&
	    memchr(p->texts.data + start, '\0', p->texts.size - start) != NULL)
		return wp_error_set(error, WP_CONFIG, "line %u: a NUL character in a text", line);
	rc = wp_buffer_append_byte(&p->texts, '\0');
	if (rc != WP_OK)
		return refuse(rc, line, error);
	*ret = (char *)p->texts.data + start;
	return WP_OK;
}

enum wp_rc wp_import_copy_text(struct wp_import_properties *p, struct wp_span text, unsigned line,
			       char **ret, struct wp_error *error)
{
	size_t start = p->texts.size;
	enum wp_rc rc = wp_buffer_append(&p->texts, text);

	return rc == WP_OK ? wp_import_end_text(p, start, line, ret, error)
			   : refuse(rc, line, error);
}

enum wp_rc wp_import_read_java(struct wp_span text, unsigned line, struct wp_import_properties *p,
			       struct wp_error *error)
{
	struct wp_java_properties walk = { .line = 0 };
	struct wp_java_property found;
	struct wp_buffer unescaped;
	enum wp_rc rc = WP_OK;

	if (text.size == 0)
		return WP_OK;
	wp_buffer_init(&unescaped, text.size + 1);
	if (wp_java_properties_init(&walk, text, &unescaped) != WP_OK)
		rc = wp_error_set(error, WP_NOMEM, "out of memory for the texts");
	while (rc == WP_OK) {
		struct wp_import_property property = { .line = 0 };
		char *name = NULL;

		if (wp_java_properties_next(&walk, &found) != WP_OK) {
			rc = wp_error_set(error, WP_CONFIG, "line %u: %s", line + walk.line - 1,
					  walk.fault == WP_JAVA_NO_DIGIT
						  ? "\\u requires four hexadecimal digits"
						  : "a \\u escape is half of a character");
			break;
		}
		if (wp_span_is_null(found.name))
			break;
		property.line = line + found.line - 1;
		rc = wp_import_copy_text(p, found.name, property.line, &name, error);
		property.name = name;
		if (rc == WP_OK)
			rc = wp_import_copy_text(p, found.value, property.line, &property.value,
						 error);
		if (rc == WP_OK)
			rc = wp_import_add(p, &property, error);
	}
	wp_buffer_release(&unescaped);
	return rc;
}
