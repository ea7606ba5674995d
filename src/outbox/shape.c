#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/buffer.h"
#include "walpost/outbox/columns.h"
#include "walpost/outbox/envelope.h"
#include "walpost/outbox/excerpt.h"
#include "walpost/outbox/route.h"
#include "walpost/outbox/shape.h"
#include "walpost/wal/frame.h"

enum standard_header {
	HEADER_ID = 1,
	HEADER_TYPE = 2,
	HEADER_POSITION = 4,
};

struct wp_shape {
	const struct wp_outbox_options *options; /* borrowed */
	unsigned standard_headers;
	size_t value_size_max;
	struct wp_route *route;	  /* owned */
	struct wp_buffer decoded; /* a bytea payload's bytes */
	struct wp_buffer texts;	  /* for the envelope */
	struct wp_buffer value;	  /* the envelope */
	struct wp_header headers[WP_EVENT_HEADERS_MAX];
	size_t header_count;
	char position[WP_POSITION_TEXT_SIZE];
};

/* 0: unknown. */
static unsigned standard_header(const char *name, size_t size)
{
	struct wp_span span = { .data = (const uint8_t *)name, .size = size };

	if (wp_span_is(span, "id"))
		return HEADER_ID;
	if (wp_span_is(span, "type"))
		return HEADER_TYPE;
	return wp_span_is(span, "walpost-position") ? HEADER_POSITION : 0;
}

static enum wp_rc parse_standard_headers(const char *list, unsigned *ret, struct wp_why *why)
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
			return wp_why_set(why, WP_CONFIG,
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

bool wp_shape_sends_position(const struct wp_outbox_options *options)
{
	unsigned headers = 0;

	return parse_standard_headers(options->headers_standard, &headers, NULL) == WP_OK &&
	       (headers & HEADER_POSITION) != 0;
}

enum wp_rc wp_shape_new(const struct wp_outbox_options *options, size_t value_size_max,
			struct wp_shape **ret, struct wp_why *why)
{
	struct wp_header_columns
		columns; /* the rows' own mapping has them; here they are checked */
	struct wp_shape *s = calloc(1, sizeof(*s));
	if (s == NULL)
		return wp_why_set(why, WP_NOMEM, "no memory for the shape of events");

	s->options = options;
	s->value_size_max = value_size_max;
	wp_buffer_init(&s->decoded, value_size_max);
	wp_buffer_init(&s->texts, value_size_max);
	wp_buffer_init(&s->value, value_size_max);
	enum wp_rc rc =
		parse_standard_headers(options->headers_standard, &s->standard_headers, why);
	if (rc == WP_OK)
		rc = wp_header_columns_parse(options->headers, &columns, why);
	if (rc == WP_OK)
		rc = wp_route_new(options->topic_regex, options->topic_replacement, &s->route, why);
	if (rc != WP_OK) {
		wp_shape_free(s);
		return rc;
	}
	*ret = s;
	return WP_OK;
}

void wp_shape_free(struct wp_shape *s)
{
	if (s == NULL)
		return;
	wp_route_free(s->route);
	wp_buffer_release(&s->decoded);
	wp_buffer_release(&s->texts);
	wp_buffer_release(&s->value);
	free(s);
}

static enum wp_rc say_too_big(const struct wp_shape *s, const struct wp_event *event,
			      const char *what, struct wp_why *why)
{
	struct wp_excerpt id;

	return wp_why_set(
		why, WP_DATA,
		"table %s, id %s: %s, made of a payload of %zu bytes as Postgres sent it, is "
		"larger than %zu bytes, the most that a value may have",
		event->table, wp_excerpt(&id, event->id), what, event->payload.size,
		s->value_size_max);
}

/* 0 to 15, or more for what is no digit. */
static unsigned nibble(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

/* Returns where it stopped: the end, or the first pair that is not hexadecimal. */
static size_t decode_hex(const uint8_t *digits, size_t count, uint8_t *to)
{
	for (size_t i = 0; i + 1 < count; i += 2) {
		unsigned high = nibble(digits[i]);
		unsigned low = nibble(digits[i + 1]);
		if ((high | low) > 15)
			return i;
		to[i / 2] = (uint8_t)(high << 4 | low);
	}
	return count & ~(size_t)1;
}

static enum wp_rc say_broken(const struct wp_event *event, size_t offset, struct wp_why *why)
{
	struct wp_excerpt id;

	return wp_why_set(
		why, WP_DATA,
		"table %s, id %s: the bytea payload (outbox.column.payload) is not \\x and pairs "
		"of hexadecimal digits at offset %zu of %zu; the session must have "
		"bytea_output = hex",
		event->table, wp_excerpt(&id, event->id), offset, event->payload.size);
}

/* \x and pairs of digits (PostgreSQL documentation, "bytea Hex Format"). */
static enum wp_rc decode_bytea(struct wp_shape *s, const struct wp_event *event,
			       struct wp_span *ret, struct wp_why *why)
{
	struct wp_span text = event->payload;

	if (text.size < 2 || text.data[0] != '\\' || text.data[1] != 'x')
		return say_broken(event, 0, why);
	size_t count = text.size - 2;
	wp_buffer_empty(&s->decoded, count / 2);
	enum wp_rc rc = wp_buffer_reserve(&s->decoded, count / 2);
	if (rc == WP_FULL)
		return say_too_big(s, event, "the decoded payload", why);
	if (rc != WP_OK)
		return wp_why_set(why, rc, "no memory for a payload of %zu bytes", count / 2);
	size_t done = decode_hex(text.data + 2, count, s->decoded.data);
	if (done < count)
		return say_broken(event, done + 2, why);
	s->decoded.size = count / 2;
	*ret = wp_buffer_span(&s->decoded);
	return WP_OK;
}

static enum wp_rc read_payload(struct wp_shape *s, const struct wp_event *event,
			       struct wp_span *ret, struct wp_why *why)
{
	if (event->payload_is_bytea && !wp_span_is_null(event->payload))
		return decode_bytea(s, event, ret, why);
	*ret = event->payload;
	return WP_OK;
}

static void add_header(struct wp_shape *s, struct wp_span name, struct wp_span value)
{
	assert(s->header_count < WP_EVENT_HEADERS_MAX);
	s->headers[s->header_count++] = (struct wp_header){ .name = name, .value = value };
}

static void add_headers(struct wp_shape *s, const struct wp_event *event)
{
	const struct wp_outbox_options *options = s->options;

	s->header_count = 0;
	if (s->standard_headers & HEADER_ID)
		add_header(s, wp_span_of("id"), event->id);
	if (s->standard_headers & HEADER_TYPE && options->column_type[0] != '\0')
		add_header(s, wp_span_of("type"), event->type);
	if (s->standard_headers & HEADER_POSITION)
		add_header(s, wp_span_of("walpost-position"),
			   wp_span_of(wp_position_text(&event->position, s->position)));
	if (options->headers_source[0] != '\0')
		add_header(s, wp_span_of("walpost-source"), wp_span_of(options->headers_source));
	for (size_t i = 0; i < event->header_count; i++)
		add_header(s, event->headers[i].name, event->headers[i].value);
}

/* Kafka knows no time before 1970, and librdkafka takes 0 for "now". */
static int64_t timestamp_ms(int64_t postgres_us)
{
	int64_t ms = postgres_us / 1000 + WP_POSTGRES_EPOCH_S * INT64_C(1000);

	return ms < 1 ? 1 : ms;
}

/* Replaces the record's value, the payload, by the message around it. */
static enum wp_rc envelop(struct wp_shape *s, const struct wp_event *event,
			  struct wp_record *record, struct wp_why *why)
{
	wp_buffer_empty(&s->texts, event->id.size + event->type.size + event->route.size);
	wp_buffer_empty(&s->value, wp_record_size(record));
	enum wp_rc rc = wp_envelope_protobuf(event, record, &s->texts, &s->value, why);
	if (rc == WP_FULL)
		return say_too_big(s, event, "the protobuf message", why);
	if (rc == WP_NOMEM)
		return wp_why_set(why, rc, "no memory for a protobuf message");
	if (rc == WP_OK)
		record->value = wp_buffer_span(&s->value);
	return rc;
}

enum wp_rc wp_shape_topic(struct wp_shape *s, const struct wp_event *event, struct wp_span *ret,
			  struct wp_why *why)
{
	struct wp_why inner;
	struct wp_excerpt id;

	if (wp_span_is_null(event->route))
		return wp_why_set(why, WP_DATA, "table %s, id %s: nothing names its topic",
				  event->table, wp_excerpt(&id, event->id));
	enum wp_rc rc = wp_route_topic(s->route, event->route, ret, &inner);
	if (rc == WP_OK)
		return WP_OK;
	return wp_why_set(why, rc, "table %s, id %s: %s", event->table, wp_excerpt(&id, event->id),
			  inner.text);
}

enum wp_rc wp_shape_record(struct wp_shape *s, const struct wp_event *event, struct wp_record *ret,
			   struct wp_why *why)
{
	*ret = (struct wp_record){
		.key = event->key,
		.headers = s->headers,
		.timestamp_ms = timestamp_ms(event->commit_time_us),
		.partition = WP_PARTITION_BY_KEY,
		.position = event->position,
		.table = event->table,
		.id = event->id,
	};

	/* All is tried, the first that fails is told: a dead letter holds what could be made. */
	enum wp_rc rc = wp_shape_topic(s, event, &ret->topic, why);
	enum wp_rc value_rc = read_payload(s, event, &ret->value, rc == WP_OK ? why : NULL);
	if (value_rc != WP_OK)
		ret->value = event->payload;
	if (rc == WP_OK || value_rc == WP_NOMEM) /* which is no property of the event */
		rc = value_rc;
	add_headers(s, event);
	ret->header_count = s->header_count;
	if (rc == WP_OK && s->options->envelope == WP_ENVELOPE_PROTOBUF)
		rc = envelop(s, event, ret, why);
	return rc;
}
