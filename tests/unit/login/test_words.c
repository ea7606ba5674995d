#include "support/check.h"
#include "walpost/login/words.h"

static void gives(const char *text, const char *const *wanted, size_t count)
{
	struct wp_words w;
	struct wp_error error;

	CHECK_EQ(wp_words_init(&w, text, &error), WP_OK);
	CHECK_EQ(w.count, count);
	for (size_t i = 0; i < count; i++)
		CHECK_TEXT(w.list[i], wanted[i]);
	assert_null(w.list[count]);
	wp_words_release(&w);
}

#define GIVES(text_, ...)                                  \
	gives(text_, (const char *const[]){ __VA_ARGS__ }, \
	      sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static void words_are_cut_as_a_shell_does(void **state)
{
	GIVES("a", "a");
	GIVES("  /usr/bin/a  -b\tc \n", "/usr/bin/a", "-b", "c");
	GIVES("a 'b c' \"d e\"", "a", "b c", "d e");
	GIVES("a b\\ c 'it'\\''s' \"say \\\"x\\\" \\n\"", "a", "b c", "it's", "say \"x\" \\n");
	GIVES("a '' \"\"", "a", "", "");
	GIVES("a --x='y z'1", "a", "--x=y z1");
}

static void nothing_else_of_a_shell_is_done(void **state)
{
	GIVES("a $HOME ~ * | b > c && d # e", "a", "$HOME", "~", "*", "|", "b", ">", "c", "&&", "d",
	      "#", "e");
}

static void refused(const char *text, const char *reason)
{
	struct wp_words w;
	struct wp_error error;

	CHECK_EQ(wp_words_init(&w, text, &error), WP_CONFIG);
	CHECK_HAS(error.text, reason);
}

static void what_is_no_command_is_refused(void **state)
{
	char many[2 * WP_WORDS_MAX + 3];

	refused("", "no program is named");
	refused(" \t ", "no program is named");
	refused("''", "no program is named");
	refused("a 'b", "a quote is not closed");
	refused("a \"b", "a quote is not closed");
	refused("a b\\", "a backslash stands last");
	for (size_t i = 0; i <= WP_WORDS_MAX; i++)
		memcpy(many + 2 * i, "a ", 3);
	refused(many, "more than 64 words");
}

int main(void)
{
	return RUN(PLAIN(words_are_cut_as_a_shell_does), PLAIN(nothing_else_of_a_shell_is_done),
		   PLAIN(what_is_no_command_is_refused));
}
