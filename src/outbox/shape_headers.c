#include <string.h>

#include "shape_parts.h"
#include "walpost/outbox/json_headers.h"
#include "walpost/outbox/properties.h"

/* 0: unknown. */
static unsigned standard_header(const char *name, size_t size)
{
	struct wp_span span = { .data = (const uint8_t *)name, .size = size };

	if (wp_span_is(span, "id"))
		return WP_HEADER_ID;
	if (wp_span_is(span, "type"))
		return WP_HEADER_TYPE;
	return wp_span_is(span, "walpost-position") ? WP_HEADER_POSITION : 0;
}

enum wp_rc wp_shape_parse_standard(const char *list, unsigned *ret, struct wp_why *why)
{
	static const char space[] = " \t\r\n";
	unsigned headers = 0;
	const char *at = list + strspn(list, space);

	while (*at != '\0') {
		const char *end = at + strcspn(at, ",");
		size_t size = (size_t)(end - at);
		while (size > 0 && strchr(space, at[size - 1]) != NULL)
			size--;
		unsigned header = standard_header(at, size);
		if (header == 0 || (headers & header) != 0 || strcmp(end, ",") == 0)
			return wp_why_set(why, WP_CONFIG,
					  "outbox.headers.standard = \"%.200s\": allowed is a "
					  "comma-separated "
					  "list of id, type and walpost-position, each once at "
					  "most, or nothing",
					  list);
		headers |= header;
		at = *end == ',' ? end + 1 : end;
		at += strspn(at, space);
	}
	*ret = headers;
	return WP_OK;
}

enum wp_rc wp_shape_add_header(struct wp_shape *s, struct wp_span name, struct wp_span value,
			       struct wp_why *why)
{
	if (s->header_count == WP_RECORD_HEADERS_MAX)
		return wp_why_set(why, WP_DATA,
				  "it has more than %d headers: take members out of what "
				  "outbox.headers.json or outbox.headers.properties reads",
				  WP_RECORD_HEADERS_MAX);
	s->headers[s->header_count++] = (struct wp_header){ .name = name, .value = value };
	return WP_OK;
}

/* In the form that outbox.headers.format says. */
static enum wp_rc add_written(struct wp_shape *s, struct wp_span name,
			      const struct wp_column_type *type, struct wp_span text,
			      struct wp_why *why)
{
	const struct wp_outbox_options *o = s->options;
	enum wp_rc rc = wp_shape_add_header(s, name, text, why);

	/* Most often: of all rendered ones the one that is none. */
	if (rc != WP_OK || (o->headers_format == WP_FORM_RAW && o->types == WP_RENDERING_POSTGRES))
		return rc;
	return wp_shape_write(s, &s->headers[s->header_count - 1].value, o->headers_format,
			      WP_FOR_HEADER, type, text, why);
}

/* Debezium: io.debezium.transforms... adds them before all others since 3.x. */
static enum wp_rc add_context(struct wp_shape *s, struct wp_why *why)
{
	static const struct wp_column_type text = { .type = WP_TYPE_TEXT, .modifier = -1 };
	const struct {
		const char *name;
		const char *value;
	} headers[] = {
		{ "__debezium.context.connectorLogicalName", s->options->debezium_name },
		{ "__debezium.context.taskId", "0" },
		{ "__debezium.context.connectorName", "postgresql" },
		{ "__debezium.context.runId", s->run_id },
	};
	enum wp_rc rc = WP_OK;

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]) && rc == WP_OK; i++)
		rc = add_written(s, wp_span_of(headers[i].name), &text,
				 wp_span_of(headers[i].value), why);
	return rc;
}

static enum wp_rc add_standard(struct wp_shape *s, const struct wp_event *event, struct wp_why *why)
{
	const struct wp_outbox_options *options = s->options;
	enum wp_rc rc = WP_OK;

	if (s->standard_headers & WP_HEADER_ID)
		rc = add_written(s, wp_span_of("id"), event->id_type, event->id, why);
	if (rc == WP_OK && s->standard_headers & WP_HEADER_TYPE && options->column_type[0] != '\0')
		rc = add_written(s, wp_span_of("type"), event->type_type, event->type, why);
	if (rc == WP_OK && s->standard_headers & WP_HEADER_POSITION)
		rc = wp_shape_add_header(
			s, wp_span_of("walpost-position"),
			wp_span_of(wp_position_text(&event->position, s->position)), why);
	if (rc == WP_OK && options->headers_source[0] != '\0')
		rc = wp_shape_add_header(s, wp_span_of("walpost-source"),
					 wp_span_of(options->headers_source), why);
	return rc;
}

/*
 * Room for all names out of JSON and properties, with a NUL behind each, and for what is
 * unescaped of them: it must not move. A name has a quote or a separator beside it.
 */
static enum wp_rc make_room(struct wp_shape *s, const struct wp_event *event)
{
	size_t size = event->properties.size + event->json_headers.size;

	if (wp_span_is_null(event->properties) && wp_span_is_null(event->json_headers))
		return WP_OK;
	wp_buffer_empty(&s->names, 2 * size + 2);
	return wp_buffer_reserve(&s->names, 2 * size + 2);
}

/* A copy of the name with its NUL. */
static enum wp_rc add_named(struct wp_shape *s, struct wp_span name, struct wp_span value,
			    struct wp_why *why)
{
	struct wp_span copy = { .data = s->names.data + s->names.size, .size = name.size };

	if (name.size == 0)
		return wp_why_set(why, WP_DATA,
				  "a header has an empty name: correct what outbox.headers.json or "
				  "outbox.headers.properties reads");
	enum wp_rc rc = wp_buffer_append(&s->names, name);
	if (rc == WP_OK)
		rc = wp_buffer_append_byte(&s->names, '\0');
	return rc == WP_OK ? wp_shape_add_header(s, copy, value, why) : rc;
}

static enum wp_rc add_properties(struct wp_shape *s, struct wp_span text, struct wp_why *why)
{
	struct wp_properties walk;
	struct wp_property property;

	enum wp_rc rc = wp_properties_init(&walk, text, &s->names, why);
	while (rc == WP_OK) {
		rc = wp_properties_next(&walk, &property, why);
		if (rc != WP_OK || wp_span_is_null(property.name))
			return rc;
		rc = add_named(s, property.name, property.value, why);
	}
	return rc;
}

static enum wp_rc add_json(struct wp_shape *s, struct wp_span text, struct wp_why *why)
{
	struct wp_json_headers walk;
	struct wp_json_header header;

	enum wp_rc rc = wp_json_headers_init(&walk, text, &s->names, why);
	while (rc == WP_OK) {
		rc = wp_json_headers_next(&walk, &header, why);
		if (rc != WP_OK || wp_span_is_null(header.name))
			return rc;
		rc = add_named(s, header.name, header.value, why);
	}
	return rc;
}

enum wp_rc wp_shape_headers(struct wp_shape *s, const struct wp_event *event, struct wp_why *why)
{
	s->header_count = 0;
	enum wp_rc rc = make_room(s, event);
	if (rc == WP_OK && s->options->debezium_context_headers)
		rc = add_context(s, why);
	if (rc == WP_OK && !wp_span_is_null(event->properties))
		rc = add_properties(s, event->properties, why);
	if (rc == WP_OK)
		rc = add_standard(s, event, why);
	for (size_t i = 0; i < event->headers.count && rc == WP_OK; i++) {
		const struct wp_event_field *field = &event->headers.items[i];
		rc = add_written(s, field->name, field->type, field->value, why);
	}
	if (rc == WP_OK && !wp_span_is_null(event->json_headers))
		rc = add_json(s, event->json_headers, why);
	return rc;
}
