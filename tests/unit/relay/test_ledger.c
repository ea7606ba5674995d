#include <stdlib.h>

#include "support/check.h"
#include "support/memory.h"
#include "walpost/relay/ledger.h"

#define START 100
#define SIZE 10
#define ROOM SIZE_MAX

static struct wp_ledger l;

/* Both positions stand at START. */
static void ledger_with(size_t events_max, size_t bytes_max)
{
	wp_ledger_release(&l);
	CHECK_EQ(wp_ledger_init(&l, events_max, bytes_max), WP_OK);
	wp_ledger_forget(&l, START);
}

static void ledger_of(size_t events_max)
{
	ledger_with(events_max, ROOM);
}

static int set_up(void **state)
{
	ledger_of(4);
	return 0;
}

static int tear_down(void **state)
{
	wp_ledger_release(&l);
	return 0;
}

static wp_ticket add(void)
{
	wp_ticket ticket = wp_ledger_next(&l);

	wp_ledger_add(&l, SIZE);
	return ticket;
}

static wp_ticket one_event_tx(wp_lsn end_lsn)
{
	wp_ticket ticket = add();

	wp_ledger_commit(&l, end_lsn);
	return ticket;
}

static void settle(wp_ticket ticket)
{
	CHECK_EQ(wp_ledger_settle(&l, ticket), WP_SETTLED);
}

#define CHECK_AT(confirmed_, received_)                              \
	do {                                                         \
		CHECK_EQ(wp_ledger_confirmed_lsn(&l), (confirmed_)); \
		CHECK_EQ(wp_ledger_received_lsn(&l), (received_));   \
	} while (0)

/* -- up to where? --------------------------------------------------------- */

static void a_new_ledger_knows_no_position_and_has_room(void **state)
{
	wp_ledger_release(&l);
	CHECK_EQ(wp_ledger_init(&l, 1, 1), WP_OK);
	CHECK_AT(0, 0);
	CHECK(wp_ledger_has_room(&l, 1));
	CHECK_EQ(wp_ledger_next(&l), 1); /* 0 is no ticket */
}

static void an_open_transaction_holds_confirmed_though_all_is_confirmed(void **state)
{
	settle(add());
	CHECK_AT(START, START);
	wp_ledger_commit(&l, 200);
	CHECK_AT(200, 200);
}

static void a_commit_moves_received_at_once_and_confirmed_when_settled(void **state)
{
	wp_ticket ticket = one_event_tx(200);

	CHECK_AT(START, 200);
	settle(ticket);
	CHECK_AT(200, 200);
}

static void every_event_of_a_transaction_must_be_confirmed(void **state)
{
	wp_ticket first = add();
	wp_ticket second = add();
	wp_ticket third = one_event_tx(200);

	settle(third);
	settle(first);
	CHECK_AT(START, 200);
	settle(second);
	CHECK_AT(200, 200);
}

static void a_late_ack_of_the_first_holds_back_the_second(void **state)
{
	wp_ticket first = one_event_tx(200);
	wp_ticket second = one_event_tx(300);

	settle(second);
	CHECK_EQ(wp_ledger_confirmed_lsn(&l), START);
	settle(first);
	CHECK_EQ(wp_ledger_confirmed_lsn(&l), 300);
}

static void the_ring_turns_many_times(void **state)
{
	ledger_of(3);
	for (wp_lsn lsn = 200; lsn < 300; lsn++) {
		wp_ticket first = add();
		wp_ticket second = one_event_tx(lsn);
		settle(second);
		CHECK_EQ(wp_ledger_confirmed_lsn(&l), lsn == 200 ? START : lsn - 1);
		settle(first);
		CHECK_AT(lsn, lsn);
	}
	CHECK_EQ(wp_ledger_next(&l), 201);
}

static void positions_never_go_back(void **state)
{
	wp_ledger_commit(&l, 300);
	wp_ledger_commit(&l, 200);
	wp_ledger_keepalive(&l, 150);
	CHECK_AT(300, 300);
	settle(one_event_tx(250));
	CHECK_AT(300, 300);
}

/* -- markers -------------------------------------------------------------- */

static void a_commit_without_events_moves_confirmed_when_nothing_waits(void **state)
{
	wp_ledger_commit(&l, 200);
	CHECK_AT(200, 200);
}

static void a_commit_without_events_never_jumps_the_queue(void **state)
{
	wp_ticket ticket = one_event_tx(200);

	wp_ledger_commit(&l, 300);
	CHECK_AT(START, 300);
	settle(ticket);
	CHECK_AT(300, 300);
}

static void a_keepalive_moves_confirmed_when_nothing_waits(void **state)
{
	wp_ledger_keepalive(&l, 250);
	CHECK_AT(250, 250);
}

static void a_keepalive_never_jumps_the_queue(void **state)
{
	wp_ticket first = one_event_tx(200);
	wp_ticket second = one_event_tx(300);

	wp_ledger_keepalive(&l, 400);
	CHECK_AT(START, 400);
	settle(first);
	CHECK_EQ(wp_ledger_confirmed_lsn(&l), 200);
	settle(second);
	CHECK_EQ(wp_ledger_confirmed_lsn(&l), 400);
}

static void a_keepalive_amid_a_transaction_is_right_for_what_came_before(void **state)
{
	wp_ticket before = one_event_tx(200);
	wp_ticket within = add();

	wp_ledger_keepalive(&l, 250); /* below the commit that is being sent */
	settle(before);
	CHECK_AT(250, 250);
	wp_ledger_commit(&l, 300);
	CHECK_AT(250, 300);
	settle(within);
	CHECK_AT(300, 300);
}

static void a_keepalive_amid_the_only_transaction_moves_confirmed(void **state)
{
	(void)add();
	wp_ledger_keepalive(&l, 250);
	CHECK_AT(250, 250);
}

/* -- tickets -------------------------------------------------------------- */

static void tickets_count_up_from_one(void **state)
{
	CHECK_EQ(add(), 1);
	CHECK_EQ(add(), 2);
	CHECK_EQ(wp_ledger_next(&l), 3);
}

static void tickets_never_restart(void **state)
{
	(void)one_event_tx(200);
	wp_ledger_forget(&l, START);
	CHECK_EQ(add(), 2);
}

static void a_second_confirmation_is_ignored(void **state)
{
	wp_ticket first = add();
	wp_ticket second = one_event_tx(200);

	settle(second);
	CHECK_EQ(wp_ledger_settle(&l, second), WP_SETTLED_ALREADY);
	CHECK_AT(START, 200);
	settle(first);
	CHECK_EQ(wp_ledger_settle(&l, first), WP_SETTLED_ALREADY);
	CHECK_EQ(l.in_flight, 0);
}

static void a_ticket_that_was_never_given_is_ignored(void **state)
{
	wp_ticket ticket = one_event_tx(200);

	CHECK_EQ(wp_ledger_settle(&l, 0), WP_SETTLED_ALREADY);
	CHECK_EQ(wp_ledger_settle(&l, ticket + 1), WP_SETTLED_ALREADY);
	CHECK_EQ(wp_ledger_settle(&l, UINT64_MAX), WP_SETTLED_ALREADY);
	CHECK_AT(START, 200);
}

static void a_forgotten_ticket_settles_nothing_of_those_that_follow(void **state)
{
	ledger_of(1); /* the old and the new share a place in the ring */
	wp_ticket old = one_event_tx(200);

	wp_ledger_forget(&l, START);
	wp_ticket new = one_event_tx(200);
	CHECK_EQ(wp_ledger_settle(&l, old), WP_SETTLED_ALREADY);
	CHECK_AT(START, 200);
	settle(new);
	CHECK_AT(200, 200);
}

/* -- room ----------------------------------------------------------------- */

static void there_is_room_for_as_many_events_as_were_given(void **state)
{
	ledger_of(3);
	(void)add();
	(void)add();
	CHECK(wp_ledger_has_room(&l, SIZE));
	(void)add();
	CHECK(!wp_ledger_has_room(&l, SIZE));
	CHECK(!wp_ledger_has_room(&l, 0));
}

static void the_window_counts_from_the_oldest_unconfirmed(void **state)
{
	ledger_of(2);
	wp_ticket first = add();
	wp_ticket second = add();

	settle(second);
	CHECK_EQ(l.in_flight, 1);
	CHECK(!wp_ledger_has_room(&l, SIZE));
	settle(first);
	CHECK(wp_ledger_has_room(&l, SIZE));
}

static void bytes_are_bounded_to_the_byte(void **state)
{
	ledger_with(8, 100);
	wp_ledger_add(&l, 60);
	CHECK(wp_ledger_has_room(&l, 39));
	CHECK(wp_ledger_has_room(&l, 40));
	CHECK(!wp_ledger_has_room(&l, 41));
	CHECK(!wp_ledger_has_room(&l, SIZE_MAX));
	wp_ledger_add(&l, 40);
	CHECK(!wp_ledger_has_room(&l, 0));
	settle(1);
	CHECK_EQ(l.bytes, 40);
	CHECK(wp_ledger_has_room(&l, 60));
	CHECK(!wp_ledger_has_room(&l, 61));
}

static void one_event_above_the_byte_limit_is_admitted_alone(void **state)
{
	ledger_with(8, 100);
	CHECK(wp_ledger_has_room(&l, 101));
	wp_ledger_add(&l, 101);
	CHECK(!wp_ledger_has_room(&l, 1));
	settle(1);
	wp_ledger_add(&l, 1);
	CHECK(!wp_ledger_has_room(&l, 101));
}

static void a_ledger_of_one_event_takes_one_at_a_time(void **state)
{
	ledger_of(1);
	for (wp_lsn lsn = 200; lsn < 210; lsn++) {
		CHECK(wp_ledger_has_room(&l, SIZE));
		wp_ticket ticket = one_event_tx(lsn);
		CHECK(!wp_ledger_has_room(&l, SIZE));
		settle(ticket);
		CHECK_EQ(wp_ledger_confirmed_lsn(&l), lsn);
	}
}

static void what_is_in_flight_is_counted(void **state)
{
	wp_ticket first = add();

	(void)add();
	CHECK_EQ(l.in_flight, 2);
	CHECK_EQ(l.bytes, 2 * SIZE);
	settle(first);
	CHECK_EQ(l.in_flight, 1);
	CHECK_EQ(l.bytes, SIZE);
	wp_ledger_forget(&l, START);
	CHECK_EQ(l.in_flight, 0);
	CHECK_EQ(l.bytes, 0);
}

static void a_wider_ledger_keeps_what_is_in_flight(void **state)
{
	ledger_with(3, 3 * SIZE);
	/* The rings have turned once: what is in flight lies across their end. */
	for (wp_lsn lsn = 200; lsn < 205; lsn++)
		settle(one_event_tx(lsn));
	wp_ticket first = one_event_tx(300);
	wp_ticket second = add();
	wp_ticket third = add();
	CHECK(!wp_ledger_has_room(&l, SIZE));
	CHECK_EQ(wp_ledger_widen(&l, 4, 4 * SIZE), WP_OK);
	CHECK(wp_ledger_has_room(&l, SIZE));
	CHECK(!wp_ledger_has_room(&l, SIZE + 1));
	wp_ticket fourth = one_event_tx(400);
	CHECK_EQ(fourth, third + 1);
	CHECK(!wp_ledger_has_room(&l, SIZE));
	settle(second);
	settle(third);
	settle(fourth);
	CHECK_AT(204, 400);
	settle(first);
	CHECK_AT(400, 400);
}

static void without_memory_a_ledger_is_as_wide_as_before(void **state)
{
	for (size_t i = 0; i < 2; i++) {
		ledger_of(2);
		wp_ticket first = one_event_tx(200);
		(void)one_event_tx(300);
		memory_fails_after(i);
		enum wp_rc rc = wp_ledger_widen(&l, 4, ROOM);
		memory_works();
		CHECK_EQ(rc, WP_NOMEM);
		CHECK(!wp_ledger_has_room(&l, SIZE));
		settle(first);
		CHECK_AT(200, 300);
		CHECK(wp_ledger_has_room(&l, SIZE));
	}
}

/* -- the stream is lost --------------------------------------------------- */

static void a_dropped_transaction_does_not_pin_confirmed(void **state)
{
	wp_ticket lost = add();

	wp_ledger_drop_open(&l);
	CHECK_AT(START, START);
	wp_ticket again = one_event_tx(200); /* it is sent again whole */
	settle(again);
	CHECK_AT(START, 200);
	settle(lost);
	CHECK_AT(200, 200);
}

static void a_dropped_transaction_moves_confirmed_nowhere(void **state)
{
	wp_ticket lost = add();

	wp_ledger_drop_open(&l);
	settle(lost);
	CHECK_AT(START, START);
}

static void a_dropped_and_confirmed_transaction_is_gone_at_once(void **state)
{
	settle(add());
	wp_ledger_drop_open(&l);
	wp_ledger_keepalive(&l, 250);
	CHECK_AT(250, 250);
}

static void a_keepalive_waits_for_a_dropped_transaction_too(void **state)
{
	wp_ticket lost = add();

	wp_ledger_drop_open(&l);
	wp_ledger_keepalive(&l, 250);
	CHECK_AT(START, 250);
	settle(lost);
	CHECK_AT(250, 250);
}

static void dropping_without_an_open_transaction_changes_nothing(void **state)
{
	wp_ticket ticket = one_event_tx(200);

	wp_ledger_drop_open(&l);
	settle(ticket);
	CHECK_AT(200, 200);
	wp_ledger_drop_open(&l);
	CHECK_AT(200, 200);
}

static void dropped_transactions_share_the_room_of_the_others(void **state)
{
	ledger_of(3);
	for (int i = 0; i < 3; i++) {
		(void)add();
		wp_ledger_drop_open(&l);
	}
	CHECK(!wp_ledger_has_room(&l, 0));
	for (wp_ticket t = 1; t <= 3; t++)
		settle(t);
	CHECK(wp_ledger_has_room(&l, SIZE));
	settle(one_event_tx(200));
	CHECK_AT(200, 200);
}

static void as_many_transactions_as_events_fit_and_one_more_may_be_open(void **state)
{
	ledger_of(2);
	wp_ticket first = one_event_tx(200);
	wp_ticket second = one_event_tx(300);

	/* The second event is confirmed, its entry waits behind the first. */
	settle(second);
	settle(first);
	wp_ticket third = add();
	wp_ticket fourth = add();
	settle(third);
	settle(fourth);
	/* All of the open one is confirmed: its entry stays, its tickets do not. */
	(void)add();
	(void)add();
	CHECK_AT(300, 300);
	wp_ledger_commit(&l, 400);
	CHECK_AT(300, 400);
}

/* -- forgetting ----------------------------------------------------------- */

static void forgetting_sets_both_positions_even_back(void **state)
{
	(void)one_event_tx(300);
	(void)add();
	wp_ledger_forget(&l, 50);
	CHECK_AT(50, 50);
	/* Neither an entry nor the open one is left. */
	wp_ledger_commit(&l, 60);
	CHECK_AT(60, 60);
}

static void a_released_ledger_is_all_zeroes_and_may_be_released_again(void **state)
{
	wp_ledger_release(&l);
	CHECK(l.events == NULL && l.entries == NULL);
	CHECK_EQ(l.next_ticket, 0);
	CHECK_EQ(l.confirmed_lsn, 0);
	wp_ledger_release(&l);
}

static void without_memory_there_is_no_ledger(void **state)
{
	for (size_t i = 0; i < 2; i++) {
		struct wp_ledger none;
		memory_fails_after(i);
		enum wp_rc rc = wp_ledger_init(&none, 4, ROOM);
		memory_works();
		CHECK_EQ(rc, WP_NOMEM);
		CHECK(none.events == NULL && none.entries == NULL);
	}
}

static void the_highest_is_that_since_it_was_asked(void **state)
{
	wp_ticket first = add();
	wp_ticket second = one_event_tx(200);
	settle(first);
	CHECK_EQ(wp_ledger_take_highest(&l), 2 * SIZE);
	CHECK_EQ(wp_ledger_take_highest(&l), SIZE);
	settle(second);
	CHECK_EQ(wp_ledger_take_highest(&l), SIZE);
	CHECK_EQ(wp_ledger_take_highest(&l), 0);
}

int main(void)
{
	return RUN(TEST(a_new_ledger_knows_no_position_and_has_room),
		   TEST(an_open_transaction_holds_confirmed_though_all_is_confirmed),
		   TEST(a_commit_moves_received_at_once_and_confirmed_when_settled),
		   TEST(every_event_of_a_transaction_must_be_confirmed),
		   TEST(a_late_ack_of_the_first_holds_back_the_second),
		   TEST(the_ring_turns_many_times), TEST(the_highest_is_that_since_it_was_asked),
		   TEST(positions_never_go_back),
		   TEST(a_commit_without_events_moves_confirmed_when_nothing_waits),
		   TEST(a_commit_without_events_never_jumps_the_queue),
		   TEST(a_keepalive_moves_confirmed_when_nothing_waits),
		   TEST(a_keepalive_never_jumps_the_queue),
		   TEST(a_keepalive_amid_a_transaction_is_right_for_what_came_before),
		   TEST(a_keepalive_amid_the_only_transaction_moves_confirmed),
		   TEST(tickets_count_up_from_one), TEST(tickets_never_restart),
		   TEST(a_second_confirmation_is_ignored),
		   TEST(a_ticket_that_was_never_given_is_ignored),
		   TEST(a_forgotten_ticket_settles_nothing_of_those_that_follow),
		   TEST(there_is_room_for_as_many_events_as_were_given),
		   TEST(the_window_counts_from_the_oldest_unconfirmed),
		   TEST(bytes_are_bounded_to_the_byte),
		   TEST(one_event_above_the_byte_limit_is_admitted_alone),
		   TEST(a_ledger_of_one_event_takes_one_at_a_time),
		   TEST(what_is_in_flight_is_counted), TEST(a_wider_ledger_keeps_what_is_in_flight),
		   TEST(without_memory_a_ledger_is_as_wide_as_before),
		   TEST(a_dropped_transaction_does_not_pin_confirmed),
		   TEST(a_dropped_transaction_moves_confirmed_nowhere),
		   TEST(a_dropped_and_confirmed_transaction_is_gone_at_once),
		   TEST(a_keepalive_waits_for_a_dropped_transaction_too),
		   TEST(dropping_without_an_open_transaction_changes_nothing),
		   TEST(dropped_transactions_share_the_room_of_the_others),
		   TEST(as_many_transactions_as_events_fit_and_one_more_may_be_open),
		   TEST(forgetting_sets_both_positions_even_back),
		   TEST(a_released_ledger_is_all_zeroes_and_may_be_released_again),
		   TEST(without_memory_there_is_no_ledger));
}
