/* Writes a Connect schema as JsonConverter does. */
#include "connect_schema.h"

/* These are Jackson's StreamWriteConstraints; JsonConverter puts the schema into an object. */
#define DEPTH_MAX 1000
#define DEPTH_ALONE 2
#define DEPTH_AS_FIELD 4 /* in the fields of the schema there */

/*
 * A schema is as JsonConverter.asJsonSchema() has it:
 *   {"type":T,"optional":B,"field":F}
 *   {"type":"array","items":SCHEMA,"optional":B,"field":F}
 *   {"type":"struct","fields":[SCHEMA,...],"optional":B,"name":N,"field":F}
 * F is there in the fields of a struct; N is that of the struct around and a dot and F, or
 * nothing in an array of arrays, from where on names begin anew.
 */
struct writer {
	struct wp_buffer *into;
	struct wp_buffer *path; /* names, one behind the other, as Jackson writes them */
	enum wp_rc rc;		/* sticky */
};

static void append_span(struct writer *w, struct wp_span bytes)
{
	if (w->rc == WP_OK)
		w->rc = wp_buffer_append(w->into, bytes);
}

static void put_fixed_text(struct writer *w, const char *text)
{
	append_span(w, wp_span_of(text));
}

static void extend(struct writer *w, struct wp_span bytes)
{
	if (w->rc == WP_OK)
		w->rc = wp_buffer_append(w->path, bytes);
}

static struct wp_span path_from(const struct writer *w, size_t from)
{
	struct wp_span path = wp_buffer_span(w->path);

	return (struct wp_span){ path.data + from, path.size - from };
}

/* Would Java's String.trim() leave nothing? Escapes are those of control characters, or not. */
static bool is_blank_name(struct wp_span name)
{
	for (size_t i = 0; i < name.size; i++) {
		if (name.data[i] == ' ')
			continue;
		if (name.data[i] != '\\')
			return false;
		uint8_t escape = name.data[++i];
		if (escape == '"' || escape == '\\')
			return false;
		if (escape != 'u')
			continue;
		if (name.data[i + 1] != '0')
			return false; /* half of a character */
		i += 4;
	}
	return true;
}

static const char *connect_type_name(enum wp_connect_type type)
{
	switch (type) {
	case WP_CONNECT_STRING:
		return "string";
	case WP_CONNECT_BOOLEAN:
		return "boolean";
	case WP_CONNECT_INT32:
		return "int32";
	case WP_CONNECT_INT64:
		return "int64";
	case WP_CONNECT_FLOAT64:
		return "double";
	case WP_CONNECT_BYTES:
		return "bytes";
	case WP_CONNECT_ARRAY:
		return "array";
	default:
		return "struct";
	}
}

static void put_schema(struct writer *w, const struct wp_connect_schema *schema, size_t from,
		       struct wp_span field, size_t depth);

static void put_field_schema(struct writer *w, const struct wp_connect_field *field, size_t from,
			     size_t depth)
{
	size_t size = w->path->size;

	if (from < size)
		extend(w, wp_span_of("."));
	extend(w, (struct wp_span){ field->name.data + 1, field->name.size - 2 });
	if (w->rc == WP_OK)
		put_schema(w, field->schema, from, field->name, depth);
	w->path->size = size;
}

static void put_fields(struct writer *w, const struct wp_connect_schema *schema, size_t from,
		       size_t depth)
{
	/* This is asked once: a path may be as long as the payload, and have as many fields. */
	if (is_blank_name(path_from(w, from)))
		from = w->path->size;
	put_fixed_text(w, ",\"fields\":[");
	for (size_t i = 0; i < schema->count && w->rc == WP_OK; i++) {
		if (i > 0)
			put_fixed_text(w, ",");
		put_field_schema(w, &schema->fields[i], from, depth);
	}
	put_fixed_text(w, "]");
}

static void put_items(struct writer *w, const struct wp_connect_schema *schema, size_t from,
		      size_t depth)
{
	bool of_objects = schema->element->type == WP_CONNECT_STRUCT;

	put_fixed_text(w, ",\"items\":");
	put_schema(w, schema->element, of_objects ? from : w->path->size, (struct wp_span){ 0 },
		   depth);
}

/* `depth` is that of its brace; a struct has the bracket of its fields too. */
static void put_schema(struct writer *w, const struct wp_connect_schema *schema, size_t from,
		       struct wp_span field, size_t depth)
{
	bool is_struct = schema->type == WP_CONNECT_STRUCT;

	if (w->rc == WP_OK && depth + is_struct > DEPTH_MAX)
		w->rc = WP_DATA;
	if (w->rc != WP_OK)
		return;
	put_fixed_text(w, "{\"type\":\"");
	put_fixed_text(w, connect_type_name(schema->type));
	put_fixed_text(w, "\"");
	if (is_struct)
		put_fields(w, schema, from, depth + 2);
	else if (schema->type == WP_CONNECT_ARRAY)
		put_items(w, schema, from, depth + 1);
	put_fixed_text(w, schema->required ? ",\"optional\":false" : ",\"optional\":true");
	if (is_struct && w->path->size > from) {
		put_fixed_text(w, ",\"name\":\"");
		append_span(w, path_from(w, from));
		put_fixed_text(w, "\"");
	}
	if (!wp_span_is_null(field)) {
		put_fixed_text(w, ",\"field\":");
		append_span(w, field);
	}
	put_fixed_text(w, "}");
}

enum wp_rc wp_connect_schema_write(const struct wp_connect_schema *schema, struct wp_span column,
				   struct wp_span field, struct wp_buffer *path,
				   struct wp_buffer *into)
{
	struct writer w = { .into = into, .path = path };
	bool alone = wp_span_is_null(field);

	/* The path begins with a name of the database, in Jackson's form, with its quotes. */
	wp_buffer_reset(path);
	w.rc = wp_json_write_string(path, column, WP_JSON_JACKSON);
	if (w.rc != WP_OK)
		return w.rc;
	path->size--;
	put_schema(&w, schema, 1, (struct wp_span){ 0 }, alone ? DEPTH_ALONE : DEPTH_AS_FIELD);
	if (alone || w.rc != WP_OK)
		return w.rc;
	into->size--; /* the closing brace comes behind the field's name */
	put_fixed_text(&w, ",\"field\":");
	if (w.rc == WP_OK)
		w.rc = wp_json_write_string(into, field, WP_JSON_JACKSON);
	put_fixed_text(&w, "}");
	return w.rc;
}
