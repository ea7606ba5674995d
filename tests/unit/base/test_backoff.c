#include "support/check.h"
#include "walpost/base/backoff.h"

static struct wp_backoff backoff_of(int64_t first_ms, int64_t max_ms)
{
	struct wp_backoff b;

	wp_backoff_init(&b, first_ms, max_ms);
	return b;
}

/* The longest delay that the next try could give. */
static int64_t longest(struct wp_backoff *b)
{
	struct wp_backoff copy = *b;
	int64_t delay_ms = 0;

	for (uint64_t random = 0; random < 2048; random++) {
		copy = *b;
		int64_t next_ms = wp_backoff_next(&copy, random);
		delay_ms = next_ms > delay_ms ? next_ms : delay_ms;
	}
	*b = copy;
	return delay_ms;
}

static void it_doubles_up_to_its_maximum(void **state)
{
	struct wp_backoff b = backoff_of(100, 1000);

	CHECK_EQ(longest(&b), 100);
	CHECK_EQ(longest(&b), 200);
	CHECK_EQ(longest(&b), 400);
	CHECK_EQ(longest(&b), 800);
	CHECK_EQ(longest(&b), 1000);
	CHECK_EQ(longest(&b), 1000);
}

static void success_begins_again_at_the_first_delay(void **state)
{
	struct wp_backoff b = backoff_of(100, 1000);

	(void)longest(&b);
	(void)longest(&b);
	wp_backoff_reset(&b);
	CHECK_EQ(longest(&b), 100);
}

static void every_delay_lies_in_the_upper_half(void **state)
{
	uint64_t seed = 7;

	for (int i = 0; i < 10000; i++) {
		struct wp_backoff b = backoff_of(101, 5000);
		int64_t delay_ms = wp_backoff_next(&b, wp_random_next(&seed));
		CHECK(delay_ms >= 50 && delay_ms <= 101);
	}
}

static void both_ends_of_the_upper_half_are_reached(void **state)
{
	struct wp_backoff low = backoff_of(100, 100);
	struct wp_backoff high = backoff_of(100, 100);

	CHECK_EQ(wp_backoff_next(&low, 0), 50);
	CHECK_EQ(wp_backoff_next(&high, 50), 100);
}

static void a_delay_of_one_millisecond_works(void **state)
{
	struct wp_backoff b = backoff_of(1, 1);

	CHECK_EQ(wp_backoff_next(&b, 0), 0);
	CHECK_EQ(wp_backoff_next(&b, 1), 1);
}

static void it_does_not_overflow_however_often_one_tries(void **state)
{
	struct wp_backoff b = backoff_of(3, INT64_MAX);

	for (int i = 0; i < 1000; i++) {
		int64_t delay_ms = wp_backoff_next(&b, UINT64_MAX);
		CHECK(delay_ms >= 1);
	}
	CHECK(wp_backoff_next(&b, 0) == INT64_MAX / 2);
}

static void random_numbers_follow_from_their_seed_as_published(void **state)
{
	/* The first three of the reference splitmix64.c for seed 1234567. */
	uint64_t seed = 1234567;

	CHECK(wp_random_next(&seed) == 6457827717110365317u);
	CHECK(wp_random_next(&seed) == 3203168211198807973u);
	CHECK(wp_random_next(&seed) == 9817491932198370423u);
}

int main(void)
{
	return RUN(PLAIN(it_doubles_up_to_its_maximum),
		   PLAIN(success_begins_again_at_the_first_delay),
		   PLAIN(every_delay_lies_in_the_upper_half),
		   PLAIN(both_ends_of_the_upper_half_are_reached),
		   PLAIN(a_delay_of_one_millisecond_works),
		   PLAIN(it_does_not_overflow_however_often_one_tries),
		   PLAIN(random_numbers_follow_from_their_seed_as_published));
}
