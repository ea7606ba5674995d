#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "walpost/outbox/json_headers.h"

static struct wp_buffer buffer;
static struct wp_json_headers headers;
static struct wp_error error;

static int set_up(void **state)
{
	wp_buffer_init(&buffer, 4096);
	return 0;
}

static int tear_down(void **state)
{
	wp_buffer_release(&buffer);
	return 0;
}

static enum wp_rc begin(const char *text)
{
	return wp_json_headers_init(&headers, wp_span_of(text), &buffer, &error);
}

static void next_is(const char *name, const char *value)
{
	struct wp_json_header found;

	CHECK_EQ(wp_json_headers_next(&headers, &found, &error), WP_OK);
	CHECK_SPAN(found.name, name);
	CHECK_EQ(wp_span_is_null(found.value), value == NULL);
	if (value != NULL)
		CHECK_SPAN(found.value, value);
}

static void that_is_all(void)
{
	struct wp_json_header found;

	CHECK_EQ(wp_json_headers_next(&headers, &found, &error), WP_OK);
	CHECK(wp_span_is_null(found.name));
}

static void refuses(const char *text, const char *sentence)
{
	struct wp_json_header found;
	enum wp_rc rc = begin(text);

	if (rc == WP_OK)
		rc = wp_json_headers_next(&headers, &found, &error);
	CHECK_EQ(rc, WP_DATA);
	CHECK_HAS(error.text, sentence);
}

static void members_are_headers_in_their_order_and_twice(void **state)
{
	CHECK_EQ(begin(" {\"b\": \"x\", \"a\":\"\", \"b\" :\"y\"} "), WP_OK);
	next_is("b", "x");
	next_is("a", "");
	next_is("b", "y");
	that_is_all();
	CHECK_EQ(begin("{ }"), WP_OK);
	that_is_all();
	that_is_all();
}

static void what_is_no_string_stands_as_it_is_written(void **state)
{
	CHECK_EQ(begin("{\"n\":1.50,\"t\":true,\"f\":false,\"z\":null,\"o\":{ \"a\" : [1] },"
		       "\"l\":[\"\\u0041\", 2]}"),
		 WP_OK);
	next_is("n", "1.50");
	next_is("t", "true");
	next_is("f", "false");
	next_is("z", NULL);
	next_is("o", "{ \"a\" : [1] }");
	next_is("l", "[\"\\u0041\", 2]");
	that_is_all();
}

static void names_and_strings_are_unescaped(void **state)
{
	CHECK_EQ(begin("{\"\\u00e9\\/\":\"a\\n\\\"\\ud83d\\ude00\",\"plain\":\"\xC3\xA9\"}"),
		 WP_OK);
	next_is("\xC3\xA9/", "a\n\"\xF0\x9F\x98\x80");
	next_is("plain", "\xC3\xA9");
	that_is_all();
}

static void what_is_no_object_is_refused(void **state)
{
	refuses("", "this is not JSON: at byte 0 a value is missing");
	refuses("{\"a\":}", "at byte 5 a value is missing");
	refuses("{\"a\":1} x", "at byte 8 there is text after the value");
	refuses("[1,2]", "this is not: [1,2]; write {\"name\": \"value\"}");
	refuses("\"a\"", "this is not: \"a\"");
	refuses("null", "this is not: null");
}

static void a_header_needs_a_name(void **state)
{
	refuses("{\"\":1}", "is empty");
}

static void half_of_a_pair_is_refused(void **state)
{
	refuses("{\"\\ud83d\":1}", "a name of the headers' JSON object contains half");
	refuses("{\"a\":\"\\ude00\"}", "a value of the headers' JSON object contains half");
}

static void the_sentence_shows_only_an_excerpt(void **state)
{
	char text[400];

	(void)snprintf(text, sizeof(text), "\"%0300d\"", 0);
	refuses(text, "...; write");
	CHECK(strlen(error.text) < 300);
}

static void what_was_given_does_not_move(void **state)
{
	struct wp_json_header first;

	CHECK_EQ(begin("{\"\\u0061\":\"\\u0062\",\"\\u0063ccccccccccccccccccccccccc\":1}"), WP_OK);
	CHECK_EQ(wp_json_headers_next(&headers, &first, &error), WP_OK);
	next_is("cccccccccccccccccccccccccc", "1");
	CHECK_SPAN(first.name, "a");
	CHECK_SPAN(first.value, "b");
}

static void a_text_above_the_buffers_limit_is_refused(void **state)
{
	struct wp_buffer small;

	wp_buffer_init(&small, 3);
	CHECK_EQ(wp_json_headers_init(&headers, wp_span_of("{}"), &small, &error), WP_OK);
	CHECK_EQ(wp_json_headers_init(&headers, wp_span_of("{ }"), &small, &error), WP_FULL);
	CHECK_HAS(error.text, "no room for headers of 3 bytes");
	wp_buffer_release(&small);
}

int main(void)
{
	return RUN(TEST(members_are_headers_in_their_order_and_twice),
		   TEST(what_is_no_string_stands_as_it_is_written),
		   TEST(names_and_strings_are_unescaped), TEST(what_is_no_object_is_refused),
		   TEST(a_header_needs_a_name), TEST(half_of_a_pair_is_refused),
		   TEST(the_sentence_shows_only_an_excerpt), TEST(what_was_given_does_not_move),
		   TEST(a_text_above_the_buffers_limit_is_refused));
}
