#include <string.h>

#include "support/memory.h"
#include "support/check.h"
#include "walpost/base/json.h"
#include "walpost/envelope/expand.h"

/* What JsonConverter of Kafka 4.3 was seen to write beside a value, letter by letter. */

static struct wp_expand *expand;
static struct wp_buffer schema;
static struct wp_error error;

static void begin(bool keep_nulls, bool keep_empty_arrays)
{
	struct wp_expand_options options = { keep_nulls, keep_empty_arrays };

	wp_expand_free(expand);
	CHECK_EQ(wp_expand_new(&options, 1 << 20, &expand), WP_OK);
}

static int set_up(void **state)
{
	begin(false, false);
	wp_buffer_init(&schema, 1 << 20);
	return 0;
}

static int tear_down(void **state)
{
	wp_expand_free(expand);
	expand = NULL;
	wp_buffer_release(&schema);
	return 0;
}

static void expand_text(const char *payload)
{
	struct wp_expanded expanded;

	CHECK_EQ(wp_expand_payload(expand, wp_span_of(payload), &expanded, &error), WP_OK);
	CHECK_EQ(expanded.as, WP_EXPANDED_VALUE);
}

static enum wp_rc write_as(const char *column, const char *field)
{
	wp_buffer_reset(&schema);
	return wp_expand_schema(expand, wp_span_of(column), wp_span_of(field), &schema, &error);
}

static void has(const char *payload, const char *wanted)
{
	expand_text(payload);
	CHECK_EQ(write_as("payload", NULL), WP_OK);
	CHECK_SPAN(wp_buffer_span(&schema), wanted);
}

#define STRUCT_END "],\"optional\":true,\"name\":\"payload\"}"
#define STRUCT_OF(fields_) "{\"type\":\"struct\",\"fields\":[" fields_ STRUCT_END
#define INT32 "{\"type\":\"int32\",\"optional\":true}"
#define INT32_FIELD(name_) "{\"type\":\"int32\",\"optional\":true,\"field\":\"" name_ "\"}"
#define ARRAY_FIELD(items_, name_) \
	"{\"type\":\"array\",\"items\":" items_ ",\"optional\":true,\"field\":\"" name_ "\"}"

static void an_object_is_a_struct(void **state)
{
	has("{}", STRUCT_OF(""));
	has("{\"i\":2147483647,\"l\":2147483648,\"d\":1.0,\"b\":true,\"s\":\"x\"}",
	    STRUCT_OF(INT32_FIELD("i") ","
				       "{\"type\":\"int64\",\"optional\":true,\"field\":\"l\"},"
				       "{\"type\":\"double\",\"optional\":true,\"field\":\"d\"},"
				       "{\"type\":\"boolean\",\"optional\":true,\"field\":\"b\"},"
				       "{\"type\":\"string\",\"optional\":true,\"field\":\"s\"}"));
}

static void what_is_left_out_is_no_field(void **state)
{
	has("{\"a\":null,\"b\":[],\"c\":1}", STRUCT_OF(INT32_FIELD("c")));
	has("{\"a\":1,\"b\":2,\"a\":null}", STRUCT_OF(INT32_FIELD("b")));
}

static void what_is_kept_is_bytes_and_strings(void **state)
{
	begin(true, true);
	has("{\"a\":null,\"b\":[],\"c\":[null]}",
	    STRUCT_OF("{\"type\":\"bytes\",\"optional\":true,\"field\":\"a\"}," ARRAY_FIELD(
		    "{\"type\":\"string\",\"optional\":true}",
		    "b") "," ARRAY_FIELD("{\"type\":\"bytes\",\"optional\":true}", "c")));
}

static void a_struct_has_the_name_of_its_place(void **state)
{
	has("{\"a\":{\"x.y\":{\"b\":1}}}",
	    STRUCT_OF("{\"type\":\"struct\",\"fields\":["
		      "{\"type\":\"struct\",\"fields\":[" INT32_FIELD(
			      "b") "],\"optional\":true,\"name\":\"payload.a.x.y\","
				   "\"field\":\"x.y\"}"
				   "],\"optional\":true,\"name\":\"payload.a\",\"field\":\"a\"}"));
	has("{\"a\":[{\"b\":1},null]}",
	    STRUCT_OF(ARRAY_FIELD("{\"type\":\"struct\",\"fields\":[" INT32_FIELD(
					  "b") "],\"optional\":true,\"name\":\"payload.a\"}",
				  "a")));
}

static void names_are_escaped(void **state)
{
	has("{\"\\ud83d\":{\"\\\"\":{}}}",
	    STRUCT_OF("{\"type\":\"struct\",\"fields\":["
		      "{\"type\":\"struct\",\"fields\":[],\"optional\":true,"
		      "\"name\":\"payload.\\uD83D.\\\"\",\"field\":\"\\\"\"}"
		      "],\"optional\":true,\"name\":\"payload.\\uD83D\",\"field\":\"\\uD83D\"}"));
}

/* They have lost their place: Debezium goes on with no name there. */
static void in_arrays_of_arrays_names_begin_anew(void **state)
{
#define NAMED(name_, fields_)                                                               \
	"{\"type\":\"struct\",\"fields\":[" fields_ "],\"optional\":true,\"name\":\"" name_ \
	"\",\"field\":"
#define NAMELESS(fields_) "{\"type\":\"struct\",\"fields\":[" fields_ "],\"optional\":true}"
#define TWICE_ARRAY(items_) \
	STRUCT_OF(ARRAY_FIELD("{\"type\":\"array\",\"items\":" items_ ",\"optional\":true}", "a"))
	has("{\"a\":[[1]]}", TWICE_ARRAY(INT32));
	has("{\"a\":[[{\"b\":{\"c\":{}}}]]}",
	    TWICE_ARRAY(NAMELESS(NAMED("b", NAMED("b.c", "") "\"c\"}") "\"b\"}")));
	has("{\"a\":[[{\" \":{\"c\":{}}}]]}",
	    TWICE_ARRAY(NAMELESS(NAMED(" ", NAMED("c", "") "\"c\"}") "\" \"}")));
	has("{\"a\":[[{\"\\t\\u0001\":{\"c\":{}}}]]}",
	    TWICE_ARRAY(NAMELESS(NAMED("\\t\\u0001", NAMED("c", "") "\"c\"}") "\"\\t\\u0001\"}")));
	has("{\"a\":[[{\"\\ud83d\":{\"c\":{}}}]]}",
	    TWICE_ARRAY(
		    NAMELESS(NAMED("\\uD83D", NAMED("\\uD83D.c", "") "\"c\"}") "\"\\uD83D\"}")));
}

static void objects_that_are_brought_together_are_required(void **state)
{
	has("{\"a\":[{\"b\":1},{\"b\":2},{\"c\":3}]}",
	    STRUCT_OF(ARRAY_FIELD("{\"type\":\"struct\",\"fields\":[" INT32_FIELD(
					  "b") "," INT32_FIELD("c") "],\"optional\":false,\"name\":"
								    "\"payload.a\"}",
				  "a")));
}

static void the_column_gives_the_name(void **state)
{
	expand_text("{\"a\":{}}");
	CHECK_EQ(write_as("d\"\xF0\x9F\x98\x80", NULL), WP_OK);
	CHECK_SPAN(wp_buffer_span(&schema),
		   "{\"type\":\"struct\",\"fields\":[{\"type\":\"struct\",\"fields\":[],"
		   "\"optional\":true,\"name\":\"d\\\"\\uD83D\\uDE00.a\",\"field\":\"a\"}],"
		   "\"optional\":true,\"name\":\"d\\\"\\uD83D\\uDE00\"}");
}

static void it_may_be_a_field_of_another(void **state)
{
	expand_text("{}");
	CHECK_EQ(write_as("data", "pay\"load"), WP_OK);
	CHECK_SPAN(wp_buffer_span(&schema),
		   "{\"type\":\"struct\",\"fields\":[],\"optional\":true,\"name\":\"data\","
		   "\"field\":\"pay\\\"load\"}");
}

static void expand_nested(size_t depth)
{
	static char text[4096];

	memset(text, '[', sizeof(text));
	memcpy(text, "{\"a\":", 5);
	text[5 + depth] = '1';
	memset(text + 6 + depth, ']', depth);
	memcpy(text + 6 + 2 * depth, "}", 2);
	expand_text(text);
}

/* JsonConverter's object, the struct, its fields, then an object for each array and the last. */
static void a_schema_has_a_thousand_levels_at_most(void **state)
{
	struct wp_json json;

	expand_nested(996);
	CHECK_EQ(write_as("payload", NULL), WP_OK);
	CHECK_EQ(wp_json_read(wp_buffer_span(&schema), &json, NULL), WP_OK);
	CHECK_EQ(write_as("payload", "payload"), WP_DATA);
	expand_nested(994);
	CHECK_EQ(write_as("payload", "payload"), WP_OK);
	expand_nested(997);
	CHECK_EQ(write_as("payload", NULL), WP_DATA);
	CHECK_HAS(error.text, "more than 1,000 levels");
}

static void no_room_and_no_memory_are_told(void **state)
{
	struct wp_buffer small;

	expand_text("{\"a\":1}");
	for (size_t room = 0; room < 200; room++) {
		wp_buffer_init(&small, room);
		enum wp_rc rc =
			wp_expand_schema(expand, wp_span_of("p"), wp_span_of("f"), &small, &error);
		CHECK_EQ(rc, room < 112 ? WP_FULL : WP_OK);
		wp_buffer_release(&small);
	}
	CHECK_HAS(error.text, "exceeds 111 bytes");
	memory_fails_after(0);
	wp_buffer_init(&small, 200);
	CHECK_EQ(wp_expand_schema(expand, wp_span_of("p"), wp_span_of(NULL), &small, &error),
		 WP_NOMEM);
	memory_works();
	CHECK_HAS(error.text, "out of memory");
	wp_buffer_release(&small);
}

int main(void)
{
	return RUN(
		TEST(an_object_is_a_struct), TEST(what_is_left_out_is_no_field),
		TEST(what_is_kept_is_bytes_and_strings), TEST(a_struct_has_the_name_of_its_place),
		TEST(names_are_escaped), TEST(in_arrays_of_arrays_names_begin_anew),
		TEST(objects_that_are_brought_together_are_required),
		TEST(the_column_gives_the_name), TEST(it_may_be_a_field_of_another),
		TEST(a_schema_has_a_thousand_levels_at_most), TEST(no_room_and_no_memory_are_told));
}
