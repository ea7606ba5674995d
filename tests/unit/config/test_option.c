#include <stdlib.h>
#include <string.h>

#include "walpost/config/config.h"
#include "walpost/config/option.h"

#include "support/check.h"

static void each_key_is_there_once_and_in_a_known_section(void **state)
{
	for (size_t i = 0; i < wp_option_count; i++) {
		size_t size = wp_option_section_size(wp_options[i].key);
		bool known = false;

		CHECK(wp_option_find(wp_options[i].key) == &wp_options[i]);
		for (size_t s = 0; wp_option_section(s) != NULL; s++)
			known = known ||
				(strlen(wp_option_section(s)) == size &&
				 memcmp(wp_option_section(s), wp_options[i].key, size) == 0);
		CHECK(known);
	}
}

static void no_two_keys_share_a_variable(void **state)
{
	char one[WP_OPTION_TEXT_SIZE];
	char other[WP_OPTION_TEXT_SIZE];

	for (size_t i = 0; i < wp_option_count; i++)
		for (size_t j = 0; j < i; j++)
			CHECK(strcmp(wp_option_variable(&wp_options[i], one),
				     wp_option_variable(&wp_options[j], other)) != 0);
}

static void no_two_options_share_a_member(void **state)
{
	for (size_t i = 0; i < wp_option_count; i++)
		for (size_t j = 0; j < i; j++)
			CHECK(wp_options[i].offset != wp_options[j].offset);
}

static void each_default_and_example_is_allowed(void **state)
{
	struct wp_config config = { .storage = NULL };

	for (size_t i = 0; i < wp_option_count; i++) {
		CHECK_EQ(wp_value_store(&wp_options[i], wp_options[i].standard, &config), WP_OK);
		if (wp_options[i].example != NULL)
			CHECK_EQ(wp_value_store(&wp_options[i], wp_options[i].example, &config),
				 WP_OK);
	}
}

static void each_option_explains_itself(void **state)
{
	char text[WP_OPTION_TEXT_SIZE];

	for (size_t i = 0; i < wp_option_count; i++) {
		size_t size = strlen(wp_options[i].help);

		CHECK(size > 10);
		CHECK(wp_options[i].help[size - 1] == '.');
		CHECK(strlen(wp_option_allowed(&wp_options[i], text)) > 0);
	}
}

static void what_must_be_set_has_an_example(void **state)
{
	for (size_t i = 0; i < wp_option_count; i++)
		if ((wp_options[i].flags & WP_OPTION_REQUIRED) != 0)
			assert_non_null(wp_options[i].example);
}

static void a_variable_has_capitals_and_underscores(void **state)
{
	char text[WP_OPTION_TEXT_SIZE];

	CHECK_TEXT(wp_option_variable(wp_option_find("relay.in_flight.events"), text),
		   "WALPOST__RELAY__IN_FLIGHT_EVENTS");
	CHECK_TEXT(wp_option_variable(wp_option_find("outbox.route.by"), text),
		   "WALPOST__OUTBOX__ROUTE_BY");
}

static void allowed(const char *key, const char *words)
{
	char text[WP_OPTION_TEXT_SIZE];

	CHECK_TEXT(wp_option_allowed(wp_option_find(key), text), words);
}

static void what_is_allowed_is_said_in_words(void **state)
{
	allowed("relay.in_flight.events", "a number from 1 to 1048576");
	allowed("relay.in_flight.bytes",
		"a size from 64KiB to 1GiB: a number of bytes, or with a unit of KiB, MiB, GiB");
	allowed("relay.topic.wait",
		"a duration from 0ms to 168h: a number with a unit of ms, s, min, h");
	allowed("postgres.slot", "a text of 1 to 63 bytes");
	allowed("outbox.headers", "a text of at most 8192 bytes");
	allowed("relay.sink", "kafka or stdout");
	allowed("log.level", "debug, info, warn or error");
	allowed("postgres.allow_synchronous", "yes or no");
}

static void a_wrong_key_is_like_the_nearest(void **state)
{
	CHECK_TEXT(wp_option_like("postgres.slott")->key, "postgres.slot");
	CHECK_TEXT(wp_option_like("postgres.Slot")->key, "postgres.slot");
	CHECK_TEXT(wp_option_like("outbox.colum.id")->key, "outbox.column.id");
}

static void the_right_key_in_the_wrong_section_is_found(void **state)
{
	CHECK_TEXT(wp_option_like("relay.publication")->key, "postgres.publication");
}

static void what_resembles_nothing_is_like_nothing(void **state)
{
	assert_null(wp_option_like("relay.completely_different"));
	assert_null(wp_option_like("nonsense"));
}

int main(void)
{
	return RUN(PLAIN(each_key_is_there_once_and_in_a_known_section),
		   PLAIN(no_two_keys_share_a_variable), PLAIN(no_two_options_share_a_member),
		   PLAIN(each_default_and_example_is_allowed), PLAIN(each_option_explains_itself),
		   PLAIN(what_must_be_set_has_an_example),
		   PLAIN(a_variable_has_capitals_and_underscores),
		   PLAIN(what_is_allowed_is_said_in_words), PLAIN(a_wrong_key_is_like_the_nearest),
		   PLAIN(the_right_key_in_the_wrong_section_is_found),
		   PLAIN(what_resembles_nothing_is_like_nothing));
}
