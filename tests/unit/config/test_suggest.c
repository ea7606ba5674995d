#include <string.h>

#include "walpost/config/option.h"

#include "support/check.h"

static const char *nearest(const char *word)
{
	static const char *const candidates[] = { "run", "init", "check", "status", "version" };
	struct wp_suggestion s;

	wp_suggestion_init(&s, word);
	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++)
		wp_suggestion_offer(&s, candidates[i]);
	return s.best;
}

static void the_nearest_word_is_suggested(void **state)
{
	CHECK_TEXT(nearest("rnu"), "run");
	CHECK_TEXT(nearest("chek"), "check");
	CHECK_TEXT(nearest("statuss"), "status");
	CHECK_TEXT(nearest("inti"), "init");
	CHECK_TEXT(nearest("verzions"), "version");
}

static void a_word_too_far_from_all_suggests_nothing(void **state)
{
	assert_null(nearest("xyzzy"));
	assert_null(nearest("ch"));
	assert_null(nearest(""));
}

static void two_letters_of_two_are_too_far(void **state)
{
	assert_null(nearest("zz"));
}

static void a_word_beyond_the_limit_is_neither_asked_nor_suggested(void **state)
{
	char at_limit[WP_SUGGEST_SIZE_MAX + 1];
	char beyond[WP_SUGGEST_SIZE_MAX + 2];
	struct wp_suggestion s;

	memset(at_limit, 'a', sizeof(at_limit));
	at_limit[WP_SUGGEST_SIZE_MAX] = '\0';
	memset(beyond, 'a', sizeof(beyond));
	beyond[WP_SUGGEST_SIZE_MAX + 1] = '\0';

	wp_suggestion_init(&s, at_limit);
	wp_suggestion_offer(&s, beyond);
	assert_null(s.best);
	wp_suggestion_offer(&s, at_limit);
	CHECK(s.best == at_limit);
	wp_suggestion_init(&s, beyond);
	wp_suggestion_offer(&s, at_limit);
	assert_null(s.best);
}

int main(void)
{
	return RUN(PLAIN(the_nearest_word_is_suggested),
		   PLAIN(a_word_too_far_from_all_suggests_nothing),
		   PLAIN(two_letters_of_two_are_too_far),
		   PLAIN(a_word_beyond_the_limit_is_neither_asked_nor_suggested));
}
