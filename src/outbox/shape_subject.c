/* Finds the subject of an event's schema in a registry, and writes what precedes the payload. */
#include <string.h>

#include "shape_parts.h"
#include "walpost/base/display.h"

#define OF_TYPE "${type}"
#define SUFFIX "-value"
#define MAGIC 0

/* The record name is made of this; without ${type} all is before it. */
struct record_name {
	struct wp_span before;
	bool has_type;
	const char *after;
};

static struct record_name record_name_of(const struct wp_outbox_options *o)
{
	const char *type = strstr(o->record_name, OF_TYPE);
	struct record_name name = { .before = wp_span_of(o->record_name), .after = "" };

	if (type == NULL)
		return name;
	name.before.size = (size_t)(type - o->record_name);
	name.has_type = true;
	name.after = type + strlen(OF_TYPE);
	return name;
}

static bool wants_topic(const struct wp_shape *s)
{
	return s->options->subject != WP_SUBJECT_RECORD;
}

static bool wants_type(const struct wp_shape *s)
{
	return s->options->subject != WP_SUBJECT_TOPIC && record_name_of(s->options).has_type;
}

static enum wp_rc check_url(const struct wp_registry_options *o, struct wp_error *error)
{
	const char *rest = strstr(o->url, "://");
	bool is_http = strncmp(o->url, "http://", 7) == 0 || strncmp(o->url, "https://", 8) == 0;

	if (!is_http || rest[3] == '\0' || strpbrk(o->url, "?#, \t") != NULL)
		return wp_error_set(
			error, WP_CONFIG,
			"outbox.schema.registry is not the http or https URL of one schema "
			"registry, such as https://registry.example.com: correct it");
	if (memchr(rest + 3, '@', strcspn(rest + 3, "/")) != NULL)
		return wp_error_set(error, WP_CONFIG,
				    "outbox.schema.registry holds a user: set "
				    "outbox.schema.registry.basic_auth = user:password instead");
	if (o->basic_auth[0] != '\0' && o->bearer_token[0] != '\0')
		return wp_error_set(
			error, WP_CONFIG,
			"outbox.schema.registry.basic_auth and outbox.schema.registry.bearer_token "
			"are two logins: keep one of them");
	if (o->basic_auth[0] != '\0' && strchr(o->basic_auth, ':') == NULL)
		return wp_error_set(
			error, WP_CONFIG,
			"outbox.schema.registry.basic_auth is not user:password: correct it");
	return WP_OK;
}

static enum wp_rc check_record_name(const struct wp_shape *s, struct wp_error *error)
{
	const struct wp_outbox_options *o = s->options;
	struct record_name name = record_name_of(o);

	if (o->subject == WP_SUBJECT_TOPIC)
		return WP_OK;
	if (o->record_name[0] == '\0' || strchr(name.after, '$') != NULL ||
	    (name.before.size > 0 && memchr(name.before.data, '$', name.before.size) != NULL))
		return wp_error_set(
			error, WP_CONFIG,
			"outbox.schema.record = \"%.200s\" is not a record name: allowed is a name "
			"in which " OF_TYPE
			" once stands for the event's type, such as com.example." OF_TYPE,
			o->record_name);
	if (name.has_type && o->column_type[0] == '\0')
		return wp_error_set(error, WP_CONFIG,
				    "outbox.schema.record names " OF_TYPE
				    ", but outbox.column.type is empty: set that column, or a "
				    "fixed record name");
	return WP_OK;
}

enum wp_rc wp_shape_begin_subjects(struct wp_shape *s, struct wp_error *error)
{
	enum wp_rc rc = check_url(&s->options->registry, error);

	if (rc == WP_OK)
		rc = check_record_name(s, error);
	if (rc == WP_OK)
		rc = wp_schema_versions_new(s->options->schema_versions, &s->versions, error);
	return rc;
}

void wp_shape_use_subjects(struct wp_shape *s, struct wp_subjects *subjects)
{
	s->subjects = subjects;
}

const struct wp_subject *wp_shape_awaited(const struct wp_shape *s)
{
	return s->awaited;
}

/* -- the name ------------------------------------------------------------------ */

static enum wp_rc write_subject_name(struct wp_shape *s, struct wp_span topic, struct wp_span type)
{
	struct record_name name = record_name_of(s->options);
	struct wp_buffer *into = &s->subject;
	enum wp_rc rc = WP_OK;

	wp_buffer_reset(into);
	if (wants_topic(s))
		rc = wp_buffer_append(into, topic);
	if (s->options->subject == WP_SUBJECT_TOPIC)
		return rc == WP_OK ? wp_buffer_append_text(into, SUFFIX) : rc;
	if (rc == WP_OK && wants_topic(s))
		rc = wp_buffer_append_byte(into, '-');
	if (rc == WP_OK)
		rc = wp_buffer_append(into, name.before);
	if (rc == WP_OK && name.has_type)
		rc = wp_buffer_append(into, type);
	return rc == WP_OK ? wp_buffer_append_text(into, name.after) : rc;
}

static enum wp_rc find_subject(struct wp_shape *s, struct wp_span name, uint32_t version,
			       const struct wp_subject **ret, struct wp_error *error)
{
	if (s->subjects == NULL)
		return wp_error_set(error, WP_CONFIG,
				    "the schema registry is not asked here for a schema id");
	return wp_subjects_find(s->subjects, &s->options->registry, name, version, ret, error);
}

enum wp_rc wp_shape_find_subject(struct wp_shape *s, struct wp_span topic, struct wp_span type,
				 const struct wp_subject **ret, struct wp_error *error)
{
	if ((wants_topic(s) && wp_span_is_null(topic)) || (wants_type(s) && wp_span_is_null(type)))
		return find_subject(s, wp_span_of(""), 0, ret, error);
	enum wp_rc rc = write_subject_name(s, topic, type);
	if (rc == WP_FULL)
		return wp_error_set(error, WP_DATA,
				    "the name of its subject is longer than %d bytes",
				    WP_SUBJECT_SIZE_MAX);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "out of memory for the name of a subject");
	struct wp_span name = wp_buffer_span(&s->subject);
	return find_subject(s, name, wp_schema_version_find(s->versions, name).number, ret, error);
}

/* -- the frame ----------------------------------------------------------------- */

static enum wp_rc append_frame(struct wp_shape *s, const struct wp_subject *subject)
{
	uint32_t id = subject->schema.id;
	const uint8_t head[] = { MAGIC, (uint8_t)(id >> 24), (uint8_t)(id >> 16),
				 (uint8_t)(id >> 8), (uint8_t)id };
	struct wp_span index =
		wp_schema_version_find(s->versions, wp_buffer_span(&s->subject)).index;

	enum wp_rc rc = wp_buffer_append(&s->value, (struct wp_span){ head, sizeof(head) });
	if (rc != WP_OK || subject->schema.kind != WP_SCHEMA_PROTOBUF)
		return rc;
	/* The first message of the file is the list 0, which is one byte. */
	return wp_span_is_null(index) ? wp_buffer_append_byte(&s->value, 0)
				      : wp_buffer_append(&s->value, index);
}

enum wp_rc wp_shape_frame(struct wp_shape *s, const struct wp_event *event, struct wp_span topic,
			  struct wp_error *error)
{
	const struct wp_subject *subject = NULL;
	enum wp_rc rc = WP_OK;

	/* An event that is sent again, to another topic, has the schema of its own. */
	if (!wp_span_is_null(event->topic) && !wp_span_is_null(event->route))
		rc = wp_route_topic(s->route, event->route, &event->origin, &topic, error);
	if (rc == WP_OK && wants_type(s) && (wp_span_is_null(event->type) || event->type.size == 0))
		rc = wp_error_set(error, WP_DATA,
				  "it has no type, of which outbox.schema.record makes the record "
				  "name: correct the row's outbox.column.type column");
	if (rc == WP_OK)
		rc = wp_shape_find_subject(s, topic, event->type, &subject, error);
	if (rc == WP_AGAIN)
		s->awaited = subject;
	return rc == WP_OK ? append_frame(s, subject) : rc;
}
