#include "rendering.h"

/* The three converters. */
static void check_list(struct wp_column_type type, const char *text, const char *string,
		       const char *header, const char *json)
{
	check_rendered(wp_render_string, type, text, string);
	check_rendered(wp_render_header, type, text, header);
	check_rendered(wp_render_json, type, text, json);
}

static void texts_are_quoted_in_headers_and_json(void **state)
{
	struct wp_column_type texts = array_of(WP_TYPE_TEXT, -1);

	check_list(texts, "{a,\"b c\",NULL}", "[a, b c, null]", "[\"a\",\"b c\",null]",
		   "[\"a\",\"b c\",null]");
	check_list(texts, "{}", "[]", "[]", "[]");
	check_list(texts, "{\"\"}", "[]", "[\"\"]", "[\"\"]");
	check_list(texts, "{\"NULL\",\"a,b\",\"{}\"}", "[NULL, a,b, {}]",
		   "[\"NULL\",\"a,b\",\"{}\"]", "[\"NULL\",\"a,b\",\"{}\"]");
}

static void a_header_escapes_quotes_and_backslashes_only(void **state)
{
	check_list(array_of(WP_TYPE_TEXT, -1), "{\"q\\\"b\\\\n\nt\tx\xF0\x9F\x98\x80\"}",
		   "[q\"b\\n\nt\tx\xF0\x9F\x98\x80]", "[\"q\\\"b\\\\n\nt\tx\xF0\x9F\x98\x80\"]",
		   "[\"q\\\"b\\\\n\\nt\\tx\\uD83D\\uDE00\"]");
}

static void numbers_stand_without_quotes(void **state)
{
	check_list(array_of(WP_TYPE_INT4, -1), "{1,-2,NULL}", "[1, -2, null]", "[1,-2,null]",
		   "[1,-2,null]");
	check_list(array_of(WP_TYPE_BOOL, -1), "{t,f}", "[true, false]", "[true,false]",
		   "[true,false]");
	check_list(array_of(WP_TYPE_FLOAT8, -1), "{1,NaN,1e+300}", "[1.0, NaN, 1.0E300]",
		   "[1.0,NaN,1.0E300]", "[1.0,\"NaN\",1.0E300]");
	check_list(array_of(WP_TYPE_DATE, -1), "{1970-01-02,1969-12-31}", "[1, -1]", "[1,-1]",
		   "[1,-1]");
	check_list(array_of(WP_TYPE_TIMESTAMP, 3), "{\"1970-01-01 00:00:01\"}", "[1000]", "[1000]",
		   "[1000]");
	check_list(array_of(WP_TYPE_TIME, -1), "{00:00:00.000001}", "[1]", "[1]", "[1]");
}

static void other_values_have_their_own_forms(void **state)
{
	check_list(array_of(WP_TYPE_NUMERIC, NUMERIC(5, 2)), "{3.14,0.50}", "[3.14, 0.50]",
		   "[3.14,0.50]", "[\"ATo=\",\"Mg==\"]");
	check_list(array_of(WP_TYPE_NUMERIC, -1), "{3.14}", "[{\"scale\":2,\"value\":\"ATo=\"}]",
		   "[{\"scale\":2,\"value\":\"ATo=\"}]", "[{\"scale\":2,\"value\":\"ATo=\"}]");
	check_list(array_of(WP_TYPE_BYTEA, -1), "{\"\\\\xdeadbeef00\"}", "[3q2+7wA=]",
		   "[\"3q2+7wA=\"]", "[\"3q2+7wA=\"]");
	check_list(array_of(WP_TYPE_TIMESTAMPTZ, 0), "{\"2024-02-29 10:34:56+00\",infinity}",
		   "[2024-02-29T10:34:56Z, infinity]", "[\"2024-02-29T10:34:56Z\",\"infinity\"]",
		   "[\"2024-02-29T10:34:56Z\",\"infinity\"]");
	check_list(array_of(WP_TYPE_UUID, -1), "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}",
		   "[a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11]",
		   "[\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\"]",
		   "[\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\"]");
	check_list(array_of(WP_TYPE_JSONB, -1), "{\"{\\\"a\\\": 1}\"}", "[{\"a\": 1}]",
		   "[\"{\\\"a\\\": 1}\"]", "[\"{\\\"a\\\": 1}\"]");
	check_list(array_of(WP_TYPE_ENUM, -1), "{sad,\"very happy\"}", "[sad, very happy]",
		   "[\"sad\",\"very happy\"]", "[\"sad\",\"very happy\"]");
}

static void bounds_are_left_out(void **state)
{
	check_list(array_of(WP_TYPE_INT4, -1), "[0:1]={1,2}", "[1, 2]", "[1,2]", "[1,2]");
	check_list(array_of(WP_TYPE_INT4, -1), "[-5:-5]={7}", "[7]", "[7]", "[7]");
}

static void an_array_of_arrays_is_refused(void **state)
{
	check_refused(wp_render_json, array_of(WP_TYPE_INT4, -1), "{{1,2},{3,4}}",
		      "more than one dimension");
	check_refused(wp_render_header, array_of(WP_TYPE_TEXT, -1), "[0:0][1:1]={{a}}",
		      "more than one dimension");
}

static void null_within_an_array_of_an_enum_is_refused(void **state)
{
	check_refused(wp_render_json, array_of(WP_TYPE_ENUM, -1), "{sad,NULL}",
		      "its schema does not allow");
}

static void a_wrong_element_is_named(void **state)
{
	check_refused(wp_render_json, array_of(WP_TYPE_INT2, -1), "{1,32768}",
		      "\"32768\" is not an int2");
	check_refused(wp_render_json, array_of(WP_TYPE_NUMERIC, -1), "{1,NaN}", "a numeric is NaN");
	check_refused(wp_render_json, array_of(WP_TYPE_TEXT, -1), "{a,\xFF}", "not UTF-8");
}

static void half_an_array_is_refused(void **state)
{
	static const char *const texts[] = {
		"",	  "{",	       "}",	   "{a",       "{a,",	 "{a,}",
		"{,a}",	  "{a,,b}",    "a",	   "{a}x",     "{}x",	 "{\"a}",
		"{\"a\\", "{\"a\\\"}", "{\"a\"b}", "{a\"b\"}", "{a}}",	 "{a\\b}",
		"[0:1]",  "[0:1]=",    "[0:1]{a}", "{a{b}}",   "{\"a\"",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		check_refused(wp_render_string, array_of(WP_TYPE_TEXT, -1), texts[i],
			      "\" is not an array in Postgres's format");
		check_refused(wp_render_json, array_of(WP_TYPE_TEXT, -1), texts[i],
			      "\" is not an array in Postgres's format");
	}
}

int main(void)
{
	return RUN(PLAIN(texts_are_quoted_in_headers_and_json),
		   PLAIN(a_header_escapes_quotes_and_backslashes_only),
		   PLAIN(numbers_stand_without_quotes), PLAIN(other_values_have_their_own_forms),
		   PLAIN(bounds_are_left_out), PLAIN(an_array_of_arrays_is_refused),
		   PLAIN(null_within_an_array_of_an_enum_is_refused),
		   PLAIN(a_wrong_element_is_named), PLAIN(half_an_array_is_refused));
}
