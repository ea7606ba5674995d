#include <string.h>

#include "support/memory.h"
#include "records.h"
#include "support/check.h"

static void packed_as(const struct wp_record *record, enum wp_fingerprint_detail detail,
		      unsigned unknown, struct wp_buffer *into, struct wp_fingerprint *ret)
{
	wp_buffer_init(into, 4096);
	CHECK_EQ(wp_fingerprint_pack(record, detail, unknown, into), WP_OK);
	wp_fingerprint_unpack(wp_buffer_span(into), ret);
}

static void whole_it_holds_all_of_the_record(void **state)
{
	struct headers headers = headers_of("7");
	struct wp_fingerprint imprint;
	struct wp_buffer buffer;

	add_header(&headers, "empty", wp_span_of(""));
	add_header(&headers, "null", no_bytes);
	struct wp_record record = record_with(&headers);
	record.timestamp_ms = 1709200800123;
	packed_as(&record, WP_FINGERPRINT_WHOLE, 0, &buffer, &imprint);
	CHECK_SPAN(imprint.topic, "orders");
	CHECK_SPAN(imprint.key.bytes, "customer 1");
	CHECK_SPAN(imprint.value.bytes, "{\"n\": 1}");
	CHECK_EQ(imprint.partition, 2);
	CHECK_EQ(imprint.timestamp_ms, 1709200800123);
	CHECK_EQ(imprint.header_count, 4);
	CHECK_SPAN(imprint.headers[1].name, "type");
	CHECK_SPAN(imprint.headers[1].value.bytes, "created");
	CHECK_EQ(imprint.headers[2].value.kind, WP_TRACE_BYTES);
	CHECK_EQ(imprint.headers[2].value.bytes.size, 0);
	CHECK_EQ(imprint.headers[3].value.kind, WP_TRACE_NULL);
	wp_buffer_release(&buffer);
}

static void of_large_parts_a_digest_is_enough_to_tell_equal_from_different(void **state)
{
	static const char text[] = "a value that is longer than sixteen bytes";
	static const char other[] = "a value that is longer than sixteen Bytes";
	struct headers headers = headers_of("7");
	struct wp_record record = record_with(&headers);
	struct wp_fingerprint imprint;
	struct wp_buffer buffer;

	record.value = wp_span_of(text);
	packed_as(&record, WP_FINGERPRINT_DIGESTS, 0, &buffer, &imprint);
	CHECK_EQ(imprint.key.kind, WP_TRACE_BYTES);
	CHECK_EQ(imprint.value.kind, WP_TRACE_DIGEST);
	CHECK_EQ(imprint.value.bytes.size, strlen(text));
	struct wp_trace same = wp_trace_of(wp_span_of(text));
	struct wp_trace different = wp_trace_of(wp_span_of(other));
	struct wp_trace longer = wp_trace_of(wp_span_of("a value"));
	CHECK(wp_trace_equal(&imprint.value, &same));
	CHECK(wp_trace_equal(&same, &imprint.value));
	CHECK(!wp_trace_equal(&imprint.value, &different));
	CHECK(!wp_trace_equal(&imprint.value, &longer));
	wp_buffer_release(&buffer);
}

static void null_equals_null_only_and_unknown_all_that_is_there(void **state)
{
	struct wp_trace null = { .kind = WP_TRACE_NULL };
	struct wp_trace absent = { .kind = WP_TRACE_ABSENT };
	struct wp_trace unknown = { .kind = WP_TRACE_UNKNOWN };
	struct wp_trace empty = wp_trace_of(wp_span_of(""));

	CHECK(wp_trace_equal(&null, &null));
	CHECK(!wp_trace_equal(&null, &empty));
	CHECK(!wp_trace_equal(&null, &absent));
	CHECK(wp_trace_equal(&unknown, &empty));
	CHECK(wp_trace_equal(&unknown, &null));
	CHECK(!wp_trace_equal(&unknown, &absent));
}

static void what_only_walpost_adds_is_left_out(void **state)
{
	struct headers headers = headers_of("7");
	struct wp_fingerprint imprint;
	struct wp_buffer buffer;

	add_header(&headers, "walpost-position",
		   wp_span_of("0000-00000001-0000000000000000-00000000"));
	add_header(&headers, "walpost-source", wp_span_of("here"));
	add_header(&headers, "tenant", wp_span_of("one"));
	struct wp_record record = record_with(&headers);
	packed_as(&record, WP_FINGERPRINT_WHOLE, 0, &buffer, &imprint);
	CHECK_EQ(imprint.header_count, 3);
	CHECK_SPAN(imprint.headers[2].name, "tenant");
	wp_buffer_release(&buffer);
}

static void what_follows_from_the_commit_or_the_start_is_unknown(void **state)
{
	struct headers headers = headers_of("7");
	struct wp_fingerprint imprint;
	struct wp_buffer buffer;

	add_header(&headers, "__debezium.context.runId", wp_span_of("a uuid"));
	add_header(&headers, "ce_time", wp_span_of("2000-01-01T00:00:00Z"));
	struct wp_record record = record_with(&headers);
	packed_as(&record, WP_FINGERPRINT_WHOLE, WP_UNKNOWN_VALUE | WP_UNKNOWN_TIME, &buffer,
		  &imprint);
	CHECK_EQ(imprint.value.kind, WP_TRACE_UNKNOWN);
	CHECK_EQ(imprint.headers[2].value.kind, WP_TRACE_UNKNOWN);
	CHECK_EQ(imprint.headers[3].value.kind, WP_TRACE_UNKNOWN);
	wp_buffer_release(&buffer);
	packed_as(&record, WP_FINGERPRINT_WHOLE, 0, &buffer, &imprint);
	CHECK_EQ(imprint.value.kind, WP_TRACE_BYTES);
	CHECK_EQ(imprint.headers[3].value.kind, WP_TRACE_BYTES);
	wp_buffer_release(&buffer);
}

static void without_room_or_memory_the_buffer_is_as_it_was(void **state)
{
	struct headers headers = headers_of("7");
	struct wp_record record = record_with(&headers);
	struct wp_buffer buffer;

	wp_buffer_init(&buffer, 32);
	CHECK_EQ(wp_fingerprint_pack(&record, WP_FINGERPRINT_WHOLE, 0, &buffer), WP_FULL);
	CHECK_EQ(buffer.size, 0);
	wp_buffer_release(&buffer);
	wp_buffer_init(&buffer, 4096);
	memory_fails_after(0);
	CHECK_EQ(wp_fingerprint_pack(&record, WP_FINGERPRINT_WHOLE, 0, &buffer), WP_NOMEM);
	memory_works();
	CHECK_EQ(buffer.size, 0);
	wp_buffer_release(&buffer);
}

int main(void)
{
	return RUN(PLAIN(whole_it_holds_all_of_the_record),
		   PLAIN(of_large_parts_a_digest_is_enough_to_tell_equal_from_different),
		   PLAIN(null_equals_null_only_and_unknown_all_that_is_there),
		   PLAIN(what_only_walpost_adds_is_left_out),
		   PLAIN(what_follows_from_the_commit_or_the_start_is_unknown),
		   PLAIN(without_room_or_memory_the_buffer_is_as_it_was));
}
