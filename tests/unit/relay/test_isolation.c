#include "isolation.h"
#include "support/check.h"

static const struct wp_position last = { .commit_lsn = 200, .ordinal = 3 };

static void send(struct wp_isolation *i, wp_lsn commit_lsn, uint32_t ordinal, wp_ticket ticket)
{
	wp_isolation_sent(i, &(struct wp_position){ .commit_lsn = commit_lsn, .ordinal = ordinal },
			  ticket);
}

static void nothing_went_alone_before_the_sink_has_begun_anew(void **state)
{
	struct wp_isolation i = { 0 };

	wp_isolation_begin(&i, &last, 150);
	send(&i, 200, 1, 7);
	CHECK(!wp_isolation_went_alone(&i, 7));
	CHECK_EQ(wp_isolation_restart(&i), WP_BATCHING_ONE_BY_ONE);
	send(&i, 200, 1, 8);
	CHECK(wp_isolation_went_alone(&i, 8));
	CHECK(!wp_isolation_went_alone(&i, 7));
}

static void the_last_suspect_goes_alone_and_the_one_after_it_does_not(void **state)
{
	struct wp_isolation i = { 0 };

	wp_isolation_begin(&i, &last, 150);
	(void)wp_isolation_restart(&i);
	send(&i, 200, 3, 7);
	CHECK(wp_isolation_went_alone(&i, 7));
	send(&i, 200, 4, 8);
	CHECK(!i.one_in_flight);
	CHECK(!wp_isolation_went_alone(&i, 8));
}

static void it_is_past_when_the_transaction_is_confirmed(void **state)
{
	struct wp_isolation i = { 0 };

	CHECK(!wp_isolation_is_past(&i, false, 1000));
	wp_isolation_begin(&i, &last, 150);
	CHECK(!wp_isolation_is_past(&i, false, 200));
	CHECK(wp_isolation_is_past(&i, false, 201));
	CHECK(!wp_isolation_is_past(&i, true, 201));
}

static void it_ends_with_the_next_restart_batching_as_ever(void **state)
{
	struct wp_isolation i = { 0 };

	wp_isolation_begin(&i, &last, 150);
	(void)wp_isolation_restart(&i);
	wp_isolation_end(&i);
	CHECK(!i.on);
	CHECK_EQ(i.batching_now, WP_BATCHING_ONE_BY_ONE);
	CHECK_EQ(wp_isolation_restart(&i), WP_BATCHING_NORMAL);
}

static void the_last_refusal_but_one_isolates_and_the_last_is_too_many(void **state)
{
	struct wp_isolation i = { 0 };
	bool isolates = false;

	CHECK(!wp_isolation_refuses_always(&i, "X", 100, 3, &isolates));
	CHECK(!isolates);
	CHECK(!wp_isolation_refuses_always(&i, "X", 100, 3, &isolates));
	CHECK(isolates);
	CHECK(wp_isolation_refuses_always(&i, "X", 100, 3, &isolates));
}

static void another_code_or_place_counts_anew(void **state)
{
	struct wp_isolation i = { 0 };
	bool isolates = false;

	CHECK(!wp_isolation_refuses_always(&i, "X", 100, 2, &isolates));
	CHECK(!wp_isolation_refuses_always(&i, "Y", 100, 2, &isolates));
	CHECK(!wp_isolation_refuses_always(&i, "Y", 101, 2, &isolates));
	CHECK(wp_isolation_refuses_always(&i, "Y", 101, 2, &isolates));
}

int main(void)
{
	return RUN(PLAIN(nothing_went_alone_before_the_sink_has_begun_anew),
		   PLAIN(the_last_suspect_goes_alone_and_the_one_after_it_does_not),
		   PLAIN(it_is_past_when_the_transaction_is_confirmed),
		   PLAIN(it_ends_with_the_next_restart_batching_as_ever),
		   PLAIN(the_last_refusal_but_one_isolates_and_the_last_is_too_many),
		   PLAIN(another_code_or_place_counts_anew));
}
