#include "support/check.h"
#include "walpost/sink/record.h"

static void its_size_counts_key_value_and_headers_and_not_the_topic(void **state)
{
	struct wp_header headers[] = {
		{ .name = wp_span_of("id"), .value = wp_span_of("12345") },
		{ .name = wp_span_of("type"), .value = { 0 } },
	};
	struct wp_record record = {
		.topic = wp_span_of("outbox.event.order"),
		.key = wp_span_of("42"),
		.value = wp_span_of("{}!"),
		.headers = headers,
		.header_count = 2,
	};

	CHECK_EQ(wp_record_size(&record), 2 + 3 + (2 + 5) + 4);
}

static void nothing_has_no_size(void **state)
{
	struct wp_record record = { .topic = wp_span_of("t") };

	CHECK_EQ(wp_record_size(&record), 0);
}

int main(void)
{
	return RUN(PLAIN(its_size_counts_key_value_and_headers_and_not_the_topic),
		   PLAIN(nothing_has_no_size));
}
