#include "like.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "walpost/cli/cli.h"
#include "walpost/config/option.h"

#define LINE_MAX_SIZE 78

const char *like_names(char text[LIKE_NAMES_SIZE])
{
	size_t at = 0;
	size_t line = 0;

	for (size_t i = 0; i < like_count; i++) {
		const char *comma = i + 1 < like_count ? "," : "";
		size_t size = strlen(likes[i].name) + strlen(comma);
		bool fits = line + 1 + size <= LINE_MAX_SIZE;
		const char *before = i == 0 ? "" : fits ? " " : "\n";
		at += (size_t)snprintf(text + at, LIKE_NAMES_SIZE - at, "%s%s%s", before,
				       likes[i].name, comma);
		assert(at < LIKE_NAMES_SIZE);
		line = fits ? line + 1 + size : size;
	}
	return text;
}

int like_print(const char *name)
{
	char names[LIKE_NAMES_SIZE];
	struct wp_suggestion s;

	wp_suggestion_init(&s, name);
	for (size_t i = 0; i < like_count; i++) {
		if (strcmp(likes[i].name, name) == 0) {
			fputs(likes[i].text, stdout);
			return wp_cli_done();
		}
		wp_suggestion_offer(&s, likes[i].name);
	}
	if (s.best != NULL)
		return wp_cli_fail(WP_EXIT_CONFIG,
				   "walpost init --like: there is no configuration like \"%.64s\"; "
				   "did you mean %s?",
				   name, s.best);
	return wp_cli_fail(WP_EXIT_CONFIG,
			   "walpost init --like: there is no configuration like \"%.64s\"; allowed "
			   "are: %s",
			   name, like_names(names));
}
