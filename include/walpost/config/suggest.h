/* "Did you mean": the nearest of some words by edit distance. Pure. */
#ifndef WALPOST_CONFIG_SUGGEST_H
#define WALPOST_CONFIG_SUGGEST_H

#include <stddef.h>

#define WP_SUGGEST_SIZE_MAX 64 /* longer words are never suggested */

struct wp_suggestion {
	const char *word; /* as typed */
	const char *best; /* NULL: nothing is near enough */
	size_t distance;
};

void wp_suggestion_init(struct wp_suggestion *s, const char *word);
void wp_suggestion_offer(struct wp_suggestion *s, const char *candidate);

#endif
