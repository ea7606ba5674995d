/*
 * What could go on for ever: wakes in which nothing is done, and waiting for a rest that
 * never comes.
 */
#include <string.h>

#include "scripted_sink.h"
#include "scripted_source.h"
#include "support/check.h"
#include "unit/outbox/memory.h"
#include "unit/outbox/rows.h"
#include "walpost/relay/relay.h"

#define SLOT 100
#define OUTBOX 16400
#define EVENTS_MAX 4

struct bench {
	struct wp_outbox_options outbox;
	struct wp_relay_options options;
	struct scripted_source source;
	struct scripted_sink sink;
	struct wp_relay *relay;
	int64_t now_ms;
	struct wp_relay_snapshot look;
};

static struct bench bench;
static struct bench *const b = &bench;

static const struct wire_column COLUMNS[] = {
	{ "id", TEXT_OID },   { "aggregatetype", TEXT_OID }, { "aggregateid", TEXT_OID },
	{ "type", TEXT_OID }, { "payload", TEXT_OID },
};

static int set_up(void **state)
{
	struct wp_why why;

	memset(b, 0, sizeof(*b));
	b->now_ms = 1000000;
	b->outbox = default_options();
	b->options = (struct wp_relay_options){
		.in_flight_events = EVENTS_MAX,
		.in_flight_bytes = 1 << 20,
		.feedback_interval_ms = 100,
		.topic_wait_ms = 300 * 1000,
		.shutdown_timeout_ms = 20000,
	};
	scripted_source_init(&b->source, SLOT);
	scripted_sink_init(&b->sink);
	return wp_relay_new(
		       &(struct wp_relay_setup){
			       .source = &b->source.base,
			       .sink = &b->sink.base,
			       .options = &b->options,
			       .outbox = &b->outbox,
			       .slot = "walpost",
			       .owner = "us",
			       .seed = 4711,
		       },
		       &b->relay, &why) == WP_OK
		       ? 0
		       : -1;
}

static int tear_down(void **state)
{
	wp_relay_free(b->relay);
	return 0;
}

static enum wp_step step(void)
{
	enum wp_step step = wp_relay_step(b->relay, (struct wp_now){ b->now_ms, b->now_ms * 1000 });

	wp_relay_look(b->relay, &b->look);
	return step;
}

/* As the loop does it: a step at once while more is to do, else when it is due. Counts the steps. */
static unsigned live(int64_t ms)
{
	int64_t end = b->now_ms + ms;
	unsigned steps = 0;

	while (b->now_ms < end) {
		bool more = step() == WP_STEP_MORE;
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
	(void)step();
	b->source.view.state = WP_SOURCE_READY;
	(void)step();
	b->source.view.state = WP_SOURCE_STREAMING;
	(void)step();
	CHECK_TEXT(wp_state_name(b->look.state), "streaming");
}

static void send_event(wp_lsn commit_lsn, const char *id)
{
	const char *const values[] = { id, "order", "k", "made", "{}" };
	struct wire_writer w = scripted_source_frame(&b->source);

	wire_data(&w, 0);
	wire_begin(&w, commit_lsn, 0);
	scripted_source_send(&b->source, &w);
	w = scripted_source_frame(&b->source);
	wire_data(&w, 0);
	wire_relation(&w, OUTBOX, "public", "outbox", COLUMNS, 5);
	scripted_source_send(&b->source, &w);
	w = scripted_source_frame(&b->source);
	wire_data(&w, 0);
	wire_insert(&w, OUTBOX, values, 5);
	scripted_source_send(&b->source, &w);
	w = scripted_source_frame(&b->source);
	wire_data(&w, 0);
	wire_commit(&w, commit_lsn, commit_lsn + 8, 0);
	scripted_source_send(&b->source, &w);
}

/* Turned on, a source wakes the loop. */
static void a_sink_that_does_not_take_an_event_yet_is_offered_it_with_reading_off(void **state)
{
	stream();
	b->sink.answer = WP_AGAIN;
	send_event(200, "1");
	(void)step();
	uint64_t moves = b->look.moves;
	CHECK(!b->source.reading);
	(void)step();
	(void)step();
	CHECK_EQ(b->sink.offers, 3);
	CHECK_EQ(b->look.moves, moves);
	CHECK(!b->source.reading);
	b->sink.answer = WP_OK;
	(void)step();
	CHECK(b->source.reading);
	CHECK_EQ(b->sink.sent_count, 1);
}

static void asked_to_stop_it_offers_nothing_more(void **state)
{
	stream();
	b->sink.answer = WP_AGAIN;
	send_event(200, "1");
	(void)step();
	b->sink.answer = WP_OK;
	wp_relay_stop(b->relay, (struct wp_now){ b->now_ms, 0 });
	b->now_ms += 10 * 1000;
	(void)step();
	CHECK_EQ(b->sink.sent_count, 0);
	CHECK_TEXT(wp_state_name(b->look.state), "finishing");
}

static void a_topic_that_was_found_wakes_nobody_before_something_is_confirmed(void **state)
{
	stream();
	b->sink.answer = WP_AGAIN;
	b->sink.view.state = WP_SINK_WAITING;
	send_event(200, "1");
	(void)step();
	(void)step();
	b->sink.answer = WP_OK;
	b->sink.view.state = WP_SINK_READY;
	(void)live(61 * 1000);
	CHECK_EQ(b->sink.sent_count, 1);
	CHECK(live(10 * 1000) < 20);
}

static void a_question_in_standby_that_is_not_answered_is_given_up(void **state)
{
	(void)step();
	b->source.view.facts.slot_held = true;
	b->source.view.state = WP_SOURCE_READY;
	(void)live(2000);
	CHECK_TEXT(wp_state_name(b->look.state), "standby");
	CHECK_EQ(b->source.looks, 1);
	(void)live(60 * 1000);
	CHECK_EQ(b->source.closes, 1);
	CHECK_EQ(b->source.connects, 2);
}

static void a_sink_that_breaks_while_it_stops_is_told_once(void **state)
{
	stream();
	send_event(200, "1");
	(void)step();
	wp_relay_stop(b->relay, (struct wp_now){ b->now_ms, 0 });
	(void)step();
	CHECK_TEXT(wp_state_name(b->look.state), "draining");
	b->sink.view.state = WP_SINK_BROKEN;
	for (unsigned i = 0; i < 5; i++)
		(void)step();
	CHECK_TEXT(wp_state_name(b->look.state), "finishing");
	CHECK_EQ(b->look.rewinds, 1);
}

/* -- isolation under load -------------------------------------------------- */

static wp_ticket last_ticket(void)
{
	return scripted_sink_last(&b->sink)->ticket;
}

static void confirm(wp_ticket ticket)
{
	scripted_sink_confirm(&b->sink, ticket);
	(void)step();
}

/* From an event-level error to streaming again, one event a batch. */
static void isolate(void)
{
	stream();
	send_event(200, "1");
	(void)step();
	scripted_sink_refuse(&b->sink, last_ticket(), WP_REACT_ISOLATE, true, "SOME_ERROR");
	(void)step();
	(void)step();
	b->sink.view.state = WP_SINK_READY;
	(void)live(12 * 1000);
	stream();
	CHECK_EQ(b->sink.batching, WP_BATCHING_ONE_BY_ONE);
}

static void batches_come_back_under_a_load_that_never_pauses(void **state)
{
	isolate();
	send_event(200, "1");
	(void)step();
	for (wp_lsn lsn = 300; lsn < 5000 && b->sink.restarts == 1; lsn += 100) {
		wp_ticket before = last_ticket();
		send_event(lsn, "more");
		(void)step();
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
	(void)step();
	scripted_source_fail(&b->source, WP_REACT_RECONNECT, "");
	(void)step();
	(void)live(12 * 1000);
	CHECK_TEXT(wp_state_name(b->look.state), "connecting");
	b->source.view.facts.slot_held = true;
	b->source.view.state = WP_SOURCE_READY;
	(void)step();
	CHECK_TEXT(wp_state_name(b->look.state), "standby");
	CHECK_EQ(b->sink.purges, 2); /* the first was at the start */
	(void)live(2000);
	CHECK_EQ(b->source.looks, 1);
	b->source.view.facts.slot_held = false;
	b->source.view.state = WP_SOURCE_READY;
	(void)step();
	CHECK_TEXT(wp_state_name(b->look.state), "settling");
	scripted_sink_purged(&b->sink, 1);
	(void)step();
	(void)step();
	CHECK_TEXT(wp_state_name(b->look.state), "starting");
	CHECK_EQ(b->source.start_at, SLOT);
}

/* The cure that is told gives up all that is not confirmed by then. */
static void an_undeliverable_event_stops_it_only_when_all_before_it_is_confirmed(void **state)
{
	const char *const values[] = { "2", "order", NULL, "made", "{}" };
	struct wire_writer w;

	stream();
	send_event(200, "1");
	w = scripted_source_frame(&b->source);
	wire_data(&w, 0);
	wire_begin(&w, 300, 0);
	scripted_source_send(&b->source, &w);
	w = scripted_source_frame(&b->source);
	wire_data(&w, 0);
	wire_insert(&w, OUTBOX, values, 5);
	scripted_source_send(&b->source, &w);
	(void)live(60 * 1000);
	CHECK_TEXT(wp_state_name(b->look.state), "paused");
	confirm(1);
	(void)live(100);
	CHECK_EQ(b->source.status.flush, 208);
	CHECK_EQ(wp_relay_exit_code(b->relay), 3);
}

static void send_row_of(const char *id, const char *key)
{
	const char *const values[] = { id, "order", key, "made", "{}" };
	struct wire_writer w = scripted_source_frame(&b->source);

	wire_data(&w, 0);
	wire_insert(&w, OUTBOX, values, 5);
	scripted_source_send(&b->source, &w);
}

static void send_two_and_one_without_a_key(void)
{
	send_event(200, "1");
	struct wire_writer w = scripted_source_frame(&b->source);
	wire_data(&w, 0);
	wire_begin(&w, 300, 0);
	scripted_source_send(&b->source, &w);
	send_row_of("guilty", "k");
	send_row_of("3", NULL);
	(void)step();
}

/* It is offered while the guilty one is in flight. */
static void isolation_holds_also_before_an_event_that_cannot_be_sent(void **state)
{
	stream();
	send_two_and_one_without_a_key();
	CHECK_EQ(b->look.in_flight, 2);
	scripted_sink_refuse(&b->sink, last_ticket(), WP_REACT_ISOLATE, true, "SOME_ERROR");
	(void)step();
	b->sink.view.in_flight = 0;
	(void)step();
	b->sink.view.state = WP_SINK_READY;
	(void)live(12 * 1000);
	stream();
	send_two_and_one_without_a_key();
	CHECK_EQ(b->look.in_flight, 1);
	confirm(last_ticket());
	CHECK_EQ(b->look.in_flight, 1);
	scripted_sink_refuse(&b->sink, last_ticket(), WP_REACT_ISOLATE, true, "SOME_ERROR");
	(void)step();
	CHECK_EQ(wp_relay_exit_code(b->relay), 3);
	CHECK_EQ(b->look.rewinds, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define WAKES_TEST(name_) cmocka_unit_test_setup_teardown(name_, set_up, tear_down)
		WAKES_TEST(a_sink_that_does_not_take_an_event_yet_is_offered_it_with_reading_off),
		WAKES_TEST(asked_to_stop_it_offers_nothing_more),
		WAKES_TEST(a_topic_that_was_found_wakes_nobody_before_something_is_confirmed),
		WAKES_TEST(a_question_in_standby_that_is_not_answered_is_given_up),
		WAKES_TEST(a_sink_that_breaks_while_it_stops_is_told_once),
		WAKES_TEST(batches_come_back_under_a_load_that_never_pauses),
		WAKES_TEST(what_may_be_purged_is_streamed_again_though_nothing_was_reported_yet),
		WAKES_TEST(isolation_holds_also_before_an_event_that_cannot_be_sent),
		WAKES_TEST(an_undeliverable_event_stops_it_only_when_all_before_it_is_confirmed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
