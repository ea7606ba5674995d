/* JSON of properties: an object, alone or as "config" of another. */
#include "walpost/base/json.h"

#include "read.h"

struct reader {
	struct wp_import_properties *into;
	struct wp_error *error;
	const uint8_t *at; /* up to here lines are counted */
	unsigned line;
};

/* Members come in their order, so each byte is counted once. */
static unsigned line_of(struct reader *r, const uint8_t *place)
{
	for (; r->at < place; r->at++)
		r->line += *r->at == '\n';
	return r->line;
}

static enum wp_rc keep(struct reader *r, struct wp_span text, enum wp_json_kind kind,
		       size_t *ret_start)
{
	struct wp_buffer *texts = &r->into->texts;
	size_t start = texts->size;
	enum wp_rc rc = kind == WP_JSON_STRING ? wp_json_unescape(text, texts)
					       : wp_buffer_append(texts, text);

	if (rc == WP_DATA)
		return wp_error_set(r->error, WP_CONFIG,
				    "line %u: a \\u escape is half of a character", r->line);
	if (rc != WP_OK)
		return wp_error_set(r->error, WP_NOMEM, "out of memory for the texts");
	*ret_start = start;
	return wp_import_end_text(r->into, start, r->line, r->error);
}

static bool is_container(const struct wp_json *value)
{
	return value->kind == WP_JSON_OBJECT || value->kind == WP_JSON_ARRAY;
}

/* Beside "config" there may be anything; its text is nobody's. */
static enum wp_rc add_member(struct reader *r, struct wp_span name, const struct wp_json *value,
			     bool outside)
{
	struct wp_import_place place = { .value = WP_IMPORT_NO_VALUE, .outside = outside };
	enum wp_rc rc;

	place.line = line_of(r, name.data);
	rc = keep(r, name, WP_JSON_STRING, &place.name);
	if (rc != WP_OK)
		return rc;
	if (is_container(value) && !outside)
		return wp_error_set(r->error, WP_CONFIG,
				    "line %u: the value of a property is an object or an array; it "
				    "must be a text, a number, true, false or null",
				    place.line);
	if (!is_container(value) && value->kind != WP_JSON_NULL)
		rc = keep(r, value->text, value->kind, &place.value);
	return rc == WP_OK ? wp_import_add(r->into, &place, r->error) : rc;
}

static enum wp_rc add_members(struct reader *r, const struct wp_json *object)
{
	struct wp_json_walk walk;
	struct wp_json value;
	struct wp_span name;
	enum wp_rc rc = WP_OK;

	wp_json_walk_init(&walk, object);
	while (rc == WP_OK && wp_json_walk_next(&walk, &name, &value))
		rc = add_member(r, name, &value, false);
	return rc;
}

static bool is_config(struct wp_span name, const struct wp_json *value)
{
	return value->kind == WP_JSON_OBJECT && wp_span_is(name, "\"config\"");
}

/* `member` in its quotes. */
static bool has_object(const struct wp_json *object, const char *member)
{
	struct wp_json_walk walk;
	struct wp_json value;
	struct wp_span name;

	wp_json_walk_init(&walk, object);
	while (wp_json_walk_next(&walk, &name, &value))
		if (value.kind == WP_JSON_OBJECT && wp_span_is(name, member))
			return true;
	return false;
}

static enum wp_rc add_connector(struct reader *r, const struct wp_json *object)
{
	struct wp_json_walk walk;
	struct wp_json value;
	struct wp_span name;
	enum wp_rc rc = WP_OK;

	wp_json_walk_init(&walk, object);
	while (rc == WP_OK && wp_json_walk_next(&walk, &name, &value))
		rc = is_config(name, &value) ? add_members(r, &value)
					     : add_member(r, name, &value, true);
	return rc;
}

/* GET /connectors?expand=info, or status: connectors by their names. */
static bool is_listing(const struct wp_json *object)
{
	struct wp_json_walk walk;
	struct wp_json value;
	struct wp_span name;
	bool listing = false;

	wp_json_walk_init(&walk, object);
	while (wp_json_walk_next(&walk, &name, &value)) {
		listing = value.kind == WP_JSON_OBJECT &&
			  (has_object(&value, "\"info\"") || has_object(&value, "\"status\""));
		if (!listing)
			return false;
	}
	return listing;
}

static enum wp_rc add_all(struct reader *r, const struct wp_json *object)
{
	unsigned line = line_of(r, object->text.data);

	if (has_object(object, "\"config\""))
		return add_connector(r, object);
	if (has_object(object, "\"spec\""))
		return wp_error_set(r->error, WP_CONFIG,
				    "line %u: this is a Kubernetes resource: pass the contents of "
				    "its spec as config, with its class as connector.class",
				    line);
	if (is_listing(object))
		return wp_error_set(r->error, WP_CONFIG,
				    "line %u: this is Kafka Connect's list of connectors; pass one "
				    "of them, as GET /connectors/NAME returns it",
				    line);
	return add_members(r, object);
}

enum wp_rc wp_import_read_json(struct wp_span text, struct wp_import_properties *p,
			       struct wp_error *error)
{
	struct reader r = { .into = p, .error = error, .at = text.data, .line = 1 };
	struct wp_json_fault fault;
	struct wp_json json;

	if (wp_json_read(text, &json, &fault) != WP_OK)
		return wp_error_set(error, WP_CONFIG, "line %u: %s",
				    line_of(&r, text.data + fault.offset), fault.what);
	if (json.kind != WP_JSON_OBJECT)
		return wp_error_set(error, WP_CONFIG,
				    "line %u: it is an array; an object is required",
				    line_of(&r, json.text.data));
	return add_all(&r, &json);
}
