/*
 * YAML is told from .properties by what these never have: a line of three dashes, a name with nothing
 * behind its colon and deeper indented lines or a list below it, or a value in quotes behind a colon.
 */
#include "read.h"

struct line {
	const uint8_t *text; /* behind the indentation */
	size_t indent;
	size_t size; /* without spaces at its end; 0: blank, or a comment */
};

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Moves `rest` behind the line. */
static struct line next_line(struct wp_span *rest)
{
	struct line line = { .text = rest->data };
	size_t size = 0;

	while (size < rest->size && rest->data[size] != '\n')
		size++;
	while (line.indent < size && is_blank(line.text[line.indent]))
		line.indent++;
	line.text += line.indent;
	line.size = size - line.indent;
	while (line.size > 0 && is_blank(line.text[line.size - 1]))
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

/* name: "value" */
static bool has_quoted_value(const struct line *line)
{
	for (size_t i = 0; i + 3 < line->size; i++) {
		uint8_t quote = line->text[i + 2];

		if (line->text[i] == '=')
			return false;
		if (line->text[i] == ':' && line->text[i + 1] == ' ')
			return (quote == '"' || quote == '\'') &&
			       line->text[line->size - 1] == quote;
	}
	return false;
}

/* One word and a colon. */
static bool opens(const struct line *line)
{
	if (line->size < 2 || line->text[line->size - 1] != ':')
		return false;
	for (size_t i = 0; i < line->size - 1; i++)
		if (is_blank(line->text[i]) || line->text[i] == '=' || line->text[i] == ':' ||
		    line->text[i] == '\\')
			return false;
	return true;
}

bool wp_import_looks_like_yaml(struct wp_span text)
{
	struct line above = { .size = 0 };

	while (text.size > 0) {
		struct line line = next_line(&text);

		if (line.size == 0)
			continue;
		if (is_dashes(&line) || has_quoted_value(&line))
			return true;
		if (opens(&above) && (line.indent > above.indent || *line.text == '-'))
			return true;
		above = line;
	}
	return false;
}
