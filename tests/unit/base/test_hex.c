#include "support/check.h"
#include "walpost/base/hex.h"

static void each_digit_has_its_value_and_nothing_else_has_one(void **state)
{
	static const char lower[] = "0123456789abcdef";
	static const char upper[] = "0123456789ABCDEF";
	int found = 0;

	for (int i = 0; i < 16; i++) {
		CHECK_EQ(wp_hex_value((uint8_t)lower[i]), i);
		CHECK_EQ(wp_hex_value((uint8_t)upper[i]), i);
	}
	for (int c = 0; c < 256; c++)
		found += wp_hex_value((uint8_t)c) >= 0 ? 1 : 0;
	CHECK_EQ(found, 22);
}

static void four_digits_are_a_unit_of_utf_16(void **state)
{
	CHECK_EQ(wp_hex_unit((const uint8_t *)"00e9"), 0xE9);
	CHECK_EQ(wp_hex_unit((const uint8_t *)"D83d"), 0xD83D);
}

int main(void)
{
	return RUN(PLAIN(each_digit_has_its_value_and_nothing_else_has_one),
		   PLAIN(four_digits_are_a_unit_of_utf_16));
}
