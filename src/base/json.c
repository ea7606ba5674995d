#include <assert.h>
#include <string.h>

#include "walpost/base/display.h"
#include "walpost/base/hex.h"
#include "walpost/base/json.h"
#include "walpost/base/utf8.h"

/* ---- reading ---- */

struct reader {
	const uint8_t *at;
	const uint8_t *end;
	const char *what; /* NULL: nothing is wrong so far */
};

static bool blame(struct reader *r, const char *what)
{
	if (r->what == NULL)
		r->what = what;
	return false;
}

static bool is_there(const struct reader *r, uint8_t byte)
{
	return r->at < r->end && *r->at == byte;
}

static bool accept(struct reader *r, uint8_t byte)
{
	if (!is_there(r, byte))
		return false;
	r->at++;
	return true;
}

static bool is_digit_there(const struct reader *r)
{
	return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

static void skip_space(struct reader *r)
{
	while (r->at < r->end &&
	       (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
		r->at++;
}

static bool read_word(struct reader *r, const char *word)
{
	size_t size = strlen(word);

	if ((size_t)(r->end - r->at) < size || memcmp(r->at, word, size) != 0)
		return blame(r, "neither null, true nor false stands here");
	r->at += size;
	return true;
}

static bool read_digits(struct reader *r)
{
	if (!is_digit_there(r))
		return blame(r, "a number lacks a digit");
	while (is_digit_there(r))
		r->at++;
	return true;
}

/* number = [ "-" ] ( "0" / digit1-9 *DIGIT ) [ "." 1*DIGIT ] [ ( "e" / "E" ) [ "-" / "+" ] 1*DIGIT ] */
static bool read_number(struct reader *r)
{
	(void)accept(r, '-');
	if (accept(r, '0')) {
		if (is_digit_there(r))
			return blame(r, "a number begins with 0");
	} else if (!read_digits(r)) {
		return false;
	}
	if (accept(r, '.') && !read_digits(r))
		return false;
	if (!accept(r, 'e') && !accept(r, 'E'))
		return true;
	if (!accept(r, '+'))
		(void)accept(r, '-');
	return read_digits(r);
}

static bool read_escape(struct reader *r)
{
	static const char single[] = "\"\\/bfnrt";

	if (r->at == r->end)
		return blame(r, "a string is not closed");
	uint8_t c = *r->at;
	if (c != '\0' && strchr(single, c) != NULL) {
		r->at++;
		return true;
	}
	if (c != 'u')
		return blame(r, "a backslash stands before what it does not escape");
	r->at++;
	for (int i = 0; i < 4; i++, r->at++) {
		if (r->at == r->end || wp_hex_value(*r->at) < 0)
			return blame(r, "\\u lacks a hexadecimal digit");
	}
	return true;
}

static bool read_string(struct reader *r)
{
	if (!accept(r, '"'))
		return blame(r, "a name in double quotes is missing");
	while (r->at < r->end) {
		uint8_t c = *r->at;
		if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
			r->at++;
			continue;
		}
		if (c == '"') {
			r->at++;
			return true;
		}
		if (c == '\\') {
			r->at++;
			if (!read_escape(r))
				return false;
			continue;
		}
		if (c < 0x20)
			return blame(r, "a control character stands in a string");
		size_t size = wp_utf8_size(r->at, (size_t)(r->end - r->at));
		if (size == 0)
			return blame(r, "a string is not UTF-8");
		r->at += size;
	}
	return blame(r, "a string is not closed");
}

static bool read_scalar(struct reader *r)
{
	if (r->at == r->end)
		return blame(r, "a value is missing");
	switch (*r->at) {
	case '"':
		return read_string(r);
	case 'n':
		return read_word(r, "null");
	case 't':
		return read_word(r, "true");
	case 'f':
		return read_word(r, "false");
	default:
		if (*r->at != '-' && !is_digit_there(r))
			return blame(r, "a value is missing");
		return read_number(r);
	}
}

/* Which containers are open: a bit for each, 1 for an object. */
struct nest {
	uint8_t bits[WP_JSON_DEPTH_MAX / 8];
	size_t depth;
};

static bool is_object(const struct nest *n)
{
	return n->bits[(n->depth - 1) / 8] >> (n->depth - 1) % 8 & 1;
}

static bool push(struct reader *r, struct nest *n, bool object)
{
	if (n->depth == WP_JSON_DEPTH_MAX)
		return blame(r, "more than 1,024 containers stand within each other");
	uint8_t bit = (uint8_t)(1u << n->depth % 8);
	if (object)
		n->bits[n->depth / 8] |= bit;
	else
		n->bits[n->depth / 8] &= (uint8_t)~bit;
	n->depth++;
	return true;
}

static bool read_name(struct reader *r)
{
	skip_space(r);
	if (!read_string(r))
		return false;
	skip_space(r);
	return accept(r, ':') || blame(r, "a colon is missing");
}

/* `[` or `{` and, in an object, the first name. An empty container is read to its end. */
static bool open_container(struct reader *r, struct nest *n, bool *ret_complete)
{
	bool object = *r->at == '{';

	if (!push(r, n, object))
		return false;
	r->at++;
	skip_space(r);
	*ret_complete = accept(r, object ? '}' : ']');
	if (*ret_complete)
		n->depth--;
	else if (object)
		return read_name(r);
	return true;
}

/* Behind a value: the ends of containers, then a comma and what must follow it. */
static bool close_containers(struct reader *r, struct nest *n)
{
	while (n->depth > 0) {
		bool object = is_object(n);
		skip_space(r);
		if (accept(r, ','))
			return !object || read_name(r);
		if (!accept(r, object ? '}' : ']'))
			return blame(r, object ? "a comma or } is missing"
					       : "a comma or ] is missing");
		n->depth--;
	}
	return true;
}

static bool read_value(struct reader *r)
{
	struct nest n;
	bool complete;

	n.depth = 0;
	do {
		skip_space(r);
		complete = true;
		if (is_there(r, '{') || is_there(r, '[')) {
			if (!open_container(r, &n, &complete))
				return false;
		} else if (!read_scalar(r)) {
			return false;
		}
		if (complete && !close_containers(r, &n))
			return false;
	} while (n.depth > 0);
	return true;
}

enum wp_json_kind wp_json_kind_of(uint8_t first)
{
	switch (first) {
	case '{':
		return WP_JSON_OBJECT;
	case '[':
		return WP_JSON_ARRAY;
	case '"':
		return WP_JSON_STRING;
	case 'n':
		return WP_JSON_NULL;
	case 't':
		return WP_JSON_TRUE;
	case 'f':
		return WP_JSON_FALSE;
	default:
		return WP_JSON_NUMBER;
	}
}

static struct wp_json value_between(const uint8_t *from, const uint8_t *to)
{
	return (struct wp_json){ wp_json_kind_of(*from), { from, (size_t)(to - from) } };
}

enum follow {
	NOTHING_FOLLOWS,
	WHATEVER_FOLLOWS,
};

static enum wp_rc read_text(struct wp_span text, enum follow follow, struct wp_json *ret,
			    struct wp_json_fault *fault)
{
	if (wp_span_is_null(text))
		text = wp_span_of("");
	struct reader r = { .at = text.data, .end = text.data + text.size };

	skip_space(&r);
	const uint8_t *from = r.at;
	bool good = read_value(&r);
	const uint8_t *to = r.at;
	if (good && follow == NOTHING_FOLLOWS) {
		skip_space(&r);
		good = r.at == r.end || blame(&r, "something follows the value");
	}
	if (good) {
		*ret = value_between(from, to);
		return WP_OK;
	}
	if (fault != NULL)
		*fault = (struct wp_json_fault){ r.what, (size_t)(r.at - text.data) };
	return WP_DATA;
}

enum wp_rc wp_json_read(struct wp_span text, struct wp_json *ret, struct wp_json_fault *fault)
{
	return read_text(text, NOTHING_FOLLOWS, ret, fault);
}

enum wp_rc wp_json_read_first(struct wp_span text, struct wp_json *ret, struct wp_json_fault *fault)
{
	return read_text(text, WHATEVER_FOLLOWS, ret, fault);
}

/* ---- walking ---- */

void wp_json_walk_init(struct wp_json_walk *w, const struct wp_json *container)
{
	assert(container->kind == WP_JSON_OBJECT || container->kind == WP_JSON_ARRAY);
	*w = (struct wp_json_walk){
		.at = container->text.data + 1,
		.end = container->text.data + container->text.size - 1,
		.is_object = container->kind == WP_JSON_OBJECT,
	};
}

bool wp_json_walk_next(struct wp_json_walk *w, struct wp_span *ret_name, struct wp_json *ret)
{
	struct reader r = { .at = w->at, .end = w->end };

	skip_space(&r);
	if (accept(&r, ','))
		skip_space(&r);
	if (r.at == r.end)
		return false;
	*ret_name = (struct wp_span){ 0 };
	if (w->is_object) {
		const uint8_t *from = r.at;
		bool named = read_string(&r);
		*ret_name = (struct wp_span){ from, (size_t)(r.at - from) };
		skip_space(&r);
		named = named && accept(&r, ':');
		assert(named); /* it was read before */
		skip_space(&r);
	}
	const uint8_t *from = r.at;
	bool good = read_value(&r);
	assert(good);
	*ret = value_between(from, r.at);
	w->at = r.at;
	return true;
}

/* ---- strings ---- */

/* The four digits behind \u. */
static uint32_t unit_at(const uint8_t *at)
{
	uint32_t unit = 0;

	for (int i = 0; i < 4; i++)
		unit = unit << 4 | (uint32_t)wp_hex_value(at[i]);
	return unit;
}

/* `*at` is behind the \u. WP_DATA: half of a pair. */
static enum wp_rc append_unit(const uint8_t **at, const uint8_t *end, struct wp_buffer *into)
{
	uint32_t unit = unit_at(*at);
	uint8_t bytes[WP_UTF8_SIZE_MAX];

	*at += 4;
	if (unit >= 0xDC00 && unit <= 0xDFFF)
		return WP_DATA;
	if (unit >= 0xD800 && unit <= 0xDBFF) {
		if (end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u')
			return WP_DATA;
		uint32_t low = unit_at(*at + 2);
		if (low < 0xDC00 || low > 0xDFFF)
			return WP_DATA;
		unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
		*at += 6;
	}
	size_t size = wp_utf8_encode(unit, bytes);
	return wp_buffer_append(into, (struct wp_span){ bytes, size });
}

static uint8_t unescaped(uint8_t c)
{
	switch (c) {
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	default:
		return c;
	}
}

enum wp_rc wp_json_unescape(struct wp_span string, struct wp_buffer *into)
{
	assert(string.size >= 2);
	const uint8_t *at = string.data + 1;
	const uint8_t *end = string.data + string.size - 1;
	enum wp_rc rc = WP_OK;

	while (at < end && rc == WP_OK) {
		const uint8_t *escape = memchr(at, '\\', (size_t)(end - at));
		const uint8_t *to = escape != NULL ? escape : end;
		rc = wp_buffer_append(into, (struct wp_span){ at, (size_t)(to - at) });
		at = to;
		if (rc != WP_OK || escape == NULL)
			break;
		uint8_t c = at[1];
		at += 2;
		rc = c == 'u' ? append_unit(&at, end, into)
			      : wp_buffer_append_byte(into, unescaped(c));
	}
	return rc;
}

/* ---- writing ---- */

static const char hex_digits[] = "0123456789ABCDEF";

static char *put_unit(char *to, uint32_t unit)
{
	*to++ = '\\';
	*to++ = 'u';
	for (int shift = 12; shift >= 0; shift -= 4)
		*to++ = hex_digits[unit >> shift & 15];
	return to;
}

/* All of it lies below U+10000. */
static size_t escape_for_display(const uint8_t *at, size_t left, char **to)
{
	size_t size = wp_utf8_size(at, left);

	if (size == 0) /* within a character that stands for itself */
		return 0;
	uint32_t character = wp_utf8_character(at, size);
	if (!wp_display_must_escape(character))
		return 0;
	*to = put_unit(*to, character);
	return size;
}

/* Returns how many bytes of `text` were written; 0: they stand for themselves. */
static size_t escape(const uint8_t *at, size_t left, enum wp_json_escapes escapes, char **to)
{
	static const char short_ones[] = "btn?fr"; /* from U+0008 on; there is none for U+000B */

	if (*at >= 0x20 && *at != '"' && *at != '\\') {
		if (escapes == WP_JSON_DISPLAY && *at >= 0x7F)
			return escape_for_display(at, left, to);
		if (escapes != WP_JSON_JACKSON || *at < 0xF0)
			return 0;
		size_t size = wp_utf8_size(at, left);
		assert(size == 4);
		uint32_t above = wp_utf8_character(at, size) - 0x10000;
		*to = put_unit(*to, 0xD800 + (above >> 10));
		*to = put_unit(*to, 0xDC00 + (above & 0x3FF));
		return size;
	}
	if (*at < 0x08 || *at == 0x0B || (*at > 0x0D && *at < 0x20)) {
		*to = put_unit(*to, *at);
		return 1;
	}
	*(*to)++ = '\\';
	*(*to)++ = *at < 0x20 ? short_ones[*at - 8] : (char)*at;
	return 1;
}

enum wp_rc wp_json_write_string(struct wp_buffer *into, struct wp_span text,
				enum wp_json_escapes escapes)
{
	char escaped[12];
	size_t from = 0;

	enum wp_rc rc = wp_buffer_append_byte(into, '"');
	for (size_t i = 0; i < text.size && rc == WP_OK;) {
		char *to = escaped;
		size_t size = escape(text.data + i, text.size - i, escapes, &to);
		if (size == 0) {
			i++;
			continue;
		}
		rc = wp_buffer_append(into, (struct wp_span){ text.data + from, i - from });
		if (rc == WP_OK)
			rc = wp_buffer_append(into, (struct wp_span){ (const uint8_t *)escaped,
								      (size_t)(to - escaped) });
		i += size;
		from = i;
	}
	if (rc == WP_OK && from < text.size)
		rc = wp_buffer_append(into, (struct wp_span){ text.data + from, text.size - from });
	return rc == WP_OK ? wp_buffer_append_byte(into, '"') : rc;
}
