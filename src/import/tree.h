/*
 * JSON or YAML taken apart: objects, lists and texts, in the order of the file. What a text means is
 * for its reader: true, 5432 and "5432" are texts.
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

/* Index of a node; WP_IMPORT_NO_NODE: none. */
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
/* With node 0. WP_NOMEM. */
enum wp_rc wp_import_tree_init(struct wp_import_tree *tree, struct wp_import_properties *texts,
			       struct wp_error *error) WP_MUST_CHECK;
/* Appends to the parent; WP_CONFIG: too many. WP_NOMEM. */
enum wp_rc wp_import_tree_add(struct wp_import_tree *tree, const struct wp_import_node *node,
			      wp_import_node_index *ret, struct wp_error *error) WP_MUST_CHECK;

/*
 * Reads one more document, or all of them, below node 0; `line` is the number of the text's first
 * line. WP_CONFIG with the error, which names the line; WP_NOMEM.
 */
enum wp_rc wp_import_tree_json(struct wp_import_tree *tree, struct wp_span text, unsigned line,
			       struct wp_error *error) WP_MUST_CHECK;
enum wp_rc wp_import_tree_yaml(struct wp_import_tree *tree, struct wp_span text,
			       struct wp_error *error) WP_MUST_CHECK;

/* The last member of this name, or NULL: no object, or it has none. */
const struct wp_import_node *wp_import_member(const struct wp_import_tree *tree,
					      const struct wp_import_node *node, const char *name);
/* Its text; NULL: no such member, or it is no text. */
const char *wp_import_member_text(const struct wp_import_tree *tree,
				  const struct wp_import_node *node, const char *name);

/* From node to node, a parent before its children. Bounded where aliases multiply what they share. */
struct wp_import_walk {
	wp_import_node_index path[WP_IMPORT_DEPTH_MAX * 2];
	size_t depth;
	size_t steps_left;
	bool skips;  /* set by the caller: the next one is not below the last */
	bool is_cut; /* not all was seen */
};

void wp_import_walk_init(struct wp_import_walk *walk);
/* What was not all seen is not read: WP_CONFIG. */
enum wp_rc wp_import_refuse_cut(struct wp_error *error) WP_MUST_CHECK;
/* NULL: that was all. */
struct wp_import_node *wp_import_walk_next(struct wp_import_walk *walk,
					   struct wp_import_tree *tree);

#endif
