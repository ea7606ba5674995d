#include <string.h>

#include "walpost/base/utf8.h"
#include "walpost/outbox/excerpt.h"

#define EXCERPT_MAX 100

const char *wp_excerpt(struct wp_excerpt *e, struct wp_span value)
{
	size_t to = 0;

	if (wp_span_is_null(value))
		return memcpy(e->text, "NULL", 5);
	for (size_t from = 0; from < value.size;) {
		size_t size = wp_utf8_size(value.data + from, value.size - from);
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
