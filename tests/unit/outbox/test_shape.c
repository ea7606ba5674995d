#include <stdlib.h>
#include <string.h>

#include "event.pb-c.h"
#include "support/memory.h"
#include "support/rows.h"
#include "support/check.h"
#include "walpost/outbox/shape.h"

static struct wp_outbox_options options;
static struct wp_shape *shape; /* of the options when shape_for() was called last */
static struct wp_event event;
static struct wp_error error;

static void shape_for(size_t value_size_max)
{
	wp_shape_free(shape);
	shape = NULL;
	CHECK_EQ(wp_shape_new(&options, value_size_max, &shape, &error), WP_OK);
}

static const struct wp_column_type text_type = { .type = WP_TYPE_TEXT, .modifier = -1 };
static const struct wp_column_type bytea_type = { .type = WP_TYPE_BYTEA, .modifier = -1 };

static struct wp_event event_of(const char *payload)
{
	return (struct wp_event){
		.id = wp_span_of("7"),
		.key = wp_span_of("42"),
		.type = wp_span_of("Created"),
		.route = wp_span_of("Order"),
		.payload = wp_span_of(payload),
		.id_type = &text_type,
		.key_type = &text_type,
		.type_type = &text_type,
		.payload_type = &text_type,
		.table = "public.outbox",
		.schema = wp_span_of("public"),
		.name = wp_span_of("outbox"),
		.commit_time_us = 1500,
		.position = { .timeline = 1, .commit_lsn = 0x194AB88, .ordinal = 2 },
	};
}

static struct wp_event bytea_of(const char *payload)
{
	struct wp_event bytea = event_of(payload);

	bytea.payload_is_bytea = true;
	bytea.payload_type = &bytea_type;
	return bytea;
}

static int set_up(void **state)
{
	options = default_options();
	event = event_of("{}");
	shape_for(1024);
	return 0;
}

static int tear_down(void **state)
{
	wp_shape_free(shape);
	shape = NULL;
	return 0;
}

static struct wp_record shaped(void)
{
	struct wp_record record;

	CHECK_EQ(wp_shape_record(shape, &event, &record, &error), WP_OK);
	return record;
}

static void data_refused(const char *reason)
{
	struct wp_record record;

	error.text[0] = '\0';
	CHECK_EQ(wp_shape_record(shape, &event, &record, &error), WP_DATA);
	CHECK_HAS(error.text, "table public.outbox, id 7: ");
	CHECK_HAS(error.text, reason);
	CHECK_EQ(wp_shape_record(shape, &event, &record, NULL), WP_DATA);
}

static void options_refused(const char *reason)
{
	struct wp_shape *none = NULL;

	error.text[0] = '\0';
	CHECK_EQ(wp_shape_new(&options, 1024, &none, &error), WP_CONFIG);
	CHECK(none == NULL);
	CHECK_HAS(error.text, reason);
}

static void check_header(const struct wp_record *record, size_t index, const char *name,
			 const char *value)
{
	CHECK(index < record->header_count);
	CHECK_SPAN(record->headers[index].name, name);
	CHECK_EQ(record->headers[index].name.data[strlen(name)], '\0');
	if (value == NULL)
		CHECK(wp_span_is_null(record->headers[index].value));
	else
		CHECK_SPAN(record->headers[index].value, value);
}

static void an_event_becomes_a_record(void **state)
{
	event = event_of("{\"a\": 1}");
	struct wp_record record = shaped();
	CHECK_SPAN(record.topic, "outbox.event.Order");
	CHECK_EQ(record.topic.data[record.topic.size], '\0');
	CHECK_SPAN(record.key, "42");
	CHECK_SPAN(record.value, "{\"a\": 1}");
	CHECK_EQ(record.header_count, 3);
	check_header(&record, 0, "id", "7");
	check_header(&record, 1, "type", "Created");
	check_header(&record, 2, "walpost-position", "0000-00000001-000000000194AB88-00000002");
	CHECK_EQ(record.timestamp_ms, 946684800001);
	CHECK_EQ(record.partition, WP_PARTITION_BY_KEY);
	CHECK_EQ(record.position.commit_lsn, 0x194AB88);
	CHECK_TEXT(record.table, "public.outbox");
	CHECK_SPAN(record.id, "7");
}

static void null_and_empty_stay_what_they_are(void **state)
{
	event = event_of(NULL);
	event.key = event.type = (struct wp_span){ 0 };
	struct wp_record record = shaped();
	CHECK(wp_span_is_null(record.value));
	CHECK(wp_span_is_null(record.key));
	check_header(&record, 1, "type", NULL);
	event = event_of("");
	event.key = event.type = wp_span_of("");
	record = shaped();
	CHECK_SPAN(record.value, "");
	CHECK_SPAN(record.key, "");
	check_header(&record, 1, "type", "");
}

static void only_the_standard_headers_asked_for_are_there(void **state)
{
	options.headers_standard = "";
	shape_for(1024);
	CHECK_EQ(shaped().header_count, 0);

	options.headers_standard = " walpost-position , id ";
	shape_for(1024);
	struct wp_record record = shaped();
	CHECK_EQ(record.header_count, 2);
	check_header(&record, 0, "id", "7");
	check_header(&record, 1, "walpost-position", "0000-00000001-000000000194AB88-00000002");
}

static void without_a_type_column_there_is_no_type_header(void **state)
{
	options.column_type = "";
	event.type = (struct wp_span){ 0 };
	shape_for(1024);
	struct wp_record record = shaped();
	CHECK_EQ(record.header_count, 2);
	check_header(&record, 0, "id", "7");
	check_header(&record, 1, "walpost-position", "0000-00000001-000000000194AB88-00000002");
}

static void the_source_and_the_columns_follow(void **state)
{
	options.headers_source = "shop-1";
	options.headers = "tenant:t,id";
	event.headers.items[0].name = wp_span_of("t");
	event.headers.items[0].value = wp_span_of("acme");
	event.headers.items[1].name = wp_span_of("id");
	event.headers.items[0].type = event.headers.items[1].type = &text_type;
	event.headers.count = 2;
	shape_for(1024);
	struct wp_record record = shaped();
	CHECK_EQ(record.header_count, 6);
	check_header(&record, 3, "walpost-source", "shop-1");
	check_header(&record, 4, "t", "acme");
	check_header(&record, 5, "id", NULL);
}

static void all_headers_that_can_be_configured_fit(void **state)
{
	options.headers_source = "shop-1";
	options.envelope = WP_ENVELOPE_PROTOBUF;
	event.headers.count = WP_EVENT_FIELDS_MAX;
	for (size_t i = 0; i < event.headers.count; i++) {
		event.headers.items[i].name = wp_span_of("h");
		event.headers.items[i].type = &text_type;
	}
	shape_for(1024);
	CHECK_EQ(shaped().header_count, WP_EVENT_FIELDS_MAX + 4);
}

static void a_bytea_payload_is_decoded(void **state)
{
	event = bytea_of("\\x00ff7F0aB9");
	struct wp_record record = shaped();
	CHECK_EQ(record.value.size, 5);
	assert_memory_equal(record.value.data, "\x00\xFF\x7F\x0A\xB9", 5);
	event = bytea_of("\\x");
	CHECK_SPAN(shaped().value, "");
	event = bytea_of(NULL);
	CHECK(wp_span_is_null(shaped().value));
}

static void an_empty_bytea_before_any_other_is_empty_and_not_null(void **state)
{
	event = bytea_of("\\x");
	CHECK_SPAN(shaped().value, "");
}

static void a_text_payload_that_looks_like_a_bytea_is_left_alone(void **state)
{
	event = event_of("\\x4142");
	CHECK_SPAN(shaped().value, "\\x4142");
}

static void every_byte_comes_back(void **state)
{
	static const char digits[] = "0123456789abcdef";
	char text[2 + 512 + 1] = "\\x";

	for (size_t i = 0; i < 256; i++) {
		text[2 + 2 * i] = digits[i / 16];
		text[3 + 2 * i] = digits[i % 16];
	}
	event = bytea_of(text);
	struct wp_record record = shaped();
	CHECK_EQ(record.value.size, 256);
	for (size_t i = 0; i < 256; i++)
		CHECK_EQ(record.value.data[i], i);
}

static void broken_hex_is_refused_with_its_place(void **state)
{
	static const char *const broken[][2] = {
		{ "", "at offset 0 of 0" },
		{ "\\", "at offset 0 of 1" },
		{ "ab", "at offset 0 of 2" },
		{ "\\000", "at offset 0 of 4" },
		{ "\\X00", "at offset 0 of 4" },
		{ "\\x0", "at offset 2 of 3" },
		{ "\\x000", "at offset 4 of 5" },
		{ "\\x00g0", "at offset 4 of 6" },
		{ "\\x000g", "at offset 4 of 6" },
		{ "\\x00 0", "at offset 4 of 6" },
		{ "\\x00/0", "at offset 4 of 6" },
		{ "\\x00:0", "at offset 4 of 6" },
		{ "\\x00@0", "at offset 4 of 6" },
		{ "\\x00`0", "at offset 4 of 6" },
		{ "\\x00G0", "at offset 4 of 6" },
		{ "\\x00\x10"
		  "0",
		  "at offset 4 of 6" },
	};

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		event = bytea_of(broken[i][0]);
		data_refused(broken[i][1]);
	}
}

/* What is only decoded is no longer than it was: the sink judges it, as it does the same in binary. */
static void what_is_made_of_a_payload_fills_the_limit_and_not_one_byte_more(void **state)
{
	options.value_format = WP_FORM_JSON;
	shape_for(10);
	event = bytea_of("\\x010203040506");
	CHECK_EQ(shaped().value.size, 10);
	event = bytea_of("\\x01020304050607");
	data_refused("the value, from a payload of 16 bytes");
	CHECK_HAS(error.text, "exceeds 10 bytes");
	CHECK_HAS(error.text, "raise message.max.bytes in [kafka]");
	shape_for(0);
	CHECK_EQ(shaped().value.size, 14);
	options.value_format = WP_FORM_RAW;
	shape_for(4);
	CHECK_EQ(shaped().value.size, 7);
}

static void a_message_fills_the_limit_and_not_one_byte_more(void **state)
{
	options.envelope = WP_ENVELOPE_PROTOBUF;
	shape_for(1024);
	size_t size = shaped().value.size;
	shape_for(size);
	CHECK_EQ(shaped().value.size, size);
	shape_for(size - 1);
	data_refused("the value, from a payload of");
}

static void the_message_carries_the_payload_and_the_records_headers(void **state)
{
	event = bytea_of("\\xff00");
	options.envelope = WP_ENVELOPE_PROTOBUF;
	shape_for(1024);
	struct wp_record record = shaped();
	Walpost__V1__Event *message =
		walpost__v1__event__unpack(NULL, record.value.size, record.value.data);
	assert_non_null(message);
	CHECK_TEXT(message->aggregate, "Order");
	CHECK_EQ(message->payload.len, 2);
	assert_memory_equal(message->payload.data, "\xFF\0", 2);
	CHECK_EQ(message->n_headers, 3);
	CHECK_TEXT(message->headers[2]->name, "walpost-position");
	CHECK_EQ(record.header_count, 3);
	walpost__v1__event__free_unpacked(message, NULL);

	event = event_of(NULL);
	record = shaped();
	CHECK(!wp_span_is_null(record.value));
}

static void a_message_that_cannot_be_made_is_refused(void **state)
{
	options.envelope = WP_ENVELOPE_PROTOBUF;
	event.type = wp_span_of("\xE9");
	shape_for(1024);
	data_refused("the type \"\\xe9\" is not UTF-8");
}

static void a_topic_that_kafka_does_not_take_is_refused(void **state)
{
	event.route = wp_span_of("a b");
	data_refused("the topic \"outbox.event.a b\"");
}

static void the_timestamp_is_the_commit_time_and_never_now(void **state)
{
	int64_t epoch_us = INT64_C(946684800000000);
	int64_t times[][2] = {
		{ 0, 946684800000 },
		{ 999, 946684800000 },
		{ 1000, 946684800001 },
		{ -epoch_us + 2000, 2 },
		{ -epoch_us + 1000, 1 },
		{ -epoch_us, 1 },
		{ -epoch_us - 1000, 1 },
		{ INT64_MIN, 1 },
		{ INT64_MAX, INT64_MAX / 1000 + 946684800000 },
	};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		event.commit_time_us = times[i][0];
		CHECK(shaped().timestamp_ms == times[i][1]);
	}
}

static void wrong_options_are_refused_each_by_its_name(void **state)
{
	static const char *const lists[] = { "foo",   "id,",	 ",id",	  "id,,type",
					     "id,id", "id type", "id, ,", "ID" };

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		options.headers_standard = lists[i];
		options_refused("outbox.headers.standard = ");
		CHECK_HAS(error.text, "id, type and walpost-position");
	}
	options = default_options();
	options.headers = "a,";
	options_refused("outbox.headers = ");
	options = default_options();
	options.headers = "tenant:walpost-tenant";
	options_refused("outbox.headers: a header \"walpost-tenant\"");
	options = default_options();
	options.topic_regex = "(";
	options_refused("outbox.topic.regex = ");
	options = default_options();
	options.topic_replacement = "$9";
	options_refused("outbox.topic.replacement = ");
}

static void a_warm_shape_costs_no_memory(void **state)
{
	event = bytea_of("\\x00ff");
	options.envelope = WP_ENVELOPE_PROTOBUF;
	shape_for(1024);
	(void)shaped();
	size_t before = memory_calls();
	for (int i = 0; i < 100; i++)
		(void)shaped();
	CHECK_EQ(memory_calls(), before);
}

static void what_a_huge_event_took_is_given_back_by_a_small_one(void **state)
{
	size_t size = 2 + 2 * 4 * 1024 * 1024;
	char *huge = malloc(size + 1);

	shape_for(16 * 1024 * 1024);
	memset(huge, '0', size);
	memcpy(huge, "\\x", 2);
	huge[size] = '\0';
	event = bytea_of(huge);
	CHECK_EQ(shaped().value.size, 4 * 1024 * 1024);
	size_t before = memory_calls();
	CHECK_EQ(shaped().value.size, 4 * 1024 * 1024);
	CHECK_EQ(memory_calls(), before);
	event = bytea_of("\\x00");
	CHECK_EQ(shaped().value.size, 1);
	CHECK_EQ(memory_calls(), before + 1); /* a new, small buffer */
	free(huge);
}

static void out_of_memory_is_said(void **state)
{
	struct wp_shape *none = NULL;
	struct wp_record record;

	event = bytea_of("\\x00ff");
	for (size_t i = 0; i < 3; i++) {
		memory_fails_after(i);
		CHECK_EQ(wp_shape_new(&options, 1024, &none, &error), WP_NOMEM);
		memory_works();
		CHECK(none == NULL);
	}
	options.envelope = WP_ENVELOPE_PROTOBUF;
	for (size_t i = 0; i < 4; i++) {
		shape_for(1024);
		memory_fails_after(i); /* the topic, the decoded payload, the texts, the message */
		CHECK_EQ(wp_shape_record(shape, &event, &record, &error), WP_NOMEM);
		memory_works();
		CHECK_HAS(error.text, "out of memory");
	}
	wp_shape_free(NULL);
}

static void what_can_not_be_a_record_is_told_as_far_as_it_could_be_made(void **state)
{
	struct wp_record record;

	event = bytea_of("\\x414");
	shape_for(1000);
	data_refused("hexadecimal");
	CHECK_EQ(wp_shape_record(shape, &event, &record, &error), WP_DATA);
	CHECK(wp_span_is(record.topic, "outbox.event.Order"));
	CHECK(wp_span_is(record.value, "\\x414"));
	CHECK_EQ(record.header_count, 3);
	event = event_of("{}");
	event.route = wp_span_of("two words");
	CHECK_EQ(wp_shape_record(shape, &event, &record, &error), WP_DATA);
	CHECK_HAS(error.text, "two words");
	CHECK(wp_span_is_null(record.topic));
	CHECK(wp_span_is(record.value, "{}") && wp_span_is(record.key, "42"));
	event.route = (struct wp_span){ 0 };
	data_refused(": its topic is not defined");
}

int main(void)
{
	return RUN(TEST(an_event_becomes_a_record), TEST(null_and_empty_stay_what_they_are),
		   TEST(only_the_standard_headers_asked_for_are_there),
		   TEST(without_a_type_column_there_is_no_type_header),
		   TEST(the_source_and_the_columns_follow),
		   TEST(all_headers_that_can_be_configured_fit), TEST(a_bytea_payload_is_decoded),
		   TEST(an_empty_bytea_before_any_other_is_empty_and_not_null),
		   TEST(a_text_payload_that_looks_like_a_bytea_is_left_alone),
		   TEST(every_byte_comes_back), TEST(broken_hex_is_refused_with_its_place),
		   TEST(what_is_made_of_a_payload_fills_the_limit_and_not_one_byte_more),
		   TEST(a_message_fills_the_limit_and_not_one_byte_more),
		   TEST(the_message_carries_the_payload_and_the_records_headers),
		   TEST(a_message_that_cannot_be_made_is_refused),
		   TEST(a_topic_that_kafka_does_not_take_is_refused),
		   TEST(the_timestamp_is_the_commit_time_and_never_now),
		   TEST(wrong_options_are_refused_each_by_its_name),
		   TEST(a_warm_shape_costs_no_memory),
		   TEST(what_a_huge_event_took_is_given_back_by_a_small_one),
		   TEST(out_of_memory_is_said),
		   TEST(what_can_not_be_a_record_is_told_as_far_as_it_could_be_made));
}
