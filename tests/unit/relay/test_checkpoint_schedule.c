#include "support/check.h"
#include "checkpoint_schedule.h"

#define MIB (UINT64_C(1) << 20)

static struct wp_checkpoint_schedule s;

static int set_up(void **state)
{
	wp_checkpoint_schedule_begin(&s, false, 1000, 10, 0);
	return 0;
}

static bool step(wp_lsn flush, uint64_t confirmed, int64_t now_ms)
{
	return wp_checkpoint_schedule_step(&s, false, flush, confirmed, now_ms);
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

static void a_row_that_names_another_is_claimed_as_soon_as_a_status_was_sent(void **state)
{
	wp_checkpoint_schedule_begin(&s, true, 1000, 10, 0);
	CHECK(!wp_checkpoint_schedule_step(&s, true, 0, 10, 200));
	CHECK_EQ(s.due_ms, 400);
	CHECK(wp_checkpoint_schedule_step(&s, true, 1000, 10, 400));
	CHECK_EQ(s.due_ms, 5400);
}

int main(void)
{
	return RUN(FRESH(events_are_written_down_after_5_s_and_then_each_minute),
		   FRESH(without_events_only_a_mebibyte_is_worth_it),
		   FRESH(what_has_not_moved_is_not_written_again),
		   FRESH(a_row_that_names_another_is_claimed_as_soon_as_a_status_was_sent));
}
