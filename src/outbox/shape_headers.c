/* Makes the headers of a record: ours, those of columns, and those out of JSON and properties. */
#include <string.h>
#include <strings.h>

#include "shape_parts.h"
#include "walpost/base/java_properties.h"
#include "walpost/envelope/cloudevent.h"
#include "walpost/outbox/json_headers.h"

/* Returns 0 for an unknown one. */
static unsigned standard_header(const char *name, size_t size)
{
	struct wp_span span = { .data = (const uint8_t *)name, .size = size };

	if (wp_span_is(span, "id"))
		return WP_HEADER_ID;
	if (wp_span_is(span, "type"))
		return WP_HEADER_TYPE;
	return wp_span_is(span, "walpost-position") ? WP_HEADER_POSITION : 0;
}

enum wp_rc wp_shape_parse_standard(const char *list, unsigned *ret, struct wp_error *error)
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
			return wp_error_set(error, WP_CONFIG,
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

/* -- what is walpost's to say ------------------------------------------------- */

static bool is_cloudevents(struct wp_span name)
{
	return name.size >= 3 && strncasecmp((const char *)name.data, "ce_", 3) == 0;
}

static bool is_content_type(struct wp_span name)
{
	static const char type[] = WP_CLOUDEVENT_TYPE_HEADER;

	return name.size == sizeof(type) - 1 &&
	       strncasecmp((const char *)name.data, type, sizeof(type) - 1) == 0;
}

/*
 * Data must not say a name of ours as well: most consumers take the last header of a name. SDKs of
 * CloudEvents tell no case.
 */
static bool is_reserved_header(const struct wp_shape *s, struct wp_span name)
{
	const struct wp_outbox_options *o = s->options;
	bool sends_type = (s->standard_headers & WP_HEADER_TYPE) && o->column_type[0] != '\0';

	if (wp_span_begins(name, WP_OUR_HEADERS))
		return true;
	if ((s->standard_headers & WP_HEADER_ID) && wp_span_is(name, "id"))
		return true;
	if (sends_type && wp_span_is(name, "type"))
		return true;
	if (o->debezium_context_headers && wp_span_begins(name, "__debezium.context."))
		return true;
	switch (o->envelope) {
	case WP_ENVELOPE_CLOUDEVENTS_BINARY:
		return is_cloudevents(name) || is_content_type(name);
	case WP_ENVELOPE_CLOUDEVENTS_JSON:
	case WP_ENVELOPE_CLOUDEVENTS_PROTOBUF:
		return is_content_type(name);
	default:
		return false;
	}
}

/* -- one after the other -------------------------------------------------------- */

/* This is the first fault among the headers; the others are made all the same. */
struct faults {
	enum wp_rc rc;
	struct wp_error *error;
};

/* Memory is no property of the event. WP_FULL and WP_NOMEM have no sentence yet. */
static void note_fault(struct faults *f, enum wp_rc rc, const struct wp_error *inner)
{
	if (rc == WP_OK || (f->rc != WP_OK && rc != WP_NOMEM))
		return;
	f->rc = rc;
	if (rc == WP_DATA)
		(void)wp_error_set(f->error, rc, "%s", inner->text);
}

static void add_text_header(struct wp_shape *s, const char *name, struct wp_span value,
			    struct faults *f)
{
	struct wp_error inner;

	note_fault(f, wp_shape_add_header(s, wp_span_of(name), value, &inner), &inner);
}

/* Writes it as outbox.headers.format says; what has not that form stays as Postgres prints it. */
static void add_written(struct wp_shape *s, struct wp_span name, const struct wp_column_type *type,
			struct wp_span text, struct faults *f)
{
	const struct wp_outbox_options *o = s->options;
	struct wp_error inner;

	note_fault(f, wp_shape_add_header(s, name, text, &inner), &inner);
	/* Most often that is all: of all rendered forms this is the one that is none. */
	if (wp_shape_is_text(o->headers_format) && o->types == WP_RENDERING_POSTGRES)
		return;
	note_fault(f,
		   wp_shape_write(s, &s->headers[s->header_count - 1].value, o->headers_format,
				  WP_FOR_HEADER, type, text, &inner),
		   &inner);
}

/* Debezium: io.debezium.transforms... adds them before all others since 3.x. */
static void add_context(struct wp_shape *s, struct faults *f)
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

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		add_written(s, wp_span_of(headers[i].name), &text, wp_span_of(headers[i].value), f);
}

static void add_standard_headers(struct wp_shape *s, const struct wp_event *event, struct faults *f)
{
	const struct wp_outbox_options *options = s->options;

	if (s->standard_headers & WP_HEADER_ID)
		add_written(s, wp_span_of("id"), event->id_type, event->id, f);
	if (s->standard_headers & WP_HEADER_TYPE && options->column_type[0] != '\0')
		add_written(s, wp_span_of("type"), event->type_type, event->type, f);
	if (s->standard_headers & WP_HEADER_POSITION)
		add_text_header(s, WP_OUR_HEADERS "position",
				wp_span_of(wp_position_text(&event->position, s->position)), f);
	if (options->headers_source[0] != '\0')
		add_text_header(s, WP_OUR_HEADERS "source", wp_span_of(options->headers_source), f);
	/* It needs no headers.standard: a consumer that must not act twice has nothing else. */
	if (!wp_span_is_null(event->reissued))
		add_text_header(s, WP_OUR_HEADERS "reissued", event->reissued, f);
}

/*
 * Makes room for all names out of JSON and properties, with a NUL behind each, and for what is
 * unescaped of them: it must not move. A name has a quote or a separator beside it.
 */
static enum wp_rc reserve_names(struct wp_shape *s, const struct wp_event *event)
{
	size_t size = event->properties.size + event->json_headers.size;

	if (wp_span_is_null(event->properties) && wp_span_is_null(event->json_headers))
		return WP_OK;
	wp_buffer_empty(&s->names, 2 * size + 2);
	return wp_buffer_reserve(&s->names, 2 * size + 2);
}

/* Adds a copy of the name with its NUL. One too many is not added: its column's text is kept. */
static enum wp_rc add_named(struct wp_shape *s, struct wp_span name, struct wp_span value,
			    struct wp_error *error)
{
	struct wp_span copy = { .data = s->names.data + s->names.size, .size = name.size };

	if (name.size == 0)
		return wp_error_set(error, WP_DATA,
				    "a header has an empty name: correct the outbox.headers.json "
				    "or outbox.headers.properties column");
	if (is_reserved_header(s, name))
		return WP_OK;
	if (s->header_count >= WP_RECORD_HEADERS_MAX)
		return wp_shape_too_many(error);
	enum wp_rc rc = wp_buffer_append(&s->names, name);
	if (rc == WP_OK)
		rc = wp_buffer_append_byte(&s->names, '\0');
	return rc == WP_OK ? wp_shape_add_header(s, copy, value, error) : rc;
}

/* NULL: none of the headers from `first` on has the name. */
static struct wp_header *find_added_header(struct wp_shape *s, size_t first, struct wp_span name)
{
	for (size_t i = first; i < s->header_count; i++) {
		if (wp_span_equal(s->headers[i].name, name))
			return &s->headers[i];
	}
	return NULL;
}

/* When a name stands twice the last value counts, in the place of the first. */
static enum wp_rc add_property(struct wp_shape *s, size_t first,
			       const struct wp_java_property *property, struct wp_error *error)
{
	struct wp_header *same = find_added_header(s, first, property->name);

	if (same == NULL)
		return add_named(s, property->name, property->value, error);
	same->value = property->value;
	return WP_OK;
}

#define NO_PROPERTIES "it is no java.util.Properties text: "
#define STORE "; write it with java.util.Properties.store(), or set it to NULL"

static enum wp_rc refuse_properties(const struct wp_java_properties *p, struct wp_error *error)
{
	if (p->fault == WP_JAVA_NO_DIGIT)
		return wp_error_set(error, WP_DATA,
				    NO_PROPERTIES "\\u lacks a hexadecimal digit" STORE);
	return wp_error_set(error, WP_DATA, NO_PROPERTIES "\\u%04X is half of a character" STORE,
			    p->half);
}

/* Adds all up to what is no property: from there on nobody knows where one begins. */
static void add_properties(struct wp_shape *s, struct wp_span text, struct faults *f)
{
	struct wp_java_properties walk;
	struct wp_java_property property = { 0 };
	struct wp_error inner;
	size_t first = s->header_count;
	enum wp_rc rc = wp_java_properties_init(&walk, text, &s->names);

	while (rc == WP_OK) {
		rc = wp_java_properties_next(&walk, &property);
		if (rc == WP_OK && wp_span_is_null(property.name))
			return;
		if (rc == WP_OK)
			note_fault(f, add_property(s, first, &property, &inner), &inner);
	}
	if (rc == WP_DATA)
		rc = refuse_properties(&walk, &inner);
	note_fault(f, rc, &inner);
}

static void add_json_headers(struct wp_shape *s, struct wp_span text, struct faults *f)
{
	struct wp_json_headers walk;
	struct wp_json_header header = { 0 };
	struct wp_error inner;
	enum wp_rc rc = wp_json_headers_init(&walk, text, &s->names, &inner);

	if (rc != WP_OK) {
		note_fault(f, rc, &inner);
		return;
	}
	do {
		rc = wp_json_headers_next(&walk, &header, &inner);
		if (rc == WP_OK && wp_span_is_null(header.name))
			return;
		if (rc == WP_OK)
			rc = add_named(s, header.name, header.value, &inner);
		note_fault(f, rc, &inner);
	} while (rc != WP_NOMEM);
}

/* These are configured, or named by the application's data as well. */
static void add_configured_headers(struct wp_shape *s, const struct wp_event *event,
				   struct faults *f)
{
	size_t count = event->headers.count;

	for (size_t i = 0; i < count; i++) {
		const struct wp_event_field *field = &event->headers.items[i];
		bool by_data = i >= count - event->data_headers;
		if (!by_data || !is_reserved_header(s, field->name))
			add_written(s, field->name, field->type, field->value, f);
	}
}

/* Sets `part` among the failed ones where a fault came of it. */
static void add_part(struct wp_shape *s, enum wp_shape_part part,
		     void (*add)(struct wp_shape *s, struct wp_span text, struct faults *f),
		     struct wp_span text, struct faults *all)
{
	struct wp_error error;
	struct faults own = { .rc = WP_OK, .error = &error };

	if (wp_span_is_null(text))
		return;
	add(s, text, &own);
	if (own.rc != WP_OK)
		s->failed |= part;
	note_fault(all, own.rc, &error);
}

enum wp_rc wp_shape_headers(struct wp_shape *s, const struct wp_event *event,
			    struct wp_error *error)
{
	struct faults f = { .rc = WP_OK, .error = error };

	s->header_count = 0;
	enum wp_rc rc = reserve_names(s, event);
	if (rc != WP_OK)
		return rc;
	if (s->options->debezium_context_headers)
		add_context(s, &f);
	add_part(s, WP_PART_PROPERTIES, add_properties, event->properties, &f);
	add_standard_headers(s, event, &f);
	add_configured_headers(s, event, &f);
	add_part(s, WP_PART_JSON_HEADERS, add_json_headers, event->json_headers, &f);
	return f.rc;
}
