/*
 * A logical message as an event, and that event in every shape: what is read lies within the
 * message or the buffer that it was unescaped into, and what is made of it is whole, or is
 * refused with a reason.
 */
#include <string.h>

#include "fuzz.h"
#include "support/rows.h"
#include "walpost/base/json.h"
#include "walpost/outbox/message.h"
#include "walpost/outbox/shape.h"

enum { SHAPES = 12, SIZE_MAX_OF_VALUE = 1 << 20 };

struct way {
	struct wp_outbox_options options;
	struct wp_message_reader *reader;
	struct wp_shape *shape;
};

static struct wp_buffer texts;
static volatile uint8_t seen; /* so that reading is not left out */

static void choose_shape(struct wp_outbox_options *o, unsigned shape)
{
	o->key_format = (enum wp_form)(shape % 3);
	o->headers_format = (enum wp_form)((shape / 2) % 4);
	o->types = shape % 2 == 0 ? WP_RENDERING_POSTGRES : WP_RENDERING_DEBEZIUM;
	o->payload_empty = shape % 5 == 0 ? WP_PAYLOAD_EMPTY_TOMBSTONE : WP_PAYLOAD_EMPTY_KEEP;
	o->ce_source = "/fuzz";
	if (shape >= 1 && shape <= 5)
		o->value_format = shape % 2 == 0 ? WP_FORM_JSON : WP_FORM_JSON_SCHEMA;
	if (shape == 2 || shape == 3)
		o->payload_json = WP_PAYLOAD_JSON_EXPAND;
	if (shape == 4 || shape == 6)
		o->payload_json = WP_PAYLOAD_JSON_VALIDATE;
	if (shape == 3 || shape == 5)
		o->value_columns = "type,tenant:t";
	if (shape == 7)
		o->confluent_schemas = "*:7:1/0";
	if (shape >= 8)
		o->envelope = (enum wp_envelope)(shape - 7);
}

static void open_way(struct way *way, unsigned choice)
{
	way->options = default_options();
	way->options.message_prefix = "outbox";
	way->options.message_format = choice & 1 ? WP_MESSAGE_PROTOBUF : WP_MESSAGE_JSON;
	way->options.key_null = choice & 2 ? WP_KEY_NULL_ALLOW : WP_KEY_NULL_STOP;
	way->options.column_timestamp = "at";
	way->options.column_partition = "part";
	way->options.headers = "tenant,at:when";
	way->options.headers_properties = "trace";
	way->options.ce_extensions = "tenant";
	choose_shape(&way->options, choice / 4);
	NEED(wp_message_reader_new(&way->options, &way->reader, NULL) == WP_OK);
	NEED(wp_shape_new(&way->options, SIZE_MAX_OF_VALUE, &way->shape, NULL) == WP_OK);
}

static void read_all(struct wp_span bytes)
{
	for (size_t i = 0; i < bytes.size; i++)
		seen = bytes.data[i];
}

static void check_record(const struct way *way, const struct wp_record *record)
{
	struct wp_json json;
	bool json_value = way->options.value_format != WP_FORM_RAW ||
			  way->options.payload_json == WP_PAYLOAD_JSON_VALIDATE ||
			  way->options.envelope == WP_ENVELOPE_CLOUDEVENTS_JSON;

	NEED(record->topic.size > 0 && record->topic.data[record->topic.size] == '\0');
	read_all(record->key);
	read_all(record->value);
	NEED(record->header_count <= WP_RECORD_HEADERS_MAX);
	for (size_t i = 0; i < record->header_count; i++) {
		const struct wp_header *h = &record->headers[i];
		NEED(h->name.size > 0 && h->name.data[h->name.size] == '\0');
		read_all(h->value);
	}
	if (json_value && !wp_span_is_null(record->value))
		NEED(wp_json_read(record->value, &json, NULL) == WP_OK);
	if (way->options.key_format != WP_FORM_RAW)
		NEED(wp_json_read(record->key, &json, NULL) == WP_OK);
	NEED(record->timestamp_ms > 0 && record->partition >= WP_PARTITION_BY_KEY);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct way ways[4 * SHAPES]; /* kept from run to run, as a relay keeps them */
	struct wp_event event;
	struct wp_record record;
	struct wp_error error = { "" };

	if (size < 1)
		return 0;
	unsigned choice = data[0] % (4 * SHAPES);
	struct way *way = &ways[choice];
	if (way->shape == NULL)
		open_way(way, choice);
	if (texts.size_max == 0)
		wp_buffer_init(&texts, SIZE_MAX_OF_VALUE);
	/* A copy of its own size, so that a read behind it is seen. */
	uint8_t *content = malloc(size - 1);
	NEED(content != NULL);
	memcpy(content, data + 1, size - 1);
	enum wp_rc rc = wp_message_event(way->reader, (struct wp_span){ content, size - 1 },
					 choice & 4 ? "LATIN1" : "UTF8", &texts, &event, &error);
	NEED(rc == WP_OK || (rc == WP_DATA && error.text[0] != '\0'));
	event.commit_time_us = 1;
	event.position = (struct wp_position){ .commit_lsn = 1 };
	enum wp_rc shaped = wp_shape_record(way->shape, &event, &record, &error);
	NEED(shaped == WP_OK || (shaped == WP_DATA && error.text[0] != '\0'));
	if (rc == WP_OK && shaped == WP_OK)
		check_record(way, &record);
	free(content);
	return 0;
}
