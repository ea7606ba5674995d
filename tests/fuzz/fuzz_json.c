/*
 * JSON text of others. What is read must walk to its end; a string's text, written, must read as
 * the same text again; Jackson's escapes must stand for the same characters.
 */
#include <string.h>

#include "fuzz.h"
#include "walpost/base/json.h"
#include "walpost/base/utf8.h"

#define DEPTH_WALKED 16

static struct wp_buffer text;
static struct wp_buffer written;
static struct wp_buffer again;

static void try_writing(enum wp_json_escapes escapes)
{
	struct wp_json json;

	wp_buffer_reset(&written);
	wp_buffer_reset(&again);
	NEED(wp_json_write_string(&written, wp_buffer_span(&text), escapes) == WP_OK);
	NEED(wp_json_read(wp_buffer_span(&written), &json, NULL) == WP_OK);
	NEED(json.kind == WP_JSON_STRING && json.text.size == written.size);
	NEED(wp_json_unescape(json.text, &again) == WP_OK);
	NEED(wp_span_equal(wp_buffer_span(&again), wp_buffer_span(&text)));
}

static void try_string(struct wp_span string)
{
	wp_buffer_reset(&text);
	enum wp_rc rc = wp_json_unescape(string, &text);
	NEED(rc == WP_OK || rc == WP_DATA); /* half of a pair */
	if (rc != WP_OK)
		return;
	NEED(wp_utf8_is_valid(wp_buffer_span(&text)));
	try_writing(WP_JSON_NEEDED);
	try_writing(WP_JSON_DISPLAY);
	try_writing(WP_JSON_JACKSON);
}

static void need_readable(const struct wp_json *json)
{
	struct wp_json same;

	NEED(wp_json_read(json->text, &same, NULL) == WP_OK);
	NEED(same.kind == json->kind && same.text.data == json->text.data &&
	     same.text.size == json->text.size);
}

static void walk(const struct wp_json *json, unsigned depth)
{
	struct wp_json_walk w;
	struct wp_json inner;
	struct wp_span name;

	if (json->kind == WP_JSON_STRING)
		try_string(json->text);
	if ((json->kind != WP_JSON_OBJECT && json->kind != WP_JSON_ARRAY) || depth == DEPTH_WALKED)
		return;
	wp_json_walk_init(&w, json);
	while (wp_json_walk_next(&w, &name, &inner)) {
		NEED(wp_span_is_null(name) == (json->kind == WP_JSON_ARRAY));
		if (!wp_span_is_null(name))
			try_string(name);
		need_readable(&inner);
		walk(&inner, depth + 1);
	}
}

/* A walk over the text itself takes what is read as an object, and with the same members. */
static void try_walk_of_text(struct wp_span input, const struct wp_json *object)
{
	struct wp_json_walk one, other;
	struct wp_json json, same;
	struct wp_span name, same_name;

	wp_json_walk_text(&one, input);
	if (object != NULL)
		wp_json_walk_init(&other, object);
	while (wp_json_walk_next(&one, &name, &json)) {
		if (object == NULL)
			continue;
		NEED(wp_json_walk_next(&other, &same_name, &same));
		NEED(name.data == same_name.data && name.size == same_name.size);
		NEED(json.text.data == same.text.data && json.text.size == same.text.size);
	}
	NEED(object == NULL || !wp_json_walk_next(&other, &same_name, &same));
	NEED((one.state == WP_JSON_WALK_ENDED) == (object != NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wp_json json;
	struct wp_json_fault fault = { 0 };
	struct wp_span input = { data, size };

	wp_buffer_init(&text, 1 << 20);
	wp_buffer_init(&written, 1 << 20);
	wp_buffer_init(&again, 1 << 20);
	enum wp_rc rc = wp_json_read(input, &json, &fault);
	if (rc == WP_OK) {
		NEED(wp_utf8_is_valid(input));
		walk(&json, 0);
	} else {
		NEED(rc == WP_DATA && fault.what != NULL && fault.offset <= size);
	}
	try_walk_of_text(input, rc == WP_OK && json.kind == WP_JSON_OBJECT ? &json : NULL);
	wp_buffer_release(&text);
	wp_buffer_release(&written);
	wp_buffer_release(&again);
	return 0;
}
