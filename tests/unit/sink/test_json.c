#include "support/check.h"
#include "walpost/sink/json.h"

static struct wp_buffer buffer;

static int set_up(void **state)
{
	wp_buffer_init(&buffer, 1 << 16);
	return 0;
}

static int tear_down(void **state)
{
	wp_buffer_release(&buffer);
	return 0;
}

static struct wp_span bytes(const char *data, size_t size)
{
	return (struct wp_span){ (const uint8_t *)data, size };
}

static struct wp_record example(void)
{
	return (struct wp_record){
		.topic = wp_span_of("orders"),
		.key = wp_span_of("42"),
		.value = wp_span_of("{\"a\": 1}"),
		.timestamp_ms = 1700000000123,
		.partition = WP_PARTITION_BY_KEY,
		.position = { .timeline = 1, .commit_lsn = 0x194AB88, .ordinal = 2 },
	};
}

static void record_gives(const struct wp_record *record, const char *line)
{
	wp_buffer_reset(&buffer);
	CHECK_EQ(wp_json_record(&buffer, record), WP_OK);
	CHECK_SPAN(wp_buffer_span(&buffer), line);
}

static void a_record_is_one_line(void **state)
{
	struct wp_header headers[] = {
		{ wp_span_of("id"), wp_span_of("7") },
		{ wp_span_of("type"), { NULL, 0 } },
		{ wp_span_of("raw"), bytes("\xFF", 1) },
	};
	struct wp_record record = example();

	record_gives(&record, "{\"topic\":\"orders\",\"key\":\"42\",\"headers\":[],"
			      "\"value\":\"{\\\"a\\\": 1}\",\"timestamp\":1700000000123,"
			      "\"position\":\"0000-00000001-000000000194AB88-00000002\"}\n");
	record.headers = headers;
	record.header_count = 3;
	record.partition = 5;
	record_gives(&record,
		     "{\"topic\":\"orders\",\"partition\":5,\"key\":\"42\",\"headers\":["
		     "{\"name\":\"id\",\"value\":\"7\"},{\"name\":\"type\",\"value\":null},"
		     "{\"name\":\"raw\",\"value_base64\":\"/w==\"}],"
		     "\"value\":\"{\\\"a\\\": 1}\",\"timestamp\":1700000000123,"
		     "\"position\":\"0000-00000001-000000000194AB88-00000002\"}\n");
}

static void null_and_empty_and_bytes_differ(void **state)
{
	struct wp_record record = example();

	record.key = wp_span_of("");
	record.value = (struct wp_span){ NULL, 0 };
	record_gives(&record, "{\"topic\":\"orders\",\"key\":\"\",\"headers\":[],\"value\":null,"
			      "\"timestamp\":1700000000123,"
			      "\"position\":\"0000-00000001-000000000194AB88-00000002\"}\n");
	record.key = bytes("\xC0\x80", 2);
	record.value = bytes("\x00\xFF", 2);
	record_gives(&record, "{\"topic\":\"orders\",\"key_base64\":\"wIA=\",\"headers\":[],"
			      "\"value_base64\":\"AP8=\",\"timestamp\":1700000000123,"
			      "\"position\":\"0000-00000001-000000000194AB88-00000002\"}\n");
}

static void what_could_be_made_of_poison_stands_behind_the_reason(void **state)
{
	struct wp_record record = example();

	record.topic = (struct wp_span){ NULL, 0 };
	record.table = "public.outbox";
	record.id = bytes("\xFF", 1);
	CHECK_EQ(wp_json_poison(&buffer, &record, "no \"topic\""), WP_OK);
	CHECK_SPAN(wp_buffer_span(&buffer),
		   "{\"error\":\"no \\\"topic\\\"\",\"table\":\"public.outbox\","
		   "\"id_base64\":\"/w==\",\"topic\":null,\"key\":\"42\",\"headers\":[],"
		   "\"value\":\"{\\\"a\\\": 1}\",\"timestamp\":1700000000123,"
		   "\"position\":\"0000-00000001-000000000194AB88-00000002\"}\n");
	struct wp_buffer small;
	wp_buffer_init(&small, buffer.size - 1);
	CHECK_EQ(wp_json_poison(&small, &record, "no \"topic\""), WP_FULL);
	wp_buffer_release(&small);
}

static void a_line_above_the_buffers_limit_is_refused(void **state)
{
	struct wp_record record = example();
	struct wp_buffer measured, small;

	CHECK_EQ(wp_json_record(&buffer, &record), WP_OK);
	size_t size = buffer.size;
	wp_buffer_init(&measured, size);
	CHECK_EQ(wp_json_record(&measured, &record), WP_OK);
	wp_buffer_release(&measured);
	wp_buffer_init(&small, size - 1);
	CHECK_EQ(wp_json_record(&small, &record), WP_FULL);
	wp_buffer_release(&small);
}

int main(void)
{
	return RUN(TEST(a_record_is_one_line), TEST(null_and_empty_and_bytes_differ),
		   TEST(what_could_be_made_of_poison_stands_behind_the_reason),
		   TEST(a_line_above_the_buffers_limit_is_refused));
}
