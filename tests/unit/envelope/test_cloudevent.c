#include <stdio.h>
#include <string.h>

#include "cloudevents.h"
#include "support/memory.h"
#include "support/check.h"

static struct wp_error error;
static struct wp_buffer texts;
static struct wp_header headers[WP_CLOUDEVENT_HEADERS_MAX + 1];
static size_t count;

static int set_up(void **state)
{
	bare_event();
	wp_buffer_init(&texts, 4096);
	count = 0;
	return 0;
}

static int tear_down(void **state)
{
	wp_buffer_release(&texts);
	return 0;
}

/* ---- check ---- */

static void good(void)
{
	struct wp_error said = { "" };

	if (wp_cloudevent_check(&event, &said) != WP_OK)
		fail_msg("%s", said.text);
}

static void refused(const char *wanted)
{
	CHECK_EQ(wp_cloudevent_check(&event, &error), WP_DATA);
	CHECK_TEXT(error.text, wanted);
	CHECK_EQ(wp_cloudevent_check(&event, NULL), WP_DATA);
}

static void what_every_event_has_is_enough(void **state)
{
	good();
}

static void all_that_an_event_can_have_is_good(void **state)
{
	full_event();
	good();
}

static void an_event_without_id_source_or_type_is_refused(void **state)
{
	event.id = (struct wp_span){ 0 };
	refused("the CloudEvents attribute id is missing, but every event requires it: "
		"correct the row, or set outbox.column.id");
	bare_event();
	event.source = (struct wp_span){ 0 };
	refused("the CloudEvents attribute source is missing, but every event requires it: correct "
		"the row, or set outbox.cloudevents.source or outbox.cloudevents.source.column");
	bare_event();
	event.type = (struct wp_span){ 0 };
	refused("the CloudEvents attribute type is missing, but every event requires it: "
		"correct the row, or set outbox.column.type");
}

static void an_empty_attribute_is_refused(void **state)
{
	static const struct {
		const char *name;
		size_t offset;
	} fields[] = {
		{ "id", offsetof(struct wp_cloudevent, id) },
		{ "source", offsetof(struct wp_cloudevent, source) },
		{ "type", offsetof(struct wp_cloudevent, type) },
		{ "subject", offsetof(struct wp_cloudevent, subject) },
		{ "datacontenttype", offsetof(struct wp_cloudevent, datacontenttype) },
		{ "dataschema", offsetof(struct wp_cloudevent, dataschema) },
	};
	char wanted[64];

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		bare_event();
		*(struct wp_span *)((char *)&event + fields[i].offset) = wp_span_of("");
		CHECK_EQ(wp_cloudevent_check(&event, &error), WP_DATA);
		(void)snprintf(wanted, sizeof(wanted),
			       "the CloudEvents attribute %s \"\" is empty: ", fields[i].name);
		CHECK_HAS(error.text, wanted);
	}
}

static void an_attribute_with_a_control_character_is_refused(void **state)
{
	event.id = wp_span_of("a\nb");
	refused("the CloudEvents attribute id \"a\\x0ab\" is not UTF-8 or contains a control "
		"character or a noncharacter: correct the row, or set outbox.column.id");
	bare_event();
	event.type = wp_span_of("\xE9");
	refused("the CloudEvents attribute type \"\\xe9\" is not UTF-8 or contains a control "
		"character or a noncharacter: correct the row, or set outbox.column.type");
	bare_event();
	event.subject = wp_span_of("\x7F");
	refused("the CloudEvents attribute subject \"\\x7f\" is not UTF-8 or contains a control "
		"character or a noncharacter: correct the row, or set outbox.cloudevents.subject");
}

static void an_attribute_of_a_wrong_form_is_refused(void **state)
{
	event.source = wp_span_of("my orders");
	refused("the CloudEvents attribute source \"my orders\" is not a URI reference "
		"(RFC 3986; other characters are percent-encoded): correct the row, or set "
		"outbox.cloudevents.source or outbox.cloudevents.source.column");
	bare_event();
	event.datacontenttype = wp_span_of("json");
	refused("the CloudEvents attribute datacontenttype \"json\" is not a media type "
		"such as application/json: correct the row, or set "
		"outbox.cloudevents.datacontenttype");
	bare_event();
	event.dataschema = wp_span_of("/order");
	refused("the CloudEvents attribute dataschema \"/order\" is not an absolute URI "
		"(RFC 3986, 4.3: scheme:..., without a fragment): correct the row, or set "
		"outbox.cloudevents.dataschema");
}

static void a_time_that_cannot_be_written_is_refused(void **state)
{
	event.time_us = INT64_MAX;
	refused("the CloudEvents attribute time is 9223372036854775807 microseconds from 1970, "
		"outside the years 1 to 9999: correct the row, or set outbox.column.timestamp");
}

static void an_extension_with_a_wrong_name_is_refused(void **state)
{
	full_event();
	extensions[1].name = wp_span_of("order_id");
	refused("the name of the CloudEvents extension \"order_id\" has characters other "
		"than a-z and 0-9, or is an attribute of CloudEvents: rename it in "
		"outbox.cloudevents.extensions");
	extensions[1].name = wp_span_of("time");
	CHECK_EQ(wp_cloudevent_check(&event, &error), WP_DATA);
	CHECK_HAS(error.text, "the name of the CloudEvents extension \"time\"");
}

static void an_extension_that_is_there_twice_is_refused(void **state)
{
	full_event();
	extensions[1].name = wp_span_of("tenant");
	refused("the CloudEvents extension \"tenant\" is listed twice: list it once in "
		"outbox.cloudevents.extensions");
}

static void an_extension_with_a_control_character_is_refused(void **state)
{
	full_event();
	extensions[1].value = wp_span_of("a\tb");
	refused("the CloudEvents attribute region2 \"a\\x09b\" is not UTF-8 or contains a "
		"control character or a noncharacter: correct the row, or set "
		"outbox.cloudevents.extensions");
}

static void a_long_value_is_told_in_part(void **state)
{
	char value[300];

	memset(value, 'a', sizeof(value));
	value[299] = '\n';
	event.id = (struct wp_span){ (const uint8_t *)value, sizeof(value) };
	CHECK_EQ(wp_cloudevent_check(&event, &error), WP_DATA);
	CHECK_HAS(error.text, "aaaa...\" is not UTF-8");
	CHECK_HAS(error.text, "outbox.column.id");
}

/* ---- binary mode ---- */

static void header_is(size_t index, const char *name, const char *value)
{
	CHECK_SPAN(headers[index].name, name);
	CHECK_EQ(headers[index].name.data[headers[index].name.size], '\0');
	CHECK_SPAN(headers[index].value, value);
}

static void headers_come_in_one_order(void **state)
{
	full_event();
	CHECK_EQ(wp_cloudevent_headers(&event, &texts, headers, 10, &count), WP_OK);
	CHECK_EQ(count, 10);
	header_is(0, "ce_specversion", "1.0");
	header_is(1, "ce_id", "7");
	header_is(2, "ce_source", "/orders");
	header_is(3, "ce_type", "placed");
	header_is(4, "ce_subject", "order 42");
	header_is(5, "ce_time", "2018-04-05T17:31:00.123456Z");
	header_is(6, "ce_dataschema", "https://example.com/order/1");
	header_is(7, "ce_tenant", "t1");
	header_is(8, "ce_region2", "");
	header_is(9, "content-type", "application/json");
}

static void what_an_event_has_not_is_no_header(void **state)
{
	struct wp_header extension = { .name = wp_span_of("tenant") };

	event.extensions = &extension;
	event.extension_count = 1;
	CHECK_EQ(wp_cloudevent_headers(&event, &texts, headers, 5, &count), WP_OK);
	CHECK_EQ(count, 5);
	header_is(0, "ce_specversion", "1.0");
	header_is(4, "ce_time", "2018-04-05T17:31:00.123456Z");
}

/* Kafka's headers are UTF-8 as it is; percent-encoding is for HTTP. */
static void values_are_not_encoded(void **state)
{
	event.subject = wp_span_of("\u20ac 100% \"x\"");
	CHECK_EQ(wp_cloudevent_headers(&event, &texts, headers, 6, &count), WP_OK);
	header_is(4, "ce_subject", "\u20ac 100% \"x\"");
}

static void headers_that_are_there_stay(void **state)
{
	headers[0] = (struct wp_header){ wp_span_of("trace"), wp_span_of("x") };
	count = 1;
	CHECK_EQ(wp_cloudevent_headers(&event, &texts, headers, 6, &count), WP_OK);
	CHECK_EQ(count, 6);
	header_is(0, "trace", "x");
	header_is(1, "ce_specversion", "1.0");
}

static void headers_beyond_their_bound_are_not_written(void **state)
{
	full_event();
	headers[9] = (struct wp_header){ wp_span_of("untouched"), wp_span_of("x") };
	CHECK_EQ(wp_cloudevent_headers(&event, &texts, headers, 9, &count), WP_FULL);
	CHECK_EQ(count, 0);
	header_is(9, "untouched", "x");
	CHECK_EQ(wp_cloudevent_headers(&event, &texts, headers, 10, &count), WP_OK);
	count = 0;
	CHECK_EQ(wp_cloudevent_headers(&event, &texts, headers, 11, &count), WP_OK);
	CHECK_EQ(wp_cloudevent_headers(&event, &texts, headers, 11, &count), WP_FULL);
	CHECK_EQ(count, 10);
}

static void texts_fill_their_bound_and_not_one_byte_more(void **state)
{
	size_t size = WP_CLOUDEVENT_TIME_SIZE + sizeof("ce_tenant") + sizeof("ce_region2");

	full_event();
	wp_buffer_release(&texts);
	wp_buffer_init(&texts, size - 1);
	CHECK_EQ(wp_cloudevent_headers(&event, &texts, headers, 10, &count), WP_FULL);
	CHECK_EQ(count, 0);
	wp_buffer_release(&texts);
	wp_buffer_init(&texts, size);
	CHECK_EQ(wp_cloudevent_headers(&event, &texts, headers, 10, &count), WP_OK);
	header_is(8, "ce_region2", "");
}

static void the_most_extensions_fit(void **state)
{
	struct wp_header most[WP_CLOUDEVENT_EXTENSIONS_MAX];
	char names[WP_CLOUDEVENT_EXTENSIONS_MAX][4];

	full_event();
	for (size_t i = 0; i < WP_CLOUDEVENT_EXTENSIONS_MAX; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "x%zu", i);
		most[i] = (struct wp_header){ wp_span_of(names[i]), wp_span_of("v") };
	}
	event.extensions = most;
	event.extension_count = WP_CLOUDEVENT_EXTENSIONS_MAX;
	good();
	CHECK_EQ(wp_cloudevent_headers(&event, &texts, headers, WP_CLOUDEVENT_HEADERS_MAX, &count),
		 WP_OK);
	CHECK_EQ(count, WP_CLOUDEVENT_HEADERS_MAX);
	header_is(7, "ce_x0", "v");
	header_is(70, "ce_x63", "v");
	header_is(71, "content-type", "application/json");
}

static void the_next_event_asks_for_no_memory(void **state)
{
	full_event();
	CHECK_EQ(wp_cloudevent_headers(&event, &texts, headers, 10, &count), WP_OK);
	size_t before = memory_calls();
	count = 0;
	CHECK_EQ(wp_cloudevent_check(&event, &error), WP_OK);
	CHECK_EQ(wp_cloudevent_headers(&event, &texts, headers, 10, &count), WP_OK);
	CHECK_EQ(memory_calls(), before);
}

static void out_of_memory_is_said(void **state)
{
	memory_fails_after(0);
	CHECK_EQ(wp_cloudevent_headers(&event, &texts, headers, 10, &count), WP_NOMEM);
	memory_works();
	CHECK_EQ(count, 0);
}

int main(void)
{
	return RUN(
		TEST(what_every_event_has_is_enough), TEST(all_that_an_event_can_have_is_good),
		TEST(an_event_without_id_source_or_type_is_refused),
		TEST(an_empty_attribute_is_refused),
		TEST(an_attribute_with_a_control_character_is_refused),
		TEST(an_attribute_of_a_wrong_form_is_refused),
		TEST(a_time_that_cannot_be_written_is_refused),
		TEST(an_extension_with_a_wrong_name_is_refused),
		TEST(an_extension_that_is_there_twice_is_refused),
		TEST(an_extension_with_a_control_character_is_refused),
		TEST(a_long_value_is_told_in_part), TEST(headers_come_in_one_order),
		TEST(what_an_event_has_not_is_no_header), TEST(values_are_not_encoded),
		TEST(headers_that_are_there_stay), TEST(headers_beyond_their_bound_are_not_written),
		TEST(texts_fill_their_bound_and_not_one_byte_more), TEST(the_most_extensions_fit),
		TEST(the_next_event_asks_for_no_memory), TEST(out_of_memory_is_said));
}
