#include "support/check.h"
#include "walpost/postgres/pace.h"

#define T0 INT64_C(5000000)

/* Takes `messages` every `every_us`, for `us`; returns when it was taken last. */
static int64_t take(struct wp_pace *p, int64_t from_us, uint64_t messages, int64_t every_us,
		    int64_t us)
{
	int64_t at_us = from_us;

	for (; at_us < from_us + us; at_us += every_us)
		wp_pace_took(p, messages, at_us + every_us);
	return at_us;
}

static struct wp_pace new_pace(void)
{
	struct wp_pace p;

	wp_pace_init(&p, T0);
	return p;
}

static void what_comes_first_hardly_waits(void **state)
{
	(void)state;
	struct wp_pace p = new_pace();

	CHECK_EQ(wp_pace_pause_us(&p, T0), WP_PACE_PAUSE_MIN_US);
	CHECK_EQ(wp_pace_pause_us(&p, T0 + 3600 * INT64_C(1000000)), WP_PACE_PAUSE_MIN_US);
}

static void a_backlog_waits_for_the_most(void **state)
{
	(void)state;
	struct wp_pace p = new_pace();

	int64_t now_us = take(&p, T0, 1000, 10000, 50000);
	CHECK_EQ(wp_pace_pause_us(&p, now_us), WP_PACE_PAUSE_MAX_US);
}

static void the_pause_grows_with_the_rate(void **state)
{
	static const struct {
		uint64_t messages_a_ms;
		int64_t from_us, to_us;
	} WANTED[] = {
		{ 1, 50, 50 },	    /* 1,000 messages a second */
		{ 3, 50, 80 },	    /* 1,000 transactions of one row */
		{ 15, 1300, 1600 }, /* 5,000 of them */
		{ 30, 5500, 6500 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(WANTED) / sizeof(WANTED[0]); i++) {
		struct wp_pace p = new_pace();
		int64_t now_us = take(&p, T0, WANTED[i].messages_a_ms, 1000, 100000);
		int64_t pause_us = wp_pace_pause_us(&p, now_us);
		CHECK(pause_us >= WANTED[i].from_us && pause_us <= WANTED[i].to_us);
	}
}

/* Ten milliseconds decide, not two transactions that happen to meet. */
static void two_close_together_are_no_backlog(void **state)
{
	(void)state;
	struct wp_pace p = new_pace();

	wp_pace_took(&p, 3, T0 + 20000);
	wp_pace_took(&p, 3, T0 + 20100);
	CHECK(wp_pace_pause_us(&p, T0 + 20100) < 150);
}

static void after_a_backlog_the_pause_comes_down(void **state)
{
	(void)state;
	struct wp_pace p = new_pace();

	int64_t now_us = take(&p, T0, 1000, 10000, 50000);
	CHECK_EQ(wp_pace_pause_us(&p, now_us + 10000), WP_PACE_PAUSE_MAX_US);
	CHECK(wp_pace_pause_us(&p, now_us + 100000) < 1000);
	CHECK_EQ(wp_pace_pause_us(&p, now_us + 1000000), WP_PACE_PAUSE_MIN_US);
}

static void the_socket_is_emptied_the_more_often_the_more_comes(void **state)
{
	(void)state;
	struct wp_pace p = new_pace();

	CHECK_EQ(wp_pace_sip_us(&p), 1000);
	int64_t now_us = take(&p, T0, 1000, 10000, 100000); /* 100,000 a second */
	CHECK(wp_pace_sip_us(&p) > 950);
	(void)take(&p, now_us, 4000, 10000, 100000);
	CHECK(wp_pace_sip_us(&p) > 240 && wp_pace_sip_us(&p) < 260);
}

/* Nothing overflows: a stalled process, a clock that gives the same time twice. */
static void any_number_is_taken(void **state)
{
	(void)state;
	struct wp_pace p = new_pace();

	wp_pace_took(&p, UINT64_MAX, T0);
	wp_pace_took(&p, UINT64_MAX, T0);
	CHECK(p.rate >= 0);
	CHECK_EQ(wp_pace_pause_us(&p, T0), WP_PACE_PAUSE_MAX_US);
	CHECK_EQ(wp_pace_sip_us(&p), 100);
	wp_pace_took(&p, 0, T0 + 86400 * INT64_C(1000000));
	CHECK_EQ(wp_pace_pause_us(&p, T0 + 86400 * INT64_C(1000000)), WP_PACE_PAUSE_MIN_US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_first_hardly_waits),
		cmocka_unit_test(a_backlog_waits_for_the_most),
		cmocka_unit_test(the_pause_grows_with_the_rate),
		cmocka_unit_test(two_close_together_are_no_backlog),
		cmocka_unit_test(after_a_backlog_the_pause_comes_down),
		cmocka_unit_test(the_socket_is_emptied_the_more_often_the_more_comes),
		cmocka_unit_test(any_number_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
