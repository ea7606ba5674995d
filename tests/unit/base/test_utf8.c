#include <string.h>

#include "support/check.h"
#include "walpost/base/utf8.h"

static bool is_valid(const char *text)
{
	return wp_utf8_is_valid(wp_span_of(text));
}

static void the_first_and_last_of_each_size_are_valid(void **state)
{
	static const char *const GOOD[] = {
		"",
		"abc",
		"\x7F",
		"\xC2\x80",
		"\xDF\xBF",
		"\xE0\xA0\x80",
		"\xED\x9F\xBF",
		"\xEE\x80\x80",
		"\xEF\xBF\xBF",
		"x\xE2\x82\xAC",
		"\xF0\x90\x80\x80",
		"\xF4\x8F\xBF\xBF",
	};

	for (size_t i = 0; i < sizeof(GOOD) / sizeof(GOOD[0]); i++)
		CHECK(is_valid(GOOD[i]));
	CHECK(wp_utf8_is_valid((struct wp_span){ (const uint8_t *)"a\0b", 3 }));
}

static void overlong_forms_surrogates_and_what_is_too_large_are_not(void **state)
{
	static const char *const BAD[] = {
		"\x80",
		"\xC0\x80",
		"\xC1\xBF",
		"\xC2",
		"\xC2\x41",
		"\xE0\x9F\xBF",
		"\xED\xA0\x80",
		"\xE2\x82",
		"\xE2\x82\x41",
		"\xF0\x8F\xBF\xBF",
		"\xF0\x90\x80",
		"\xF4\x90\x80\x80",
		"\xF5\x80\x80\x80",
		"\xFF",
		"ok\xBF",
	};

	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++)
		CHECK(!is_valid(BAD[i]));
}

static void what_is_cut_is_no_character(void **state)
{
	static const uint8_t SMILE[] = { 0xF0, 0x9F, 0x98, 0x80 };

	CHECK_EQ(wp_utf8_size(SMILE, 4), 4);
	for (size_t left = 1; left < 4; left++)
		CHECK_EQ(wp_utf8_size(SMILE, left), 0);
}

static void a_character_has_its_number(void **state)
{
	CHECK_EQ(wp_utf8_character((const uint8_t *)"A", 1), 0x41);
	CHECK_EQ(wp_utf8_character((const uint8_t *)"\xC3\xA9", 2), 0xE9);
	CHECK_EQ(wp_utf8_character((const uint8_t *)"\xE2\x82\xAC", 3), 0x20AC);
	CHECK_EQ(wp_utf8_character((const uint8_t *)"\xF0\x9F\x98\x80", 4), 0x1F600);
}

static void a_number_has_its_character(void **state)
{
	static const uint32_t EDGES[] = { 0,	  0x7F,	  0x80,	   0x7FF,   0x800,
					  0xD7FF, 0xE000, 0x10000, 0x10FFFF };
	uint8_t bytes[WP_UTF8_SIZE_MAX];

	for (size_t i = 0; i < sizeof(EDGES) / sizeof(EDGES[0]); i++) {
		size_t size = wp_utf8_encode(EDGES[i], bytes);
		CHECK_EQ(wp_utf8_size(bytes, size), size);
		CHECK_EQ(wp_utf8_character(bytes, size), EDGES[i]);
	}
}

static void a_cut_text_ends_with_a_character(void **state)
{
	static const char euro[] = "ab\xE2\x82\xAC";
	char text[8];

	for (size_t size = 0; size < sizeof(euro); size++) {
		memcpy(text, euro, size);
		text[size] = '\0';
		wp_utf8_cut(text, size);
		CHECK_EQ(strlen(text), size == 3 || size == 4 ? 2 : size);
	}
}

int main(void)
{
	return RUN(PLAIN(the_first_and_last_of_each_size_are_valid),
		   PLAIN(overlong_forms_surrogates_and_what_is_too_large_are_not),
		   PLAIN(what_is_cut_is_no_character), PLAIN(a_character_has_its_number),
		   PLAIN(a_number_has_its_character), PLAIN(a_cut_text_ends_with_a_character));
}
