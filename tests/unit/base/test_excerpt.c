#include <string.h>

#include "support/check.h"
#include "walpost/base/display.h"

static const char *excerpt_of(const char *bytes, size_t size)
{
	static struct wp_excerpt e;

	return wp_excerpt(&e, (struct wp_span){ .data = (const uint8_t *)bytes, .size = size });
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

static void control_characters_marks_and_broken_bytes_are_escaped(void **state)
{
	CHECK_TEXT(excerpt_of("a\nb\x7F\0c\xFF\xC3", 8), "a\\x0ab\\x7f\\x00c\\xff\\xc3");
	CHECK_TEXT(excerpt_of("\xC2\x9B\xE2\x80\xAE", 5), "\\u009B\\u202E");
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

int main(void)
{
	return RUN(PLAIN(a_short_value_stands_as_it_is), PLAIN(null_is_called_null),
		   PLAIN(control_characters_marks_and_broken_bytes_are_escaped),
		   PLAIN(a_hundred_bytes_fit_and_one_more_is_cut),
		   PLAIN(it_is_cut_before_a_character_and_not_inside));
}
