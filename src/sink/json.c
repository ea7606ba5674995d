#include <inttypes.h>
#include <string.h>

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

/* What follows a lead byte, and between what the first of them must lie. */
static size_t continuation(uint8_t lead, uint8_t *ret_low, uint8_t *ret_high)
{
	*ret_low = 0x80;
	*ret_high = 0xBF;
	if (lead >= 0xC2 && lead <= 0xDF)
		return 1;
	if (lead >= 0xE0 && lead <= 0xEF) {
		if (lead == 0xE0)
			*ret_low = 0xA0;
		if (lead == 0xED)
			*ret_high = 0x9F;
		return 2;
	}
	if (lead >= 0xF0 && lead <= 0xF4) {
		if (lead == 0xF0)
			*ret_low = 0x90;
		if (lead == 0xF4)
			*ret_high = 0x8F;
		return 3;
	}
	return 0;
}

/* Size of the character at the front, 0 if it is none. */
static size_t character_size(const uint8_t *at, size_t left)
{
	uint8_t low, high;

	if (at[0] < 0x80)
		return 1;
	size_t more = continuation(at[0], &low, &high);
	if (more == 0 || more >= left || at[1] < low || at[1] > high)
		return 0;
	for (size_t i = 2; i <= more; i++) {
		if (at[i] < 0x80 || at[i] > 0xBF)
			return 0;
	}
	return more + 1;
}

bool wp_json_is_utf8(struct wp_span bytes)
{
	for (size_t i = 0; i < bytes.size;) {
		size_t size = character_size(bytes.data + i, bytes.size - i);
		if (size == 0)
			return false;
		i += size;
	}
	return true;
}

static void put_escaped(struct writer *w, uint8_t c)
{
	static const char hex[] = "0123456789abcdef";
	char text[] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15], '\0' };

	switch (c) {
	case '"':
		put_text(w, "\\\"");
		break;
	case '\\':
		put_text(w, "\\\\");
		break;
	case '\n':
		put_text(w, "\\n");
		break;
	case '\r':
		put_text(w, "\\r");
		break;
	case '\t':
		put_text(w, "\\t");
		break;
	default:
		put_text(w, text);
		break;
	}
}

static void put_string(struct writer *w, struct wp_span text)
{
	size_t from = 0;

	put_text(w, "\"");
	for (size_t i = 0; i < text.size; i++) {
		uint8_t c = text.data[i];
		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		put(w, text.data + from, i - from);
		put_escaped(w, c);
		from = i + 1;
	}
	if (from < text.size)
		put(w, text.data + from, text.size - from);
	put_text(w, "\"");
}

static void put_base64(struct writer *w, struct wp_span bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	put_text(w, "\"");
	for (size_t i = 0; i < bytes.size; i += 3) {
		size_t left = bytes.size - i;
		uint32_t three = (uint32_t)bytes.data[i] << 16;
		if (left > 1)
			three |= (uint32_t)bytes.data[i + 1] << 8;
		if (left > 2)
			three |= bytes.data[i + 2];
		char four[] = { digits[three >> 18], digits[three >> 12 & 63],
				left > 1 ? digits[three >> 6 & 63] : '=',
				left > 2 ? digits[three & 63] : '=' };
		put(w, four, sizeof(four));
	}
	put_text(w, "\"");
}

/* "name":"text", or "name_base64":"..." where the bytes are no text. */
static void put_member(struct writer *w, const char *name, struct wp_span bytes)
{
	bool is_text = wp_span_is_null(bytes) || wp_json_is_utf8(bytes);

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

static void put_record(struct writer *w, const struct wp_record *record)
{
	char position[WP_POSITION_TEXT_SIZE];

	put_text(w, "{");
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

enum wp_rc wp_json_string(struct wp_buffer *into, struct wp_span text)
{
	struct writer w = { .into = into, .rc = WP_OK };

	put_string(&w, text);
	return w.rc;
}

enum wp_rc wp_json_base64(struct wp_buffer *into, struct wp_span bytes)
{
	struct writer w = { .into = into, .rc = WP_OK };

	put_base64(&w, bytes);
	return w.rc;
}

enum wp_rc wp_json_record(struct wp_buffer *into, const struct wp_record *record)
{
	struct writer w = { .into = into, .rc = WP_OK };

	put_record(&w, record);
	return w.rc;
}
