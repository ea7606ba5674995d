#include "event.pb-c.h"
#include "support/memory.h"
#include "support/check.h"
#include "walpost/envelope/envelope.h"
#include "walpost/base/calendar.h"

static struct wp_error error;
static struct wp_buffer texts;
static struct wp_buffer into;

static struct wp_event event;
static struct wp_record record; /* its, with the payload {} */

static void full_event(void)
{
	event = (struct wp_event){
		.id = wp_span_of("7"),
		.key = wp_span_of("42"),
		.type = wp_span_of("Created"),
		.route = wp_span_of("Order"),
		.table = "public.outbox",
		.commit_time_us = 1,
		.position = { .epoch = 2, .timeline = 3, .commit_lsn = 0x194AB88, .ordinal = 4 },
	};
}

static void record_of(const char *payload)
{
	record = (struct wp_record){ .key = event.key, .value = wp_span_of(payload) };
}

static int set_up(void **state)
{
	full_event();
	record_of("{}");
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

static Walpost__V1__Event *packed(void)
{
	CHECK_EQ(wp_envelope_protobuf(&event, &record, &texts, &into, &error), WP_OK);
	Walpost__V1__Event *message = walpost__v1__event__unpack(NULL, into.size, into.data);
	assert_non_null(message);
	return message;
}

static void every_field_comes_back(void **state)
{
	struct wp_header headers[] = {
		{ .name = wp_span_of("id"), .value = wp_span_of("7") },
		{ .name = wp_span_of("none"), .value = { 0 } },
		{ .name = wp_span_of("empty"), .value = wp_span_of("") },
	};

	record_of("{\"a\": 1}");
	record.headers = headers;
	record.header_count = 3;
	Walpost__V1__Event *message = packed();
	CHECK_TEXT(message->id, "7");
	CHECK_TEXT(message->type, "Created");
	CHECK_TEXT(message->aggregate, "Order");
	CHECK(message->has_key);
	CHECK_EQ(message->key.len, 2);
	assert_memory_equal(message->key.data, "42", 2);
	CHECK(message->has_payload);
	CHECK_EQ(message->payload.len, 8);
	assert_memory_equal(message->payload.data, "{\"a\": 1}", 8);
	CHECK(message->has_commit_time_us);
	CHECK_EQ(message->commit_time_us, 946684800000001);
	CHECK(message->has_commit_lsn && message->has_timeline);
	CHECK(message->has_epoch && message->has_ordinal);
	CHECK_EQ(message->commit_lsn, 0x194AB88);
	CHECK_EQ(message->timeline, 3);
	CHECK_EQ(message->epoch, 2);
	CHECK_EQ(message->ordinal, 4);
	CHECK_EQ(message->n_headers, 3);
	CHECK_TEXT(message->headers[0]->name, "id");
	CHECK_EQ(message->headers[0]->value.len, 1);
	CHECK(!message->headers[1]->has_value);
	CHECK(message->headers[2]->has_value);
	CHECK_EQ(message->headers[2]->value.len, 0);
	walpost__v1__event__free_unpacked(message, NULL);
}

/* A public contract: field numbers and wire types, byte for byte. */
static void its_bytes_are_those_of_the_published_message(void **state)
{
	/* clang-format off */
	static const uint8_t wanted[] = {
		0x0A, 1, '7',                               /* 1 id */
		0x12, 7, 'C', 'r', 'e', 'a', 't', 'e', 'd', /* 2 type */
		0x1A, 5, 'O', 'r', 'd', 'e', 'r',           /* 3 aggregate */
		0x22, 2, '4', '2',                          /* 4 key */
		0x2A, 2, '{', '}',                          /* 5 payload */
		0x30, 0x81, 0xC0, 0xDF, 0xD9, 0x93, 0xA0, 0xD7, 0x01, /* 6 commit_time_us */
		0x38, 0x88, 0xD7, 0xD2, 0x0C,               /* 7 commit_lsn */
		0x40, 3,                                    /* 8 timeline */
		0x48, 2,                                    /* 9 epoch */
		0x50, 4,                                    /* 10 ordinal */
		0x5A, 6, 0x0A, 1, 'h', 0x12, 1, 'v',        /* 11 header */
	};
	/* clang-format on */
	struct wp_header header = { .name = wp_span_of("h"), .value = wp_span_of("v") };

	record.headers = &header;
	record.header_count = 1;
	CHECK_EQ(wp_envelope_protobuf(&event, &record, &texts, &into, &error), WP_OK);
	CHECK_EQ(into.size, sizeof(wanted));
	assert_memory_equal(into.data, wanted, sizeof(wanted));
}

static void null_is_absent_and_empty_is_there(void **state)
{
	event.type = (struct wp_span){ 0 };
	event.key = (struct wp_span){ 0 };
	record_of(NULL);
	Walpost__V1__Event *message = packed();
	CHECK(message->type == NULL);
	CHECK(!message->has_key);
	CHECK(!message->has_payload);
	CHECK_EQ(message->n_headers, 0);
	walpost__v1__event__free_unpacked(message, NULL);

	event.type = event.key = event.id = event.route = wp_span_of("");
	record_of("");
	message = packed();
	CHECK_TEXT(message->type, "");
	CHECK_TEXT(message->id, "");
	CHECK_TEXT(message->aggregate, "");
	CHECK(message->has_key);
	CHECK(message->has_payload);
	walpost__v1__event__free_unpacked(message, NULL);
}

static void key_payload_and_header_values_may_hold_any_bytes(void **state)
{
	struct wp_span bytes = { .data = (const uint8_t *)"\0\xFF\x80", .size = 3 };
	struct wp_header header = { .name = wp_span_of("h"), .value = bytes };

	event.key = bytes;
	record = (struct wp_record){
		.value = bytes,
		.headers = &header,
		.header_count = 1,
	};
	Walpost__V1__Event *message = packed();
	assert_memory_equal(message->key.data, "\0\xFF\x80", 3);
	assert_memory_equal(message->payload.data, "\0\xFF\x80", 3);
	assert_memory_equal(message->headers[0]->value.data, "\0\xFF\x80", 3);
	walpost__v1__event__free_unpacked(message, NULL);
}

static void the_end_of_time_does_not_wrap(void **state)
{
	int64_t last = INT64_MAX - WP_POSTGRES_EPOCH_S * INT64_C(1000000);
	int64_t times[][2] = {
		{ last - 1, INT64_MAX - 1 },
		{ last, INT64_MAX },
		{ last + 1, INT64_MAX },
		{ INT64_MAX, INT64_MAX },
	};

	for (size_t i = 0; i < 4; i++) {
		event.commit_time_us = times[i][0];
		Walpost__V1__Event *message = packed();
		CHECK(message->commit_time_us == times[i][1]);
		walpost__v1__event__free_unpacked(message, NULL);
	}
}

static void a_text_that_is_not_utf8_is_refused(void **state)
{
	struct wp_header header = { .name = wp_span_of("h\xE9") };

	event.id = wp_span_of("7\xE9");
	CHECK_EQ(wp_envelope_protobuf(&event, &record, &texts, &into, &error), WP_DATA);
	CHECK_HAS(error.text, "the id \"7\\xe9\" is not UTF-8");
	CHECK_HAS(error.text, "set outbox.envelope = raw");
	event.id = (struct wp_span){ .data = (const uint8_t *)"7\0", .size = 2 };
	CHECK_EQ(wp_envelope_protobuf(&event, &record, &texts, &into, &error), WP_DATA);
	full_event();
	event.type = wp_span_of("\xE9");
	CHECK_EQ(wp_envelope_protobuf(&event, &record, &texts, &into, &error), WP_DATA);
	CHECK_HAS(error.text, "the type \"\\xe9\"");
	full_event();
	event.route = wp_span_of("\xE9");
	CHECK_EQ(wp_envelope_protobuf(&event, &record, &texts, &into, &error), WP_DATA);
	CHECK_HAS(error.text, "the raw topic \"\\xe9\"");
	full_event();
	record.headers = &header;
	record.header_count = 1;
	CHECK_EQ(wp_envelope_protobuf(&event, &record, &texts, &into, &error), WP_DATA);
	CHECK_HAS(error.text, "the header name \"h\\xe9\"");
}

static void it_fills_its_bound_and_not_one_byte_more(void **state)
{
	CHECK_EQ(wp_envelope_protobuf(&event, &record, &texts, &into, &error), WP_OK);
	size_t size = into.size;
	wp_buffer_release(&into);
	wp_buffer_init(&into, size);
	CHECK_EQ(wp_envelope_protobuf(&event, &record, &texts, &into, &error), WP_OK);
	wp_buffer_release(&into);
	wp_buffer_init(&into, size - 1);
	CHECK_EQ(wp_envelope_protobuf(&event, &record, &texts, &into, &error), WP_FULL);
	wp_buffer_release(&texts);
	wp_buffer_init(&texts, 1 + 7 + 5 + 2);
	CHECK_EQ(wp_envelope_protobuf(&event, &record, &texts, &into, &error), WP_FULL);
}

static void the_most_headers_fit(void **state)
{
	struct wp_header headers[WP_RECORD_HEADERS_MAX];

	for (size_t i = 0; i < WP_RECORD_HEADERS_MAX; i++)
		headers[i] = (struct wp_header){ .name = wp_span_of("h") };
	record.headers = headers;
	record.header_count = WP_RECORD_HEADERS_MAX;
	Walpost__V1__Event *message = packed();
	CHECK_EQ(message->n_headers, WP_RECORD_HEADERS_MAX);
	walpost__v1__event__free_unpacked(message, NULL);
}

static void out_of_memory_is_said(void **state)
{
	for (size_t i = 0; i < 2; i++) {
		memory_fails_after(i);
		CHECK_EQ(wp_envelope_protobuf(&event, &record, &texts, &into, &error), WP_NOMEM);
		memory_works();
		(void)tear_down(NULL);
		(void)set_up(NULL);
	}
}

int main(void)
{
	return RUN(TEST(every_field_comes_back), TEST(its_bytes_are_those_of_the_published_message),
		   TEST(null_is_absent_and_empty_is_there),
		   TEST(key_payload_and_header_values_may_hold_any_bytes),
		   TEST(the_end_of_time_does_not_wrap), TEST(a_text_that_is_not_utf8_is_refused),
		   TEST(it_fills_its_bound_and_not_one_byte_more), TEST(the_most_headers_fit),
		   TEST(out_of_memory_is_said));
}
