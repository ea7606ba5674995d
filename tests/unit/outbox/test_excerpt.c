#include <string.h>

#include "support/check.h"
#include "walpost/outbox/excerpt.h"

static const char *excerpt_of(const char *bytes, size_t size)
{
	static struct wp_excerpt e;

	return wp_excerpt(&e, (struct wp_span){ .data = (const uint8_t *)bytes, .size = size });
}

static bool is_utf8(const char *bytes)
{
	return wp_is_utf8(wp_span_of(bytes));
}

static void a_short_value_stands_as_it_is(void **state)
{
	CHECK_TEXT(excerpt_of("order-\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 15),
		   "order-\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
	CHECK_TEXT(excerpt_of("", 0), "");
}

static void null_is_called_null(void **state)
{
	CHECK_TEXT(excerpt_of(NULL, 0), "NULL");
}

static void control_characters_and_broken_bytes_become_question_marks(void **state)
{
	CHECK_TEXT(excerpt_of("a\nb\x7F\0c\xFF\xC3", 8), "a?b??c??");
}

static void a_hundred_bytes_fit_and_one_more_is_cut(void **state)
{
	char bytes[101];
	memset(bytes, 'x', sizeof(bytes));

	CHECK_EQ(strlen(excerpt_of(bytes, 99)), 99);
	CHECK_EQ(strlen(excerpt_of(bytes, 100)), 100);
	CHECK_EQ(strlen(excerpt_of(bytes, 101)), 103);
	CHECK_TEXT(excerpt_of(bytes, 101) + 100, "...");
}

static void it_is_cut_before_a_character_and_not_inside(void **state)
{
	char bytes[101];
	memset(bytes, 'x', sizeof(bytes));
	memcpy(bytes + 98, "\xE2\x82\xAC", 3);

	CHECK_TEXT(excerpt_of(bytes, 101) + 96, "xx...");
}

static void all_lengths_of_characters_are_utf8(void **state)
{
	CHECK(is_utf8(""));
	CHECK(is_utf8("a\x7F"));
	CHECK(is_utf8("\xC2\x80\xDF\xBF"));
	CHECK(is_utf8("\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF"));
	CHECK(is_utf8("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"));
}

static void wrong_forms_are_not_utf8(void **state)
{
	static const char *const wrong[] = {
		"\x80",
		"\xBF",
		"\xC0\x80",
		"\xC1\xBF",
		"\xE0\x9F\xBF",
		"\xED\xA0\x80",
		"\xF0\x8F\xBF\xBF",
		"\xF4\x90\x80\x80",
		"\xF5\x80\x80\x80",
		"\xFF",
		"\xC2",
		"\xE2\x82",
		"\xF0\x9F\x98",
		"\xE2\x82\x41",
		"\xC2\x41",
		"\xF0\x9F\x98\x41",
		"ok\x80ok",
		"\xE2\x41\x82",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK(!is_utf8(wrong[i]));
}

static void a_nul_is_not_taken(void **state)
{
	CHECK(!wp_is_utf8((struct wp_span){ .data = (const uint8_t *)"a\0b", .size = 3 }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_value_stands_as_it_is),
		cmocka_unit_test(null_is_called_null),
		cmocka_unit_test(control_characters_and_broken_bytes_become_question_marks),
		cmocka_unit_test(a_hundred_bytes_fit_and_one_more_is_cut),
		cmocka_unit_test(it_is_cut_before_a_character_and_not_inside),
		cmocka_unit_test(all_lengths_of_characters_are_utf8),
		cmocka_unit_test(wrong_forms_are_not_utf8),
		cmocka_unit_test(a_nul_is_not_taken),
	};

	return cmocka_run_group_tests_name("excerpt", tests, NULL, NULL);
}
