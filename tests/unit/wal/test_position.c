#include <string.h>

#include "support/check.h"
#include "walpost/base/backoff.h"
#include "walpost/wal/position.h"

static const char *text_of(struct wp_position position)
{
	static char text[WP_POSITION_TEXT_SIZE];

	return wp_position_text(&position, text);
}

static void it_is_what_the_public_contract_says(void **state)
{
	struct wp_position example = {
		.epoch = 0,
		.timeline = 1,
		.commit_lsn = 0x194AB88,
		.ordinal = 2,
	};

	CHECK_TEXT(text_of(example), "0000-00000001-000000000194AB88-00000002");
}

static void the_lowest_and_the_highest_have_the_same_length(void **state)
{
	struct wp_position highest = {
		.epoch = UINT16_MAX,
		.timeline = UINT32_MAX,
		.commit_lsn = UINT64_MAX,
		.ordinal = UINT32_MAX,
	};

	CHECK_TEXT(text_of((struct wp_position){ 0 }), "0000-00000000-0000000000000000-00000000");
	CHECK_TEXT(text_of(highest), "FFFF-FFFFFFFF-FFFFFFFFFFFFFFFF-FFFFFFFF");
	CHECK_EQ(strlen(text_of(highest)), WP_POSITION_TEXT_SIZE - 1);
}

static void every_digit_has_its_place(void **state)
{
	struct wp_position position = {
		.epoch = 0x0A1B,
		.timeline = 0x12345678,
		.commit_lsn = 0x0123456789ABCDEF,
		.ordinal = 0xFEDCBA98,
	};

	CHECK_TEXT(text_of(position), "0A1B-12345678-0123456789ABCDEF-FEDCBA98");
}

/* Small differences in every field, so that each of them decides sometimes. */
static struct wp_position random_position(uint64_t *seed)
{
	uint64_t bits = wp_random_next(seed);
	unsigned shift = (unsigned)(bits >> 32) % 15;

	return (struct wp_position){
		.epoch = (uint16_t)((bits & 1) << shift),
		.timeline = (uint32_t)((bits >> 1 & 1) << (2 * shift)),
		.commit_lsn = (bits >> 2 & 1) << (4 * shift),
		.ordinal = (uint32_t)((bits >> 3 & 3) << (2 * shift)),
	};
}

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int order_of(const struct wp_position *a, const struct wp_position *b)
{
	int by_epoch = order(a->epoch, b->epoch);
	int by_timeline = order(a->timeline, b->timeline);
	int by_lsn = order(a->commit_lsn, b->commit_lsn);

	if (by_epoch != 0)
		return by_epoch;
	if (by_timeline != 0)
		return by_timeline;
	return by_lsn != 0 ? by_lsn : order(a->ordinal, b->ordinal);
}

static void texts_sort_as_the_numbers_do(void **state)
{
	uint64_t seed = 20240229;

	for (int i = 0; i < 20000; i++) {
		struct wp_position a = random_position(&seed);
		struct wp_position b = random_position(&seed);
		char text_a[WP_POSITION_TEXT_SIZE];
		char text_b[WP_POSITION_TEXT_SIZE];
		int by_text = strcmp(wp_position_text(&a, text_a), wp_position_text(&b, text_b));
		CHECK_EQ((by_text > 0) - (by_text < 0), order_of(&a, &b));
		CHECK_EQ(wp_position_compare(&a, &b), order_of(&a, &b));
	}
}

static void what_was_written_is_read_back(void **state)
{
	uint64_t seed = 17;

	for (int i = 0; i < 2000; i++) {
		struct wp_position a = random_position(&seed);
		struct wp_position b = { 0 };
		char text[WP_POSITION_TEXT_SIZE];
		CHECK_EQ(wp_position_parse(wp_span_of(wp_position_text(&a, text)), &b), WP_OK);
		CHECK_EQ(wp_position_compare(&a, &b), 0);
	}
}

static void what_is_not_a_position_is_not_read(void **state)
{
	static const char *const wrong[] = {
		"",
		"0000-00000001-000000000194AB88-0000000",
		"0000-00000001-000000000194AB88-000000021",
		"0000-00000001-000000000194ab88-00000002",
		"0000-00000001-000000000194AB88-0000000G",
		"0000+00000001-000000000194AB88-00000002",
		"0000-00000001+000000000194AB88-00000002",
		"0000-00000001-000000000194AB88+00000002",
		" 000-00000001-000000000194AB88-00000002",
	};
	struct wp_position position;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK_EQ(wp_position_parse(wp_span_of(wrong[i]), &position), WP_DATA);
	CHECK_EQ(wp_position_parse((struct wp_span){ 0 }, &position), WP_DATA);
}

int main(void)
{
	return RUN(PLAIN(it_is_what_the_public_contract_says),
		   PLAIN(the_lowest_and_the_highest_have_the_same_length),
		   PLAIN(every_digit_has_its_place), PLAIN(texts_sort_as_the_numbers_do),
		   PLAIN(what_was_written_is_read_back), PLAIN(what_is_not_a_position_is_not_read));
}
