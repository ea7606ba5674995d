#include "support/check.h"
#include "walpost/kafka/throttle.h"

static void an_episode_is_noted_once_and_then_each_minute(void **state)
{
	struct wp_throttle t = { .on = false };

	CHECK(!wp_throttle_step(&t, 1000));
	wp_throttle_told(&t, "b:1/1", 500);
	wp_throttle_told(&t, "b:1/1", 700);
	CHECK(wp_throttle_step(&t, 1000));
	CHECK(t.on);
	CHECK_EQ(t.total_ms, 1200);
	CHECK_EQ(t.longest_ms, 700);
	CHECK_TEXT(t.broker, "b:1/1");
	for (int64_t now_ms = 2000; now_ms < 61000; now_ms += 1000) {
		wp_throttle_told(&t, "b:1/1", 500);
		CHECK(!wp_throttle_step(&t, now_ms));
	}
	wp_throttle_told(&t, "b:1/1", 500);
	CHECK(wp_throttle_step(&t, 61000));
}

static void it_is_over_some_seconds_after_the_broker_reads_again(void **state)
{
	struct wp_throttle t = { .on = false };

	wp_throttle_told(&t, "b:1/1", 30000);
	CHECK(wp_throttle_step(&t, 0));
	wp_throttle_told(&t, "b:1/1", 0);
	CHECK(!wp_throttle_step(&t, 39999));
	CHECK(t.on);
	CHECK(!wp_throttle_step(&t, 40000));
	CHECK(!t.on);
	wp_throttle_told(&t, "b:1/1", 1000);
	CHECK(wp_throttle_step(&t, 50000));
	CHECK_EQ(t.longest_ms, 1000); /* of this episode */
}

static void an_outage_is_not_hidden_for_longer_than_a_minute(void **state)
{
	struct wp_throttle t = { .on = false };

	wp_throttle_told(&t, "b:1/1", 3600000);
	CHECK(wp_throttle_step(&t, 0));
	CHECK(!wp_throttle_step(&t, 70000));
	CHECK(!t.on);
}

int main(void)
{
	return RUN(PLAIN(an_episode_is_noted_once_and_then_each_minute),
		   PLAIN(it_is_over_some_seconds_after_the_broker_reads_again),
		   PLAIN(an_outage_is_not_hidden_for_longer_than_a_minute));
}
