#include "support/check.h"
#include "walpost/base/wire.h"

static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 'a', 'b', 0, 'c' };

static struct wp_wire wire_of(size_t size)
{
	struct wp_wire w;

	wp_wire_init(&w, (struct wp_span){ .data = bytes, .size = size });
	return w;
}

static void numbers_are_big_endian(void **state)
{
	struct wp_wire w = wire_of(8);
	CHECK(wp_wire_u64(&w) == 0x0102030405060708u);
	CHECK_EQ(wp_wire_end(&w), WP_OK);

	w = wire_of(7);
	CHECK_EQ(wp_wire_u8(&w), 0x01);
	CHECK_EQ(wp_wire_u16(&w), 0x0203);
	CHECK_EQ(wp_wire_u32(&w), 0x04050607);
	CHECK_EQ(wp_wire_end(&w), WP_OK);
}

static void the_high_bit_is_no_sign(void **state)
{
	static const uint8_t ones[] = { 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF };
	struct wp_span span = { .data = ones, .size = sizeof(ones) };
	struct wp_wire w;

	wp_wire_init(&w, span);
	CHECK(wp_wire_u64(&w) == UINT64_MAX);
	wp_wire_init(&w, span);
	CHECK(wp_wire_u32(&w) == UINT32_MAX);
	CHECK(wp_wire_u16(&w) == UINT16_MAX);
}

static void a_number_that_is_one_byte_short_gives_zero(void **state)
{
	struct wp_wire w = wire_of(0);
	CHECK_EQ(wp_wire_u8(&w), 0);
	CHECK_EQ(wp_wire_end(&w), WP_PROTO);
	w = wire_of(1);
	CHECK_EQ(wp_wire_u16(&w), 0);
	CHECK_EQ(wp_wire_end(&w), WP_PROTO);
	w = wire_of(3);
	CHECK_EQ(wp_wire_u32(&w), 0);
	CHECK_EQ(wp_wire_end(&w), WP_PROTO);
	w = wire_of(7);
	CHECK_EQ(wp_wire_u64(&w), 0);
	CHECK_EQ(wp_wire_end(&w), WP_PROTO);
}

static void after_a_short_read_nothing_is_given_any_more(void **state)
{
	struct wp_wire w = wire_of(3);

	CHECK_EQ(wp_wire_u32(&w), 0);
	CHECK_EQ(wp_wire_u8(&w), 0);
	CHECK(wp_span_is_null(wp_wire_bytes(&w, 0)));
	CHECK(wp_span_is_null(wp_wire_cstr(&w)));
	CHECK_EQ(wp_wire_end(&w), WP_PROTO);
}

static void bytes_that_remain_are_an_error(void **state)
{
	struct wp_wire w = wire_of(2);

	CHECK_EQ(wp_wire_u8(&w), 1);
	CHECK_EQ(wp_wire_end(&w), WP_PROTO);
	CHECK_EQ(wp_wire_u8(&w), 2);
	CHECK_EQ(wp_wire_end(&w), WP_OK);
}

static void a_string_is_given_without_its_nul(void **state)
{
	struct wp_wire w = wire_of(13);

	(void)wp_wire_bytes(&w, 9);
	struct wp_span text = wp_wire_cstr(&w);
	CHECK_SPAN(text, "ab");
	CHECK_EQ(text.data[text.size], 0);
	CHECK_EQ(wp_wire_u8(&w), 'c');
	CHECK_EQ(wp_wire_end(&w), WP_OK);
}

static void a_string_without_a_nul_is_an_error(void **state)
{
	struct wp_wire w = wire_of(11);

	(void)wp_wire_bytes(&w, 9);
	CHECK(wp_span_is_null(wp_wire_cstr(&w)));
	CHECK_EQ(wp_wire_end(&w), WP_PROTO);
}

static void no_size_from_the_wire_reaches_past_the_end(void **state)
{
	struct wp_wire w = wire_of(4);
	CHECK_EQ(wp_wire_bytes(&w, 4).size, 4);
	CHECK_EQ(wp_wire_end(&w), WP_OK);

	w = wire_of(4);
	CHECK(wp_span_is_null(wp_wire_bytes(&w, 5)));
	w = wire_of(4);
	CHECK(wp_span_is_null(wp_wire_bytes(&w, SIZE_MAX)));
}

static void an_empty_field_is_not_null(void **state)
{
	struct wp_wire w;

	wp_wire_init(&w, (struct wp_span){ 0 });
	CHECK(!wp_span_is_null(wp_wire_bytes(&w, 0)));
	CHECK_EQ(wp_wire_end(&w), WP_OK);
	w = wire_of(1);
	(void)wp_wire_u8(&w);
	CHECK(!wp_span_is_null(wp_wire_bytes(&w, 0)));
}

static void what_is_put_is_read_again(void **state)
{
	uint8_t room[8];
	struct wp_wire w;

	wp_wire_put_u64(room, 0xF102030405060708u);
	CHECK_EQ(room[0], 0xF1);
	CHECK_EQ(room[7], 0x08);
	wp_wire_init(&w, (struct wp_span){ .data = room, .size = sizeof(room) });
	CHECK(wp_wire_u64(&w) == 0xF102030405060708u);
}

int main(void)
{
	return RUN(PLAIN(numbers_are_big_endian), PLAIN(the_high_bit_is_no_sign),
		   PLAIN(a_number_that_is_one_byte_short_gives_zero),
		   PLAIN(after_a_short_read_nothing_is_given_any_more),
		   PLAIN(bytes_that_remain_are_an_error), PLAIN(a_string_is_given_without_its_nul),
		   PLAIN(a_string_without_a_nul_is_an_error),
		   PLAIN(no_size_from_the_wire_reaches_past_the_end),
		   PLAIN(an_empty_field_is_not_null), PLAIN(what_is_put_is_read_again));
}
