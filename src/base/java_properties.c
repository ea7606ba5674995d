#include <assert.h>
#include <string.h>

#include "walpost/base/hex.h"
#include "walpost/base/java_properties.h"
#include "walpost/base/utf8.h"

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

static void skip_white(struct wp_java_properties *p)
{
	while (p->at < p->end && is_white(*p->at))
		p->at++;
}

static void skip_line_end(struct wp_java_properties *p)
{
	if (p->end - p->at >= 2 && p->at[0] == '\r' && p->at[1] == '\n')
		p->at++;
	p->at++;
	p->line++;
}

static bool is_joined(const struct wp_java_properties *p)
{
	return p->end - p->at >= 2 && p->at[0] == '\\' && is_line_end(p->at[1]);
}

/* Moves past backslashes at ends of lines, and the white behind each. */
static void join_lines(struct wp_java_properties *p)
{
	while (is_joined(p)) {
		p->at++;
		skip_line_end(p);
		skip_white(p);
	}
}

/*
 * Moves to the first character of a line that has some; returns false when there is none. A line
 * that had none so far may become a comment where it is joined.
 */
static bool find_line(struct wp_java_properties *p)
{
	for (;;) {
		join_lines(p);
		if (p->at == p->end)
			return false;
		if (*p->at == '#' || *p->at == '!') {
			while (p->at < p->end && !is_line_end(*p->at))
				p->at++;
		} else if (is_line_end(*p->at)) {
			skip_line_end(p);
		} else if (is_white(*p->at)) {
			p->at++;
		} else {
			return true;
		}
	}
}

/* ---- characters ---- */

static void put(struct wp_java_properties *p, struct wp_span bytes)
{
	enum wp_rc rc = wp_buffer_append(p->into, bytes);

	assert(rc == WP_OK); /* room was made */
}

/* Reads the four digits behind \u, which a line's end may part; returns -1 when they are not
 * there. */
static int32_t read_unit(struct wp_java_properties *p)
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

static enum wp_rc put_escaped_unit(struct wp_java_properties *p)
{
	uint8_t bytes[WP_UTF8_SIZE_MAX];
	unsigned line = p->line;
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
	if (unit < 0 || (unit >= 0xD800 && unit <= 0xDFFF)) {
		p->fault = unit < 0 ? WP_JAVA_NO_DIGIT : WP_JAVA_HALF;
		p->half = (unsigned)unit;
		if (unit >= 0)
			p->line = line;
		return WP_DATA;
	}
	put(p, (struct wp_span){ bytes, wp_utf8_encode((uint32_t)unit, bytes) });
	return WP_OK;
}

/* Stands behind a backslash that ends no line; at the end of the text that stands for nothing. */
static enum wp_rc put_escaped(struct wp_java_properties *p)
{
	static const char LETTERS[] = "tnrf", MEANT[] = "\t\n\r\f";

	p->at++;
	if (p->at == p->end)
		return WP_OK;
	uint8_t c = *p->at++;
	if (c == 'u')
		return put_escaped_unit(p);
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

static enum wp_rc read_part(struct wp_java_properties *p, enum part part, struct wp_span *ret)
{
	size_t from = p->into->size;
	enum wp_rc rc = WP_OK;

	for (join_lines(p); rc == WP_OK && p->at < p->end && !ends(part, *p->at); join_lines(p)) {
		if (*p->at == '\\')
			rc = put_escaped(p);
		else
			put(p, (struct wp_span){ p->at++, 1 });
	}
	struct wp_span all = wp_buffer_span(p->into);
	*ret = (struct wp_span){ all.data + from, all.size - from };
	return rc;
}

static void skip_white_and_joints(struct wp_java_properties *p)
{
	for (join_lines(p); p->at < p->end && is_white(*p->at); join_lines(p))
		p->at++;
}

static void skip_separator(struct wp_java_properties *p)
{
	skip_white_and_joints(p);
	if (p->at == p->end || (*p->at != '=' && *p->at != ':'))
		return;
	p->at++;
	skip_white_and_joints(p);
}

/* ---- the walk ---- */

enum wp_rc wp_java_properties_init(struct wp_java_properties *p, struct wp_span text,
				   struct wp_buffer *into)
{
	assert(!wp_span_is_null(text));
	/* Nothing is longer when unescaped: \uXXXX is 6 bytes, and gives 3 at most. One byte
	 * more is for an empty text. */
	enum wp_rc rc = wp_buffer_reserve(into, text.size + 1);
	if (rc == WP_OK)
		*p = (struct wp_java_properties){
			.at = text.data, .end = text.data + text.size, .into = into, .line = 1
		};
	return rc;
}

enum wp_rc wp_java_properties_next(struct wp_java_properties *p, struct wp_java_property *ret)
{
	struct wp_java_property found = { 0 };

	if (!find_line(p)) {
		*ret = found;
		return WP_OK;
	}
	found.line = p->line;
	enum wp_rc rc = read_part(p, NAME, &found.name);
	if (rc != WP_OK)
		return rc;
	skip_separator(p);
	rc = read_part(p, VALUE, &found.value);
	if (rc == WP_OK)
		*ret = found;
	return rc;
}
