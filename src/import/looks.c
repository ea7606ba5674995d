/*
 * Guesses what a text is: YAML or .properties, or, if it cannot be read, what to pass in its place.
 *
 * YAML is told from .properties by what these never have: a line of three dashes, a name with
 * nothing behind its colon and deeper indented lines or a list below it, or a value in quotes
 * behind a colon. Lines of names with an equal sign tell that it is none, unless a resource of
 * Kubernetes is among them.
 */
#include <string.h>

#include "read.h"

struct line {
	const uint8_t *text; /* behind the indentation */
	size_t indent;
	size_t size; /* without spaces at its end; 0: blank, or a comment */
};

/* Returns the next line, and moves `rest` behind it. */
static struct line next_line(struct wp_span *rest)
{
	struct line line = { .text = rest->data };
	size_t size = 0;

	while (size < rest->size && rest->data[size] != '\n')
		size++;
	while (line.indent < size && wp_import_is_blank(line.text[line.indent]))
		line.indent++;
	line.text += line.indent;
	line.size = size - line.indent;
	while (line.size > 0 && wp_import_is_blank(line.text[line.size - 1]))
		line.size--;
	if (line.size > 0 && (*line.text == '#' || *line.text == '!'))
		line.size = 0;
	size += size < rest->size;
	*rest = (struct wp_span){ rest->data + size, rest->size - size };
	return line;
}

static bool is_dashes(const struct line *line)
{
	return line->indent == 0 && wp_span_is((struct wp_span){ line->text, line->size }, "---");
}

/* Returns the size of a name in the first column. */
static size_t name_size(const struct line *line)
{
	size_t size = 0;

	while (line->indent == 0 && size < line->size &&
	       strchr(" \t:='\"-", line->text[size]) == NULL)
		size++;
	return size;
}

/* Is it name=value? */
static bool is_property(const struct line *line)
{
	size_t size = name_size(line);
	size_t at = size;

	while (at < line->size && wp_import_is_blank(line->text[at]))
		at++;
	return size > 0 && at < line->size && line->text[at] == '=';
}

/* Does the line belong to a resource of Kubernetes? */
static bool is_kind(const struct line *line)
{
	static const char *const starts[] = { "kind: ", "apiVersion: " };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (line->size > strlen(starts[i]) &&
		    memcmp(line->text, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

/* Is it name: value, without what only one of the two forms has? */
static bool is_flat(const struct line *line)
{
	size_t size = name_size(line);

	return size > 0 && size + 1 < line->size && line->text[size] == ':' &&
	       line->text[size + 1] == ' ' && memchr(line->text, '\\', line->size) == NULL;
}

/* Is it name: "value", perhaps with a comment behind it? */
static bool has_quoted_value(const struct line *line)
{
	const uint8_t *end = line->text + line->size;

	for (const uint8_t *at = line->text; at + 3 < end; at++)
		if (at[0] == ':' && at[1] == ' ' && (at[2] == '"' || at[2] == '\'')) {
			const uint8_t *close = memchr(at + 3, at[2], (size_t)(end - at - 3));

			return close != NULL &&
			       (close + 1 == end ||
				(wp_import_is_blank(close[1]) &&
				 memchr(close, '#', (size_t)(end - close)) != NULL));
		}
	return false;
}

/* Is it one word and a colon? */
static bool opens(const struct line *line)
{
	if (line->size < 2 || line->text[line->size - 1] != ':')
		return false;
	for (size_t i = 0; i < line->size - 1; i++)
		if (wp_import_is_blank(line->text[i]) || line->text[i] == '=' ||
		    line->text[i] == ':' || line->text[i] == '\\')
			return false;
	return true;
}

enum wp_import_yaml wp_import_looks_like_yaml(struct wp_span text)
{
	struct line above = { .size = 0 };
	bool has_sign = false;
	bool is_all_flat = true;
	bool has_property = false;
	bool has_kind = false;

	while (text.size > 0) {
		struct line line = next_line(&text);

		if (line.size == 0)
			continue;
		has_property = has_property || is_property(&line);
		has_kind = has_kind || is_kind(&line);
		has_sign = has_sign || is_dashes(&line) || has_quoted_value(&line) ||
			   (opens(&above) && (line.indent > above.indent || *line.text == '-'));
		is_all_flat = is_all_flat && is_flat(&line);
		above = line;
	}
	if (has_property && !has_kind)
		return WP_IMPORT_NO_YAML;
	if (has_sign)
		return WP_IMPORT_YAML;
	return is_all_flat && above.size > 0 ? WP_IMPORT_MAYBE_YAML : WP_IMPORT_NO_YAML;
}

static const struct hint {
	const char *signs[3];
	const char *text;
} hints[] = {
	{ { "{{", "{%", "<%" },
	  "; if it is a template, pass what is made of it, for example by `helm template`" },
	{ { "resource \"", "jsonencode(", "jsondecode(" },
	  "; it looks like Terraform, which is not read: pass what GET /connectors/NAME returns, "
	  "or "
	  "lines NAME=value for Debezium Server" },
	{ { "\"error_code\"", "\"worker_id\"", NULL },
	  "; it looks like an answer of Kafka Connect without a configuration: pass what GET "
	  "/connectors/NAME returns" },
	{ { "DEBEZIUM_SOURCE_", NULL, NULL },
	  "; its DEBEZIUM_SOURCE_... variables are in a form that walpost does not read: pass "
	  "lines of NAME=value, without spaces around the equal sign" },
};

static bool is_behind_comma(struct wp_span text, size_t at)
{
	while (at > 0 && strchr(" \t\r\n", text.data[at - 1]) != NULL && text.data[at - 1] != '\0')
		at--;
	return at > 0 && text.data[at - 1] == ',';
}

const char *wp_import_hint(struct wp_span text)
{
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		for (size_t j = 0; j < 3 && hints[i].signs[j] != NULL; j++)
			if (wp_span_has(text, hints[i].signs[j]))
				return hints[i].text;
	return "";
}

const char *wp_import_hint_at(struct wp_span text, size_t at)
{
	if (at < text.size && (text.data[at] == '}' || text.data[at] == ']') &&
	    is_behind_comma(text, at))
		return "; JSON allows no comma before a closing bracket";
	return wp_import_hint(text);
}
