#include <string.h>

#include "support/check.h"
#include "walpost/base/span.h"

static const struct wp_span null_span = { 0 };

static void a_null_text_gives_a_null_span(void **state)
{
	CHECK(wp_span_is_null(wp_span_of(NULL)));
	CHECK_EQ(wp_span_of(NULL).size, 0);
}

static void an_empty_text_is_empty_and_not_null(void **state)
{
	CHECK(!wp_span_is_null(wp_span_of("")));
	CHECK_EQ(wp_span_of("").size, 0);
}

static void null_equals_null_only(void **state)
{
	CHECK(wp_span_equal(null_span, null_span));
	CHECK(!wp_span_equal(null_span, wp_span_of("")));
	CHECK(!wp_span_equal(wp_span_of(""), null_span));
	CHECK(wp_span_is(null_span, NULL));
	CHECK(!wp_span_is(null_span, ""));
}

static void equal_means_same_size_and_same_bytes(void **state)
{
	struct wp_span with_nul = { .data = (const uint8_t *)"a\0b", .size = 3 };
	struct wp_span other = { .data = (const uint8_t *)"a\0c", .size = 3 };

	CHECK(wp_span_is(wp_span_of("abc"), "abc"));
	CHECK(!wp_span_is(wp_span_of("abc"), "abd"));
	CHECK(!wp_span_is(wp_span_of("abc"), "ab"));
	CHECK(!wp_span_is(wp_span_of("ab"), "abc"));
	CHECK(wp_span_equal(with_nul, with_nul));
	CHECK(!wp_span_equal(with_nul, other));
	CHECK(!wp_span_is(with_nul, "a"));
}

static void a_beginning_an_end_and_a_part_are_found_to_the_last_byte(void **state)
{
	struct wp_span with_nul = { .data = (const uint8_t *)"a\0bc", .size = 4 };

	CHECK(wp_span_begins(wp_span_of("abc"), "ab"));
	CHECK(wp_span_begins(wp_span_of("abc"), "abc"));
	CHECK(!wp_span_begins(wp_span_of("abc"), "abcd"));
	CHECK(!wp_span_begins(wp_span_of("abc"), "b"));
	CHECK(wp_span_ends(with_nul, "bc") && !wp_span_ends(with_nul, "a"));
	CHECK(wp_span_ends(wp_span_of("abc"), "abc"));
	CHECK(!wp_span_ends(wp_span_of("abc"), "zabc"));
	CHECK(wp_span_has(with_nul, "bc"));
	CHECK(!wp_span_has(with_nul, "cb"));
	CHECK(!wp_span_has((struct wp_span){ with_nul.data, 3 }, "bc"));
	CHECK(!wp_span_has(wp_span_of("ab"), "abc"));
	CHECK(wp_span_begins(null_span, "") && wp_span_ends(null_span, ""));
	CHECK(wp_span_has(null_span, "") && !wp_span_ends(null_span, "a"));
	CHECK(!wp_span_begins(null_span, "a") && !wp_span_has(null_span, "a"));
	CHECK(wp_span_is(wp_span_after(wp_span_of("abc"), 1), "bc"));
	CHECK(wp_span_is(wp_span_after(wp_span_of("abc"), 3), ""));
}

static struct wp_span trimmed(const char *text)
{
	return wp_span_trimmed(text, text + strlen(text));
}

static void spaces_around_a_text_are_left_out(void **state)
{
	CHECK(wp_span_is(trimmed("  a b "), "a b"));
	CHECK(wp_span_is(trimmed("a\t"), "a\t"));
	CHECK(wp_span_is(trimmed("   "), ""));
	CHECK(wp_span_is(trimmed(""), ""));
}

int main(void)
{
	return RUN(PLAIN(a_null_text_gives_a_null_span), PLAIN(an_empty_text_is_empty_and_not_null),
		   PLAIN(null_equals_null_only), PLAIN(equal_means_same_size_and_same_bytes),
		   PLAIN(a_beginning_an_end_and_a_part_are_found_to_the_last_byte),
		   PLAIN(spaces_around_a_text_are_left_out));
}
