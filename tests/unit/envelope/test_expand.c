#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/memory.h"
#include "support/check.h"
#include "walpost/base/json.h"
#include "walpost/envelope/expand.h"

#define SIZE_MAX_HERE ((size_t)1 << 20)

static struct wp_expand *expand;
static struct wp_expanded expanded;
static struct wp_error error;

static void begin(bool keep_nulls, bool keep_empty_arrays, size_t size_max)
{
	struct wp_expand_options options = { keep_nulls, keep_empty_arrays };

	wp_expand_free(expand);
	CHECK_EQ(wp_expand_new(&options, size_max, &expand), WP_OK);
}

static int set_up(void **state)
{
	begin(false, false, SIZE_MAX_HERE);
	return 0;
}

static int tear_down(void **state)
{
	wp_expand_free(expand);
	expand = NULL;
	return 0;
}

static enum wp_rc expand_text(const char *payload)
{
	error = (struct wp_error){ 0 };
	expanded = (struct wp_expanded){ 0 };
	return wp_expand_payload(expand, wp_span_of(payload), &expanded, &error);
}

static void becomes(const char *payload, const char *value)
{
	if (expand_text(payload) != WP_OK || expanded.as != WP_EXPANDED_VALUE)
		fail_msg("%s: %s %s", payload, error.text, expanded.because);
	CHECK_SPAN(expanded.value, value);
}

static void stays(const char *payload, const char *because)
{
	CHECK_EQ(expand_text(payload), WP_OK);
	if (expanded.as != WP_EXPANDED_TEXT)
		fail_msg("%s was expanded", payload);
	CHECK(wp_span_is_null(expanded.value));
	CHECK_HAS(expanded.because, because);
}

static void fails(const char *payload, const char *sentence)
{
	if (expand_text(payload) != WP_DATA)
		fail_msg("%s was taken", payload);
	CHECK_HAS(error.text, sentence);
}

/* The rows of which Debezium 3.6.0 and Kafka Connect 4.3.0 were watched. */
static void what_debezium_expands_is_the_same_to_the_byte(void **state)
{
	becomes("{\"a\": 1, \"b\": \"two\"}", "{\"a\":1,\"b\":\"two\"}");
	becomes("{\"ru\": \"\xD0\xBF\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82\", "
		"\"esc\": \"\xC3\xA9\xF0\x9F\x98\x80\", \"name\": \"Zo\xC3\xAB \xF0\x9F\x98\x80\"}",
		"{\"ru\":\"\xD0\xBF\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82\","
		"\"esc\":\"\xC3\xA9\\uD83D\\uDE00\",\"name\":\"Zo\xC3\xAB \\uD83D\\uDE00\"}");
	becomes("{\"s\": \"he said \\\"hi\\\" \\\\ C:\\\\path\", \"ctl\": \"\\t\\n\\u0001\"}",
		"{\"s\":\"he said \\\"hi\\\" \\\\ C:\\\\path\",\"ctl\":\"\\t\\n\\u0001\"}");
	becomes("{\"emptykey\": true}", "{\"emptykey\":true}");
	becomes("{\"nullkey\": true}", "{\"nullkey\":true}");
	becomes("{}", "{}");
	becomes("{\"typeis\": \"null\"}", "{\"typeis\":\"null\"}");
	becomes("{\"1x\": 3, \"a.b\": 1, \"c d\": 2, \"typeis\": \"empty\"}",
		"{\"1x\":3,\"a.b\":1,\"c d\":2,\"typeis\":\"empty\"}");
	becomes("{\"e\": 1000, \"f\": 1.50, \"x\": null, \"y\": {\"k\": 1, \"z\": null}, "
		"\"ok\": false, \"ints\": [1, 2], \"long\": 9223372036854775807, "
		"\"objs\": [{\"p\": 1}, {\"p\": 2}]}",
		"{\"e\":1000,\"f\":1.5,\"y\":{\"k\":1},\"ok\":false,\"ints\":[1,2],"
		"\"long\":9223372036854775807,\"objs\":[{\"p\":1},{\"p\":2}]}");
}

static void what_debezium_leaves_as_it_is_stays(void **state)
{
	stays("{\"l1\": {\"l2\": {\"l3\": {\"l4\": [1, {\"l5\": \"deep\"}]}}}}", "different types");
	stays("\"just a string\"", "neither { nor [");
	stays("42", "neither { nor [");
	stays("null", "neither { nor [");
	stays("{\"mixed\": [1, \"a\", true], \"arr_null\": [null], \"empty_arr\": [], "
	      "\"empty_obj\": {}}",
	      "different types");
}

static void what_stops_debezium_fails(void **state)
{
	fails("[1, 2, 3]", "it is an array");
	fails("{\"big\": 12345678901234567890, \"dec\": 0.1000000000000000055, "
	      "\"exp\": 100000000000000000000, \"int\": 2147483648, \"neg\": 0.0, \"nul\": null, "
	      "\"long\": 9223372036854775807, \"trail\": 1.500}",
	      "the integer 12345678901234567890 exceeds 64 bits");
	fails("[{\"a\": 1}, {\"b\": \"x\"}, {\"a\": 2, \"b\": null}]", "it is an array");
}

static char *long_member(const char *around)
{
	char *text = malloc(200100);
	size_t size = strlen("{\"big\":") + strlen(around);

	CHECK(text != NULL);
	(void)snprintf(text, 100, "{\"big\":%s\"", around);
	memset(text + size + 1, 'x', 200000);
	memcpy(text + size + 200001, "\"}", 3);
	return text;
}

static void a_long_payload_is_expanded_too(void **state)
{
	char *payload = long_member(" "), *value = long_member("");

	becomes(payload, value);
	CHECK_EQ(expanded.value.size, 200010);
	free(payload);
	free(value);
}

/* Each of what follows was seen of Debezium's and Kafka's own code. */
static void numbers_are_as_java_writes_them(void **state)
{
	static const char *const NUMBERS[][2] = {
		{ "0", "0" },
		{ "-0", "0" },
		{ "2147483647", "2147483647" },
		{ "-2147483649", "-2147483649" },
		{ "9223372036854775807", "9223372036854775807" },
		{ "-9223372036854775808", "-9223372036854775808" },
		{ "1.0", "1.0" },
		{ "1.50", "1.5" },
		{ "100.0", "100.0" },
		{ "12.5e1", "125.0" },
		{ "-0.0", "-0.0" },
		{ "0e5", "0.0" },
		{ "1e-7", "1.0E-7" },
		{ "0.001", "0.001" },
		{ "0.0123", "0.0123" },
		{ "0.00099", "9.9E-4" },
		{ "9999999.5", "9999999.5" },
		{ "1e7", "1.0E7" },
		{ "123456789.125", "1.23456789125E8" },
		{ "0.1000000000000000055", "0.1" },
		{ "0.30000000000000004", "0.30000000000000004" },
		{ "1e23", "1.0E23" },
		{ "9.5e22", "9.5E22" },
		{ "5e-324", "4.9E-324" },
		{ "5.684341886080801486968994140625E-14", "5.684341886080802E-14" },
		{ "9.99999999999999999e22", "1.0E23" },
		{ "1.7976931348623157e308", "1.7976931348623157E308" },
		{ "1e400", "\"Infinity\"" },
		{ "-1E400", "\"-Infinity\"" },
		{ "1e-400", "0.0" },
	};

	for (size_t i = 0; i < sizeof(NUMBERS) / sizeof(NUMBERS[0]); i++) {
		char payload[64], value[64];
		(void)snprintf(payload, sizeof(payload), "{\"n\":%s}", NUMBERS[i][0]);
		(void)snprintf(value, sizeof(value), "{\"n\":%s}", NUMBERS[i][1]);
		becomes(payload, value);
	}
}

static void integers_end_at_64_bits(void **state)
{
	fails("{\"n\":9223372036854775808}", "the integer 9223372036854775808 exceeds");
	fails("{\"n\":-9223372036854775809}", "the integer -9223372036854775809 exceeds");
	fails("{\"n\":[1.5,9223372036854775808]}",
	      "exceeds 64 bits; write it as a string, or turn the expansion off");
}

static void strings_are_as_jackson_writes_them(void **state)
{
	becomes("{\"a\":\"\\u0041\\u00e9\\u20ac\\/\\u002f\\u007F\"}",
		"{\"a\":\"A\xC3\xA9\xE2\x82\xAC//\x7F\"}");
	becomes("{\"a\":\"\\u0022\\u005c\\u0008\\u0009\\u000a\\u000b\\u000c\\u000d\\u001f\"}",
		"{\"a\":\"\\\"\\\\\\b\\t\\n\\u000B\\f\\r\\u001F\"}");
	becomes("{\"a\":\"\\ud83d\\ude00 \\ud83d \\ude00 \xF4\x8F\xBF\xBF\"}",
		"{\"a\":\"\\uD83D\\uDE00 \\uD83D \\uDE00 \\uDBFF\\uDFFF\"}");
	becomes("{\"\xF0\x9F\x98\x80\\u0000\":\"\"}", "{\"\\uD83D\\uDE00\\u0000\":\"\"}");
}

static void of_members_of_one_name_the_last_stands_in_the_place_of_the_first(void **state)
{
	becomes("{\"b\":1,   \"a\" : 2,\"b\":3}", "{\"b\":3,\"a\":2}");
	becomes("{\"a\":1,\"b\":2,\"a\":null}", "{\"b\":2}");
	becomes("{\"a\":null,\"b\":2,\"a\":\"x\"}", "{\"a\":\"x\",\"b\":2}");
	becomes("{\"a\":[1,\"x\"],\"\\u0061\":{\"c\":1,\"c\":[2]},\"b\":0}",
		"{\"a\":{\"c\":[2]},\"b\":0}");
	becomes("{\"\\ud83d\\ude00\":1,\"\xF0\x9F\x98\x80\":2}", "{\"\\uD83D\\uDE00\":2}");
	becomes("{\"a\":[{\"x\":1},{\"y\":2}],\"a\":[{\"z\":1},{\"y\":2}],\"a\":1}", "{\"a\":1}");
	becomes("{\"a\":[{\"x\":1},{\"y\":2}],\"a\":[{\"z\":1},{\"y\":2}]}",
		"{\"a\":[{\"z\":1,\"y\":null},{\"z\":null,\"y\":2}]}");
}

static void what_follows_the_closing_brace_is_not_read(void **state)
{
	becomes("{\"a\":1} trailing", "{\"a\":1}");
	becomes("{\"a\":1}}", "{\"a\":1}");
	stays("{\"a\":1", "a comma or } is missing");
	stays(" {\"a\":1}", "neither { nor [");
	stays("", "neither { nor [");
	stays("{\"a\":1x}", "a comma or } is missing");
}

static void nulls_and_empty_arrays_are_left_out(void **state)
{
	becomes("{\"a\":null,\"b\":[],\"c\":{\"d\":null},\"e\":{\"f\":[]},\"\":null}",
		"{\"c\":{},\"e\":{}}");
	becomes("{\"a\":[null,1,null]}", "{\"a\":[null,1,null]}");
	becomes("{\"a\":[[1],[],null]}", "{\"a\":[[1],[],null]}");
	stays("{\"a\":[null]}", "all null");
	stays("{\"a\":[[],[1]]}", "first array in an array is empty");
	stays("{\"a\":[[null],[1]]}", "all null");
}

static void nulls_are_kept_where_that_is_wanted(void **state)
{
	begin(true, false, SIZE_MAX_HERE);
	becomes("{\"a\":null,\"b\":[],\"c\":{\"d\":null}}", "{\"a\":null,\"c\":{\"d\":null}}");
	becomes("{\"a\":[null]}", "{\"a\":[null]}");
	becomes("{\"a\":[{\"t\":null},{\"t\":1}]}", "{\"a\":[{\"t\":null},{\"t\":1}]}");
	fails("{\"a\":[[null],[1]]}", "in an array, 1 is not of the first element's type");
	fails("[null]", "it is an array");
}

static void empty_arrays_are_kept_where_that_is_wanted(void **state)
{
	begin(false, true, SIZE_MAX_HERE);
	becomes("{\"a\":null,\"b\":[],\"c\":{\"d\":[]}}", "{\"b\":[],\"c\":{\"d\":[]}}");
	becomes("{\"a\":[[],[\"x\"]]}", "{\"a\":[[],[\"x\"]]}");
	fails("{\"a\":[[],[1]]}", "in an array, 1 is not of the first element's type");
	fails("[]", "it is an array");
}

static void an_empty_array_stays_but_has_no_schema(void **state)
{
	CHECK_EQ(expand_text("[]"), WP_OK);
	CHECK_EQ(expanded.as, WP_EXPANDED_BARE);
	CHECK_EQ(expand_text("[ ] x"), WP_OK);
	CHECK_EQ(expanded.as, WP_EXPANDED_BARE);
	stays("[1,\"a\"]", "different types");
	stays("[null]", "all null");
	stays("[", "a value is missing");
}

static void elements_must_be_of_one_type(void **state)
{
	becomes("{\"a\":[true,false]}", "{\"a\":[true,false]}");
	becomes("{\"a\":[3000000000,-3000000000]}", "{\"a\":[3000000000,-3000000000]}");
	stays("{\"a\":[1,3000000000]}", "different types");
	stays("{\"a\":[1,1.5]}", "different types");
	stays("{\"a\":[{},[]]}", "different types");
	stays("{\"a\":[[],{}]}", "different types");
	stays("{\"a\":[{\"b\":[1,\"x\"]},{}]}", "different types");
	stays("{\"n\":9223372036854775808,\"a\":[1,true]}", "different types");
}

/* Of arrays within an array the first tells the type; only the value shows whether others fit. */
static void arrays_in_an_array_must_fit_the_first(void **state)
{
	becomes("{\"a\":[[{\"b\":1}],[{\"b\":null}]]}", "{\"a\":[[{\"b\":1}],[{\"b\":null}]]}");
	fails("{\"a\":[[{\"b\":1}],[{\"c\":1}]]}", "its member \"c\" does not fit the schema");
	fails("{\"a\":[[1],[\"x\"]]}", "in an array, \"x\" is not of the first element's type");
	fails("{\"a\":[[1],[[]]]}", "in an array, a container is not of the first element's type");
}

static void objects_of_an_array_have_the_members_of_all(void **state)
{
	becomes("{\"a\":[{\"b\":1},null,{\"b\":2}]}", "{\"a\":[{\"b\":1},null,{\"b\":2}]}");
	becomes("{\"a\":[{\"b\":1},{\"c\":\"x\"},{\"d\":[]}]}",
		"{\"a\":[{\"b\":1,\"c\":null},{\"b\":null,\"c\":\"x\"},{\"b\":null,\"c\":null}]}");
	becomes("{\"a\":[{\"b\":1,\"c\":2},{\"c\":3,\"b\":4}]}",
		"{\"a\":[{\"b\":1,\"c\":2},{\"b\":4,\"c\":3}]}");
	becomes("{\"a\":[{\"b\":[]},{\"b\":[\"x\"]}]}", "{\"a\":[{\"b\":[]},{\"b\":[\"x\"]}]}");
	becomes("{\"a\":[{\"b\":{\"x\":1}},{\"b\":{\"x\":null}}]}",
		"{\"a\":[{\"b\":{\"x\":1}},{\"b\":{\"x\":null}}]}");
	fails("{\"a\":[{\"b\":1},{\"c\":1},null]}",
	      "in an array, a null is not of the first element's type");
	fails("{\"a\":[{\"b\":1},{\"b\":\"x\"}]}",
	      "in an array, \"x\" is not of the first element's type");
}

static void a_member_without_a_name_has_no_place_in_a_schema(void **state)
{
	stays("{\"\":1}", "name is empty");
	becomes("{\"\":[],\"a\":1}", "{\"a\":1}");
}

static const char *digits_of(size_t count, const char *end)
{
	static char text[1100];
	int size = snprintf(text, sizeof(text), "{\"n\":");

	memset(text + size, '1', count);
	(void)snprintf(text + size + count, sizeof(text) - (size_t)size - count, "%s", end);
	return text;
}

static void a_number_has_a_thousand_digits_at_most(void **state)
{
	becomes(digits_of(997, "e-997}"), "{\"n\":0.1111111111111111}");
	CHECK_EQ(expand_text(digits_of(999, ".1}")), WP_OK);
	CHECK_EQ(expanded.as, WP_EXPANDED_VALUE);
	stays(digits_of(999, ".11}"), "more than 1,000 digits");
	fails(digits_of(1000, "}"),
	      "exceeds 64 bits; write it as a string, or turn the expansion off");
	stays(digits_of(1001, "}"), "more than 1,000 digits");
}

static const char *nested(size_t depth)
{
	static char text[4096];
	size_t size = strlen("{\"a\":");

	memcpy(text, "{\"a\":", size);
	memset(text + size, '[', depth - 1);
	text[size + depth - 1] = '1';
	memset(text + size + depth, ']', depth - 1);
	memcpy(text + size + 2 * depth - 1, "}", 2);
	return text;
}

static void a_thousand_containers_stand_within_each_other_at_most(void **state)
{
	becomes(nested(1000), nested(1000));
	stays(nested(1001), "containers are nested more than 1,000 levels deep");
}

static void a_value_above_the_limit_fails(void **state)
{
	begin(false, false, 8);
	becomes("{\"a\":10}", "{\"a\":10}");
	fails("{\"a\":100}", "expanded payload exceeds 8 bytes");
	begin(false, false, 40);
	fails("{\"a\":[{\"b\":1},{\"c\":1},{\"d\":1}]}", "expanded payload exceeds 40 bytes");
	CHECK_HAS(error.text, "raise message.max.bytes");
}

static void only_what_is_written_counts_for_the_limit(void **state)
{
	begin(false, false, 25);
	becomes("{\"a\": 1,                             \"b\": null}", "{\"a\":1}");
	becomes("{\"a\":\",,,,,,,,[[[[{{\"}", "{\"a\":\",,,,,,,,[[[[{{\"}");
	becomes("{\"a\":[1,2,3,4,5,6,7,8,9]}", "{\"a\":[1,2,3,4,5,6,7,8,9]}");
	becomes("{\"a\":[{},{},{},{},{},{}]}", "{\"a\":[{},{},{},{},{},{}]}");
	fails("{\"a\":[1,2,3,4,5,6,7,8,9,1]}", "expanded payload exceeds 25 bytes");
}

/* The tree of so many values would take 300 MB. */
static void more_values_than_fit_take_no_memory(void **state)
{
	const size_t count = 1000000;
	char *text = malloc(2 * count + 32);
	size_t size = 5;

	memcpy(text, "{\"a\":", 5);
	for (size_t i = 0; i < count; i++, size += 2)
		memcpy(text + size, i == 0 ? "[1" : ",1", 2);
	memcpy(text + size, "]}", 3);
	begin(false, false, 1000000);
	memory_fails_after(0);
	fails(text, "expanded payload exceeds 1000000 bytes");
	memory_works();
	free(text);
}

/* Written out, the members of all in each would be 300 MB. */
static void objects_with_members_of_their_own_stop_at_the_limit(void **state)
{
	char *text = malloc(200000);
	size_t size = strlen("{\"a\":[");

	memcpy(text, "{\"a\":[", size);
	for (unsigned i = 0; i < 4000; i++)
		size += (size_t)snprintf(text + size, 64, "%s{\"%036u\":1}", i == 0 ? "" : ",", i);
	memcpy(text + size, "]}", 3);
	begin(false, false, 1000000);
	fails(text, "expanded payload exceeds 1000000 bytes");
	CHECK_HAS(error.text, "members of all of them");
	free(text);
}

static void a_member_that_would_be_lost_fails(void **state)
{
	fails("{\"a\":[{\"x\":{\"p\":1}},{\"x\":{\"q\":2}}]}",
	      "its member \"q\" does not fit the schema");
	fails("{\"a\":[[{\"p\":1}],[{\"p\":2,\"q\":2}]]}",
	      "its member \"q\" does not fit the schema");
	becomes("{\"a\":[{\"x\":{\"p\":1,\"q\":1}},{\"x\":{\"q\":2}}]}",
		"{\"a\":[{\"x\":{\"p\":1,\"q\":1}},{\"x\":{\"p\":null,\"q\":2}}]}");
	becomes("{\"a\":[{\"x\":{\"p\":1}},{\"x\":{\"p\":2,\"q\":null,\"r\":[]}}]}",
		"{\"a\":[{\"x\":{\"p\":1}},{\"x\":{\"p\":2}}]}");
}

static void one_expansion_follows_another_without_new_memory(void **state)
{
	becomes("{\"a\":[{\"b\":\"\\u0001\"},{\"c\":1}]}",
		"{\"a\":[{\"b\":\"\\u0001\",\"c\":null},{\"b\":null,\"c\":1}]}");
	size_t calls = memory_calls();
	for (int i = 0; i < 3; i++)
		becomes("{\"a\":[{\"b\":1},{\"\\u0001\":1.5}]}",
			"{\"a\":[{\"b\":1,\"\\u0001\":null},{\"b\":null,\"\\u0001\":1.5}]}");
	CHECK_EQ(memory_calls(), calls);
}

static void each_lack_of_memory_is_told(void **state)
{
	struct wp_expand_options options = { 0 };
	enum wp_rc rc = WP_NOMEM;
	size_t count = 0;

	for (; rc == WP_NOMEM; count++) {
		wp_expand_free(expand);
		expand = NULL;
		memory_fails_after(count);
		rc = wp_expand_new(&options, SIZE_MAX_HERE, &expand);
		if (rc == WP_OK)
			rc = expand_text("{\"a\":[{\"\\u0001\":1},{\"c\":1}]}");
		memory_works();
	}
	CHECK_EQ(rc, WP_OK);
	CHECK_EQ(expanded.as, WP_EXPANDED_VALUE);
	CHECK(count > 5);
}

int main(void)
{
	return RUN(TEST(what_debezium_expands_is_the_same_to_the_byte),
		   TEST(what_debezium_leaves_as_it_is_stays), TEST(what_stops_debezium_fails),
		   TEST(a_long_payload_is_expanded_too), TEST(numbers_are_as_java_writes_them),
		   TEST(integers_end_at_64_bits), TEST(strings_are_as_jackson_writes_them),
		   TEST(of_members_of_one_name_the_last_stands_in_the_place_of_the_first),
		   TEST(what_follows_the_closing_brace_is_not_read),
		   TEST(nulls_and_empty_arrays_are_left_out),
		   TEST(nulls_are_kept_where_that_is_wanted),
		   TEST(empty_arrays_are_kept_where_that_is_wanted),
		   TEST(an_empty_array_stays_but_has_no_schema), TEST(elements_must_be_of_one_type),
		   TEST(arrays_in_an_array_must_fit_the_first),
		   TEST(objects_of_an_array_have_the_members_of_all),
		   TEST(a_member_without_a_name_has_no_place_in_a_schema),
		   TEST(a_number_has_a_thousand_digits_at_most),
		   TEST(a_thousand_containers_stand_within_each_other_at_most),
		   TEST(a_value_above_the_limit_fails),
		   TEST(only_what_is_written_counts_for_the_limit),
		   TEST(more_values_than_fit_take_no_memory),
		   TEST(objects_with_members_of_their_own_stop_at_the_limit),
		   TEST(a_member_that_would_be_lost_fails),
		   TEST(one_expansion_follows_another_without_new_memory),
		   TEST(each_lack_of_memory_is_told));
}
