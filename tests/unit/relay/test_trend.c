#include "support/check.h"
#include "walpost/relay/trend.h"

#define T0 1000000
#define MIB (INT64_C(1) << 20)

static struct wp_trend t;

static int set_up(void **state)
{
	wp_trend_init(&t);
	return 0;
}

static struct wp_trend_rates sample(int64_t ms, uint64_t confirmed, uint64_t server)
{
	return wp_trend_add(&t, &(struct wp_trend_sample){ .at_ms = T0 + ms,
							   .confirmed = confirmed,
							   .server = server });
}

static void one_look_tells_no_rate(void **state)
{
	struct wp_trend_rates r = sample(0, 1000, 900000);
	CHECK(!r.is_known);
	CHECK_EQ(r.lost_in_s, INT64_MAX);
}

static void two_looks_tell_rates_and_when_it_has_caught_up(void **state)
{
	(void)sample(0, 1000, 1001000);
	struct wp_trend_rates r = sample(2000, 201000, 1101000);
	CHECK(r.is_known);
	CHECK_EQ(r.confirmed_per_s, 100000);
	CHECK_EQ(r.written_per_s, 50000);
	CHECK_EQ(r.lag_per_s, -50000);
	CHECK_EQ(r.caught_up_s, 18); /* 900,000 bytes at 50,000 a second */
}

static void a_relay_that_is_slower_never_catches_up(void **state)
{
	(void)sample(0, 1000, 1001000);
	struct wp_trend_rates r = sample(1000, 1000, 1101000);
	CHECK_EQ(r.confirmed_per_s, 0);
	CHECK_EQ(r.lag_per_s, 100000);
	CHECK_EQ(r.caught_up_s, INT64_MAX);
}

static void at_the_end_of_the_log_it_has_caught_up(void **state)
{
	(void)sample(0, 5000, 5000);
	CHECK_EQ(sample(1000, 5000, 5056).caught_up_s, 0);
}

static void near_the_end_of_the_log_there_is_no_trend(void **state)
{
	(void)sample(0, 5000, 5000);
	struct wp_trend_rates r = sample(1000, 5000, 5000 + 64 * 1024);
	CHECK_EQ(r.written_per_s, 64 * 1024);
	CHECK_EQ(r.lag_per_s, 0);
	CHECK_EQ(r.caught_up_s, 0);
	CHECK_EQ(sample(2000, 5000, 5001 + 64 * 1024).lag_per_s, 1);
}

static void what_goes_backwards_begins_anew(void **state)
{
	(void)sample(0, 5000, 9000);
	CHECK(!sample(1000, 4000, 9000).is_known); /* made anew, or the server crashed */
	CHECK(sample(2000, 4500, 9000).is_known);
	CHECK(!sample(3000, 4500, 8000).is_known); /* another server */
	CHECK(!sample(3000, 4500, 8000).is_known); /* no time has passed */
	CHECK(!sample(4000, 0, 8000).is_known);	   /* the slot is gone */
	CHECK(!sample(5000, 4500, 8000).is_known);
}

static void a_slot_with_a_limit_is_watched_by_the_guard(void **state)
{
	struct wp_trend_rates r = { .lost_in_s = 0 };
	for (int64_t s = 0; s <= 30; s += 2)
		r = wp_trend_add(
			&t, &(struct wp_trend_sample){ .at_ms = T0 + s * 1000,
						       .confirmed = 1,
						       .server = 2,
						       .is_limited = true,
						       .safe_size = 1000 * MIB - 10 * MIB * s });
	CHECK(r.lost_in_s > 60 && r.lost_in_s <= 70); /* 700 MiB at 10 MiB a second */
	r = wp_trend_add(&t, &(struct wp_trend_sample){ .at_ms = T0 + 32000, .is_limited = true });
	CHECK_EQ(r.lost_in_s, 0);
	CHECK_EQ(sample(34000, 1, 2).lost_in_s, INT64_MAX);
}

int main(void)
{
	return RUN(FRESH(one_look_tells_no_rate),
		   FRESH(two_looks_tell_rates_and_when_it_has_caught_up),
		   FRESH(a_relay_that_is_slower_never_catches_up),
		   FRESH(at_the_end_of_the_log_it_has_caught_up),
		   FRESH(near_the_end_of_the_log_there_is_no_trend),
		   FRESH(what_goes_backwards_begins_anew),
		   FRESH(a_slot_with_a_limit_is_watched_by_the_guard));
}
