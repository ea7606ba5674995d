#include "support/check.h"
#include "walpost/kafka/batch.h"

/* Sizes counted by hand after Kafka's record format. */

static void an_empty_record_takes_68_bytes(void **state)
{
	struct wp_record record = { .key = wp_span_of(""), .value = wp_span_of("") };

	/* 61, length 1, attributes and deltas 3, key length 1, value length 1, headers 1 */
	CHECK_EQ(wp_batch_size_of_one(&record), 68);
}

static void null_takes_as_much_as_empty(void **state)
{
	struct wp_record record = { 0 };

	CHECK_EQ(wp_batch_size_of_one(&record), 68);
}

static void a_length_grows_by_a_byte_at_64_and_8192(void **state)
{
	static const uint8_t bytes[9000];
	struct wp_record record = { .value = { bytes, 50 } };

	/* The record is 57 bytes long itself, its length fits one byte up to 63. */
	CHECK_EQ(wp_batch_size_of_one(&record), 68 + 50);
	record.value.size = 57;
	CHECK_EQ(wp_batch_size_of_one(&record), 68 + 57);
	record.value.size = 58;
	CHECK_EQ(wp_batch_size_of_one(&record), 69 + 58);
	record.value.size = 63;
	CHECK_EQ(wp_batch_size_of_one(&record), 69 + 63);
	record.value.size = 64;
	CHECK_EQ(wp_batch_size_of_one(&record), 70 + 64);
	record.value.size = 8184;
	CHECK_EQ(wp_batch_size_of_one(&record), 70 + 8184);
	record.value.size = 8185;
	CHECK_EQ(wp_batch_size_of_one(&record), 71 + 8185);
	record.value.size = 8191;
	CHECK_EQ(wp_batch_size_of_one(&record), 71 + 8191);
	record.value.size = 8192;
	CHECK_EQ(wp_batch_size_of_one(&record), 72 + 8192);
}

static void headers_count_with_names_and_lengths(void **state)
{
	struct wp_header headers[] = {
		{ wp_span_of("id"), wp_span_of("7") },
		{ wp_span_of("type"), { NULL, 0 } },
	};
	struct wp_record record = { .headers = headers, .header_count = 2 };

	CHECK_EQ(wp_batch_size_of_one(&record), 68 + (1 + 2 + 1 + 1) + (1 + 4 + 1));
}

static void the_bound_is_never_below(void **state)
{
	static const uint8_t bytes[100000];
	struct wp_header headers[] = { { wp_span_of("id"), { bytes, 70 } },
				       { wp_span_of("type"), { NULL, 0 } } };
	struct wp_record record = { .headers = headers };

	for (size_t size = 0; size < sizeof(bytes); size += 97) {
		record.header_count = size % 3;
		record.key = (struct wp_span){ bytes, size / 3 };
		record.value = (struct wp_span){ bytes, size };
		size_t exact = wp_batch_size_of_one(&record);
		size_t bound = wp_batch_size_or_bound(&record, 0);
		CHECK(exact <= bound && bound <= exact + 100);
		CHECK_EQ(wp_batch_size_or_bound(&record, bound), bound);
		CHECK_EQ(wp_batch_size_or_bound(&record, bound - 1), exact);
	}
}

int main(void)
{
	return RUN(PLAIN(an_empty_record_takes_68_bytes), PLAIN(null_takes_as_much_as_empty),
		   PLAIN(a_length_grows_by_a_byte_at_64_and_8192),
		   PLAIN(headers_count_with_names_and_lengths), PLAIN(the_bound_is_never_below));
}
