#include "support/check.h"
#include "walpost/relay/pending_dead_letters.h"

static struct wp_position at(wp_lsn lsn, uint32_t ordinal)
{
	return (struct wp_position){ .timeline = 1, .commit_lsn = lsn, .ordinal = ordinal };
}

static enum wp_rc add(struct wp_pending_dead_letters *d, wp_lsn lsn, uint32_t ordinal,
		      enum wp_letter letter)
{
	return wp_pending_dead_letters_add(
		d, &(struct wp_pending_dead_letter){
			   .position = at(lsn, ordinal), .letter = letter, .reason = "reason" });
}

static const struct wp_pending_dead_letter *find(const struct wp_pending_dead_letters *d,
						 wp_lsn lsn, uint32_t ordinal)
{
	struct wp_position position = at(lsn, ordinal);

	return wp_pending_dead_letters_find(d, &position);
}

static void only_the_very_position_is_found(void **state)
{
	struct wp_pending_dead_letters d = { 0 };

	CHECK(find(&d, 100, 1) == NULL);
	CHECK_EQ(add(&d, 100, 1, WP_LETTER_WHOLE), WP_OK);
	CHECK_TEXT(find(&d, 100, 1)->reason, "reason");
	CHECK(find(&d, 100, 0) == NULL);
	CHECK(find(&d, 101, 1) == NULL);
	struct wp_position elsewhere = at(100, 1);
	elsewhere.timeline = 2;
	CHECK(wp_pending_dead_letters_find(&d, &elsewhere) == NULL);
	elsewhere = at(100, 1);
	elsewhere.epoch = 1;
	CHECK(wp_pending_dead_letters_find(&d, &elsewhere) == NULL);
	wp_pending_dead_letters_release(&d);
}

static void one_that_is_there_is_replaced(void **state)
{
	struct wp_pending_dead_letters d = { 0 };

	CHECK_EQ(add(&d, 100, 1, WP_LETTER_WHOLE), WP_OK);
	CHECK_EQ(add(&d, 100, 1, WP_LETTER_BARE), WP_OK);
	CHECK_EQ(d.count, 1);
	CHECK_EQ(find(&d, 100, 1)->letter, WP_LETTER_BARE);
	wp_pending_dead_letters_release(&d);
}

static void those_below_safe_are_forgotten_and_no_others(void **state)
{
	struct wp_pending_dead_letters d = { 0 };

	CHECK_EQ(add(&d, 100, 0, WP_LETTER_WHOLE), WP_OK);
	CHECK_EQ(add(&d, 200, 0, WP_LETTER_WHOLE), WP_OK);
	CHECK_EQ(add(&d, 100, 1, WP_LETTER_WHOLE), WP_OK);
	wp_pending_dead_letters_forget(&d, 100);
	CHECK_EQ(d.count, 3);
	wp_pending_dead_letters_forget(&d, 101);
	CHECK_EQ(d.count, 1);
	CHECK(find(&d, 200, 0) != NULL);
	wp_pending_dead_letters_forget(&d, 300);
	CHECK(d.items == NULL);
}

static void there_is_room_for_so_many_and_no_more(void **state)
{
	struct wp_pending_dead_letters d = { 0 };

	for (uint32_t i = 0; i < WP_PENDING_DEAD_LETTERS_MAX; i++)
		CHECK_EQ(add(&d, 100, i, WP_LETTER_WHOLE), WP_OK);
	CHECK_EQ(add(&d, 100, WP_PENDING_DEAD_LETTERS_MAX, WP_LETTER_WHOLE), WP_FULL);
	CHECK(find(&d, 100, 0) != NULL && find(&d, 100, WP_PENDING_DEAD_LETTERS_MAX - 1) != NULL);
	wp_pending_dead_letters_release(&d);
}

int main(void)
{
	return RUN(PLAIN(only_the_very_position_is_found), PLAIN(one_that_is_there_is_replaced),
		   PLAIN(those_below_safe_are_forgotten_and_no_others),
		   PLAIN(there_is_room_for_so_many_and_no_more));
}
