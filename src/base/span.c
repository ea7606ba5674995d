#define _GNU_SOURCE /* memmem() */
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

bool wp_span_begins(struct wp_span s, const char *start)
{
	size_t size = strlen(start);

	return s.size >= size && (size == 0 || memcmp(s.data, start, size) == 0);
}

bool wp_span_ends(struct wp_span s, const char *end)
{
	size_t size = strlen(end);

	return s.size >= size && (size == 0 || memcmp(s.data + s.size - size, end, size) == 0);
}

bool wp_span_has(struct wp_span s, const char *part)
{
	size_t size = strlen(part);

	return size == 0 || (s.size >= size && memmem(s.data, s.size, part, size) != NULL);
}

struct wp_span wp_span_trimmed(const char *from, const char *to)
{
	while (from < to && *from == ' ')
		from++;
	while (to > from && to[-1] == ' ')
		to--;
	return (struct wp_span){ .data = (const uint8_t *)from, .size = (size_t)(to - from) };
}

/* It remembers the last wildcard only: going back to an earlier one can find nothing more. */
bool wp_wildcard_matches(struct wp_span pattern, uint8_t any, struct wp_span text)
{
	size_t p = 0;
	size_t t = 0;
	size_t star = SIZE_MAX;
	size_t star_text = 0;

	while (t < text.size) {
		if (p < pattern.size && pattern.data[p] == any) {
			star = p++;
			star_text = t;
		} else if (p < pattern.size && pattern.data[p] == text.data[t]) {
			p++;
			t++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			t = ++star_text;
		} else {
			return false;
		}
	}
	while (p < pattern.size && pattern.data[p] == any)
		p++;
	return p == pattern.size;
}
