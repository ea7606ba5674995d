#include "support/check.h"
#include "topic_wait.h"

#define PATIENCE 300000

static struct wp_topic_wait w;
static struct wp_sink_view v;

static int set_up(void **state)
{
	w = (struct wp_topic_wait){ 0 };
	v = (struct wp_sink_view){ .state = WP_SINK_WAITING, .reachable = true, .topic = "a" };
	return 0;
}

static unsigned step(enum wp_state state, wp_lsn confirmed_lsn, int64_t now_ms)
{
	return wp_topic_wait_step(&w, state, &v, confirmed_lsn, PATIENCE, now_ms);
}

static void a_wait_is_told_at_once_and_then_each_minute(void **state)
{
	CHECK_EQ(step(WP_PAUSED, 1, 1000), WP_TOPIC_NOTE);
	CHECK_EQ(step(WP_PAUSED, 1, 60999), 0);
	CHECK_EQ(wp_topic_wait_due(&w, WP_PAUSED, &v, PATIENCE), 61000);
	CHECK_EQ(step(WP_PAUSED, 1, 61000), WP_TOPIC_NOTE);
}

static void it_ends_when_patience_does(void **state)
{
	CHECK_EQ(step(WP_PAUSED, 1, 0), WP_TOPIC_NOTE);
	CHECK_EQ(step(WP_PAUSED, 1, PATIENCE - 1), WP_TOPIC_NOTE);
	CHECK_EQ(step(WP_PAUSED, 1, PATIENCE), WP_TOPIC_GIVE_UP);
}

static void without_patience_it_is_told_and_given_up_at_once(void **state)
{
	CHECK_EQ(wp_topic_wait_step(&w, WP_PAUSED, &v, 1, 0, 5), WP_TOPIC_NOTE | WP_TOPIC_GIVE_UP);
}

static void another_topic_is_another_wait(void **state)
{
	CHECK_EQ(step(WP_PAUSED, 1, 0), WP_TOPIC_NOTE);
	v.topic[0] = 'b';
	CHECK_EQ(step(WP_PAUSED, 1, PATIENCE), WP_TOPIC_NOTE);
}

static void while_nobody_can_tell_patience_does_not_run_out(void **state)
{
	CHECK_EQ(step(WP_PAUSED, 1, 0), WP_TOPIC_NOTE);
	v.reachable = false;
	CHECK_EQ(step(WP_PAUSED, 1, 2 * PATIENCE), WP_TOPIC_NOTE);
	v.reachable = true;
	CHECK_EQ(step(WP_PAUSED, 1, 2 * PATIENCE + 1), 0);
}

static void found_is_told_when_something_is_confirmed_again(void **state)
{
	CHECK_EQ(step(WP_PAUSED, 1, 0), WP_TOPIC_NOTE);
	v.state = WP_SINK_READY;
	CHECK_EQ(step(WP_STREAMING, 1, 1), 0);
	CHECK_EQ(wp_topic_wait_due(&w, WP_PAUSED, &v, PATIENCE), INT64_MAX);
	CHECK_EQ(step(WP_STREAMING, 2, 2), WP_TOPIC_FOUND);
	CHECK_EQ(step(WP_STREAMING, 3, 3), 0);
}

static void in_standby_it_is_over_without_a_word(void **state)
{
	CHECK_EQ(step(WP_PAUSED, 1, 0), WP_TOPIC_NOTE);
	CHECK_EQ(step(WP_STANDBY, 1, 1), 0);
	v.state = WP_SINK_READY;
	CHECK_EQ(step(WP_STREAMING, 2, 2), 0);
}

int main(void)
{
	return RUN(FRESH(a_wait_is_told_at_once_and_then_each_minute),
		   FRESH(it_ends_when_patience_does),
		   FRESH(without_patience_it_is_told_and_given_up_at_once),
		   FRESH(another_topic_is_another_wait),
		   FRESH(while_nobody_can_tell_patience_does_not_run_out),
		   FRESH(found_is_told_when_something_is_confirmed_again),
		   FRESH(in_standby_it_is_over_without_a_word));
}
