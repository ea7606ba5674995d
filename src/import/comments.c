/*
 * Blanks comments in JSON: from // or # to the line's end, or between slash and asterisks. Neither
 * JSON nor Kafka Connect has them; examples, and files that are kept beside a connector, do.
 */
#include <string.h>

#include "read.h"

/* Returns the size of the comment that begins here; 0 if none does, SIZE_MAX if it never ends. */
static size_t comment_size(struct wp_span rest)
{
	bool is_block = rest.size >= 2 && memcmp(rest.data, "/*", 2) == 0;
	bool is_line = rest.size >= 1 && rest.data[0] == '#';

	is_line = is_line || (rest.size >= 2 && memcmp(rest.data, "//", 2) == 0);
	if (is_line) {
		const uint8_t *end = memchr(rest.data, '\n', rest.size);
		return end == NULL ? rest.size : (size_t)(end - rest.data);
	}
	for (size_t i = 4; is_block && i <= rest.size; i++)
		if (memcmp(rest.data + i - 2, "*/", 2) == 0)
			return i;
	return is_block ? SIZE_MAX : 0;
}

/* Does what follows a bracket begin an array? [section] is no JSON. */
static bool begins_array(struct wp_span rest)
{
	size_t at = 0;

	while (at < rest.size && strchr(" \t\r\n", rest.data[at]) != NULL)
		at++;
	return at == rest.size || strchr("{[\"]/#-0123456789", rest.data[at]) != NULL;
}

bool wp_import_looks_like_json(struct wp_span text)
{
	size_t at = 0;

	while (at < text.size) {
		size_t size = comment_size(wp_span_after(text, at));

		if (size == SIZE_MAX)
			return false;
		if (size == 0 && strchr(" \t\r\n", text.data[at]) == NULL)
			return text.data[at] == '{' ||
			       (text.data[at] == '[' && begins_array(wp_span_after(text, at + 1)));
		at += size == 0 ? 1 : size;
	}
	return false;
}

/*
 * Returns the size of the string that begins here; what follows an end that is missing is for the
 * JSON reader.
 */
static size_t string_size(struct wp_span rest)
{
	size_t at = 1;

	while (at < rest.size && rest.data[at] != '"')
		at += rest.data[at] == '\\' ? 2 : 1;
	return at < rest.size ? at + 1 : rest.size;
}

static unsigned line_at(struct wp_span text, size_t at)
{
	unsigned line = 1;

	for (size_t i = 0; i < at; i++)
		line += text.data[i] == '\n';
	return line;
}

enum wp_rc wp_import_blank_comments(struct wp_span text, struct wp_buffer *into,
				    struct wp_error *error)
{
	enum wp_rc rc = wp_buffer_append(into, text);

	for (size_t at = 0; rc == WP_OK && at < text.size;) {
		size_t size = comment_size(wp_span_after(text, at));

		if (size == SIZE_MAX)
			return wp_error_set(error, WP_CONFIG, "line %u: a comment is not closed",
					    line_at(text, at));
		for (size_t i = at; i < at + size; i++)
			if (into->data[i] != '\n')
				into->data[i] = ' ';
		if (size == 0)
			size = text.data[at] == '"' ? string_size(wp_span_after(text, at)) : 1;
		at += size;
	}
	return rc == WP_OK ? rc : wp_error_set(error, rc, "out of memory for the text");
}
