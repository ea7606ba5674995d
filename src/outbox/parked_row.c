#include "parked_row.h"

#include <inttypes.h>
#include <string.h>

#include "walpost/base/hex.h"
#include "walpost/base/json.h"
#include "walpost/base/utf8.h"
#include "walpost/values/binary.h"

static enum wp_rc write_member_name(struct wp_buffer *into, const char *name)
{
	return wp_buffer_printf(into, ",\"%s\":", name);
}

static enum wp_rc write_string(struct wp_buffer *into, struct wp_span text)
{
	if (wp_span_is_null(text))
		return wp_buffer_append_text(into, "null");
	if (!wp_utf8_is_valid(text) || memchr(text.data, '\0', text.size) != NULL)
		return WP_DATA;
	return wp_json_write_string(into, text, WP_JSON_NEEDED);
}

enum wp_rc wp_parked_text(struct wp_buffer *into, const char *name, struct wp_span text)
{
	enum wp_rc rc = write_member_name(into, name);

	return rc == WP_OK ? write_string(into, text) : rc;
}

enum wp_rc wp_parked_bytes(struct wp_buffer *into, const char *name, struct wp_span bytes)
{
	static const char digits[] = "0123456789abcdef";
	enum wp_rc rc = write_member_name(into, name);

	if (rc == WP_OK)
		rc = wp_buffer_append_text(into, "\"\\\\x");
	if (rc == WP_OK)
		rc = wp_buffer_reserve(into, 2 * bytes.size + 1);
	for (size_t i = 0; i < bytes.size && rc == WP_OK; i++) {
		into->data[into->size++] = (uint8_t)digits[bytes.data[i] >> 4];
		into->data[into->size++] = (uint8_t)digits[bytes.data[i] & 0xf];
	}
	return rc == WP_OK ? wp_buffer_append_byte(into, '"') : rc;
}

/* WP_CONFIG: the value is in a binary form that is not read. */
static enum wp_rc column_text(const struct wp_relations *types, const struct wp_column *column,
			      const struct wp_value *value, struct wp_buffer *texts,
			      struct wp_span *ret)
{
	enum wp_type type = wp_relations_type(types, column->type_oid);
	enum wp_type element = wp_relations_element(types, column->type_oid);

	*ret = (struct wp_span){ 0 };
	if (value->kind == WP_VALUE_NULL)
		return WP_OK;
	if (value->kind == WP_VALUE_TEXT) {
		*ret = value->bytes;
		return WP_OK;
	}
	if (value->kind != WP_VALUE_BINARY || !wp_type_is_read_in_binary(type, element))
		return WP_CONFIG;
	size_t room = wp_binary_room(type, element, value->bytes);
	wp_buffer_empty(texts, room);
	enum wp_rc rc = wp_buffer_reserve(texts, room);
	return rc == WP_OK ? wp_binary_text(type, element, value->bytes, texts, ret) : rc;
}

static enum wp_rc write_column(struct wp_buffer *into, const struct wp_column *column,
			       struct wp_span text, bool is_first)
{
	enum wp_rc rc = wp_buffer_append_text(into, is_first ? "{\"name\":" : ",{\"name\":");

	if (rc == WP_OK)
		rc = write_string(into, column->name);
	if (rc == WP_OK)
		rc = wp_buffer_printf(into, ",\"type\":%" PRIu32 ",\"modifier\":%" PRId32,
				      column->type_oid, column->type_modifier);
	if (rc == WP_OK)
		rc = wp_parked_text(into, "value", text);
	return rc == WP_OK ? wp_buffer_append_byte(into, '}') : rc;
}

enum wp_rc wp_parked_row_write(struct wp_buffer *into, const struct wp_relations *types,
			       const struct wp_relation *relation, const struct wp_tuple *row,
			       struct wp_buffer *texts)
{
	enum wp_rc rc = wp_buffer_append_byte(into, '[');
	bool is_first = true;

	for (size_t i = 0; i < row->count && i < relation->column_count && rc == WP_OK; i++) {
		struct wp_span text;
		rc = column_text(types, &relation->columns[i], &row->values[i], texts, &text);
		if (rc == WP_CONFIG) {
			rc = WP_OK;
			continue;
		}
		if (rc == WP_OK)
			rc = write_column(into, &relation->columns[i], text, is_first);
		is_first = false;
	}
	return rc == WP_OK ? wp_buffer_append_byte(into, ']') : rc;
}
