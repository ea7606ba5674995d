/*
 * .properties as java.util.Properties.load() reads them:
 *
 *   # comment            also !
 *   name = value         or name : value, or name value; spaces around the separator are dropped
 *   name = one \         a line that ends with a backslash goes on in the next, whose first
 *          two           spaces are dropped
 *
 * A backslash makes the character behind it ordinary; \t \n \r \f and \uXXXX, half a pair of
 * surrogates each, stand for others. Of a line without a separator all is name.
 */
#include <string.h>

#include "read.h"
#include "walpost/base/hex.h"

struct letter {
	uint8_t bytes[4];
	size_t size; /* 0: the line is over */
	bool escaped;
};

struct reader {
	const uint8_t *at;
	const uint8_t *end;
	unsigned line;
	struct letter ahead; /* what comes next */
	struct wp_import_properties *into;
	struct wp_error *error;
	enum wp_rc rc; /* sticky */
};

static void fail(struct reader *r, const char *what)
{
	if (r->rc == WP_OK)
		r->rc = wp_error_set(r->error, WP_CONFIG, "line %u: %s", r->line, what);
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\f';
}

static void skip_blanks(struct reader *r)
{
	while (r->at < r->end && is_blank(*r->at))
		r->at++;
}

/* False: there is no line's end here. */
static bool skip_newline(struct reader *r)
{
	if (r->at == r->end || (*r->at != '\n' && *r->at != '\r'))
		return false;
	if (*r->at++ == '\r' && r->at < r->end && *r->at == '\n')
		r->at++;
	r->line++;
	return true;
}

/* Four hexadecimal digits, behind \u. */
static uint32_t read_unit(struct reader *r)
{
	uint32_t unit = 0;

	for (int i = 0; i < 4; i++) {
		int value = r->at < r->end ? wp_hex_value(*r->at) : -1;

		if (value < 0) {
			fail(r, "\\u requires four hexadecimal digits");
			return 0;
		}
		unit = unit << 4 | (uint32_t)value;
		r->at++;
	}
	return unit;
}

static uint32_t read_character(struct reader *r)
{
	uint32_t high = read_unit(r);

	if (high < 0xD800 || high > 0xDFFF)
		return high;
	if (high < 0xDC00 && r->end - r->at >= 2 && r->at[0] == '\\' && r->at[1] == 'u') {
		r->at += 2;
		uint32_t low = read_unit(r);
		if (low >= 0xDC00 && low <= 0xDFFF)
			return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
	}
	fail(r, "a \\u escape is half of a character");
	return 0;
}

static struct letter utf8_of(uint32_t c)
{
	struct letter l = { .escaped = true };

	if (c < 0x80) {
		l.bytes[l.size++] = (uint8_t)c;
		return l;
	}
	if (c < 0x800) {
		l.bytes[l.size++] = (uint8_t)(0xC0 | c >> 6);
	} else if (c < 0x10000) {
		l.bytes[l.size++] = (uint8_t)(0xE0 | c >> 12);
		l.bytes[l.size++] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
	} else {
		l.bytes[l.size++] = (uint8_t)(0xF0 | c >> 18);
		l.bytes[l.size++] = (uint8_t)(0x80 | (c >> 12 & 0x3F));
		l.bytes[l.size++] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
	}
	l.bytes[l.size++] = (uint8_t)(0x80 | (c & 0x3F));
	return l;
}

static struct letter read_escape(struct reader *r)
{
	static const char names[] = "tnrf";
	static const char meanings[] = "\t\n\r\f";
	uint8_t c = *r->at++;
	const char *name = strchr(names, c);

	if (c == 'u')
		return utf8_of(read_character(r));
	return (struct letter){
		.bytes = { name == NULL || c == 0 ? c : (uint8_t)meanings[name - names] },
		.size = 1,
		.escaped = true,
	};
}

/* Into `ahead`, over the ends of lines that go on. */
static void advance(struct reader *r)
{
	while (r->at < r->end && *r->at == '\\') {
		r->at++;
		if (skip_newline(r)) {
			skip_blanks(r);
			continue;
		}
		if (r->at < r->end) {
			r->ahead = read_escape(r);
			return;
		}
	}
	r->ahead = (struct letter){ .size = 0 };
	if (r->at == r->end || skip_newline(r))
		return;
	r->ahead = (struct letter){ .bytes = { *r->at++ }, .size = 1 };
}

static bool is_ahead(const struct reader *r, const char *set)
{
	return r->ahead.size > 0 && !r->ahead.escaped && r->ahead.bytes[0] != '\0' &&
	       strchr(set, r->ahead.bytes[0]) != NULL;
}

/* Up to an unescaped character of `set`, or the line's end. NULL: `rc` says why. */
static char *read_text(struct reader *r, const char *set)
{
	struct wp_buffer *texts = &r->into->texts;
	size_t start = texts->size;
	unsigned line = r->line;
	char *text = NULL;

	for (; r->rc == WP_OK && r->ahead.size > 0 && !is_ahead(r, set); advance(r))
		if (wp_buffer_append(texts, (struct wp_span){ r->ahead.bytes, r->ahead.size }) !=
		    WP_OK)
			r->rc = wp_error_set(r->error, WP_NOMEM, "out of memory for the texts");
	if (r->rc == WP_OK)
		r->rc = wp_import_end_text(r->into, start, line, &text, r->error);
	return text;
}

static void read_property(struct reader *r)
{
	struct wp_import_property property = { .line = r->line };

	advance(r);
	property.name = read_text(r, "=: \t\f");
	while (is_ahead(r, " \t\f"))
		advance(r);
	if (is_ahead(r, "=:"))
		advance(r);
	while (is_ahead(r, " \t\f"))
		advance(r);
	property.value = read_text(r, "");
	if (r->rc == WP_OK)
		r->rc = wp_import_add(r->into, &property, r->error);
}

static void skip_comment(struct reader *r)
{
	while (r->at < r->end && *r->at != '\n' && *r->at != '\r')
		r->at++;
}

enum wp_rc wp_import_read_java(struct wp_span text, unsigned line, struct wp_import_properties *p,
			       struct wp_error *error)
{
	struct reader r = {
		.at = text.data,
		.end = text.data + text.size,
		.line = line,
		.into = p,
		.error = error,
	};

	while (r.rc == WP_OK && r.at < r.end) {
		skip_blanks(&r);
		if (skip_newline(&r))
			continue;
		if (r.at < r.end && (*r.at == '#' || *r.at == '!'))
			skip_comment(&r);
		else if (r.at < r.end)
			read_property(&r);
	}
	return r.rc;
}
