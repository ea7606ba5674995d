#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "walpost/relay/meter.h"

#define EVENTS 8

static struct wp_meter meter;

static int set_up(void **state)
{
	return wp_meter_init(&meter, EVENTS) == WP_OK ? 0 : 1;
}

static int tear_down(void **state)
{
	wp_meter_release(&meter);
	return 0;
}

static void deliver(wp_ticket ticket, const char *topic, int64_t took_us)
{
	wp_meter_sent(&meter, ticket, wp_span_of(topic), 1000000);
	wp_meter_confirmed(&meter, ticket, 1000000 + took_us);
}

static const struct wp_meter_histogram *of(const char *topic)
{
	for (size_t i = 0; i < meter.topic_count; i++) {
		if (strcmp(meter.topics[i].name, topic) == 0)
			return &meter.topics[i].delivery;
	}
	return NULL;
}

static void each_topic_has_its_own_histogram(void **state)
{
	deliver(1, "order", 400);
	deliver(2, "customer", 3000);
	deliver(3, "order", 500);
	deliver(4, "order", 501);
	CHECK_EQ(of("order")->count, 3);
	CHECK_EQ(of("order")->buckets[0], 2); /* up to and with half a millisecond */
	CHECK_EQ(of("order")->buckets[1], 1);
	CHECK_EQ(of("order")->sum_us, 1401);
	CHECK_EQ(of("customer")->count, 1);
	CHECK_EQ(of("")->count, 0);
}

static void bounds_ascend_and_what_is_above_them_is_counted_alone(void **state)
{
	for (size_t i = 1; i < WP_METER_BUCKETS; i++)
		CHECK(wp_meter_bounds_us[i] > wp_meter_bounds_us[i - 1]);
	deliver(1, "order", wp_meter_bounds_us[WP_METER_BUCKETS - 1] + 1);
	CHECK_EQ(of("order")->count, 1);
	for (size_t i = 0; i < WP_METER_BUCKETS; i++)
		CHECK_EQ(of("order")->buckets[i], 0);
	CHECK_EQ(wp_meter_quantile_us(of("order"), 0.5), INT64_MAX);
}

static void a_report_before_its_commit_took_no_time(void **state)
{
	deliver(1, "order", -5000);
	CHECK_EQ(of("order")->sum_us, 0);
	CHECK_EQ(of("order")->buckets[0], 1);
}

static void topics_beyond_the_bound_share_one(void **state)
{
	char topic[32];

	for (int i = 0; i < WP_METER_TOPICS + 6; i++) {
		(void)snprintf(topic, sizeof(topic), "topic-%d", i);
		deliver((wp_ticket)i, topic, 100);
	}
	CHECK_EQ(meter.topic_count, 1 + WP_METER_TOPICS);
	CHECK_EQ(of("topic-0")->count, 1);
	CHECK_EQ(of("topic-63")->count, 1);
	CHECK(of("topic-64") == NULL);
	CHECK_EQ(of("")->count, 6);
	deliver(100, "topic-0", 100);
	deliver(101, "topic-69", 100);
	CHECK_EQ(of("topic-0")->count, 2);
	CHECK_EQ(of("")->count, 7);
}

static void a_quantile_is_the_bound_of_its_bucket(void **state)
{
	CHECK_EQ(wp_meter_quantile_us(&meter.topics[0].delivery, 0.5), 0);
	for (wp_ticket t = 1; t <= 98; t++)
		deliver(t, "order", 900);
	deliver(99, "order", 40000);
	deliver(100, "order", 40000);
	CHECK_EQ(wp_meter_quantile_us(of("order"), 0.5), 1000);
	CHECK_EQ(wp_meter_quantile_us(of("order"), 0.98), 1000);
	CHECK_EQ(wp_meter_quantile_us(of("order"), 0.99), 50000);
}

static void how_long_an_event_waits_is_told_by_our_own_clock(void **state)
{
	wp_meter_tick(&meter, (INT64_C(1) << 32) - 10); /* its low bits wrap meanwhile */
	wp_meter_sent(&meter, 3, wp_span_of("order"), 777);
	wp_meter_tick(&meter, (INT64_C(1) << 32) + 90);
	struct wp_meter_age age = wp_meter_age(&meter, 3);
	CHECK_EQ(age.waiting_ms, 100);
	CHECK_EQ(age.commit_time_us, 777);
}

static void a_wider_meter_keeps_what_is_in_flight(void **state)
{
	for (wp_ticket t = EVENTS - 2; t < EVENTS + 2; t++)
		wp_meter_sent(&meter, t, wp_span_of("order"), (int64_t)t);
	CHECK_EQ(wp_meter_widen(&meter, EVENTS + 3, EVENTS - 2, EVENTS + 2), WP_OK);
	for (wp_ticket t = EVENTS + 2; t < 2 * EVENTS + 1; t++)
		wp_meter_sent(&meter, t, wp_span_of("order"), (int64_t)t);
	for (wp_ticket t = EVENTS - 2; t < 2 * EVENTS + 1; t++)
		CHECK_EQ(wp_meter_age(&meter, t).commit_time_us, t);
}

int main(void)
{
	return RUN(TEST(each_topic_has_its_own_histogram),
		   TEST(bounds_ascend_and_what_is_above_them_is_counted_alone),
		   TEST(a_report_before_its_commit_took_no_time),
		   TEST(topics_beyond_the_bound_share_one),
		   TEST(a_quantile_is_the_bound_of_its_bucket),
		   TEST(how_long_an_event_waits_is_told_by_our_own_clock),
		   TEST(a_wider_meter_keeps_what_is_in_flight));
}
