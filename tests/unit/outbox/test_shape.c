#include <stdlib.h>
#include <string.h>

#include "event.pb-c.h"
#include "support/memory.h"
#include "support/rows.h"
#include "support/check.h"
#include "walpost/outbox/shape.h"

static struct wp_error error;

static struct wp_shape *shape_of(const struct wp_outbox_options *options, size_t value_size_max)
{
	struct wp_shape *s = NULL;

	CHECK_EQ(wp_shape_new(options, value_size_max, &s, &error), WP_OK);
	return s;
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
	struct wp_event event = event_of(payload);

	event.payload_is_bytea = true;
	event.payload_type = &bytea_type;
	return event;
}

static struct wp_record shaped(struct wp_shape *s, const struct wp_event *event)
{
	struct wp_record record;

	CHECK_EQ(wp_shape_record(s, event, &record, &error), WP_OK);
	return record;
}

static void data_refused(struct wp_shape *s, const struct wp_event *event, const char *reason)
{
	struct wp_record record;

	error.text[0] = '\0';
	CHECK_EQ(wp_shape_record(s, event, &record, &error), WP_DATA);
	CHECK_HAS(error.text, "table public.outbox, id 7: ");
	CHECK_HAS(error.text, reason);
	CHECK_EQ(wp_shape_record(s, event, &record, NULL), WP_DATA);
}

static void options_refused(const struct wp_outbox_options *options, const char *reason)
{
	struct wp_shape *s = NULL;

	error.text[0] = '\0';
	CHECK_EQ(wp_shape_new(options, 1024, &s, &error), WP_CONFIG);
	CHECK(s == NULL);
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
	struct wp_outbox_options options = default_options();
	struct wp_shape *s = shape_of(&options, 1024);
	struct wp_event event = event_of("{\"a\": 1}");
	struct wp_record record = shaped(s, &event);

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
	wp_shape_free(s);
}

static void null_and_empty_stay_what_they_are(void **state)
{
	struct wp_outbox_options options = default_options();
	struct wp_shape *s = shape_of(&options, 1024);
	struct wp_event event = event_of(NULL);
	event.key = event.type = (struct wp_span){ 0 };
	struct wp_record record = shaped(s, &event);

	CHECK(wp_span_is_null(record.value));
	CHECK(wp_span_is_null(record.key));
	check_header(&record, 1, "type", NULL);
	event = event_of("");
	event.key = event.type = wp_span_of("");
	record = shaped(s, &event);
	CHECK_SPAN(record.value, "");
	CHECK_SPAN(record.key, "");
	check_header(&record, 1, "type", "");
	wp_shape_free(s);
}

static void only_the_standard_headers_asked_for_are_there(void **state)
{
	struct wp_outbox_options options = default_options();
	struct wp_event event = event_of("{}");

	options.headers_standard = "";
	struct wp_shape *s = shape_of(&options, 1024);
	CHECK_EQ(shaped(s, &event).header_count, 0);
	wp_shape_free(s);

	options.headers_standard = " walpost-position , id ";
	s = shape_of(&options, 1024);
	struct wp_record record = shaped(s, &event);
	CHECK_EQ(record.header_count, 2);
	check_header(&record, 0, "id", "7");
	check_header(&record, 1, "walpost-position", "0000-00000001-000000000194AB88-00000002");
	wp_shape_free(s);
}

static void without_a_type_column_there_is_no_type_header(void **state)
{
	struct wp_outbox_options options = default_options();
	struct wp_event event = event_of("{}");

	options.column_type = "";
	event.type = (struct wp_span){ 0 };
	struct wp_shape *s = shape_of(&options, 1024);
	struct wp_record record = shaped(s, &event);
	CHECK_EQ(record.header_count, 2);
	check_header(&record, 0, "id", "7");
	check_header(&record, 1, "walpost-position", "0000-00000001-000000000194AB88-00000002");
	wp_shape_free(s);
}

static void the_source_and_the_columns_follow(void **state)
{
	struct wp_outbox_options options = default_options();
	struct wp_event event = event_of("{}");

	options.headers_source = "shop-1";
	options.headers = "tenant:t,id";
	event.headers.items[0].name = wp_span_of("t");
	event.headers.items[0].value = wp_span_of("acme");
	event.headers.items[1].name = wp_span_of("id");
	event.headers.items[0].type = event.headers.items[1].type = &text_type;
	event.headers.count = 2;
	struct wp_shape *s = shape_of(&options, 1024);
	struct wp_record record = shaped(s, &event);
	CHECK_EQ(record.header_count, 6);
	check_header(&record, 3, "walpost-source", "shop-1");
	check_header(&record, 4, "t", "acme");
	check_header(&record, 5, "id", NULL);
	wp_shape_free(s);
}

static void all_headers_that_can_be_configured_fit(void **state)
{
	struct wp_outbox_options options = default_options();
	struct wp_event event = event_of("{}");

	options.headers_source = "shop-1";
	options.envelope = WP_ENVELOPE_PROTOBUF;
	event.headers.count = WP_EVENT_FIELDS_MAX;
	for (size_t i = 0; i < event.headers.count; i++) {
		event.headers.items[i].name = wp_span_of("h");
		event.headers.items[i].type = &text_type;
	}
	struct wp_shape *s = shape_of(&options, 1024);
	CHECK_EQ(shaped(s, &event).header_count, WP_EVENT_FIELDS_MAX + 4);
	wp_shape_free(s);
}

static void a_bytea_payload_is_decoded(void **state)
{
	struct wp_outbox_options options = default_options();
	struct wp_shape *s = shape_of(&options, 1024);
	struct wp_event event = bytea_of("\\x00ff7F0aB9");
	struct wp_record record = shaped(s, &event);

	CHECK_EQ(record.value.size, 5);
	assert_memory_equal(record.value.data, "\x00\xFF\x7F\x0A\xB9", 5);
	event = bytea_of("\\x");
	CHECK_SPAN(shaped(s, &event).value, "");
	event = bytea_of(NULL);
	CHECK(wp_span_is_null(shaped(s, &event).value));
	wp_shape_free(s);
}

static void an_empty_bytea_before_any_other_is_empty_and_not_null(void **state)
{
	struct wp_outbox_options options = default_options();
	struct wp_shape *s = shape_of(&options, 1024);
	struct wp_event event = bytea_of("\\x");

	CHECK_SPAN(shaped(s, &event).value, "");
	wp_shape_free(s);
}

static void a_text_payload_that_looks_like_a_bytea_is_left_alone(void **state)
{
	struct wp_outbox_options options = default_options();
	struct wp_shape *s = shape_of(&options, 1024);
	struct wp_event event = event_of("\\x4142");

	CHECK_SPAN(shaped(s, &event).value, "\\x4142");
	wp_shape_free(s);
}

static void every_byte_comes_back(void **state)
{
	static const char digits[] = "0123456789abcdef";
	struct wp_outbox_options options = default_options();
	struct wp_shape *s = shape_of(&options, 1024);
	char text[2 + 512 + 1] = "\\x";

	for (size_t i = 0; i < 256; i++) {
		text[2 + 2 * i] = digits[i / 16];
		text[3 + 2 * i] = digits[i % 16];
	}
	struct wp_event event = bytea_of(text);
	struct wp_record record = shaped(s, &event);
	CHECK_EQ(record.value.size, 256);
	for (size_t i = 0; i < 256; i++)
		CHECK_EQ(record.value.data[i], i);
	wp_shape_free(s);
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
	struct wp_outbox_options options = default_options();
	struct wp_shape *s = shape_of(&options, 1024);

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		struct wp_event event = bytea_of(broken[i][0]);
		data_refused(s, &event, broken[i][1]);
	}
	wp_shape_free(s);
}

/* What is only decoded is no longer than it was: the sink judges it, as it does the same in binary. */
static void what_is_made_of_a_payload_fills_the_limit_and_not_one_byte_more(void **state)
{
	struct wp_outbox_options options = default_options();

	options.value_format = WP_FORM_JSON;
	struct wp_shape *s = shape_of(&options, 10);
	struct wp_event event = bytea_of("\\x010203040506");

	CHECK_EQ(shaped(s, &event).value.size, 10);
	event = bytea_of("\\x01020304050607");
	data_refused(s, &event, "the value, from a payload of 16 bytes");
	CHECK_HAS(error.text, "exceeds 10 bytes");
	CHECK_HAS(error.text, "raise message.max.bytes in [kafka]");
	wp_shape_free(s);
	s = shape_of(&options, 0);
	CHECK_EQ(shaped(s, &event).value.size, 14);
	wp_shape_free(s);
	options.value_format = WP_FORM_RAW;
	s = shape_of(&options, 4);
	CHECK_EQ(shaped(s, &event).value.size, 7);
	wp_shape_free(s);
}

static void a_message_fills_the_limit_and_not_one_byte_more(void **state)
{
	struct wp_outbox_options options = default_options();
	struct wp_event event = event_of("{}");

	options.envelope = WP_ENVELOPE_PROTOBUF;
	struct wp_shape *s = shape_of(&options, 1024);
	size_t size = shaped(s, &event).value.size;
	wp_shape_free(s);
	s = shape_of(&options, size);
	CHECK_EQ(shaped(s, &event).value.size, size);
	wp_shape_free(s);
	s = shape_of(&options, size - 1);
	data_refused(s, &event, "the value, from a payload of");
	wp_shape_free(s);
}

static void the_message_carries_the_payload_and_the_records_headers(void **state)
{
	struct wp_outbox_options options = default_options();
	struct wp_event event = bytea_of("\\xff00");

	options.envelope = WP_ENVELOPE_PROTOBUF;
	struct wp_shape *s = shape_of(&options, 1024);
	struct wp_record record = shaped(s, &event);
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
	record = shaped(s, &event);
	CHECK(!wp_span_is_null(record.value));
	wp_shape_free(s);
}

static void a_message_that_cannot_be_made_is_refused(void **state)
{
	struct wp_outbox_options options = default_options();
	struct wp_event event = event_of("{}");

	options.envelope = WP_ENVELOPE_PROTOBUF;
	event.type = wp_span_of("\xE9");
	struct wp_shape *s = shape_of(&options, 1024);
	data_refused(s, &event, "the type \"\\xe9\" is not UTF-8");
	wp_shape_free(s);
}

static void a_topic_that_kafka_does_not_take_is_refused(void **state)
{
	struct wp_outbox_options options = default_options();
	struct wp_shape *s = shape_of(&options, 1024);
	struct wp_event event = event_of("{}");

	event.route = wp_span_of("a b");
	data_refused(s, &event, "the topic \"outbox.event.a b\"");
	wp_shape_free(s);
}

static void the_timestamp_is_the_commit_time_and_never_now(void **state)
{
	struct wp_outbox_options options = default_options();
	struct wp_shape *s = shape_of(&options, 1024);
	struct wp_event event = event_of("{}");
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
		CHECK(shaped(s, &event).timestamp_ms == times[i][1]);
	}
	wp_shape_free(s);
}

static void wrong_options_are_refused_each_by_its_name(void **state)
{
	static const char *const lists[] = { "foo",   "id,",	 ",id",	  "id,,type",
					     "id,id", "id type", "id, ,", "ID" };
	struct wp_outbox_options options = default_options();

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		options.headers_standard = lists[i];
		options_refused(&options, "outbox.headers.standard = ");
		CHECK_HAS(error.text, "id, type and walpost-position");
	}
	options = default_options();
	options.headers = "a,";
	options_refused(&options, "outbox.headers = ");
	options = default_options();
	options.headers = "tenant:walpost-tenant";
	options_refused(&options, "outbox.headers: a header \"walpost-tenant\"");
	options = default_options();
	options.topic_regex = "(";
	options_refused(&options, "outbox.topic.regex = ");
	options = default_options();
	options.topic_replacement = "$9";
	options_refused(&options, "outbox.topic.replacement = ");
}

static void a_warm_shape_costs_no_memory(void **state)
{
	struct wp_outbox_options options = default_options();
	struct wp_event event = bytea_of("\\x00ff");

	options.envelope = WP_ENVELOPE_PROTOBUF;
	struct wp_shape *s = shape_of(&options, 1024);
	(void)shaped(s, &event);
	size_t before = memory_calls();
	for (int i = 0; i < 100; i++)
		(void)shaped(s, &event);
	CHECK_EQ(memory_calls(), before);
	wp_shape_free(s);
}

static void what_a_huge_event_took_is_given_back_by_a_small_one(void **state)
{
	struct wp_outbox_options options = default_options();
	struct wp_shape *s = shape_of(&options, 16 * 1024 * 1024);
	size_t size = 2 + 2 * 4 * 1024 * 1024;
	char *huge = malloc(size + 1);

	memset(huge, '0', size);
	memcpy(huge, "\\x", 2);
	huge[size] = '\0';
	struct wp_event large = bytea_of(huge);
	struct wp_event small = bytea_of("\\x00");
	CHECK_EQ(shaped(s, &large).value.size, 4 * 1024 * 1024);
	size_t before = memory_calls();
	CHECK_EQ(shaped(s, &large).value.size, 4 * 1024 * 1024);
	CHECK_EQ(memory_calls(), before);
	CHECK_EQ(shaped(s, &small).value.size, 1);
	CHECK_EQ(memory_calls(), before + 1); /* a new, small buffer */
	free(huge);
	wp_shape_free(s);
}

static void out_of_memory_is_said(void **state)
{
	struct wp_outbox_options options = default_options();
	struct wp_event event = bytea_of("\\x00ff");
	struct wp_shape *s = NULL;
	struct wp_record record;

	for (size_t i = 0; i < 3; i++) {
		memory_fails_after(i);
		CHECK_EQ(wp_shape_new(&options, 1024, &s, &error), WP_NOMEM);
		memory_works();
		CHECK(s == NULL);
	}
	options.envelope = WP_ENVELOPE_PROTOBUF;
	for (size_t i = 0; i < 3; i++) {
		s = shape_of(&options, 1024);
		memory_fails_after(i); /* the decoded payload, the texts, the message */
		CHECK_EQ(wp_shape_record(s, &event, &record, &error), WP_NOMEM);
		memory_works();
		CHECK_HAS(error.text, "out of memory");
		wp_shape_free(s);
	}
	wp_shape_free(NULL);
}

static void what_can_not_be_a_record_is_told_as_far_as_it_could_be_made(void **state)
{
	struct wp_outbox_options options = default_options();
	struct wp_shape *s = shape_of(&options, 1000);
	struct wp_event event = bytea_of("\\x414");
	struct wp_record record;

	data_refused(s, &event, "hexadecimal");
	CHECK_EQ(wp_shape_record(s, &event, &record, &error), WP_DATA);
	CHECK(wp_span_is(record.topic, "outbox.event.Order"));
	CHECK(wp_span_is(record.value, "\\x414"));
	CHECK_EQ(record.header_count, 3);
	event = event_of("{}");
	event.route = wp_span_of("two words");
	CHECK_EQ(wp_shape_record(s, &event, &record, &error), WP_DATA);
	CHECK_HAS(error.text, "two words");
	CHECK(wp_span_is_null(record.topic));
	CHECK(wp_span_is(record.value, "{}") && wp_span_is(record.key, "42"));
	event.route = (struct wp_span){ 0 };
	data_refused(s, &event, ": its topic is not defined");
	wp_shape_free(s);
}

int main(void)
{
	return RUN(PLAIN(an_event_becomes_a_record), PLAIN(null_and_empty_stay_what_they_are),
		   PLAIN(only_the_standard_headers_asked_for_are_there),
		   PLAIN(without_a_type_column_there_is_no_type_header),
		   PLAIN(the_source_and_the_columns_follow),
		   PLAIN(all_headers_that_can_be_configured_fit), PLAIN(a_bytea_payload_is_decoded),
		   PLAIN(an_empty_bytea_before_any_other_is_empty_and_not_null),
		   PLAIN(a_text_payload_that_looks_like_a_bytea_is_left_alone),
		   PLAIN(every_byte_comes_back), PLAIN(broken_hex_is_refused_with_its_place),
		   PLAIN(what_is_made_of_a_payload_fills_the_limit_and_not_one_byte_more),
		   PLAIN(a_message_fills_the_limit_and_not_one_byte_more),
		   PLAIN(the_message_carries_the_payload_and_the_records_headers),
		   PLAIN(a_message_that_cannot_be_made_is_refused),
		   PLAIN(a_topic_that_kafka_does_not_take_is_refused),
		   PLAIN(the_timestamp_is_the_commit_time_and_never_now),
		   PLAIN(wrong_options_are_refused_each_by_its_name),
		   PLAIN(a_warm_shape_costs_no_memory),
		   PLAIN(what_a_huge_event_took_is_given_back_by_a_small_one),
		   PLAIN(out_of_memory_is_said),
		   PLAIN(what_can_not_be_a_record_is_told_as_far_as_it_could_be_made));
}
