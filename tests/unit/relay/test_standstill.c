#include "standstill.h"
#include "support/check.h"

#define PATIENCE 60000

static struct wp_standstill s;
static struct wp_error error;
static int64_t suspended_ms;

static struct wp_now at(int64_t ms)
{
	return (struct wp_now){ .ms = ms, .boot_ms = ms, .wall_us = ms * 1000 };
}

static bool turn(struct wp_now now, bool streams)
{
	return wp_standstill_turn(&s, now, streams, PATIENCE, &suspended_ms, &error);
}

static int set_up(void **state)
{
	s = (struct wp_standstill){ 0 };
	CHECK(!turn(at(1000000), true));
	wp_standstill_rest(&s, 1000000);
	return 0;
}

static void a_stream_without_a_turn_for_the_servers_patience_stood_still(void **state)
{
	CHECK(!turn(at(1000000 + PATIENCE - 1), true));
	CHECK(turn(at(1000000 + 2 * PATIENCE - 1), true));
	CHECK_HAS(error.text, "blocked for 60000 ms");
}

static void what_had_nothing_to_do_for_so_long_did_not(void **state)
{
	wp_standstill_rest(&s, 1000000 + 50000);
	CHECK(!turn(at(1000000 + 50000 + PATIENCE - 1), false));
	wp_standstill_rest(&s, INT64_MAX); /* run never waits for longer than a minute */
	CHECK(turn(at(1000000 + 50000 + PATIENCE - 1 + 60000 + PATIENCE), false));
}

static void a_server_without_patience_times_nobody_out(void **state)
{
	CHECK(!wp_standstill_turn(&s, at(100000000), true, 0, &suspended_ms, &error));
}

static void a_suspended_machine_is_told_by_how_much(void **state)
{
	struct wp_now now = at(1001000);

	now.boot_ms += 99;
	now.wall_us += 99 * 1000;
	CHECK(!turn(now, true));
	CHECK_EQ(suspended_ms, 0);
	now.ms += 10;
	now.boot_ms += 10 + PATIENCE;
	now.wall_us += (10 + PATIENCE) * 1000;
	CHECK(turn(now, true));
	CHECK_EQ(suspended_ms, PATIENCE);
}

static void a_wall_clock_that_jumps_ahead_tells_of_a_paused_machine(void **state)
{
	struct wp_now now = at(1001000);

	now.wall_us += 60000 * 1000;
	CHECK(!turn(now, true));
	now.wall_us += 60001 * 1000;
	CHECK(turn(now, true));
	CHECK_HAS(error.text, "jumped ahead by 60001 ms");
}

int main(void)
{
	return RUN(FRESH(a_stream_without_a_turn_for_the_servers_patience_stood_still),
		   FRESH(what_had_nothing_to_do_for_so_long_did_not),
		   FRESH(a_server_without_patience_times_nobody_out),
		   FRESH(a_suspended_machine_is_told_by_how_much),
		   FRESH(a_wall_clock_that_jumps_ahead_tells_of_a_paused_machine));
}
