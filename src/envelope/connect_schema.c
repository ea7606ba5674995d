#include <assert.h>
#include <stdlib.h>

#include "connect_schema.h"

/* This is never asked for: what is reserved follows from the size of a tree, which is in memory. */
#define NO_LIMIT (SIZE_MAX / 2)

/* These are Connect's Schema.OPTIONAL_STRING_SCHEMA and so on. */
static const struct wp_connect_schema NONE = { .type = WP_CONNECT_NONE };
static const struct wp_connect_schema STRING = { .type = WP_CONNECT_STRING };
static const struct wp_connect_schema BOOLEAN = { .type = WP_CONNECT_BOOLEAN };
static const struct wp_connect_schema INT32 = { .type = WP_CONNECT_INT32 };
static const struct wp_connect_schema INT64 = { .type = WP_CONNECT_INT64 };
static const struct wp_connect_schema FLOAT64 = { .type = WP_CONNECT_FLOAT64 };
static const struct wp_connect_schema BYTES = { .type = WP_CONNECT_BYTES };
static const struct wp_connect_schema STRINGS = { .type = WP_CONNECT_ARRAY, .element = &STRING };

static const struct wp_connect_schema MIXED = {
	.type = WP_CONNECT_BROKEN,
	.because = "an array's elements are of different types",
};
static const struct wp_connect_schema NULLS = {
	.type = WP_CONNECT_BROKEN,
	.because = "an array's elements are all null",
};
static const struct wp_connect_schema EMPTY = {
	.type = WP_CONNECT_BROKEN,
	.because = "the first array in an array is empty",
};
static const struct wp_connect_schema NAMELESS = {
	.type = WP_CONNECT_BROKEN,
	.because = "a member's name is empty",
};

void wp_connect_schemas_init(struct wp_connect_schemas *s)
{
	wp_buffer_init(&s->schemas, NO_LIMIT);
	wp_buffer_init(&s->fields, NO_LIMIT);
}

void wp_connect_schemas_release(struct wp_connect_schemas *s)
{
	wp_buffer_release(&s->schemas);
	wp_buffer_release(&s->fields);
}

/*
 * From here on nothing moves. A container has a schema, an array one more where its elements' are
 * brought together; a member is a field of its object, and of those.
 */
static enum wp_rc reserve_schemas(struct wp_connect_schemas *s, const struct wp_json_tree *tree)
{
	size_t containers = 0, members = 0;

	for (size_t i = 0; i < wp_json_tree_count(tree); i++) {
		const struct wp_json_node *n = wp_json_tree_node(tree, i);
		containers += n->kind == WP_JSON_ARRAY || n->kind == WP_JSON_OBJECT;
		members += n->kind == WP_JSON_OBJECT ? n->count : 0;
	}
	wp_buffer_empty(&s->schemas, containers);
	wp_buffer_empty(&s->fields, members);
	enum wp_rc rc =
		wp_buffer_reserve(&s->schemas, 2 * containers * sizeof(struct wp_connect_schema));
	if (rc != WP_OK)
		return rc;
	return wp_buffer_reserve(&s->fields, (2 * members + 1) * sizeof(struct wp_connect_field));
}

static struct wp_connect_schema *add_schema(struct wp_connect_schemas *s, enum wp_connect_type type)
{
	struct wp_connect_schema *added = (void *)(s->schemas.data + s->schemas.size);

	s->schemas.size += sizeof(*added);
	assert(s->schemas.size <= s->schemas.capacity);
	*added = (struct wp_connect_schema){ .type = type };
	return added;
}

static struct wp_connect_field *next_field(struct wp_connect_schemas *s)
{
	return (void *)(s->fields.data + s->fields.size);
}

static void add_field(struct wp_connect_schemas *s, const struct wp_connect_field *field)
{
	*next_field(s) = *field;
	s->fields.size += sizeof(*field);
	assert(s->fields.size <= s->fields.capacity);
}

/* ---- the schemas of an array's objects, brought together ---- */

static bool is_equal(const struct wp_connect_schema *a, const struct wp_connect_schema *b)
{
	if (a == b)
		return true;
	if (a->type != b->type || a->required != b->required || a->count != b->count)
		return false;
	if (a->type == WP_CONNECT_ARRAY)
		return is_equal(a->element, b->element);
	for (size_t i = 0; i < a->count; i++) {
		if (!wp_span_equal(a->fields[i].name, b->fields[i].name) ||
		    !is_equal(a->fields[i].schema, b->fields[i].schema))
			return false;
	}
	return true;
}

static int compare_field_places(const void *left, const void *right)
{
	const struct wp_connect_field *a = left, *b = right;

	return (a->place > b->place) - (a->place < b->place);
}

static int compare_names(const void *left, const void *right)
{
	const struct wp_connect_field *a = left, *b = right;
	int order = wp_json_name_compare(a->name, b->name);

	return order != 0 ? order : compare_field_places(left, right);
}

/* Keeps the first of fields of one name, side by side; one of nulls only if all are. */
static size_t make_unique(struct wp_connect_field *fields, size_t count)
{
	size_t unique = 0;

	for (size_t i = 0; i < count; i++) {
		if (unique == 0 || !wp_span_equal(fields[unique - 1].name, fields[i].name))
			fields[unique++] = fields[i];
		else if (fields[unique - 1].schema->type == WP_CONNECT_BYTES)
			fields[unique - 1].schema = fields[i].schema;
	}
	return unique;
}

/*
 * Debezium takes the elements' schemas out of a HashSet, whose order is another in each process
 * (the hash of an enum is its address); here they come as the elements do, which is one of the
 * orders Debezium may have. Its result is not optional: SchemaUtil.copySchemaBasics() does not
 * copy that.
 */
static const struct wp_connect_schema *merge(struct wp_connect_schemas *s,
					     const struct wp_json_node *array)
{
	struct wp_connect_schema *merged = add_schema(s, WP_CONNECT_STRUCT);
	struct wp_connect_field *fields = next_field(s);
	size_t from = s->fields.size, count = 0;

	for (const struct wp_json_node *n = array->first; n != NULL; n = n->next) {
		for (size_t i = 0; n->kind == WP_JSON_OBJECT && i < n->schema->count; i++) {
			struct wp_connect_field field = n->schema->fields[i];
			field.place = count++;
			add_field(s, &field);
		}
	}
	qsort(fields, count, sizeof(*fields), compare_names);
	count = make_unique(fields, count);
	qsort(fields, count, sizeof(*fields), compare_field_places);
	s->fields.size = from + count * sizeof(*fields);
	merged->required = true;
	merged->fields = fields;
	merged->count = count;
	return merged;
}

static const struct wp_connect_schema *schema_of_objects(struct wp_connect_schemas *s,
							 const struct wp_json_node *array,
							 const struct wp_json_node *first)
{
	bool same = true;

	for (const struct wp_json_node *n = array->first; n != NULL; n = n->next) {
		if (n->kind != WP_JSON_OBJECT)
			continue;
		if (n->schema->type == WP_CONNECT_BROKEN)
			return n->schema;
		same = same && is_equal(first->schema, n->schema);
	}
	return same ? first->schema : merge(s, array);
}

/* ---- one node after the other ---- */

static bool is_of_one_type(const struct wp_json_node *a, const struct wp_json_node *b)
{
	if (a->kind == WP_JSON_ARRAY || a->kind == WP_JSON_OBJECT)
		return a->kind == b->kind;
	return a->schema == b->schema; /* one of the constants */
}

/* Only the first of elements that are arrays is looked at. */
static const struct wp_connect_schema *schema_of_elements(struct wp_connect_schemas *s,
							  const struct wp_json_node *array)
{
	const struct wp_json_node *first = array->first;

	while (first != NULL && first->kind == WP_JSON_NULL)
		first = first->next;
	if (first == NULL)
		return array->first->schema->type == WP_CONNECT_BYTES ? &BYTES : &NULLS;
	for (const struct wp_json_node *n = first->next; n != NULL; n = n->next) {
		if (n->kind != WP_JSON_NULL && !is_of_one_type(first, n))
			return &MIXED;
	}
	if (first->kind == WP_JSON_OBJECT)
		return schema_of_objects(s, array, first);
	return first->schema->type == WP_CONNECT_NONE ? &EMPTY : first->schema;
}

static const struct wp_connect_schema *schema_of_array(struct wp_connect_schemas *s,
						       const struct wp_json_node *array,
						       const struct wp_expand_options *options)
{
	if (array->count == 0)
		return options->keep_empty_arrays ? &STRINGS : &NONE;
	const struct wp_connect_schema *element = schema_of_elements(s, array);
	if (element->type == WP_CONNECT_BROKEN)
		return element;
	struct wp_connect_schema *schema = add_schema(s, WP_CONNECT_ARRAY);
	schema->element = element;
	return schema;
}

static const struct wp_connect_schema *schema_of_object(struct wp_connect_schemas *s,
							const struct wp_json_node *object)
{
	struct wp_connect_schema *schema = add_schema(s, WP_CONNECT_STRUCT);

	schema->fields = next_field(s);
	for (const struct wp_json_node *n = object->first; n != NULL; n = n->next) {
		if (n->schema->type == WP_CONNECT_BROKEN)
			return n->schema;
		if (n->schema->type == WP_CONNECT_NONE)
			continue;
		if (wp_span_is(n->name, "\"\""))
			return &NAMELESS;
		struct wp_connect_field field = { .name = n->name, .schema = n->schema };
		add_field(s, &field);
		schema->count++;
	}
	return schema;
}

static const struct wp_connect_schema *schema_of_number(enum wp_jackson_number number)
{
	return number == WP_JACKSON_INT ? &INT32 : number == WP_JACKSON_LONG ? &INT64 : &FLOAT64;
}

static const struct wp_connect_schema *schema_of_node(struct wp_connect_schemas *s,
						      const struct wp_json_node *n,
						      const struct wp_expand_options *options)
{
	switch (n->kind) {
	case WP_JSON_NULL:
		return options->keep_nulls ? &BYTES : &NONE;
	case WP_JSON_FALSE:
	case WP_JSON_TRUE:
		return &BOOLEAN;
	case WP_JSON_NUMBER:
		return schema_of_number(n->number);
	case WP_JSON_STRING:
		return &STRING;
	case WP_JSON_ARRAY:
		return schema_of_array(s, n, options);
	case WP_JSON_OBJECT:
		return schema_of_object(s, n);
	}
	assert(false);
	return &NONE;
}

enum wp_rc wp_connect_schemas_find(struct wp_connect_schemas *s, const struct wp_json_tree *tree,
				   const struct wp_expand_options *options)
{
	enum wp_rc rc = reserve_schemas(s, tree);
	if (rc != WP_OK)
		return rc;
	/* It goes from the last on, so that what a container holds comes before it. */
	for (size_t i = wp_json_tree_count(tree); i-- > 0;) {
		struct wp_json_node *n = wp_json_tree_node(tree, i);
		n->schema = schema_of_node(s, n, options);
	}
	return WP_OK;
}
