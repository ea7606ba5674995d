#include <stdlib.h>

#include "support/check.h"
#include "walpost/relay/ledger.h"

#define START 100
#define SIZE 10
#define ROOM SIZE_MAX

static bool calloc_fails;
static int calloc_until;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
	return calloc_fails && calloc_until-- == 0 ? NULL : __real_calloc(count, size);
}

/* Both positions stand at START. */
static struct wp_ledger ledger_with(size_t events_max, size_t bytes_max)
{
	struct wp_ledger l;

	CHECK_EQ(wp_ledger_init(&l, events_max, bytes_max), WP_OK);
	wp_ledger_forget(&l, START);
	return l;
}

static struct wp_ledger ledger_of(size_t events_max)
{
	return ledger_with(events_max, ROOM);
}

static wp_ticket add(struct wp_ledger *l)
{
	wp_ticket ticket = wp_ledger_next(l);

	wp_ledger_add(l, SIZE);
	return ticket;
}

static wp_ticket one_event_tx(struct wp_ledger *l, wp_lsn end_lsn)
{
	wp_ticket ticket = add(l);

	wp_ledger_commit(l, end_lsn);
	return ticket;
}

static void settle(struct wp_ledger *l, wp_ticket ticket)
{
	CHECK_EQ(wp_ledger_settle(l, ticket), WP_SETTLED);
}

#define CHECK_AT(ledger_, confirmed_, received_)                             \
	do {                                                                 \
		CHECK_EQ(wp_ledger_confirmed_lsn(&(ledger_)), (confirmed_)); \
		CHECK_EQ(wp_ledger_received_lsn(&(ledger_)), (received_));   \
	} while (0)

/* -- up to where? --------------------------------------------------------- */

static void a_new_ledger_knows_no_position_and_has_room(void **state)
{
	struct wp_ledger l;

	CHECK_EQ(wp_ledger_init(&l, 1, 1), WP_OK);
	CHECK_AT(l, 0, 0);
	CHECK(wp_ledger_has_room(&l, 1));
	CHECK_EQ(wp_ledger_next(&l), 1); /* 0 is no ticket */
	wp_ledger_release(&l);
}

static void an_open_transaction_holds_confirmed_though_all_is_confirmed(void **state)
{
	struct wp_ledger l = ledger_of(4);

	settle(&l, add(&l));
	CHECK_AT(l, START, START);
	wp_ledger_commit(&l, 200);
	CHECK_AT(l, 200, 200);
	wp_ledger_release(&l);
}

static void a_commit_moves_received_at_once_and_confirmed_when_settled(void **state)
{
	struct wp_ledger l = ledger_of(4);
	wp_ticket ticket = one_event_tx(&l, 200);

	CHECK_AT(l, START, 200);
	settle(&l, ticket);
	CHECK_AT(l, 200, 200);
	wp_ledger_release(&l);
}

static void every_event_of_a_transaction_must_be_confirmed(void **state)
{
	struct wp_ledger l = ledger_of(4);
	wp_ticket first = add(&l);
	wp_ticket second = add(&l);
	wp_ticket third = one_event_tx(&l, 200);

	settle(&l, third);
	settle(&l, first);
	CHECK_AT(l, START, 200);
	settle(&l, second);
	CHECK_AT(l, 200, 200);
	wp_ledger_release(&l);
}

static void a_late_ack_of_the_first_holds_back_the_second(void **state)
{
	struct wp_ledger l = ledger_of(4);
	wp_ticket first = one_event_tx(&l, 200);
	wp_ticket second = one_event_tx(&l, 300);

	settle(&l, second);
	CHECK_EQ(wp_ledger_confirmed_lsn(&l), START);
	settle(&l, first);
	CHECK_EQ(wp_ledger_confirmed_lsn(&l), 300);
	wp_ledger_release(&l);
}

static void the_ring_turns_many_times(void **state)
{
	struct wp_ledger l = ledger_of(3);

	for (wp_lsn lsn = 200; lsn < 300; lsn++) {
		wp_ticket first = add(&l);
		wp_ticket second = one_event_tx(&l, lsn);
		settle(&l, second);
		CHECK_EQ(wp_ledger_confirmed_lsn(&l), lsn == 200 ? START : lsn - 1);
		settle(&l, first);
		CHECK_AT(l, lsn, lsn);
	}
	CHECK_EQ(wp_ledger_next(&l), 201);
	wp_ledger_release(&l);
}

static void positions_never_go_back(void **state)
{
	struct wp_ledger l = ledger_of(4);

	wp_ledger_commit(&l, 300);
	wp_ledger_commit(&l, 200);
	wp_ledger_keepalive(&l, 150);
	CHECK_AT(l, 300, 300);
	settle(&l, one_event_tx(&l, 250));
	CHECK_AT(l, 300, 300);
	wp_ledger_release(&l);
}

/* -- markers -------------------------------------------------------------- */

static void a_commit_without_events_moves_confirmed_when_nothing_waits(void **state)
{
	struct wp_ledger l = ledger_of(4);

	wp_ledger_commit(&l, 200);
	CHECK_AT(l, 200, 200);
	wp_ledger_release(&l);
}

static void a_commit_without_events_never_jumps_the_queue(void **state)
{
	struct wp_ledger l = ledger_of(4);
	wp_ticket ticket = one_event_tx(&l, 200);

	wp_ledger_commit(&l, 300);
	CHECK_AT(l, START, 300);
	settle(&l, ticket);
	CHECK_AT(l, 300, 300);
	wp_ledger_release(&l);
}

static void a_keepalive_moves_confirmed_when_nothing_waits(void **state)
{
	struct wp_ledger l = ledger_of(4);

	wp_ledger_keepalive(&l, 250);
	CHECK_AT(l, 250, 250);
	wp_ledger_release(&l);
}

static void a_keepalive_never_jumps_the_queue(void **state)
{
	struct wp_ledger l = ledger_of(4);
	wp_ticket first = one_event_tx(&l, 200);
	wp_ticket second = one_event_tx(&l, 300);

	wp_ledger_keepalive(&l, 400);
	CHECK_AT(l, START, 400);
	settle(&l, first);
	CHECK_EQ(wp_ledger_confirmed_lsn(&l), 200);
	settle(&l, second);
	CHECK_EQ(wp_ledger_confirmed_lsn(&l), 400);
	wp_ledger_release(&l);
}

static void a_keepalive_amid_a_transaction_is_right_for_what_came_before(void **state)
{
	struct wp_ledger l = ledger_of(4);
	wp_ticket before = one_event_tx(&l, 200);
	wp_ticket within = add(&l);

	wp_ledger_keepalive(&l, 250); /* below the commit that is being sent */
	settle(&l, before);
	CHECK_AT(l, 250, 250);
	wp_ledger_commit(&l, 300);
	CHECK_AT(l, 250, 300);
	settle(&l, within);
	CHECK_AT(l, 300, 300);
	wp_ledger_release(&l);
}

static void a_keepalive_amid_the_only_transaction_moves_confirmed(void **state)
{
	struct wp_ledger l = ledger_of(4);

	(void)add(&l);
	wp_ledger_keepalive(&l, 250);
	CHECK_AT(l, 250, 250);
	wp_ledger_release(&l);
}

/* -- tickets -------------------------------------------------------------- */

static void tickets_count_up_from_one(void **state)
{
	struct wp_ledger l = ledger_of(4);

	CHECK_EQ(add(&l), 1);
	CHECK_EQ(add(&l), 2);
	CHECK_EQ(wp_ledger_next(&l), 3);
	wp_ledger_release(&l);
}

static void tickets_never_restart(void **state)
{
	struct wp_ledger l = ledger_of(4);

	(void)one_event_tx(&l, 200);
	wp_ledger_forget(&l, START);
	CHECK_EQ(add(&l), 2);
	wp_ledger_release(&l);
}

static void a_second_confirmation_is_ignored(void **state)
{
	struct wp_ledger l = ledger_of(4);
	wp_ticket first = add(&l);
	wp_ticket second = one_event_tx(&l, 200);

	settle(&l, second);
	CHECK_EQ(wp_ledger_settle(&l, second), WP_SETTLED_ALREADY);
	CHECK_AT(l, START, 200);
	settle(&l, first);
	CHECK_EQ(wp_ledger_settle(&l, first), WP_SETTLED_ALREADY);
	CHECK_EQ(l.in_flight, 0);
	wp_ledger_release(&l);
}

static void a_ticket_that_was_never_given_is_ignored(void **state)
{
	struct wp_ledger l = ledger_of(4);
	wp_ticket ticket = one_event_tx(&l, 200);

	CHECK_EQ(wp_ledger_settle(&l, 0), WP_SETTLED_ALREADY);
	CHECK_EQ(wp_ledger_settle(&l, ticket + 1), WP_SETTLED_ALREADY);
	CHECK_EQ(wp_ledger_settle(&l, UINT64_MAX), WP_SETTLED_ALREADY);
	CHECK_AT(l, START, 200);
	wp_ledger_release(&l);
}

static void a_forgotten_ticket_settles_nothing_of_those_that_follow(void **state)
{
	struct wp_ledger l = ledger_of(1); /* the old and the new share a place in the ring */
	wp_ticket old = one_event_tx(&l, 200);

	wp_ledger_forget(&l, START);
	wp_ticket new = one_event_tx(&l, 200);
	CHECK_EQ(wp_ledger_settle(&l, old), WP_SETTLED_ALREADY);
	CHECK_AT(l, START, 200);
	settle(&l, new);
	CHECK_AT(l, 200, 200);
	wp_ledger_release(&l);
}

/* -- room ----------------------------------------------------------------- */

static void there_is_room_for_as_many_events_as_were_given(void **state)
{
	struct wp_ledger l = ledger_of(3);

	(void)add(&l);
	(void)add(&l);
	CHECK(wp_ledger_has_room(&l, SIZE));
	(void)add(&l);
	CHECK(!wp_ledger_has_room(&l, SIZE));
	CHECK(!wp_ledger_has_room(&l, 0));
	wp_ledger_release(&l);
}

static void the_window_counts_from_the_oldest_unconfirmed(void **state)
{
	struct wp_ledger l = ledger_of(2);
	wp_ticket first = add(&l);
	wp_ticket second = add(&l);

	settle(&l, second);
	CHECK_EQ(l.in_flight, 1);
	CHECK(!wp_ledger_has_room(&l, SIZE));
	settle(&l, first);
	CHECK(wp_ledger_has_room(&l, SIZE));
	wp_ledger_release(&l);
}

static void bytes_are_bounded_to_the_byte(void **state)
{
	struct wp_ledger l = ledger_with(8, 100);

	wp_ledger_add(&l, 60);
	CHECK(wp_ledger_has_room(&l, 39));
	CHECK(wp_ledger_has_room(&l, 40));
	CHECK(!wp_ledger_has_room(&l, 41));
	CHECK(!wp_ledger_has_room(&l, SIZE_MAX));
	wp_ledger_add(&l, 40);
	CHECK(!wp_ledger_has_room(&l, 0));
	settle(&l, 1);
	CHECK_EQ(l.bytes, 40);
	CHECK(wp_ledger_has_room(&l, 60));
	CHECK(!wp_ledger_has_room(&l, 61));
	wp_ledger_release(&l);
}

static void one_event_above_the_byte_limit_is_admitted_alone(void **state)
{
	struct wp_ledger l = ledger_with(8, 100);

	CHECK(wp_ledger_has_room(&l, 101));
	wp_ledger_add(&l, 101);
	CHECK(!wp_ledger_has_room(&l, 1));
	settle(&l, 1);
	wp_ledger_add(&l, 1);
	CHECK(!wp_ledger_has_room(&l, 101));
	wp_ledger_release(&l);
}

static void a_ledger_of_one_event_takes_one_at_a_time(void **state)
{
	struct wp_ledger l = ledger_of(1);

	for (wp_lsn lsn = 200; lsn < 210; lsn++) {
		CHECK(wp_ledger_has_room(&l, SIZE));
		wp_ticket ticket = one_event_tx(&l, lsn);
		CHECK(!wp_ledger_has_room(&l, SIZE));
		settle(&l, ticket);
		CHECK_EQ(wp_ledger_confirmed_lsn(&l), lsn);
	}
	wp_ledger_release(&l);
}

static void what_is_in_flight_is_counted(void **state)
{
	struct wp_ledger l = ledger_of(4);
	wp_ticket first = add(&l);

	(void)add(&l);
	CHECK_EQ(l.in_flight, 2);
	CHECK_EQ(l.bytes, 2 * SIZE);
	settle(&l, first);
	CHECK_EQ(l.in_flight, 1);
	CHECK_EQ(l.bytes, SIZE);
	wp_ledger_forget(&l, START);
	CHECK_EQ(l.in_flight, 0);
	CHECK_EQ(l.bytes, 0);
	wp_ledger_release(&l);
}

static void a_wider_ledger_keeps_what_is_in_flight(void **state)
{
	struct wp_ledger l = ledger_with(3, 3 * SIZE);

	/* The rings have turned once: what is in flight lies across their end. */
	for (wp_lsn lsn = 200; lsn < 205; lsn++)
		settle(&l, one_event_tx(&l, lsn));
	wp_ticket first = one_event_tx(&l, 300);
	wp_ticket second = add(&l);
	wp_ticket third = add(&l);
	CHECK(!wp_ledger_has_room(&l, SIZE));
	CHECK_EQ(wp_ledger_widen(&l, 4, 4 * SIZE), WP_OK);
	CHECK(wp_ledger_has_room(&l, SIZE));
	CHECK(!wp_ledger_has_room(&l, SIZE + 1));
	wp_ticket fourth = one_event_tx(&l, 400);
	CHECK_EQ(fourth, third + 1);
	CHECK(!wp_ledger_has_room(&l, SIZE));
	settle(&l, second);
	settle(&l, third);
	settle(&l, fourth);
	CHECK_AT(l, 204, 400);
	settle(&l, first);
	CHECK_AT(l, 400, 400);
	wp_ledger_release(&l);
}

static void without_memory_a_ledger_is_as_wide_as_before(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct wp_ledger l = ledger_of(2);
		wp_ticket first = one_event_tx(&l, 200);
		(void)one_event_tx(&l, 300);
		calloc_fails = true;
		calloc_until = i;
		enum wp_rc rc = wp_ledger_widen(&l, 4, ROOM);
		calloc_fails = false;
		CHECK_EQ(rc, WP_NOMEM);
		CHECK(!wp_ledger_has_room(&l, SIZE));
		settle(&l, first);
		CHECK_AT(l, 200, 300);
		CHECK(wp_ledger_has_room(&l, SIZE));
		wp_ledger_release(&l);
	}
}

/* -- the stream is lost --------------------------------------------------- */

static void a_dropped_transaction_does_not_pin_confirmed(void **state)
{
	struct wp_ledger l = ledger_of(4);
	wp_ticket lost = add(&l);

	wp_ledger_drop_open(&l);
	CHECK_AT(l, START, START);
	wp_ticket again = one_event_tx(&l, 200); /* it is sent again whole */
	settle(&l, again);
	CHECK_AT(l, START, 200);
	settle(&l, lost);
	CHECK_AT(l, 200, 200);
	wp_ledger_release(&l);
}

static void a_dropped_transaction_moves_confirmed_nowhere(void **state)
{
	struct wp_ledger l = ledger_of(4);
	wp_ticket lost = add(&l);

	wp_ledger_drop_open(&l);
	settle(&l, lost);
	CHECK_AT(l, START, START);
	wp_ledger_release(&l);
}

static void a_dropped_and_confirmed_transaction_is_gone_at_once(void **state)
{
	struct wp_ledger l = ledger_of(4);

	settle(&l, add(&l));
	wp_ledger_drop_open(&l);
	wp_ledger_keepalive(&l, 250);
	CHECK_AT(l, 250, 250);
	wp_ledger_release(&l);
}

static void a_keepalive_waits_for_a_dropped_transaction_too(void **state)
{
	struct wp_ledger l = ledger_of(4);
	wp_ticket lost = add(&l);

	wp_ledger_drop_open(&l);
	wp_ledger_keepalive(&l, 250);
	CHECK_AT(l, START, 250);
	settle(&l, lost);
	CHECK_AT(l, 250, 250);
	wp_ledger_release(&l);
}

static void dropping_without_an_open_transaction_changes_nothing(void **state)
{
	struct wp_ledger l = ledger_of(4);
	wp_ticket ticket = one_event_tx(&l, 200);

	wp_ledger_drop_open(&l);
	settle(&l, ticket);
	CHECK_AT(l, 200, 200);
	wp_ledger_drop_open(&l);
	CHECK_AT(l, 200, 200);
	wp_ledger_release(&l);
}

static void dropped_transactions_share_the_room_of_the_others(void **state)
{
	struct wp_ledger l = ledger_of(3);

	for (int i = 0; i < 3; i++) {
		(void)add(&l);
		wp_ledger_drop_open(&l);
	}
	CHECK(!wp_ledger_has_room(&l, 0));
	for (wp_ticket t = 1; t <= 3; t++)
		settle(&l, t);
	CHECK(wp_ledger_has_room(&l, SIZE));
	settle(&l, one_event_tx(&l, 200));
	CHECK_AT(l, 200, 200);
	wp_ledger_release(&l);
}

static void as_many_transactions_as_events_fit_and_one_more_may_be_open(void **state)
{
	struct wp_ledger l = ledger_of(2);
	wp_ticket first = one_event_tx(&l, 200);
	wp_ticket second = one_event_tx(&l, 300);

	/* The second event is confirmed, its entry waits behind the first. */
	settle(&l, second);
	settle(&l, first);
	wp_ticket third = add(&l);
	wp_ticket fourth = add(&l);
	settle(&l, third);
	settle(&l, fourth);
	/* All of the open one is confirmed: its entry stays, its tickets do not. */
	(void)add(&l);
	(void)add(&l);
	CHECK_AT(l, 300, 300);
	wp_ledger_commit(&l, 400);
	CHECK_AT(l, 300, 400);
	wp_ledger_release(&l);
}

/* -- forgetting ----------------------------------------------------------- */

static void forgetting_sets_both_positions_even_back(void **state)
{
	struct wp_ledger l = ledger_of(4);

	(void)one_event_tx(&l, 300);
	(void)add(&l);
	wp_ledger_forget(&l, 50);
	CHECK_AT(l, 50, 50);
	/* Neither an entry nor the open one is left. */
	wp_ledger_commit(&l, 60);
	CHECK_AT(l, 60, 60);
	wp_ledger_release(&l);
}

static void a_released_ledger_is_all_zeroes_and_may_be_released_again(void **state)
{
	struct wp_ledger l = ledger_of(4);

	wp_ledger_release(&l);
	CHECK(l.events == NULL && l.entries == NULL);
	CHECK_EQ(l.next_ticket, 0);
	CHECK_EQ(l.confirmed_lsn, 0);
	wp_ledger_release(&l);
}

static void without_memory_there_is_no_ledger(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct wp_ledger l;
		calloc_fails = true;
		calloc_until = i;
		enum wp_rc rc = wp_ledger_init(&l, 4, ROOM);
		calloc_fails = false;
		CHECK_EQ(rc, WP_NOMEM);
		CHECK(l.events == NULL && l.entries == NULL);
	}
}

static void the_highest_is_that_since_it_was_asked(void **state)
{
	struct wp_ledger l = ledger_of(4);

	wp_ticket first = add(&l);
	wp_ticket second = one_event_tx(&l, 200);
	settle(&l, first);
	CHECK_EQ(wp_ledger_take_highest(&l), 2 * SIZE);
	CHECK_EQ(wp_ledger_take_highest(&l), SIZE);
	settle(&l, second);
	CHECK_EQ(wp_ledger_take_highest(&l), SIZE);
	CHECK_EQ(wp_ledger_take_highest(&l), 0);
	wp_ledger_release(&l);
}

int main(void)
{
	return RUN(PLAIN(a_new_ledger_knows_no_position_and_has_room),
		   PLAIN(an_open_transaction_holds_confirmed_though_all_is_confirmed),
		   PLAIN(a_commit_moves_received_at_once_and_confirmed_when_settled),
		   PLAIN(every_event_of_a_transaction_must_be_confirmed),
		   PLAIN(a_late_ack_of_the_first_holds_back_the_second),
		   PLAIN(the_ring_turns_many_times), PLAIN(the_highest_is_that_since_it_was_asked),
		   PLAIN(positions_never_go_back),
		   PLAIN(a_commit_without_events_moves_confirmed_when_nothing_waits),
		   PLAIN(a_commit_without_events_never_jumps_the_queue),
		   PLAIN(a_keepalive_moves_confirmed_when_nothing_waits),
		   PLAIN(a_keepalive_never_jumps_the_queue),
		   PLAIN(a_keepalive_amid_a_transaction_is_right_for_what_came_before),
		   PLAIN(a_keepalive_amid_the_only_transaction_moves_confirmed),
		   PLAIN(tickets_count_up_from_one), PLAIN(tickets_never_restart),
		   PLAIN(a_second_confirmation_is_ignored),
		   PLAIN(a_ticket_that_was_never_given_is_ignored),
		   PLAIN(a_forgotten_ticket_settles_nothing_of_those_that_follow),
		   PLAIN(there_is_room_for_as_many_events_as_were_given),
		   PLAIN(the_window_counts_from_the_oldest_unconfirmed),
		   PLAIN(bytes_are_bounded_to_the_byte),
		   PLAIN(one_event_above_the_byte_limit_is_admitted_alone),
		   PLAIN(a_ledger_of_one_event_takes_one_at_a_time),
		   PLAIN(what_is_in_flight_is_counted),
		   PLAIN(a_wider_ledger_keeps_what_is_in_flight),
		   PLAIN(without_memory_a_ledger_is_as_wide_as_before),
		   PLAIN(a_dropped_transaction_does_not_pin_confirmed),
		   PLAIN(a_dropped_transaction_moves_confirmed_nowhere),
		   PLAIN(a_dropped_and_confirmed_transaction_is_gone_at_once),
		   PLAIN(a_keepalive_waits_for_a_dropped_transaction_too),
		   PLAIN(dropping_without_an_open_transaction_changes_nothing),
		   PLAIN(dropped_transactions_share_the_room_of_the_others),
		   PLAIN(as_many_transactions_as_events_fit_and_one_more_may_be_open),
		   PLAIN(forgetting_sets_both_positions_even_back),
		   PLAIN(a_released_ledger_is_all_zeroes_and_may_be_released_again),
		   PLAIN(without_memory_there_is_no_ledger));
}
