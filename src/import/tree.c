#include <stdlib.h>
#include <string.h>

#include "tree.h"

/* This is more than any file without aliases can need. */
#define STEPS_MAX ((size_t)4 * WP_IMPORT_NODES_MAX)

void wp_import_tree_release(struct wp_import_tree *tree)
{
	free(tree->nodes);
	*tree = (struct wp_import_tree){ .count = 0 };
}

static enum wp_rc grow(struct wp_import_tree *tree, struct wp_error *error)
{
	size_t capacity = tree->capacity == 0 ? 256 : tree->capacity * 2;
	struct wp_import_node *nodes;

	if (tree->count < tree->capacity)
		return WP_OK;
	if (tree->count == WP_IMPORT_NODES_MAX)
		return wp_error_set(error, WP_CONFIG, "it has more than %d values",
				    WP_IMPORT_NODES_MAX);
	nodes = realloc(tree->nodes, capacity * sizeof(nodes[0]));
	if (nodes == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for %zu values", capacity);
	tree->nodes = nodes;
	tree->capacity = capacity;
	return WP_OK;
}

enum wp_rc wp_import_tree_add(struct wp_import_tree *tree, const struct wp_import_node *node,
			      wp_import_node_index *ret, struct wp_error *error)
{
	enum wp_rc rc = grow(tree, error);
	wp_import_node_index index = (wp_import_node_index)tree->count;

	if (rc != WP_OK)
		return rc;
	tree->nodes[tree->count++] = *node;
	tree->nodes[index].next = WP_IMPORT_NO_NODE;
	if (node->parent != WP_IMPORT_NO_NODE) {
		struct wp_import_node *parent = &tree->nodes[node->parent];

		if (parent->last == WP_IMPORT_NO_NODE)
			parent->first = index;
		else
			tree->nodes[parent->last].next = index;
		parent->last = index;
	}
	*ret = index;
	return WP_OK;
}

enum wp_rc wp_import_tree_init(struct wp_import_tree *tree, struct wp_import_properties *texts,
			       struct wp_error *error)
{
	static const struct wp_import_node root = {
		.kind = WP_IMPORT_LIST,
		.line = 1,
		.parent = WP_IMPORT_NO_NODE,
		.first = WP_IMPORT_NO_NODE,
		.last = WP_IMPORT_NO_NODE,
	};
	wp_import_node_index index;

	*tree = (struct wp_import_tree){ .texts = texts };
	return wp_import_tree_add(tree, &root, &index, error);
}

const struct wp_import_node *wp_import_member(const struct wp_import_tree *tree,
					      const struct wp_import_node *node, const char *name)
{
	const struct wp_import_node *found = NULL;

	if (node->kind != WP_IMPORT_OBJECT)
		return NULL;
	for (wp_import_node_index i = node->first; i != WP_IMPORT_NO_NODE; i = tree->nodes[i].next)
		if (strcmp(tree->nodes[i].name, name) == 0)
			found = &tree->nodes[i];
	return found;
}

const char *wp_import_member_text(const struct wp_import_tree *tree,
				  const struct wp_import_node *node, const char *name)
{
	const struct wp_import_node *member = wp_import_member(tree, node, name);

	return member == NULL ? NULL : member->text;
}

enum wp_rc wp_import_refuse_cut(struct wp_error *error)
{
	return wp_error_set(error, WP_CONFIG, "its aliases repeat too much");
}

void wp_import_walk_init(struct wp_import_walk *walk)
{
	*walk = (struct wp_import_walk){ .steps_left = STEPS_MAX };
}

static bool descend(struct wp_import_walk *walk, const struct wp_import_tree *tree)
{
	wp_import_node_index first = tree->nodes[walk->path[walk->depth - 1]].first;
	bool skips = walk->skips;

	walk->skips = false;
	if (skips || first == WP_IMPORT_NO_NODE)
		return false;
	if (walk->depth == sizeof(walk->path) / sizeof(walk->path[0])) {
		walk->is_cut = true;
		return false;
	}
	walk->path[walk->depth++] = first;
	return true;
}

static void go_on(struct wp_import_walk *walk, const struct wp_import_tree *tree)
{
	while (walk->depth > 0) {
		wp_import_node_index next = tree->nodes[walk->path[walk->depth - 1]].next;

		if (next != WP_IMPORT_NO_NODE) {
			walk->path[walk->depth - 1] = next;
			return;
		}
		walk->depth--;
	}
}

struct wp_import_node *wp_import_walk_next(struct wp_import_walk *walk, struct wp_import_tree *tree)
{
	bool begins = walk->steps_left == STEPS_MAX;

	if (walk->steps_left == 0) {
		walk->is_cut = true;
		return NULL;
	}
	walk->steps_left--;
	if (begins)
		walk->path[walk->depth++] = 0;
	else if (walk->depth > 0 && !descend(walk, tree))
		go_on(walk, tree);
	return walk->depth == 0 ? NULL : &tree->nodes[walk->path[walk->depth - 1]];
}
