#include "walpost/login/words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Within double quotes a backslash keeps only these (POSIX, 2.2.3). */
static bool keeps(char quote, char next)
{
	return quote == '\0' || next == '"' || next == '\\' || next == '$' || next == '`';
}

/* Copies from `at`, which is no space, to `to`. Returns NULL when a quote is not closed, or
 * nothing is behind a backslash. */
static const char *take_word(const char *at, char **to)
{
	char quote = '\0';

	for (; *at != '\0' && (quote != '\0' || !is_space(*at)); at++) {
		if (quote == '\0' && (*at == '\'' || *at == '"')) {
			quote = *at;
		} else if (quote != '\0' && *at == quote) {
			quote = '\0';
		} else if (*at == '\\' && quote != '\'' && keeps(quote, at[1])) {
			if (*++at == '\0')
				return NULL;
			*(*to)++ = *at;
		} else {
			*(*to)++ = *at;
		}
	}
	*(*to)++ = '\0';
	return quote == '\0' ? at : NULL;
}

static enum wp_rc split(struct wp_words *w, const char *at, struct wp_error *error)
{
	char *to = w->text;

	for (;;) {
		while (is_space(*at))
			at++;
		if (*at == '\0')
			break;
		if (w->count == WP_WORDS_MAX)
			return wp_error_set(error, WP_CONFIG, "more than %d words", WP_WORDS_MAX);
		w->list[w->count++] = to;
		at = take_word(at, &to);
		if (at == NULL)
			return wp_error_set(error, WP_CONFIG,
					    "a quote is not closed, or a backslash stands last");
	}
	if (w->count == 0 || w->list[0][0] == '\0')
		return wp_error_set(error, WP_CONFIG, "no program is named");
	return WP_OK;
}

enum wp_rc wp_words_init(struct wp_words *w, const char *text, struct wp_error *error)
{
	/* A word ends with a NUL where the text has a space, or its end. */
	*w = (struct wp_words){ .text = malloc(strlen(text) + 1) };
	if (w->text == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for a command");
	enum wp_rc rc = split(w, text, error);
	if (rc != WP_OK)
		wp_words_release(w);
	return rc;
}

void wp_words_release(struct wp_words *w)
{
	free(w->text);
	*w = (struct wp_words){ 0 };
}
