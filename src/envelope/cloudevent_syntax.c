/* Checks values of a CloudEvent by their syntax: texts, URIs, media types, names of extensions. */
#include <string.h>
#include <strings.h>

#include "walpost/base/ascii.h"
#include "walpost/base/hex.h"
#include "walpost/base/utf8.h"
#include "walpost/envelope/cloudevent.h"

static bool is_in_set(uint8_t c, const char *set)
{
	return c != '\0' && strchr(set, c) != NULL;
}

/* ---- strings ---- */

/* CloudEvents 1.0.2, "Type System", forbids these. Surrogates are no UTF-8. */
static bool is_forbidden(uint32_t character)
{
	return character < 0x20 || (character >= 0x7F && character <= 0x9F) ||
	       (character >= 0xFDD0 && character <= 0xFDEF) || (character & 0xFFFE) == 0xFFFE;
}

bool wp_cloudevent_is_text(struct wp_span value)
{
	for (size_t i = 0; i < value.size;) {
		size_t size = wp_utf8_size(value.data + i, value.size - i);
		if (size == 0 || is_forbidden(wp_utf8_character(value.data + i, size)))
			return false;
		i += size;
	}
	return true;
}

/* ---- URIs ---- */

static bool is_of_uri(uint8_t c)
{
	return wp_is_letter(c) || wp_is_digit(c) || is_in_set(c, "-._~:/?#[]@!$&'()*+,;=%");
}

static bool is_of_scheme(uint8_t c)
{
	return wp_is_letter(c) || wp_is_digit(c) || is_in_set(c, "+-.");
}

/* Returns the bytes before the colon; 0: there is no scheme. */
static size_t scheme_size(struct wp_span value)
{
	size_t size = 0;

	if (value.size == 0 || !wp_is_letter(value.data[0]))
		return 0;
	while (size < value.size && is_of_scheme(value.data[size]))
		size++;
	return size < value.size && value.data[size] == ':' ? size : 0;
}

/* Without a scheme, no colon may stand in the first segment: it would end one. */
static bool has_stray_colon(struct wp_span value)
{
	if (scheme_size(value) > 0)
		return false;
	for (size_t i = 0; i < value.size && !is_in_set(value.data[i], "/?#"); i++) {
		if (value.data[i] == ':')
			return true;
	}
	return false;
}

bool wp_cloudevent_is_uri_reference(struct wp_span value)
{
	size_t fragments = 0;

	if (value.size == 0 || has_stray_colon(value))
		return false;
	for (size_t i = 0; i < value.size; i++) {
		uint8_t c = value.data[i];
		if (!is_of_uri(c))
			return false;
		if (c == '%' && (value.size - i < 3 || wp_hex_value(value.data[i + 1]) < 0 ||
				 wp_hex_value(value.data[i + 2]) < 0))
			return false;
		fragments += c == '#';
	}
	return fragments <= 1;
}

bool wp_cloudevent_is_absolute_uri(struct wp_span value)
{
	return wp_cloudevent_is_uri_reference(value) && scheme_size(value) > 0 &&
	       memchr(value.data, '#', value.size) == NULL;
}

/* ---- media types ---- */

struct cursor {
	const uint8_t *at;
	const uint8_t *end;
};

/* `text` is not null. */
static struct cursor over(struct wp_span text)
{
	return (struct cursor){ .at = text.data, .end = text.data + text.size };
}

static bool accept_char(struct cursor *c, uint8_t byte)
{
	if (c->at == c->end || *c->at != byte)
		return false;
	c->at++;
	return true;
}

static void skip_optional_space(struct cursor *c)
{
	while (accept_char(c, ' '))
		;
}

static bool accept_token(struct cursor *c)
{
	const uint8_t *from = c->at;

	while (c->at<c->end && * c->at> ' ' && *c->at < 0x7F &&
	       !is_in_set(*c->at, "()<>@,;:\\\"/[]?="))
		c->at++;
	return c->at > from;
}

static bool accept_printable(struct cursor *c)
{
	if (c->at == c->end || *c->at < ' ' || *c->at > '~')
		return false;
	c->at++;
	return true;
}

static bool accept_quoted(struct cursor *c)
{
	if (!accept_char(c, '"'))
		return false;
	while (!accept_char(c, '"')) {
		(void)accept_char(c, '\\');
		if (!accept_printable(c))
			return false;
	}
	return true;
}

/* Accepts ";" attribute "=" value. */
static bool accept_parameter(struct cursor *c)
{
	if (!accept_char(c, ';'))
		return false;
	skip_optional_space(c);
	return accept_token(c) && accept_char(c, '=') && (accept_token(c) || accept_quoted(c));
}

bool wp_cloudevent_is_media_type(struct wp_span value)
{
	if (wp_span_is_null(value))
		return false;
	struct cursor c = over(value);
	if (!accept_token(&c) || !accept_char(&c, '/') || !accept_token(&c))
		return false;
	for (;;) {
		const uint8_t *before = c.at;
		skip_optional_space(&c);
		if (c.at == c.end)
			return c.at == before;
		if (!accept_parameter(&c))
			return false;
	}
}

bool wp_cloudevent_is_json(struct wp_span datacontenttype)
{
	if (wp_span_is_null(datacontenttype))
		return true;
	struct cursor c = over(datacontenttype);
	if (!accept_token(&c) || !accept_char(&c, '/'))
		return false;
	const char *subtype = (const char *)c.at;
	if (!accept_token(&c))
		return false;
	const char *end = (const char *)c.at;
	if (end - subtype == 4)
		return strncasecmp(subtype, "json", 4) == 0;
	return end - subtype >= 5 && strncasecmp(end - 5, "+json", 5) == 0;
}

/* ---- names ---- */

bool wp_cloudevent_is_extension_name(struct wp_span value)
{
	static const char *const taken[] = {
		"specversion",	   "id",	 "source", "type", "subject", "time",
		"datacontenttype", "dataschema", "data",
	};

	for (size_t i = 0; i < value.size; i++) {
		if (!wp_is_digit(value.data[i]) && !(value.data[i] >= 'a' && value.data[i] <= 'z'))
			return false;
	}
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		if (wp_span_is(value, taken[i]))
			return false;
	}
	return value.size > 0;
}
