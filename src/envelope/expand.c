#include <assert.h>
#include <stdlib.h>

#include "connect_schema.h"
#include "walpost/base/display.h"
#include "walpost/envelope/expand.h"

#define CURE "make the payload a JSON object that fits, or turn the expansion off"

struct wp_expand {
	struct wp_expand_options options;
	struct wp_json_tree tree;
	struct wp_connect_schemas schemas;
	struct wp_buffer value;
	struct wp_buffer path; /* while a schema is written: the name of the one at hand */
	const struct wp_connect_schema *schema; /* of what was expanded; NULL: nothing was */
};

enum wp_rc wp_expand_new(const struct wp_expand_options *options, size_t size_max,
			 struct wp_expand **ret)
{
	struct wp_expand *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return WP_NOMEM;
	e->options = *options;
	/* Each value but the first stands behind a comma or a bracket, which is written too. */
	wp_json_tree_init(&e->tree, size_max + 1);
	wp_connect_schemas_init(&e->schemas);
	wp_buffer_init(&e->value, size_max);
	wp_buffer_init(&e->path, SIZE_MAX / 2); /* no longer than the names in a payload */
	*ret = e;
	return WP_OK;
}

void wp_expand_free(struct wp_expand *e)
{
	if (e == NULL)
		return;
	wp_json_tree_release(&e->tree);
	wp_connect_schemas_release(&e->schemas);
	wp_buffer_release(&e->value);
	wp_buffer_release(&e->path);
	free(e);
}

/* ---- the value ---- */

/* Writes the value as Debezium's JsonSchemaData.toConnectData() and JsonConverter make it. */
struct writer {
	struct wp_buffer *into;
	const struct wp_json_node *misfit; /* WP_DATA: at which it was */
	bool would_lose;		   /* WP_DATA: it is a member that has no place */
};

static enum wp_connect_type type_of(const struct wp_json_node *n)
{
	switch (n->kind) {
	case WP_JSON_OBJECT:
		return WP_CONNECT_STRUCT;
	case WP_JSON_ARRAY:
		return WP_CONNECT_ARRAY;
	default:
		return n->schema->type;
	}
}

static bool fits(const struct wp_json_node *n, const struct wp_connect_schema *schema)
{
	if (n->kind == WP_JSON_NULL)
		return !schema->required;
	if (n->kind == WP_JSON_NUMBER && n->number == WP_JACKSON_BIG)
		return false;
	return type_of(n) == schema->type;
}

static enum wp_rc write_json_value(struct writer *w, const struct wp_json_node *n,
				   const struct wp_connect_schema *schema);

/* Returns the first member that no field was found for. */
static const struct wp_json_node *find_lost(const struct wp_json_node *object)
{
	const struct wp_json_node *n = object->first;

	while (n->schema->type == WP_CONNECT_NONE || n->is_written)
		n = n->next;
	return n;
}

/*
 * A member that this object lacks and another of its array has is null. One that the schema lacks
 * would be lost: it is another object's, for only the objects that stand in one array themselves
 * are brought together, not what is within them.
 */
static enum wp_rc write_json_object(struct writer *w, const struct wp_json_node *object,
				    const struct wp_connect_schema *schema)
{
	enum wp_rc rc = wp_buffer_append_byte(w->into, '{');
	size_t left = object->schema->count;

	for (size_t i = 0; i < schema->count && rc == WP_OK; i++) {
		const struct wp_connect_field *field = &schema->fields[i];
		struct wp_json_node *n = wp_json_node_find(object, field->name);
		if (n != NULL && n->schema->type != WP_CONNECT_NONE) {
			n->is_written = true;
			left--;
		}
		if (i > 0)
			rc = wp_buffer_append_byte(w->into, ',');
		if (rc == WP_OK)
			rc = wp_buffer_append(w->into, field->name);
		if (rc == WP_OK)
			rc = wp_buffer_append_byte(w->into, ':');
		if (rc == WP_OK)
			rc = n == NULL ? wp_buffer_append_text(w->into, "null")
				       : write_json_value(w, n, field->schema);
	}
	if (rc == WP_OK && left > 0) {
		w->misfit = find_lost(object);
		w->would_lose = true;
		return WP_DATA;
	}
	return rc == WP_OK ? wp_buffer_append_byte(w->into, '}') : rc;
}

static enum wp_rc write_json_array(struct writer *w, const struct wp_json_node *array,
				   const struct wp_connect_schema *schema)
{
	enum wp_rc rc = wp_buffer_append_byte(w->into, '[');

	for (const struct wp_json_node *n = array->first; n != NULL && rc == WP_OK; n = n->next) {
		if (n != array->first)
			rc = wp_buffer_append_byte(w->into, ',');
		if (rc == WP_OK)
			rc = write_json_value(w, n, schema->element);
	}
	return rc == WP_OK ? wp_buffer_append_byte(w->into, ']') : rc;
}

static enum wp_rc write_json_value(struct writer *w, const struct wp_json_node *n,
				   const struct wp_connect_schema *schema)
{
	if (!fits(n, schema)) {
		w->misfit = n;
		return WP_DATA;
	}
	switch (n->kind) {
	case WP_JSON_OBJECT:
		return write_json_object(w, n, schema);
	case WP_JSON_ARRAY:
		return write_json_array(w, n, schema);
	case WP_JSON_NUMBER:
		return wp_jackson_write_number(w->into, n->text);
	case WP_JSON_STRING:
		return wp_jackson_write_string(w->into, n->text);
	default: /* null, true, false */
		return wp_buffer_append(w->into, n->text);
	}
}

static enum wp_rc refuse_misfit(const struct writer *w, struct wp_error *error)
{
	const struct wp_json_node *misfit = w->misfit;
	struct wp_excerpt value;

	if (w->would_lose)
		return wp_error_set(error, WP_DATA,
				    "the payload cannot be expanded without a loss: its member %s "
				    "does not fit the schema, because objects in an array get the "
				    "members of the first one, as with Debezium; give all of them "
				    "the same members, or turn the expansion off",
				    wp_excerpt(&value, misfit->name));

	if (misfit->kind == WP_JSON_NUMBER && misfit->number == WP_JACKSON_BIG)
		return wp_error_set(
			error, WP_DATA,
			"the payload cannot be expanded as with Debezium: the integer %s exceeds "
			"64 bits; write it as a string, or turn the expansion off",
			wp_excerpt(&value, misfit->text));
	return wp_error_set(error, WP_DATA,
			    "the payload cannot be expanded as with Debezium: in an array, %s is "
			    "not of the first element's type; " CURE,
			    wp_span_is_null(misfit->text)  ? "a container"
			    : misfit->kind == WP_JSON_NULL ? "a null"
							   : wp_excerpt(&value, misfit->text));
}

static enum wp_rc refuse_expanded_size(const struct wp_expand *e, struct wp_error *error)
{
	return wp_error_set(error, WP_DATA,
			    "the expanded payload exceeds %zu bytes, the maximum size of a value; "
			    "make it smaller, raise message.max.bytes in [kafka] and "
			    "max.message.bytes of the topic, or turn the expansion off (in an "
			    "array each object gets the members of all of them)",
			    e->value.size_max);
}

static enum wp_rc expand_object(struct wp_expand *e, const struct wp_json_node *object,
				struct wp_expanded *ret, struct wp_error *error)
{
	struct writer w = { .into = &e->value };

	enum wp_rc rc = write_json_value(&w, object, object->schema);
	switch (rc) {
	case WP_OK:
		e->schema = object->schema;
		*ret = (struct wp_expanded){ WP_EXPANDED_VALUE, wp_buffer_span(&e->value), NULL };
		return WP_OK;
	case WP_DATA:
		return refuse_misfit(&w, error);
	case WP_FULL:
		return refuse_expanded_size(e, error);
	default:
		return wp_error_set(error, rc, "out of memory to expand a payload");
	}
}

/* ---- what is expanded, and what is not ---- */

static enum wp_rc leave_unexpanded(enum wp_expanded_as as, const char *because,
				   struct wp_expanded *ret)
{
	*ret = (struct wp_expanded){ .as = as, .because = because };
	return WP_OK;
}

/* Debezium finds the schema of an array, sets it, and then fails to make a Struct of the value. */
static enum wp_rc expand_root(struct wp_expand *e, struct wp_expanded *ret, struct wp_error *error)
{
	const struct wp_json_node *root = wp_json_tree_node(&e->tree, 0);

	if (root->schema->type == WP_CONNECT_BROKEN)
		return leave_unexpanded(WP_EXPANDED_TEXT, root->schema->because, ret);
	if (root->kind == WP_JSON_OBJECT)
		return expand_object(e, root, ret, error);
	if (root->schema->type == WP_CONNECT_NONE)
		return leave_unexpanded(WP_EXPANDED_BARE, "it is an empty array", ret);
	return wp_error_set(
		error, WP_DATA,
		"the payload cannot be expanded as with Debezium: it is an array; " CURE);
}

enum wp_rc wp_expand_payload(struct wp_expand *e, struct wp_span payload, struct wp_expanded *ret,
			     struct wp_error *error)
{
	const char *because = NULL;

	assert(!wp_span_is_null(payload));
	e->schema = NULL;
	wp_buffer_empty(&e->value, payload.size);
	if (payload.size == 0 || (payload.data[0] != '{' && payload.data[0] != '['))
		return leave_unexpanded(WP_EXPANDED_TEXT, "it begins with neither { nor [", ret);
	enum wp_rc rc = wp_json_tree_read(&e->tree, payload, &because);
	if (rc == WP_DATA)
		return leave_unexpanded(WP_EXPANDED_TEXT, because, ret);
	if (rc == WP_OK)
		rc = wp_connect_schemas_find(&e->schemas, &e->tree, &e->options);
	if (rc == WP_FULL)
		return refuse_expanded_size(e, error);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "out of memory to expand a payload of %zu bytes",
				    payload.size);
	return expand_root(e, ret, error);
}

enum wp_rc wp_expand_schema(struct wp_expand *e, struct wp_span column, struct wp_span field,
			    struct wp_buffer *into, struct wp_error *error)
{
	assert(e->schema != NULL);
	enum wp_rc rc = wp_connect_schema_write(e->schema, column, field, &e->path, into);
	switch (rc) {
	case WP_OK:
		return WP_OK;
	case WP_DATA:
		return wp_error_set(
			error, rc,
			"the payload cannot be expanded as with Debezium: its schema has more than "
			"1,000 levels; make it flatter, or write no schema");
	case WP_FULL:
		return wp_error_set(
			error, rc,
			"the payload's schema exceeds %zu bytes, the maximum size of a value; "
			"reduce the number of members, or raise message.max.bytes in [kafka] and "
			"max.message.bytes of the topic",
			into->size_max);
	default:
		return wp_error_set(error, rc, "out of memory for the schema of a payload");
	}
}

size_t wp_expand_written(const struct wp_expand *e)
{
	return e->value.size;
}
