#include <inttypes.h>
#include <string.h>

#include "walpost/base/base64.h"
#include "walpost/base/json.h"
#include "walpost/base/utf8.h"
#include "walpost/sink/json.h"

/* A failed append is remembered, so that the writers below read like the line. */
struct writer {
	struct wp_buffer *into;
	enum wp_rc rc;
};

static void put(struct writer *w, const void *data, size_t size)
{
	if (w->rc == WP_OK)
		w->rc = wp_buffer_append(w->into, (struct wp_span){ data, size });
}

static void put_text(struct writer *w, const char *text)
{
	put(w, text, strlen(text));
}

static void put_string(struct writer *w, struct wp_span text)
{
	if (w->rc == WP_OK)
		w->rc = wp_json_write_string(w->into, text, WP_JSON_DISPLAY);
}

static void put_base64(struct writer *w, struct wp_span bytes)
{
	put_text(w, "\"");
	if (w->rc == WP_OK)
		w->rc = wp_base64_write(w->into, bytes);
	put_text(w, "\"");
}

/* "name":"text", or "name_base64":"..." where the bytes are no text. */
static void put_member(struct writer *w, const char *name, struct wp_span bytes)
{
	bool is_text = wp_span_is_null(bytes) || wp_utf8_is_valid(bytes);

	put_text(w, "\"");
	put_text(w, name);
	put_text(w, is_text ? "\":" : "_base64\":");
	if (wp_span_is_null(bytes))
		put_text(w, "null");
	else if (is_text)
		put_string(w, bytes);
	else
		put_base64(w, bytes);
}

static void put_header(struct writer *w, const struct wp_header *header)
{
	put_text(w, "{");
	put_member(w, "name", header->name);
	put_text(w, ",");
	put_member(w, "value", header->value);
	put_text(w, "}");
}

static void put_number(struct writer *w, const char *name, int64_t number)
{
	if (w->rc == WP_OK)
		w->rc = wp_buffer_printf(w->into, ",\"%s\":%" PRId64, name, number);
}

/* All members, and the end of the line; what stands before them has been put. */
static void put_record(struct writer *w, const struct wp_record *record)
{
	char position[WP_POSITION_TEXT_SIZE];

	put_member(w, "topic", record->topic);
	if (record->partition != WP_PARTITION_BY_KEY)
		put_number(w, "partition", record->partition);
	put_text(w, ",");
	put_member(w, "key", record->key);
	put_text(w, ",\"headers\":[");
	for (size_t i = 0; i < record->header_count; i++) {
		put_text(w, i > 0 ? "," : "");
		put_header(w, &record->headers[i]);
	}
	put_text(w, "],");
	put_member(w, "value", record->value);
	if (record->timestamp_ms != WP_TIMESTAMP_NOW)
		put_number(w, "timestamp", record->timestamp_ms);
	put_text(w, ",\"position\":\"");
	put_text(w, wp_position_text(&record->position, position));
	put_text(w, "\"}\n");
}

enum wp_rc wp_json_record(struct wp_buffer *into, const struct wp_record *record)
{
	struct writer w = { .into = into, .rc = WP_OK };

	put_text(&w, "{");
	put_record(&w, record);
	return w.rc;
}

enum wp_rc wp_json_poison(struct wp_buffer *into, const struct wp_record *record,
			  const char *reason)
{
	struct writer w = { .into = into, .rc = WP_OK };

	put_text(&w, "{");
	put_member(&w, "error", wp_span_of(reason));
	put_text(&w, ",");
	put_member(&w, "table", wp_span_of(record->table));
	put_text(&w, ",");
	put_member(&w, "id", record->id);
	put_text(&w, ",");
	put_record(&w, record);
	return w.rc;
}
