#include <stdio.h>
#include <string.h>

#include "support/memory.h"
#include "support/check.h"
#include "walpost/outbox/route.h"

#define DEFAULT_REGEX "(?<routedByValue>.*)"
#define DEFAULT_REPLACEMENT "outbox.event.${routedByValue}"

static struct wp_error error;

static struct wp_route *r;

static int tear_down(void **state)
{
	wp_route_free(r);
	r = NULL;
	return 0;
}

static void route_of(const char *regex, const char *replacement)
{
	wp_route_free(r);
	r = NULL;
	CHECK_EQ(wp_route_new(regex, replacement, &r, &error), WP_OK);
}

static void refused(const char *regex, const char *replacement, const char *reason)
{

	error.text[0] = '\0';
	CHECK_EQ(wp_route_new(regex, replacement, &r, &error), WP_CONFIG);
	CHECK(r == NULL);
	CHECK_HAS(error.text, reason);
	CHECK_EQ(wp_route_new(regex, replacement, &r, NULL), WP_CONFIG);
}

/* Asked twice: once of the expression, once of the cache. */
static void check_topic(const char *raw, const char *topic)
{
	for (int i = 0; i < 2; i++) {
		struct wp_span got;
		CHECK_EQ(wp_route_topic(r, wp_span_of(raw), NULL, &got, &error), WP_OK);
		CHECK_SPAN(got, topic);
		CHECK_EQ(got.data[got.size], '\0');
	}
}

static void check_once(const char *regex, const char *replacement, const char *raw,
		       const char *topic)
{
	route_of(regex, replacement);
	check_topic(raw, topic);
}

static void check_data(const char *raw, const char *reason)
{
	struct wp_span got;

	error.text[0] = '\0';
	CHECK_EQ(wp_route_topic(r, wp_span_of(raw), NULL, &got, &error), WP_DATA);
	CHECK_HAS(error.text, reason);
	CHECK_EQ(wp_route_topic(r, wp_span_of(raw), NULL, &got, NULL), WP_DATA);
}

static void check_origin(const char *raw, const char *schema, const char *table, const char *topic)
{
	const struct wp_origin origin = { wp_span_of(schema), wp_span_of(table) };
	struct wp_span got;

	for (int again = 0; again < 2; again++) {
		CHECK_EQ(wp_route_topic(r, wp_span_of(raw), &origin, &got, &error), WP_OK);
		CHECK(wp_span_is(got, topic));
	}
}

static void a_topic_may_have_the_names_of_its_table(void **state)
{
	route_of("(.*)", "${schema}.${table}.$1");
	check_origin("order", "tenant_1", "outbox", "tenant_1.outbox.order");
	check_origin("order", "tenant_2", "outbox", "tenant_2.outbox.order");
	check_origin("order", "tenant_1", "outbox", "tenant_1.outbox.order");
	check_origin("ordert", "enant_1", "outbox", "enant_1.outbox.ordert");
	check_topic("order", "..order");
	/* A group of that name goes first. */
	route_of("(?<schema>.).*", "${schema}.${table}");
	check_origin("order", "tenant_1", "outbox", "o.outbox");
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
	route_of("(.*)", "\\$1\\\\");
	check_data("x", "\"$1\\\"");
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

static void a_topic_that_is_internal_to_kafka_is_for_no_event(void **state)
{
	static const char *const names[] = { "__consumer_offsets", "__transaction_state",
					     "__share_group_state", "__cluster_metadata" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		route_of("(.*)", "$1");
		check_data(names[i], "is internal to Kafka, which refuses writes by clients");
	}
	/* Of others, though Kafka's by the look of them. */
	check_once("(.*)", "$1", "__debezium-heartbeat", "__debezium-heartbeat");
	check_once("(.*)", "$1", "_schemas", "_schemas");
}

static void a_dot_does_not_match_a_line_end(void **state)
{
	route_of("a.b", "x");
	check_data("a\nb", "contains characters other than a-z A-Z 0-9 . _ -");
	check_data("a\rb", "contains characters other than a-z A-Z 0-9 . _ -");
	check_topic("a-b", "x");
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
	char raw[251];

	route_of("(.*)", "$1");
	memset(raw, 'x', sizeof(raw));
	raw[250] = '\0';
	check_data(raw, "is longer than 249 bytes");
	check_data(raw, "the topic \"xxxxxxxxxxxxxxxxxxxxxxxx"); /* cut */
	raw[249] = '\0';
	check_topic(raw, raw);
	raw[248] = '\0';
	check_topic(raw, raw);
	raw[1] = '\0';
	check_topic(raw, raw);
	check_data("", "is empty");
}

static void the_limit_holds_for_raw_topics_suffixes_and_prefixes_too(void **state)
{
	char raw[252];

	memset(raw, 'x', sizeof(raw));
	raw[250] = '\0';
	route_of("no", "x");
	check_data(raw, "is longer than 249 bytes");
	check_data(raw, "the topic \"xxxxxxxxxxxxxxxxxxxxxxxx"); /* cut */
	raw[0] = 'a';
	raw[249] = '\0';
	route_of("a|a.*", "12");
	check_data(raw, "is longer than 249 bytes");
	raw[0] = 'x';
	raw[248] = 'a';
	route_of("x*\\Ka", "12");
	check_data(raw, "is longer than 249 bytes");
	memset(raw, 'x', 250);
	raw[250] = 'a';
	raw[251] = '\0';
	check_data(raw, "is longer than 249 bytes");
}

static void what_kafka_does_not_take_as_a_topic_is_refused(void **state)
{
	route_of("(.*)", "$1");
	check_data("a b", "contains characters other than a-z A-Z 0-9 . _ -");
	check_data("a/b", "derived from the raw topic \"a/b\"");
	check_data("\xC3\xA9", "outbox.route.by");
	check_data(".", "that Kafka does not allow");
	check_data("..", "that Kafka does not allow");
	check_topic("...", "...");
	check_topic("aZ09._-", "aZ09._-");
}

static void a_nul_inside_is_not_the_end(void **state)
{
	struct wp_span raw = { .data = (const uint8_t *)"a\0b", .size = 3 };
	struct wp_span got;

	route_of("(?s)(.*)", "$1");
	CHECK_EQ(wp_route_topic(r, raw, NULL, &got, &error), WP_DATA);
	CHECK_HAS(error.text, "contains characters other than a-z A-Z 0-9 . _ -");
}

static void bytes_that_are_not_utf8_are_refused(void **state)
{
	route_of(DEFAULT_REGEX, DEFAULT_REPLACEMENT);
	check_data("caf\xE9", "the raw topic \"caf\\xe9\" is not UTF-8");
	check_data("\xED\xA0\x80", "is not UTF-8");
	check_data("\xF8\x88\x80\x80\x80", "is not UTF-8");
	check_topic("cafe", "outbox.event.cafe");
}

static void an_expression_that_never_ends_is_given_up(void **state)
{
	route_of("(a+)+[bd]", "x");
	check_data("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac",
		   "matching outbox.topic.regex to the raw topic \"");
	check_data("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", "match limit exceeded");
	check_topic("aab", "x");
}

static void an_expression_that_goes_too_deep_is_given_up(void **state)
{
	static char raw[20001];

	route_of("(?:a|b)*c", "x");
	memset(raw, 'a', sizeof(raw) - 1);
	check_data(raw, "matching outbox.topic.regex to the raw topic \"");
	check_data(raw, "depth limit exceeded");
}

static void more_values_than_the_cache_holds_still_get_their_topics(void **state)
{
	char raw[16];
	char topic[64];

	route_of(DEFAULT_REGEX, DEFAULT_REPLACEMENT);
	for (int i = 0; i < 5000; i++) {
		int value = i * 7 % 3000;
		(void)snprintf(raw, sizeof(raw), "v%d", value);
		(void)snprintf(topic, sizeof(topic), "outbox.event.v%d", value);
		check_topic(raw, topic);
	}
}

static void long_values_fill_the_caches_bytes_and_still_get_their_topics(void **state)
{
	char raw[1030];
	char topic[64];

	route_of("(\\d+)x*", "topic-$1");
	for (int i = 0; i < 600; i++) {
		/* 1023, 1024 and 1025 bytes: kept, just kept, not kept. */
		(void)snprintf(raw, sizeof(raw), "%04d", i);
		memset(raw + 4, 'x', (size_t)(1019 + i % 3));
		raw[1023 + i % 3] = '\0';
		(void)snprintf(topic, sizeof(topic), "topic-%04d", i);
		check_topic(raw, topic);
	}
}

static void a_known_value_costs_no_memory(void **state)
{
	route_of(DEFAULT_REGEX, DEFAULT_REPLACEMENT);
	check_topic("order", "outbox.event.order");
	size_t before = memory_calls();
	check_topic("order", "outbox.event.order");
	CHECK_EQ(memory_calls(), before);
}

static void out_of_memory_is_said(void **state)
{
	for (size_t i = 0; i < 2; i++) {
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
	return RUN(CLEAN(a_topic_may_have_the_names_of_its_table),
		   CLEAN(by_default_the_topic_is_debeziums),
		   CLEAN(the_whole_raw_topic_must_match_or_it_stays),
		   CLEAN(groups_go_by_number_and_by_name),
		   CLEAN(digits_belong_to_the_number_as_long_as_there_is_such_a_group),
		   CLEAN(a_backslash_takes_the_next_character_as_it_is),
		   CLEAN(a_group_that_took_no_part_gives_nothing),
		   CLEAN(the_first_match_is_replaced_as_java_does),
		   CLEAN(a_moved_start_keeps_what_stands_before_it),
		   CLEAN(a_topic_that_is_internal_to_kafka_is_for_no_event),
		   CLEAN(a_dot_does_not_match_a_line_end),
		   CLEAN(letters_beyond_ascii_are_one_character),
		   CLEAN(a_wrong_expression_is_refused_with_its_offset),
		   CLEAN(a_wrong_replacement_is_refused_with_what_is_allowed),
		   CLEAN(a_name_of_a_group_that_is_too_long_is_refused),
		   CLEAN(a_topic_has_1_to_249_bytes),
		   CLEAN(the_limit_holds_for_raw_topics_suffixes_and_prefixes_too),
		   CLEAN(what_kafka_does_not_take_as_a_topic_is_refused),
		   CLEAN(a_nul_inside_is_not_the_end), CLEAN(bytes_that_are_not_utf8_are_refused),
		   CLEAN(an_expression_that_never_ends_is_given_up),
		   CLEAN(an_expression_that_goes_too_deep_is_given_up),
		   CLEAN(more_values_than_the_cache_holds_still_get_their_topics),
		   CLEAN(long_values_fill_the_caches_bytes_and_still_get_their_topics),
		   CLEAN(a_known_value_costs_no_memory), CLEAN(out_of_memory_is_said));
}
