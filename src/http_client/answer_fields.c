#include "walpost/http_client/answer_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/secret_buffer.h"

bool wp_json_member(struct wp_span text, const char *name, struct wp_json *ret)
{
	struct wp_json_walk walk;
	struct wp_span quoted;
	struct wp_json value;
	bool found = false;

	wp_json_walk_text(&walk, text);
	while (wp_json_walk_next(&walk, &quoted, &value)) {
		if (found || quoted.size != strlen(name) + 2 ||
		    memcmp(quoted.data + 1, name, strlen(name)) != 0)
			continue;
		*ret = value;
		found = true;
	}
	return found && walk.state == WP_JSON_WALK_ENDED;
}

static bool copy(struct wp_span text, char *ret, size_t size)
{
	if (text.size == 0 || text.size >= size || memchr(text.data, '\0', text.size) != NULL)
		return false;
	memcpy(ret, text.data, text.size);
	ret[text.size] = '\0';
	return true;
}

bool wp_json_text_member(struct wp_span text, const char *name, char *ret, size_t size)
{
	struct wp_json value;
	struct wp_buffer b;

	if (!wp_json_member(text, name, &value) || value.kind != WP_JSON_STRING)
		return false;
	if (wp_secret_buffer_init(&b, value.text.size, NULL) != WP_OK)
		return false;
	bool done =
		wp_json_unescape(value.text, &b) == WP_OK && copy(wp_buffer_span(&b), ret, size);
	wp_secret_buffer_release(&b);
	return done;
}

bool wp_json_number_member(struct wp_span text, const char *name, int64_t *ret)
{
	struct wp_json value;
	char digits[32];
	double number;
	int size = 0;

	if (!wp_json_member(text, name, &value))
		return false;
	bool is_text = value.kind == WP_JSON_STRING &&
		       wp_json_text_member(text, name, digits, sizeof(digits));
	bool is_number = value.kind == WP_JSON_NUMBER && copy(value.text, digits, sizeof(digits));
	if (!is_text && !is_number)
		return false;
	if (sscanf(digits, "%lf%n", &number, &size) != 1 || digits[size] != '\0' ||
	    !(number > -1e15 && number < 1e15))
		return false;
	*ret = (int64_t)number;
	return true;
}

static const uint8_t *after(struct wp_span text, const char *tag)
{
	size_t size = strlen(tag);

	for (size_t i = 0; i + size <= text.size; i++)
		if (memcmp(text.data + i, tag, size) == 0)
			return text.data + i + size;
	return NULL;
}

bool wp_xml_text(struct wp_span text, const char *name, char *ret, size_t size)
{
	char tag[64];
	const uint8_t *end = text.data + text.size;

	int tag_size = snprintf(tag, sizeof(tag), "<%s>", name);
	if (tag_size <= 0 || (size_t)tag_size >= sizeof(tag) || text.data == NULL)
		return false;
	const uint8_t *from = after(text, tag);
	if (from == NULL)
		return false;
	const uint8_t *to = memchr(from, '<', (size_t)(end - from));
	if (to == NULL || to == end - 1 || to[1] != '/' ||
	    memchr(from, '&', (size_t)(to - from)) != NULL)
		return false;
	return copy((struct wp_span){ from, (size_t)(to - from) }, ret, size);
}
