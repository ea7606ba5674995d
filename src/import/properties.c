#include <stdlib.h>
#include <string.h>

#include "walpost/base/utf8.h"

#include "read.h"

static enum wp_rc check_utf8(struct wp_span text, struct wp_error *error)
{
	unsigned line = 1;

	for (size_t i = 0; i < text.size;) {
		size_t size = wp_utf8_size(text.data + i, text.size - i);

		if (size == 0)
			return wp_error_set(error, WP_CONFIG, "line %u: not UTF-8", line);
		line += text.data[i] == '\n';
		i += size;
	}
	return WP_OK;
}

static struct wp_span without_mark(struct wp_span text)
{
	if (text.size >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0)
		return (struct wp_span){ text.data + 3, text.size - 3 };
	return text;
}

static enum wp_rc read_json(struct wp_span text, struct wp_import_properties *p,
			    struct wp_error *error)
{
	struct wp_buffer blanked;

	wp_buffer_init(&blanked, WP_IMPORT_SIZE_MAX);
	enum wp_rc rc = wp_import_blank_comments(text, &blanked, error);
	if (rc == WP_OK)
		rc = wp_import_read_json(wp_buffer_span(&blanked), p, error);
	wp_buffer_release(&blanked);
	return rc;
}

static enum wp_rc read_all(struct wp_span text, struct wp_import_properties *p,
			   struct wp_error *error)
{
	enum wp_rc rc;

	/* A name and a value with their NULs are never longer than twice what they were made of, so
	 * no later text moves an earlier one. */
	if (wp_buffer_reserve(&p->texts, 2 * text.size + 2) != WP_OK)
		return wp_error_set(error, WP_NOMEM, "out of memory for the texts");
	p->is_json = wp_import_looks_like_json(text);
	rc = p->is_json ? WP_OK : wp_import_refuse_yaml(text, error);
	if (rc != WP_OK)
		return rc;
	rc = p->is_json ? read_json(text, p, error) : wp_import_read_java(text, p, error);
	if (rc == WP_OK && p->count == 0)
		return wp_error_set(error, WP_CONFIG, "it contains no property");
	return rc;
}

enum wp_rc wp_import_read(struct wp_span text, struct wp_import_properties *ret,
			  struct wp_error *error)
{
	struct wp_import_properties p = { .count = 0 };
	enum wp_rc rc;

	if (text.size > WP_IMPORT_SIZE_MAX)
		return wp_error_set(error, WP_CONFIG, "it is larger than 1 MiB");
	rc = check_utf8(text, error);
	if (rc != WP_OK)
		return rc;
	wp_buffer_init(&p.texts, 2 * WP_IMPORT_SIZE_MAX + 2);
	rc = read_all(without_mark(text), &p, error);
	if (rc != WP_OK) {
		wp_import_properties_release(&p);
		return rc;
	}
	*ret = p;
	return WP_OK;
}

void wp_import_properties_release(struct wp_import_properties *p)
{
	free(p->items);
	wp_buffer_release(&p->texts);
	*p = (struct wp_import_properties){ .count = 0 };
}
