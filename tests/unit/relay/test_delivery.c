#include "delivery.h"
#include "support/check.h"

#define SLOW "Kafka answers, but confirms nothing"

static struct wp_delivery d;

static int set_up(void **state)
{
	wp_delivery_init(&d);
	wp_delivery_begin(&d, 0);
	return 0;
}

static void what_waits_for_15_s_is_stalled(void **state)
{
	CHECK(!wp_delivery_step(&d, SLOW, 1000));
	CHECK_EQ(wp_delivery_due(&d, true), 16000);
	CHECK(!wp_delivery_step(&d, SLOW, 15999));
	CHECK(wp_delivery_step(&d, SLOW, 16000));
	CHECK_TEXT(d.stalled, SLOW);
	CHECK_EQ(d.since_ms, 1000);
}

static void idle_time_is_no_wait(void **state)
{
	CHECK(!wp_delivery_step(&d, NULL, 100000));
	CHECK_EQ(wp_delivery_due(&d, false), INT64_MAX);
	CHECK(!wp_delivery_step(&d, SLOW, 200000));
	CHECK(!wp_delivery_step(&d, SLOW, 214999));
}

static void one_confirmation_ends_it(void **state)
{
	(void)wp_delivery_step(&d, SLOW, 0);
	CHECK(wp_delivery_step(&d, SLOW, 15000));
	wp_delivery_confirmed(&d, 15001);
	CHECK(wp_delivery_step(&d, SLOW, 15001));
	CHECK(d.stalled == NULL);
	CHECK_EQ(d.confirmed_ms, 15001);
}

static void a_gap_in_the_waiting_ends_it_only_when_it_is_as_long(void **state)
{
	(void)wp_delivery_step(&d, SLOW, 0);
	CHECK(wp_delivery_step(&d, SLOW, 15000));
	CHECK(!wp_delivery_step(&d, NULL, 29999));
	CHECK_EQ(wp_delivery_due(&d, false), 30000);
	CHECK(wp_delivery_step(&d, NULL, 30000));
	CHECK(d.stalled == NULL);
}

static void another_cause_is_news(void **state)
{
	(void)wp_delivery_step(&d, SLOW, 0);
	CHECK(wp_delivery_step(&d, SLOW, 15000));
	CHECK(wp_delivery_step(&d, "Kafka is not reachable", 15001));
	CHECK(!wp_delivery_step(&d, "Kafka is not reachable", 15002));
}

static void a_new_stream_does_not_end_it(void **state)
{
	(void)wp_delivery_step(&d, SLOW, 0);
	CHECK(wp_delivery_step(&d, SLOW, 15000));
	wp_delivery_begin(&d, 60000);
	CHECK(!wp_delivery_step(&d, SLOW, 60000));
	CHECK_EQ(d.since_ms, 0);
}

int main(void)
{
	return RUN(FRESH(what_waits_for_15_s_is_stalled), FRESH(idle_time_is_no_wait),
		   FRESH(one_confirmation_ends_it),
		   FRESH(a_gap_in_the_waiting_ends_it_only_when_it_is_as_long),
		   FRESH(another_cause_is_news), FRESH(a_new_stream_does_not_end_it));
}
