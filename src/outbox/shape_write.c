/* Writes single values into keys and headers, each in the form that is asked for. */
#include <assert.h>

#include "shape_parts.h"
#include "walpost/base/display.h"

/* The name of a message says that it is one. */
const char *wp_shape_kind(const struct wp_event *event)
{
	return wp_span_is_null(event->schema) ? "" : "table ";
}

enum wp_rc wp_shape_say(const struct wp_shape *s, const struct wp_event *event, const char *what,
			enum wp_rc rc, const struct wp_error *inner, struct wp_error *error)
{
	struct wp_excerpt id;

	switch (rc) {
	case WP_FULL:
		return wp_error_set(
			error, WP_DATA,
			"%s%s, id %s: %s, from a payload of %zu bytes as received from Postgres, "
			"exceeds %zu bytes, the maximum size of a record: make the event smaller%s",
			wp_shape_kind(event), event->table, wp_excerpt(&id, event->id), what,
			event->payload.size, s->value.size_max,
			s->record_max > 0 ? ", or raise message.max.bytes in [kafka], and "
					    "max.message.bytes of the topic"
					  : "");
	case WP_NOMEM:
		return wp_error_set(error, rc, "out of memory for %s, of a payload of %zu bytes",
				    what, event->payload.size);
	default:
		return wp_error_set(error, rc, "%s%s, id %s: %s: %s", wp_shape_kind(event),
				    event->table, wp_excerpt(&id, event->id), what, inner->text);
	}
}

void wp_shape_made(struct wp_shape *s, struct wp_span *place, size_t start)
{
	assert(s->made_count < WP_MADE_MAX);
	s->made[s->made_count++] = (struct wp_made){
		.place = place,
		.offset = start,
		.size = s->written.size - start,
	};
}

bool wp_shape_is_plain(const struct wp_shape *s, const struct wp_column_type *type)
{
	if (s->options->types == WP_RENDERING_POSTGRES)
		return true;
	switch (type->type) {
	case WP_TYPE_OTHER:
	case WP_TYPE_TEXT:
	case WP_TYPE_CHAR:
	case WP_TYPE_ENUM:
	case WP_TYPE_JSON:
	case WP_TYPE_JSONB:
	case WP_TYPE_UUID:
	case WP_TYPE_INT2:
	case WP_TYPE_INT4:
	case WP_TYPE_INT8:
	case WP_TYPE_PRINTED:
	case WP_TYPE_XML:
	case WP_TYPE_TSVECTOR:
	case WP_TYPE_LTREE:
		return true;
	default:
		return false;
	}
}

struct wp_column_type wp_shape_type_of(const struct wp_column_type *type, struct wp_span value)
{
	struct wp_column_type ret = *type;

	ret.is_optional |= wp_span_is_null(value);
	return ret;
}

static enum wp_rc write_with_schema(struct wp_buffer *into, const struct wp_column_type *type,
				    struct wp_span text, struct wp_error *error)
{
	struct wp_column_type here = wp_shape_type_of(type, text);
	enum wp_rc rc = wp_buffer_append_text(into, "{\"schema\":");

	if (rc == WP_OK)
		rc = wp_render_schema(into, &here, NULL);
	if (rc == WP_OK)
		rc = wp_buffer_append_text(into, ",\"payload\":");
	if (rc == WP_OK)
		rc = wp_render_json(into, type, text, error);
	return rc == WP_OK ? wp_buffer_append_byte(into, '}') : rc;
}

enum wp_rc wp_shape_write(struct wp_shape *s, struct wp_span *place, enum wp_form form,
			  enum wp_written_for what, const struct wp_column_type *type,
			  struct wp_span text, struct wp_error *error)
{
	bool is_debezium = s->options->types == WP_RENDERING_DEBEZIUM;
	size_t start = s->written.size;
	struct wp_column_type plain = {
		.type = WP_TYPE_TEXT,
		.modifier = -1,
		.is_optional = type->is_optional,
	};
	enum wp_rc rc;

	*place = text;
	if (wp_shape_is_text(form) && (wp_span_is_null(text) || wp_shape_is_plain(s, type)))
		return WP_OK;
	if (!is_debezium)
		type = &plain;
	if (form == WP_FORM_JSON)
		rc = wp_render_json(&s->written, type, text, error);
	else if (form == WP_FORM_JSON_SCHEMA)
		rc = write_with_schema(&s->written, type, text, error);
	else if (what == WP_FOR_HEADER && form == WP_FORM_RAW)
		rc = wp_render_header(&s->written, type, text, error);
	else
		rc = wp_render_string(&s->written, type, text, error);
	if (rc != WP_OK)
		s->written.size = start;
	else
		wp_shape_made(s, place, start);
	return rc;
}

enum wp_rc wp_shape_too_many(struct wp_error *error)
{
	return wp_error_set(error, WP_DATA,
			    "it has more than %d headers: reduce those in the outbox.headers.json "
			    "or outbox.headers.properties column",
			    WP_RECORD_HEADERS_MAX);
}

enum wp_rc wp_shape_add_header(struct wp_shape *s, struct wp_span name, struct wp_span value,
			       struct wp_error *error)
{
	assert(s->header_count < WP_RECORD_HEADERS_KEPT_MAX);
	s->headers[s->header_count++] = (struct wp_header){ .name = name, .value = value };
	return s->header_count <= WP_RECORD_HEADERS_MAX ? WP_OK : wp_shape_too_many(error);
}
