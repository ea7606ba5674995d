#include "sink_watch.h"
#include "support/check.h"

static struct wp_sink_watch w;
static struct wp_sink_view v;
static struct wp_sink_use use;

static int set_up(void **state)
{
	wp_sink_watch_init(&w);
	v = (struct wp_sink_view){ .state = WP_SINK_READY, .reachable = true };
	use = (struct wp_sink_use){ .state = WP_STREAMING };
	return 0;
}

static unsigned step(int64_t now_ms)
{
	return wp_sink_watch_step(&w, &v, &use, now_ms);
}

static void cut_off(void)
{
	v.reachable = false;
	v.error.text[0] = 'x';
}

static void an_outage_is_told_once_a_reason_is_known_then_each_minute_and_its_end(void **state)
{
	CHECK_EQ(step(0), 0);
	v.reachable = false;
	CHECK_EQ(step(1), 0);
	cut_off();
	CHECK_EQ(step(2), WP_SINK_UNREACHABLE);
	CHECK_EQ(wp_sink_watch_due(&w, &v, &use), 60002);
	CHECK_EQ(step(60001), 0);
	CHECK_EQ(step(60002), WP_SINK_STILL_UNREACHABLE);
	v.reachable = true;
	CHECK_EQ(step(60003), WP_SINK_REACHABLE);
	CHECK_EQ(step(60004), 0);
}

static void while_a_topic_is_waited_for_an_outage_is_not_told_again(void **state)
{
	cut_off();
	CHECK_EQ(step(0), WP_SINK_UNREACHABLE);
	v.state = WP_SINK_WAITING;
	CHECK_EQ(step(60000), 0);
	CHECK_EQ(wp_sink_watch_due(&w, &v, &use), 120000);
}

static void a_stall_is_told_after_a_minute_and_its_end(void **state)
{
	CHECK_EQ(step(0), 0);
	use.in_flight = 5;
	CHECK_EQ(wp_sink_watch_due(&w, &v, &use), 60000);
	CHECK_EQ(step(59999), 0);
	CHECK_EQ(step(60000), WP_SINK_STALLED);
	CHECK_EQ(step(119999), 0);
	CHECK_EQ(step(120000), WP_SINK_STALLED);
	use.confirmed = 1;
	CHECK_EQ(step(120001), WP_SINK_CONFIRMS);
	CHECK_EQ(step(120002), 0);
}

static void an_outage_ends_a_stall_without_a_word_until_something_is_confirmed(void **state)
{
	use.in_flight = 5;
	CHECK_EQ(step(60000), WP_SINK_STALLED);
	cut_off();
	CHECK_EQ(step(60001), WP_SINK_UNREACHABLE);
	v.reachable = true;
	CHECK_EQ(step(60002), WP_SINK_REACHABLE);
	use.confirmed = 1;
	CHECK_EQ(step(60003), WP_SINK_CONFIRMS);
}

static void what_is_confirmed_now_and_then_is_no_stall(void **state)
{
	use.in_flight = 5;
	for (int64_t ms = 0; ms < 300000; ms += 59000) {
		use.confirmed++;
		CHECK_EQ(step(ms), 0);
	}
}

static void it_is_broken_since_it_was_first_seen_so(void **state)
{
	CHECK_EQ(wp_sink_watch_broken_for(&w, 10), 0);
	CHECK_EQ(wp_sink_watch_broken_for(&w, 25), 15);
}

int main(void)
{
	return RUN(FRESH(an_outage_is_told_once_a_reason_is_known_then_each_minute_and_its_end),
		   FRESH(while_a_topic_is_waited_for_an_outage_is_not_told_again),
		   FRESH(a_stall_is_told_after_a_minute_and_its_end),
		   FRESH(an_outage_ends_a_stall_without_a_word_until_something_is_confirmed),
		   FRESH(what_is_confirmed_now_and_then_is_no_stall),
		   FRESH(it_is_broken_since_it_was_first_seen_so));
}
