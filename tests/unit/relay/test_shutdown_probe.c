#include "shutdown_probe.h"
#include "support/check.h"

static struct wp_shutdown_probe p;
static struct wp_source_view v;

static int set_up(void **state)
{
	v.probe = WP_PROBE_NONE;
	v.slot_state.unanswered = false;
	wp_shutdown_probe_begin(&p, 1000);
	return 0;
}

static enum wp_probe_step step(enum wp_state state, bool behind, int64_t now_ms)
{
	return wp_shutdown_probe_step(&p, state, &v, behind, now_ms);
}

static void it_is_asked_while_paused_every_two_and_a_half_seconds(void **state)
{
	CHECK_EQ(wp_shutdown_probe_due(&p, WP_PAUSED, &v), 3500);
	CHECK_EQ(step(WP_PAUSED, false, 3499), WP_PROBE_DO_NOTHING);
	CHECK_EQ(step(WP_PAUSED, false, 3500), WP_PROBE_ASK);
	v.probe = WP_PROBE_RUNNING;
	CHECK_EQ(wp_shutdown_probe_due(&p, WP_PAUSED, &v), INT64_MAX);
	CHECK_EQ(step(WP_PAUSED, false, 9000), WP_PROBE_DO_NOTHING);
	v.probe = WP_PROBE_ALIVE;
	CHECK_EQ(step(WP_PAUSED, false, 9000), WP_PROBE_ASK);
}

static void at_the_end_of_what_the_server_sent_its_pings_are_heard(void **state)
{
	wp_shutdown_probe_at_end(&p, 8000);
	CHECK_EQ(step(WP_STREAMING, false, 9000), WP_PROBE_DO_NOTHING);
	wp_shutdown_probe_not_reading(&p, 9000);
	wp_shutdown_probe_found_nothing(&p, 10999);
	CHECK_EQ(p.quiet_ms, 8000);
	wp_shutdown_probe_found_nothing(&p, 11000);
	CHECK_EQ(p.quiet_ms, 11000);
}

static void a_server_that_stops_is_let_go_and_one_that_is_gone_is_lost(void **state)
{
	CHECK_EQ(step(WP_PAUSED, false, 4000), WP_PROBE_ASK);
	v.probe = WP_PROBE_STOPPING;
	CHECK_EQ(step(WP_PAUSED, false, 4100), WP_PROBE_LET_GO);
	v.probe = WP_PROBE_UNREACHABLE;
	CHECK_EQ(step(WP_PAUSED, false, 4100), WP_PROBE_LOST);
	CHECK_EQ(step(WP_STREAMING, false, 4100), WP_PROBE_DO_NOTHING);
}

static void an_answer_of_the_stream_before_counts_for_nothing(void **state)
{
	v.probe = WP_PROBE_STOPPING;
	CHECK_EQ(step(WP_PAUSED, true, 1100), WP_PROBE_DO_NOTHING);
}

static void silent_beside_the_stream_and_behind_is_a_reason_to_ask(void **state)
{
	wp_shutdown_probe_at_end(&p, 8000);
	v.slot_state.unanswered = true;
	CHECK_EQ(step(WP_STREAMING, false, 9000), WP_PROBE_DO_NOTHING);
	CHECK_EQ(step(WP_STREAMING, true, 9000), WP_PROBE_ASK);
	CHECK_EQ(step(WP_DRAINING, true, 20000), WP_PROBE_DO_NOTHING);
}

int main(void)
{
	return RUN(FRESH(it_is_asked_while_paused_every_two_and_a_half_seconds),
		   FRESH(at_the_end_of_what_the_server_sent_its_pings_are_heard),
		   FRESH(a_server_that_stops_is_let_go_and_one_that_is_gone_is_lost),
		   FRESH(an_answer_of_the_stream_before_counts_for_nothing),
		   FRESH(silent_beside_the_stream_and_behind_is_a_reason_to_ask));
}
