/*
 * A borrowed run of bytes; never freed through this type. `data == NULL` is
 * null (SQL NULL, no Kafka value); an empty run has `data != NULL, size == 0`.
 * Not NUL-terminated unless the giver says so.
 */
#ifndef WALPOST_BASE_SPAN_H
#define WALPOST_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wp_span {
	const uint8_t *data;
	size_t size;
};

/* A null text gives a null span. */
struct wp_span wp_span_of(const char *text);
static inline bool wp_span_is_null(struct wp_span s)
{
	return s.data == NULL;
}
/* Bytes and size must be alike; null equals null only. */
bool wp_span_equal(struct wp_span a, struct wp_span b);
bool wp_span_is(struct wp_span s, const char *text);
/* Each run, null as well, begins and ends with an empty text and has an empty `part`. */
bool wp_span_begins(struct wp_span s, const char *start);
bool wp_span_ends(struct wp_span s, const char *end);
bool wp_span_has(struct wp_span s, const char *part);
/* Returns what follows the first `size` bytes; there must be as many. */
static inline struct wp_span wp_span_after(struct wp_span s, size_t size)
{
	return (struct wp_span){ .data = s.data + size, .size = s.size - size };
}

/* Returns what is from `from` to `to`, without the spaces around it. */
struct wp_span wp_span_trimmed(const char *from, const char *to);

/* Is `text` what `pattern` stands for, in which `any` is any run of bytes? It takes pattern times text steps. */
bool wp_wildcard_matches(struct wp_span pattern, uint8_t any, struct wp_span text);

#endif
