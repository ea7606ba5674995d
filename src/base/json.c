#include <assert.h>
#include <string.h>

#include "walpost/base/display.h"
#include "walpost/base/hex.h"
#include "walpost/base/json.h"
#include "walpost/base/utf8.h"

/* ---- reading ---- */

/*
 * A reader of something is given where that begins and returns where it ends, or NULL when it does
 * not stand there, and then `struct reader` knows why. So `at` stays in a register, for every byte
 * of each logical message.
 */
struct reader {
	const uint8_t *end;
	const uint8_t *fault_at;
	const char *what;
};

static const uint8_t *fail_at(struct reader *r, const uint8_t *at, const char *what)
{
	r->fault_at = at;
	r->what = what;
	return NULL;
}

static bool has_byte(const struct reader *r, const uint8_t *at, uint8_t byte)
{
	return at < r->end && *at == byte;
}

static bool is_digit_there(const struct reader *r, const uint8_t *at)
{
	return at < r->end && *at >= '0' && *at <= '9';
}

static const uint8_t *skip_json_whitespace(const struct reader *r, const uint8_t *at)
{
	while (at < r->end && *at <= ' ' &&
	       (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
		at++;
	return at;
}

static const uint8_t *read_literal(struct reader *r, const uint8_t *at, const char *word)
{
	size_t size = strlen(word);

	if ((size_t)(r->end - at) < size || memcmp(at, word, size) != 0)
		return fail_at(r, at, "null, true or false is expected");
	return at + size;
}

static const uint8_t *read_digits(struct reader *r, const uint8_t *at)
{
	if (!is_digit_there(r, at))
		return fail_at(r, at, "a number lacks a digit");
	while (is_digit_there(r, at))
		at++;
	return at;
}

/* number = [ "-" ] ( "0" / digit1-9 *DIGIT ) [ "." 1*DIGIT ] [ ( "e" / "E" ) [ "-" / "+" ] 1*DIGIT ] */
static const uint8_t *read_json_number(struct reader *r, const uint8_t *at)
{
	if (has_byte(r, at, '-'))
		at++;
	if (has_byte(r, at, '0') && is_digit_there(r, at + 1))
		return fail_at(r, at + 1, "a number begins with 0");
	at = read_digits(r, at);
	if (at != NULL && has_byte(r, at, '.'))
		at = read_digits(r, at + 1);
	if (at != NULL && (has_byte(r, at, 'e') || has_byte(r, at, 'E'))) {
		at++;
		if (has_byte(r, at, '+') || has_byte(r, at, '-'))
			at++;
		at = read_digits(r, at);
	}
	return at;
}

/* `at` is behind the backslash. */
static const uint8_t *read_escape(struct reader *r, const uint8_t *at)
{
	static const char single[] = "\"\\/bfnrt";

	if (at == r->end)
		return fail_at(r, at, "a string is not closed");
	uint8_t c = *at;
	if (c != '\0' && strchr(single, c) != NULL)
		return at + 1;
	if (c != 'u')
		return fail_at(r, at, "an escape sequence is invalid");
	at++;
	for (int i = 0; i < 4; i++, at++) {
		if (at == r->end || wp_hex_value(*at) < 0)
			return fail_at(r, at, "\\u lacks a hexadecimal digit");
	}
	return at;
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* In this form compilers recognize it as one load. */
static uint64_t word_at(const uint8_t *at)
{
	return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 |
	       (uint64_t)at[3] << 24 | (uint64_t)at[4] << 32 | (uint64_t)at[5] << 40 |
	       (uint64_t)at[6] << 48 | (uint64_t)at[7] << 56;
}

/*
 * Counts how many of the word's bytes, from the lowest on, stand for themselves in a string: no
 * control character, quote, backslash, nor part of a longer character. A byte that does not gets
 * its highest bit set in `marks`; so may bytes above it, by a borrow, but none below.
 */
static size_t count_plain(uint64_t word)
{
	uint64_t quote = word ^ EACH('"');
	uint64_t backslash = word ^ EACH('\\');
	uint64_t marks = (word | (word - EACH(0x20)) | (quote - EACH(1)) | (backslash - EACH(1))) &
			 EACH(0x80);
	uint64_t below = (marks & (0 - marks)) - 1; /* the bits below the lowest mark, or all */

	return (size_t)((below >> 7 & EACH(1)) * EACH(1) >> 56); /* a bit of each byte, counted */
}

/* `at` is at a byte that does not stand for itself, or at the end. */
static const uint8_t *read_special(struct reader *r, const uint8_t *at)
{
	if (at == r->end)
		return fail_at(r, at, "a string is not closed");
	if (*at == '\\')
		return read_escape(r, at + 1);
	if (*at < 0x20)
		return fail_at(r, at, "a string contains a control character");
	size_t size = wp_utf8_size(at, (size_t)(r->end - at));
	return size > 0 ? at + size : fail_at(r, at, "a string is not UTF-8");
}

/* Goes eight bytes at a time as long as so many are left. */
static inline const uint8_t *skip_plain(const struct reader *r, const uint8_t *at)
{
	size_t count = 8;

	for (; count == 8 && r->end - at >= 8; at += count)
		count = count_plain(word_at(at));
	return at;
}

static const uint8_t *read_rest(struct reader *r, const uint8_t *at)
{
	while (at != NULL && !has_byte(r, at, '"')) {
		if (at < r->end && *at >= 0x20 && *at < 0x80 && *at != '\\')
			at++; /* one of the last seven bytes */
		else
			at = read_special(r, at);
		if (at != NULL)
			at = skip_plain(r, at);
	}
	return at != NULL ? at + 1 : NULL;
}

/* `at` is behind the opening quote. */
static inline const uint8_t *read_string(struct reader *r, const uint8_t *at)
{
	at = skip_plain(r, at);
	return has_byte(r, at, '"') ? at + 1 : read_rest(r, at);
}

static inline const uint8_t *read_scalar(struct reader *r, const uint8_t *at)
{
	uint8_t first = at < r->end ? *at : '\0';

	if (first == '"')
		return read_string(r, at + 1);
	if ((first >= '0' && first <= '9') || first == '-')
		return read_json_number(r, at);
	switch (first) {
	case 'n':
		return read_literal(r, at, "null");
	case 't':
		return read_literal(r, at, "true");
	case 'f':
		return read_literal(r, at, "false");
	default:
		return fail_at(r, at, "a value is missing");
	}
}

/* This says which containers are open: a bit for each, 1 for an object. */
struct nest {
	uint8_t bits[WP_JSON_DEPTH_MAX / 8];
	size_t depth;
	size_t depth_max;
};

static bool is_in_object(const struct nest *n)
{
	return n->bits[(n->depth - 1) / 8] >> (n->depth - 1) % 8 & 1;
}

static bool push_level(struct nest *n, bool object)
{
	if (n->depth == n->depth_max)
		return false;
	uint8_t bit = (uint8_t)(1u << n->depth % 8);
	if (object)
		n->bits[n->depth / 8] |= bit;
	else
		n->bits[n->depth / 8] &= (uint8_t)~bit;
	n->depth++;
	return true;
}

/* Reads the colon behind the name, too. `ret` is the name with its quotes. */
static inline const uint8_t *read_member_name(struct reader *r, const uint8_t *at,
					      struct wp_span *ret)
{
	const uint8_t *from = skip_json_whitespace(r, at);

	if (!has_byte(r, from, '"'))
		return fail_at(r, from, "a name in double quotes is missing");
	at = read_string(r, from + 1);
	if (at == NULL)
		return NULL;
	*ret = (struct wp_span){ from, (size_t)(at - from) };
	at = skip_json_whitespace(r, at);
	return has_byte(r, at, ':') ? at + 1 : fail_at(r, at, "a colon is missing");
}

/* Reads `[` or `{` and, in an object, the first name. An empty container is read to its end. */
static const uint8_t *open_container(struct reader *r, const uint8_t *at, struct nest *n,
				     bool *ret_complete)
{
	bool object = *at == '{';
	struct wp_span name;

	if (!push_level(n, object))
		return fail_at(r, at, "containers are nested more than 1,024 levels deep");
	at = skip_json_whitespace(r, at + 1);
	*ret_complete = has_byte(r, at, object ? '}' : ']');
	if (*ret_complete) {
		n->depth--;
		return at + 1;
	}
	return object ? read_member_name(r, at, &name) : at;
}

/* Reads what is behind a value: the ends of containers, then a comma and what must follow it. */
static const uint8_t *close_containers(struct reader *r, const uint8_t *at, struct nest *n)
{
	struct wp_span name;

	while (n->depth > 0) {
		bool object = is_in_object(n);
		at = skip_json_whitespace(r, at);
		if (has_byte(r, at, ','))
			return object ? read_member_name(r, at + 1, &name) : at + 1;
		if (!has_byte(r, at, object ? '}' : ']'))
			return fail_at(r, at,
				       object ? "a comma or } is missing"
					      : "a comma or ] is missing");
		at++;
		n->depth--;
	}
	return at;
}

static const uint8_t *read_value(struct reader *r, const uint8_t *at, size_t depth_max)
{
	struct nest n;
	bool complete;

	n.depth = 0;
	n.depth_max = depth_max;
	do {
		at = skip_json_whitespace(r, at);
		complete = true;
		if (has_byte(r, at, '{') || has_byte(r, at, '['))
			at = open_container(r, at, &n, &complete);
		else
			at = read_scalar(r, at);
		if (at != NULL && complete)
			at = close_containers(r, at, &n);
	} while (at != NULL && n.depth > 0);
	return at;
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

static enum wp_rc read_json_text(struct wp_span text, enum follow follow, struct wp_json *ret,
				 struct wp_json_fault *fault)
{
	if (wp_span_is_null(text))
		text = wp_span_of("");
	struct reader r = { .end = text.data + text.size };

	const uint8_t *from = skip_json_whitespace(&r, text.data);
	const uint8_t *to = read_value(&r, from, WP_JSON_DEPTH_MAX);
	const uint8_t *next = to != NULL ? skip_json_whitespace(&r, to) : r.end;
	if (next < r.end && follow == NOTHING_FOLLOWS)
		to = fail_at(&r, next, "there is text after the value");
	if (to != NULL) {
		*ret = value_between(from, to);
		return WP_OK;
	}
	if (fault != NULL)
		*fault = (struct wp_json_fault){ r.what, (size_t)(r.fault_at - text.data) };
	return WP_DATA;
}

enum wp_rc wp_json_read(struct wp_span text, struct wp_json *ret, struct wp_json_fault *fault)
{
	return read_json_text(text, NOTHING_FOLLOWS, ret, fault);
}

enum wp_rc wp_json_read_first(struct wp_span text, struct wp_json *ret, struct wp_json_fault *fault)
{
	return read_json_text(text, WHATEVER_FOLLOWS, ret, fault);
}

/* ---- walking ---- */

void wp_json_walk_init(struct wp_json_walk *w, const struct wp_json *container)
{
	assert(container->kind == WP_JSON_OBJECT || container->kind == WP_JSON_ARRAY);
	*w = (struct wp_json_walk){
		.at = container->text.data + 1,
		.end = container->text.data + container->text.size,
		.is_object = container->kind == WP_JSON_OBJECT,
		.was_read = true,
	};
}

void wp_json_walk_text(struct wp_json_walk *w, struct wp_span text)
{
	if (wp_span_is_null(text))
		text = wp_span_of("");
	struct reader r = { .end = text.data + text.size };

	const uint8_t *at = skip_json_whitespace(&r, text.data);
	bool begins = has_byte(&r, at, '{');
	*w = (struct wp_json_walk){
		.at = begins ? at + 1 : at,
		.end = r.end,
		.is_object = true,
		.state = begins ? WP_JSON_WALK_BEGINS : WP_JSON_WALK_BROKE,
	};
}

/* Reads a member or an element. */
static const uint8_t *read_walked(struct wp_json_walk *w, struct reader *r, const uint8_t *at,
				  struct wp_span *ret_name, struct wp_json *ret)
{
	*ret_name = (struct wp_span){ 0 };
	if (w->is_object)
		at = read_member_name(r, at, ret_name);
	if (at == NULL)
		return NULL;
	const uint8_t *from = skip_json_whitespace(r, at);
	at = read_value(r, from, WP_JSON_DEPTH_MAX - 1);
	if (at != NULL)
		*ret = value_between(from, at);
	return at;
}

bool wp_json_walk_next(struct wp_json_walk *w, struct wp_span *ret_name, struct wp_json *ret)
{
	struct reader r = { .end = w->end };

	if (w->state >= WP_JSON_WALK_ENDED)
		return false;
	const uint8_t *at = skip_json_whitespace(&r, w->at);
	if (has_byte(&r, at, w->is_object ? '}' : ']')) {
		bool is_all = skip_json_whitespace(&r, at + 1) == r.end;
		w->state = is_all ? WP_JSON_WALK_ENDED : WP_JSON_WALK_BROKE;
		return false;
	}
	bool begins = w->state == WP_JSON_WALK_BEGINS;
	bool good = begins || has_byte(&r, at, ',');
	at = good ? read_walked(w, &r, begins ? at : at + 1, ret_name, ret) : NULL;
	assert(at != NULL || !w->was_read);
	w->state = at != NULL ? WP_JSON_WALK_GOES_ON : WP_JSON_WALK_BROKE;
	w->at = at;
	return at != NULL;
}

/* ---- strings ---- */

/* `*at` is behind the \u. Returns WP_DATA for half of a pair. */
static enum wp_rc append_unit(const uint8_t **at, const uint8_t *end, struct wp_buffer *into)
{
	uint32_t unit = wp_hex_unit(*at);
	uint8_t bytes[WP_UTF8_SIZE_MAX];

	*at += 4;
	if (unit >= 0xDC00 && unit <= 0xDFFF)
		return WP_DATA;
	if (unit >= 0xD800 && unit <= 0xDBFF) {
		if (end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u')
			return WP_DATA;
		uint32_t low = wp_hex_unit(*at + 2);
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

/* All that is escaped lies below U+10000. */
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

/* Returns how many bytes of `text` were written; 0 when they stand for themselves. */
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
