#include <string.h>

#include "walpost/outbox/excerpt.h"

#define EXCERPT_MAX 100

/* Length of the character at `at`, of which `left` bytes are there; 0: it is none. */
static size_t character_size(const uint8_t *at, size_t left)
{
	uint8_t lead = at[0];
	size_t size = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
	uint8_t low = 0x80;
	uint8_t high = 0xBF;

	if ((lead >= 0x80 && lead < 0xC2) || lead > 0xF4 || size > left)
		return 0;
	if (lead == 0xE0)
		low = 0xA0;
	if (lead == 0xED)
		high = 0x9F;
	if (lead == 0xF0)
		low = 0x90;
	if (lead == 0xF4)
		high = 0x8F;
	if (size > 1 && (at[1] < low || at[1] > high))
		return 0;
	for (size_t i = 2; i < size; i++) {
		if ((at[i] & 0xC0) != 0x80)
			return 0;
	}
	return size;
}

const char *wp_excerpt(struct wp_excerpt *e, struct wp_span value)
{
	size_t to = 0;

	if (wp_span_is_null(value))
		return memcpy(e->text, "NULL", 5);
	for (size_t from = 0; from < value.size;) {
		size_t size = character_size(value.data + from, value.size - from);
		size_t wanted = size == 0 ? 1 : size;
		if (to + wanted > EXCERPT_MAX) {
			memcpy(e->text + to, "...", 3);
			to += 3;
			break;
		}
		if (size == 0 || value.data[from] < 0x20 || value.data[from] == 0x7F)
			e->text[to] = '?';
		else
			memcpy(e->text + to, value.data + from, size);
		to += wanted;
		from += wanted;
	}
	e->text[to] = '\0';
	return e->text;
}

bool wp_is_utf8(struct wp_span text)
{
	for (size_t i = 0; i < text.size;) {
		size_t size = character_size(text.data + i, text.size - i);
		if (size == 0 || text.data[i] == '\0')
			return false;
		i += size;
	}
	return true;
}
