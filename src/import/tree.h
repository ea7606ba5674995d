/*
 * A tree is JSON or YAML taken apart: objects, lists and texts, in the order of the file. Its reader
 * decides what a text means: true, 5432 and "5432" are texts.
 *
 * Owns: the nodes. Borrows: the buffer of texts. Bounded: WP_IMPORT_NODES_MAX nodes,
 * WP_IMPORT_DEPTH_MAX within each other; YAML's aliases share what they stand for.
 */
#ifndef WALPOST_SRC_IMPORT_TREE_H
#define WALPOST_SRC_IMPORT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read.h"

#define WP_IMPORT_NODES_MAX 65536
#define WP_IMPORT_DEPTH_MAX 64

enum wp_import_node_kind { WP_IMPORT_NULL, WP_IMPORT_TEXT, WP_IMPORT_OBJECT, WP_IMPORT_LIST };

/* This is the index of a node; WP_IMPORT_NO_NODE stands for none. */
typedef uint32_t wp_import_node_index;
#define WP_IMPORT_NO_NODE UINT32_MAX

struct wp_import_node {
	enum wp_import_node_kind kind;
	const char *name;   /* in an object; NULL: elsewhere */
	char *text;	    /* NULL: not WP_IMPORT_TEXT */
	char *raw;	    /* YAML: as it is written, where `text` is true for yes; with `text` */
	const char *anchor; /* YAML's &anchor; NULL: none */
	unsigned line;	    /* from 1 */
	wp_import_node_index parent;
	wp_import_node_index next; /* in the same object or list */
	wp_import_node_index first;
	wp_import_node_index last;
	bool is_open; /* not all of its members are there yet */
	bool is_read; /* its properties were taken already */
};

/* Node 0 is a list of the documents. */
struct wp_import_tree {
	struct wp_import_node *nodes; /* owned */
	size_t count;
	size_t capacity;
	bool is_json;
	struct wp_import_properties *texts; /* borrowed; nothing but the buffer is used */
};

void wp_import_tree_release(struct wp_import_tree *tree);
/* Makes a tree with node 0. Fails with WP_NOMEM. */
enum wp_rc wp_import_tree_init(struct wp_import_tree *tree, struct wp_import_properties *texts,
			       struct wp_error *error) WP_MUST_CHECK;
/* Appends a node to its parent. Fails with WP_CONFIG if there are too many, and with WP_NOMEM. */
enum wp_rc wp_import_tree_add(struct wp_import_tree *tree, const struct wp_import_node *node,
			      wp_import_node_index *ret, struct wp_error *error) WP_MUST_CHECK;

/*
 * Reads one more document, or all of them, below node 0; `line` is the number of the text's first
 * line. Fails with WP_CONFIG, where the error names the line, or with WP_NOMEM.
 */
enum wp_rc wp_import_tree_json(struct wp_import_tree *tree, struct wp_span text, unsigned line,
			       struct wp_error *error) WP_MUST_CHECK;
enum wp_rc wp_import_tree_yaml(struct wp_import_tree *tree, struct wp_span text,
			       struct wp_error *error) WP_MUST_CHECK;

/* Returns the last member of this name, or NULL if the node is no object or has none. */
const struct wp_import_node *wp_import_member(const struct wp_import_tree *tree,
					      const struct wp_import_node *node, const char *name);
/* Returns the member's text, or NULL if there is no such member or it is no text. */
const char *wp_import_member_text(const struct wp_import_tree *tree,
				  const struct wp_import_node *node, const char *name);

/* A walk goes from node to node, a parent before its children. It is bounded where aliases multiply what they share. */
struct wp_import_walk {
	wp_import_node_index path[WP_IMPORT_DEPTH_MAX * 2];
	size_t depth;
	size_t steps_left;
	bool skips;  /* set by the caller: the next one is not below the last */
	bool is_cut; /* not all was seen */
};

void wp_import_walk_init(struct wp_import_walk *walk);
/* Fails with WP_CONFIG, because a tree is not read that was not all seen. */
enum wp_rc wp_import_refuse_cut(struct wp_error *error) WP_MUST_CHECK;
/* Returns the next node, or NULL if that was all. */
struct wp_import_node *wp_import_walk_next(struct wp_import_walk *walk,
					   struct wp_import_tree *tree);

#endif
