#include <string.h>

#include "walpost/base/display.h"
#include "walpost/base/utf8.h"

/* The bidirectional marks are those of Unicode's UAX 9: "Trojan Source" (CVE-2021-42574). */
bool wp_display_must_escape(uint32_t character)
{
	return character < 0x20 || (character >= 0x7F && character < 0xA0) || character == 0x061C ||
	       character == 0x200E || character == 0x200F ||
	       (character >= 0x2028 && character <= 0x202E) ||
	       (character >= 0x2066 && character <= 0x2069);
}

size_t wp_display_next(const uint8_t *at, size_t left, struct wp_display *ret)
{
	size_t size = wp_utf8_size(at, left);
	uint32_t character = size == 0 ? *at : wp_utf8_character(at, size);

	if (size != 0 && !wp_display_must_escape(character)) {
		memcpy(ret->text, at, size);
		ret->text[size] = '\0';
		ret->size = size;
		return size;
	}
	ret->size = (size_t)snprintf(ret->text, sizeof(ret->text),
				     size <= 1 ? "\\x%02x" : "\\u%04X", (unsigned)character);
	return size == 0 ? 1 : size;
}

enum wp_rc wp_display_append(struct wp_buffer *into, struct wp_span text)
{
	enum wp_rc rc = WP_OK;

	for (size_t i = 0; i < text.size && rc == WP_OK;) {
		struct wp_display shown;
		i += wp_display_next(text.data + i, text.size - i, &shown);
		rc = wp_buffer_append(into,
				      (struct wp_span){ (const uint8_t *)shown.text, shown.size });
	}
	return rc;
}

void wp_display_print(FILE *to, struct wp_span text)
{
	for (size_t i = 0; i < text.size;) {
		struct wp_display shown;
		i += wp_display_next(text.data + i, text.size - i, &shown);
		(void)fwrite(shown.text, 1, shown.size, to); /* whoever closes it looks */
	}
}

#define EXCERPT_MAX 100

const char *wp_excerpt(struct wp_excerpt *e, struct wp_span value)
{
	size_t to = 0;

	if (wp_span_is_null(value))
		return memcpy(e->text, "NULL", 5);
	for (size_t from = 0; from < value.size;) {
		struct wp_display shown;
		from += wp_display_next(value.data + from, value.size - from, &shown);
		if (to + shown.size > EXCERPT_MAX) {
			memcpy(e->text + to, "...", 3);
			to += 3;
			break;
		}
		memcpy(e->text + to, shown.text, shown.size);
		to += shown.size;
	}
	e->text[to] = '\0';
	return e->text;
}
