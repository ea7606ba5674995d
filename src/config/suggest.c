/* Finds the word that a misspelled one may have meant. */
#include <stdint.h>
#include <string.h>

#include "walpost/config/option.h"

static size_t least(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* This is Levenshtein's distance, row by row. */
static size_t distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
	size_t row[WP_SUGGEST_SIZE_MAX + 1];

	for (size_t j = 0; j <= b_size; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_size; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_size; j++) {
			size_t above = row[j];
			size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);

			row[j] = least(above + 1, row[j - 1] + 1, changed);
			diagonal = above;
		}
	}
	return row[b_size];
}

void wp_suggestion_init(struct wp_suggestion *s, const char *word)
{
	*s = (struct wp_suggestion){ .word = word, .distance = SIZE_MAX };
}

void wp_suggestion_offer(struct wp_suggestion *s, const char *candidate)
{
	size_t word_size = strlen(s->word);
	size_t candidate_size = strlen(candidate);
	/* A third of the word may be wrong; of a short word, two letters. */
	size_t far = word_size / 3 > 2 ? word_size / 3 : 2;
	size_t d;

	if (word_size > WP_SUGGEST_SIZE_MAX || candidate_size > WP_SUGGEST_SIZE_MAX)
		return;
	d = distance(s->word, word_size, candidate, candidate_size);
	if (d > far || d >= word_size || d >= s->distance)
		return;
	s->best = candidate;
	s->distance = d;
}
