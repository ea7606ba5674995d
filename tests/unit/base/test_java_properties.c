#include "support/check.h"
#include "walpost/base/java_properties.h"

/* What java.util.Properties.load() of Java 17 was seen to make of the same texts. */

static struct wp_buffer buffer;
static struct wp_java_properties properties;

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

static void begin(const char *text)
{
	wp_buffer_reset(&buffer);
	CHECK_EQ(wp_java_properties_init(&properties, wp_span_of(text), &buffer), WP_OK);
}

static void next_is(const char *name, const char *value)
{
	struct wp_java_property found;

	CHECK_EQ(wp_java_properties_next(&properties, &found), WP_OK);
	CHECK_SPAN(found.name, name);
	CHECK_SPAN(found.value, value);
}

static void that_is_all(void)
{
	struct wp_java_property found;

	for (int i = 0; i < 2; i++) {
		CHECK_EQ(wp_java_properties_next(&properties, &found), WP_OK);
		CHECK(wp_span_is_null(found.name));
		CHECK(wp_span_is_null(found.value));
	}
}

static void is_one(const char *text, const char *name, const char *value)
{
	begin(text);
	next_is(name, value);
	that_is_all();
}

static void holds_none(const char *text)
{
	begin(text);
	that_is_all();
}

static void refuses(const char *text, enum wp_java_fault fault)
{
	struct wp_java_property found;

	begin(text);
	CHECK_EQ(wp_java_properties_next(&properties, &found), WP_DATA);
	CHECK_EQ(properties.fault, fault);
}

static void a_trace_context_is_read(void **state)
{
	begin("#Wed Jan 01 00:00:00 UTC 2025\n"
	      "traceparent=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\n"
	      "tracestate=a\\:b\\=c,d\n");
	next_is("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
	next_is("tracestate", "a:b=c,d");
	that_is_all();
}

static void comments_and_blank_lines_are_passed_over(void **state)
{
	holds_none("");
	holds_none(" \t\f\r\n\r\n\n");
	holds_none("# a\n  ! b\\\n#c");
	is_one("\n  # no\r\n\f a = b\r! no", "a", "b");
}

static void a_name_ends_at_the_first_separator(void **state)
{
	is_one("a=b", "a", "b");
	is_one("a:b", "a", "b");
	is_one("a b", "a", "b");
	is_one("a \t= \f b", "a", "b");
	is_one("a==b", "a", "=b");
	is_one("a : = b", "a", "= b");
	is_one("a", "a", "");
	is_one("a=", "a", "");
	is_one("=b", "", "b");
	is_one("a=b ", "a", "b ");
	is_one("a\\=\\:\\ b=c", "a=: b", "c");
}

static void names_come_in_their_order_and_twice(void **state)
{
	begin("b=1\ra=2\r\nb=3");
	next_is("b", "1");
	next_is("a", "2");
	next_is("b", "3");
	that_is_all();
}

static void a_backslash_joins_lines(void **state)
{
	is_one("a=b,\\\n   c", "a", "b,c");
	is_one("a=b,\\\r\n \t c", "a", "b,c");
	is_one("a\\\n b \\\n = \\\n c", "ab", "c");
	is_one("a=b\\\n#c", "a", "b#c");
	is_one("a=b\\\n", "a", "b");
	is_one("a=b\\\\\n", "a", "b\\");
	is_one("\\\n a=b", "a", "b");
	holds_none("\\\n\n#a");
	begin("a=b\\\n\nc=d");
	next_is("a", "b");
	next_is("c", "d");
	that_is_all();
}

static void a_property_has_the_line_that_its_name_begins_in(void **state)
{
	struct wp_java_property found;

	begin("# a\n\n\\\n a\\\r\n b = \\\r c\r\nb=\\u00\\\nZ");
	CHECK_EQ(wp_java_properties_next(&properties, &found), WP_OK);
	CHECK_SPAN(found.name, "ab");
	CHECK_SPAN(found.value, "c");
	CHECK_EQ(found.line, 4);
	CHECK_EQ(wp_java_properties_next(&properties, &found), WP_DATA);
	CHECK_EQ(properties.line, 8);
}

static void escapes_stand_for_characters(void **state)
{
	is_one("a=\\t\\n\\r\\f\\b\\\\\\\"\\'\\x", "a", "\t\n\r\fb\\\"'x");
	is_one("\\u0041\\u00e9=\\u20AC\\ud83d\\uDE00", "A\xC3\xA9", "\xE2\x82\xAC\xF0\x9F\x98\x80");
	is_one("a=\\u00\\\n 41", "a", "A");
	is_one("a=b\\", "a", "b");
	is_one("\xC3\xA9=\xF0\x9F\x98\x80", "\xC3\xA9", "\xF0\x9F\x98\x80");
}

static void a_malformed_escape_is_refused(void **state)
{
	refuses("a=\\u", WP_JAVA_NO_DIGIT);
	refuses("a=\\u12", WP_JAVA_NO_DIGIT);
	refuses("a\\u12G4=b", WP_JAVA_NO_DIGIT);
	refuses("a=\\ud83d\\u12", WP_JAVA_NO_DIGIT);
}

static void half_of_a_pair_is_refused(void **state)
{
	refuses("a=\\ud83d", WP_JAVA_HALF);
	CHECK_EQ(properties.half, 0xD83D);
	refuses("a=\\ude00b", WP_JAVA_HALF);
	CHECK_EQ(properties.half, 0xDE00);
	refuses("a=\\ud83d\\u0041", WP_JAVA_HALF);
	CHECK_EQ(properties.half, 0xD83D);
	refuses("a=\\ud83d\\n", WP_JAVA_HALF);
	CHECK_EQ(properties.half, 0xD83D);
	CHECK_EQ(properties.line, 1);
	refuses("\na=\\ud8\\\n3d\\\nx", WP_JAVA_HALF);
	CHECK_EQ(properties.line, 2);
}

static void what_was_given_does_not_move(void **state)
{
	struct wp_java_property first, second;

	wp_buffer_init(&buffer, 33);
	begin("aaaaaaaaaa=1\nbbbbbbbbbbbbbb=\\u20");
	CHECK_EQ(wp_java_properties_next(&properties, &first), WP_OK);
	CHECK_EQ(wp_java_properties_next(&properties, &second), WP_DATA);
	CHECK_SPAN(first.name, "aaaaaaaaaa");
	CHECK_SPAN(first.value, "1");
}

static void a_text_above_the_buffers_limit_is_refused(void **state)
{
	struct wp_buffer small;

	wp_buffer_init(&small, 4);
	CHECK_EQ(wp_java_properties_init(&properties, wp_span_of("a=b"), &small), WP_OK);
	CHECK_EQ(wp_java_properties_init(&properties, wp_span_of("a=bc"), &small), WP_FULL);
	wp_buffer_release(&small);
}

int main(void)
{
	return RUN(TEST(a_trace_context_is_read), TEST(comments_and_blank_lines_are_passed_over),
		   TEST(a_name_ends_at_the_first_separator),
		   TEST(names_come_in_their_order_and_twice), TEST(a_backslash_joins_lines),
		   TEST(a_property_has_the_line_that_its_name_begins_in),
		   TEST(escapes_stand_for_characters), TEST(a_malformed_escape_is_refused),
		   TEST(half_of_a_pair_is_refused), TEST(what_was_given_does_not_move),
		   TEST(a_text_above_the_buffers_limit_is_refused));
}
