#include <string.h>

#include "walpost/base/span.h"

struct wp_span wp_span_of(const char *text)
{
	if (text == NULL)
		return (struct wp_span){ 0 };
	return (struct wp_span){ .data = (const uint8_t *)text, .size = strlen(text) };
}

bool wp_span_equal(struct wp_span a, struct wp_span b)
{
	if (a.data == NULL || b.data == NULL)
		return a.data == b.data;
	return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

bool wp_span_is(struct wp_span s, const char *text)
{
	return wp_span_equal(s, wp_span_of(text));
}
