#include "delivery.h"
#include "support/check.h"

#define SLOW "Kafka answers, but confirms nothing"

static struct wp_delivery d;
static struct wp_ledger ledger;

static int set_up(void **state)
{
	ledger = (struct wp_ledger){ .first_ticket = 1, .next_ticket = 1, .confirmed_lsn = 100 };
	wp_delivery_init(&d);
	wp_delivery_begin(&d, &ledger, 0);
	return 0;
}

static void what_waits_for_15_s_is_stalled(void **state)
{
	CHECK(!wp_delivery_step(&d, &ledger, SLOW, 1000));
	CHECK_EQ(wp_delivery_due(&d, true), 16000);
	CHECK(!wp_delivery_step(&d, &ledger, SLOW, 15999));
	CHECK(wp_delivery_step(&d, &ledger, SLOW, 16000));
	CHECK_TEXT(d.stalled, SLOW);
	CHECK_EQ(d.since_ms, 1000);
}

static void idle_time_is_no_wait(void **state)
{
	CHECK(!wp_delivery_step(&d, &ledger, NULL, 100000));
	CHECK_EQ(wp_delivery_due(&d, false), INT64_MAX);
	CHECK(!wp_delivery_step(&d, &ledger, SLOW, 200000));
	CHECK(!wp_delivery_step(&d, &ledger, SLOW, 214999));
}

static void one_confirmation_ends_it(void **state)
{
	(void)wp_delivery_step(&d, &ledger, SLOW, 0);
	CHECK(wp_delivery_step(&d, &ledger, SLOW, 15000));
	wp_delivery_confirmed(&d, 15001);
	CHECK(wp_delivery_step(&d, &ledger, SLOW, 15001));
	CHECK(d.stalled == NULL);
	CHECK_EQ(d.confirmed_ms, 15001);
}

static void a_gap_in_the_waiting_ends_it_only_when_it_is_as_long(void **state)
{
	(void)wp_delivery_step(&d, &ledger, SLOW, 0);
	CHECK(wp_delivery_step(&d, &ledger, SLOW, 15000));
	CHECK(!wp_delivery_step(&d, &ledger, NULL, 29999));
	CHECK_EQ(wp_delivery_due(&d, false), 30000);
	CHECK(wp_delivery_step(&d, &ledger, NULL, 30000));
	CHECK(d.stalled == NULL);
}

static void another_cause_is_news(void **state)
{
	(void)wp_delivery_step(&d, &ledger, SLOW, 0);
	CHECK(wp_delivery_step(&d, &ledger, SLOW, 15000));
	CHECK(wp_delivery_step(&d, &ledger, "Kafka is not reachable", 15001));
	CHECK(!wp_delivery_step(&d, &ledger, "Kafka is not reachable", 15002));
}

static void a_new_stream_does_not_end_it(void **state)
{
	(void)wp_delivery_step(&d, &ledger, SLOW, 0);
	CHECK(wp_delivery_step(&d, &ledger, SLOW, 15000));
	wp_delivery_begin(&d, &ledger, 60000);
	CHECK(!wp_delivery_step(&d, &ledger, SLOW, 60000));
	CHECK_EQ(d.since_ms, 0);
}

/* One event of ten is refused, and its neighbours are confirmed; then all is sent again. */
static bool refuse_once_more(int64_t now_ms, wp_ticket confirmed_before_it)
{
	ledger.first_ticket = ledger.next_ticket;
	wp_delivery_begin(&d, &ledger, now_ms);
	ledger.next_ticket += 10;
	ledger.first_ticket += confirmed_before_it;
	wp_delivery_confirmed(&d, now_ms);
	bool told = wp_delivery_step(&d, &ledger, SLOW, now_ms);
	wp_delivery_rewound(&d);
	return told;
}

static void neighbours_that_are_confirmed_again_and_again_are_no_progress(void **state)
{
	int64_t now_ms;

	for (now_ms = 1000; now_ms < 60000 && d.stalled == NULL; now_ms += 2000) {
		bool told = refuse_once_more(now_ms, 3);
		CHECK_EQ(told, d.stalled != NULL);
	}
	CHECK_TEXT(d.stalled, SLOW);
	CHECK(wp_delivery_repeats(&d));
	CHECK(now_ms <= 30000);
	/* One more in order than ever. */
	CHECK(refuse_once_more(now_ms, 4));
	CHECK(d.stalled == NULL);
}

/* As that of an event that is parked, and refused at each attempt. */
static void refusals_of_long_ago_are_none_of_what_waits_now(void **state)
{
	for (int i = 0; i < 5; i++)
		wp_delivery_rewound(&d);
	ledger.confirmed_lsn++; /* by a keepalive */
	CHECK(!wp_delivery_step(&d, &ledger, NULL, 60000));
	CHECK(!wp_delivery_repeats(&d));
	CHECK(!wp_delivery_step(&d, &ledger, SLOW, 61000));
	CHECK(!wp_delivery_step(&d, &ledger, SLOW, 62000));
}

static void a_confirmed_lsn_that_moves_is_progress(void **state)
{
	for (int64_t now_ms = 1000; now_ms < 100000; now_ms += 2000) {
		ledger.confirmed_lsn++;
		CHECK(!refuse_once_more(now_ms, 3));
	}
	CHECK(d.stalled == NULL);
}

int main(void)
{
	return RUN(FRESH(what_waits_for_15_s_is_stalled), FRESH(idle_time_is_no_wait),
		   FRESH(one_confirmation_ends_it),
		   FRESH(a_gap_in_the_waiting_ends_it_only_when_it_is_as_long),
		   FRESH(another_cause_is_news),
		   FRESH(neighbours_that_are_confirmed_again_and_again_are_no_progress),
		   FRESH(refusals_of_long_ago_are_none_of_what_waits_now),
		   FRESH(a_confirmed_lsn_that_moves_is_progress),
		   FRESH(a_new_stream_does_not_end_it));
}
