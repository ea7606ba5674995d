/*
 * Which Kafka Connect schema does Debezium find in a JSON payload? As its JsonSchemaData does it:
 * each value has a type, an array that of its elements, which must be of one; the members of an
 * array's objects are brought together.
 *
 * Owns: the schemas of one tree, which borrow its names. Part of expand.
 * Bounded: 160 bytes at most for each node of the tree.
 */
#ifndef WALPOST_SRC_ENVELOPE_CONNECT_SCHEMA_H
#define WALPOST_SRC_ENVELOPE_CONNECT_SCHEMA_H

#include "json_tree.h"
#include "walpost/envelope/expand.h"

enum wp_connect_type {
	WP_CONNECT_NONE,   /* no schema: a member of it is left out */
	WP_CONNECT_BROKEN, /* Debezium throws: the payload is not expanded */
	WP_CONNECT_STRING,
	WP_CONNECT_BOOLEAN,
	WP_CONNECT_INT32,
	WP_CONNECT_INT64,
	WP_CONNECT_FLOAT64,
	WP_CONNECT_BYTES, /* of nulls */
	WP_CONNECT_ARRAY,
	WP_CONNECT_STRUCT,
};

struct wp_connect_field {
	struct wp_span name; /* as Jackson writes it, with its quotes */
	const struct wp_connect_schema *schema;
	size_t place; /* while fields are brought together */
};

struct wp_connect_schema {
	enum wp_connect_type type;
	bool required;				 /* a null is none of its values */
	const char *because;			 /* BROKEN: a constant */
	const struct wp_connect_schema *element; /* ARRAY */
	struct wp_connect_field *fields;	 /* STRUCT */
	size_t count;
};

struct wp_connect_schemas {
	struct wp_buffer schemas;
	struct wp_buffer fields;
};

void wp_connect_schemas_init(struct wp_connect_schemas *s);
void wp_connect_schemas_release(struct wp_connect_schemas *s);
/* Sets the schema of each node of the tree. WP_NOMEM. They are valid until the next call. */
enum wp_rc wp_connect_schemas_find(struct wp_connect_schemas *s, const struct wp_json_tree *tree,
				   const struct wp_expand_options *options) WP_MUST_CHECK;
/*
 * Appends it as JsonConverter writes it; `column` and `field` as in wp_expand_schema(). `path` is
 * overwritten. WP_DATA: it is nested deeper than Jackson writes. WP_FULL, WP_NOMEM.
 */
enum wp_rc wp_connect_schema_write(const struct wp_connect_schema *schema, struct wp_span column,
				   struct wp_span field, struct wp_buffer *path,
				   struct wp_buffer *into) WP_MUST_CHECK;

#endif
