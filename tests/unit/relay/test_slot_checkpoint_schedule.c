#include "slot_checkpoint_schedule.h"
#include "support/check.h"

#define MIB (UINT64_C(1) << 20)

static struct wp_slot_checkpoint_schedule s;

static int set_up(void **state)
{
	wp_slot_checkpoint_schedule_begin(&s, false, 1000, 10, 0);
	return 0;
}

static bool step(wp_lsn flush, uint64_t confirmed, int64_t now_ms)
{
	return wp_slot_checkpoint_schedule_step(&s, flush, confirmed, now_ms);
}

static void events_are_written_down_after_5_s_and_then_each_minute(void **state)
{
	CHECK(!step(1001, 11, 4999));
	CHECK(step(1001, 11, 5000));
	CHECK(!step(1002, 12, 64999));
	CHECK(step(1002, 12, 65000));
}

static void without_events_only_a_mebibyte_is_worth_it(void **state)
{
	CHECK(!step(1000 + MIB - 1, 10, 5000));
	CHECK(step(1000 + MIB, 10, 65000));
}

static void what_has_not_moved_is_not_written_again(void **state)
{
	CHECK(!step(1000, 11, 5000));
}

static void
a_row_that_names_another_is_claimed_at_once_and_until_then_nothing_is_confirmed(void **state)
{
	wp_slot_checkpoint_schedule_begin(&s, true, 1000, 10, 0);
	CHECK(wp_slot_checkpoint_schedule_claims(&s, true, 0));
	CHECK_EQ(s.claim_ms, 2000);
	CHECK(s.held_ms != 0);
	CHECK(!wp_slot_checkpoint_schedule_claims(&s, false, 100));
	CHECK_EQ(s.held_ms, 0);
	CHECK_EQ(s.claim_ms, INT64_MAX);
}

static void a_row_that_cannot_be_written_holds_up_nothing_for_ever(void **state)
{
	wp_slot_checkpoint_schedule_begin(&s, true, 1000, 10, 0);
	for (int64_t now_ms = 0; now_ms < 10000; now_ms += 2000) {
		CHECK(wp_slot_checkpoint_schedule_claims(&s, true, now_ms));
		CHECK(s.held_ms != 0);
	}
	CHECK(wp_slot_checkpoint_schedule_claims(&s, true, 10000));
	CHECK_EQ(s.held_ms, 0);
}

int main(void)
{
	return RUN(
		FRESH(events_are_written_down_after_5_s_and_then_each_minute),
		FRESH(without_events_only_a_mebibyte_is_worth_it),
		FRESH(what_has_not_moved_is_not_written_again),
		FRESH(a_row_that_names_another_is_claimed_at_once_and_until_then_nothing_is_confirmed),
		FRESH(a_row_that_cannot_be_written_holds_up_nothing_for_ever));
}
