/*
 * Variables of Debezium Server in compose files and in resources of Kubernetes: a map, a list of
 * NAME=value, or a list of name and value. Each is a block.
 */
#include <string.h>

#include "variables.h"

/* What a Secret holds is in base64, and not to be shown. */
static bool is_secret(const struct wp_import_taker *t, const struct wp_import_node *node)
{
	const struct wp_import_node *parent = &t->tree->nodes[node->parent];
	const char *kind;

	if (parent->parent == WP_IMPORT_NO_NODE)
		return false;
	kind = wp_import_member_text(t->tree, &t->tree->nodes[parent->parent], "kind");
	return kind != NULL && strcmp(kind, "Secret") == 0;
}

/* - name: NAME, with a value, or with what tells where the value is. */
static enum wp_rc take_named(struct wp_import_taker *t, const struct wp_import_node *node,
			     bool *ret_taken)
{
	const char *name = wp_import_member_text(t->tree, node, "name");
	const struct wp_import_node *value = wp_import_member(t->tree, node, "value");

	*ret_taken = name != NULL && wp_import_is_variable(t, wp_span_of(name)) &&
		     (value != NULL || wp_import_member(t->tree, node, "valueFrom") != NULL);
	if (!*ret_taken)
		return WP_OK;
	return wp_import_take_variable(t, wp_span_of(name),
				       wp_span_of(value == NULL ? NULL : value->text), node->line,
				       node->parent);
}

static enum wp_rc take_text(struct wp_import_taker *t, const struct wp_import_node *node)
{
	struct wp_span text = wp_span_of(node->text);
	struct wp_span name;
	struct wp_span value;

	if (node->name != NULL && wp_import_is_variable(t, wp_span_of(node->name)))
		return wp_import_take_variable(t, wp_span_of(node->name),
					       is_secret(t, node) ? (struct wp_span){ 0 } : text,
					       node->line, node->parent);
	if (node->name != NULL || wp_span_is_null(text))
		return WP_OK;
	if (wp_import_split_variable(t, text, &name, &value))
		return wp_import_take_variable(t, name, value, node->line, node->parent);
	if (wp_import_is_variable(t, text))
		return wp_import_take_variable(t, text, (struct wp_span){ 0 }, node->line,
					       node->parent);
	return WP_OK;
}

static enum wp_rc take_node(struct wp_import_taker *t, struct wp_import_node *node, bool *ret_taken)
{
	*ret_taken = false;
	if (node->is_read) /* once, also if aliases repeat it */
		return WP_OK;
	node->is_read = node->kind == WP_IMPORT_TEXT || node->kind == WP_IMPORT_NULL;
	if (node->is_read)
		return take_text(t, node);
	return node->kind == WP_IMPORT_OBJECT ? take_named(t, node, ret_taken) : WP_OK;
}

static bool is_compose(const struct wp_import_tree *tree)
{
	for (wp_import_node_index i = tree->nodes[0].first; i != WP_IMPORT_NO_NODE;
	     i = tree->nodes[i].next)
		if (wp_import_member(tree, &tree->nodes[i], "services") != NULL)
			return true;
	return false;
}

enum wp_rc wp_import_take_variables(struct wp_import_tree *tree, struct wp_import_properties *p,
				    struct wp_error *error)
{
	struct wp_import_taker t = {
		.tree = tree,
		.into = p,
		.error = error,
		.start = p->count,
		.has_dots = !tree->is_json,
		.is_compose = is_compose(tree),
	};
	struct wp_import_walk walk;
	struct wp_import_node *node;
	enum wp_rc rc = WP_OK;

	wp_import_walk_init(&walk);
	for (node = wp_import_walk_next(&walk, tree); node != NULL && rc == WP_OK;
	     node = wp_import_walk_next(&walk, tree))
		rc = take_node(&t, node, &walk.skips);
	if (rc == WP_OK && walk.is_cut)
		return wp_import_refuse_cut(error);
	if (rc == WP_OK)
		wp_import_settle(&t);
	return rc;
}
