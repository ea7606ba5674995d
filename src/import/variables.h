/* The readers of Debezium Server's environment share this: one variable, and whose it is. */
#ifndef WALPOST_SRC_IMPORT_VARIABLES_H
#define WALPOST_SRC_IMPORT_VARIABLES_H

#include "tree.h"

struct wp_import_taker {
	struct wp_import_properties *into;
	struct wp_error *error;
	size_t start; /* of `into`: what precedes is of a file */
	bool is_compose;
	bool is_kubernetes;
	bool is_container;	     /* what is taken now stands in a container of Kubernetes's */
	bool has_dots;		     /* names with dots count */
	bool has_variables;	     /* one was taken whose name has none */
	size_t merges_left;	     /* to look at; 0: not all was seen */
	struct wp_import_tree *tree; /* NULL: lines */
};

/* Is it debezium.source.NAME, or another name that Debezium Server reads? */
bool wp_import_is_dotted(struct wp_span name);
/* Is it one of Quarkus's profiles or sources, or of Java's options, which may set anything? */
bool wp_import_is_about_all(struct wp_span name);
/* Is it one that no other program has? */
bool wp_import_is_server_variable(struct wp_span name);
bool wp_import_is_variable(const struct wp_import_taker *t, struct wp_span name);
/* Splits NAME=value. Returns false if it sets no variable. */
bool wp_import_split_variable(const struct wp_import_taker *t, struct wp_span text,
			      struct wp_span *ret_name, struct wp_span *ret_value);
/*
 * Takes a variable; if `value` is null, it comes from elsewhere. `block` is where it stands, a map, a
 * list or a command. Fails with WP_CONFIG if another block sets it to another value.
 */
enum wp_rc wp_import_take_variable(struct wp_import_taker *t, struct wp_span variable,
				   struct wp_span value, unsigned line,
				   unsigned block) WP_MUST_CHECK;
/* Keeps what sets more elsewhere, once for each line; only the first of very many are kept. */
void wp_import_take_further(struct wp_import_taker *t, const char *what, unsigned line);
/* Is the target of this volume where Debezium Server has its configuration, /debezium/conf or config? */
bool wp_import_is_mount(const char *text);
/* Are those that were taken a Server's? */
bool wp_import_has_server(const struct wp_import_taker *t);
/* Drops what was taken if it is no Server's. Names the form. */
void wp_import_settle(struct wp_import_taker *t);

#endif
