#include "support/check.h"
#include "walpost/postgres_stream/receive_batching.h"

#define T0 INT64_C(5000000)

/* Takes `messages` of 100 bytes every `every_us`, for `us`; returns when it was taken last. */
static int64_t take(struct wp_receive_batching *p, int64_t from_us, uint64_t messages,
		    int64_t every_us, int64_t us)
{
	int64_t at_us = from_us;

	for (; at_us < from_us + us; at_us += every_us)
		wp_receive_batching_took(p, messages, messages * 100, at_us + every_us);
	return at_us;
}

static struct wp_receive_batching new_pace(void)
{
	struct wp_receive_batching p;

	wp_receive_batching_init(&p, T0);
	return p;
}

static void what_comes_first_does_not_wait(void **state)
{
	struct wp_receive_batching p = new_pace();

	CHECK_EQ(wp_receive_batching_pause_us(&p, T0), 0);
	CHECK_EQ(wp_receive_batching_pause_us(&p, T0 + 3600 * INT64_C(1000000)), 0);
}

static void a_backlog_waits_for_the_most(void **state)
{
	struct wp_receive_batching p = new_pace();

	int64_t now_us = take(&p, T0, 1000, 10000, 50000);
	CHECK_EQ(wp_receive_batching_pause_us(&p, now_us), WP_PACE_PAUSE_MAX_US);
}

static void the_pause_grows_with_the_rate(void **state)
{
	static const struct {
		uint64_t messages_a_ms;
		int64_t from_us, to_us;
	} WANTED[] = {
		{ 1, 0, 0 },			       /* 1,000 messages a second */
		{ 2, 2000, 2000 },  { 3, 2000, 2000 }, /* 1,000 transactions of one row */
		{ 15, 2000, 2000 },		       /* 5,000 of them */
		{ 20, 2600, 2700 }, { 30, 5500, 6500 },
	};

	for (size_t i = 0; i < sizeof(WANTED) / sizeof(WANTED[0]); i++) {
		struct wp_receive_batching p = new_pace();
		int64_t now_us = take(&p, T0, WANTED[i].messages_a_ms, 1000, 100000);
		int64_t pause_us = wp_receive_batching_pause_us(&p, now_us);
		CHECK(pause_us >= WANTED[i].from_us && pause_us <= WANTED[i].to_us);
	}
}

/* Ten milliseconds decide, not two transactions that happen to meet. */
static void two_close_together_are_no_backlog(void **state)
{
	struct wp_receive_batching p = new_pace();

	wp_receive_batching_took(&p, 3, 300, T0 + 20000);
	wp_receive_batching_took(&p, 3, 300, T0 + 20100);
	CHECK_EQ(wp_receive_batching_pause_us(&p, T0 + 20100), 0);
}

static void after_a_backlog_the_pause_comes_down(void **state)
{
	struct wp_receive_batching p = new_pace();

	int64_t now_us = take(&p, T0, 1000, 10000, 50000);
	CHECK_EQ(wp_receive_batching_pause_us(&p, now_us + 10000), WP_PACE_PAUSE_MAX_US);
	CHECK_EQ(wp_receive_batching_pause_us(&p, now_us + 100000), 2000);
	CHECK_EQ(wp_receive_batching_pause_us(&p, now_us + 1000000), 0);
}

/* 60 MB a second: a gulp of 400 kB is there after 6.7 ms. 100 MB: after 4. */
static void a_gulp_is_enough(void **state)
{
	struct wp_receive_batching p = new_pace();

	int64_t now_us = take(&p, T0, 6000, 10000, 100000);
	int64_t pause_us = wp_receive_batching_pause_us(&p, now_us);
	CHECK(pause_us > 6500 && pause_us < 6900);
	now_us = take(&p, now_us, 10000, 10000, 100000);
	pause_us = wp_receive_batching_pause_us(&p, now_us);
	CHECK(pause_us > 3900 && pause_us < 4100);
}

/* Ten rows of 100 MB a second. */
static void what_is_larger_than_a_gulp_does_not_wait(void **state)
{
	struct wp_receive_batching p = new_pace();
	int64_t now_us = T0;

	for (int i = 0; i < 20; i++)
		wp_receive_batching_took(&p, 1, 100 * 1000 * 1000, now_us += 100000);
	CHECK_EQ(wp_receive_batching_pause_us(&p, now_us), 0);
}

/* Nothing overflows: a stalled process, a clock that gives the same time twice. */
static void any_number_is_taken(void **state)
{
	struct wp_receive_batching p = new_pace();

	wp_receive_batching_took(&p, UINT64_MAX, 0, T0);
	wp_receive_batching_took(&p, UINT64_MAX, 0, T0);
	CHECK_EQ(wp_receive_batching_pause_us(&p, T0), WP_PACE_PAUSE_MAX_US);
	for (int i = 0; i < 100000; i++)
		wp_receive_batching_took(&p, UINT64_MAX, UINT64_MAX, T0);
	CHECK(p.rate > 0 && p.byte_rate > 0);
	CHECK_EQ(wp_receive_batching_pause_us(&p, T0), 0);
	wp_receive_batching_took(&p, 0, 0, T0 + 86400 * INT64_C(1000000));
	CHECK_EQ(wp_receive_batching_pause_us(&p, T0 + 86400 * INT64_C(1000000)), 0);
}

int main(void)
{
	return RUN(PLAIN(what_comes_first_does_not_wait), PLAIN(a_backlog_waits_for_the_most),
		   PLAIN(the_pause_grows_with_the_rate), PLAIN(two_close_together_are_no_backlog),
		   PLAIN(after_a_backlog_the_pause_comes_down), PLAIN(a_gulp_is_enough),
		   PLAIN(what_is_larger_than_a_gulp_does_not_wait), PLAIN(any_number_is_taken));
}
