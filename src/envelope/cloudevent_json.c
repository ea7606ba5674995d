/* Writes a CloudEvent as JSON, for structured mode. */
#include "walpost/base/base64.h"
#include "walpost/base/json.h"
#include "walpost/base/utf8.h"
#include "walpost/envelope/cloudevent.h"

static void put_json_string(struct wp_writer *w, struct wp_span text)
{
	wp_writer_keep(w, wp_json_write_string(w->into, text, WP_JSON_NEEDED));
}

static void put_member_name(struct wp_writer *w, struct wp_span name)
{
	wp_writer_put(w, ",");
	put_json_string(w, name);
	wp_writer_put(w, ":");
}

static void put_text_member(struct wp_writer *w, struct wp_span name, struct wp_span value)
{
	if (wp_span_is_null(value))
		return;
	put_member_name(w, name);
	put_json_string(w, value);
}

static void put_attributes(struct wp_writer *w, const struct wp_cloudevent *event)
{
	char time[WP_CLOUDEVENT_TIME_SIZE];

	wp_writer_put(w, "{\"specversion\":\"1.0\"");
	put_text_member(w, wp_span_of("id"), event->id);
	put_text_member(w, wp_span_of("source"), event->source);
	put_text_member(w, wp_span_of("type"), event->type);
	put_text_member(w, wp_span_of("subject"), event->subject);
	put_text_member(w, wp_span_of("time"),
			wp_span_of(wp_cloudevent_time_text(event->time_us, time)));
	put_text_member(w, wp_span_of("datacontenttype"), event->datacontenttype);
	put_text_member(w, wp_span_of("dataschema"), event->dataschema);
	for (size_t i = 0; i < event->extension_count; i++)
		put_text_member(w, event->extensions[i].name, event->extensions[i].value);
}

/* Puts the value itself: a string of JSON text would be a string to the reader. */
static void put_json(struct wp_writer *w, struct wp_span text, struct wp_error *error)
{
	struct wp_json json;
	struct wp_json_fault fault;

	if (w->rc != WP_OK)
		return;
	w->rc = wp_json_read(text, &json, &fault);
	if (w->rc == WP_OK)
		w->rc = wp_buffer_append(w->into, json.text);
	else
		(void)wp_error_set(
			error, w->rc,
			"the payload is not JSON as declared by its datacontenttype (at byte %zu "
			"%s): correct the row, correct outbox.cloudevents.datacontenttype, or set "
			"outbox.envelope = cloudevents-binary",
			fault.offset, fault.what);
}

static void put_text_data(struct wp_writer *w, struct wp_span text, struct wp_error *error)
{
	if (w->rc != WP_OK)
		return;
	if (wp_utf8_is_valid(text))
		put_json_string(w, text);
	else
		w->rc = wp_error_set(error, WP_DATA,
				     "the payload is not UTF-8, as a JSON string requires: correct "
				     "the row, or set outbox.envelope = cloudevents-binary");
}

/* The members are those of JSON format 1.0.2, 3.1.1. */
static void put_data(struct wp_writer *w, const struct wp_cloudevent *event, struct wp_error *error)
{
	if (wp_span_is_null(event->data))
		return;
	if (event->data_form == WP_CLOUDEVENT_BINARY) {
		put_member_name(w, wp_span_of("data_base64"));
		wp_writer_put(w, "\"");
		wp_writer_keep(w, wp_base64_write(w->into, event->data));
		wp_writer_put(w, "\"");
		return;
	}
	put_member_name(w, wp_span_of("data"));
	if (wp_cloudevent_is_json(event->datacontenttype))
		put_json(w, event->data, error);
	else
		put_text_data(w, event->data, error);
}

enum wp_rc wp_cloudevent_json(const struct wp_cloudevent *event, struct wp_buffer *into,
			      struct wp_error *error)
{
	struct wp_writer w = { .into = into, .rc = WP_OK };

	wp_buffer_reset(into);
	put_attributes(&w, event);
	put_data(&w, event, error);
	wp_writer_put(&w, "}");
	return w.rc;
}
