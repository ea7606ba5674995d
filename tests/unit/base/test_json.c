#include <string.h>

#include "support/check.h"
#include "walpost/base/json.h"

static struct wp_buffer buffer;

static int set_up(void **state)
{
	wp_buffer_init(&buffer, 1 << 16);
	return 0;
}

static int tear_down(void **state)
{
	wp_buffer_release(&buffer);
	return 0;
}

static struct wp_json read_text(const char *text)
{
	struct wp_json json = { 0 };
	struct wp_json_fault fault = { .what = "nothing" };

	if (wp_json_read(wp_span_of(text), &json, &fault) != WP_OK)
		fail_msg("%s: %s at %zu", text, fault.what, fault.offset);
	return json;
}

static void refuses(const char *text, const char *what, size_t offset)
{
	struct wp_json json;
	struct wp_json_fault fault = { 0 };

	if (wp_json_read(wp_span_of(text), &json, &fault) != WP_DATA)
		fail_msg("%s was taken", text);
	CHECK_HAS(fault.what, what);
	CHECK_EQ(fault.offset, offset);
}

static void each_kind_is_told(void **state)
{
	static const struct {
		const char *text;
		enum wp_json_kind kind;
	} KINDS[] = {
		{ "null", WP_JSON_NULL },
		{ "true", WP_JSON_TRUE },
		{ "false", WP_JSON_FALSE },
		{ "0", WP_JSON_NUMBER },
		{ "-0.0", WP_JSON_NUMBER },
		{ "10", WP_JSON_NUMBER },
		{ "1.50e-07", WP_JSON_NUMBER },
		{ "1E400", WP_JSON_NUMBER },
		{ "12345678901234567890123", WP_JSON_NUMBER },
		{ "\"\"", WP_JSON_STRING },
		{ "[]", WP_JSON_ARRAY },
		{ "{}", WP_JSON_OBJECT },
		{ "[[],{}]", WP_JSON_ARRAY },
		{ "{\"a\":[1]}", WP_JSON_OBJECT },
	};

	for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++) {
		struct wp_json json = read_text(KINDS[i].text);
		CHECK_EQ(json.kind, KINDS[i].kind);
		CHECK_SPAN(json.text, KINDS[i].text);
	}
}

static void space_around_is_not_of_the_value(void **state)
{
	CHECK_SPAN(read_text(" \t\r\n[ 1 , 2 ] \n").text, "[ 1 , 2 ]");
}

static void what_is_no_json_is_told_where(void **state)
{
	refuses("", "a value is missing", 0);
	refuses(NULL, "a value is missing", 0);
	refuses("  ", "a value is missing", 2);
	refuses("nul", "null, true or false is expected", 0);
	refuses("True", "a value is missing", 0);
	refuses("01", "begins with 0", 1);
	refuses("-", "lacks a digit", 1);
	refuses("1.", "lacks a digit", 2);
	refuses("1e+", "lacks a digit", 3);
	refuses(".5", "a value is missing", 0);
	refuses("+1", "a value is missing", 0);
	refuses("NaN", "a value is missing", 0);
	refuses("1 2", "there is text after the value", 2);
	refuses("{} x", "there is text after the value", 3);
	refuses("[1", "comma or ] is missing", 2);
	refuses("[1 2]", "comma or ] is missing", 3);
	refuses("[1,]", "a value is missing", 3);
	refuses("[,1]", "a value is missing", 1);
	refuses("{\"a\"}", "a colon is missing", 4);
	refuses("{a:1}", "name in double quotes", 1);
	refuses("{\"a\":1,}", "name in double quotes", 7);
	refuses("{\"a\":1]", "comma or } is missing", 6);
	refuses("[1}", "comma or ] is missing", 2);
	refuses("\"abc", "not closed", 4);
	refuses("\"a\\", "not closed", 3);
	refuses("\"\\x\"", "an escape sequence is invalid", 2);
	refuses("\"\\u12G4\"", "hexadecimal digit", 5);
	refuses("\"\\u12", "hexadecimal digit", 5);
	refuses("\"a\nb\"", "control character", 2);
	refuses("\"\xC3\"", "not UTF-8", 1);
	refuses("\"\xED\xA0\x80\"", "not UTF-8", 1);
	refuses("\xEF\xBB\xBF{}", "a value is missing", 0); /* RFC 8259, 8.1: no byte order mark */
}

static void of_the_first_value_what_follows_is_no_part(void **state)
{
	struct wp_json json;
	struct wp_json_fault fault = { 0 };

	CHECK_EQ(wp_json_read_first(wp_span_of(" {\"a\":[1]} } x"), &json, &fault), WP_OK);
	CHECK_SPAN(json.text, "{\"a\":[1]}");
	CHECK_EQ(wp_json_read_first(wp_span_of("1 2"), &json, &fault), WP_OK);
	CHECK_SPAN(json.text, "1");
	CHECK_EQ(wp_json_read_first(wp_span_of("{\"a\":1"), &json, &fault), WP_DATA);
	CHECK_HAS(fault.what, "comma or } is missing");
	CHECK_EQ(wp_json_read_first(wp_span_of(NULL), &json, NULL), WP_DATA);
}

static void a_nul_is_no_end(void **state)
{
	struct wp_json json;

	CHECK_EQ(wp_json_read((struct wp_span){ (const uint8_t *)"1\0", 2 }, &json, NULL), WP_DATA);
	CHECK_EQ(wp_json_read((struct wp_span){ (const uint8_t *)"\"\\\0\"", 4 }, &json, NULL),
		 WP_DATA);
}

static enum wp_rc read_nested(size_t depth)
{
	static char text[2 * (WP_JSON_DEPTH_MAX + 1)];
	struct wp_json json;

	memset(text, '[', depth);
	memset(text + depth, ']', depth);
	return wp_json_read((struct wp_span){ (const uint8_t *)text, 2 * depth }, &json, NULL);
}

static void containers_have_a_bound(void **state)
{
	CHECK_EQ(read_nested(WP_JSON_DEPTH_MAX), WP_OK);
	CHECK_EQ(read_nested(WP_JSON_DEPTH_MAX + 1), WP_DATA);
}

static void a_container_within_another_keeps_its_kind(void **state)
{
	(void)read_text("{\"a\":[{\"b\":[[],[{}]]},2],\"c\":{\"d\":{}}}");
	refuses("{\"a\":[{\"b\":1]}]}", "comma or } is missing", 12);
	refuses("[{\"a\":[]},\"b\":1]", "comma or ] is missing", 13);
}

static void members_come_in_their_order_and_twice(void **state)
{
	struct wp_json_walk w;
	struct wp_span name;
	struct wp_json json = read_text("{ \"b\" : 1.50 , \"a\":\t{\"x\": [1, 2]},\"b\":null }");

	wp_json_walk_init(&w, &json);
	CHECK(wp_json_walk_next(&w, &name, &json));
	CHECK_SPAN(name, "\"b\"");
	CHECK_SPAN(json.text, "1.50");
	CHECK(wp_json_walk_next(&w, &name, &json));
	CHECK_SPAN(name, "\"a\"");
	CHECK_SPAN(json.text, "{\"x\": [1, 2]}");
	CHECK(wp_json_walk_next(&w, &name, &json));
	CHECK_SPAN(name, "\"b\"");
	CHECK_EQ(json.kind, WP_JSON_NULL);
	CHECK(!wp_json_walk_next(&w, &name, &json));
	CHECK(!wp_json_walk_next(&w, &name, &json));
}

static void elements_have_no_name(void **state)
{
	struct wp_json_walk w;
	struct wp_span name;
	struct wp_json json = read_text("[ [1], \"x\" ]");

	wp_json_walk_init(&w, &json);
	CHECK(wp_json_walk_next(&w, &name, &json));
	CHECK(wp_span_is_null(name));
	CHECK_SPAN(json.text, "[1]");
	CHECK(wp_json_walk_next(&w, &name, &json));
	CHECK_SPAN(json.text, "\"x\"");
	CHECK(!wp_json_walk_next(&w, &name, &json));
	json = read_text("[ ]");
	wp_json_walk_init(&w, &json);
	CHECK(!wp_json_walk_next(&w, &name, &json));
}

static enum wp_json_walk_state walked(const char *text, size_t *ret_count)
{
	struct wp_json_walk w;
	struct wp_span name;
	struct wp_json json;

	*ret_count = 0;
	wp_json_walk_text(&w, wp_span_of(text));
	while (wp_json_walk_next(&w, &name, &json))
		++*ret_count;
	CHECK(!wp_json_walk_next(&w, &name, &json));
	return w.state;
}

static void a_text_that_is_an_object_is_walked_as_it_is_read(void **state)
{
	struct wp_json_walk w;
	struct wp_span name;
	struct wp_json json;
	size_t count;

	wp_json_walk_text(&w, wp_span_of(" {\"a\": [1, {}] , \"b\":\"x\"} \n"));
	CHECK(wp_json_walk_next(&w, &name, &json));
	CHECK_SPAN(name, "\"a\"");
	CHECK_SPAN(json.text, "[1, {}]");
	CHECK(wp_json_walk_next(&w, &name, &json));
	CHECK_SPAN(name, "\"b\"");
	CHECK_SPAN(json.text, "\"x\"");
	CHECK(!wp_json_walk_next(&w, &name, &json));
	CHECK_EQ(w.state, WP_JSON_WALK_ENDED);
	CHECK_EQ(walked("{}", &count), WP_JSON_WALK_ENDED);
	CHECK_EQ(count, 0);
}

/* Whatever a walk takes, and nothing else, wp_json_read() takes as an object. */
static void a_text_that_is_none_breaks_the_walk(void **state)
{
	static const struct {
		const char *text;
		size_t count;
	} TEXTS[] = {
		{ NULL, 0 },
		{ "", 0 },
		{ "[1]", 0 },
		{ "\"x\"", 0 },
		{ "{", 0 },
		{ "{,\"a\":1}", 0 },
		{ "{\"a\":1", 1 },
		{ "{\"a\":1,}", 1 },
		{ "{\"a\":1 \"b\":2}", 1 },
		{ "{\"a\":1]", 1 },
		{ "{\"a\" 1}", 0 },
		{ "{\"a\":1}}", 1 },
		{ "{\"a\":1} x", 1 },
		{ "{\"a\":1,\"b\":[2}", 1 },
		{ "{\"a\":1,\"b\":\"\xFF\"}", 1 },
	};

	for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
		size_t count;
		CHECK_EQ(walked(TEXTS[i].text, &count), WP_JSON_WALK_BROKE);
		CHECK_EQ(count, TEXTS[i].count);
	}
}

/* Whatever its place among the eight bytes that are looked at together. */
static void a_byte_that_ends_a_string_or_must_not_be_in_it_is_seen_anywhere(void **state)
{
	char text[32];

	for (size_t size = 0; size < 24; size++) {
		memset(text, 'x', sizeof(text));
		text[0] = '"';
		text[size + 1] = '"';
		text[size + 2] = '\0';
		CHECK_EQ(read_text(text).text.size, size + 2);
		memcpy(text + size + 1, "\n\"", 3);
		refuses(text, "control character", size + 1);
		memcpy(text + size + 1, "\xC3\"", 3);
		refuses(text, "not UTF-8", size + 1);
		memcpy(text + size + 1, "\\\"", 3);
		refuses(text, "not closed", size + 3);
		memcpy(text + size + 1, "\xC3\xA9\"", 4);
		CHECK_EQ(read_text(text).text.size, size + 4);
		memcpy(text + size + 1, "\x7F\"", 3);
		CHECK_EQ(read_text(text).text.size, size + 3);
	}
}

static void unescapes_to(const char *string, const char *wanted)
{
	wp_buffer_reset(&buffer);
	CHECK_EQ(wp_json_unescape(read_text(string).text, &buffer), WP_OK);
	CHECK_SPAN(wp_buffer_span(&buffer), wanted);
}

static void a_string_stands_for_its_text(void **state)
{
	unescapes_to("\"\"", "");
	unescapes_to("\"plain \xC3\xA9\"", "plain \xC3\xA9");
	unescapes_to("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t");
	unescapes_to("\"\\u0041\\u00e9\\u20AC\\uD83D\\ude00!\"",
		     "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80!");
	wp_buffer_reset(&buffer);
	CHECK_EQ(wp_json_unescape(wp_span_of("\"a\\u0000b\""), &buffer), WP_OK);
	CHECK_EQ(buffer.size, 3);
	CHECK_EQ(buffer.data[1], 0);
}

static void half_a_pair_stands_for_nothing(void **state)
{
	static const char *const HALVES[] = { "\"\\ud83d\"", "\"\\ud83dx\"", "\"\\ude00\"",
					      "\"\\ud83d\\u0041\"", "\"\\ud83d\\n12345\"" };

	for (size_t i = 0; i < sizeof(HALVES) / sizeof(HALVES[0]); i++) {
		struct wp_json json = read_text(HALVES[i]);
		CHECK_EQ(wp_json_unescape(json.text, &buffer), WP_DATA);
	}
}

static void writes(struct wp_span text, enum wp_json_escapes escapes, const char *wanted)
{
	wp_buffer_reset(&buffer);
	CHECK_EQ(wp_json_write_string(&buffer, text, escapes), WP_OK);
	CHECK_SPAN(wp_buffer_span(&buffer), wanted);
}

static void what_must_be_escaped_is(void **state)
{
	writes(wp_span_of(""), WP_JSON_NEEDED, "\"\"");
	writes(wp_span_of("a\"b\\c/d"), WP_JSON_NEEDED, "\"a\\\"b\\\\c/d\"");
	writes(wp_span_of("\b\t\n\v\f\r\x0E\x1f\x7f"), WP_JSON_NEEDED,
	       "\"\\b\\t\\n\\u000B\\f\\r\\u000E\\u001F\x7f\"");
	writes((struct wp_span){ (const uint8_t *)"a\0b", 3 }, WP_JSON_NEEDED, "\"a\\u0000b\"");
	writes(wp_span_of("\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80"), WP_JSON_NEEDED,
	       "\"\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80\"");
}

/* As com.fasterxml.jackson.core.json.UTF8JsonGenerator writes it. */
static void jackson_escapes_what_java_has_as_pairs(void **state)
{
	writes(wp_span_of("Zo\xC3\xAB \xEF\xBF\xBF \xF0\x9F\x98\x80\xF4\x8F\xBF\xBF."),
	       WP_JSON_JACKSON, "\"Zo\xC3\xAB \xEF\xBF\xBF \\uD83D\\uDE00\\uDBFF\\uDFFF.\"");
	writes(wp_span_of("\xF0\x90\x80\x80"), WP_JSON_JACKSON, "\"\\uD800\\uDC00\"");
}

static void for_people_what_steers_a_terminal_is_escaped_too(void **state)
{
	writes(wp_span_of("a\x7F\xC2\x9B\xE2\x80\xAE"), WP_JSON_DISPLAY,
	       "\"a\\u007F\\u009B\\u202E\"");
	writes(wp_span_of("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\n"), WP_JSON_DISPLAY,
	       "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\\n\"");
	writes(wp_span_of("\xC2\x9B\xE2\x80\xAE"), WP_JSON_NEEDED, "\"\xC2\x9B\xE2\x80\xAE\"");
}

static void a_string_above_the_buffers_limit_is_refused(void **state)
{
	struct wp_buffer small;

	for (size_t room = 0; room < 8; room++) {
		wp_buffer_init(&small, room);
		CHECK_EQ(wp_json_write_string(&small, wp_span_of("a\nbc"), WP_JSON_NEEDED),
			 room < 7 ? WP_FULL : WP_OK);
		wp_buffer_release(&small);
		wp_buffer_init(&small, room);
		CHECK_EQ(wp_json_unescape(wp_span_of("\"abc\\u20ac\""), &small),
			 room < 6 ? WP_FULL : WP_OK);
		wp_buffer_release(&small);
	}
}

int main(void)
{
	return RUN(TEST(each_kind_is_told), TEST(space_around_is_not_of_the_value),
		   TEST(what_is_no_json_is_told_where),
		   TEST(of_the_first_value_what_follows_is_no_part), TEST(a_nul_is_no_end),
		   TEST(containers_have_a_bound), TEST(a_container_within_another_keeps_its_kind),
		   TEST(members_come_in_their_order_and_twice), TEST(elements_have_no_name),
		   TEST(a_text_that_is_an_object_is_walked_as_it_is_read),
		   TEST(a_text_that_is_none_breaks_the_walk),
		   TEST(a_byte_that_ends_a_string_or_must_not_be_in_it_is_seen_anywhere),
		   TEST(a_string_stands_for_its_text), TEST(half_a_pair_stands_for_nothing),
		   TEST(what_must_be_escaped_is), TEST(jackson_escapes_what_java_has_as_pairs),
		   TEST(for_people_what_steers_a_terminal_is_escaped_too),
		   TEST(a_string_above_the_buffers_limit_is_refused));
}
