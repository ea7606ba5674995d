/* Makes a CloudEvent of an event, with the attributes that columns and options give. */
#include <assert.h>

#include "shape_parts.h"
#include "walpost/base/json.h"
#include "walpost/envelope/cloudevent.h"

static bool is_bytes(const struct wp_shape *s, const struct wp_event *event)
{
	return event->payload_type->type == WP_TYPE_BYTEA ||
	       s->options->payload_encoding == WP_PAYLOAD_ENCODING_BASE64;
}

/* The payload's type says it, where the configuration does not. */
static struct wp_span content_type(const struct wp_shape *s, const struct wp_event *event)
{
	if (s->options->ce_datacontenttype[0] != '\0')
		return wp_span_of(s->options->ce_datacontenttype);
	if (is_bytes(s, event))
		return wp_span_of("application/octet-stream");
	switch (event->payload_type->type) {
	case WP_TYPE_JSON:
	case WP_TYPE_JSONB:
		return wp_span_of("application/json");
	default:
		return wp_span_of("text/plain");
	}
}

static struct wp_cloudevent cloudevent_of(struct wp_shape *s, const struct wp_event *event,
					  struct wp_span data)
{
	const struct wp_outbox_options *o = s->options;
	bool by_column = event->ce_source.size > 0 || o->ce_source[0] == '\0';

	for (size_t i = 0; i < event->extensions.count; i++)
		s->extensions[i] = (struct wp_header){
			.name = event->extensions.items[i].name,
			.value = event->extensions.items[i].value,
		};
	return (struct wp_cloudevent){
		.id = event->id,
		.source = by_column ? event->ce_source : wp_span_of(o->ce_source),
		.type = event->type,
		.subject = event->ce_subject,
		.datacontenttype = content_type(s, event),
		.dataschema = wp_span_of(o->ce_dataschema[0] == '\0' ? NULL : o->ce_dataschema),
		.time_us = s->time_us,
		.extensions = s->extensions,
		.extension_count = event->extensions.count,
		.data = data,
		.data_form = is_bytes(s, event) ? WP_CLOUDEVENT_BINARY : WP_CLOUDEVENT_TEXT,
	};
}

/* A column has this attribute: envelope/cloudevent does not know which. */
struct sought {
	const char *rule; /* what a CloudEvent must */
	struct wp_span value;
	const char *column;
	const char *option;
	bool may_be_null;
	const char *cure;
};

static enum wp_rc check_sought(const struct sought *a, struct wp_error *error)
{
	bool is_null = wp_span_is_null(a->value);

	if (a->value.size > 0 || (is_null && a->may_be_null))
		return WP_OK;
	return wp_error_set(error, WP_DATA,
			    "column \"%s\" (%s) is %s, but a CloudEvent must %s: "
			    "correct the row%s",
			    a->column, a->option, is_null ? "NULL" : "empty", a->rule, a->cure);
}

/* Checks attributes by the columns that are to have them. */
static enum wp_rc check_columns(const struct wp_outbox_options *o, const struct wp_cloudevent *e,
				struct wp_error *error)
{
	const struct sought all[] = {
		{ "have an id", e->id, o->column_id, "outbox.column.id", false, "" },
		{ "have a source", e->source, o->ce_source_column,
		  "outbox.cloudevents.source.column", false,
		  ", or set outbox.cloudevents.source for such rows" },
		{ "have a type", e->type, o->column_type, "outbox.column.type", false, "" },
		{ "have no empty subject", e->subject, o->ce_subject, "outbox.cloudevents.subject",
		  true, "; NULL is no subject" },
	};
	enum wp_rc rc = WP_OK;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && rc == WP_OK; i++)
		rc = check_sought(&all[i], error);
	return rc;
}

static enum wp_rc add_content_type(struct wp_shape *s, const char *type, struct wp_error *error)
{
	return wp_shape_add_header(s, wp_span_of(WP_CLOUDEVENT_TYPE_HEADER), wp_span_of(type),
				   error);
}

static enum wp_rc add_attribute_headers(struct wp_shape *s, const struct wp_cloudevent *e,
					struct wp_error *error)
{
	assert(s->header_count <= WP_RECORD_HEADERS_MAX);
	enum wp_rc rc = wp_cloudevent_headers(e, &s->texts, s->headers, WP_RECORD_HEADERS_MAX,
					      &s->header_count);

	if (rc == WP_FULL)
		return wp_error_set(error, WP_DATA, "it has more than %d headers",
				    WP_RECORD_HEADERS_MAX);
	return rc;
}

enum wp_rc wp_shape_cloudevent(struct wp_shape *s, const struct wp_event *event,
			       struct wp_span data, struct wp_record *record,
			       struct wp_error *error)
{
	const struct wp_cloudevent e = cloudevent_of(s, event, data);
	enum wp_rc rc = check_columns(s->options, &e, error);

	record->value = data;
	if (rc == WP_OK)
		rc = wp_cloudevent_check(&e, error);
	if (rc != WP_OK)
		return rc;
	switch (s->options->envelope) {
	case WP_ENVELOPE_CLOUDEVENTS_BINARY:
		return add_attribute_headers(s, &e, error);
	case WP_ENVELOPE_CLOUDEVENTS_JSON:
		rc = wp_cloudevent_json(&e, &s->value, error);
		if (rc == WP_OK)
			rc = add_content_type(s, WP_CLOUDEVENT_TYPE_JSON, error);
		break;
	default:
		rc = wp_cloudevent_protobuf(&e, &s->texts, &s->value, error);
		if (rc == WP_OK)
			rc = add_content_type(s, WP_CLOUDEVENT_TYPE_PROTOBUF, error);
		break;
	}
	if (rc == WP_OK)
		record->value = wp_buffer_span(&s->value);
	return rc;
}
