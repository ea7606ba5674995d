#include <string.h>

#include "support/check.h"
#include "walpost/outbox/topic_glob.h"

static bool fits(const char *replacement, const char *topic)
{
	struct wp_topic_glob g;

	wp_topic_glob_init(&g, replacement);
	return wp_topic_glob_fits(&g, topic);
}

static bool is_anything(const char *replacement)
{
	struct wp_topic_glob g;

	wp_topic_glob_init(&g, replacement);
	return g.anything;
}

static void a_named_group_stands_for_any_run_of_characters(void **state)
{
	(void)state;
	CHECK(fits("outbox.event.${routedByValue}", "outbox.event.order"));
	CHECK(fits("outbox.event.${routedByValue}", "outbox.event."));
	CHECK(!fits("outbox.event.${routedByValue}", "outbox.events.order"));
	CHECK(!fits("outbox.event.${routedByValue}", "outbox.event"));
	CHECK(!fits("outbox.event.${routedByValue}", "my.outbox.event.order"));
}

static void numbered_groups_do_too_and_what_stands_behind_must_fit(void **state)
{
	(void)state;
	CHECK(fits("$1.events", "order.events"));
	CHECK(!fits("$1.events", "order.events.dlq"));
	CHECK(fits("a-$1-b-${2}-c", "a-x-b-y-c"));
	CHECK(fits("a-$1-b-${2}-c", "a-x-b-b-b-c-c"));
	CHECK(!fits("a-$1-b-${2}-c", "a-x-b-y-d"));
	CHECK(fits("$1$2", "anything"));
}

static void all_digits_belong_to_the_group(void **state)
{
	(void)state;
	CHECK(fits("t$12", "t-x"));
	CHECK(fits("t$12", "t-x2"));
}

static void a_text_without_groups_fits_itself_only(void **state)
{
	(void)state;
	CHECK(fits("orders", "orders"));
	CHECK(!fits("orders", "orders2"));
	CHECK(!fits("orders", "order"));
	CHECK(!fits("orders", ""));
}

static void a_backslash_takes_the_next_character_for_itself(void **state)
{
	(void)state;
	CHECK(fits("a\\.b", "a.b"));
	CHECK(!fits("a\\$1", "a.b"));
}

static void only_groups_fit_everything_and_say_so(void **state)
{
	(void)state;
	CHECK(is_anything("${routedByValue}"));
	CHECK(is_anything("$1$2"));
	CHECK(fits("$1", "whatever"));
	CHECK(!is_anything("x$1"));
	CHECK(!is_anything(""));
	CHECK(!fits("", "x"));
}

static void the_longest_name_still_fits_and_longer_ones_never(void **state)
{
	(void)state;
	char name[WP_TOPIC_SIZE + 1];
	char replacement[4 * WP_TOPIC_SIZE] = "";

	memset(name, 'x', sizeof(name));
	name[WP_TOPIC_SIZE] = '\0';
	CHECK(!fits(name, name));
	name[WP_TOPIC_SIZE - 1] = '\0';
	CHECK(fits(name, name));
	for (size_t i = 0; i < WP_TOPIC_SIZE - 1; i++)
		memcpy(replacement + 3 * i, "$1x", 4);
	CHECK(fits(replacement, name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_named_group_stands_for_any_run_of_characters),
		cmocka_unit_test(numbered_groups_do_too_and_what_stands_behind_must_fit),
		cmocka_unit_test(all_digits_belong_to_the_group),
		cmocka_unit_test(a_text_without_groups_fits_itself_only),
		cmocka_unit_test(a_backslash_takes_the_next_character_for_itself),
		cmocka_unit_test(only_groups_fit_everything_and_say_so),
		cmocka_unit_test(the_longest_name_still_fits_and_longer_ones_never),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
