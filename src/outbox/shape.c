#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/outbox/origin.h"
#include "shape_parts.h"
#include "walpost/base/calendar.h"
#include "walpost/base/display.h"
#include "walpost/values/moment.h"

/* This is only a guard, where it is not the record's bound: Postgres sends no more in a row. */
#define SIZE_MAX_OF_ROW ((size_t)INT32_MAX)

bool wp_shape_sends_position(const struct wp_outbox_options *options)
{
	unsigned headers = 0;

	return wp_shape_parse_standard(options->headers_standard, &headers, NULL) == WP_OK &&
	       (headers & WP_HEADER_POSITION) != 0;
}

/* What each value means alone is known; here is checked what does not go together. */
static enum wp_rc check_together(const struct wp_outbox_options *o, struct wp_error *error)
{
	bool is_cloudevent = o->envelope >= WP_ENVELOPE_CLOUDEVENTS_BINARY;

	if (wp_column_is_member(o->column_id))
		return wp_error_set(error, WP_CONFIG,
				    "outbox.column.id = \"%.200s\": an event's row is found again "
				    "by its id, which must be a column and no member of one",
				    o->column_id);
	if (o->value_columns[0] != '\0' && o->value_format == WP_FORM_RAW)
		return wp_error_set(
			error, WP_CONFIG,
			"outbox.value.columns = \"%.200s\": columns next to the payload require a "
			"JSON value: set outbox.value.format = json or json-schema",
			o->value_columns);
	if (o->envelope != WP_ENVELOPE_RAW && o->value_format != WP_FORM_RAW)
		return wp_error_set(
			error, WP_CONFIG,
			"outbox.value.format: an envelope determines the format itself: set one of "
			"outbox.value.format and outbox.envelope to raw");
	if (o->payload_json == WP_PAYLOAD_JSON_EXPAND && o->value_format == WP_FORM_RAW)
		return wp_error_set(error, WP_CONFIG,
				    "outbox.payload.json = expand: an expanded payload requires "
				    "outbox.value.format = json or json-schema; validate checks "
				    "the payload without changing it");
	if (o->key_prefix[0] != '\0' && o->key_format != WP_FORM_RAW)
		return wp_error_set(error, WP_CONFIG,
				    "outbox.key.prefix = \"%.200s\": only a text can have a "
				    "prefix: set outbox.key.format = raw, or remove the prefix",
				    o->key_prefix);
	if (o->confluent_schemas[0] != '\0' &&
	    (o->value_format != WP_FORM_RAW || o->envelope != WP_ENVELOPE_RAW))
		return wp_error_set(
			error, WP_CONFIG,
			"outbox.confluent.schemas: a schema id precedes a payload that the "
			"application encoded: set outbox.value.format and outbox.envelope to raw");
	if (o->registry.url[0] != '\0' && o->confluent_schemas[0] != '\0')
		return wp_error_set(error, WP_CONFIG,
				    "outbox.confluent.schemas and outbox.schema.registry each give "
				    "schema ids: keep one of them");
	if (o->registry.url[0] != '\0' &&
	    (o->value_format != WP_FORM_RAW || o->envelope != WP_ENVELOPE_RAW))
		return wp_error_set(
			error, WP_CONFIG,
			"outbox.schema.registry: a schema id precedes a payload that the "
			"application encoded: set outbox.value.format and outbox.envelope to raw");
	if (is_cloudevent && o->ce_source[0] == '\0' && o->ce_source_column[0] == '\0')
		return wp_error_set(error, WP_CONFIG,
				    "outbox.cloudevents.source is missing: a CloudEvent requires a "
				    "source, such as /orders; set it, or name its column in "
				    "outbox.cloudevents.source.column");
	if (is_cloudevent && o->column_type[0] == '\0')
		return wp_error_set(error, WP_CONFIG,
				    "outbox.column.type is missing: a CloudEvent requires a type");
	if (o->debezium_context_headers && o->debezium_name[0] == '\0')
		return wp_error_set(error, WP_CONFIG,
				    "outbox.debezium.name is missing: the context headers name the "
				    "connector, its topic.prefix");
	return WP_OK;
}

static enum wp_rc check_name(const char *name, struct wp_error *error)
{
	if (strncmp(name, WP_OUR_HEADERS, strlen(WP_OUR_HEADERS)) != 0)
		return WP_OK;
	return wp_error_set(error, WP_CONFIG,
			    "outbox.headers: a header \"%.200s\" could be mistaken for one of "
			    "walpost's own, which begin with " WP_OUR_HEADERS
			    ": rename it, as in column:name",
			    name);
}

static enum wp_rc check_lists(const struct wp_outbox_options *options, struct wp_error *error)
{
	struct wp_column_list columns; /* the rows' own mapping has them; here they are checked */
	enum wp_rc rc = wp_origin_check(options->key_prefix, "outbox.key.prefix", error);

	if (rc == WP_OK)
		rc = wp_column_list_parse(options->headers, "outbox.headers", &columns, error);

	for (size_t i = 0; i < columns.count && rc == WP_OK; i++)
		rc = check_name(columns.items[i].name, error);
	if (rc == WP_OK)
		rc = wp_column_list_parse(options->value_columns, "outbox.value.columns", &columns,
					  error);
	if (rc == WP_OK)
		rc = wp_column_list_parse(options->ce_extensions, "outbox.cloudevents.extensions",
					  &columns, error);
	return rc;
}

static enum wp_rc new_expand(struct wp_shape *s, size_t size_max, struct wp_error *error)
{
	const struct wp_expand_options options = {
		.keep_nulls = s->options->expand_nulls == WP_EXPAND_KEEP,
		.keep_empty_arrays = s->options->expand_empty_arrays == WP_EXPAND_KEEP,
	};
	enum wp_rc rc = wp_expand_new(&options, size_max, &s->expand);

	return rc == WP_OK ? rc : wp_error_set(error, rc, "out of memory to expand payloads");
}

enum wp_rc wp_shape_new(const struct wp_outbox_options *options, size_t record_max,
			struct wp_shape **ret, struct wp_error *error)
{
	struct wp_shape *s = calloc(1, sizeof(*s));
	if (s == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for the shape of events");

	s->options = options;
	s->record_max = record_max;
	size_t made_max = record_max > 0 ? record_max : SIZE_MAX_OF_ROW;
	wp_buffer_init(&s->decoded, SIZE_MAX_OF_ROW);
	wp_buffer_init(&s->texts, SIZE_MAX_OF_ROW);
	wp_buffer_init(&s->value, made_max);
	wp_buffer_init(&s->names, SIZE_MAX_OF_ROW);
	wp_buffer_init(&s->written, made_max);
	wp_buffer_init(&s->subject, WP_SUBJECT_SIZE_MAX);
	enum wp_rc rc =
		wp_shape_parse_standard(options->headers_standard, &s->standard_headers, error);
	if (rc == WP_OK)
		rc = check_lists(options, error);
	if (rc == WP_OK)
		rc = check_together(options, error);
	if (rc == WP_OK && options->payload_json == WP_PAYLOAD_JSON_EXPAND)
		rc = new_expand(s, made_max, error);
	if (rc == WP_OK && options->confluent_schemas[0] != '\0')
		rc = wp_schema_ids_new(options->confluent_schemas, &s->schema_ids, error);
	if (rc == WP_OK && options->registry.url[0] != '\0')
		rc = wp_shape_begin_subjects(s, error);
	if (rc == WP_OK)
		rc = wp_route_new(options->topic_regex, options->topic_replacement, &s->route,
				  error);
	if (rc != WP_OK) {
		wp_shape_free(s);
		return rc;
	}
	*ret = s;
	return WP_OK;
}

void wp_shape_name_run(struct wp_shape *s, const char *run_id)
{
	(void)snprintf(s->run_id, sizeof(s->run_id), "%s", run_id);
}

void wp_shape_free(struct wp_shape *s)
{
	if (s == NULL)
		return;
	wp_route_free(s->route);
	wp_schema_ids_free(s->schema_ids);
	wp_schema_ids_free(s->versions);
	wp_buffer_release(&s->subject);
	wp_expand_free(s->expand);
	wp_buffer_release(&s->decoded);
	wp_buffer_release(&s->texts);
	wp_buffer_release(&s->value);
	wp_buffer_release(&s->names);
	wp_buffer_release(&s->written);
	free(s);
}

/* The buffer does not move any more. */
static void place_written(struct wp_shape *s)
{
	for (size_t i = 0; i < s->made_count; i++)
		*s->made[i].place = (struct wp_span){
			.data = s->written.data + s->made[i].offset,
			.size = s->made[i].size,
		};
	s->made_count = 0;
}

/* -- the record --------------------------------------------------------------- */

enum wp_rc wp_shape_topic(struct wp_shape *s, const struct wp_event *event, struct wp_span *ret,
			  struct wp_error *error)
{
	struct wp_error inner;
	struct wp_excerpt id;

	if (!wp_span_is_null(event->topic)) {
		*ret = event->topic;
		return WP_OK;
	}
	if (wp_span_is_null(event->route))
		return wp_error_set(error, WP_DATA, "%s%s, id %s: its topic is not defined",
				    wp_shape_kind(event), event->table, wp_excerpt(&id, event->id));
	enum wp_rc rc = wp_route_topic(s->route, event->route, &event->origin, ret, &inner);
	if (rc == WP_OK)
		return WP_OK;
	return wp_error_set(error, rc, "%s%s, id %s: %s", wp_shape_kind(event), event->table,
			    wp_excerpt(&id, event->id), inner.text);
}

/* Kafka knows no time before 1970, and librdkafka takes 0 for "now". */
static int64_t commit_ms(int64_t postgres_us)
{
	int64_t ms = postgres_us / 1000 + WP_POSTGRES_EPOCH_S * 1000;

	return ms < 1 ? 1 : ms;
}

/* From a row it is what Postgres prints of an integer; from a message it may be anything. */
static bool read_integer(struct wp_span text, int64_t *ret)
{
	char digits[24] = "";
	char *end = digits;

	if (text.size >= sizeof(digits))
		return false;
	memcpy(digits, text.data, text.size);
	errno = 0;
	*ret = strtoll(digits, &end, 10);
	bool has_digit = digits[0] == '-' || (digits[0] >= '0' && digits[0] <= '9');
	return has_digit && end == digits + text.size && errno == 0;
}

static enum wp_rc read_timestamp(struct wp_shape *s, const struct wp_event *event, int64_t *ret_ms,
				 struct wp_error *error)
{
	int64_t us = 0;
	int64_t ms;

	s->time_us = event->commit_time_us <= INT64_MAX - WP_POSTGRES_EPOCH_US
			     ? event->commit_time_us + WP_POSTGRES_EPOCH_US
			     : INT64_MAX;
	if (wp_span_is_null(event->timestamp))
		return WP_OK; /* that of the commit */
	struct wp_excerpt shown;
	if (event->timestamp_type->type == WP_TYPE_INT8) {
		if (!read_integer(event->timestamp, &ms))
			return wp_error_set(error, WP_DATA,
					    "\"%s\" is not a number of milliseconds since 1970: "
					    "correct the row's outbox.column.timestamp column",
					    wp_excerpt(&shown, event->timestamp));
		if (ms > INT64_MAX / 1000)
			return wp_error_set(error, WP_DATA,
					    "\"%s\" milliseconds since 1970 are after the year "
					    "294246, the last that microseconds can represent: "
					    "correct the row's outbox.column.timestamp column",
					    wp_excerpt(&shown, event->timestamp));
		us = ms < 0 ? -1 : ms * 1000;
	} else {
		enum wp_rc rc =
			wp_moment_us(event->timestamp_type->type, event->timestamp, &us, error);
		if (rc != WP_OK)
			return rc;
		ms = us / 1000;
	}
	if (ms < 1)
		return wp_error_set(
			error, WP_DATA,
			"\"%s\" is %s: correct the row's outbox.column.timestamp column",
			wp_excerpt(&shown, event->timestamp),
			us < 0 ? "before 1970, which Kafka does not support"
			       : "1970-01-01 00:00:00, which a producer replaces by the present "
				 "time");
	*ret_ms = ms;
	s->time_us = us;
	return WP_OK;
}

static enum wp_rc read_partition_number(const struct wp_event *event, int32_t *ret,
					struct wp_error *error)
{
	struct wp_excerpt shown;

	if (wp_span_is_null(event->partition))
		return WP_OK;
	int64_t number = -1;
	if (!read_integer(event->partition, &number) || number < 0 || number > INT32_MAX)
		return wp_error_set(error, WP_DATA,
				    "%s is not a partition number: correct the row's "
				    "outbox.column.partition column",
				    wp_excerpt(&shown, event->partition));
	*ret = (int32_t)number;
	return WP_OK;
}

/* The first that fails is told; memory, or a schema that is awaited, is no property of the event. */
struct verdict {
	enum wp_rc rc;
	struct wp_error *error;
};

static void note_verdict(struct verdict *v, const struct wp_shape *s, const struct wp_event *event,
			 const char *what, enum wp_rc rc, const struct wp_error *inner)
{
	bool is_of_event = rc != WP_NOMEM && rc != WP_AGAIN;

	if (rc == WP_OK || (v->rc != WP_OK && is_of_event))
		return;
	v->rc = wp_shape_say(s, event, what, rc, inner, v->error);
}

static enum wp_rc write_bare_key(struct wp_shape *s, const struct wp_event *event,
				 struct wp_span *place, struct wp_error *error)
{
	return wp_shape_write(s, place, s->options->key_format, WP_FOR_KEY_OR_VALUE,
			      event->key_type, event->key, error);
}

/* The key has outbox.key.prefix before it, unless it is NULL. */
static enum wp_rc write_key(struct wp_shape *s, const struct wp_event *event, struct wp_span *place,
			    struct wp_error *error)
{
	size_t start = s->written.size;
	size_t made = s->made_count;

	if (s->options->key_prefix[0] == '\0' || wp_span_is_null(event->key))
		return write_bare_key(s, event, place, error);
	enum wp_rc rc = wp_origin_write(&s->written, s->options->key_prefix, &event->origin);
	if (rc == WP_OK)
		rc = write_bare_key(s, event, place, error);
	if (rc == WP_OK && s->made_count == made)
		rc = wp_buffer_append(&s->written, *place);
	s->made_count = made;
	if (rc == WP_OK)
		wp_shape_made(s, place, start);
	return rc;
}

enum wp_rc wp_shape_record(struct wp_shape *s, const struct wp_event *event, struct wp_record *ret,
			   struct wp_error *error)
{
	struct verdict v = { .rc = WP_OK, .error = error };
	struct wp_error inner;

	*ret = (struct wp_record){
		.headers = s->headers,
		.timestamp_ms = commit_ms(event->commit_time_us),
		.partition = WP_PARTITION_BY_KEY,
		.position = event->position,
		.table = wp_span_is_null(event->topic) ? event->table : event->target,
		.id = event->id,
		.is_message = wp_span_is_null(event->schema),
	};
	if (s->written.capacity > 0)
		wp_buffer_empty(&s->written, event->payload.size);
	s->made_count = 0;

	s->failed = 0;
	s->awaited = NULL;

	/* All is tried: a dead letter holds what could be made. */
	v.rc = wp_shape_topic(s, event, &ret->topic, error);
	s->failed |= v.rc != WP_OK ? WP_PART_TOPIC : 0;
	note_verdict(&v, s, event, "the key", write_key(s, event, &ret->key, &inner), &inner);
	enum wp_rc rc = read_timestamp(s, event, &ret->timestamp_ms, &inner);
	s->failed |= rc != WP_OK ? WP_PART_TIMESTAMP : 0;
	note_verdict(&v, s, event, "the timestamp", rc, &inner);
	rc = read_partition_number(event, &ret->partition, &inner);
	s->failed |= rc != WP_OK ? WP_PART_PARTITION : 0;
	note_verdict(&v, s, event, "the partition", rc, &inner);
	note_verdict(&v, s, event, "the headers", wp_shape_headers(s, event, &inner), &inner);
	ret->header_count = s->header_count;
	place_written(s);
	rc = wp_shape_value(s, event, ret, &inner);
	ret->header_count = s->header_count;
	s->failed |= rc != WP_OK ? WP_PART_VALUE : 0;
	note_verdict(&v, s, event, "the value", rc, &inner);
	if ((v.rc != WP_OK || event->is_refused) && !wp_span_is_null(event->content))
		ret->value = event->content;
	return v.rc;
}

/* -- what a record leaves out ----------------------------------------------------- */

static void add_record_column(struct wp_shape *s, struct wp_record *ret, struct wp_span name,
			      struct wp_span text)
{
	assert(ret->column_count < WP_RECORD_COLUMNS_MAX);
	s->columns[ret->column_count++] = (struct wp_header){ .name = name, .value = text };
}

static void add_role(struct wp_shape *s, struct wp_record *ret, const char *column,
		     struct wp_span text)
{
	if (column[0] != '\0' && !wp_span_is_null(text))
		add_record_column(s, ret, wp_span_of(column), text);
}

static void add_record_columns(struct wp_shape *s, struct wp_record *ret,
			       const struct wp_event_fields *fields)
{
	for (size_t i = 0; i < fields->count; i++)
		add_record_column(s, ret, fields->items[i].name, fields->items[i].value);
}

/* Adds what stands beside the payload in a value, or around it. */
static void add_of_value(struct wp_shape *s, const struct wp_event *event, struct wp_record *ret)
{
	const struct wp_outbox_options *o = s->options;
	bool sends_type = (s->standard_headers & WP_HEADER_TYPE) != 0;

	add_record_columns(s, ret, &event->members);
	add_role(s, ret, o->debezium_schema_version, event->schema_version);
	if (o->envelope == WP_ENVELOPE_RAW)
		return;
	if (!sends_type)
		add_role(s, ret, o->column_type, event->type);
	if ((s->failed & WP_PART_TOPIC) == 0)
		add_role(s, ret, o->route_by, event->route);
	add_role(s, ret, o->ce_source_column, event->ce_source);
	add_role(s, ret, o->ce_subject, event->ce_subject);
	add_record_columns(s, ret, &event->extensions);
}

void wp_shape_leftover(struct wp_shape *s, const struct wp_event *event, struct wp_record *ret)
{
	const struct wp_outbox_options *o = s->options;

	ret->columns = s->columns;
	ret->column_count = ret->beside_value = 0;
	if (!wp_span_is_null(event->content))
		return;
	if (s->failed & WP_PART_TOPIC)
		add_role(s, ret, o->route_by, event->route);
	if (s->failed & WP_PART_TIMESTAMP)
		add_role(s, ret, o->column_timestamp, event->timestamp);
	if (s->failed & WP_PART_PARTITION)
		add_role(s, ret, o->column_partition, event->partition);
	if (s->failed & WP_PART_PROPERTIES)
		add_role(s, ret, o->headers_properties, event->properties);
	if (s->failed & WP_PART_JSON_HEADERS)
		add_role(s, ret, o->headers_json, event->json_headers);
	ret->beside_value = ret->column_count;
	add_of_value(s, event, ret);
	if (s->failed & WP_PART_VALUE)
		ret->beside_value = ret->column_count;
}

size_t wp_shape_written(const struct wp_shape *s)
{
	size_t expanded = s->expand != NULL ? wp_expand_written(s->expand) : 0;

	return s->value.size + s->written.size + expanded;
}
