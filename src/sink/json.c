#include <inttypes.h>
#include <string.h>

#include "walpost/base/base64.h"
#include "walpost/base/json.h"
#include "walpost/base/utf8.h"
#include "walpost/sink/json.h"

/* Puts "name":"text", or "name_base64":"..." where the bytes are no text. */
static void put_bytes_member(struct wp_writer *w, const char *name, struct wp_span bytes)
{
	bool is_text = wp_span_is_null(bytes) || wp_utf8_is_valid(bytes);

	wp_writer_put(w, "\"");
	wp_writer_put(w, name);
	wp_writer_put(w, is_text ? "\":" : "_base64\":");
	if (wp_span_is_null(bytes)) {
		wp_writer_put(w, "null");
	} else if (is_text) {
		wp_writer_keep(w, wp_json_write_string(w->into, bytes, WP_JSON_DISPLAY));
	} else {
		wp_writer_put(w, "\"");
		wp_writer_keep(w, wp_base64_write(w->into, bytes));
		wp_writer_put(w, "\"");
	}
}

static void put_number_member(struct wp_writer *w, const char *name, int64_t number)
{
	if (w->rc == WP_OK)
		w->rc = wp_buffer_printf(w->into, ",\"%s\":%" PRId64, name, number);
}

/* Puts all members, and the end of the line; what stands before them has been put. */
static void put_record(struct wp_writer *w, const struct wp_record *record)
{
	char position[WP_POSITION_TEXT_SIZE];

	put_bytes_member(w, "topic", record->topic);
	if (record->partition != WP_PARTITION_BY_KEY)
		put_number_member(w, "partition", record->partition);
	wp_writer_put(w, ",");
	put_bytes_member(w, "key", record->key);
	wp_writer_put(w, ",\"headers\":[");
	for (size_t i = 0; i < record->header_count; i++) {
		wp_writer_put(w, i > 0 ? ",{" : "{");
		put_bytes_member(w, "name", record->headers[i].name);
		wp_writer_put(w, ",");
		put_bytes_member(w, "value", record->headers[i].value);
		wp_writer_put(w, "}");
	}
	wp_writer_put(w, "],");
	put_bytes_member(w, "value", record->value);
	if (record->timestamp_ms != WP_TIMESTAMP_NOW)
		put_number_member(w, "timestamp", record->timestamp_ms);
	wp_writer_put(w, ",\"position\":\"");
	wp_writer_put(w, wp_position_text(&record->position, position));
	wp_writer_put(w, "\"}\n");
}

enum wp_rc wp_json_record(struct wp_buffer *into, const struct wp_record *record)
{
	struct wp_writer w = { .into = into, .rc = WP_OK };

	wp_writer_put(&w, "{");
	put_record(&w, record);
	return w.rc;
}

enum wp_rc wp_json_poison(struct wp_buffer *into, const struct wp_record *record,
			  const char *reason)
{
	struct wp_writer w = { .into = into, .rc = WP_OK };

	wp_writer_put(&w, "{");
	put_bytes_member(&w, "error", wp_span_of(reason));
	wp_writer_put(&w, ",");
	put_bytes_member(&w, "table", wp_span_of(record->table));
	wp_writer_put(&w, ",");
	put_bytes_member(&w, "id", record->id);
	wp_writer_put(&w, ",");
	put_record(&w, record);
	return w.rc;
}
