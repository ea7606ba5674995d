#include "support/check.h"
#include "walpost/wal/lsn.h"

static void it_is_printed_as_two_halves_without_leading_zeroes(void **state)
{
	char text[WP_LSN_TEXT_SIZE];

	CHECK_TEXT(wp_lsn_text(0, text), "0/0");
	CHECK_TEXT(wp_lsn_text(0x16B374D848, text), "16/B374D848");
	CHECK_TEXT(wp_lsn_text(0x100000000, text), "1/0");
	CHECK_TEXT(wp_lsn_text(UINT64_MAX, text), "FFFFFFFF/FFFFFFFF");
}

static void what_is_printed_is_parsed(void **state)
{
	static const wp_lsn lsns[] = { 0, 1, 0xFFFFFFFF, 0x100000000, 0x16B374D848, UINT64_MAX };
	char text[WP_LSN_TEXT_SIZE];
	wp_lsn lsn;

	for (size_t i = 0; i < sizeof(lsns) / sizeof(lsns[0]); i++) {
		CHECK_EQ(wp_lsn_parse(wp_span_of(wp_lsn_text(lsns[i], text)), &lsn), WP_OK);
		CHECK(lsn == lsns[i]);
	}
}

static void small_letters_and_leading_zeroes_are_fine(void **state)
{
	wp_lsn lsn;

	CHECK_EQ(wp_lsn_parse(wp_span_of("00000016/b374d848"), &lsn), WP_OK);
	CHECK(lsn == 0x16B374D848);
}

static void anything_else_is_refused_and_nothing_written(void **state)
{
	static const char *const texts[] = {
		"",	 "/",		"1",	       "1/",	      "/1",
		"1//1",	 "1/1/1",	"0x1/1",       " 1/1",	      "1/1 ",
		"1/ 1",	 "-1/1",	"G/1",	       "1/G",	      "1-1",
		"1/1\n", "123456789/0", "0/123456789", "000000001/0", "0/000000000",
		"+1/1",
	};
	wp_lsn lsn = 42;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		CHECK_EQ(wp_lsn_parse(wp_span_of(texts[i]), &lsn), WP_DATA);
	CHECK_EQ(wp_lsn_parse((struct wp_span){ 0 }, &lsn), WP_DATA);
	CHECK_EQ(lsn, 42);
}

static void a_text_ends_where_its_span_ends(void **state)
{
	wp_lsn lsn;

	CHECK_EQ(wp_lsn_parse((struct wp_span){ (const uint8_t *)"1/23", 3 }, &lsn), WP_OK);
	CHECK_EQ(lsn, 0x100000002);
	CHECK_EQ(wp_lsn_parse((struct wp_span){ (const uint8_t *)"1/23", 2 }, &lsn), WP_DATA);
}

static void max_gives_the_later_one(void **state)
{
	CHECK_EQ(wp_lsn_max(1, 2), 2);
	CHECK_EQ(wp_lsn_max(2, 1), 2);
	CHECK(wp_lsn_max(UINT64_MAX, 0) == UINT64_MAX);
}

int main(void)
{
	return RUN(PLAIN(it_is_printed_as_two_halves_without_leading_zeroes),
		   PLAIN(what_is_printed_is_parsed),
		   PLAIN(small_letters_and_leading_zeroes_are_fine),
		   PLAIN(anything_else_is_refused_and_nothing_written),
		   PLAIN(a_text_ends_where_its_span_ends), PLAIN(max_gives_the_later_one));
}
