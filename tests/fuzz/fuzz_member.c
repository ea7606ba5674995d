/*
 * Members of a JSON column: a path and a column's value, which came as text, as a bytea's digits and in
 * binary. All three give the same; what they give lies within the value or the buffer, is JSON or
 * UTF-8, and is whole.
 *
 *   path, NUL, value
 */
#include <string.h>

#include "../../src/outbox/member.h"
#include "fuzz.h"
#include "walpost/base/utf8.h"

static struct wp_buffer texts[3];

struct found {
	struct wp_value value;
	enum wp_member_fault_kind fault;
};

static struct found take(const char *path, enum wp_type type, struct wp_value value,
			 struct wp_buffer *into)
{
	const struct wp_member member = { .text = path, .must_be = true, .type = type };
	const struct wp_tuple row = { .values = &value, .count = 1 };
	struct wp_members *members;
	struct wp_tuple extended;
	size_t room;

	NEED(wp_members_new(1, 1, strlen(path) + 1, &members) == WP_OK);
	NEED(wp_members_add(members, &member) == 1);
	NEED(wp_members_find(members, &row, &extended, &room) == WP_OK);
	NEED(extended.count == 2 && extended.values[1].kind == WP_VALUE_NULL);
	wp_buffer_reset(into);
	NEED(wp_buffer_reserve(into, room) == WP_OK);
	const uint8_t *first = into->data;
	NEED(wp_members_take(members, into) == WP_OK);
	NEED(into->data == first && into->size <= room);
	struct found found = { extended.values[1], members->fault.kind };
	NEED(found.fault != WP_MEMBER_NOT_JSON ||
	     members->fault.json.offset <= members->fault.size);
	wp_members_free(members);
	return found;
}

static void need_same(const struct found *a, const struct found *b)
{
	NEED(a->fault == b->fault && a->value.kind == b->value.kind);
	NEED(a->value.kind == WP_VALUE_NULL || wp_span_equal(a->value.bytes, b->value.bytes));
}

static struct wp_span hex_of(struct wp_span bytes)
{
	static char digits[2 * 4096 + 3] = "\\x";

	for (size_t i = 0; i < bytes.size; i++)
		(void)snprintf(digits + 2 + 2 * i, 3, "%02x", bytes.data[i]);
	return (struct wp_span){ (const uint8_t *)digits, 2 + 2 * bytes.size };
}

static void try_path(const char *path, struct wp_span value)
{
	struct wp_member_path parsed;
	struct wp_json json;

	if (!wp_member_path_parse(path, &parsed))
		return;
	NEED(parsed.column.size > 0 && parsed.count <= WP_MEMBER_STEPS_MAX);
	struct found text =
		take(path, WP_TYPE_TEXT, (struct wp_value){ WP_VALUE_TEXT, value }, &texts[0]);
	struct found hex = take(path, WP_TYPE_BYTEA,
				(struct wp_value){ WP_VALUE_TEXT, hex_of(value) }, &texts[1]);
	struct found binary =
		take(path, WP_TYPE_JSON, (struct wp_value){ WP_VALUE_BINARY, value }, &texts[2]);
	need_same(&text, &hex);
	need_same(&text, &binary);
	if (text.value.kind == WP_VALUE_NULL)
		return;
	NEED(text.fault == WP_MEMBER_FINE);
	NEED(wp_utf8_is_valid(text.value.bytes));
	if (!parsed.is_text)
		NEED(wp_json_read(text.value.bytes, &json, NULL) == WP_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\0', size);

	if (end == NULL || size > 4096)
		return 0;
	for (size_t i = 0; i < 3; i++) {
		if (texts[i].size_max == 0)
			wp_buffer_init(&texts[i], 1 << 20);
	}
	size_t left = size - (size_t)(end + 1 - data);
	/* A copy of its own size, so that a read behind it is seen. */
	uint8_t *value = malloc(left + (left == 0));
	NEED(value != NULL);
	memcpy(value, end + 1, left);
	try_path((const char *)data, (struct wp_span){ value, left });
	free(value);
	return 0;
}
