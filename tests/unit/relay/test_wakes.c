/*
 * What could go on for ever: wakes in which nothing is done, and waiting for a rest that
 * never comes.
 */

#include "bench.h"
#include "support/check.h"

#define SLOT 100

static struct bench *const b = &bench;

static int set_up(void **state)
{
	begin(SLOT);
	return build() == WP_OK ? 0 : -1;
}

/* As the loop does it: a step at once while more is to do, else when it is due. Counts the steps. */
static unsigned live_busily(int64_t ms)
{
	int64_t end = b->now_ms + ms;
	unsigned steps = 0;

	while (b->now_ms < end) {
		step();
		bool more = b->step == WP_STEP_MORE;
		int64_t due = wp_relay_due(b->relay);
		steps++;
		/* A timer that is late already still takes a millisecond. */
		if (!more)
			b->now_ms = due > b->now_ms ? due : b->now_ms + 1;
	}
	b->now_ms = end;
	return steps;
}

static void stream(void)
{
	step();
	b->source.view.state = WP_SOURCE_READY;
	step();
	b->source.view.state = WP_SOURCE_STREAMING;
	step();
	CHECK_STATE("streaming");
}

/* Turned on, a source wakes the loop. */
static void a_sink_that_does_not_take_an_event_yet_is_offered_it_with_reading_off(void **state)
{
	stream();
	b->sink.answer = WP_AGAIN;
	send_event(200, "1");
	step();
	uint64_t moves = b->snapshot.moves;
	CHECK(!b->source.reading);
	step();
	step();
	CHECK_EQ(b->sink.offers, 3);
	CHECK_EQ(b->snapshot.moves, moves);
	CHECK(!b->source.reading);
	b->sink.answer = WP_OK;
	step();
	CHECK(b->source.reading);
	CHECK_EQ(b->sink.sent_count, 1);
}

static void asked_to_stop_it_offers_nothing_more(void **state)
{
	stream();
	b->sink.answer = WP_AGAIN;
	send_event(200, "1");
	step();
	b->sink.answer = WP_OK;
	wp_relay_stop(b->relay, (struct wp_now){ .ms = b->now_ms });
	b->now_ms += 10 * 1000;
	step();
	CHECK_EQ(b->sink.sent_count, 0);
	CHECK_STATE("finishing");
}

static void a_topic_that_was_found_wakes_nobody_before_something_is_confirmed(void **state)
{
	stream();
	b->sink.answer = WP_AGAIN;
	b->sink.view.state = WP_SINK_WAITING;
	send_event(200, "1");
	step();
	step();
	b->sink.answer = WP_OK;
	b->sink.view.state = WP_SINK_READY;
	(void)live_busily(61 * 1000);
	CHECK_EQ(b->sink.sent_count, 1);
	CHECK(live_busily(10 * 1000) < 20);
}

static void a_question_in_standby_that_is_not_answered_is_given_up(void **state)
{
	step();
	b->source.view.facts.slot_active = true;
	b->source.view.state = WP_SOURCE_READY;
	(void)live_busily(2000);
	CHECK_STATE("standby");
	CHECK_EQ(b->source.refreshes, 1);
	(void)live_busily(60 * 1000);
	CHECK_EQ(b->source.closes, 1);
	CHECK_EQ(b->source.connects, 2);
}

static void a_sink_that_breaks_while_it_stops_is_told_once(void **state)
{
	stream();
	send_event(200, "1");
	step();
	wp_relay_stop(b->relay, (struct wp_now){ .ms = b->now_ms });
	step();
	CHECK_STATE("draining");
	b->sink.view.state = WP_SINK_BROKEN;
	for (unsigned i = 0; i < 5; i++)
		step();
	CHECK_STATE("finishing");
	CHECK_EQ(b->snapshot.rewinds, 1);
}

/* -- isolation under load -------------------------------------------------- */

static wp_ticket last_ticket(void)
{
	return scripted_sink_last(&b->sink)->ticket;
}

static void confirm(wp_ticket ticket)
{
	scripted_sink_confirm(&b->sink, ticket);
	step();
}

/* From an event-level error to streaming again, one event a batch. */
static void isolate(void)
{
	stream();
	send_event(200, "1");
	step();
	scripted_sink_refuse(&b->sink, last_ticket(), WP_REACT_ISOLATE, true, "SOME_ERROR");
	step();
	step();
	b->sink.view.state = WP_SINK_READY;
	(void)live_busily(12 * 1000);
	stream();
	CHECK_EQ(b->sink.batching, WP_BATCHING_ONE_BY_ONE);
}

static void batches_come_back_under_a_load_that_never_pauses(void **state)
{
	isolate();
	send_event(200, "1");
	step();
	for (wp_lsn lsn = 300; lsn < 5000 && b->sink.restarts == 1; lsn += 100) {
		wp_ticket before = last_ticket();
		send_event(lsn, "more");
		step();
		confirm(before); /* with one more in flight */
	}
	CHECK_EQ(b->sink.restarts, 2);
	CHECK_EQ(b->sink.batching, WP_BATCHING_NORMAL);
}

/* -- what must not be left behind ------------------------------------------ */

/* The sink reports what it purges when it comes to it. */
static void what_may_be_purged_is_streamed_again_though_nothing_was_reported_yet(void **state)
{
	stream();
	send_event(200, "1");
	step();
	scripted_source_fail(&b->source, WP_REACT_RECONNECT, "");
	step();
	(void)live_busily(12 * 1000);
	CHECK_STATE("connecting");
	b->source.view.facts.slot_active = true;
	b->source.view.state = WP_SOURCE_READY;
	step();
	CHECK_STATE("standby");
	CHECK_EQ(b->sink.purges, 2); /* the first was at the start */
	(void)live_busily(2000);
	CHECK_EQ(b->source.refreshes, 1);
	b->source.view.facts.slot_active = false;
	b->source.view.state = WP_SOURCE_READY;
	step();
	CHECK_STATE("settling");
	scripted_sink_purged(&b->sink, 1);
	step();
	step();
	CHECK_STATE("starting");
	CHECK_EQ(b->source.start_at, SLOT);
}

/* The cure that is told gives up all that is not confirmed by then. */
static void an_undeliverable_event_stops_it_only_when_all_before_it_is_confirmed(void **state)
{
	stream();
	send_event(200, "1");
	send_begin(300);
	send_row_of(OUTBOX, "2", NULL);
	(void)live_busily(60 * 1000);
	CHECK_STATE("paused");
	confirm(1);
	(void)live_busily(100);
	CHECK_EQ(b->source.status.flush, 208);
	CHECK_EQ(wp_relay_exit_code(b->relay), 3);
}

static void send_two_and_one_without_a_key(void)
{
	send_event(200, "1");
	send_begin(300);
	send_row_of(OUTBOX, "guilty", "k");
	send_row_of(OUTBOX, "3", NULL);
	step();
}

/* It is offered while the guilty one is in flight. */
static void isolation_holds_also_before_an_event_that_cannot_be_sent(void **state)
{
	stream();
	send_two_and_one_without_a_key();
	CHECK_EQ(b->snapshot.in_flight, 2);
	scripted_sink_refuse(&b->sink, last_ticket(), WP_REACT_ISOLATE, true, "SOME_ERROR");
	step();
	b->sink.view.in_flight = 0;
	step();
	b->sink.view.state = WP_SINK_READY;
	(void)live_busily(12 * 1000);
	stream();
	send_two_and_one_without_a_key();
	CHECK_EQ(b->snapshot.in_flight, 1);
	confirm(last_ticket());
	CHECK_EQ(b->snapshot.in_flight, 1);
	scripted_sink_refuse(&b->sink, last_ticket(), WP_REACT_ISOLATE, true, "SOME_ERROR");
	step();
	CHECK_EQ(wp_relay_exit_code(b->relay), 3);
	CHECK_EQ(b->snapshot.rewinds, 1);
}

int main(void)
{
	return RUN(TEST(a_sink_that_does_not_take_an_event_yet_is_offered_it_with_reading_off),
		   TEST(asked_to_stop_it_offers_nothing_more),
		   TEST(a_topic_that_was_found_wakes_nobody_before_something_is_confirmed),
		   TEST(a_question_in_standby_that_is_not_answered_is_given_up),
		   TEST(a_sink_that_breaks_while_it_stops_is_told_once),
		   TEST(batches_come_back_under_a_load_that_never_pauses),
		   TEST(what_may_be_purged_is_streamed_again_though_nothing_was_reported_yet),
		   TEST(isolation_holds_also_before_an_event_that_cannot_be_sent),
		   TEST(an_undeliverable_event_stops_it_only_when_all_before_it_is_confirmed));
}
