/*
 * YAML is told from .properties by what these never have: a line of three dashes, or a name with
 * nothing behind its colon and more deeply indented lines below it.
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

static enum wp_rc refuse(unsigned number, struct wp_error *error)
{
	return wp_error_set(
		error, WP_CONFIG,
		"line %u: YAML is not supported. Pass the properties as name=value lines or as a "
		"JSON object: for a KafkaConnector (Strimzi) the contents of config:, with its "
		"class: as connector.class; for Debezium Server's application.yaml the same names "
		"with dots, such as debezium.source.plugin.name",
		number);
}

enum wp_rc wp_import_refuse_yaml(struct wp_span text, struct wp_error *error)
{
	struct line above = { .size = 0 };
	unsigned above_number = 0;

	for (unsigned number = 1; text.size > 0; number++) {
		struct line line = next_line(&text);

		if (line.size == 0)
			continue;
		if (is_dashes(&line))
			return refuse(number, error);
		if (opens(&above) && line.indent > above.indent)
			return refuse(above_number, error);
		above = line;
		above_number = number;
	}
	return WP_OK;
}
