#include "records.h"
#include "support/check.h"
#include "walpost/diff/compare.h"

/* What differs between the record with these headers, as it would be sent, and `found`. */
static struct wp_differences differences(const struct wp_record *wanted,
					 const struct wp_record *found)
{
	struct wp_differences d;
	struct wp_fingerprint imprint;
	struct wp_buffer buffer;

	wp_buffer_init(&buffer, 65536);
	CHECK_EQ(wp_fingerprint_pack(wanted, WP_FINGERPRINT_WHOLE, 0, &buffer), WP_OK);
	wp_fingerprint_unpack(wp_buffer_span(&buffer), &imprint);
	wp_compare(&imprint, found, &d);
	wp_buffer_release(&buffer);
	return d;
}

/* The one difference there is; its spans are gone. */
static struct wp_difference only_difference(const struct wp_record *wanted,
					    const struct wp_record *found)
{
	struct wp_differences d = differences(wanted, found);

	CHECK_EQ(d.count, 1);
	CHECK_EQ(d.left_off, 0);
	return d.items[0];
}

static void a_record_equals_itself(void **state)
{
	struct headers headers = headers_of("7");
	struct wp_record record = record_with(&headers);

	CHECK_EQ(differences(&record, &record).count, 0);
	record.key = record.value = no_bytes;
	CHECK_EQ(differences(&record, &record).count, 0);
}

static void a_key_or_a_value_differs_from_a_byte_on(void **state)
{
	struct headers headers = headers_of("7");
	struct wp_record wanted = record_with(&headers), found = wanted;

	found.key = wp_span_of("customer 2");
	struct wp_difference d = only_difference(&wanted, &found);
	CHECK_EQ(d.part, WP_PART_KEY);
	CHECK_EQ(d.at, 9);
	found = wanted;
	found.value = wp_span_of("{\"n\": 1}\n");
	d = only_difference(&wanted, &found);
	CHECK_EQ(d.part, WP_PART_VALUE);
	CHECK_EQ(d.at, 8);
	found.value = no_bytes;
	d = only_difference(&wanted, &found);
	CHECK_EQ(d.part, WP_PART_VALUE);
	CHECK_EQ(d.at, WP_AT_UNKNOWN);
	CHECK_EQ(d.found.kind, WP_TRACE_NULL);
}

static void a_partition_is_compared_in_the_right_topic_only(void **state)
{
	struct headers headers = headers_of("7");
	struct wp_record wanted = record_with(&headers), found = wanted;

	found.partition = 3;
	struct wp_difference d = only_difference(&wanted, &found);
	CHECK_EQ(d.part, WP_PART_PARTITION);
	CHECK_EQ(d.wanted_number, 2);
	CHECK_EQ(d.found_number, 3);
	found.topic = wp_span_of("others");
	CHECK_EQ(only_difference(&wanted, &found).part, WP_PART_TOPIC);
	found = wanted;
	wanted.partition = WP_PARTITION_BY_KEY;
	CHECK_EQ(differences(&wanted, &found).count, 0);
}

static void a_timestamp_is_compared_where_both_are_known(void **state)
{
	struct headers headers = headers_of("7");
	struct wp_record wanted = record_with(&headers), found = wanted;

	found.timestamp_ms = 5;
	CHECK_EQ(differences(&wanted, &found).count, 0);
	wanted.timestamp_ms = 6;
	CHECK_EQ(only_difference(&wanted, &found).part, WP_PART_TIMESTAMP);
	found.timestamp_ms = WP_TIMESTAMP_NOW;
	CHECK_EQ(differences(&wanted, &found).count, 0);
}

static void a_header_differs_by_name(void **state)
{
	struct headers headers = headers_of("7"), fewer = headers, more = headers, null = headers;
	struct wp_record wanted = record_with(&headers), found;

	fewer.count = 1;
	found = record_with(&fewer);
	struct wp_difference d = only_difference(&wanted, &found);
	CHECK_EQ(d.part, WP_PART_HEADER);
	CHECK_EQ(d.found.kind, WP_TRACE_ABSENT);

	add_header(&more, "trace", wp_span_of("1"));
	found = record_with(&more);
	d = only_difference(&wanted, &found);
	CHECK_SPAN(d.header, "trace");
	CHECK_EQ(d.wanted.kind, WP_TRACE_ABSENT);

	null.items[1].value = no_bytes;
	found = record_with(&null);
	d = only_difference(&wanted, &found);
	CHECK_SPAN(d.header, "type");
	CHECK_EQ(d.found.kind, WP_TRACE_NULL);
}

static void headers_of_one_name_are_compared_in_their_order(void **state)
{
	struct headers one = headers_of("7"), other = headers_of("7");

	add_header(&one, "a", wp_span_of("1"));
	add_header(&one, "a", wp_span_of("2"));
	add_header(&other, "a", wp_span_of("2"));
	add_header(&other, "a", wp_span_of("1"));
	struct wp_record wanted = record_with(&one), found = record_with(&other);
	CHECK_EQ(only_difference(&wanted, &found).part, WP_PART_HEADER);
	CHECK_EQ(differences(&wanted, &wanted).count, 0);
	one.count--;
	wanted = record_with(&one);
	other.items[2].value = wp_span_of("1");
	found = record_with(&other);
	CHECK_EQ(only_difference(&wanted, &found).part, WP_PART_HEADER);
}

static void the_same_headers_in_another_order_differ_in_that_alone(void **state)
{
	struct headers one = headers_of("7"), other = one;

	other.items[0] = one.items[1];
	other.items[1] = one.items[0];
	struct wp_record wanted = record_with(&one), found = record_with(&other);
	CHECK_EQ(only_difference(&wanted, &found).part, WP_PART_HEADER_ORDER);
}

static void what_only_walpost_adds_makes_no_difference(void **state)
{
	struct headers one = headers_of("7"), other = { .count = 0 };

	add_header(&other, "walpost-position", wp_span_of("x"));
	add_header(&other, "id", wp_span_of("7"));
	add_header(&other, "walpost-source", wp_span_of("y"));
	add_header(&other, "type", wp_span_of("created"));
	struct wp_record wanted = record_with(&one), found = record_with(&other);
	CHECK_EQ(differences(&wanted, &found).count, 0);
	CHECK_EQ(differences(&found, &wanted).count, 0);
}

static void more_differences_than_there_is_room_for_are_counted(void **state)
{
	static const char names[][3] = { "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8",
					 "a9", "b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7" };
	struct headers headers = headers_of("7");
	struct wp_header many[18];

	struct wp_record wanted = record_with(&headers), found = wanted;
	for (size_t i = 0; i < 18; i++)
		many[i] = (struct wp_header){ .name = wp_span_of(names[i]) };
	found.headers = many;
	found.header_count = 18;
	struct wp_differences d = differences(&wanted, &found);
	CHECK_EQ(d.count, WP_DIFFERENCES_MAX);
	CHECK_EQ(d.left_off, 18 + 2 - WP_DIFFERENCES_MAX);
}

static void each_part_has_a_name(void **state)
{
	CHECK_TEXT(wp_part_name(WP_PART_TOPIC), "topic");
	CHECK_TEXT(wp_part_name(WP_PART_VALUE), "value");
}

int main(void)
{
	return RUN(PLAIN(a_record_equals_itself), PLAIN(a_key_or_a_value_differs_from_a_byte_on),
		   PLAIN(a_partition_is_compared_in_the_right_topic_only),
		   PLAIN(a_timestamp_is_compared_where_both_are_known),
		   PLAIN(a_header_differs_by_name),
		   PLAIN(headers_of_one_name_are_compared_in_their_order),
		   PLAIN(the_same_headers_in_another_order_differ_in_that_alone),
		   PLAIN(what_only_walpost_adds_makes_no_difference),
		   PLAIN(more_differences_than_there_is_room_for_are_counted),
		   PLAIN(each_part_has_a_name));
}
