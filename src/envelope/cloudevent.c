#include <assert.h>
#include <string.h>

#include "walpost/envelope/cloudevent.h"
#include "walpost/base/calendar.h"
#include "walpost/base/display.h"

/* ---- time ---- */

#define SECOND_US INT64_C(1000000)
#define FIRST_US (INT64_C(-62135596800) * SECOND_US)		    /* 0001-01-01 */
#define LAST_US (INT64_C(253402300799) * SECOND_US + SECOND_US - 1) /* 9999-12-31 */

bool wp_cloudevent_time_is_writable(int64_t time_us)
{
	return time_us >= FIRST_US && time_us <= LAST_US;
}

char *wp_cloudevent_time_text(int64_t time_us, char text[WP_CLOUDEVENT_TIME_SIZE])
{
	assert(wp_cloudevent_time_is_writable(time_us));
	char seconds[WP_CALENDAR_TEXT_SIZE];
	int64_t us = (time_us - FIRST_US) % SECOND_US;
	size_t size = wp_calendar_text((time_us - us) / SECOND_US, seconds);

	assert(size == WP_CLOUDEVENT_TIME_SIZE - sizeof("123456Z"));
	memcpy(text, seconds, size);
	text[size - 1] = '.';
	for (size_t i = size + 6; i-- > size; us /= 10)
		text[i] = (char)('0' + us % 10);
	memcpy(text + size + 6, "Z", sizeof("Z"));
	return text;
}

/* ---- check ---- */

enum presence { NEEDED, OPTIONAL };

struct rule {
	const char *name;
	size_t offset; /* of a struct wp_span in struct wp_cloudevent */
	enum presence presence;
	bool (*is_good)(struct wp_span value);
	const char *fault; /* of a value that is not good */
	const char *options;
};

#define AT(field_) offsetof(struct wp_cloudevent, field_)
#define NO_TEXT "is not UTF-8 or contains a control character or a noncharacter"

static const struct rule rules[] = {
	{ "id", AT(id), NEEDED, wp_cloudevent_is_text, NO_TEXT, "outbox.column.id" },
	{ "source", AT(source), NEEDED, wp_cloudevent_is_uri_reference,
	  "is not a URI reference (RFC 3986; other characters are percent-encoded)",
	  "outbox.cloudevents.source or outbox.cloudevents.source.column" },
	{ "type", AT(type), NEEDED, wp_cloudevent_is_text, NO_TEXT, "outbox.column.type" },
	{ "subject", AT(subject), OPTIONAL, wp_cloudevent_is_text, NO_TEXT,
	  "outbox.cloudevents.subject" },
	{ "datacontenttype", AT(datacontenttype), OPTIONAL, wp_cloudevent_is_media_type,
	  "is not a media type such as application/json", "outbox.cloudevents.datacontenttype" },
	{ "dataschema", AT(dataschema), OPTIONAL, wp_cloudevent_is_absolute_uri,
	  "is not an absolute URI (RFC 3986, 4.3: scheme:..., without a fragment)",
	  "outbox.cloudevents.dataschema" },
};

static enum wp_rc refuse_attribute(const char *name, struct wp_span value, const char *fault,
				   const char *options, struct wp_error *error)
{
	struct wp_excerpt shown;

	if (wp_span_is_null(value))
		return wp_error_set(error, WP_DATA,
				    "the CloudEvents attribute %s is missing, but every event "
				    "requires it: correct the row, or set %s",
				    name, options);
	return wp_error_set(error, WP_DATA,
			    "the CloudEvents attribute %s \"%s\" %s: correct the row, or set %s",
			    name, wp_excerpt(&shown, value), fault, options);
}

static enum wp_rc check_attribute(const struct rule *rule, struct wp_span value,
				  struct wp_error *error)
{
	if (wp_span_is_null(value) && rule->presence == OPTIONAL)
		return WP_OK;
	if (value.size == 0)
		return refuse_attribute(rule->name, value, "is empty", rule->options, error);
	if (!rule->is_good(value))
		return refuse_attribute(rule->name, value, rule->fault, rule->options, error);
	return WP_OK;
}

static enum wp_rc check_time(int64_t time_us, struct wp_error *error)
{
	if (wp_cloudevent_time_is_writable(time_us))
		return WP_OK;
	return wp_error_set(
		error, WP_DATA,
		"the CloudEvents attribute time is %lld microseconds from 1970, outside the years "
		"1 to 9999: correct the row, or set outbox.column.timestamp",
		(long long)time_us);
}

static bool is_there_before(const struct wp_cloudevent *event, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (wp_span_equal(event->extensions[i].name, event->extensions[index].name))
			return true;
	}
	return false;
}

static enum wp_rc check_extension(const struct wp_cloudevent *event, size_t index,
				  struct wp_error *error)
{
	const struct wp_header *extension = &event->extensions[index];
	struct wp_excerpt name;

	if (!wp_cloudevent_is_extension_name(extension->name))
		return wp_error_set(error, WP_DATA,
				    "the name of the CloudEvents extension \"%s\" has characters "
				    "other than a-z and 0-9, or is an attribute of CloudEvents: "
				    "rename it in outbox.cloudevents.extensions",
				    wp_excerpt(&name, extension->name));
	if (is_there_before(event, index))
		return wp_error_set(error, WP_DATA,
				    "the CloudEvents extension \"%s\" is listed twice: list it "
				    "once in outbox.cloudevents.extensions",
				    wp_excerpt(&name, extension->name));
	if (!wp_cloudevent_is_text(extension->value))
		return refuse_attribute(wp_excerpt(&name, extension->name), extension->value,
					NO_TEXT, "outbox.cloudevents.extensions", error);
	return WP_OK;
}

enum wp_rc wp_cloudevent_check(const struct wp_cloudevent *event, struct wp_error *error)
{
	enum wp_rc rc = WP_OK;

	assert(event->extension_count <= WP_CLOUDEVENT_EXTENSIONS_MAX);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && rc == WP_OK; i++) {
		const char *at = (const char *)event + rules[i].offset;
		rc = check_attribute(&rules[i], *(const struct wp_span *)at, error);
	}
	if (rc == WP_OK)
		rc = check_time(event->time_us, error);
	for (size_t i = 0; i < event->extension_count && rc == WP_OK; i++)
		rc = check_extension(event, i, error);
	return rc;
}

/* ---- binary mode ---- */

#define PREFIX "ce_"
#define PREFIX_SIZE 3

struct headers {
	struct wp_header *items;
	size_t count;
	struct wp_buffer *texts; /* with room for all that is put there */
};

static void add_attribute_header(struct headers *h, const char *name, struct wp_span value)
{
	if (!wp_span_is_null(value))
		h->items[h->count++] =
			(struct wp_header){ .name = wp_span_of(name), .value = value };
}

static char *take_room(struct wp_buffer *texts, size_t size)
{
	char *at = (char *)texts->data + texts->size;

	texts->size += size;
	assert(texts->size <= texts->capacity);
	return at;
}

static void add_extension_header(struct headers *h, const struct wp_header *extension)
{
	size_t size = extension->name.size;

	if (wp_span_is_null(extension->value))
		return;
	char *name = take_room(h->texts, PREFIX_SIZE + size + 1);
	memcpy(name, PREFIX, PREFIX_SIZE);
	memcpy(name + PREFIX_SIZE, extension->name.data, size);
	name[PREFIX_SIZE + size] = '\0';
	add_attribute_header(h, name, extension->value);
}

static size_t count_headers(const struct wp_cloudevent *event)
{
	size_t count = 5; /* ce_specversion, ce_id, ce_source, ce_type, ce_time */

	count += !wp_span_is_null(event->subject);
	count += !wp_span_is_null(event->dataschema);
	count += !wp_span_is_null(event->datacontenttype);
	for (size_t i = 0; i < event->extension_count; i++)
		count += !wp_span_is_null(event->extensions[i].value);
	return count;
}

/* Counts bytes of the time and of extensions' names, which must not move once they are told. */
static size_t header_texts_size(const struct wp_cloudevent *event)
{
	size_t size = WP_CLOUDEVENT_TIME_SIZE;

	for (size_t i = 0; i < event->extension_count; i++) {
		if (!wp_span_is_null(event->extensions[i].value))
			size += PREFIX_SIZE + event->extensions[i].name.size + 1;
	}
	return size;
}

enum wp_rc wp_cloudevent_headers(const struct wp_cloudevent *event, struct wp_buffer *texts,
				 struct wp_header *headers, size_t count_max, size_t *count)
{
	struct headers h = { .items = headers, .count = *count, .texts = texts };

	assert(*count <= count_max);
	if (count_headers(event) > count_max - *count)
		return WP_FULL;
	wp_buffer_reset(texts);
	enum wp_rc rc = wp_buffer_reserve(texts, header_texts_size(event));
	if (rc != WP_OK)
		return rc;
	char *time = take_room(texts, WP_CLOUDEVENT_TIME_SIZE);
	add_attribute_header(&h, PREFIX "specversion", wp_span_of("1.0"));
	add_attribute_header(&h, PREFIX "id", event->id);
	add_attribute_header(&h, PREFIX "source", event->source);
	add_attribute_header(&h, PREFIX "type", event->type);
	add_attribute_header(&h, PREFIX "subject", event->subject);
	add_attribute_header(&h, PREFIX "time",
			     wp_span_of(wp_cloudevent_time_text(event->time_us, time)));
	add_attribute_header(&h, PREFIX "dataschema", event->dataschema);
	for (size_t i = 0; i < event->extension_count; i++)
		add_extension_header(&h, &event->extensions[i]);
	add_attribute_header(&h, WP_CLOUDEVENT_TYPE_HEADER, event->datacontenttype);
	assert(h.count - *count == count_headers(event));
	*count = h.count;
	return WP_OK;
}
