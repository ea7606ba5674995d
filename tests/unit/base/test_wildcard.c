#include "support/check.h"
#include "walpost/base/span.h"

static bool matches(const char *pattern, const char *text)
{
	return wp_wildcard_matches(wp_span_of(pattern), '*', wp_span_of(text));
}

static void without_a_wildcard_all_is_compared(void **state)
{
	CHECK(matches("", ""));
	CHECK(matches("orders", "orders"));
	CHECK(!matches("orders", "order"));
	CHECK(!matches("order", "orders"));
	CHECK(!matches("", "o"));
	CHECK(!matches("orders", ""));
}

static void a_wildcard_stands_for_any_run_also_none(void **state)
{
	CHECK(matches("*", ""));
	CHECK(matches("*", "orders"));
	CHECK(matches("ord*", "ord"));
	CHECK(matches("o*s", "orders"));
	CHECK(matches("*-events", "bill-events"));
	CHECK(matches("**a**", "a"));
	CHECK(!matches("o*x", "orders"));
	CHECK(!matches("*a", "ab"));
}

static void it_goes_back_to_where_a_run_may_end_later(void **state)
{
	CHECK(matches("*ab", "aab"));
	CHECK(matches("a*b*c", "abbcbc"));
	CHECK(matches("*aab", "aaaaab"));
	CHECK(!matches("*aab", "aaaaaba"));
}

static void the_wildcard_is_any_byte_and_others_stand_for_themselves(void **state)
{
	const struct wp_span pattern = { (const uint8_t *)"a\0c", 3 };

	CHECK(wp_wildcard_matches(pattern, '\0', wp_span_of("abbc")));
	CHECK(!wp_wildcard_matches(wp_span_of("a*c"), '\0', wp_span_of("abc")));
	CHECK(wp_wildcard_matches(wp_span_of("a*c"), '\0', wp_span_of("a*c")));
}

int main(void)
{
	return RUN(PLAIN(without_a_wildcard_all_is_compared),
		   PLAIN(a_wildcard_stands_for_any_run_also_none),
		   PLAIN(it_goes_back_to_where_a_run_may_end_later),
		   PLAIN(the_wildcard_is_any_byte_and_others_stand_for_themselves));
}
