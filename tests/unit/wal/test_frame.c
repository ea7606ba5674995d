#include "bytes.h"
#include "walpost/wal/frame.h"

#define DATA "77 0000000000000010 0000000000000020 0000000000000030 "
#define KEEPALIVE "6B 0000000000000020 FFFFFFFFFFFFFFFF "

static enum wp_rc read_frame(const char *hex, struct wp_frame *ret, struct wp_error *error)
{
	struct wp_span bytes = bytes_of(hex);
	enum wp_rc rc = wp_frame_read(bytes, ret, error);

	free_bytes(bytes);
	return rc;
}

static void data_carries_its_positions_and_one_message(void **state)
{
	struct wp_span bytes = bytes_of(DATA "42 43");
	struct wp_frame frame;

	CHECK_EQ(wp_frame_read(bytes, &frame, NULL), WP_OK);
	CHECK_EQ(frame.kind, WP_FRAME_DATA);
	CHECK_EQ(frame.start, 0x10);
	CHECK_EQ(frame.end, 0x20);
	CHECK_EQ(frame.sent_at_us, 0x30);
	CHECK(!frame.reply_requested);
	CHECK_SPAN(frame.body, "BC");
	CHECK(frame.body.data == bytes.data + 25);
	free_bytes(bytes);
}

static void data_may_be_empty_but_not_null(void **state)
{
	struct wp_frame frame;

	CHECK_EQ(read_frame(DATA, &frame, NULL), WP_OK);
	CHECK_EQ(frame.body.size, 0);
	CHECK(!wp_span_is_null(frame.body));
}

static void a_keepalive_may_ask_for_a_reply(void **state)
{
	struct wp_frame frame;

	CHECK_EQ(read_frame(KEEPALIVE "00", &frame, NULL), WP_OK);
	CHECK_EQ(frame.kind, WP_FRAME_KEEPALIVE);
	CHECK_EQ(frame.end, 0x20);
	CHECK_EQ(frame.start, 0);
	CHECK_EQ(frame.sent_at_us, -1);
	CHECK(!frame.reply_requested);
	CHECK(wp_span_is_null(frame.body));
	CHECK_EQ(read_frame(KEEPALIVE "01", &frame, NULL), WP_OK);
	CHECK(frame.reply_requested);
}

static void a_frame_that_is_cut_short_is_refused(void **state)
{
	struct wp_frame frame = { .start = 42 };
	struct wp_error error;
	struct wp_span data = bytes_of(DATA);
	struct wp_span keepalive = bytes_of(KEEPALIVE "00");

	for (size_t size = 0; size < data.size; size++) {
		struct wp_span cut = bytes_with(data, size, "");
		CHECK_EQ(wp_frame_read(cut, &frame, &error), WP_PROTO);
		free_bytes(cut);
	}
	CHECK_HAS(error.text, "'w' with an invalid size of 24 bytes");
	for (size_t size = 0; size < keepalive.size; size++) {
		struct wp_span cut = bytes_with(keepalive, size, "");
		CHECK_EQ(wp_frame_read(cut, &frame, &error), WP_PROTO);
		free_bytes(cut);
	}
	CHECK_HAS(error.text, "'k' with an invalid size of 17 bytes");
	CHECK_EQ(frame.start, 42);
	free_bytes(data);
	free_bytes(keepalive);
}

static void a_keepalive_with_more_than_its_bytes_is_refused(void **state)
{
	struct wp_frame frame;
	struct wp_error error;

	CHECK_EQ(read_frame(KEEPALIVE "00 00", &frame, &error), WP_PROTO);
	CHECK_HAS(error.text, "'k' with an invalid size of 19 bytes");
}

static void an_unknown_kind_is_refused_and_named(void **state)
{
	struct wp_frame frame;
	struct wp_error error;

	CHECK_EQ(read_frame("72 0000", &frame, &error), WP_PROTO);
	CHECK_HAS(error.text, "0x72");
	CHECK_EQ(read_frame("00", &frame, &error), WP_PROTO);
	CHECK_HAS(error.text, "0x00");
	CHECK_EQ(wp_frame_read((struct wp_span){ 0 }, &frame, &error), WP_PROTO);
	CHECK_HAS(error.text, "empty");
}

static void a_status_is_written_as_the_server_reads_it(void **state)
{
	struct wp_status status = {
		.write = 0x0102030405060708,
		.flush = 0x1112131415161718,
		.apply = 0x2122232425262728,
		.now_us = -2,
		.reply_requested = true,
	};
	struct wp_span wanted = bytes_of("72 0102030405060708 1112131415161718 2122232425262728"
					 "FFFFFFFFFFFFFFFE 01");
	uint8_t bytes[WP_STATUS_SIZE];

	wp_status_write(&status, bytes);
	CHECK_EQ(wanted.size, WP_STATUS_SIZE);
	assert_memory_equal(bytes, wanted.data, WP_STATUS_SIZE);
	status.reply_requested = false;
	wp_status_write(&status, bytes);
	CHECK_EQ(bytes[33], 0);
	free_bytes(wanted);
}

int main(void)
{
	return RUN(PLAIN(data_carries_its_positions_and_one_message),
		   PLAIN(data_may_be_empty_but_not_null), PLAIN(a_keepalive_may_ask_for_a_reply),
		   PLAIN(a_frame_that_is_cut_short_is_refused),
		   PLAIN(a_keepalive_with_more_than_its_bytes_is_refused),
		   PLAIN(an_unknown_kind_is_refused_and_named),
		   PLAIN(a_status_is_written_as_the_server_reads_it));
}
