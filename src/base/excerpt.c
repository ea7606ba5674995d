#include <string.h>

#include "walpost/base/display.h"
#include "walpost/base/excerpt.h"

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
