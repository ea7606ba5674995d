#include <assert.h>
#include <string.h>

#include "walpost/base/display.h"
#include "walpost/base/hex.h"
#include "walpost/base/utf8.h"
#include "walpost/outbox/properties.h"

/*
 * java.util.Properties.load(Reader), "Properties as lines":
 *   a natural line ends with \n, \r or \r\n; blank ones, and those whose first character that is
 *   not white is # or !, are passed over;
 *   a backslash at its end joins the next one, without the white that it begins with;
 *   the name ends before the first =, : or white that no backslash stands before; then come white,
 *   at most one = or :, white, and the value up to the line's end, white there included.
 */

static bool is_white(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\f';
}

static bool is_line_end(uint8_t c)
{
	return c == '\n' || c == '\r';
}

static void skip_white(struct wp_properties *p)
{
	while (p->at < p->end && is_white(*p->at))
		p->at++;
}

static void skip_line_end(struct wp_properties *p)
{
	if (p->end - p->at >= 2 && p->at[0] == '\r' && p->at[1] == '\n')
		p->at++;
	p->at++;
}

static bool is_joined(const struct wp_properties *p)
{
	return p->end - p->at >= 2 && p->at[0] == '\\' && is_line_end(p->at[1]);
}

/* Past backslashes at ends of lines, and the white behind each. */
static void join_lines(struct wp_properties *p)
{
	while (is_joined(p)) {
		p->at++;
		skip_line_end(p);
		skip_white(p);
	}
}

/*
 * To the first character of a line that has some; false: there is none. A line that had none so
 * far may become a comment where it is joined.
 */
static bool find_line(struct wp_properties *p)
{
	for (;;) {
		join_lines(p);
		if (p->at == p->end)
			return false;
		if (*p->at == '#' || *p->at == '!') {
			while (p->at < p->end && !is_line_end(*p->at))
				p->at++;
		} else if (is_white(*p->at) || is_line_end(*p->at)) {
			p->at++;
		} else {
			return true;
		}
	}
}

/* ---- characters ---- */

static void put(struct wp_properties *p, struct wp_span bytes)
{
	enum wp_rc rc = wp_buffer_append(p->into, bytes);

	assert(rc == WP_OK); /* room was made */
}

/* The four digits behind \u, which a line's end may part; -1: they are not there. */
static int32_t read_unit(struct wp_properties *p)
{
	int32_t unit = 0;

	for (int i = 0; i < 4; i++) {
		join_lines(p);
		int value = p->at < p->end ? wp_hex_value(*p->at++) : -1;
		if (value < 0)
			return -1;
		unit = unit << 4 | value;
	}
	join_lines(p);
	return unit;
}

#define CURE "; write it with java.util.Properties.store(), or set it to NULL"

static enum wp_rc put_escaped_unit(struct wp_properties *p, struct wp_error *error)
{
	uint8_t bytes[WP_UTF8_SIZE_MAX];
	int32_t unit = read_unit(p);

	if (unit >= 0xD800 && unit <= 0xDBFF && p->end - p->at >= 2 && p->at[0] == '\\' &&
	    p->at[1] == 'u') {
		p->at += 2;
		int32_t low = read_unit(p);
		if (low >= 0xDC00 && low <= 0xDFFF)
			unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
		else if (low < 0)
			unit = -1;
	}
	if (unit < 0)
		return wp_error_set(error, WP_DATA,
				    "it is no java.util.Properties text: \\u lacks a hexadecimal "
				    "digit" CURE);
	if (unit >= 0xD800 && unit <= 0xDFFF)
		return wp_error_set(error, WP_DATA,
				    "it is no java.util.Properties text: \\u%04X is half of a "
				    "character" CURE,
				    (unsigned)unit);
	put(p, (struct wp_span){ bytes, wp_utf8_encode((uint32_t)unit, bytes) });
	return WP_OK;
}

/* Behind a backslash that ends no line; at the end of the text it stands for nothing. */
static enum wp_rc put_escaped(struct wp_properties *p, struct wp_error *error)
{
	static const char LETTERS[] = "tnrf", MEANT[] = "\t\n\r\f";

	p->at++;
	if (p->at == p->end)
		return WP_OK;
	uint8_t c = *p->at++;
	if (c == 'u')
		return put_escaped_unit(p, error);
	const char *letter = c != '\0' ? strchr(LETTERS, c) : NULL;
	if (letter != NULL)
		c = (uint8_t)MEANT[letter - LETTERS];
	put(p, (struct wp_span){ &c, 1 });
	return WP_OK;
}

enum part {
	NAME,
	VALUE,
};

static bool ends(enum part part, uint8_t c)
{
	return is_line_end(c) || (part == NAME && (c == '=' || c == ':' || is_white(c)));
}

static enum wp_rc read_part(struct wp_properties *p, enum part part, struct wp_span *ret,
			    struct wp_error *error)
{
	size_t from = p->into->size;
	enum wp_rc rc = WP_OK;

	for (join_lines(p); rc == WP_OK && p->at < p->end && !ends(part, *p->at); join_lines(p)) {
		if (*p->at == '\\')
			rc = put_escaped(p, error);
		else
			put(p, (struct wp_span){ p->at++, 1 });
	}
	struct wp_span all = wp_buffer_span(p->into);
	*ret = (struct wp_span){ all.data + from, all.size - from };
	return rc;
}

static void skip_white_and_joints(struct wp_properties *p)
{
	for (join_lines(p); p->at < p->end && is_white(*p->at); join_lines(p))
		p->at++;
}

static void skip_separator(struct wp_properties *p)
{
	skip_white_and_joints(p);
	if (p->at == p->end || (*p->at != '=' && *p->at != ':'))
		return;
	p->at++;
	skip_white_and_joints(p);
}

/* ---- the walk ---- */

enum wp_rc wp_properties_init(struct wp_properties *p, struct wp_span text, struct wp_buffer *into,
			      struct wp_error *error)
{
	assert(!wp_span_is_null(text));
	/* Nothing is longer unescaped: \uXXXX is 6 bytes, and gives 3 at most. One for the empty. */
	enum wp_rc rc = wp_buffer_reserve(into, text.size + 1);
	if (rc != WP_OK)
		return wp_error_set(error, rc,
				    "no room for a java.util.Properties text of %zu bytes",
				    text.size);
	*p = (struct wp_properties){ text.data, text.data + text.size, into };
	return WP_OK;
}

enum wp_rc wp_properties_next(struct wp_properties *p, struct wp_property *ret,
			      struct wp_error *error)
{
	struct wp_property found = { 0 };

	if (!find_line(p)) {
		*ret = found;
		return WP_OK;
	}
	enum wp_rc rc = read_part(p, NAME, &found.name, error);
	if (rc != WP_OK)
		return rc;
	skip_separator(p);
	rc = read_part(p, VALUE, &found.value, error);
	if (rc == WP_OK)
		*ret = found;
	return rc;
}

enum wp_rc wp_json_headers_init(struct wp_json_headers *h, struct wp_span text,
				struct wp_buffer *into, struct wp_error *error)
{
	struct wp_json json;
	struct wp_json_fault fault = { 0 };

	assert(!wp_span_is_null(text));
	if (wp_json_read(text, &json, &fault) != WP_OK)
		return wp_error_set(error, WP_DATA,
				    "headers must be a JSON object, but this is not JSON: at byte "
				    "%zu %s; write {\"name\": \"value\"}, or NULL for none",
				    fault.offset, fault.what);
	if (json.kind != WP_JSON_OBJECT) {
		struct wp_excerpt value;
		return wp_error_set(error, WP_DATA,
				    "headers must be a JSON object, but this is not: %s; write "
				    "{\"name\": \"value\"}, or NULL for none",
				    wp_excerpt(&value, json.text));
	}
	/* A string is never longer unescaped. One for the empty. */
	enum wp_rc rc = wp_buffer_reserve(into, text.size + 1);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "no room for headers of %zu bytes", text.size);
	h->into = into;
	wp_json_walk_init(&h->walk, &json);
	return WP_OK;
}

/* WP_DATA: it holds half of a pair. */
static enum wp_rc text_of(struct wp_json_headers *h, struct wp_span string, struct wp_span *ret)
{
	struct wp_span inner = { string.data + 1, string.size - 2 };
	size_t from = h->into->size;

	if (inner.size == 0 || memchr(inner.data, '\\', inner.size) == NULL) {
		*ret = inner;
		return WP_OK;
	}
	enum wp_rc rc = wp_json_unescape(string, h->into);
	assert(rc == WP_OK || rc == WP_DATA); /* room was made */
	*ret = (struct wp_span){ h->into->data + from, h->into->size - from };
	return rc;
}

static enum wp_rc refuse(const char *what, struct wp_span string, struct wp_error *error)
{
	struct wp_excerpt shown;

	return wp_error_set(error, WP_DATA,
			    "%s of the headers' JSON object contains half of a surrogate pair: %s; "
			    "write both \\u escapes, or the character itself",
			    what, wp_excerpt(&shown, string));
}

enum wp_rc wp_json_headers_next(struct wp_json_headers *h, struct wp_json_header *ret,
				struct wp_error *error)
{
	struct wp_json_header found = { 0 };
	struct wp_span name;
	struct wp_json json;

	if (!wp_json_walk_next(&h->walk, &name, &json)) {
		*ret = found;
		return WP_OK;
	}
	if (text_of(h, name, &found.name) != WP_OK)
		return refuse("a name", name, error);
	if (found.name.size == 0)
		return wp_error_set(error, WP_DATA,
				    "a name in the headers' JSON object is empty; name the header, "
				    "or remove it");
	if (json.kind == WP_JSON_STRING && text_of(h, json.text, &found.value) != WP_OK)
		return refuse("a value", json.text, error);
	if (json.kind != WP_JSON_STRING && json.kind != WP_JSON_NULL)
		found.value = json.text;
	*ret = found;
	return WP_OK;
}
