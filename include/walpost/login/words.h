/*
 * Cuts a command line into words: a program and its arguments, as a shell would cut them, with quotes and
 * backslashes, and nothing else of a shell: no variables, pipes or patterns.
 *
 * Owns: the words, in one piece. Pure. Bounded: WP_WORDS_MAX.
 */
#ifndef WALPOST_LOGIN_WORDS_H
#define WALPOST_LOGIN_WORDS_H

#include <stddef.h>

#include "walpost/base/error.h"

#define WP_WORDS_MAX 64

struct wp_words {
	char *text;		      /* all of them, each NUL-terminated */
	char *list[WP_WORDS_MAX + 1]; /* ends with NULL, as execvp() wants it */
	size_t count;		      /* at least 1 */
};

/* Returns WP_CONFIG with the error for no words, too many, or a quote that is not closed; WP_NOMEM. */
enum wp_rc wp_words_init(struct wp_words *w, const char *text,
			 struct wp_error *error) WP_MUST_CHECK;
void wp_words_release(struct wp_words *w);

#endif
