#include <stdio.h>

#include "cloudevents.h"
#include "cloudevents.pb-c.h"
#include "support/memory.h"
#include "support/check.h"

#define IS_STRING IO__CLOUDEVENTS__V1__CLOUD_EVENT__CLOUD_EVENT_ATTRIBUTE_VALUE__ATTR_CE_STRING
#define IS_URI IO__CLOUDEVENTS__V1__CLOUD_EVENT__CLOUD_EVENT_ATTRIBUTE_VALUE__ATTR_CE_URI
#define IS_TIME IO__CLOUDEVENTS__V1__CLOUD_EVENT__CLOUD_EVENT_ATTRIBUTE_VALUE__ATTR_CE_TIMESTAMP

static struct wp_error error;
static struct wp_buffer texts;
static struct wp_buffer into;

static int set_up(void **state)
{
	bare_event();
	wp_buffer_init(&texts, 4096);
	wp_buffer_init(&into, 4096);
	return 0;
}

static int tear_down(void **state)
{
	wp_buffer_release(&texts);
	wp_buffer_release(&into);
	return 0;
}

static Io__Cloudevents__V1__CloudEvent *packed(void)
{
	CHECK_EQ(wp_cloudevent_check(&event, &error), WP_OK);
	CHECK_EQ(wp_cloudevent_protobuf(&event, &texts, &into, &error), WP_OK);
	Io__Cloudevents__V1__CloudEvent *message =
		io__cloudevents__v1__cloud_event__unpack(NULL, into.size, into.data);
	assert_non_null(message);
	return message;
}

static void release(Io__Cloudevents__V1__CloudEvent *message)
{
	io__cloudevents__v1__cloud_event__free_unpacked(message, NULL);
}

static void string_is(const Io__Cloudevents__V1__CloudEvent *message, size_t index,
		      const char *name, const char *value)
{
	CHECK_TEXT(message->attributes[index]->key, name);
	CHECK_EQ(message->attributes[index]->value->attr_case, IS_STRING);
	CHECK_TEXT(message->attributes[index]->value->ce_string, value);
}

static void every_attribute_comes_back(void **state)
{
	full_event();
	Io__Cloudevents__V1__CloudEvent *message = packed();
	CHECK_TEXT(message->id, "7");
	CHECK_TEXT(message->source, "/orders");
	CHECK_TEXT(message->spec_version, "1.0");
	CHECK_TEXT(message->type, "placed");
	CHECK_EQ(message->n_attributes, 6);
	string_is(message, 0, "subject", "order 42");
	CHECK_TEXT(message->attributes[1]->key, "time");
	CHECK_EQ(message->attributes[1]->value->attr_case, IS_TIME);
	CHECK_EQ(message->attributes[1]->value->ce_timestamp->seconds, 1522949460);
	CHECK_EQ(message->attributes[1]->value->ce_timestamp->nanos, 123456000);
	string_is(message, 2, "datacontenttype", "application/json");
	CHECK_TEXT(message->attributes[3]->key, "dataschema");
	CHECK_EQ(message->attributes[3]->value->attr_case, IS_URI);
	CHECK_TEXT(message->attributes[3]->value->ce_uri, "https://example.com/order/1");
	string_is(message, 4, "tenant", "t1");
	string_is(message, 5, "region2", "");
	CHECK_EQ(message->data_case, IO__CLOUDEVENTS__V1__CLOUD_EVENT__DATA_TEXT_DATA);
	CHECK_TEXT(message->text_data, "{\"a\": 1}");
	release(message);
}

/* Others' contract: field numbers and wire types, byte for byte. */
static void its_bytes_are_those_of_the_specification(void **state)
{
	/* clang-format off */
	static const uint8_t wanted[] = {
		0x0A, 1, '7',                                       /* 1 id */
		0x12, 2, '/', 's',                                  /* 2 source */
		0x1A, 3, '1', '.', '0',                             /* 3 spec_version */
		0x22, 1, 't',                                       /* 4 type */
		0x2A, 15,                                           /* 5 attributes */
		0x0A, 4, 't', 'i', 'm', 'e',                        /*   1 key */
		0x12, 7, 0x3A, 5, 0x08, 1, 0x10, 0xD0, 0x0F,        /*   2 value: 7 ce_timestamp */
		0x2A, 19,
		0x0A, 10, 'd', 'a', 't', 'a', 's', 'c', 'h', 'e', 'm', 'a',
		0x12, 5, 0x2A, 3, 'a', ':', 'b',                    /*   2 value: 5 ce_uri */
		0x2A, 8,
		0x0A, 1, 'x',
		0x12, 3, 0x1A, 1, 'y',                              /*   2 value: 3 ce_string */
		0x3A, 2, '{', '}',                                  /* 7 text_data */
	};
	/* clang-format on */
	struct wp_header extension = { wp_span_of("x"), wp_span_of("y") };

	event = (struct wp_cloudevent){
		.id = wp_span_of("7"),
		.source = wp_span_of("/s"),
		.type = wp_span_of("t"),
		.dataschema = wp_span_of("a:b"),
		.time_us = 1000002,
		.extensions = &extension,
		.extension_count = 1,
		.data = wp_span_of("{}"),
	};

	CHECK_EQ(wp_cloudevent_protobuf(&event, &texts, &into, &error), WP_OK);
	CHECK_EQ(into.size, sizeof(wanted));
	assert_memory_equal(into.data, wanted, sizeof(wanted));
	event.data_form = WP_CLOUDEVENT_BINARY;
	CHECK_EQ(wp_cloudevent_protobuf(&event, &texts, &into, &error), WP_OK);
	CHECK_EQ(into.size, sizeof(wanted));
	CHECK_EQ(into.data[sizeof(wanted) - 4], 0x32); /* 6 binary_data */
}

static void what_an_event_has_not_is_absent(void **state)
{
	struct wp_header extension = { .name = wp_span_of("tenant") };

	event.extensions = &extension;
	event.extension_count = 1;
	Io__Cloudevents__V1__CloudEvent *message = packed();
	CHECK_EQ(message->n_attributes, 1);
	CHECK_TEXT(message->attributes[0]->key, "time");
	CHECK_EQ(message->data_case, IO__CLOUDEVENTS__V1__CLOUD_EVENT__DATA__NOT_SET);
	release(message);
}

static void empty_data_is_there(void **state)
{
	event.data = wp_span_of("");
	Io__Cloudevents__V1__CloudEvent *message = packed();
	CHECK_EQ(message->data_case, IO__CLOUDEVENTS__V1__CLOUD_EVENT__DATA_TEXT_DATA);
	CHECK_TEXT(message->text_data, "");
	release(message);
	event.data_form = WP_CLOUDEVENT_BINARY;
	message = packed();
	CHECK_EQ(message->data_case, IO__CLOUDEVENTS__V1__CLOUD_EVENT__DATA_BINARY_DATA);
	CHECK_EQ(message->binary_data.len, 0);
	release(message);
}

static void binary_data_may_be_any_bytes(void **state)
{
	event.data_form = WP_CLOUDEVENT_BINARY;
	event.data = (struct wp_span){ (const uint8_t *)"\0\xFF\x80", 3 };
	Io__Cloudevents__V1__CloudEvent *message = packed();
	CHECK_EQ(message->data_case, IO__CLOUDEVENTS__V1__CLOUD_EVENT__DATA_BINARY_DATA);
	CHECK_EQ(message->binary_data.len, 3);
	assert_memory_equal(message->binary_data.data, "\0\xFF\x80", 3);
	release(message);
}

static void a_time_before_1970_counts_nanoseconds_forward(void **state)
{
	static const struct {
		int64_t us;
		int64_t seconds;
		int32_t nanos;
	} cases[] = {
		{ 0, 0, 0 },
		{ -1, -1, 999999000 },
		{ -1000000, -1, 0 },
		{ -1000001, -2, 999999000 },
		{ INT64_C(-62135596800000000), INT64_C(-62135596800), 0 },
		{ INT64_C(253402300799999999), INT64_C(253402300799), 999999000 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		event.time_us = cases[i].us;
		Io__Cloudevents__V1__CloudEvent *message = packed();
		Io__Cloudevents__V1__Timestamp *time = message->attributes[0]->value->ce_timestamp;
		CHECK(time->seconds == cases[i].seconds);
		CHECK_EQ(time->nanos, cases[i].nanos);
		release(message);
	}
}

static void text_that_is_no_utf8_or_has_a_nul_is_refused(void **state)
{
	static const char wanted[] =
		"the payload is not UTF-8 without a NUL, as text_data of a CloudEvent requires: "
		"correct the row, or set outbox.envelope = cloudevents-binary";

	event.data = wp_span_of("\xE9");
	CHECK_EQ(wp_cloudevent_protobuf(&event, &texts, &into, &error), WP_DATA);
	CHECK_TEXT(error.text, wanted);
	event.data = (struct wp_span){ (const uint8_t *)"a\0", 2 };
	CHECK_EQ(wp_cloudevent_protobuf(&event, &texts, &into, &error), WP_DATA);
	CHECK_TEXT(error.text, wanted);
	CHECK_EQ(wp_cloudevent_protobuf(&event, &texts, &into, NULL), WP_DATA);
}

static void it_fills_its_bounds_and_not_one_byte_more(void **state)
{
	full_event();
	CHECK_EQ(wp_cloudevent_protobuf(&event, &texts, &into, &error), WP_OK);
	size_t size = into.size;
	size_t texts_size = texts.size;
	for (size_t less = 0; less <= 1; less++) {
		(void)tear_down(NULL);
		wp_buffer_init(&texts, texts_size);
		wp_buffer_init(&into, size - less);
		CHECK_EQ(wp_cloudevent_protobuf(&event, &texts, &into, &error),
			 less == 0 ? WP_OK : WP_FULL);
	}
	(void)tear_down(NULL);
	wp_buffer_init(&texts, texts_size - 1);
	wp_buffer_init(&into, size);
	CHECK_EQ(wp_cloudevent_protobuf(&event, &texts, &into, &error), WP_FULL);
}

static void the_most_attributes_fit(void **state)
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
	Io__Cloudevents__V1__CloudEvent *message = packed();
	CHECK_EQ(message->n_attributes, 4 + WP_CLOUDEVENT_EXTENSIONS_MAX);
	string_is(message, 67, "x63", "v");
	release(message);
}

static void the_next_event_asks_for_no_memory(void **state)
{
	full_event();
	CHECK_EQ(wp_cloudevent_protobuf(&event, &texts, &into, &error), WP_OK);
	size_t before = memory_calls();
	CHECK_EQ(wp_cloudevent_protobuf(&event, &texts, &into, &error), WP_OK);
	CHECK_EQ(memory_calls(), before);
}

static void out_of_memory_is_said(void **state)
{
	for (size_t i = 0; i < 2; i++) {
		memory_fails_after(i);
		CHECK_EQ(wp_cloudevent_protobuf(&event, &texts, &into, &error), WP_NOMEM);
		memory_works();
		(void)tear_down(NULL);
		(void)set_up(NULL);
	}
}

int main(void)
{
	return RUN(TEST(every_attribute_comes_back), TEST(its_bytes_are_those_of_the_specification),
		   TEST(what_an_event_has_not_is_absent), TEST(empty_data_is_there),
		   TEST(binary_data_may_be_any_bytes),
		   TEST(a_time_before_1970_counts_nanoseconds_forward),
		   TEST(text_that_is_no_utf8_or_has_a_nul_is_refused),
		   TEST(it_fills_its_bounds_and_not_one_byte_more), TEST(the_most_attributes_fit),
		   TEST(the_next_event_asks_for_no_memory), TEST(out_of_memory_is_said));
}
