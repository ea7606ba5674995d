/* Packs a CloudEvent as protobuf, for structured mode. */
#include <assert.h>

#include "cloudevents.pb-c.h"
#include "packing.h"
#include "walpost/base/utf8.h"
#include "walpost/envelope/cloudevent.h"

#define VALUE_INIT IO__CLOUDEVENTS__V1__CLOUD_EVENT__CLOUD_EVENT_ATTRIBUTE_VALUE__INIT
#define IS_STRING IO__CLOUDEVENTS__V1__CLOUD_EVENT__CLOUD_EVENT_ATTRIBUTE_VALUE__ATTR_CE_STRING
#define IS_URI IO__CLOUDEVENTS__V1__CLOUD_EVENT__CLOUD_EVENT_ATTRIBUTE_VALUE__ATTR_CE_URI
#define IS_TIME IO__CLOUDEVENTS__V1__CLOUD_EVENT__CLOUD_EVENT_ATTRIBUTE_VALUE__ATTR_CE_TIMESTAMP

enum { ATTRIBUTES_MAX = 4 + WP_CLOUDEVENT_EXTENSIONS_MAX };

/* protobuf-c's names fill a line each. */
typedef Io__Cloudevents__V1__CloudEvent message;
typedef Io__Cloudevents__V1__CloudEvent__AttributesEntry attribute;
typedef Io__Cloudevents__V1__CloudEvent__CloudEventAttributeValue attribute_value;

/* This is the map, as the list of pairs that it is on the wire. */
struct attributes {
	attribute items[ATTRIBUTES_MAX];
	attribute_value values[ATTRIBUTES_MAX];
	attribute *pointers[ATTRIBUTES_MAX];
	size_t count;
	Io__Cloudevents__V1__Timestamp time;
	struct wp_buffer *texts; /* with room for all that is put there */
};

/* Appends one whose value is to be filled. */
static attribute_value *append_attribute(struct attributes *a, const char *name)
{
	assert(a->count < ATTRIBUTES_MAX);
	attribute *item = &a->items[a->count];
	attribute_value *value = &a->values[a->count];

	*item = (attribute)IO__CLOUDEVENTS__V1__CLOUD_EVENT__ATTRIBUTES_ENTRY__INIT;
	item->key = (char *)(uintptr_t)name;
	item->value = value;
	*value = (attribute_value)VALUE_INIT;
	a->pointers[a->count++] = item;
	return value;
}

static void add_string(struct attributes *a, const char *name, struct wp_span text)
{
	if (wp_span_is_null(text))
		return;
	attribute_value *value = append_attribute(a, name);
	value->attr_case = IS_STRING;
	value->ce_string = copy(a->texts, text);
}

static void add_uri(struct attributes *a, const char *name, struct wp_span text)
{
	if (wp_span_is_null(text))
		return;
	attribute_value *value = append_attribute(a, name);
	value->attr_case = IS_URI;
	value->ce_uri = copy(a->texts, text);
}

/* Nanoseconds count forward, before 1970 too. */
static void add_timestamp(struct attributes *a, const char *name, int64_t time_us)
{
	int64_t us = time_us % 1000000;

	if (us < 0)
		us += 1000000;
	a->time = (Io__Cloudevents__V1__Timestamp)IO__CLOUDEVENTS__V1__TIMESTAMP__INIT;
	a->time.seconds = (time_us - us) / 1000000;
	a->time.nanos = (int32_t)us * 1000;
	attribute_value *value = append_attribute(a, name);
	value->attr_case = IS_TIME;
	value->ce_timestamp = &a->time;
}

static void add_attributes(struct attributes *a, const struct wp_cloudevent *event)
{
	add_string(a, "subject", event->subject);
	add_timestamp(a, "time", event->time_us);
	add_string(a, "datacontenttype", event->datacontenttype);
	add_uri(a, "dataschema", event->dataschema);
	for (size_t i = 0; i < event->extension_count; i++)
		add_string(a, (const char *)event->extensions[i].name.data,
			   event->extensions[i].value);
}

static void fill_data(message *to, const struct wp_cloudevent *event, struct wp_buffer *texts)
{
	if (wp_span_is_null(event->data))
		return;
	if (event->data_form == WP_CLOUDEVENT_BINARY) {
		to->data_case = IO__CLOUDEVENTS__V1__CLOUD_EVENT__DATA_BINARY_DATA;
		to->binary_data = bytes_of(event->data);
	} else {
		to->data_case = IO__CLOUDEVENTS__V1__CLOUD_EVENT__DATA_TEXT_DATA;
		to->text_data = copy(texts, event->data);
	}
}

static enum wp_rc check_data(const struct wp_cloudevent *event, struct wp_error *error)
{
	if (event->data_form == WP_CLOUDEVENT_BINARY)
		return WP_OK;
	if (!has_nul(event->data) && wp_utf8_is_valid(event->data))
		return WP_OK;
	return wp_error_set(
		error, WP_DATA,
		"the payload is not UTF-8 without a NUL, as text_data of a CloudEvent requires: "
		"correct the row, or set outbox.envelope = cloudevents-binary");
}

/* Counts the bytes of the copies, each with its NUL; a null one counts too. */
static size_t copies_size(const struct wp_cloudevent *event)
{
	size_t size = event->id.size + event->source.size + event->type.size + event->subject.size +
		      event->datacontenttype.size + event->dataschema.size + 6;

	for (size_t i = 0; i < event->extension_count; i++)
		size += event->extensions[i].value.size + 1;
	return event->data_form == WP_CLOUDEVENT_BINARY ? size : size + event->data.size + 1;
}

static enum wp_rc pack(const message *from, struct wp_buffer *into)
{
	size_t size = io__cloudevents__v1__cloud_event__get_packed_size(from);

	wp_buffer_reset(into);
	enum wp_rc rc = wp_buffer_reserve(into, size);
	if (rc != WP_OK)
		return rc;
	into->size = io__cloudevents__v1__cloud_event__pack(from, into->data);
	assert(into->size == size);
	return WP_OK;
}

enum wp_rc wp_cloudevent_protobuf(const struct wp_cloudevent *event, struct wp_buffer *texts,
				  struct wp_buffer *into, struct wp_error *error)
{
	message to;
	struct attributes attributes;

	enum wp_rc rc = check_data(event, error);
	if (rc != WP_OK)
		return rc;
	wp_buffer_reset(texts);
	rc = wp_buffer_reserve(texts, copies_size(event));
	if (rc != WP_OK)
		return rc;
	io__cloudevents__v1__cloud_event__init(&to);
	to.id = copy(texts, event->id);
	to.source = copy(texts, event->source);
	to.spec_version = (char *)(uintptr_t) "1.0";
	to.type = copy(texts, event->type);
	attributes.count = 0;
	attributes.texts = texts;
	add_attributes(&attributes, event);
	to.n_attributes = attributes.count;
	to.attributes = attributes.pointers;
	fill_data(&to, event, texts);
	return pack(&to, into);
}
