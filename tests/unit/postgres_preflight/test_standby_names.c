#include "support/check.h"

#include "preflight_judge.h"

static void a_name_in_any_of_the_forms_is_counted(void **state)
{
	static const char *const settings[] = {
		"walpost",	     "a, walpost",	  "FIRST 1 (a, walpost)",
		"ANY 2 (walpost,b)", "2 (a, b, walpost)", "WalPost",
		"\"walpost\"",	     "first 1(walpost)",  "*",
		"FIRST 1 (*)",	     "any 1(*)",	  "a , \"WALPOST\" , b",
		"a,\n\twalpost",
	};
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		CHECK(wp_standby_names_count(settings[i], "walpost"));
}

static void another_name_is_not(void **state)
{
	static const char *const settings[] = {
		"", "   ", "a, b", "walpost2", "ANY 1 (walposts, \"wal post\")", "\"walpostx\""
	};
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		CHECK(!wp_standby_names_count(settings[i], "walpost"));
}

static void the_words_of_a_method_are_not_names(void **state)
{
	CHECK(!wp_standby_names_count("FIRST 1 (a)", "first"));
	CHECK(!wp_standby_names_count("ANY 1 (a)", "1"));
	CHECK(wp_standby_names_count("first, a", "first"));
}

static void quotes_keep_what_is_within_together(void **state)
{
	CHECK(wp_standby_names_count("\"a,(b\"\"c\", d", "a,(b\"c"));
	CHECK(wp_standby_names_count("\"a,(b\"\"c\", d", "d"));
	CHECK(!wp_standby_names_count("\"unended, d", "d"));
}

static void check_without(const char *setting, const char *others, const char *wanted)
{
	struct wp_buffer into;
	wp_buffer_init(&into, 1024);
	CHECK_EQ(wp_standby_names_without(setting, "walpost", others, &into), WP_OK);
	CHECK_TEXT((const char *)into.data, wanted);
	wp_buffer_release(&into);
}

static void our_name_is_taken_out_and_the_rest_stays(void **state)
{
	check_without("walpost", "", "");
	check_without("a, walpost, B", "", "\"a\", \"B\"");
	check_without("ANY 2 (a, walpost, b, c)", "", "ANY 2 (\"a\", \"b\", \"c\")");
	check_without("FIRST 1 (WALPOST, \"x\"\"y\")", "", "FIRST 1 (\"x\"\"y\")");
	check_without("2 (a, walpost, b)", "", "FIRST 2 (\"a\", \"b\")");
}

static void no_more_are_asked_for_than_are_left(void **state)
{
	check_without("ANY 2 (a, walpost)", "", "ANY 1 (\"a\")");
	check_without("FIRST 1 (walpost)", "", "");
}

static void a_star_becomes_the_standbys_that_are_there(void **state)
{
	check_without("*", "", "");
	check_without("*", "s1, \"S 2\"", "\"s1\", \"S 2\"");
	check_without("ANY 1 (*)", "s1", "ANY 1 (\"s1\")");
	check_without("ANY 1 (*)", "", "");
}

static void a_list_that_is_too_long_is_refused(void **state)
{
	struct wp_buffer into;
	wp_buffer_init(&into, 8);
	CHECK_EQ(wp_standby_names_without("a_name, walpost", "walpost", "", &into), WP_FULL);
	wp_buffer_release(&into);
	wp_buffer_init(&into, 9);
	CHECK_EQ(wp_standby_names_without("a_name, walpost", "walpost", "", &into), WP_OK);
	wp_buffer_release(&into);
}

int main(void)
{
	return RUN(PLAIN(a_name_in_any_of_the_forms_is_counted), PLAIN(another_name_is_not),
		   PLAIN(the_words_of_a_method_are_not_names),
		   PLAIN(quotes_keep_what_is_within_together),
		   PLAIN(our_name_is_taken_out_and_the_rest_stays),
		   PLAIN(no_more_are_asked_for_than_are_left),
		   PLAIN(a_star_becomes_the_standbys_that_are_there),
		   PLAIN(a_list_that_is_too_long_is_refused));
}
