/*
 * A row of walpost.reissue as it comes out of the log, its column "row" being the input: an event
 * that is whole, or one that is refused with a reason; and the same once more by the mapping that is
 * kept. The first byte says how the outbox is configured.
 */
#include <string.h>

#include "fuzz.h"
#include "support/rows.h"
#include "walpost/outbox/decoder.h"
#include "walpost/outbox/shape.h"

enum { RELATION = 16400, WAYS = 8 };

static volatile uint8_t seen; /* so that reading is not left out */

static void read_all(struct wp_span bytes)
{
	for (size_t i = 0; i < bytes.size; i++)
		seen = bytes.data[i];
}

/* Big-endian, as the server sends it. */
struct message {
	uint8_t bytes[16384];
	size_t size;
};

static void put(struct message *m, const void *bytes, size_t size)
{
	NEED(size <= sizeof(m->bytes) - m->size);
	memcpy(m->bytes + m->size, bytes, size);
	m->size += size;
}

static void put_number(struct message *m, uint64_t number, int size)
{
	while (size-- > 0)
		put(m, &(uint8_t){ (uint8_t)(number >> (8 * size)) }, 1);
}

static void put_text(struct message *m, const char *text)
{
	put(m, text, strlen(text) + 1);
}

static void put_value(struct message *m, struct wp_span value)
{
	put(m, wp_span_is_null(value) ? "n" : "t", 1);
	if (wp_span_is_null(value))
		return;
	put_number(m, value.size, 4);
	put(m, value.data, value.size);
}

static enum wp_rc offer(struct wp_decoder *d, const struct message *m, struct wp_decoded *ret,
			struct wp_error *error)
{
	const struct wp_span bytes = { .data = m->bytes, .size = m->size };

	return wp_decoder_take(d, bytes, ret, error);
}

static const char *const names[] = { "slot",   "outbox",   "row", "content",
				     "reason", "position", "kind" };

static void begin(struct wp_decoder *d)
{
	struct message m = { .size = 0 };
	struct wp_decoded decoded;

	put_text(&m, "B");
	m.size--;
	put_number(&m, 300, 8);
	put_number(&m, 0, 8);
	put_number(&m, 700, 4);
	NEED(offer(d, &m, &decoded, NULL) == WP_OK);
	m.size = 0;
	put(&m, "R", 1);
	put_number(&m, RELATION, 4);
	put_text(&m, "walpost");
	put_text(&m, "reissue");
	put(&m, "d", 1);
	put_number(&m, 7, 2);
	for (size_t i = 0; i < 7; i++) {
		put_number(&m, 0, 1);
		put_text(&m, names[i]);
		put_number(&m, 25, 4);
		put_number(&m, UINT32_MAX, 4);
	}
	NEED(offer(d, &m, &decoded, NULL) == WP_OK);
}

static void check(struct wp_decoder *d, struct wp_shape *shape, const struct message *m)
{
	struct wp_error error = { .text = "" };
	struct wp_decoded decoded;
	struct wp_record record;

	NEED(offer(d, m, &decoded, &error) == WP_OK);
	NEED(decoded.kind == WP_DECODED_EVENT);
	NEED(decoded.verdict == WP_OK || (decoded.verdict == WP_DATA && error.text[0] != '\0'));
	NEED(decoded.event->is_refused == (decoded.verdict == WP_DATA));
	NEED(!wp_span_is_null(decoded.event->reissued));
	enum wp_rc rc = wp_shape_record(shape, decoded.event, &record, &error);
	NEED(rc == WP_OK || rc == WP_DATA);
	read_all(record.key);
	read_all(record.value);
	for (size_t i = 0; i < record.header_count; i++)
		read_all(record.headers[i].value);
}

/* In the midst of one transaction, for all inputs. */
struct way {
	struct wp_outbox_options options;
	struct wp_outboxes outboxes;
	struct wp_decoder *decoder;
	struct wp_shape *shape;
};

static void open_way(struct way *way, unsigned choice)
{
	static struct wp_partitions partitions;
	static const struct wp_timelines timelines = { .current = 1 };
	const struct wp_decoder_setup setup = {
		.outboxes = &way->outboxes,
		.record_max = 1 << 20,
		.texts_max = 1 << 20,
		.partitions = &partitions,
	};

	way->options = default_options();
	way->options.types = choice & 1 ? WP_RENDERING_DEBEZIUM : WP_RENDERING_POSTGRES;
	way->options.value_format = choice & 2 ? WP_FORM_JSON_SCHEMA : WP_FORM_RAW;
	way->options.headers = "tenant";
	way->options.column_timestamp = choice & 4 ? "at" : "";
	way->outboxes = only(&way->options, "");
	way->outboxes.slot = "s";
	NEED(wp_decoder_new(&setup, &way->decoder, NULL) == WP_OK);
	NEED(wp_shape_new(&way->options, 1 << 20, &way->shape, NULL) == WP_OK);
	wp_decoder_begin(way->decoder, &timelines, "UTF8");
	begin(way->decoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct way ways[WAYS];
	static struct message m;

	if (size == 0 || size > 8192)
		return 0;
	struct way *way = &ways[data[0] % WAYS];
	if (way->decoder == NULL)
		open_way(way, data[0] % WAYS);
	m.size = 0;
	put(&m, "I", 1);
	put_number(&m, RELATION, 4);
	put(&m, "N", 1);
	put_number(&m, 7, 2);
	put_value(&m, wp_span_of("s"));
	put_value(&m, wp_span_of("public.outbox"));
	put_value(&m, (struct wp_span){ .data = data + 1, .size = size - 1 });
	put_value(&m, (struct wp_span){ 0 });
	put_value(&m, wp_span_of("fuzz"));
	put_value(&m, (struct wp_span){ 0 });
	put_value(&m, wp_span_of("row"));
	check(way->decoder, way->shape, &m);
	check(way->decoder, way->shape, &m);
	return 0;
}
