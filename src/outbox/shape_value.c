/* Makes the value of a record of the payload and the columns beside it, envelope and all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shape_parts.h"
#include "walpost/base/base64.h"
#include "walpost/base/hex.h"
#include "walpost/base/json.h"
#include "walpost/base/utf8.h"
#include "walpost/envelope/envelope.h"
#include "walpost/base/display.h"

/* This is a payload on its way into a value. */
struct payload {
	const struct wp_event *event;
	struct wp_span bytes; /* a bytea's own, else the text */
	bool is_bytes;
	struct wp_expanded expanded; /* with payload.json = expand */
};

/* -- bytea ------------------------------------------------------------------- */

/* Returns where it stopped: the end, or the first pair that is not hexadecimal. */
static size_t decode_hex(const uint8_t *digits, size_t count, uint8_t *to)
{
	for (size_t i = 0; i + 1 < count; i += 2) {
		int high = wp_hex_value(digits[i]);
		int low = wp_hex_value(digits[i + 1]);
		if ((high | low) < 0)
			return i;
		to[i / 2] = (uint8_t)(high << 4 | low);
	}
	return count & ~(size_t)1;
}

static enum wp_rc say_broken(struct wp_span text, size_t offset, struct wp_error *error)
{
	return wp_error_set(
		error, WP_DATA,
		"the bytea payload (outbox.column.payload) is not \\x and pairs of hexadecimal "
		"digits at offset %zu of %zu; the session requires bytea_output = hex",
		offset, text.size);
}

/* Decodes \x and pairs of digits (PostgreSQL documentation, "bytea Hex Format"). */
static enum wp_rc decode_bytea(struct wp_shape *s, struct wp_span text, struct wp_span *ret,
			       struct wp_error *error)
{
	if (text.size < 2 || text.data[0] != '\\' || text.data[1] != 'x')
		return say_broken(text, 0, error);
	size_t count = text.size - 2;
	wp_buffer_empty(&s->decoded, count / 2);
	enum wp_rc rc = wp_buffer_reserve(&s->decoded, count / 2);
	if (rc != WP_OK)
		return rc;
	size_t done = decode_hex(text.data + 2, count, s->decoded.data);
	if (done < count)
		return say_broken(text, done + 2, error);
	s->decoded.size = count / 2;
	*ret = wp_buffer_span(&s->decoded);
	return WP_OK;
}

static enum wp_rc decode_base64(struct wp_shape *s, struct wp_span text, struct wp_span *ret,
				struct wp_error *error)
{
	wp_buffer_empty(&s->decoded, text.size);
	enum wp_rc rc = wp_base64_read(&s->decoded, text);
	if (rc == WP_DATA)
		return wp_error_set(error, rc,
				    "the payload is not in base64: correct the row, or set "
				    "outbox.payload.encoding = none");
	if (rc == WP_OK)
		*ret = wp_buffer_span(&s->decoded);
	return rc;
}

static enum wp_rc read_payload(struct wp_shape *s, struct payload *p, struct wp_error *error)
{
	const struct wp_event *event = p->event;

	p->is_bytes = event->payload_type->type == WP_TYPE_BYTEA;
	p->bytes = event->payload;
	if (wp_span_is_null(event->payload))
		return WP_OK;
	if (s->options->payload_encoding == WP_PAYLOAD_ENCODING_BASE64 && !p->is_bytes) {
		p->is_bytes = true;
		return decode_base64(s, event->payload, &p->bytes, error);
	}
	if (event->payload_is_bytea)
		return decode_bytea(s, event->payload, &p->bytes, error);
	return WP_OK;
}

/* -- what it must be ------------------------------------------------------------ */

/* Java's trim() takes away all up to the space. */
static bool is_blank_text(struct wp_span text)
{
	for (size_t i = 0; i < text.size; i++) {
		if (text.data[i] > ' ')
			return false;
	}
	return true;
}

static bool is_tombstone(const struct wp_shape *s, const struct payload *p)
{
	return s->options->payload_empty == WP_PAYLOAD_EMPTY_TOMBSTONE &&
	       (wp_span_is_null(p->bytes) || (!p->is_bytes && is_blank_text(p->bytes)));
}

static enum wp_rc check_json(struct wp_span text, struct wp_error *error)
{
	struct wp_json json;
	struct wp_json_fault fault;

	enum wp_rc rc = wp_json_read(text, &json, &fault);
	if (rc == WP_DATA)
		return wp_error_set(error, rc,
				    "the payload is not JSON at byte %zu of %zu: %s: correct the "
				    "row, or set outbox.payload.json = any",
				    fault.offset, text.size, fault.what);
	return rc;
}

/* Looks into it as far as payload.json asks for. */
static enum wp_rc examine(struct wp_shape *s, struct payload *p, struct wp_error *error)
{
	p->expanded.as = WP_EXPANDED_TEXT;
	if (wp_span_is_null(p->bytes))
		return WP_OK;
	switch (s->options->payload_json) {
	case WP_PAYLOAD_JSON_VALIDATE:
		return check_json(p->bytes, error);
	case WP_PAYLOAD_JSON_EXPAND:
		return p->is_bytes ? WP_OK
				   : wp_expand_payload(s->expand, p->bytes, &p->expanded, error);
	default:
		return WP_OK;
	}
}

/* -- JSON ----------------------------------------------------------------------- */

static enum wp_rc append_base64(struct wp_buffer *into, struct wp_span bytes)
{
	enum wp_rc rc = wp_buffer_append_byte(into, '"');

	if (rc == WP_OK)
		rc = wp_base64_write(into, bytes);
	return rc == WP_OK ? wp_buffer_append_byte(into, '"') : rc;
}

/* Whose rendering is it? As Postgres prints it, all is text. */
static struct wp_column_type type_in_json(const struct wp_shape *s, const struct wp_column_type *t)
{
	if (s->options->types == WP_RENDERING_DEBEZIUM || t->type == WP_TYPE_BYTEA)
		return *t;
	return (struct wp_column_type){
		.type = WP_TYPE_TEXT,
		.modifier = -1,
		.is_optional = t->is_optional,
	};
}

/* A member of a JSON column has no schema: beside one it is a string. */
static enum wp_rc append_rendered(struct wp_shape *s, const struct wp_column_type *of,
				  struct wp_span text, struct wp_error *error)
{
	struct wp_column_type type = type_in_json(s, of);

	if (of->is_value && s->options->value_format == WP_FORM_JSON && !wp_span_is_null(text))
		return wp_buffer_append(&s->value, text);
	return wp_render_json(&s->value, &type, text, error);
}

static enum wp_rc append_payload(struct wp_shape *s, const struct payload *p,
				 struct wp_error *error)
{

	if (wp_span_is_null(p->bytes))
		return wp_buffer_append_text(&s->value, "null");
	if (p->is_bytes)
		return append_base64(&s->value, p->bytes);
	if (s->options->payload_json == WP_PAYLOAD_JSON_VALIDATE)
		return wp_buffer_append(&s->value, p->bytes);
	if (p->expanded.as == WP_EXPANDED_VALUE)
		return wp_buffer_append(&s->value, p->expanded.value);
	return append_rendered(s, p->event->payload_type, p->bytes, error);
}

/* `field`: its name within a struct; NULL: it stands alone. */
static enum wp_rc append_payload_schema(struct wp_shape *s, const struct payload *p,
					const char *field, struct wp_error *error)
{
	struct wp_column_type type = type_in_json(s, p->event->payload_type);

	if (s->options->payload_json == WP_PAYLOAD_JSON_VALIDATE ||
	    p->expanded.as == WP_EXPANDED_BARE)
		return wp_buffer_append_text(&s->value, "null");
	if (p->expanded.as == WP_EXPANDED_VALUE)
		return wp_expand_schema(s->expand, wp_span_of(s->options->column_payload),
					wp_span_of(field), &s->value, error);
	type = wp_shape_type_of(&type, p->bytes);
	return wp_render_schema(&s->value, &type, field);
}

static enum wp_rc append_members(struct wp_shape *s, const struct payload *p,
				 struct wp_error *error)
{
	const struct wp_event_fields *members = &p->event->members;
	enum wp_rc rc = wp_buffer_append_text(&s->value, "{\"payload\":");

	if (rc == WP_OK)
		rc = append_payload(s, p, error);
	for (size_t i = 0; i < members->count && rc == WP_OK; i++) {
		const struct wp_event_field *member = &members->items[i];
		rc = wp_buffer_append_byte(&s->value, ',');
		if (rc == WP_OK)
			rc = wp_json_write_string(&s->value, member->name, WP_JSON_JACKSON);
		if (rc == WP_OK)
			rc = wp_buffer_append_byte(&s->value, ':');
		if (rc == WP_OK)
			rc = append_rendered(s, member->type, member->value, error);
	}
	return rc == WP_OK ? wp_buffer_append_byte(&s->value, '}') : rc;
}

/* Debezium takes the name of the table's change events, the raw topic before its last part. */
static enum wp_rc append_struct_name(struct wp_shape *s, const struct wp_event *event,
				     struct wp_error *error)
{
	struct wp_buffer *name = &s->texts;
	const char *prefix = s->options->debezium_name;

	wp_buffer_reset(name);
	enum wp_rc rc = wp_buffer_printf(name, "%s%s%.*s.%.*s.%.*s.Value", prefix,
					 prefix[0] == '\0' ? "" : ".", (int)event->schema.size,
					 (const char *)event->schema.data, (int)event->name.size,
					 (const char *)event->name.data, (int)event->route.size,
					 (const char *)event->route.data);
	if (rc == WP_OK && !wp_utf8_is_valid(wp_buffer_span(name)))
		return wp_error_set(
			error, WP_DATA,
			"the raw topic or the table's name, from which the schema's name is "
			"derived, is not UTF-8: correct it, or set outbox.value.format = json");
	if (rc == WP_OK)
		rc = wp_json_write_string(&s->value, wp_buffer_span(name), WP_JSON_JACKSON);
	return rc;
}

/* Is it one as it is printed, without leading zeros? */
static bool is_int32(struct wp_span text)
{
	char digits[16] = "";
	char again[16];

	if (text.size >= sizeof(digits))
		return false;
	memcpy(digits, text.data, text.size);
	long long number = strtoll(digits, NULL, 10);
	(void)snprintf(again, sizeof(again), "%lld", number);
	return number >= INT32_MIN && number <= INT32_MAX && wp_span_is(text, again);
}

/* From a row it is an integer; from a message it may be anything. */
static enum wp_rc append_version(struct wp_shape *s, struct wp_span version, struct wp_error *error)
{
	struct wp_excerpt shown;

	if (!is_int32(version))
		return wp_error_set(error, WP_DATA,
				    "\"%s\" is not a version, which is a 32-bit integer: correct "
				    "the row's outbox.debezium.schema.version column",
				    wp_excerpt(&shown, version));
	enum wp_rc rc = wp_buffer_append_text(&s->value, ",\"version\":");
	return rc == WP_OK ? wp_buffer_append(&s->value, version) : rc;
}

static enum wp_rc append_struct_schema(struct wp_shape *s, const struct payload *p,
				       struct wp_error *error)
{
	const struct wp_event_fields *members = &p->event->members;
	enum wp_rc rc = wp_buffer_append_text(&s->value, "{\"type\":\"struct\",\"fields\":[");

	if (rc == WP_OK)
		rc = append_payload_schema(s, p, "payload", error);
	for (size_t i = 0; i < members->count && rc == WP_OK; i++) {
		struct wp_column_type type = type_in_json(s, members->items[i].type);
		type = wp_shape_type_of(&type, members->items[i].value);
		rc = wp_buffer_append_byte(&s->value, ',');
		if (rc == WP_OK)
			rc = wp_render_schema(&s->value, &type,
					      (const char *)members->items[i].name.data);
	}
	if (rc == WP_OK)
		rc = wp_buffer_append_text(&s->value, "],\"optional\":false,\"name\":");
	if (rc == WP_OK)
		rc = append_struct_name(s, p->event, error);
	if (rc == WP_OK && !wp_span_is_null(p->event->schema_version))
		rc = append_version(s, p->event->schema_version, error);
	return rc == WP_OK ? wp_buffer_append_byte(&s->value, '}') : rc;
}

static enum wp_rc write_json(struct wp_shape *s, const struct payload *p, struct wp_error *error)
{
	bool with_schema = s->options->value_format == WP_FORM_JSON_SCHEMA;
	bool is_struct = p->event->members.count > 0;
	enum wp_rc rc = WP_OK;

	if (with_schema)
		rc = wp_buffer_append_text(&s->value, "{\"schema\":");
	if (rc == WP_OK && with_schema)
		rc = is_struct ? append_struct_schema(s, p, error)
			       : append_payload_schema(s, p, NULL, error);
	if (rc == WP_OK && with_schema)
		rc = wp_buffer_append_text(&s->value, ",\"payload\":");
	if (rc == WP_OK)
		rc = is_struct ? append_members(s, p, error) : append_payload(s, p, error);
	if (rc == WP_OK && with_schema)
		rc = wp_buffer_append_byte(&s->value, '}');
	return rc;
}

/* -- all together ----------------------------------------------------------------- */

static enum wp_rc envelop(struct wp_shape *s, const struct payload *p, struct wp_record *record,
			  struct wp_error *error)
{
	const struct wp_event *event = p->event;

	if (s->options->envelope != WP_ENVELOPE_PROTOBUF)
		return wp_shape_cloudevent(s, event, p->bytes, record, error);
	record->value = p->bytes;
	wp_buffer_empty(&s->texts, event->id.size + event->type.size + event->route.size);
	enum wp_rc rc = wp_envelope_protobuf(event, record, &s->texts, &s->value, error);
	if (rc == WP_OK)
		record->value = wp_buffer_span(&s->value);
	return rc;
}

static enum wp_rc append_raw(struct wp_shape *s, const struct payload *p, struct wp_error *error)
{
	if (p->is_bytes || wp_shape_is_plain(s, p->event->payload_type))
		return wp_buffer_append(&s->value, p->bytes);
	return wp_render_string(&s->value, p->event->payload_type, p->bytes, error);
}

/* Writes it behind the id of its schema, never without it. */
static enum wp_rc write_framed(struct wp_shape *s, const struct payload *p,
			       struct wp_record *record, struct wp_error *error)
{
	enum wp_rc rc = wp_shape_frame(s, p->event, record->topic, error);

	if (rc == WP_OK)
		rc = append_raw(s, p, error);
	if (rc == WP_OK)
		record->value = wp_buffer_span(&s->value);
	return rc;
}

/* Writes the payload as it is, or behind what Confluent's consumers want before it. */
static enum wp_rc write_raw(struct wp_shape *s, const struct payload *p, struct wp_record *record,
			    struct wp_error *error)
{
	struct wp_span prefix = { 0 };
	enum wp_rc rc = WP_OK;

	record->value = p->bytes;
	if (wp_span_is_null(p->bytes))
		return WP_OK;
	if (s->versions != NULL && !wp_span_is_null(record->topic))
		return write_framed(s, p, record, error);
	if (s->schema_ids != NULL && !wp_span_is_null(record->topic))
		prefix = wp_schema_ids_prefix(s->schema_ids, record->topic);
	bool as_it_stands = p->is_bytes || wp_shape_is_plain(s, p->event->payload_type);
	if (wp_span_is_null(prefix) && as_it_stands)
		return WP_OK;
	if (!wp_span_is_null(prefix))
		rc = wp_buffer_append(&s->value, prefix);
	if (rc == WP_OK)
		rc = append_raw(s, p, error);
	record->value = wp_buffer_span(&s->value);
	return rc;
}

static enum wp_rc write_payload(struct wp_shape *s, const struct payload *p,
				struct wp_record *record, struct wp_error *error)
{
	enum wp_rc rc;

	if (s->options->envelope != WP_ENVELOPE_RAW)
		return envelop(s, p, record, error);
	if (s->options->value_format == WP_FORM_RAW)
		return write_raw(s, p, record, error);
	rc = write_json(s, p, error);
	record->value = wp_buffer_span(&s->value);
	return rc;
}

enum wp_rc wp_shape_value(struct wp_shape *s, const struct wp_event *event,
			  struct wp_record *record, struct wp_error *error)
{
	struct payload p = { .event = event };

	if (s->value.capacity > 0)
		wp_buffer_empty(&s->value, event->payload.size);
	enum wp_rc rc = read_payload(s, &p, error);
	if (rc == WP_OK && is_tombstone(s, &p)) {
		record->value = (struct wp_span){ 0 };
		return WP_OK;
	}
	if (rc == WP_OK)
		rc = examine(s, &p, error);
	if (rc == WP_OK && record->header_count > WP_RECORD_HEADERS_MAX)
		rc = wp_error_set(error, WP_DATA, "it has too many headers");
	if (rc == WP_OK)
		rc = write_payload(s, &p, record, error);
	if (rc != WP_OK)
		record->value = p.bytes;
	return rc;
}
