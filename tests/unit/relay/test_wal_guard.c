#include "support/check.h"
#include "walpost/relay/wal_guard.h"

#define T0 1000000
#define MIB (INT64_C(1) << 20)
#define STEP_MS 2000

static struct wp_wal_guard g;

static int set_up(void **state)
{
	wp_wal_guard_init(&g);
	return 0;
}

/* Samples every 2 s from `from` on, falling by `rate` bytes a second. */
static struct wp_wal_guard_estimate fall(int64_t from_ms, int64_t ms, int64_t size, int64_t rate)
{
	struct wp_wal_guard_estimate e = { .level = WP_WAL_GUARD_FINE };

	for (int64_t at = 0; at <= ms; at += STEP_MS)
		e = wp_wal_guard_sample(&g, T0 + from_ms + at, size - rate * at / 1000, 0);
	return e;
}

/* A slot that lets go of a segment whenever it has grown by one: the healthy saw. */
static struct wp_wal_guard_estimate saw(int64_t ms, int64_t limit, int64_t rate)
{
	struct wp_wal_guard_estimate e = { .level = WP_WAL_GUARD_FINE };

	for (int64_t at = 0; at <= ms; at += STEP_MS) {
		e = wp_wal_guard_sample(&g, T0 + at, limit - rate * at / 1000 % (16 * MIB), 0);
		CHECK_EQ(e.level, WP_WAL_GUARD_FINE);
	}
	return e;
}

static void a_steady_fall_gives_rate_and_time(void **state)
{
	struct wp_wal_guard_estimate e = fall(0, 60 * 1000, 1060 * MIB, MIB);

	CHECK_EQ(e.left, 1000 * MIB);
	CHECK_EQ(e.rate, MIB);
	CHECK_EQ(e.seconds, 1000);
	CHECK_EQ(e.level, WP_WAL_GUARD_WARN);
}

static void an_hour_and_more_is_fine_and_five_minutes_are_urgent(void **state)
{
	CHECK_EQ(fall(0, 60 * 1000, (60 + 3600) * MIB, MIB).level, WP_WAL_GUARD_FINE);
	wp_wal_guard_init(&g);
	CHECK_EQ(fall(0, 60 * 1000, (60 + 3599) * MIB, MIB).level, WP_WAL_GUARD_WARN);
	wp_wal_guard_init(&g);
	CHECK_EQ(fall(0, 60 * 1000, (60 + 300) * MIB, MIB).level, WP_WAL_GUARD_WARN);
	wp_wal_guard_init(&g);
	CHECK_EQ(fall(0, 60 * 1000, (60 + 299) * MIB, MIB).level, WP_WAL_GUARD_URGENT);
}

static void a_flood_is_seen_after_a_few_samples(void **state)
{
	CHECK_EQ(fall(0, 2 * STEP_MS, 2000 * MIB, 50 * MIB).seconds, INT64_MAX); /* three */
	wp_wal_guard_init(&g);
	struct wp_wal_guard_estimate e = fall(0, 3 * STEP_MS, 2000 * MIB, 50 * MIB);
	CHECK_EQ(e.rate, 50 * MIB);
	CHECK_EQ(e.level, WP_WAL_GUARD_URGENT);
}

static void the_saw_of_a_healthy_slot_is_no_fall(void **state)
{
	for (int64_t rate = MIB / 16; rate <= 64 * MIB; rate *= 4) {
		wp_wal_guard_init(&g);
		(void)saw(30 * 60 * 1000, 1024 * MIB, rate);
	}
}

static void what_seeps_is_seen_in_the_long_window(void **state)
{
	/* 100 KiB a second: six MiB a minute are less than a segment. */
	struct wp_wal_guard_estimate e = fall(0, 60 * 1000, 200 * MIB, 100 << 10);

	CHECK_EQ(e.level, WP_WAL_GUARD_FINE);
	e = fall(62 * 1000, 9 * 60 * 1000, 194 * MIB, 100 << 10);
	CHECK(e.rate > 95 << 10 && e.rate < 105 << 10);
	CHECK_EQ(e.level, WP_WAL_GUARD_WARN);
}

static void near_the_end_any_fall_counts(void **state)
{
	struct wp_wal_guard_estimate e = fall(0, 60 * 1000, 26 * MIB, 100 << 10);

	CHECK(e.left < 32 * MIB);
	CHECK_EQ(e.rate, 100 << 10);
	CHECK_EQ(e.level, WP_WAL_GUARD_URGENT);
}

static void nothing_left_is_urgent_without_a_rate(void **state)
{
	CHECK_EQ(wp_wal_guard_sample(&g, T0, 1, 0).level, WP_WAL_GUARD_FINE);
	for (int64_t size = 0; size > -3; size--) {
		wp_wal_guard_init(&g);
		struct wp_wal_guard_estimate e = wp_wal_guard_sample(&g, T0, size, 0);
		CHECK_EQ(e.left, 0);
		CHECK_EQ(e.seconds, 0);
		CHECK_EQ(e.level, WP_WAL_GUARD_URGENT);
	}
}

static void what_stands_or_grows_has_no_end_in_sight(void **state)
{
	CHECK_EQ(fall(0, 60 * 1000, 10 * MIB, 0).seconds, INT64_MAX);
	wp_wal_guard_init(&g);
	CHECK_EQ(fall(0, 60 * 1000, 10 * MIB, -MIB).seconds, INT64_MAX);
}

static void after_it_stopped_falling_the_window_forgets(void **state)
{
	CHECK_EQ(fall(0, 20 * 1000, 1000 * MIB, 10 * MIB).level, WP_WAL_GUARD_URGENT);
	CHECK_EQ(fall(22 * 1000, 12 * 60 * 1000, 800 * MIB, 0).level, WP_WAL_GUARD_FINE);
}

static void forgetting_needs_new_samples(void **state)
{
	(void)fall(0, 60 * 1000, 100 * MIB, MIB);
	wp_wal_guard_forget(&g);
	CHECK_EQ(wp_wal_guard_sample(&g, T0 + 61 * 1000, 1, 0).seconds, INT64_MAX);
}

/* Its fall is no rate: nothing of that size was written. */
static void a_lower_limit_is_no_flood(void **state)
{
	const uint64_t server = 1 << 30;

	for (int64_t at = 0; at <= 60 * 1000; at += 2000) {
		int64_t size = at < 30 * 1000 ? 20000 * MIB : 150 * MIB;
		CHECK_EQ(wp_wal_guard_sample(&g, T0 + at, size, server).seconds, INT64_MAX);
	}
	/* What is written from then on is one. */
	struct wp_wal_guard_estimate e = { .seconds = 0 };
	for (int64_t at = 0; at <= 60 * 1000; at += 2000)
		e = wp_wal_guard_sample(&g, T0 + 62 * 1000 + at, 150 * MIB - at * MIB / 1000,
					server + (uint64_t)(at * MIB / 1000));
	CHECK_EQ(e.rate, MIB);
	CHECK_EQ(e.seconds, 90);
}

static void it_tells_once_a_minute_and_at_once_when_it_turns_urgent(void **state)
{
	const struct wp_wal_guard_estimate warn = { .level = WP_WAL_GUARD_WARN };
	const struct wp_wal_guard_estimate urgent = { .level = WP_WAL_GUARD_URGENT };
	const struct wp_wal_guard_estimate fine = { .level = WP_WAL_GUARD_FINE };

	CHECK(!wp_wal_guard_tells(&g, T0, &fine));
	CHECK(wp_wal_guard_tells(&g, T0, &warn));
	CHECK(!wp_wal_guard_tells(&g, T0 + 59999, &warn));
	CHECK(wp_wal_guard_tells(&g, T0 + 60000, &warn));
	CHECK(wp_wal_guard_tells(&g, T0 + 60001, &urgent));
	CHECK(!wp_wal_guard_tells(&g, T0 + 60002, &urgent));
	CHECK(!wp_wal_guard_tells(&g, T0 + 60003, &warn));
	CHECK(wp_wal_guard_tells(&g, T0 + 120001, &urgent));
}

int main(void)
{
	return RUN(FRESH(a_steady_fall_gives_rate_and_time),
		   FRESH(an_hour_and_more_is_fine_and_five_minutes_are_urgent),
		   FRESH(a_flood_is_seen_after_a_few_samples),
		   FRESH(the_saw_of_a_healthy_slot_is_no_fall),
		   FRESH(what_seeps_is_seen_in_the_long_window),
		   FRESH(near_the_end_any_fall_counts),
		   FRESH(nothing_left_is_urgent_without_a_rate),
		   FRESH(what_stands_or_grows_has_no_end_in_sight),
		   FRESH(after_it_stopped_falling_the_window_forgets),
		   FRESH(forgetting_needs_new_samples), FRESH(a_lower_limit_is_no_flood),
		   FRESH(it_tells_once_a_minute_and_at_once_when_it_turns_urgent));
}
