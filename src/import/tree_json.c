/* Reads JSON into a tree. */
#include <string.h>

#include "walpost/base/json.h"

#include "tree.h"

struct reader {
	struct wp_import_tree *tree;
	struct wp_error *error;
	const uint8_t *at; /* up to here lines are counted */
	unsigned line;
};

/* This is an object or a list whose members are being read. */
struct level {
	struct wp_json_walk walk;
	wp_import_node_index node;
};

/* Values come in their order, so each byte is counted once. */
static unsigned line_of(struct reader *r, const uint8_t *place)
{
	for (; r->at < place; r->at++)
		r->line += *r->at == '\n';
	return r->line;
}

static enum wp_rc keep(struct reader *r, struct wp_span text, enum wp_json_kind kind, char **ret)
{
	struct wp_buffer *texts = &r->tree->texts->texts;
	size_t start = texts->size;
	enum wp_rc rc = kind == WP_JSON_STRING ? wp_json_unescape(text, texts)
					       : wp_buffer_append(texts, text);

	if (rc == WP_DATA)
		return wp_error_set(r->error, WP_CONFIG,
				    "line %u: a \\u escape is half of a character", r->line);
	if (rc != WP_OK)
		return wp_error_set(r->error, rc, "out of memory for the texts");
	return wp_import_end_text(r->tree->texts, start, r->line, ret, r->error);
}

static enum wp_import_node_kind kind_of(const struct wp_json *value)
{
	switch (value->kind) {
	case WP_JSON_NULL:
		return WP_IMPORT_NULL;
	case WP_JSON_ARRAY:
		return WP_IMPORT_LIST;
	case WP_JSON_OBJECT:
		return WP_IMPORT_OBJECT;
	default:
		return WP_IMPORT_TEXT;
	}
}

/* `name` has its quotes, or is a null span. */
static enum wp_rc add(struct reader *r, wp_import_node_index parent, struct wp_span name,
		      const struct wp_json *value, wp_import_node_index *ret)
{
	struct wp_import_node node = {
		.kind = kind_of(value),
		.parent = parent,
		.first = WP_IMPORT_NO_NODE,
		.last = WP_IMPORT_NO_NODE,
	};
	enum wp_rc rc = WP_OK;
	char *text = NULL;

	node.line = line_of(r, name.data == NULL ? value->text.data : name.data);
	if (name.data != NULL)
		rc = keep(r, name, WP_JSON_STRING, &text);
	node.name = text;
	if (rc == WP_OK && node.kind == WP_IMPORT_TEXT)
		rc = keep(r, value->text, value->kind, &node.text);
	return rc == WP_OK ? wp_import_tree_add(r->tree, &node, ret, r->error) : rc;
}

static enum wp_rc add_all(struct reader *r, const struct wp_json *json)
{
	struct level levels[WP_IMPORT_DEPTH_MAX];
	struct wp_json value = *json;
	struct wp_span name = { NULL, 0 };
	wp_import_node_index node = 0;
	size_t depth = 0;
	enum wp_rc rc = add(r, 0, name, &value, &node);

	for (;;) {
		if (rc != WP_OK)
			return rc;
		if (value.kind == WP_JSON_OBJECT || value.kind == WP_JSON_ARRAY) {
			if (depth == WP_IMPORT_DEPTH_MAX)
				return wp_error_set(r->error, WP_CONFIG,
						    "line %u: more than %d objects and arrays "
						    "within each other",
						    r->line, WP_IMPORT_DEPTH_MAX);
			levels[depth].node = node;
			wp_json_walk_init(&levels[depth++].walk, &value);
		}
		while (depth > 0 && !wp_json_walk_next(&levels[depth - 1].walk, &name, &value))
			depth--;
		if (depth == 0)
			return WP_OK;
		rc = add(r, levels[depth - 1].node, name, &value, &node);
	}
}

enum wp_rc wp_import_tree_json(struct wp_import_tree *tree, struct wp_span text, unsigned line,
			       struct wp_error *error)
{
	struct reader r = { .tree = tree, .error = error, .at = text.data, .line = line };
	struct wp_json_fault fault;
	struct wp_json json;

	if (wp_json_read(text, &json, &fault) != WP_OK)
		return wp_error_set(error, WP_CONFIG, "line %u: %s%s",
				    line_of(&r, text.data + fault.offset), fault.what,
				    wp_import_hint_at(text, fault.offset));
	return add_all(&r, &json);
}
