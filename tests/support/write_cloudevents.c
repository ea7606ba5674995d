/*
 * Writes CloudEvents for readers that are not ours: a line of JSON on standard input is an event
 * and the mode it is wanted in, a line on standard output its record, bytes as hexadecimal digits.
 *
 *   {"mode": "binary", "id": "7", ..., "time_us": 0, "extensions": {...},
 *    "data": "7b7d", "is_binary": false}
 *   {"headers": [["ce_id", "37"], ...], "value": "7b7d"}
 *   {"refused": "the CloudEvents attribute ..."}
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "walpost/envelope/cloudevent.h"

#define SIZE_MAX_OF_ALL ((size_t)16 << 20)

struct output {
	struct wp_buffer texts;
	struct wp_buffer value;
	struct wp_header headers[WP_CLOUDEVENT_HEADERS_MAX];
	size_t header_count;
	struct wp_error error;
};

static struct wp_span text_of(const json_t *line, const char *name)
{
	return wp_span_of(json_string_value(json_object_get(line, name)));
}

/* Decodes in place, so to speak: the digits are there no longer. */
static struct wp_span bytes_of(json_t *line, const char *name)
{
	char *digits = (char *)(uintptr_t)json_string_value(json_object_get(line, name));
	size_t size = digits != NULL ? strlen(digits) / 2 : 0;

	for (size_t i = 0; i < size; i++) {
		char pair[3] = { digits[2 * i], digits[2 * i + 1], '\0' };
		digits[i] = (char)strtoul(pair, NULL, 16);
	}
	return (struct wp_span){ (const uint8_t *)digits, size };
}

static struct wp_cloudevent event_of(json_t *line, struct wp_header *extensions)
{
	struct wp_cloudevent event = {
		.id = text_of(line, "id"),
		.source = text_of(line, "source"),
		.type = text_of(line, "type"),
		.subject = text_of(line, "subject"),
		.datacontenttype = text_of(line, "datacontenttype"),
		.dataschema = text_of(line, "dataschema"),
		.time_us = json_integer_value(json_object_get(line, "time_us")),
		.extensions = extensions,
		.data = bytes_of(line, "data"),
	};
	const char *name;
	json_t *value;

	if (json_is_true(json_object_get(line, "is_binary")))
		event.data_form = WP_CLOUDEVENT_BINARY;
	json_object_foreach(json_object_get(line, "extensions"), name, value)
	{
		extensions[event.extension_count++] = (struct wp_header){
			wp_span_of(name),
			wp_span_of(json_string_value(value)),
		};
	}
	return event;
}

static void set_type(struct output *o, const char *type)
{
	o->headers[0] =
		(struct wp_header){ wp_span_of(WP_CLOUDEVENT_TYPE_HEADER), wp_span_of(type) };
	o->header_count = 1;
}

/* The record's value in `ret`; null for none. */
static enum wp_rc write_event(const struct wp_cloudevent *event, struct wp_span mode,
			      struct output *o, struct wp_span *ret)
{
	enum wp_rc rc = wp_cloudevent_check(event, &o->error);

	o->header_count = 0;
	if (rc != WP_OK)
		return rc;
	if (wp_span_is(mode, "binary")) {
		*ret = event->data;
		return wp_cloudevent_headers(event, &o->texts, o->headers,
					     WP_CLOUDEVENT_HEADERS_MAX, &o->header_count);
	}
	if (wp_span_is(mode, "json")) {
		set_type(o, WP_CLOUDEVENT_TYPE_JSON);
		rc = wp_cloudevent_json(event, &o->value, &o->error);
	} else {
		set_type(o, WP_CLOUDEVENT_TYPE_PROTOBUF);
		rc = wp_cloudevent_protobuf(event, &o->texts, &o->value, &o->error);
	}
	*ret = wp_buffer_span(&o->value);
	return rc;
}

static void print_hex(struct wp_span bytes)
{
	if (wp_span_is_null(bytes)) {
		fputs("null", stdout);
		return;
	}
	putchar('"');
	for (size_t i = 0; i < bytes.size; i++)
		printf("%02x", bytes.data[i]);
	putchar('"');
}

static void print_record(const struct output *o, struct wp_span value)
{
	fputs("{\"headers\": [", stdout);
	for (size_t i = 0; i < o->header_count; i++) {
		printf("%s[\"%s\", ", i > 0 ? ", " : "", (const char *)o->headers[i].name.data);
		print_hex(o->headers[i].value);
		putchar(']');
	}
	fputs("], \"value\": ", stdout);
	print_hex(value);
	puts("}");
}

static void print_refusal(const struct output *o)
{
	json_t *said = json_pack("{ss}", "refused", o->error.text);

	json_dumpf(said, stdout, 0);
	putchar('\n');
	json_decref(said);
}

int main(void)
{
	struct wp_header extensions[WP_CLOUDEVENT_EXTENSIONS_MAX];
	static struct output o;
	json_t *line;

	wp_buffer_init(&o.texts, SIZE_MAX_OF_ALL);
	wp_buffer_init(&o.value, SIZE_MAX_OF_ALL);
	while ((line = json_loadf(stdin, JSON_DISABLE_EOF_CHECK, NULL)) != NULL) {
		struct wp_cloudevent event = event_of(line, extensions);
		struct wp_span value;
		if (write_event(&event, text_of(line, "mode"), &o, &value) == WP_OK)
			print_record(&o, value);
		else
			print_refusal(&o);
		json_decref(line);
	}
	wp_buffer_release(&o.texts);
	wp_buffer_release(&o.value);
	return 0;
}
