#include "stop.h"
#include "support/check.h"
#include "walpost/base/error.h"

static struct wp_stop s;

static int set_up(void **state)
{
	s = (struct wp_stop){ 0 };
	return 0;
}

static bool halt(int exit_code, const char *event)
{
	struct wp_error error = { .text = "because" };

	return wp_stop_halt(&s, exit_code, event, &error, 20000, 1000);
}

static enum wp_stop_step step(enum wp_state state, enum wp_on_halt on_halt, int64_t now_ms)
{
	return wp_stop_step(&s, state, on_halt, now_ms);
}

static void the_first_reason_counts(void **state)
{
	CHECK(halt(WP_EXIT_HUMAN, "one"));
	CHECK(!halt(WP_EXIT_CONFIG, "two"));
	CHECK_EQ(s.exit_code, WP_EXIT_HUMAN);
	CHECK_TEXT(s.halt_event, "one");
	CHECK_TEXT(s.halt_error.text, "because");
}

static void the_time_given_runs_from_the_first_word(void **state)
{
	wp_stop_ask(&s, 20000, 500);
	CHECK_EQ(s.by_ms, 20500);
	CHECK(halt(WP_EXIT_HUMAN, "one"));
	wp_stop_ask(&s, 20000, 7000);
	CHECK_EQ(s.by_ms, 20500);
	CHECK_EQ(wp_stop_due(&s, WP_STREAMING, 20000), 10500);
	CHECK_EQ(wp_stop_due(&s, WP_DRAINING, 20000), INT64_MAX);
}

static void hurried_it_becomes_less_and_never_more(void **state)
{
	wp_stop_ask(&s, 20000, 0);
	CHECK(wp_stop_hurry(&s, 3000));
	CHECK(!wp_stop_hurry(&s, 3000));
	CHECK(!wp_stop_hurry(&s, 4000));
	CHECK_EQ(s.by_ms, 3000);
}

static void a_halt_for_a_human_holds_the_process_where_that_is_asked_for(void **state)
{
	CHECK(halt(WP_EXIT_HUMAN, "one"));
	CHECK_EQ(step(WP_STOPPED, WP_ON_HALT_EXIT, 5000), WP_STOP_NOTHING);
	CHECK_EQ(step(WP_FINISHING, WP_ON_HALT_HOLD, 5000), WP_STOP_NOTHING);
	CHECK_EQ(step(WP_STOPPED, WP_ON_HALT_HOLD, 5000), WP_STOP_HOLD);
	CHECK_EQ(step(WP_HELD, WP_ON_HALT_HOLD, 64999), WP_STOP_NOTHING);
	CHECK_EQ(wp_stop_due(&s, WP_HELD, 20000), 65000);
	CHECK_EQ(step(WP_HELD, WP_ON_HALT_HOLD, 65000), WP_STOP_REMIND);
	CHECK_EQ(step(WP_HELD, WP_ON_HALT_HOLD, 65001), WP_STOP_NOTHING);
}

static void asked_from_outside_it_leaves(void **state)
{
	CHECK(halt(WP_EXIT_HUMAN, "one"));
	wp_stop_ask(&s, 20000, 2000);
	CHECK_EQ(step(WP_STOPPED, WP_ON_HALT_HOLD, 5000), WP_STOP_NOTHING);
	CHECK_EQ(step(WP_HELD, WP_ON_HALT_HOLD, 5000), WP_STOP_LEAVE);
}

static void a_halt_that_a_restart_may_help_holds_nothing(void **state)
{
	CHECK(halt(WP_EXIT_FAILED, "one"));
	CHECK_EQ(step(WP_STOPPED, WP_ON_HALT_HOLD, 5000), WP_STOP_NOTHING);
}

int main(void)
{
	return RUN(FRESH(the_first_reason_counts), FRESH(the_time_given_runs_from_the_first_word),
		   FRESH(hurried_it_becomes_less_and_never_more),
		   FRESH(a_halt_for_a_human_holds_the_process_where_that_is_asked_for),
		   FRESH(asked_from_outside_it_leaves),
		   FRESH(a_halt_that_a_restart_may_help_holds_nothing));
}
