#include <stdlib.h>
#include <string.h>

#include "walpost/base/utf8.h"

#include "read.h"
#include "tree.h"

#define TEXTS_MAX(size) (8 * (size) + 4096)

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
	struct wp_import_tree tree = { .count = 0 };

	wp_buffer_init(&blanked, WP_IMPORT_SIZE_MAX);
	enum wp_rc rc = wp_import_blank_comments(text, &blanked, error);
	if (rc == WP_OK)
		rc = wp_import_tree_init(&tree, p, error);
	tree.is_json = true;
	if (rc == WP_OK)
		rc = wp_import_tree_json(&tree, wp_buffer_span(&blanked), 1, error);
	if (rc == WP_OK)
		rc = wp_import_take_connector(&tree, p, error);
	if (rc == WP_OK && p->count == 0)
		rc = wp_import_take_variables(&tree, p, error);
	if (rc == WP_OK && p->count == 0)
		rc = wp_import_take_object(&tree, p, error);
	wp_import_tree_release(&tree);
	wp_buffer_release(&blanked);
	return rc;
}

/* `why` says that it is no YAML, which tells nothing of what else it may be. */
static enum wp_rc read_yaml(struct wp_span text, struct wp_import_properties *p,
			    struct wp_error *why, struct wp_error *error)
{
	struct wp_import_tree tree;
	enum wp_rc rc = wp_import_tree_init(&tree, p, error);

	if (rc == WP_OK)
		rc = wp_import_tree_yaml(&tree, text, error);
	if (rc == WP_CONFIG) {
		*why = *error;
		wp_import_tree_release(&tree);
		return WP_OK;
	}
	if (rc == WP_OK)
		rc = wp_import_take_connector(&tree, p, error);
	if (rc == WP_OK && p->count == 0)
		rc = wp_import_take_variables(&tree, p, error);
	wp_import_tree_release(&tree);
	return rc;
}

/* There is no JSON in it either. */
static enum wp_rc refuse_yaml(const struct wp_error *why, struct wp_error *error)
{
	if (why->text[0] != '\0')
		return wp_error_set(error, WP_CONFIG, "%s", why->text);
	return wp_error_set(
		error, WP_CONFIG,
		"it is YAML, but has no KafkaConnector, no connector.class, no variables "
		"DEBEZIUM_SOURCE_... and no debezium: as in Debezium Server's application.yaml");
}

/* Tries forms from what tells most to what tells least. */
static enum wp_rc read_all(struct wp_span text, struct wp_import_properties *p,
			   struct wp_error *error)
{
	struct wp_error why = { "" };
	enum wp_import_yaml yaml = WP_IMPORT_NO_YAML;
	enum wp_rc rc;

	if (wp_import_looks_like_json(text))
		return read_json(text, p, error);
	rc = wp_import_read_variables(text, p, error);
	if (rc == WP_OK && p->count == 0) {
		yaml = wp_import_looks_like_yaml(text);
		rc = yaml == WP_IMPORT_NO_YAML ? WP_OK : read_yaml(text, p, &why, error);
	}
	if (rc == WP_OK && p->count == 0)
		rc = wp_import_read_embedded(text, p, error);
	if (rc == WP_OK && p->count == 0)
		rc = yaml == WP_IMPORT_YAML ? refuse_yaml(&why, error)
					    : wp_import_read_java(text, 1, p, error);
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
	/*
	 * Each text is kept with its NUL; a name of the environment, and what YAML repeats, is kept
	 * once more.
	 */
	wp_buffer_init(&p.texts, TEXTS_MAX(text.size));
	if (wp_buffer_reserve(&p.texts, TEXTS_MAX(text.size)) != WP_OK)
		rc = wp_error_set(error, WP_NOMEM, "out of memory for the texts");
	else
		rc = read_all(without_mark(text), &p, error);
	if (rc == WP_OK && p.count == 0)
		rc = wp_error_set(error, WP_CONFIG, "it contains no property");
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
