#include <stdio.h>
#include <string.h>

#include "support/memory.h"
#include "support/check.h"
#include "walpost/outbox/route.h"

#define DEFAULT_REGEX "(?<routedByValue>.*)"
#define DEFAULT_REPLACEMENT "outbox.event.${routedByValue}"

static struct wp_error error;

static struct wp_route *route_of(const char *regex, const char *replacement)
{
	struct wp_route *r = NULL;

	CHECK_EQ(wp_route_new(regex, replacement, &r, &error), WP_OK);
	return r;
}

static void refused(const char *regex, const char *replacement, const char *reason)
{
	struct wp_route *r = NULL;

	error.text[0] = '\0';
	CHECK_EQ(wp_route_new(regex, replacement, &r, &error), WP_CONFIG);
	CHECK(r == NULL);
	CHECK_HAS(error.text, reason);
	CHECK_EQ(wp_route_new(regex, replacement, &r, NULL), WP_CONFIG);
}

/* Asked twice: once of the expression, once of the cache. */
static void check_topic(struct wp_route *r, const char *raw, const char *topic)
{
	for (int i = 0; i < 2; i++) {
		struct wp_span got;
		CHECK_EQ(wp_route_topic(r, wp_span_of(raw), &got, &error), WP_OK);
		CHECK_SPAN(got, topic);
		CHECK_EQ(got.data[got.size], '\0');
	}
}

static void check_once(const char *regex, const char *replacement, const char *raw,
		       const char *topic)
{
	struct wp_route *r = route_of(regex, replacement);

	check_topic(r, raw, topic);
	wp_route_free(r);
}

static void check_data(struct wp_route *r, const char *raw, const char *reason)
{
	struct wp_span got;

	error.text[0] = '\0';
	CHECK_EQ(wp_route_topic(r, wp_span_of(raw), &got, &error), WP_DATA);
	CHECK_HAS(error.text, reason);
	CHECK_EQ(wp_route_topic(r, wp_span_of(raw), &got, NULL), WP_DATA);
}

static void by_default_the_topic_is_debeziums(void **state)
{
	check_once(DEFAULT_REGEX, DEFAULT_REPLACEMENT, "Order", "outbox.event.Order");
	check_once(DEFAULT_REGEX, DEFAULT_REPLACEMENT, "", "outbox.event.");
}

static void the_whole_raw_topic_must_match_or_it_stays(void **state)
{
	check_once("order", "x", "order", "x");
	check_once("order", "x", "orders", "orders");
	check_once("order", "x", "my-order", "my-order");
	check_once("[a-z]+", "x", "Order", "Order");
}

static void groups_go_by_number_and_by_name(void **state)
{
	check_once("(\\w+)\\.(\\w+)", "$2-$1", "a.b", "b-a");
	check_once("(\\w+)\\.(\\w+)", "${2}0${1}", "a.b", "b0a");
	check_once("(?<one>\\w+)\\.(?<two>\\w+)", "${two}_${one}", "a.b", "b_a");
	check_once("(.)(.)", "$0.$1$0", "ab", "ab.aab");
}

static void digits_belong_to_the_number_as_long_as_there_is_such_a_group(void **state)
{
	check_once("(.)(.)", "$12", "ab", "a2");
	check_once("(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)", "$11$1", "abcdefghijk", "ka");
	check_once("(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)", "$111", "abcdefghijk", "k1");
}

static void a_backslash_takes_the_next_character_as_it_is(void **state)
{
	check_once("(.*)", "a\\b\\.c", "x", "ab.c");
	/* A dollar and a backslash cannot stand in a topic, but they can be asked for. */
	struct wp_route *r = route_of("(.*)", "\\$1\\\\");
	check_data(r, "x", "\"$1\\\"");
	wp_route_free(r);
}

static void a_group_that_took_no_part_gives_nothing(void **state)
{
	check_once("(a)|(b)", "x$1$2", "b", "xb");
	check_once("(a)?(b)", "x${1}-$2", "b", "x-b");
}

static void the_first_match_is_replaced_as_java_does(void **state)
{
	/* matches() is true of the whole, replaceFirst() then takes the shorter alternative. */
	check_once("a|ab", "x", "ab", "xb");
	check_once("(.*?)", "x-$1", "ab", "x-ab");
	check_once("a|ab", "x", "abc", "abc");
}

static void a_moved_start_keeps_what_stands_before_it(void **state)
{
	check_once("my-\\Korder", "x", "my-order", "my-x");
}

static void a_dot_does_not_match_a_line_end(void **state)
{
	struct wp_route *r = route_of("a.b", "x");

	check_data(r, "a\nb", "contains characters other than a-z A-Z 0-9 . _ -");
	check_data(r, "a\rb", "contains characters other than a-z A-Z 0-9 . _ -");
	check_topic(r, "a-b", "x");
	wp_route_free(r);
}

static void letters_beyond_ascii_are_one_character(void **state)
{
	check_once("(.)(.)", "$2", "\xC3\xA9x", "x");
}

static void a_wrong_expression_is_refused_with_its_offset(void **state)
{
	refused("(a", "x", "outbox.topic.regex = \"(a\"");
	refused("(a", "x", "at offset 2");
	refused("[", "x", "outbox.topic.regex");
	refused("\\C", "x", "outbox.topic.regex");
	refused("\xFF", "x", "outbox.topic.regex");
}

static void a_wrong_replacement_is_refused_with_what_is_allowed(void **state)
{
	const char *regex = "(?<one>a)(?<two>b)";

	refused(regex, "$3", "outbox.topic.replacement = \"$3\"");
	refused(regex, "$3", "which has 2, named: one, two");
	refused(regex, "${three}", "a group that the expression does not have");
	refused(regex, "${3}", "a group that the expression does not have");
	refused(regex, "${99999999999999999999}", "a group that the expression does not have");
	refused(regex, "${1a}", "a group that the expression does not have");
	refused(regex, "${one", "the name of a group and }");
	refused(regex, "${}", "the name of a group and }");
	refused(regex, "$", "$ must be followed by a number or {name}; a literal dollar is \\$");
	refused(regex, "$x", "$ must be followed by a number or {name}; a literal dollar is \\$");
	refused(regex, "x\\", "escapes nothing");
	refused("a", "$1", "which has 0, named: none");
}

static void a_name_of_a_group_that_is_too_long_is_refused(void **state)
{
	char text[256] = "${";

	memset(text + 2, 'x', 200);
	text[202] = '}';
	refused("a", text, "the name of a group and }");
	text[2 + 128] = '}';
	text[2 + 129] = '\0';
	refused("a", text, "a group that the expression does not have");
}

static void a_topic_has_1_to_249_bytes(void **state)
{
	struct wp_route *r = route_of("(.*)", "$1");
	char raw[251];

	memset(raw, 'x', sizeof(raw));
	raw[250] = '\0';
	check_data(r, raw, "is longer than 249 bytes");
	check_data(r, raw, "the topic \"xxxxxxxxxxxxxxxxxxxxxxxx"); /* cut */
	raw[249] = '\0';
	check_topic(r, raw, raw);
	raw[248] = '\0';
	check_topic(r, raw, raw);
	raw[1] = '\0';
	check_topic(r, raw, raw);
	check_data(r, "", "is empty");
	wp_route_free(r);
}

static void the_limit_holds_for_raw_topics_tails_and_prefixes_too(void **state)
{
	struct wp_route *raw_stays = route_of("no", "x");
	struct wp_route *tail = route_of("a|a.*", "12");
	struct wp_route *prefix = route_of("x*\\Ka", "12");
	char raw[251];

	memset(raw, 'x', sizeof(raw));
	raw[250] = '\0';
	check_data(raw_stays, raw, "is longer than 249 bytes");
	check_data(raw_stays, raw, "the topic \"xxxxxxxxxxxxxxxxxxxxxxxx"); /* cut */
	raw[0] = 'a';
	raw[249] = '\0';
	check_data(tail, raw, "is longer than 249 bytes");
	raw[0] = 'x';
	raw[248] = 'a';
	check_data(prefix, raw, "is longer than 249 bytes");
	memset(raw, 'x', 250);
	raw[250] = 'a';
	char longer[252];
	memcpy(longer, raw, sizeof(raw));
	longer[251] = '\0';
	check_data(prefix, longer, "is longer than 249 bytes");
	wp_route_free(raw_stays);
	wp_route_free(tail);
	wp_route_free(prefix);
}

static void what_kafka_does_not_take_as_a_topic_is_refused(void **state)
{
	struct wp_route *r = route_of("(.*)", "$1");

	check_data(r, "a b", "contains characters other than a-z A-Z 0-9 . _ -");
	check_data(r, "a/b", "derived from the raw topic \"a/b\"");
	check_data(r, "\xC3\xA9", "outbox.route.by");
	check_data(r, ".", "that Kafka does not allow");
	check_data(r, "..", "that Kafka does not allow");
	check_topic(r, "...", "...");
	check_topic(r, "aZ09._-", "aZ09._-");
	wp_route_free(r);
}

static void a_nul_inside_is_not_the_end(void **state)
{
	struct wp_route *r = route_of("(?s)(.*)", "$1");
	struct wp_span raw = { .data = (const uint8_t *)"a\0b", .size = 3 };
	struct wp_span got;

	CHECK_EQ(wp_route_topic(r, raw, &got, &error), WP_DATA);
	CHECK_HAS(error.text, "contains characters other than a-z A-Z 0-9 . _ -");
	wp_route_free(r);
}

static void bytes_that_are_not_utf8_are_refused(void **state)
{
	struct wp_route *r = route_of(DEFAULT_REGEX, DEFAULT_REPLACEMENT);

	check_data(r, "caf\xE9", "the raw topic \"caf\\xe9\" is not UTF-8");
	check_data(r, "\xED\xA0\x80", "is not UTF-8");
	check_data(r, "\xF8\x88\x80\x80\x80", "is not UTF-8");
	check_topic(r, "cafe", "outbox.event.cafe");
	wp_route_free(r);
}

static void an_expression_that_never_ends_is_given_up(void **state)
{
	struct wp_route *r = route_of("(a+)+[bd]", "x");

	check_data(r, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac",
		   "matching outbox.topic.regex to the raw topic \"");
	check_data(r, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", "match limit exceeded");
	check_topic(r, "aab", "x");
	wp_route_free(r);
}

static void an_expression_that_goes_too_deep_is_given_up(void **state)
{
	static char raw[20001];
	struct wp_route *r = route_of("(?:a|b)*c", "x");

	memset(raw, 'a', sizeof(raw) - 1);
	check_data(r, raw, "matching outbox.topic.regex to the raw topic \"");
	check_data(r, raw, "depth limit exceeded");
	wp_route_free(r);
}

static void more_values_than_the_cache_holds_still_get_their_topics(void **state)
{
	struct wp_route *r = route_of(DEFAULT_REGEX, DEFAULT_REPLACEMENT);
	char raw[16];
	char topic[64];

	for (int i = 0; i < 5000; i++) {
		int value = i * 7 % 3000;
		(void)snprintf(raw, sizeof(raw), "v%d", value);
		(void)snprintf(topic, sizeof(topic), "outbox.event.v%d", value);
		check_topic(r, raw, topic);
	}
	wp_route_free(r);
}

static void long_values_fill_the_caches_bytes_and_still_get_their_topics(void **state)
{
	struct wp_route *r = route_of("(\\d+)x*", "topic-$1");
	char raw[1030];
	char topic[64];

	for (int i = 0; i < 600; i++) {
		/* 1023, 1024 and 1025 bytes: kept, just kept, not kept. */
		(void)snprintf(raw, sizeof(raw), "%04d", i);
		memset(raw + 4, 'x', (size_t)(1019 + i % 3));
		raw[1023 + i % 3] = '\0';
		(void)snprintf(topic, sizeof(topic), "topic-%04d", i);
		check_topic(r, raw, topic);
	}
	wp_route_free(r);
}

static void a_known_value_costs_no_memory(void **state)
{
	struct wp_route *r = route_of(DEFAULT_REGEX, DEFAULT_REPLACEMENT);

	check_topic(r, "order", "outbox.event.order");
	size_t before = memory_calls();
	check_topic(r, "order", "outbox.event.order");
	CHECK_EQ(memory_calls(), before);
	wp_route_free(r);
}

static void out_of_memory_is_said(void **state)
{
	for (size_t i = 0; i < 2; i++) {
		struct wp_route *r = NULL;
		memory_fails_after(i);
		CHECK_EQ(wp_route_new("a", "b", &r, &error), WP_NOMEM);
		memory_works();
		CHECK(r == NULL);
		CHECK_HAS(error.text, "out of memory");
	}
	wp_route_free(NULL);
}

int main(void)
{
	return RUN(PLAIN(by_default_the_topic_is_debeziums),
		   PLAIN(the_whole_raw_topic_must_match_or_it_stays),
		   PLAIN(groups_go_by_number_and_by_name),
		   PLAIN(digits_belong_to_the_number_as_long_as_there_is_such_a_group),
		   PLAIN(a_backslash_takes_the_next_character_as_it_is),
		   PLAIN(a_group_that_took_no_part_gives_nothing),
		   PLAIN(the_first_match_is_replaced_as_java_does),
		   PLAIN(a_moved_start_keeps_what_stands_before_it),
		   PLAIN(a_dot_does_not_match_a_line_end),
		   PLAIN(letters_beyond_ascii_are_one_character),
		   PLAIN(a_wrong_expression_is_refused_with_its_offset),
		   PLAIN(a_wrong_replacement_is_refused_with_what_is_allowed),
		   PLAIN(a_name_of_a_group_that_is_too_long_is_refused),
		   PLAIN(a_topic_has_1_to_249_bytes),
		   PLAIN(the_limit_holds_for_raw_topics_tails_and_prefixes_too),
		   PLAIN(what_kafka_does_not_take_as_a_topic_is_refused),
		   PLAIN(a_nul_inside_is_not_the_end), PLAIN(bytes_that_are_not_utf8_are_refused),
		   PLAIN(an_expression_that_never_ends_is_given_up),
		   PLAIN(an_expression_that_goes_too_deep_is_given_up),
		   PLAIN(more_values_than_the_cache_holds_still_get_their_topics),
		   PLAIN(long_values_fill_the_caches_bytes_and_still_get_their_topics),
		   PLAIN(a_known_value_costs_no_memory), PLAIN(out_of_memory_is_said));
}
