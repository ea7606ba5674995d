/*
 * Attributes and data of any bytes. An event that the check lets through must come back from each
 * of the three forms as it was: from the headers, from the JSON as our reader reads it, from the
 * protobuf as protobuf-c unpacks it.
 *
 * Input: a byte of flags, eight of time, then fields, each a byte of size and so many bytes; what
 * is left is the data.
 */
#include <string.h>

#include "cloudevents.pb-c.h"
#include "fuzz.h"
#include "walpost/base/base64.h"
#include "walpost/base/json.h"
#include "walpost/base/utf8.h"
#include "walpost/envelope/cloudevent.h"

enum { EXTENSIONS = 3, NAME_MAX_SIZE = 255 };
enum flag {
	NO_SUBJECT = 1,
	NO_TYPE = 2,
	NO_SCHEMA = 4,
	NO_EXTENSION = 8,
	NO_DATA = 16,
	BINARY = 32
};

typedef Io__Cloudevents__V1__CloudEvent message;

static struct wp_buffer into;
static struct wp_buffer texts;
static struct wp_buffer again;

/* ---- the event ---- */

struct input {
	struct wp_span left;
	uint8_t flags;
	char names[EXTENSIONS][NAME_MAX_SIZE + 1];
	struct wp_header extensions[EXTENSIONS];
};

static struct wp_span take(struct input *in, size_t size)
{
	struct wp_span taken = { in->left.data, size < in->left.size ? size : in->left.size };

	in->left.data += taken.size;
	in->left.size -= taken.size;
	return taken;
}

static struct wp_span take_field(struct input *in)
{
	struct wp_span size = take(in, 1);

	return take(in, size.size == 1 ? size.data[0] : 0);
}

static struct wp_span take_field_unless(struct input *in, enum flag flag)
{
	struct wp_span taken = take_field(in);

	return in->flags & flag ? (struct wp_span){ 0 } : taken;
}

static void take_extension(struct input *in, size_t index)
{
	struct wp_span name = take_field(in);

	memcpy(in->names[index], name.data, name.size);
	in->names[index][name.size] = '\0';
	in->extensions[index] = (struct wp_header){
		.name = { (const uint8_t *)in->names[index], name.size },
		.value = index > 0 ? take_field(in) : take_field_unless(in, NO_EXTENSION),
	};
}

static struct wp_cloudevent take_event(struct input *in)
{
	struct wp_cloudevent event = { .extensions = in->extensions };
	struct wp_span byte = take(in, 1);

	in->flags = byte.size == 1 ? byte.data[0] : 0;
	struct wp_span time = take(in, sizeof(event.time_us));
	memcpy(&event.time_us, time.data, time.size);
	event.id = take_field(in);
	event.source = take_field(in);
	event.type = take_field(in);
	event.subject = take_field_unless(in, NO_SUBJECT);
	event.datacontenttype = take_field_unless(in, NO_TYPE);
	event.dataschema = take_field_unless(in, NO_SCHEMA);
	for (; event.extension_count < EXTENSIONS && in->left.size > 0; event.extension_count++)
		take_extension(in, event.extension_count);
	event.data = in->flags & NO_DATA ? (struct wp_span){ 0 } : in->left;
	event.data_form = in->flags & BINARY ? WP_CLOUDEVENT_BINARY : WP_CLOUDEVENT_TEXT;
	return event;
}

static void need_texts(const struct wp_cloudevent *event)
{
	NEED(event->id.size > 0 && wp_cloudevent_is_text(event->id));
	NEED(event->source.size > 0 && wp_cloudevent_is_text(event->source));
	NEED(event->type.size > 0 && wp_cloudevent_is_text(event->type));
	NEED(wp_cloudevent_is_text(event->subject));
	NEED(wp_cloudevent_is_text(event->datacontenttype));
	NEED(wp_cloudevent_is_text(event->dataschema));
}

/* ---- binary mode ---- */

struct headers {
	struct wp_header items[WP_CLOUDEVENT_HEADERS_MAX];
	size_t count;
	size_t at;
};

static void need_header(struct headers *h, const char *prefix, const char *name,
			struct wp_span value)
{
	char wanted[NAME_MAX_SIZE + 8];

	if (wp_span_is_null(value))
		return;
	(void)snprintf(wanted, sizeof(wanted), "%s%s", prefix, name);
	NEED(h->at < h->count);
	NEED(strcmp((const char *)h->items[h->at].name.data, wanted) == 0);
	NEED(h->items[h->at].name.size == strlen(wanted));
	NEED(wp_span_equal(h->items[h->at].value, value));
	h->at++;
}

static void try_headers(const struct wp_cloudevent *event)
{
	char time[WP_CLOUDEVENT_TIME_SIZE];
	struct headers h = { .count = 0 };

	NEED(wp_cloudevent_headers(event, &texts, h.items, WP_CLOUDEVENT_HEADERS_MAX, &h.count) ==
	     WP_OK);
	need_header(&h, "ce_", "specversion", wp_span_of("1.0"));
	need_header(&h, "ce_", "id", event->id);
	need_header(&h, "ce_", "source", event->source);
	need_header(&h, "ce_", "type", event->type);
	need_header(&h, "ce_", "subject", event->subject);
	need_header(&h, "ce_", "time", wp_span_of(wp_cloudevent_time_text(event->time_us, time)));
	need_header(&h, "ce_", "dataschema", event->dataschema);
	for (size_t i = 0; i < event->extension_count; i++)
		need_header(&h, "ce_", (const char *)event->extensions[i].name.data,
			    event->extensions[i].value);
	need_header(&h, "", "content-type", event->datacontenttype);
	NEED(h.at == h.count);
}

/* ---- JSON ---- */

static void need_string(struct wp_json json, struct wp_span text)
{
	NEED(json.kind == WP_JSON_STRING);
	wp_buffer_reset(&again);
	NEED(wp_json_unescape(json.text, &again) == WP_OK);
	NEED(wp_span_equal(wp_buffer_span(&again), text));
}

static struct wp_json need_name(struct wp_json_walk *w, const char *name)
{
	struct wp_span found;
	struct wp_json value;

	NEED(wp_json_walk_next(w, &found, &value));
	NEED(found.size == strlen(name) + 2 && memcmp(found.data + 1, name, strlen(name)) == 0);
	return value;
}

static void need_member(struct wp_json_walk *w, const char *name, struct wp_span value)
{
	if (!wp_span_is_null(value))
		need_string(need_name(w, name), value);
}

static void need_data(struct wp_json_walk *w, const struct wp_cloudevent *event)
{
	struct wp_json json;

	if (wp_span_is_null(event->data))
		return;
	if (event->data_form == WP_CLOUDEVENT_BINARY) {
		struct wp_json value = need_name(w, "data_base64");
		wp_buffer_reset(&again);
		NEED(wp_base64_write(&again, event->data) == WP_OK);
		NEED(value.text.size == again.size + 2);
		NEED(again.size == 0 || memcmp(value.text.data + 1, again.data, again.size) == 0);
	} else if (wp_cloudevent_is_json(event->datacontenttype)) {
		NEED(wp_json_read(event->data, &json, NULL) == WP_OK);
		NEED(wp_span_equal(need_name(w, "data").text, json.text));
	} else {
		need_string(need_name(w, "data"), event->data);
	}
}

static bool is_writable_as_json(const struct wp_cloudevent *event)
{
	struct wp_json json;

	if (wp_span_is_null(event->data) || event->data_form == WP_CLOUDEVENT_BINARY)
		return true;
	if (wp_cloudevent_is_json(event->datacontenttype))
		return wp_json_read(event->data, &json, NULL) == WP_OK;
	return wp_utf8_is_valid(event->data);
}

static void try_json(const struct wp_cloudevent *event)
{
	char time[WP_CLOUDEVENT_TIME_SIZE];
	struct wp_json json;
	struct wp_json_walk w;
	struct wp_span name;
	struct wp_error error = { "" };

	enum wp_rc rc = wp_cloudevent_json(event, &into, &error);
	NEED(rc == (is_writable_as_json(event) ? WP_OK : WP_DATA));
	NEED((rc == WP_OK) == (error.text[0] == '\0'));
	/* JSON data may nest as deep as our reader reads: one more is around it. */
	if (rc != WP_OK || wp_json_read(wp_buffer_span(&into), &json, NULL) != WP_OK)
		return;
	wp_json_walk_init(&w, &json);
	need_member(&w, "specversion", wp_span_of("1.0"));
	need_member(&w, "id", event->id);
	need_member(&w, "source", event->source);
	need_member(&w, "type", event->type);
	need_member(&w, "subject", event->subject);
	need_member(&w, "time", wp_span_of(wp_cloudevent_time_text(event->time_us, time)));
	need_member(&w, "datacontenttype", event->datacontenttype);
	need_member(&w, "dataschema", event->dataschema);
	for (size_t i = 0; i < event->extension_count; i++)
		need_member(&w, (const char *)event->extensions[i].name.data,
			    event->extensions[i].value);
	need_data(&w, event);
	NEED(!wp_json_walk_next(&w, &name, &json));
}

/* ---- protobuf ---- */

/* ce_string, ce_uri: both are a text in the same place of the union. */
static void need_attribute(const message *m, size_t *at, const char *name, struct wp_span value)
{
	if (wp_span_is_null(value))
		return;
	NEED(*at < m->n_attributes);
	NEED(strcmp(m->attributes[*at]->key, name) == 0);
	NEED(wp_span_is(value, m->attributes[*at]->value->ce_string));
	++*at;
}

static void need_time(const message *m, size_t *at, int64_t time_us)
{
	NEED(*at < m->n_attributes && strcmp(m->attributes[*at]->key, "time") == 0);
	const Io__Cloudevents__V1__Timestamp *time = m->attributes[*at]->value->ce_timestamp;
	NEED(time->nanos >= 0 && time->nanos < 1000000000);
	NEED(time->seconds * 1000000 + time->nanos / 1000 == time_us);
	++*at;
}

static void need_attributes(const message *m, const struct wp_cloudevent *event)
{
	size_t at = 0;

	NEED(wp_span_is(event->id, m->id) && wp_span_is(event->source, m->source));
	NEED(wp_span_is(event->type, m->type) && strcmp(m->spec_version, "1.0") == 0);
	need_attribute(m, &at, "subject", event->subject);
	need_time(m, &at, event->time_us);
	need_attribute(m, &at, "datacontenttype", event->datacontenttype);
	need_attribute(m, &at, "dataschema", event->dataschema);
	for (size_t i = 0; i < event->extension_count; i++)
		need_attribute(m, &at, (const char *)event->extensions[i].name.data,
			       event->extensions[i].value);
	NEED(at == m->n_attributes);
}

static void need_same_data(const message *m, const struct wp_cloudevent *event)
{
	if (wp_span_is_null(event->data)) {
		NEED(m->data_case == IO__CLOUDEVENTS__V1__CLOUD_EVENT__DATA__NOT_SET);
	} else if (event->data_form == WP_CLOUDEVENT_TEXT) {
		NEED(m->data_case == IO__CLOUDEVENTS__V1__CLOUD_EVENT__DATA_TEXT_DATA);
		NEED(wp_span_is(event->data, m->text_data));
	} else {
		NEED(m->data_case == IO__CLOUDEVENTS__V1__CLOUD_EVENT__DATA_BINARY_DATA);
		NEED(m->binary_data.len == event->data.size);
		NEED(event->data.size == 0 ||
		     memcmp(m->binary_data.data, event->data.data, event->data.size) == 0);
	}
}

static void try_protobuf(const struct wp_cloudevent *event)
{
	struct wp_error error = { "" };
	bool is_text =
		wp_utf8_is_valid(event->data) &&
		(event->data.size == 0 || memchr(event->data.data, 0, event->data.size) == NULL);

	enum wp_rc rc = wp_cloudevent_protobuf(event, &texts, &into, &error);
	NEED(rc == (event->data_form == WP_CLOUDEVENT_BINARY || is_text ? WP_OK : WP_DATA));
	NEED((rc == WP_OK) == (error.text[0] == '\0'));
	if (rc != WP_OK)
		return;
	message *m = io__cloudevents__v1__cloud_event__unpack(NULL, into.size, into.data);
	NEED(m != NULL);
	need_attributes(m, event);
	need_same_data(m, event);
	io__cloudevents__v1__cloud_event__free_unpacked(m, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { .left = { data, size } };
	struct wp_cloudevent event = take_event(&in);
	struct wp_error error = { "" };

	wp_buffer_init(&into, 1 << 20);
	wp_buffer_init(&texts, 1 << 20);
	wp_buffer_init(&again, 1 << 20);
	enum wp_rc rc = wp_cloudevent_check(&event, &error);
	NEED(rc == WP_OK || rc == WP_DATA);
	NEED((rc == WP_OK) == (error.text[0] == '\0'));
	NEED(wp_utf8_is_valid(wp_span_of(error.text)));
	if (rc == WP_OK) {
		need_texts(&event);
		try_headers(&event);
		try_json(&event);
		try_protobuf(&event);
	}
	wp_buffer_release(&into);
	wp_buffer_release(&texts);
	wp_buffer_release(&again);
	return 0;
}
