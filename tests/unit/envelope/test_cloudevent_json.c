#include "cloudevents.h"
#include "support/memory.h"
#include "support/check.h"
#include "walpost/base/json.h"

#define BARE                                                            \
	"{\"specversion\":\"1.0\",\"id\":\"7\",\"source\":\"/orders\"," \
	"\"type\":\"placed\",\"time\":\"2018-04-05T17:31:00.123456Z\""

static struct wp_error error;
static struct wp_buffer into;

static int set_up(void **state)
{
	bare_event();
	wp_buffer_init(&into, 4096);
	return 0;
}

static int tear_down(void **state)
{
	wp_buffer_release(&into);
	return 0;
}

static void written(const char *wanted)
{
	struct wp_json json;

	CHECK_EQ(wp_cloudevent_check(&event, &error), WP_OK);
	CHECK_EQ(wp_cloudevent_json(&event, &into, &error), WP_OK);
	CHECK_SPAN(wp_buffer_span(&into), wanted);
	CHECK_EQ(wp_json_read(wp_buffer_span(&into), &json, NULL), WP_OK);
}

static void refused(const char *wanted)
{
	CHECK_EQ(wp_cloudevent_json(&event, &into, &error), WP_DATA);
	CHECK_TEXT(error.text, wanted);
	CHECK_EQ(wp_cloudevent_json(&event, &into, NULL), WP_DATA);
}

static void members_come_in_one_order(void **state)
{
	full_event();
	written("{\"specversion\":\"1.0\",\"id\":\"7\",\"source\":\"/orders\","
		"\"type\":\"placed\",\"subject\":\"order 42\","
		"\"time\":\"2018-04-05T17:31:00.123456Z\","
		"\"datacontenttype\":\"application/json\","
		"\"dataschema\":\"https://example.com/order/1\",\"tenant\":\"t1\","
		"\"region2\":\"\",\"data\":{\"a\": 1}}");
}

static void what_an_event_has_not_is_no_member(void **state)
{
	struct wp_header extension = { .name = wp_span_of("tenant") };

	event.extensions = &extension;
	event.extension_count = 1;
	written(BARE "}");
}

static void what_json_must_escape_is_escaped_in_attributes(void **state)
{
	event.id = wp_span_of("\"\\/\u20ac\U0001F600");
	written("{\"specversion\":\"1.0\",\"id\":\"\\\"\\\\/\u20ac\U0001F600\","
		"\"source\":\"/orders\",\"type\":\"placed\","
		"\"time\":\"2018-04-05T17:31:00.123456Z\"}");
}

static void json_data_stays_byte_for_byte(void **state)
{
	event.data = wp_span_of(" {\"b\" : 1.0, \"a\":1e400,\n\"b\":\"\\u0041\"}\n");
	written(BARE ",\"data\":{\"b\" : 1.0, \"a\":1e400,\n\"b\":\"\\u0041\"}}");
	event.data = wp_span_of("null");
	written(BARE ",\"data\":null}");
	event.data = wp_span_of("\"a string\"");
	written(BARE ",\"data\":\"a string\"}");
}

static void data_of_a_suffix_json_is_json_too(void **state)
{
	event.datacontenttype = wp_span_of("application/vnd.order+json");
	event.data = wp_span_of("[1]");
	written(BARE ",\"datacontenttype\":\"application/vnd.order+json\",\"data\":[1]}");
}

static void text_data_is_a_string(void **state)
{
	event.datacontenttype = wp_span_of("text/plain");
	event.data = wp_span_of("{\"a\":\t1}\x01");
	written(BARE ",\"datacontenttype\":\"text/plain\","
		     "\"data\":\"{\\\"a\\\":\\t1}\\u0001\"}");
	event.data = wp_span_of("");
	written(BARE ",\"datacontenttype\":\"text/plain\",\"data\":\"\"}");
	event.data = (struct wp_span){ (const uint8_t *)"a\0b", 3 };
	written(BARE ",\"datacontenttype\":\"text/plain\",\"data\":\"a\\u0000b\"}");
}

static void binary_data_is_base64_whatever_its_type(void **state)
{
	event.data_form = WP_CLOUDEVENT_BINARY;
	event.datacontenttype = wp_span_of("application/json");
	event.data = (struct wp_span){ (const uint8_t *)"\0\xFF{}", 4 };
	written(BARE ",\"datacontenttype\":\"application/json\",\"data_base64\":\"AP97fQ==\"}");
	event.data = wp_span_of("");
	written(BARE ",\"datacontenttype\":\"application/json\",\"data_base64\":\"\"}");
}

static void an_event_without_data_has_no_data_member(void **state)
{
	event.data_form = WP_CLOUDEVENT_BINARY;
	written(BARE "}");
}

static void data_that_is_no_json_is_refused(void **state)
{
	event.data = wp_span_of("[1 2]");
	refused("the payload is not JSON as declared by its datacontenttype (at byte 3 a comma or "
		"] is missing): correct the row, correct outbox.cloudevents.datacontenttype, or "
		"set outbox.envelope = cloudevents-binary");
	event.data = wp_span_of("");
	CHECK_EQ(wp_cloudevent_json(&event, &into, &error), WP_DATA);
	CHECK_HAS(error.text, "at byte 0 a value is missing");
}

static void data_that_is_no_utf8_is_refused(void **state)
{
	event.datacontenttype = wp_span_of("text/plain");
	event.data = wp_span_of("caf\xE9");
	refused("the payload is not UTF-8, as a JSON string requires: correct the row, or "
		"set outbox.envelope = cloudevents-binary");
}

static void what_was_in_the_buffer_is_gone(void **state)
{
	CHECK_EQ(wp_buffer_append_text(&into, "before"), WP_OK);
	written(BARE "}");
}

static void it_fills_its_bound_and_not_one_byte_more(void **state)
{
	full_event();
	CHECK_EQ(wp_cloudevent_json(&event, &into, &error), WP_OK);
	size_t size = into.size;
	for (size_t bound = 0; bound <= size + 1; bound++) {
		wp_buffer_release(&into);
		wp_buffer_init(&into, bound);
		CHECK_EQ(wp_cloudevent_json(&event, &into, &error), bound < size ? WP_FULL : WP_OK);
	}
}

static void binary_data_fills_its_bound_too(void **state)
{
	event.data_form = WP_CLOUDEVENT_BINARY;
	event.data = wp_span_of("four");
	CHECK_EQ(wp_cloudevent_json(&event, &into, &error), WP_OK);
	size_t size = into.size;
	for (size_t bound = size - 30; bound <= size; bound++) {
		wp_buffer_release(&into);
		wp_buffer_init(&into, bound);
		CHECK_EQ(wp_cloudevent_json(&event, &into, &error), bound < size ? WP_FULL : WP_OK);
	}
}

static void the_next_event_asks_for_no_memory(void **state)
{
	full_event();
	CHECK_EQ(wp_cloudevent_json(&event, &into, &error), WP_OK);
	size_t before = memory_calls();
	CHECK_EQ(wp_cloudevent_json(&event, &into, &error), WP_OK);
	CHECK_EQ(memory_calls(), before);
}

static void out_of_memory_is_said(void **state)
{
	for (size_t i = 0; i < 2; i++) {
		memory_fails_after(i);
		CHECK_EQ(wp_cloudevent_json(&event, &into, &error), WP_NOMEM);
		memory_works();
		(void)tear_down(NULL);
		(void)set_up(NULL);
	}
}

int main(void)
{
	return RUN(TEST(members_come_in_one_order), TEST(what_an_event_has_not_is_no_member),
		   TEST(what_json_must_escape_is_escaped_in_attributes),
		   TEST(json_data_stays_byte_for_byte), TEST(data_of_a_suffix_json_is_json_too),
		   TEST(text_data_is_a_string), TEST(binary_data_is_base64_whatever_its_type),
		   TEST(an_event_without_data_has_no_data_member),
		   TEST(data_that_is_no_json_is_refused), TEST(data_that_is_no_utf8_is_refused),
		   TEST(what_was_in_the_buffer_is_gone),
		   TEST(it_fills_its_bound_and_not_one_byte_more),
		   TEST(binary_data_fills_its_bound_too), TEST(the_next_event_asks_for_no_memory),
		   TEST(out_of_memory_is_said));
}
