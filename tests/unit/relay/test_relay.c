#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "support/check.h"
#include "support/partitions.h"
#include "support/memory.h"
#include "support/rows.h"

#define SLOT 100
#define OTHER 16500
#define EVENTS_MAX 4
#define INTERVAL_MS 100
#define TOPIC_WAIT_MS (300 * 1000)
#define SHUTDOWN_MS 20000

static struct bench *const b = &bench;

static int set_up(void **state)
{
	begin(SLOT);
	b->options.in_flight_events = EVENTS_MAX;
	b->options.feedback_interval_ms = INTERVAL_MS;
	b->options.topic_wait_ms = TOPIC_WAIT_MS;
	b->options.shutdown_timeout_ms = SHUTDOWN_MS;
	return build() == WP_OK ? 0 : -1;
}

static void step_after(int64_t ms)
{
	b->now_ms += ms;
	step();
}

/* -- getting there -------------------------------------------------------- */

static void connect(void)
{
	step();
	CHECK_STATE("connecting");
	b->source.view.state = WP_SOURCE_READY;
	step();
}

static void reconnect(void)
{
	CHECK_STATE("backing_off");
	live(12 * 1000); /* the longest backoff */
	CHECK_STATE("connecting");
	b->source.view.state = WP_SOURCE_READY;
	step();
}

static void run_copy(void)
{
	CHECK_STATE("starting");
	b->source.view.state = WP_SOURCE_STREAMING;
	step();
	CHECK_STATE("streaming");
}

static void stream(void)
{
	connect();
	run_copy();
	b->sink.purges = 0; /* a first start purges too, what is not there */
}

static void pause(void)
{
	b->sink.answer = WP_AGAIN;
}

/* -- what the server sends ------------------------------------------------ */

/* The transaction that commits at 200, up to its rows. */
static void send_begin_rows(void)
{
	send_begin(200);
	send_relation(OUTBOX, "outbox");
}

static void send_row(const char *id)
{
	send_row_of(OUTBOX, id, "k");
}

static void send_garbage(void)
{
	struct wire_writer w = scripted_source_frame(&b->source);

	wire_u8(&w, 'x');
	scripted_source_send(&b->source, &w);
}

static void confirm(wp_ticket ticket)
{
	scripted_sink_confirm(&b->sink, ticket);
	step();
}

static void refuse(wp_ticket ticket, enum wp_reaction reaction, bool event_level)
{
	scripted_sink_refuse(&b->sink, ticket, reaction, event_level, "SOME_ERROR");
	step();
}

static wp_ticket last_ticket(void)
{
	return scripted_sink_last(&b->sink)->ticket;
}

/* Streaming, and event "1" is in flight; its transaction ends at 208. */
static void stream_one(void)
{
	stream();
	one_event(200, "1");
}

static void lose_server(void)
{
	scripted_source_fail(&b->source, WP_REACT_RECONNECT, "");
	step();
}

/* From rewinding to streaming again; the slot stands where we left it. */
static void rewind_through(void)
{
	b->sink.view.in_flight = 0;
	if (b->snapshot.state == WP_REWINDING)
		step();
	CHECK_STATE("rebuilding");
	b->sink.view.state = WP_SINK_READY;
	step();
	b->source.view.facts.slot_confirmed = b->snapshot.confirmed_lsn;
	reconnect();
	run_copy();
}

/* -- the first stream ----------------------------------------------------- */

static void a_new_relay_wants_its_first_step_at_once(void **state)
{
	CHECK(wp_relay_due(b->relay) <= b->now_ms);
	step();
	CHECK_EQ(b->source.connects, 1);
	CHECK_EQ(b->step, WP_STEP_WAIT);
}

static void a_first_start_streams_from_the_slot_and_claims_it(void **state)
{
	stream();
	CHECK_EQ(b->source.starts, 1);
	CHECK_EQ(b->source.start_at, SLOT);
	CHECK_EQ(b->source.slot_checkpoint, WP_SLOT_CHECKPOINT_WRITE);
	CHECK_EQ(b->snapshot.confirmed_lsn, SLOT);
	CHECK(noted("streaming"));
}

static void connecting_is_given_up_after_a_minute(void **state)
{
	step();
	live(60 * 1000 - 1);
	CHECK_STATE("connecting");
	live(1);
	CHECK_STATE("backing_off");
	CHECK_EQ(b->source.closes, 1);
}

static void starting_is_given_up_after_a_minute(void **state)
{
	connect();
	live(60 * 1000);
	CHECK_STATE("backing_off");
}

/* -- the rule above all rules --------------------------------------------- */

static void flush_never_passes_an_event_that_was_not_confirmed(void **state)
{
	stream_one();
	live(30 * 1000);
	CHECK(b->source.statuses > 0);
	CHECK_EQ(b->source.status.flush, SLOT);
	CHECK_EQ(b->source.status.apply, SLOT);
	CHECK_EQ(b->source.status.write, 208);
	confirm(1);
	live(INTERVAL_MS);
	CHECK_EQ(b->source.status.flush, 208);
	CHECK(b->source.status.now_us > (b->now_ms - 1000) * 1000);
	CHECK(b->source.status.now_us <= b->now_ms * 1000);
}

static void confirmed_events_are_counted_once(void **state)
{
	stream_one();
	confirm(1);
	confirm(1);
	CHECK_EQ(b->snapshot.confirmed, 1);
	CHECK_EQ(b->snapshot.in_flight, 0);
}

static void the_snapshot_tells_how_it_stands(void **state)
{
	b->source.view.facts.server_lsn = SLOT;
	stream_one();
	send_keepalive(500, false);
	step();
	CHECK_EQ(b->snapshot.in_flight, 1);
	CHECK(b->snapshot.in_flight_bytes > 0);
	CHECK_EQ(b->snapshot.counts.events, 1);
	CHECK_EQ(b->snapshot.counts.transactions, 1);
	CHECK_EQ(b->snapshot.confirmed_lsn, SLOT);
	CHECK_EQ(b->snapshot.read, 500);
	CHECK_EQ(b->snapshot.server, 500);
	CHECK_EQ(b->snapshot.reconnects, 0);
	CHECK_EQ(b->snapshot.rewinds, 0);
	CHECK(b->snapshot.moves > 0);
}

static void a_ping_is_answered_in_the_same_turn_or_soon(void **state)
{
	stream();
	live(1000);
	unsigned before = b->source.statuses;
	send_keepalive(300, true);
	step();
	live(100);
	CHECK(b->source.statuses > before);
	CHECK_EQ(b->source.status.flush, 300);
}

static void a_long_backlog_is_taken_in_turns(void **state)
{
	stream();
	for (wp_lsn lsn = 1000; lsn < 3500; lsn++)
		send_keepalive(lsn, false);
	step();
	CHECK_EQ(b->step, WP_STEP_MORE);
	CHECK_EQ(b->snapshot.read, 2999);
	step();
	CHECK_EQ(b->step, WP_STEP_WAIT);
	CHECK_EQ(b->snapshot.read, 3499);
}

/* -- no room -------------------------------------------------------------- */

/* EVENTS_MAX events are in flight, one more waits. */
static void fill(void)
{
	stream();
	send_begin_rows();
	for (int i = 1; i <= EVENTS_MAX + 1; i++) {
		char id[8];
		(void)snprintf(id, sizeof(id), "%d", i);
		send_row(id);
	}
	send_commit(200);
	step();
	CHECK_STATE("paused");
	CHECK_EQ(b->sink.sent_count, EVENTS_MAX);
}

static void without_room_it_stops_reading(void **state)
{
	fill();
	CHECK(!b->source.reading);
	CHECK_EQ(b->snapshot.in_flight, EVENTS_MAX);
}

static void more_partitions_make_more_room_while_it_is_full(void **state)
{
	b->options.in_flight_bytes_max = 2 * b->options.in_flight_bytes;
	fill();
	b->sink.view.partitions = 511;
	step();
	CHECK_STATE("paused");
	CHECK_EQ(b->snapshot.in_flight_max, EVENTS_MAX);
	b->sink.view.partitions = 512;
	step();
	CHECK_STATE("streaming");
	CHECK_EQ(b->sink.sent_count, EVENTS_MAX + 1);
	CHECK_EQ(b->snapshot.in_flight_max, 2 * EVENTS_MAX);
	CHECK_EQ(b->snapshot.in_flight_bytes_max, b->options.in_flight_bytes_max);
	/* One that is gone takes none away: what is in flight would not fit. */
	b->sink.view.partitions = 1;
	for (wp_ticket t = 2; t <= EVENTS_MAX + 1; t++)
		confirm(t);
	CHECK_EQ(b->snapshot.in_flight_max, 2 * EVENTS_MAX);
	CHECK_EQ(b->snapshot.confirmed_lsn, SLOT);
	confirm(1);
	CHECK_EQ(b->snapshot.confirmed_lsn, 208);
}

static void with_room_again_it_goes_on_and_takes_each_event_once(void **state)
{
	fill();
	confirm(1);
	CHECK_EQ(b->sink.sent_count, EVENTS_MAX + 1);
	CHECK_TEXT(scripted_sink_last(&b->sink)->id, "5");
	CHECK_STATE("paused"); /* full again */
	for (wp_ticket t = 2; t <= EVENTS_MAX + 1; t++)
		confirm(t);
	CHECK_STATE("streaming");
	CHECK(b->source.reading);
	CHECK_EQ(b->snapshot.confirmed_lsn, 208);
	CHECK_EQ(b->sink.sent_count, EVENTS_MAX + 1);
}

static void while_paused_statuses_leave(void **state)
{
	fill();
	unsigned before = b->source.statuses;
	live(40 * 1000);
	CHECK_STATE("paused");
	CHECK(b->source.statuses >= before + 4); /* one every ten seconds */
}

static void while_paused_the_server_is_asked_on_the_side(void **state)
{
	fill();
	live(1999);
	CHECK_EQ(b->source.probes, 0);
	live(1000);
	CHECK_EQ(b->source.probes, 1);
	b->source.view.probe = WP_PROBE_ALIVE;
	step();
	CHECK_EQ(b->source.probes, 1);
	live(2400);
	CHECK_EQ(b->source.probes, 2);
	CHECK_STATE("paused");
}

static void a_stopping_server_is_let_go_and_left_alone_for_ten_seconds(void **state)
{
	fill();
	live(3000);
	b->source.view.probe = WP_PROBE_STOPPING;
	step();
	CHECK_STATE("backing_off");
	CHECK_EQ(b->source.closes, 1);
	live(9999);
	CHECK_EQ(b->source.connects, 1);
	live(2001); /* with up to two seconds of jitter */
	CHECK_EQ(b->source.connects, 2);
}

static void while_paused_an_unreachable_server_is_lost(void **state)
{
	fill();
	live(3000);
	b->source.view.probe = WP_PROBE_UNREACHABLE;
	step();
	CHECK_STATE("backing_off");
}

static void pings_without_progress_let_the_server_go(void **state)
{
	stream_one();
	for (int i = 0; i < 30 && b->snapshot.state == WP_STREAMING; i++) {
		send_keepalive(300, true);
		step_after(100);
	}
	CHECK_STATE("backing_off");
	live(9900);
	CHECK_EQ(b->source.connects, 1);
}

static void a_server_that_ends_the_copy_is_left_alone(void **state)
{
	stream();
	b->source.view.state = WP_SOURCE_FINISHED;
	step();
	CHECK_STATE("backing_off");
	live(9999);
	CHECK_EQ(b->source.connects, 1);
}

static void forty_silent_seconds_are_a_half_open_connection(void **state)
{
	stream();
	live(39 * 1000);
	CHECK_STATE("streaming");
	CHECK(!noted("half_open"));
	live(1100);
	CHECK_STATE("backing_off");
	CHECK(noted("half_open"));
}

static void what_came_before_a_standstill_is_not_sent_after_it(void **state)
{
	b->source.view.facts.wal_sender_timeout_ms = 2000;
	stream();
	send_begin_rows();
	send_row("1");
	step_after(2000);
	CHECK_STATE("backing_off");
	CHECK(noted("stood_still"));
	CHECK_EQ(b->sink.sent_count, 0);
}

/* As many as were sent and not reported: another relay may send them by now. */
static void what_waits_in_the_queue_is_purged_after_a_standstill(void **state)
{
	b->source.view.facts.wal_sender_timeout_ms = 2000;
	stream_one();
	step_after(2000);
	CHECK_STATE("backing_off");
	CHECK_EQ(b->sink.purges, 1);
	scripted_sink_purged(&b->sink, 1);
	step();
	reconnect();
	CHECK_EQ(b->source.start_at, SLOT);
}

static void a_suspended_machine_is_a_standstill_though_no_timer_was_late(void **state)
{
	b->source.view.facts.wal_sender_timeout_ms = 60 * 1000;
	stream_one();
	unsigned statuses = b->source.statuses;
	b->suspended_ms = 59 * 1000;
	step();
	CHECK_STATE("streaming");
	CHECK_EQ(b->source.statuses, statuses + 1); /* the server has counted that time */
	b->suspended_ms += 60 * 1000;
	step();
	CHECK(noted("stood_still"));
	CHECK_STATE("backing_off");
	CHECK_EQ(b->sink.purges, 1);
}

static void a_machine_suspended_without_a_stream_purges_what_waits_too(void **state)
{
	b->source.view.facts.wal_sender_timeout_ms = 2000;
	stream_one();
	scripted_source_fail(&b->source, WP_REACT_LET_GO, "");
	step();
	CHECK_STATE("backing_off");
	live(9 * 1000); /* longer than the server's patience, but nothing was due */
	CHECK(!noted("stood_still"));
	CHECK_EQ(b->sink.purges, 0);
	b->suspended_ms = 12 * 1000;
	step();
	CHECK(noted("stood_still"));
	CHECK_STATE("backing_off");
	CHECK_EQ(b->sink.purges, 1);
}

static void a_wall_clock_that_jumps_ahead_by_a_minute_is_a_paused_machine(void **state)
{
	b->source.view.facts.wal_sender_timeout_ms = 60 * 1000;
	stream_one();
	b->wall_ahead_ms = 60 * 1000;
	step();
	CHECK(!noted("stood_still"));
	b->wall_ahead_ms += 60 * 1000 + 1;
	step();
	CHECK(noted("stood_still"));
	CHECK_HAS(b->last.text, "wall clock");
	CHECK_STATE("backing_off");
	CHECK_EQ(b->sink.purges, 1);
}

static void a_wall_clock_that_is_set_back_changes_nothing(void **state)
{
	stream();
	b->wall_ahead_ms = -400 * 86400 * INT64_C(1000);
	step();
	CHECK(!noted("stood_still"));
	CHECK_STATE("streaming");
}

static void a_standstill_that_the_server_bears_with_changes_nothing(void **state)
{
	b->source.view.facts.wal_sender_timeout_ms = 2000;
	stream();
	step_after(1999);
	CHECK_STATE("streaming");
	b->source.view.facts.wal_sender_timeout_ms = 0;
	step_after(30 * 1000);
	CHECK(!noted("stood_still"));
}

static void a_long_pause_is_no_silence_of_the_server(void **state)
{
	stream();
	send_begin_rows();
	for (int i = 0; i < EVENTS_MAX; i++)
		send_row("1");
	step();
	CHECK_STATE("paused");
	live(60 * 1000);
	confirm(1);
	CHECK_STATE("streaming"); /* and nothing is there to read */
	live(14 * 1000);
	CHECK_STATE("streaming");
	CHECK(!noted("half_open"));
}

static void an_idle_stream_is_not_asked_about_on_the_side(void **state)
{
	stream();
	live(14 * 1000);
	CHECK_EQ(b->source.probes, 0);
}

static void a_keepalive_says_that_nothing_is_stuck_behind_it(void **state)
{
	fill();
	live(1500);
	for (wp_ticket t = 1; t <= EVENTS_MAX; t++)
		confirm(t);
	send_keepalive(300, false);
	step();
	for (int i = 0; i < 19; i++)
		step_after(100);
	CHECK_EQ(b->source.probes, 0);
}

/* The server has sent its log but for `left` bytes of what there was, and does not answer any more. */
static void stream_unanswered(wp_lsn left)
{
	stream_one();
	send_keepalive(b->snapshot.server - left, false);
	step();
	b->source.view.slot_state.unanswered = true;
	step_after(2500);
}

static void in_the_middle_of_a_backlog_a_server_that_does_not_answer_is_probed(void **state)
{
	stream_unanswered(1);
	CHECK_EQ(b->source.probes, 1);
	b->source.view.probe = WP_PROBE_ALIVE;
	step();
	CHECK_STATE("streaming");
	step_after(2500);
	CHECK_EQ(b->source.probes, 2);
	b->source.view.probe = WP_PROBE_STOPPING;
	step();
	CHECK_STATE("backing_off");
}

static void what_a_probe_said_of_an_earlier_stream_is_forgotten(void **state)
{
	b->source.view.probe = WP_PROBE_STOPPING;
	stream_one();
	CHECK_STATE("streaming");
}

static void at_its_end_the_server_tells_by_itself_that_it_stops(void **state)
{
	stream_unanswered(0);
	CHECK_EQ(b->source.probes, 0);
	b->source.view.probe = WP_PROBE_STOPPING;
	step();
	CHECK_STATE("streaming");
}

static void while_streaming_a_probe_without_answer_means_nothing(void **state)
{
	fill();
	live(3000);
	CHECK_EQ(b->source.probes, 1);
	for (wp_ticket t = 1; t <= EVENTS_MAX; t++)
		confirm(t);
	b->source.view.probe = WP_PROBE_UNREACHABLE;
	step();
	CHECK_STATE("streaming");
}

static void a_server_that_was_let_go_is_left_alone_through_a_rewind(void **state)
{
	stream_one();
	b->source.view.state = WP_SOURCE_FINISHED;
	step();
	CHECK_STATE("backing_off");
	refuse(1, WP_REACT_REWIND, false);
	CHECK_STATE("rebuilding");
	b->sink.view.state = WP_SINK_READY;
	step();
	live(9900);
	CHECK_EQ(b->source.connects, 1);
	live(2200);
	CHECK_EQ(b->source.connects, 2);
}

/* -- topics --------------------------------------------------------------- */

static void wait_for_a_topic(void)
{
	stream();
	b->sink.answer = WP_AGAIN;
	b->sink.view.state = WP_SINK_WAITING;
	b->sink.view.error = (struct wp_error){ .text = "topic outbox.event.order is missing" };
	(void)snprintf(b->sink.view.topic, sizeof(b->sink.view.topic), "outbox.event.order");
	one_event(200, "1");
	step();
	CHECK_STATE("paused");
	CHECK(noted("topic_waiting"));
}

static void a_missing_topic_is_waited_for_and_flows_on(void **state)
{
	wait_for_a_topic();
	live(100 * 1000);
	CHECK_STATE("paused");
	b->sink.answer = WP_OK;
	b->sink.view.state = WP_SINK_READY;
	step();
	CHECK_EQ(b->sink.sent_count, 1);
	confirm(1);
	CHECK(noted("topic_found"));
	CHECK_EQ(b->snapshot.confirmed_lsn, 208);
}

static void a_topic_that_does_not_come_stops_it_in_the_end(void **state)
{
	wait_for_a_topic();
	live(TOPIC_WAIT_MS - 1);
	CHECK(!noted("topic_missing"));
	live(1);
	CHECK(noted("topic_missing"));
	live(SHUTDOWN_MS);
	CHECK_EQ(b->step, WP_STEP_OVER);
	CHECK_HAS(b->error.text, "topic outbox.event.order is missing");
	CHECK_HAS(b->error.text, "with id 1 (position");
	CHECK_HAS(b->error.text, "walpost slot skip --to 0/");
	CHECK_EQ(wp_relay_exit_code(b->relay), 3);
}

/* As a sink does that took the event before it knew that there is no topic. */
static void find_the_topic_missing(void)
{
	b->sink.view.queued = 1;
	b->sink.view.state = WP_SINK_WAITING;
	b->sink.view.error = (struct wp_error){ .text = "topic outbox.event.order is missing" };
	(void)snprintf(b->sink.view.topic, sizeof(b->sink.view.topic), "outbox.event.order");
	b->sink.answer = WP_AGAIN;
	step();
}

static void an_event_taken_for_a_missing_topic_is_waited_for_and_flows_on(void **state)
{
	stream_one();
	find_the_topic_missing();
	CHECK_STATE("paused");
	CHECK(noted("topic_waiting"));
	live(100 * 1000);
	CHECK_STATE("paused");
	CHECK(!noted("sink_stalled"));
	b->sink.view.queued = 0;
	b->sink.view.state = WP_SINK_READY;
	b->sink.answer = WP_OK;
	step();
	CHECK_STATE("streaming");
	CHECK(b->snapshot.waiting);
	confirm(1);
	CHECK(noted("topic_found"));
	CHECK_EQ(b->snapshot.confirmed_lsn, 208);
}

static void the_event_that_is_named_is_the_one_that_waits_in_the_sink(void **state)
{
	struct wp_record waiting = {
		.topic = wp_span_of("outbox.event.order"),
		.table = "public.outbox",
		.id = wp_span_of("the first\n"),
		.position = { .timeline = 1, .commit_lsn = 0x2000 },
	};

	stream_one();
	one_event(300, "2");
	b->sink.view.waiting = &waiting;
	find_the_topic_missing();
	live(TOPIC_WAIT_MS + SHUTDOWN_MS);
	CHECK(noted("topic_missing"));
	CHECK_HAS(b->error.text, "the event of table public.outbox with id the first? (position");
	CHECK_HAS(b->error.text, "walpost slot skip --to 0/2001");
}

static void a_stop_takes_back_what_waits_in_the_sink_and_ends_at_once(void **state)
{
	stream();
	send_begin_rows();
	send_row_of(OUTBOX, "1", "k");
	step(); /* in the middle of its transaction */
	CHECK_EQ(b->sink.sent_count, 1);
	find_the_topic_missing();
	unsigned purges = b->sink.purges;
	wp_relay_stop(b->relay, now());
	step();
	CHECK_EQ(b->sink.purges, purges + 1);
	CHECK_STATE("finishing");
	CHECK(b->snapshot.confirmed_lsn < 200);
}

static void a_stop_waits_for_what_is_with_kafka_only(void **state)
{
	stream_one();
	one_event(300, "2");
	find_the_topic_missing(); /* of the second */
	unsigned purges = b->sink.purges;
	wp_relay_stop(b->relay, now());
	step();
	CHECK_STATE("draining");
	CHECK_EQ(b->sink.purges, purges);
	confirm(1);
	CHECK_STATE("finishing");
	CHECK_EQ(b->sink.purges, purges + 1);
	CHECK_EQ(b->snapshot.confirmed_lsn, 208);
}

static void wait_for_a_right(void)
{
	stream();
	b->sink.answer = WP_AGAIN;
	b->sink.view.state = WP_SINK_WAITING;
	b->sink.view.error = (struct wp_error){ .text = "allow IDEMPOTENT_WRITE on the cluster" };
	one_event(200, "1");
	step();
	CHECK_STATE("paused");
	CHECK(noted("W:permission_waiting"));
	CHECK_HAS(b->last.text, "IDEMPOTENT_WRITE");
	CHECK(b->snapshot.waiting);
	CHECK_TEXT(b->snapshot.waiting_topic, "");
}

static void a_right_that_was_taken_away_is_waited_for_as_a_topic_is(void **state)
{
	wait_for_a_right();
	b->events[0] = '\0';
	live(61 * 1000);
	CHECK(noted("permission_waiting"));
	/* Tried, and nobody knows yet. */
	b->sink.answer = WP_OK;
	b->sink.view.state = WP_SINK_READY;
	step();
	CHECK(b->snapshot.waiting);
	confirm(1);
	CHECK(noted("I:permission_granted"));
	CHECK(!b->snapshot.waiting);
}

static void a_right_that_is_not_given_back_stops_it_in_the_end(void **state)
{
	wait_for_a_right();
	live(TOPIC_WAIT_MS);
	CHECK(noted("permission_missing"));
	live(SHUTDOWN_MS);
	CHECK_EQ(b->step, WP_STEP_OVER);
	CHECK_HAS(b->error.text,
		  "allow IDEMPOTENT_WRITE on the cluster. The wait exceeded relay.topic.wait");
	CHECK_EQ(wp_relay_exit_code(b->relay), 3);
}

static void each_missing_topic_is_given_its_own_time(void **state)
{
	wait_for_a_topic();
	live(TOPIC_WAIT_MS - 1000);
	snprintf(b->sink.view.topic, sizeof(b->sink.view.topic), "another");
	b->events[0] = '\0';
	step();
	CHECK(noted("topic_waiting"));
	live(TOPIC_WAIT_MS - 1);
	CHECK(!noted("topic_missing"));
	live(1);
	CHECK(noted("topic_missing"));
}

static void while_kafka_is_away_no_topic_is_called_missing(void **state)
{
	wait_for_a_topic();
	b->sink.view.reachable = false;
	live(3 * TOPIC_WAIT_MS);
	CHECK(!noted("topic_missing"));
	b->sink.view.reachable = true;
	step();
	live(TOPIC_WAIT_MS);
	CHECK(noted("topic_missing"));
}

static void a_waiting_topic_is_told_once_a_minute(void **state)
{
	wait_for_a_topic();
	b->events[0] = '\0';
	live(59 * 1000);
	CHECK(!noted("topic_waiting"));
	live(2000);
	CHECK(noted("topic_waiting"));
}

/* Of a server that speaks. */
static void live_on(int64_t ms)
{
	for (; ms > 10 * 1000; ms -= 10 * 1000) {
		live(10 * 1000);
		send_keepalive(b->snapshot.read, false);
		step();
	}
	live(ms);
}

static void a_kafka_that_answers_and_confirms_nothing_is_told_each_minute(void **state)
{
	stream_one();
	live_on(59 * 1000);
	CHECK(!noted("sink_stalled"));
	live_on(1000);
	CHECK(noted("W:sink_stalled"));
	CHECK_HAS(b->last.text, "none of 1 events in flight for 60 s");
	CHECK_HAS(b->last.text, "min.insync.replicas");
	CHECK_HAS(b->last.text, "from 0/64 on");
	b->events[0] = '\0';
	live_on(59 * 1000);
	CHECK(!noted("sink_stalled"));
	live_on(1000);
	CHECK(noted("sink_stalled"));
	CHECK_HAS(b->last.text, "for 120 s");
	b->events[0] = '\0';
	confirm(1);
	CHECK(noted("I:sink_confirms"));
	live_on(300 * 1000);
	CHECK(!noted("sink_stalled"));
}

static void what_goes_on_slowly_or_is_told_otherwise_is_no_stall(void **state)
{
	stream_one();
	one_event(300, "2");
	live_on(40 * 1000);
	confirm(1);
	live_on(40 * 1000);
	b->sink.view.reachable = false;
	b->sink.view.error = (struct wp_error){ .text = "all brokers are down" };
	live_on(300 * 1000);
	step();
	b->sink.view.reachable = true;
	b->sink.view.throttled = true;
	live_on(300 * 1000);
	CHECK(!noted("sink_stalled"));
	step();
	b->sink.view.throttled = false;
	live_on(59 * 1000);
	CHECK(!noted("sink_stalled"));
	live_on(1000);
	CHECK(noted("sink_stalled"));
}

static void lose_the_sink(void)
{
	b->sink.view.reachable = false;
	b->sink.view.error = (struct wp_error){ .text = "all brokers are down" };
}

static void an_unreachable_sink_is_told_each_minute_with_what_waits(void **state)
{
	stream_one();
	lose_the_sink();
	step();
	CHECK(noted("W:sink_unreachable"));
	CHECK_TEXT(b->last.text, "all brokers are down");
	b->events[0] = '\0';
	live_on(59 * 1000);
	CHECK(!noted("sink_unreachable"));
	send_keepalive(500, false);
	step();
	live_on(1000);
	CHECK(noted("W:sink_unreachable"));
	CHECK_HAS(b->last.text, "all brokers are down; unreachable for 60 s; 1 events in flight");
	CHECK_HAS(b->last.text, "confirmed LSN 0/64, received LSN 0/1F4");
	b->events[0] = '\0';
	b->sink.view.reachable = true;
	step();
	CHECK(noted("I:sink_reachable"));
	live_on(120 * 1000);
	CHECK(!noted("sink_unreachable"));
}

static void an_event_that_was_never_sent_waits_too(void **state)
{
	b->sink.view.state = WP_SINK_STARTING;
	lose_the_sink();
	pause();
	stream_one();
	CHECK_STATE("paused");
	CHECK_EQ(b->snapshot.in_flight, 0);
	CHECK(b->snapshot.oldest.any);
	live(60 * 1000);
	CHECK_EQ(b->snapshot.oldest.waiting_ms, 60 * 1000);
	CHECK(noted("sink_unreachable"));
	CHECK_HAS(b->last.text, "an event has been waiting for 60 s to be sent");
	/* The stream begins anew, and it is the same event. */
	lose_server();
	CHECK_EQ(b->snapshot.oldest.waiting_ms, 0);
	reconnect();
	run_copy();
	one_event(200, "1");
	CHECK(b->snapshot.oldest.waiting_ms > 60 * 1000);
	b->sink.answer = WP_OK;
	b->sink.view.state = WP_SINK_READY;
	b->sink.view.reachable = true;
	step();
	CHECK_EQ(b->snapshot.in_flight, 1);
	CHECK_EQ(b->snapshot.oldest.waiting_ms, 0);
}

static void the_snapshot_tells_whether_the_sink_was_ever_reached(void **state)
{
	lose_the_sink();
	stream();
	CHECK(!b->snapshot.sink_reached);
	b->sink.view.reachable = true;
	step();
	CHECK(b->snapshot.sink_reached);
	b->sink.view.reachable = false;
	step();
	CHECK(b->snapshot.sink_reached);
	CHECK(!b->snapshot.sink_reachable);
}

/* -- partitions ----------------------------------------------------------- */

static void send_unknown_row(void)
{
	stream();
	send_begin(200);
	send_relation(OTHER, "outbox_p1");
	send_row_of(OTHER, "1", "k");
	send_commit(200);
	step();
	CHECK_STATE("paused");
	CHECK_EQ(b->source.questions, 1);
}

static void answer(const char *partitions, unsigned xid)
{
	know_partitions(&b->source.view.partitions, partitions, xid);
	b->source.view.partitions_asked = WP_ASKED_ANSWERED;
	step();
}

static void a_row_that_may_be_of_a_partition_waits_for_the_answer(void **state)
{
	send_unknown_row();
	live(5000);
	CHECK_EQ(b->source.questions, 1);
	answer("16500 0", WIRE_XID + 1);
	CHECK_STATE("streaming");
	CHECK_EQ(b->sink.sent_count, 1);
}

static void build_ignoring(const char *tables)
{
	wp_relay_free(b->relay);
	b->outboxes.ignore = tables;
	CHECK_EQ(build(), WP_OK);
}

static void answer_that_it_stands_alone(void)
{
	answer("", WIRE_XID + 1);
	CHECK_STATE("streaming");
}

static void ignored_rows_and_no_event_for_a_minute_are_told_once(void **state)
{
	build_ignoring("public.outbox_p1");
	send_unknown_row();
	answer_that_it_stands_alone();
	live_on(59 * 1000);
	CHECK(!noted("only_ignored_rows"));
	live_on(1000);
	CHECK(noted("W:only_ignored_rows"));
	CHECK_HAS(b->last.text, "1 rows of tables in outbox.ignore");
	CHECK_HAS(b->last.text, "public.outbox");
	b->events[0] = '\0';
	live_on(600 * 1000);
	CHECK(!noted("only_ignored_rows"));
}

static void ignored_rows_beside_an_event_are_as_they_should_be(void **state)
{
	build_ignoring("public.outbox_p1");
	send_unknown_row();
	answer_that_it_stands_alone();
	one_event(300, "1");
	confirm(1);
	live_on(600 * 1000);
	CHECK(!noted("only_ignored_rows"));
}

static void rows_of_walposts_own_tables_tell_nothing(void **state)
{
	static const struct wire_column columns[] = { { "slot", TEXT_OID }, { "owner", TEXT_OID } };

	stream();
	send_begin(200);
	struct wire_writer w = scripted_source_frame(&b->source);
	wire_relation(&w, OTHER, "walpost", "slot_checkpoint", columns, 2);
	scripted_source_send(&b->source, &w);
	send_row_of(OTHER, "1", "k");
	send_commit(200);
	step();
	live_on(600 * 1000);
	CHECK(!noted("only_ignored_rows"));
}

static void what_was_known_before_the_stream_is_not_asked(void **state)
{
	know_partitions(&b->source.view.partitions, "16500 0", WIRE_XID + 1);
	stream();
	send_begin(200);
	send_relation(OTHER, "outbox_p1");
	send_row_of(OTHER, "1", "k");
	send_commit(200);
	step();
	CHECK_STATE("streaming");
	CHECK_EQ(b->source.questions, 0);
	CHECK_EQ(b->sink.sent_count, 1);
}

static void a_failed_question_about_partitions_is_repeated_each_second(void **state)
{
	send_unknown_row();
	b->source.view.partitions_asked = WP_ASKED_FAILED;
	step();
	CHECK(noted("partitions_unknown"));
	live(999);
	CHECK_EQ(b->source.questions, 1);
	live(1);
	CHECK_EQ(b->source.questions, 2);
}

/* Committed, but waiting for a synchronous standby: not visible to the question. */
static void a_transaction_that_is_not_visible_yet_is_asked_about_ever_more_seldom(void **state)
{
	send_unknown_row();
	answer("", WIRE_XID);
	CHECK_STATE("paused");
	CHECK_EQ(b->source.questions, 1);
	for (int64_t wait_ms = 40; wait_ms < 1000; wait_ms *= 2) {
		unsigned before = b->source.questions;
		live(wait_ms - 1);
		CHECK_EQ(b->source.questions, before);
		live(1);
		CHECK_EQ(b->source.questions, before + 1);
		answer("", WIRE_XID);
	}
	live(1000);
	answer("16500 0", WIRE_XID + 1);
	CHECK_STATE("streaming");
	CHECK_EQ(b->sink.sent_count, 1);
}

static void questions_about_partitions_keep_a_distance(void **state)
{
	send_unknown_row();
	answer("16500 0", WIRE_XID + 1);
	send_begin_as(300, WIRE_XID + 1);
	send_relation(OTHER + 1, "outbox_p2");
	send_row_of(OTHER + 1, "2", "k");
	send_commit(300);
	step();
	CHECK_STATE("paused");
	CHECK_EQ(b->source.questions, 1);
	live(19);
	CHECK_EQ(b->source.questions, 1);
	live(1);
	CHECK_EQ(b->source.questions, 2);
	answer("16500 0,16501 0", WIRE_XID + 2);
	CHECK_EQ(b->sink.sent_count, 2);
}

static void a_standby_waits_for_no_topic(void **state)
{
	stream();
	b->sink.view.state = WP_SINK_WAITING;
	pause();
	one_event(200, "1");
	CHECK_STATE("paused");
	lose_server();
	b->source.view.facts.slot_active = true;
	live(12 * 1000);
	CHECK_STATE("connecting");
	b->source.view.state = WP_SOURCE_READY;
	step();
	CHECK_STATE("standby");
	for (int64_t ms = 0; ms < 2 * TOPIC_WAIT_MS; ms += 1000) {
		b->source.view.state = WP_SOURCE_READY;
		live(1000);
	}
	CHECK_STATE("standby");
	CHECK(!noted("topic_missing"));
}

static void a_table_nobody_configured_stops_it(void **state)
{
	send_unknown_row();
	answer("", WIRE_XID + 1);
	live(SHUTDOWN_MS);
	CHECK_OVER(3);
	CHECK_HAS(b->error.text, "public.outbox_p1");
}

/* -- a connection that has grown ------------------------------------------ */

enum { HUGE = 8 * 1024 * 1024 };

/* A message of others, after which nothing is in flight. */
static void send_frame_of(size_t size)
{
	static uint8_t room[HUGE + 100];
	static char content[HUGE + 1];
	struct wire_writer w;

	wire_init(&w, room, sizeof(room));
	wire_data(&w, 0);
	wire_message(&w, false, 150, "other", "");
	memset(content, 'x', HUGE);
	content[size - w.size] = '\0';
	wire_init(&w, room, sizeof(room));
	wire_data(&w, 0);
	wire_message(&w, false, 150, "other", content);
	CHECK_EQ(w.size, size);
	b->source.huge = wire_span(&w);
	step();
}

static void after_a_huge_row_the_stream_has_a_new_connection_once_it_is_quiet(void **state)
{
	stream();
	send_frame_of(HUGE);
	one_event(200, "1");
	live_on(60 * 1000);
	CHECK(!noted("stream_renewed")); /* in flight */
	confirm(1);
	step();
	CHECK(noted("I:stream_renewed"));
	CHECK_STATE("connecting");
	CHECK_EQ(b->source.status.flush, 208);
	b->source.view.state = WP_SOURCE_READY;
	b->source.view.facts.slot_confirmed = 208;
	step();
	CHECK_EQ(b->source.start_at, 208);
	b->source.view.state = WP_SOURCE_STREAMING;
	step();
	CHECK_STATE("streaming");
	CHECK_EQ(b->snapshot.reconnects, 0);
	CHECK_EQ(b->snapshot.renewals, 1);
	live_on(600 * 1000);
	CHECK_EQ(b->snapshot.renewals, 1);
}

static void events_put_a_new_connection_off(void **state)
{
	stream();
	send_frame_of(HUGE);
	for (unsigned i = 0; i < 10; i++) {
		live(4000);
		one_event(200 + 100 * i, "1");
		confirm(i + 1);
	}
	live(4999);
	CHECK(!noted("stream_renewed"));
	live(1);
	CHECK(noted("stream_renewed"));
}

static void a_smaller_row_is_no_reason_for_a_new_connection(void **state)
{
	stream();
	send_frame_of(HUGE - 1);
	live_on(60 * 1000);
	CHECK(!noted("stream_renewed"));
	CHECK_STATE("streaming");
}

static void stream_anew(void)
{
	CHECK_STATE("connecting");
	b->source.view.state = WP_SOURCE_READY;
	step();
	b->source.view.state = WP_SOURCE_STREAMING;
	step();
	CHECK_STATE("streaming");
}

/* Of others, say, whose rows are ignored. */
static void huge_rows_that_come_often_have_a_new_connection_once_a_minute(void **state)
{
	stream();
	send_frame_of(HUGE);
	live(5000);
	CHECK_EQ(b->snapshot.renewals, 1);
	stream_anew();
	send_frame_of(HUGE);
	live_on(59 * 1000);
	CHECK_EQ(b->snapshot.renewals, 1);
	live(1000);
	CHECK_EQ(b->snapshot.renewals, 2);
	stream_anew();
}

/* A long transaction holds restart_lsn back: the server would decode all the log from there. */
static void a_stream_that_would_begin_far_back_keeps_its_connection(void **state)
{
	const int64_t much = 512 * 1024 * 1024;

	stream();
	b->source.view.slot_state.retained = much + 1;
	send_frame_of(HUGE);
	live_on(600 * 1000);
	CHECK_STATE("streaming");
	CHECK(!noted("stream_renewed"));
	b->source.view.slot_state.retained = much;
	step();
	CHECK(noted("stream_renewed"));
}

/* -- the publication of walpost.reissue, which came later ------------------ */

static void once_it_is_there_a_new_stream_begins_where_all_is_confirmed(void **state)
{
	stream();
	one_event(200, "1");
	b->source.view.reissue_from = 300; /* it was seen when the log ended there */
	live(1000);
	CHECK_STATE("streaming");
	confirm(1);
	step();
	CHECK_STATE("streaming"); /* what comes before is to come by this stream */
	one_event(400, "2");
	one_event(500, "3");
	confirm(2);
	step();
	CHECK_STATE("paused"); /* until the third is confirmed */
	CHECK(!noted("reissue_found"));
	confirm(3);
	step();
	CHECK(noted("I:reissue_found"));
	CHECK_EQ(b->source.status.flush, 508); /* said before it closed */
	b->source.view.facts.slot_confirmed = 508;
	b->source.view.reissue_from = 0;
	stream_anew();
	CHECK_EQ(b->source.start_at, 508);
	CHECK_EQ(b->snapshot.reconnects, 0);
	live_on(60 * 1000);
	CHECK_STATE("streaming");
}

static void for_it_no_transaction_is_torn(void **state)
{
	stream();
	send_begin(200);
	send_relation(OUTBOX, "outbox");
	send_row_of(OUTBOX, "1", "k");
	step();
	b->source.view.reissue_from = SLOT;
	confirm(1);
	step();
	CHECK_STATE("streaming");
	send_commit(200);
	step();
	CHECK(noted("reissue_found"));
	b->source.view.reissue_from = 0;
	stream_anew();
	CHECK_EQ(b->source.start_at, 208);
}

static void a_topic_that_is_waited_for_keeps_the_stream_that_there_is(void **state)
{
	stream();
	b->sink.view.state = WP_SINK_WAITING;
	b->source.view.reissue_from = SLOT;
	live(1000);
	CHECK(!noted("reissue_found"));
	b->sink.view.state = WP_SINK_READY;
	step();
	CHECK(noted("reissue_found"));
}

static void where_it_did_not_exist_the_stream_begins_again_without_it(void **state)
{
	stream();
	one_event(200, "1");
	confirm(1);
	b->source.view.failure = (struct wp_source_failure){
		.reaction = WP_REACT_RECONNECT,
		.reissue_missing = true,
		.error.text = "walpost_reissue",
	};
	b->source.view.state = WP_SOURCE_FAILED;
	step();
	CHECK(noted("I:stream_broken"));
	CHECK(!noted("W:stream_broken"));
}

static void a_standby_that_takes_the_slot_meanwhile_has_it(void **state)
{
	stream();
	send_frame_of(HUGE);
	live(5000);
	CHECK_STATE("connecting");
	b->source.view.state = WP_SOURCE_READY;
	b->source.view.facts.slot_active = true;
	step();
	CHECK_STATE("standby");
}

/* -- refused events ------------------------------------------------------- */

static void a_refused_event_makes_it_stream_again_from_safe(void **state)
{
	stream_one();
	one_event(300, "2");
	confirm(1);
	refuse(2, WP_REACT_REWIND, false);
	CHECK_EQ(b->source.closes, 1);
	CHECK_EQ(b->sink.purges, 1);
	CHECK_EQ(b->snapshot.rewinds, 1);
	rewind_through();
	CHECK_EQ(b->sink.restarts, 1);
	CHECK_EQ(b->sink.batching, WP_BATCHING_NORMAL);
	CHECK_EQ(b->source.start_at, 208);
	CHECK_EQ(b->snapshot.in_flight, 0);
	one_event(300, "2");
	CHECK_EQ(scripted_sink_last(&b->sink)->ticket, 3);
}

static void what_is_in_flight_comes_to_rest_before_the_sink_begins_anew(void **state)
{
	stream_one();
	one_event(300, "2");
	refuse(1, WP_REACT_REWIND, false);
	CHECK_EQ(b->sink.view.in_flight, 1);
	live(9000);
	CHECK_STATE("rewinding");
	CHECK_EQ(b->sink.restarts, 0);
	confirm(2);
	CHECK_STATE("rebuilding");
	CHECK_EQ(b->sink.restarts, 1);
}

static void what_does_not_come_to_rest_in_ten_seconds_is_given_up(void **state)
{
	stream_one();
	one_event(300, "2");
	refuse(1, WP_REACT_REWIND, false);
	live(9999);
	CHECK_STATE("rewinding");
	live(1);
	CHECK_STATE("rebuilding");
}

static void a_purged_event_settles_nothing_and_is_streamed_again(void **state)
{
	stream_one();
	one_event(300, "2");
	refuse(1, WP_REACT_REWIND, false);
	scripted_sink_purged(&b->sink, 2);
	step();
	rewind_through();
	CHECK_EQ(b->source.start_at, SLOT);
	CHECK_EQ(b->snapshot.confirmed_lsn, SLOT);
}

static void a_broken_sink_is_rewound_too(void **state)
{
	stream_one();
	b->sink.view.state = WP_SINK_BROKEN;
	step();
	CHECK(noted("sink_broken"));
	rewind_through();
	CHECK_EQ(b->source.start_at, SLOT);
}

static void a_send_that_breaks_is_rewound(void **state)
{
	stream();
	b->sink.answer = WP_IO;
	one_event(200, "1");
	CHECK_EQ(b->snapshot.rewinds, 1);
	b->sink.answer = WP_OK;
	rewind_through();
	CHECK_EQ(b->source.start_at, SLOT);
}

static void the_same_refusal_three_times_at_one_place_stops_it(void **state)
{
	stream();
	for (int i = 0; i < 2; i++) {
		one_event(200, "1");
		refuse(last_ticket(), WP_REACT_REWIND, false);
		rewind_through();
	}
	one_event(200, "1");
	refuse(last_ticket(), WP_REACT_REWIND, false);
	live(SHUTDOWN_MS);
	CHECK_OVER(3);
	CHECK(noted("sink_refuses")); /* the last try was one by one: it has a name */
	CHECK_HAS(b->error.text, "id 1 ");
	CHECK_HAS(b->error.text, "3 times in a row with SOME_ERROR");
	CHECK_HAS(b->error.text, "walpost slot skip --to 0/C9 lists");
}

static void with_a_limit_of_one_the_first_refusal_stops_it(void **state)
{
	b->options.rewinds_max = 1;
	stream_one();
	refuse(last_ticket(), WP_REACT_REWIND, false);
	CHECK(noted("sink_refuses"));
	CHECK_HAS(b->error.text, "1 times in a row with SOME_ERROR");
}

static void with_a_higher_limit_it_tries_more_often(void **state)
{
	b->options.rewinds_max = 5;
	stream();
	for (int i = 0; i < 4; i++) {
		one_event(200, "1");
		refuse(last_ticket(), WP_REACT_REWIND, false);
		rewind_through();
	}
	CHECK_EQ(wp_relay_exit_code(b->relay), 0);
	one_event(200, "1");
	refuse(last_ticket(), WP_REACT_REWIND, false);
	CHECK_EQ(wp_relay_exit_code(b->relay), 3);
}

static void progress_between_refusals_starts_the_count_again(void **state)
{
	stream();
	for (wp_lsn lsn = 200; lsn < 900; lsn += 100) {
		one_event(lsn, "1");
		confirm(last_ticket());
		one_event(lsn + 50, "2");
		refuse(last_ticket(), WP_REACT_REWIND, false);
		rewind_through();
	}
	CHECK(!noted("sink_refuses"));
}

static void a_sink_that_begins_anew_and_waits_for_a_topic_is_good_enough(void **state)
{
	stream_one();
	refuse(1, WP_REACT_WAIT_TOPIC, false);
	CHECK_STATE("rebuilding");
	b->sink.view.state = WP_SINK_WAITING;
	step();
	CHECK_STATE("backing_off");
}

static void a_second_refusal_on_the_way_to_rest_is_the_same_trouble(void **state)
{
	stream();
	for (int i = 0; i < 3; i++)
		one_event(200 + 100 * (wp_lsn)i, "1");
	for (wp_ticket t = 1; t <= 3; t++)
		refuse(t, WP_REACT_REWIND, false);
	CHECK(!noted("sink_refuses"));
	CHECK_EQ(b->snapshot.rewinds, 1);
}

static void the_sinks_own_time_is_kept(void **state)
{
	stream();
	b->sink.due_ms = b->now_ms + 7;
	step();
	CHECK_EQ(wp_relay_due(b->relay), b->now_ms + 7);
}

static int64_t wait_after_refusal(void)
{
	refuse(last_ticket(), WP_REACT_REWIND, false);
	CHECK_STATE("rebuilding");
	b->sink.view.state = WP_SINK_READY;
	step();
	int64_t wait_ms = wp_relay_due(b->relay) - b->now_ms;
	b->source.view.facts.slot_confirmed = b->snapshot.confirmed_lsn;
	reconnect();
	run_copy();
	return wait_ms;
}

static void a_confirmation_makes_the_next_rewind_quick_again(void **state)
{
	stream_one();
	CHECK(wait_after_refusal() <= 100);
	one_event(200, "1");
	CHECK(wait_after_refusal() >= 100);
	one_event(200, "1");
	confirm(last_ticket());
	one_event(300, "2");
	CHECK(wait_after_refusal() <= 100);
}

static void a_sink_that_failed_stops_it_with_its_exit_code(void **state)
{
	stream();
	b->sink.view.state = WP_SINK_FAILED;
	b->sink.view.reaction = WP_REACT_STOP_CONFIG;
	b->sink.view.error = (struct wp_error){ .text = "wrong password" };
	step();
	live(SHUTDOWN_MS);
	CHECK_OVER(2);
	CHECK_TEXT(b->error.text, "wrong password");
}

static void the_first_error_is_told_once_and_gives_the_exit_code(void **state)
{
	stream_one();
	b->sink.view.state = WP_SINK_FAILED;
	b->sink.view.reaction = WP_REACT_STOP_CONFIG;
	step();
	CHECK(noted("sink_failed"));
	b->events[0] = '\0';
	b->sink.view.reaction = WP_REACT_STOP_HUMAN;
	step();
	CHECK(!noted("sink_failed"));
	CHECK_EQ(wp_relay_exit_code(b->relay), 2);
}

static void a_sink_that_failed_is_not_waited_for(void **state)
{
	stream_one();
	b->sink.view.state = WP_SINK_FAILED;
	b->sink.view.reaction = WP_REACT_STOP_HUMAN;
	step();
	CHECK_STATE("finishing");
	CHECK_EQ(b->source.status.flush, SLOT);
}

static void a_sink_that_fails_while_it_stops_ends_the_draining(void **state)
{
	stream_one();
	wp_relay_stop(b->relay, now());
	step();
	CHECK_STATE("draining");
	b->sink.view.state = WP_SINK_FAILED;
	b->sink.view.reaction = WP_REACT_STOP_HUMAN;
	step();
	CHECK_STATE("finishing");
	step();
	CHECK(noted("sink_failed"));
	CHECK_EQ(b->source.status.flush, SLOT);
	CHECK_EQ(wp_relay_exit_code(b->relay), 0);
}

static void a_sink_that_needs_a_human_stops_it_with_three(void **state)
{
	stream();
	b->sink.view.state = WP_SINK_FAILED;
	b->sink.view.reaction = WP_REACT_STOP_HUMAN;
	step();
	live(SHUTDOWN_MS);
	CHECK_EQ(wp_relay_exit_code(b->relay), 3);
}

static void an_old_client_that_never_ends_calls_for_another_process(void **state)
{
	stream_one();
	refuse(1, WP_REACT_REWIND, false);
	live(10 * 1000);
	CHECK_STATE("rebuilding");
	b->sink.view.state = WP_SINK_STARTING;
	live(60 * 1000);
	CHECK_EQ(b->step, WP_STEP_OVER);
	CHECK(noted("sink_stuck"));
	CHECK_EQ(wp_relay_exit_code(b->relay), 1);
}

/* -- poison --------------------------------------------------------------- */

static void isolate(void)
{
	stream_one();
	one_event(300, "2");
	refuse(1, WP_REACT_ISOLATE, true);
	refuse(2, WP_REACT_ISOLATE, true);
	rewind_through();
	CHECK_EQ(b->sink.batching, WP_BATCHING_ONE_BY_ONE);
}

static void an_event_level_error_isolates_one_event_at_a_time(void **state)
{
	isolate();
	one_event(200, "1");
	one_event(300, "2");
	CHECK_EQ(b->snapshot.in_flight, 1);
	CHECK_STATE("paused");
	confirm(last_ticket());
	step();
	CHECK_EQ(b->snapshot.in_flight, 1);
	CHECK_TEXT(scripted_sink_last(&b->sink)->id, "2");
}

static void the_one_that_is_refused_alone_is_named_and_stops_it(void **state)
{
	isolate();
	one_event(200, "1");
	confirm(last_ticket());
	one_event(300, "guilty");
	refuse(last_ticket(), WP_REACT_ISOLATE, true);
	live(SHUTDOWN_MS);
	CHECK_OVER(3);
	CHECK_HAS(b->error.text, "id guilty ");
	CHECK_HAS(b->error.text, "public.outbox");
	CHECK_HAS(b->error.text, "SOME_ERROR");
	CHECK_HAS(b->error.text, "walpost slot skip --to 0/12D lists");
	CHECK_EQ(b->snapshot.confirmed_lsn, 208);
}

/* librdkafka tells the fatal error first, then whom it hit. */
static void a_sink_broken_by_the_one_alone_is_heard_out(void **state)
{
	isolate();
	one_event(200, "guilty");
	b->sink.view.state = WP_SINK_BROKEN;
	step();
	CHECK_STATE("paused");
	step_after(1999);
	CHECK_STATE("paused");
	refuse(last_ticket(), WP_REACT_ISOLATE, true);
	CHECK_STATE("finishing");
	live(SHUTDOWN_MS);
	CHECK_EQ(wp_relay_exit_code(b->relay), 3);
	CHECK_HAS(b->error.text, "id guilty ");
	CHECK(!noted("sink_broken"));
}

static void a_broken_sink_that_names_nobody_is_left_after_two_seconds(void **state)
{
	isolate();
	one_event(200, "1");
	b->sink.view.state = WP_SINK_BROKEN;
	step();
	live(1999);
	CHECK_STATE("paused");
	live(1);
	CHECK_STATE("rewinding");
	CHECK(noted("sink_broken"));
	live(1999);
	CHECK_STATE("rewinding");
	live(1);
	CHECK_STATE("rebuilding");
}

static void the_one_alone_may_be_named_on_the_way_to_rest(void **state)
{
	isolate();
	one_event(200, "guilty");
	b->sink.view.state = WP_SINK_BROKEN;
	step();
	live(2000);
	CHECK_STATE("rewinding");
	refuse(last_ticket(), WP_REACT_ISOLATE, true);
	CHECK_OVER(3);
	CHECK_HAS(b->error.text, "id guilty ");
}

/* One message a batch, but four in flight: what was suspect is behind. */
static void two_refused_of_many_in_flight_make_no_third_guilty(void **state)
{
	stream();
	send_begin_rows();
	send_row("1");
	send_row("2");
	step();
	refuse(1, WP_REACT_ISOLATE, true);
	rewind_through();
	send_begin_rows();
	send_row("1");
	send_row("2");
	send_row("guilty");
	send_row("guilty too");
	send_row("innocent");
	step();
	confirm(last_ticket());
	confirm(last_ticket()); /* beyond what was suspect */
	step();
	CHECK_EQ(b->snapshot.in_flight, 3);
	wp_ticket last = last_ticket();
	scripted_sink_refuse(&b->sink, last - 2, WP_REACT_ISOLATE, true, "SOME_ERROR");
	scripted_sink_refuse(&b->sink, last - 1, WP_REACT_ISOLATE, true, "SOME_ERROR");
	step();
	CHECK(!noted("event_undeliverable"));
	CHECK_STATE("rewinding");
}

static void an_error_that_is_not_the_events_makes_none_guilty(void **state)
{
	isolate();
	one_event(200, "innocent");
	refuse(last_ticket(), WP_REACT_REWIND, false);
	CHECK(!noted("event_undeliverable"));
	rewind_through();
	CHECK_EQ(b->sink.batching, WP_BATCHING_ONE_BY_ONE);
}

static void without_a_guilty_one_batches_come_back(void **state)
{
	isolate();
	one_event(200, "1");
	confirm(last_ticket());
	one_event(300, "2");
	confirm(last_ticket());
	step();
	CHECK(noted("isolation_over"));
	rewind_through();
	CHECK_EQ(b->sink.batching, WP_BATCHING_NORMAL);
	CHECK_EQ(b->source.start_at, 308);
}

static void an_undeliverable_row_stops_it_and_is_named(void **state)
{
	stream();
	send_begin_rows();
	send_row_of(OUTBOX, "guilty", NULL);
	step();
	live(SHUTDOWN_MS);
	CHECK_OVER(3);
	CHECK(noted("event_undeliverable"));
	CHECK_HAS(b->error.text,
		  "with id guilty (position 0000-00000001-00000000000000C8-00000000, ");
	CHECK_HAS(b->error.text, "walpost slot skip --to 0/C9 lists");
	CHECK_EQ(b->source.status.flush, SLOT);
}

/* -- dead letters ---------------------------------------------------------- */

/* The relay was made with the options' address: they may change before it streams. */
static void rebuild_diverting(void)
{
	wp_relay_free(b->relay);
	b->options.poison = WP_POISON_DEAD_LETTER;
	b->options.dead_letter_topic = "dead";
	CHECK_EQ(build(), WP_OK);
}

static void the_one_that_is_refused_alone_goes_to_the_dead_letters(void **state)
{
	rebuild_diverting();
	isolate();
	one_event(200, "1");
	confirm(last_ticket());
	one_event(300, "guilty");
	refuse(last_ticket(), WP_REACT_ISOLATE, true);
	CHECK_EQ(wp_relay_exit_code(b->relay), 0);
	rewind_through();
	CHECK_EQ(b->source.start_at, 208);
	CHECK_EQ(b->sink.batching, WP_BATCHING_ONE_BY_ONE);
	one_event(300, "guilty");
	CHECK_TEXT(scripted_sink_last(&b->sink)->topic, "dead");
	CHECK_HAS(scripted_sink_last(&b->sink)->headers,
		  "walpost-dead-letter-reason=refused by Kafka with SOME_ERROR");
	CHECK(noted("dead_letter"));
	CHECK_EQ(b->snapshot.confirmed_lsn, 208);
	confirm(last_ticket());
	CHECK_EQ(b->snapshot.confirmed_lsn, 308);
	step();
	CHECK(noted("isolation_over"));
}

static void two_guilty_ones_side_by_side_are_both_found(void **state)
{
	rebuild_diverting();
	isolate();
	one_event(200, "guilty");
	refuse(last_ticket(), WP_REACT_ISOLATE, true);
	rewind_through();
	one_event(200, "guilty");
	confirm(last_ticket());
	one_event(300, "guilty too");
	refuse(last_ticket(), WP_REACT_ISOLATE, true);
	rewind_through();
	one_event(300, "guilty too");
	CHECK_TEXT(scripted_sink_last(&b->sink)->topic, "dead");
	CHECK_TEXT(scripted_sink_last(&b->sink)->id, "guilty too");
	confirm(last_ticket());
	CHECK_EQ(b->snapshot.confirmed_lsn, 308);
}

static void a_dead_letter_that_is_refused_to_the_last_stops_it(void **state)
{
	rebuild_diverting();
	isolate();
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(wp_relay_exit_code(b->relay), 0);
		one_event(200, "guilty");
		refuse(last_ticket(), WP_REACT_ISOLATE, true);
		if (i < 3)
			rewind_through();
	}
	live(SHUTDOWN_MS);
	CHECK_EQ(wp_relay_exit_code(b->relay), 3);
	CHECK_HAS(b->error.text, "id guilty ");
	CHECK_EQ(b->snapshot.confirmed_lsn, SLOT);
}

static void an_undeliverable_row_goes_to_the_dead_letters_and_what_follows_flows(void **state)
{
	rebuild_diverting();
	stream();
	send_begin_rows();
	send_row_of(OUTBOX, "guilty", NULL);
	send_row("2");
	send_commit(200);
	step();
	CHECK_EQ(b->snapshot.in_flight, 2);
	CHECK_TEXT(b->sink.sent[0].topic, "dead");
	CHECK_TEXT(b->sink.sent[1].topic, "outbox.event.order");
	CHECK(noted("dead_letter"));
	confirm(2);
	CHECK_EQ(b->snapshot.confirmed_lsn, SLOT);
	confirm(1);
	CHECK_EQ(b->snapshot.confirmed_lsn, 208);
}

static void each_of_many_dead_letters_is_told_of(void **state)
{
	enum { MANY = 200 };
	size_t told = 0;

	b->options.in_flight_events = MANY;
	rebuild_diverting();
	stream();
	send_begin_rows();
	for (int i = 0; i < MANY; i++)
		send_row_of(OUTBOX, "guilty", NULL);
	send_commit(200);
	live(1000);
	CHECK_EQ(b->snapshot.in_flight, MANY);
	for (const char *at = b->events; (at = strstr(at, "W:dead_letter")) != NULL; at++)
		told++;
	CHECK_EQ(told, MANY);
}

static void an_error_that_is_not_the_events_diverts_none(void **state)
{
	rebuild_diverting();
	isolate();
	one_event(200, "innocent");
	refuse(last_ticket(), WP_REACT_WAIT_TOPIC, false);
	rewind_through();
	one_event(200, "innocent");
	CHECK_TEXT(scripted_sink_last(&b->sink)->topic, "outbox.event.order");
}

/* -- on_halt = hold -------------------------------------------------------- */

static void hold_by_an_undeliverable_row(void)
{
	b->options.on_halt = WP_ON_HALT_HOLD;
	stream();
	send_begin_rows();
	send_row_of(OUTBOX, "guilty", NULL);
	step();
	live(SHUTDOWN_MS);
	CHECK_STATE("held");
	CHECK_EQ(b->step, WP_STEP_WAIT);
}

static void a_halt_is_held_and_said_once_a_minute(void **state)
{
	hold_by_an_undeliverable_row();
	CHECK_TEXT(strstr(b->events, "held") ? "held" : "", "");
	live(60 * 1000);
	CHECK(noted("held"));
	CHECK_HAS(b->error.text, "id guilty");
	CHECK_EQ(b->source.connects, 1);
	live(3600 * 1000);
	CHECK_STATE("held");
	CHECK_EQ(b->source.connects, 1);
}

static void held_it_takes_back_what_is_queued_and_minds_no_broken_sink(void **state)
{
	b->options.on_halt = WP_ON_HALT_HOLD;
	isolate();
	one_event(200, "guilty");
	b->sink.view.state = WP_SINK_BROKEN;
	step();
	unsigned purges = b->sink.purges;
	refuse(last_ticket(), WP_REACT_ISOLATE, true);
	live(SHUTDOWN_MS);
	CHECK_STATE("held");
	CHECK_EQ(b->sink.purges, purges + 1);
	unsigned steps = 0;
	for (int64_t end = b->now_ms + 30 * 1000; wp_relay_due(b->relay) < end; steps++)
		step_after(wp_relay_due(b->relay) > b->now_ms ? wp_relay_due(b->relay) - b->now_ms
							      : 0);
	CHECK(steps <= 1);
}

static void held_for_a_slot_that_the_server_gave_up_it_tells_so_all_the_while(void **state)
{
	b->options.on_halt = WP_ON_HALT_HOLD;
	stream();
	CHECK(!b->snapshot.slot.known);
	scripted_source_fail(&b->source, WP_REACT_STOP_HUMAN, "");
	b->source.view.failure.slot_lost = true;
	step();
	live(3600 * 1000);
	CHECK_STATE("held");
	CHECK(b->snapshot.slot.known);
	CHECK_EQ(b->snapshot.slot.keeping, WP_KEEPING_LOST);
	CHECK(!b->snapshot.slot.limited);
}

static void held_it_leaves_with_its_code_when_it_is_told_to(void **state)
{
	hold_by_an_undeliverable_row();
	wp_relay_stop(b->relay, now());
	step();
	CHECK_OVER(3);
}

static void told_to_leave_while_it_halts_it_is_not_held(void **state)
{
	b->options.on_halt = WP_ON_HALT_HOLD;
	stream();
	send_begin_rows();
	send_row_of(OUTBOX, "guilty", NULL);
	step();
	wp_relay_stop(b->relay, now());
	live(SHUTDOWN_MS);
	CHECK_EQ(b->step, WP_STEP_OVER);
}

static void what_a_restart_may_help_is_not_held(void **state)
{
	b->options.on_halt = WP_ON_HALT_HOLD;
	stream_one();
	refuse(1, WP_REACT_REWIND, false);
	live(10 * 1000);
	b->sink.view.state = WP_SINK_STARTING;
	live(60 * 1000); /* sink_stuck */
	CHECK_OVER(1);
}

/* -- a lost connection ---------------------------------------------------- */

static void a_lost_connection_resumes_at_read_with_the_tickets_alive(void **state)
{
	stream_one();
	lose_server();
	CHECK(noted("stream_broken"));
	CHECK_EQ(b->snapshot.reconnects, 1);
	live(12 * 1000);
	CHECK_STATE("connecting");
	scripted_source_fail(&b->source, WP_REACT_RECONNECT, ""); /* a try in vain is none */
	step();
	CHECK_EQ(b->snapshot.reconnects, 1);
	reconnect();
	CHECK_EQ(b->source.start_at, 208);
	CHECK_EQ(b->sink.purges, 0);
	run_copy();
	confirm(1);
	CHECK_EQ(b->snapshot.confirmed_lsn, 208);
}

static void half_a_transaction_is_taken_again_whole(void **state)
{
	stream();
	send_begin_rows();
	send_row("1");
	step();
	lose_server();
	reconnect();
	CHECK_EQ(b->source.start_at, SLOT);
	run_copy();
	one_event(200, "1");
	CHECK_EQ(b->sink.sent_count, 2);
	confirm(1);
	CHECK_EQ(b->snapshot.confirmed_lsn, SLOT);
	confirm(2);
	CHECK_EQ(b->snapshot.confirmed_lsn, 208);
}

static void what_was_lost_half_way_holds_safe_until_it_is_confirmed(void **state)
{
	stream();
	send_begin_rows();
	send_row("1");
	step();
	lose_server();
	reconnect();
	run_copy();
	send_keepalive(190, false);
	step();
	CHECK_EQ(b->snapshot.confirmed_lsn, SLOT);
	confirm(1);
	CHECK_EQ(b->snapshot.confirmed_lsn, 190);
}

static void it_backs_off_longer_each_time_and_ten_seconds_at_most(void **state)
{
	int64_t longest_ms = 0;

	step();
	for (int i = 0; i < 12; i++) {
		scripted_source_fail(&b->source, WP_REACT_RECONNECT, "");
		step();
		int64_t wait_ms = wp_relay_due(b->relay) - b->now_ms;
		CHECK(i > 0 || (wait_ms >= 100 && wait_ms <= 200));
		CHECK(wait_ms <= 10000);
		longest_ms = wait_ms > longest_ms ? wait_ms : longest_ms;
		live(wait_ms);
		CHECK_STATE("connecting");
	}
	CHECK(longest_ms >= 5000);
}

/* Streams again after six connections that broke: the seventh would wait long. */
static void stream_after_trouble(void)
{
	step();
	for (int i = 0; i < 6; i++) {
		scripted_source_fail(&b->source, WP_REACT_RECONNECT, "");
		step();
		live(wp_relay_due(b->relay) - b->now_ms);
	}
	b->source.view.state = WP_SOURCE_READY;
	step();
	run_copy();
	send_keepalive(300, false);
	step();
}

static int64_t wait_after_loss(void)
{
	lose_server();
	CHECK_STATE("backing_off");
	return wp_relay_due(b->relay) - b->now_ms;
}

static void a_commit_makes_the_next_connection_quick_again(void **state)
{
	stream_after_trouble();
	one_event(400, "1");
	CHECK(wait_after_loss() <= 200);
}

static void a_stream_that_lasted_makes_the_next_connection_quick_again(void **state)
{
	stream_after_trouble();
	step_after(10 * 1000);
	send_keepalive(300, false);
	step();
	CHECK(wait_after_loss() <= 200);
}

static void a_stream_that_breaks_before_its_first_commit_is_not_hurried(void **state)
{
	stream_after_trouble();
	send_begin(400);
	send_relation(OUTBOX, "outbox");
	send_row("1");
	step();
	CHECK(wait_after_loss() > 1000);
}

static void a_status_that_breaks_is_seen_without_a_wake(void **state)
{
	stream();
	b->source.status_answer = WP_IO;
	step_after(INTERVAL_MS);
	CHECK_EQ(b->step, WP_STEP_MORE);
	step();
	CHECK_STATE("backing_off");
}

static void garbage_from_the_server_is_tried_again_three_times_at_most(void **state)
{
	stream();
	for (int i = 0; i < 2; i++) {
		send_garbage();
		step();
		reconnect();
		run_copy();
	}
	send_garbage();
	step();
	CHECK(noted("stream_stuck"));
	live(SHUTDOWN_MS);
	CHECK_EQ(wp_relay_exit_code(b->relay), 3);
}

static void the_same_error_of_the_server_three_times_stops_it(void **state)
{
	stream();
	for (int i = 0; i < 3; i++) {
		scripted_source_fail(&b->source, WP_REACT_TRY_THRICE, "XX000");
		step();
		if (i == 2)
			break;
		reconnect();
		run_copy();
	}
	CHECK(noted("stream_stuck"));
	live(SHUTDOWN_MS);
	CHECK_OVER(3);
}

static void what_passes_by_itself_is_waited_out(void **state)
{
	static const char *const CODES[] = { "08006", "53100", "53200", "57P02", "58030" };

	stream();
	for (size_t i = 0; i < sizeof(CODES) / sizeof(CODES[0]); i++) {
		for (int n = 0; n < 5; n++) {
			scripted_source_fail(&b->source, WP_REACT_RECONNECT, CODES[i]);
			step();
			reconnect();
			run_copy();
		}
	}
	CHECK(!noted("stream_stuck"));
}

static void a_connection_refused_many_times_is_a_matter_of_patience_too(void **state)
{
	step();
	for (int i = 0; i < 5; i++) {
		scripted_source_fail(&b->source, WP_REACT_RECONNECT, "53300");
		step();
		CHECK_STATE("backing_off");
		live(10 * 1000);
		CHECK_STATE("connecting");
	}
}

static void a_server_that_says_it_stops_is_left_alone(void **state)
{
	stream();
	scripted_source_fail(&b->source, WP_REACT_LET_GO, "57P01");
	step();
	live(9999);
	CHECK_EQ(b->source.connects, 1);
	live(2001);
	CHECK_EQ(b->source.connects, 2);
}

static void a_server_that_restarts_often_is_a_matter_of_patience(void **state)
{
	stream();
	for (int i = 0; i < 10; i++) {
		scripted_source_fail(&b->source, WP_REACT_RECONNECT, i < 5 ? "57P01" : "08006");
		step();
		reconnect();
		run_copy();
	}
	CHECK(!noted("stream_stuck"));
}

static void what_a_human_must_cure_stops_it(void **state)
{
	step();
	scripted_source_fail(&b->source, WP_REACT_STOP_HUMAN, "42704");
	step();
	CHECK_OVER(3);
	CHECK_TEXT(b->error.text, "as scripted");
}

static void wrong_configuration_stops_it_at_the_start_only(void **state)
{
	step();
	scripted_source_fail(&b->source, WP_REACT_STOP_CONFIG, "28P01");
	step();
	CHECK_OVER(2);
	wp_relay_free(b->relay);
	CHECK_EQ(set_up(state), 0);
	stream();
	scripted_source_fail(&b->source, WP_REACT_STOP_CONFIG, "28P01");
	step();
	CHECK_STATE("backing_off");
}

static void wrong_configuration_at_a_later_connection_is_waited_for_by_a_standby_too(void **state)
{
	b->source.view.facts.slot_active = true;
	connect();
	CHECK_STATE("standby");
	scripted_source_fail(&b->source, WP_REACT_STOP_CONFIG, "28P01");
	step();
	CHECK_STATE("backing_off");
	live(12 * 1000); /* the longest backoff */
	CHECK_STATE("connecting");
	scripted_source_fail(&b->source, WP_REACT_STOP_CONFIG, "28P01");
	step();
	CHECK_STATE("backing_off");
}

static void wrong_configuration_at_the_first_start_of_a_stream_stops_it(void **state)
{
	connect();
	CHECK_STATE("starting");
	scripted_source_fail(&b->source, WP_REACT_STOP_CONFIG, "22023");
	step();
	CHECK_OVER(2);
}

/* -- who holds the slot --------------------------------------------------- */

static void a_slot_held_by_another_is_waited_for(void **state)
{
	b->source.view.facts.slot_active = true;
	connect();
	CHECK_STATE("standby");
	CHECK_EQ(b->source.starts, 0);
	for (unsigned i = 1; i < 5; i++) {
		live(1500); /* a look every half to one and a half seconds */
		CHECK_EQ(b->source.refreshes, i);
		b->source.view.state = WP_SOURCE_READY;
		step();
		CHECK_STATE("standby");
	}
	live(1500);
	b->source.view.facts.slot_active = false;
	b->source.view.facts.slot_confirmed = 900;
	b->source.view.state = WP_SOURCE_READY;
	step();
	run_copy();
	CHECK_EQ(b->source.start_at, 900);
}

static void when_another_took_the_slot_over_our_tickets_are_forgotten(void **state)
{
	stream_one();
	lose_server();
	b->source.view.facts.slot_confirmed = 500;
	b->source.view.facts.slot_checkpoint_taken_at = SLOT;
	(void)snprintf(b->source.view.facts.slot_checkpoint_owner, WP_OWNER_SIZE, "another");
	reconnect();
	CHECK_STATE("settling"); /* ours is still on its way */
	CHECK_EQ(b->sink.purges, 1);
	confirm(1);
	CHECK_STATE("starting");
	CHECK_EQ(b->source.start_at, 500);
	CHECK_EQ(b->snapshot.confirmed_lsn, 500);
	CHECK_EQ(b->snapshot.in_flight, 0);
}

static void what_does_not_come_to_rest_after_a_takeover_goes_with_its_producer(void **state)
{
	stream_one();
	lose_server();
	b->source.view.facts.slot_confirmed = 500;
	(void)snprintf(b->source.view.facts.slot_checkpoint_owner, WP_OWNER_SIZE, "another");
	reconnect();
	CHECK_STATE("settling");
	live(10 * 1000);
	CHECK_STATE("rebuilding");
	CHECK_EQ(b->sink.restarts, 1);
}

static void a_slot_that_moved_by_itself_needs_a_human(void **state)
{
	stream_one();
	lose_server();
	b->source.view.facts.slot_confirmed = 500;
	(void)snprintf(b->source.view.facts.slot_checkpoint_owner, WP_OWNER_SIZE, "us");
	reconnect();
	CHECK_OVER(3);
	CHECK(noted("slot_moved"));
	CHECK_HAS(b->error.text, "0/1F4");
}

static void a_takeover_is_explained_by_where_the_slot_stood(void **state)
{
	stream_one();
	confirm(1);
	lose_server();
	/* We took over from another at 500, and the connection broke as we began. */
	b->source.view.facts.slot_confirmed = 500;
	b->source.view.facts.slot_checkpoint_taken_at = 500;
	(void)snprintf(b->source.view.facts.slot_checkpoint_owner, WP_OWNER_SIZE, "us");
	reconnect();
	CHECK_STATE("starting");
	CHECK_EQ(b->source.start_at, 500);
}

static void after_a_purge_only_a_stream_from_the_slot_will_do(void **state)
{
	stream_one();
	lose_server();
	b->source.view.facts.slot_active = true;
	reconnect();
	CHECK_STATE("standby");
	CHECK_EQ(b->sink.purges, 1);
	scripted_sink_purged(&b->sink, 1);
	step();
	live(1500);
	b->source.view.facts.slot_active = false; /* it never confirmed anything */
	b->source.view.state = WP_SOURCE_READY;
	step();
	CHECK_EQ(b->source.start_at, SLOT);
	run_copy();

	/* Once only: from now on a lost connection resumes at read again. */
	one_event(200, "1");
	lose_server();
	reconnect();
	CHECK_EQ(b->source.start_at, 208);
}

static void what_was_told_before_a_takeover_explains_nothing_after_it(void **state)
{
	stream();
	one_event(400, "1");
	confirm(1);
	live(1000);
	CHECK_EQ(b->source.status.flush, 408);
	lose_server();
	b->source.view.facts.timelines.current = 2;
	b->source.view.facts.slot_confirmed = 150;
	reconnect();
	CHECK_EQ(b->source.start_at, 150);
	run_copy();
	lose_server();
	b->source.view.facts.slot_confirmed = 300;
	b->source.view.facts.slot_checkpoint_taken_at = 150;
	(void)snprintf(b->source.view.facts.slot_checkpoint_owner, WP_OWNER_SIZE, "another");
	reconnect();
	CHECK_EQ(b->source.start_at, 300);
}

static void a_slot_behind_us_is_no_matter(void **state)
{
	stream_one();
	confirm(1);
	live(1000);
	lose_server();
	b->source.view.facts.slot_confirmed = SLOT; /* a crash forgot what we told */
	reconnect();
	CHECK_STATE("starting");
	CHECK_EQ(b->source.start_at, 208);
}

static void a_promotion_starts_from_the_slot(void **state)
{
	stream_one();
	confirm(1);
	lose_server();
	b->source.view.facts.timelines.current = 2;
	reconnect();
	CHECK_STATE("starting");
	CHECK_EQ(b->source.start_at, SLOT);
}

static void another_cluster_is_refused_until_the_epoch_is_raised(void **state)
{
	b->source.view.facts.slot_checkpoint_system_id = 78;
	b->source.view.facts.slot_checkpoint_epoch = 4;
	connect();
	CHECK_OVER(3);
	CHECK_HAS(b->error.text, "relay.epoch = 5");

	wp_relay_free(b->relay);
	CHECK_EQ(set_up(state), 0);
	b->options.epoch = 5;
	b->source.view.facts.slot_checkpoint_system_id = 78;
	b->source.view.facts.slot_checkpoint_epoch = 4;
	connect();
	CHECK_STATE("starting");
}

static void a_cluster_that_changes_under_us_is_refused_with_any_epoch(void **state)
{
	b->options.epoch = 5;
	stream();
	lose_server();
	b->source.view.facts.system_id = 78;
	reconnect();
	CHECK_EQ(wp_relay_exit_code(b->relay), 3);
	CHECK(noted("system_changed"));
}

static void a_race_for_the_slot_is_lost_in_good_order(void **state)
{
	connect();
	scripted_source_fail(&b->source, WP_REACT_STANDBY, "55006");
	step();
	CHECK_STATE("backing_off");
	CHECK_EQ(wp_relay_exit_code(b->relay), 0);
}

/* -- stopping ------------------------------------------------------------- */

static void ask_to_stop(void)
{
	wp_relay_stop(b->relay, now());
	step();
}

static void a_stop_drains_tells_the_last_flush_and_ends_the_copy(void **state)
{
	stream_one();
	ask_to_stop();
	CHECK_STATE("draining");
	CHECK(!b->source.reading);
	live(5000);
	CHECK_STATE("draining");
	confirm(1);
	CHECK_STATE("finishing");
	CHECK_EQ(b->source.status.flush, 208);
	CHECK_EQ(b->source.finishes, 1);
	b->source.view.state = WP_SOURCE_FINISHED;
	step();
	CHECK_EQ(b->step, WP_STEP_OVER);
	CHECK_EQ(b->source.closes, 1);
	CHECK_EQ(wp_relay_exit_code(b->relay), 0);
}

static void with_nothing_in_flight_a_stop_ends_the_copy_at_once(void **state)
{
	stream_one();
	confirm(1);
	step();
	ask_to_stop();
	CHECK_STATE("finishing");
	CHECK_EQ(b->source.status.flush, 208);
}

static void a_stop_within_a_transaction_goes_on_to_its_commit(void **state)
{
	stream();
	send_begin_rows();
	send_row("1");
	step();
	ask_to_stop();
	CHECK_STATE("streaming");
	send_row("2");
	send_commit(200);
	send_begin(300);
	send_row("3");
	step();
	CHECK_STATE("draining");
	CHECK_EQ(b->sink.sent_count, 2);
}

static void a_commit_that_does_not_come_is_waited_for_half_of_the_time(void **state)
{
	stream();
	send_begin_rows();
	send_row("1");
	step();
	ask_to_stop();
	live(SHUTDOWN_MS / 2 - 1);
	CHECK_STATE("streaming");
	live(1);
	CHECK(b->snapshot.state == WP_DRAINING || b->snapshot.state == WP_FINISHING);
}

static void a_transaction_of_which_nothing_was_sent_does_not_hold_up_a_stop(void **state)
{
	stream();
	pause();
	one_event(200, "1");
	CHECK_STATE("paused");
	ask_to_stop();
	CHECK_STATE("finishing");
	CHECK_EQ(b->source.status.flush, SLOT);
	CHECK_EQ(b->sink.sent_count, 0);
}

static void draining_leaves_time_to_end_the_copy(void **state)
{
	stream_one();
	ask_to_stop();
	live(SHUTDOWN_MS - 3000 - 1);
	CHECK_STATE("draining");
	live(1);
	CHECK_STATE("finishing");
	CHECK_EQ(b->source.status.flush, SLOT);
	live(3000);
	CHECK_OVER(0);
}

static void a_short_shutdown_time_is_kept_too(void **state)
{
	b->options.shutdown_timeout_ms = 400;
	stream_one();
	ask_to_stop();
	live(299);
	CHECK_STATE("draining");
	live(1);
	CHECK_STATE("finishing");
	live(100);
	CHECK_EQ(b->step, WP_STEP_OVER);
}

static void a_stop_while_paused_takes_nothing_more(void **state)
{
	stream();
	pause();
	one_event(200, "1");
	CHECK_STATE("paused");
	b->sink.answer = WP_OK;
	b->sink.view.state = WP_SINK_WAITING;
	ask_to_stop();
	live(SHUTDOWN_MS);
	CHECK_EQ(b->step, WP_STEP_OVER);
	CHECK_EQ(b->sink.sent_count, 0);
	CHECK_EQ(b->source.status.flush, SLOT);
}

static void a_connection_lost_while_draining_ends_it(void **state)
{
	stream_one();
	ask_to_stop();
	lose_server();
	CHECK_OVER(0);
}

static void a_refusal_while_draining_settles_nothing(void **state)
{
	stream_one();
	ask_to_stop();
	refuse(1, WP_REACT_REWIND, false);
	CHECK_STATE("finishing");
	CHECK(noted("W:event_refused"));
	CHECK_TEXT(b->last.text,
		   "an event was refused with SOME_ERROR; the next start sends it again");
	CHECK_EQ(b->source.status.flush, SLOT);
	b->events[0] = '\0';
	refuse(1, WP_REACT_REWIND, false);
	CHECK(!noted("event_refused"));
	CHECK_EQ(wp_relay_exit_code(b->relay), 0);
}

static void without_a_stream_a_stop_is_immediate(void **state)
{
	ask_to_stop(); /* before it ever connected */
	CHECK_OVER(0);

	wp_relay_free(b->relay);
	CHECK_EQ(set_up(state), 0);
	b->source.view.facts.slot_active = true;
	connect();
	CHECK_STATE("standby");
	ask_to_stop();
	CHECK_OVER(0);
}

static void stop_without_the_stream(void)
{
	stream();
	lose_server();
	CHECK_STATE("backing_off");
	b->source.part_answer = WP_SOURCE_FINISHING;
	ask_to_stop();
	CHECK_STATE("finishing");
	CHECK_EQ(b->source.parts, 1);
	CHECK_EQ(b->source.finishes, 0);
}

static void after_a_lost_stream_a_stop_says_the_last_word(void **state)
{
	stop_without_the_stream();
	b->source.view.state = WP_SOURCE_FINISHED;
	step();
	CHECK_OVER(0);
}

static void a_last_word_that_nobody_takes_is_not_waited_for(void **state)
{
	stop_without_the_stream();
	live(2999);
	CHECK_STATE("finishing");
	live(1);
	CHECK_EQ(b->step, WP_STEP_OVER);
}

/* It ended the copy in good order, and its host went away. */
static void the_last_word_to_a_server_that_stopped_meanwhile_has_three_seconds_too(void **state)
{
	stream_one();
	ask_to_stop();
	CHECK_STATE("draining");
	b->source.part_answer = WP_SOURCE_FINISHING;
	b->source.view.state = WP_SOURCE_FINISHED;
	step();
	CHECK_STATE("finishing");
	CHECK_EQ(b->source.parts, 1);
	live(2999);
	CHECK_STATE("finishing");
	live(1);
	CHECK_EQ(b->step, WP_STEP_OVER);
}

static void a_suspended_machine_that_was_stopping_purges_and_says_its_last_word(void **state)
{
	b->source.view.facts.wal_sender_timeout_ms = 2000;
	stream_one();
	ask_to_stop();
	CHECK_STATE("draining");
	b->suspended_ms = 2000;
	step();
	CHECK_EQ(b->sink.purges, 1);
	CHECK_EQ(b->source.parts, 1);
}

static void a_copy_that_is_refused_as_it_ends_is_not_waited_for(void **state)
{
	stream();
	ask_to_stop();
	CHECK_STATE("finishing");
	b->source.part_answer = WP_SOURCE_FINISHING;
	scripted_source_fail(&b->source, WP_REACT_STOP_HUMAN, "42704");
	step();
	CHECK_EQ(b->source.parts, 1);
	CHECK_EQ(b->step, WP_STEP_WAIT);
	b->source.view.state = WP_SOURCE_FINISHED;
	step();
	CHECK_OVER(3);
}

static void a_refused_stream_has_its_last_word(void **state)
{
	stream();
	one_event(200, "1"); /* in flight: its confirmation could not be told any more */
	b->source.part_answer = WP_SOURCE_FINISHING;
	scripted_source_fail(&b->source, WP_REACT_STOP_HUMAN, "42704");
	step();
	CHECK_STATE("finishing");
	CHECK_EQ(b->source.parts, 1);
	b->source.view.state = WP_SOURCE_FINISHED;
	step();
	CHECK_OVER(3);
}

static void a_stop_while_rewinding_is_immediate(void **state)
{
	stream_one();
	one_event(300, "2");
	refuse(1, WP_REACT_REWIND, false);
	CHECK_STATE("rewinding");
	ask_to_stop();
	CHECK_EQ(b->step, WP_STEP_OVER);
}

static void a_stop_at_the_end_of_isolation_tells_the_last_position(void **state)
{
	isolate();
	one_event(200, "1");
	confirm(last_ticket());
	one_event(300, "2");
	scripted_sink_confirm(&b->sink, last_ticket());
	ask_to_stop();
	CHECK_STATE("finishing");
	CHECK_EQ(b->source.status.flush, 308);
}

static void a_second_request_to_stop_gives_no_more_time(void **state)
{
	stream_one();
	ask_to_stop();
	live(5000);
	ask_to_stop();
	live(SHUTDOWN_MS - 5000);
	CHECK_EQ(b->step, WP_STEP_OVER);
}

/* -- notes, making, freeing ----------------------------------------------- */

static void of_many_notes_the_newest_sixty_four_are_kept(void **state)
{
	struct wp_note n;
	int count = 0;

	stream();
	for (int i = 0; i < 100; i++) { /* two notes each: out of and into streaming */
		b->sink.answer = i % 2 ? WP_OK : WP_AGAIN;
		send_begin(200);
		(void)wp_relay_step(b->relay, now());
		b->sink.view.reachable = i % 2;
		b->sink.view.error = (struct wp_error){ .text = "down" };
	}
	(void)wp_relay_step(b->relay, now());
	while (wp_relay_take_note(b->relay, &n))
		count++;
	CHECK_EQ(count, 64);
	CHECK(!wp_relay_take_note(b->relay, &n));
}

static void a_note_of_a_broken_stream_tells_why_and_how_long(void **state)
{
	struct wp_note n;
	bool found = false;

	stream();
	scripted_source_fail(&b->source, WP_REACT_RECONNECT, "");
	(void)wp_relay_step(b->relay, now());
	while (wp_relay_take_note(b->relay, &n)) {
		if (strcmp(n.event, "stream_broken") != 0)
			continue;
		found = true;
		CHECK_TEXT(n.error.text, "as scripted");
		CHECK_EQ(n.level, WP_NOTE_WARN);
		CHECK(n.wait_ms > 0);
		CHECK_EQ(n.lsn, SLOT);
	}
	CHECK(found);
}

static void wrong_options_make_no_relay(void **state)
{
	struct wp_relay *made = b->relay;

	b->outbox.topic_regex = "(";
	CHECK_EQ(build(), WP_CONFIG);
	CHECK(b->relay == made);
}

static void without_memory_there_is_no_relay(void **state)
{
	enum wp_rc rc = WP_NOMEM;

	wp_relay_free(b->relay);
	b->relay = NULL;
	for (size_t i = 0; rc == WP_NOMEM; i++) {
		memory_fails_after(i);
		rc = build();
		memory_works();
		CHECK((rc == WP_OK) == (b->relay != NULL));
		CHECK(i < 100);
	}
	CHECK_EQ(rc, WP_OK);
}

static void without_memory_it_stops_and_a_restart_may_help(void **state)
{
	stream();
	send_begin(200);
	step();
	send_relation(OUTBOX, "outbox");
	memory_fails_after(0);
	step();
	memory_works();
	live(SHUTDOWN_MS);
	CHECK_OVER(1);
	CHECK(noted("out_of_memory"));
}

static void freeing_no_relay_is_fine(void **state)
{
	wp_relay_free(NULL);
}

/* -- binary ---------------------------------------------------------------- */

static void send_relation_of_an_unknown_type(void)
{
	static const struct wire_column columns[] = {
		{ "id", TEXT_OID },   { "aggregatetype", TEXT_OID }, { "aggregateid", 16999 },
		{ "type", TEXT_OID }, { "payload", TEXT_OID },
	};
	struct wire_writer w = scripted_source_frame(&b->source);

	wire_data(&w, 0);
	wire_relation(&w, OUTBOX, "public", "outbox", columns, 5);
	scripted_source_send(&b->source, &w);
}

/* The catalog is asked again before anything else is given up. */
static void be_refused_and_asked_anew(wp_lsn commit_lsn)
{
	send_begin(commit_lsn);
	send_relation_of_an_unknown_type();
	step();
	CHECK(noted("I:types_asked_anew"));
	CHECK_HAS(b->last.text, "aggregateid");
	CHECK_STATE("backing_off");
	reconnect();
	run_copy();
}

static void a_type_that_the_catalog_knows_by_now_goes_on_without_a_word_of_alarm(void **state)
{
	b->source.view.facts.transfer = WP_TRANSFER_BINARY;
	stream();
	send_begin(200);
	send_relation_of_an_unknown_type();
	step();
	CHECK(noted("I:types_asked_anew"));
	CHECK(wp_column_facts_add_type(
		&b->source.view.facts.columns,
		&(struct wp_type_fact){ .oid = 16999, .base_oid = 16999, .known_as = "enum" },
		NULL));
	reconnect();
	run_copy();
	CHECK_EQ(b->source.transfer, WP_TRANSFER_BINARY);
	send_begin(200);
	send_relation_of_an_unknown_type();
	step();
	CHECK_STATE("streaming");
	CHECK(!noted("E:stream_refused"));
}

static void enums_without_room_for_their_labels_are_told_of_once(void **state)
{
	b->outbox.types = WP_RENDERING_DEBEZIUM;
	b->source.view.facts.columns.unlabelled = 2;
	stream();
	CHECK(noted("W:enum_labels_left_out"));
	b->events[0] = '\0';
	lose_server();
	reconnect();
	run_copy();
	CHECK(noted("streaming"));
	CHECK(!noted("enum_labels_left_out"));
}

static void rows_that_do_not_come_in_binary_are_asked_for_as_text(void **state)
{
	b->source.view.facts.transfer = WP_TRANSFER_BINARY;
	b->source.view.facts.text_will_do = true;
	stream();
	CHECK_EQ(b->source.transfer, WP_TRANSFER_BINARY);
	be_refused_and_asked_anew(200);
	send_begin(200);
	send_relation_of_an_unknown_type();
	step();
	CHECK(noted("W:binary_given_up"));
	CHECK_HAS(b->last.text, "aggregateid");
	reconnect();
	run_copy();
	CHECK_EQ(b->source.transfer, WP_TRANSFER_TEXT);
	send_begin(200);
	send_relation_of_an_unknown_type();
	send_row("1");
	send_commit(200);
	step();
	CHECK_EQ(b->sink.sent_count, 1);
	CHECK_STATE("streaming");
}

static void binary_that_was_asked_for_is_not_given_up(void **state)
{
	b->source.view.facts.transfer = WP_TRANSFER_BINARY;
	stream();
	be_refused_and_asked_anew(200);
	send_begin(200);
	send_relation_of_an_unknown_type();
	step();
	CHECK(noted("E:stream_refused"));
	CHECK_HAS(b->error.text, "postgres.binary = off");
	CHECK(!noted("binary_given_up"));
}

int main(void)
{
	return RUN(
		TEST(a_new_relay_wants_its_first_step_at_once),
		TEST(a_first_start_streams_from_the_slot_and_claims_it),
		TEST(connecting_is_given_up_after_a_minute),
		TEST(starting_is_given_up_after_a_minute),
		TEST(flush_never_passes_an_event_that_was_not_confirmed),
		TEST(confirmed_events_are_counted_once), TEST(the_snapshot_tells_how_it_stands),
		TEST(a_ping_is_answered_in_the_same_turn_or_soon),
		TEST(a_long_backlog_is_taken_in_turns), TEST(without_room_it_stops_reading),
		TEST(more_partitions_make_more_room_while_it_is_full),
		TEST(with_room_again_it_goes_on_and_takes_each_event_once),
		TEST(while_paused_statuses_leave),
		TEST(while_paused_the_server_is_asked_on_the_side),
		TEST(a_stopping_server_is_let_go_and_left_alone_for_ten_seconds),
		TEST(while_paused_an_unreachable_server_is_lost),
		TEST(pings_without_progress_let_the_server_go),
		TEST(a_server_that_ends_the_copy_is_left_alone),
		TEST(forty_silent_seconds_are_a_half_open_connection),
		TEST(what_came_before_a_standstill_is_not_sent_after_it),
		TEST(what_waits_in_the_queue_is_purged_after_a_standstill),
		TEST(a_suspended_machine_is_a_standstill_though_no_timer_was_late),
		TEST(a_machine_suspended_without_a_stream_purges_what_waits_too),
		TEST(a_wall_clock_that_jumps_ahead_by_a_minute_is_a_paused_machine),
		TEST(a_wall_clock_that_is_set_back_changes_nothing),
		TEST(a_suspended_machine_that_was_stopping_purges_and_says_its_last_word),
		TEST(a_standstill_that_the_server_bears_with_changes_nothing),
		TEST(a_missing_topic_is_waited_for_and_flows_on),
		TEST(a_topic_that_does_not_come_stops_it_in_the_end),
		TEST(an_event_taken_for_a_missing_topic_is_waited_for_and_flows_on),
		TEST(the_event_that_is_named_is_the_one_that_waits_in_the_sink),
		TEST(a_stop_takes_back_what_waits_in_the_sink_and_ends_at_once),
		TEST(a_stop_waits_for_what_is_with_kafka_only),
		TEST(a_right_that_was_taken_away_is_waited_for_as_a_topic_is),
		TEST(a_right_that_is_not_given_back_stops_it_in_the_end),
		TEST(each_missing_topic_is_given_its_own_time),
		TEST(while_kafka_is_away_no_topic_is_called_missing),
		TEST(a_waiting_topic_is_told_once_a_minute),
		TEST(a_kafka_that_answers_and_confirms_nothing_is_told_each_minute),
		TEST(what_goes_on_slowly_or_is_told_otherwise_is_no_stall),
		TEST(an_unreachable_sink_is_told_each_minute_with_what_waits),
		TEST(an_event_that_was_never_sent_waits_too),
		TEST(the_snapshot_tells_whether_the_sink_was_ever_reached),
		TEST(a_row_that_may_be_of_a_partition_waits_for_the_answer),
		TEST(what_was_known_before_the_stream_is_not_asked),
		TEST(a_failed_question_about_partitions_is_repeated_each_second),
		TEST(a_transaction_that_is_not_visible_yet_is_asked_about_ever_more_seldom),
		TEST(questions_about_partitions_keep_a_distance),
		TEST(ignored_rows_and_no_event_for_a_minute_are_told_once),
		TEST(ignored_rows_beside_an_event_are_as_they_should_be),
		TEST(rows_of_walposts_own_tables_tell_nothing),
		TEST(after_a_huge_row_the_stream_has_a_new_connection_once_it_is_quiet),
		TEST(events_put_a_new_connection_off),
		TEST(a_smaller_row_is_no_reason_for_a_new_connection),
		TEST(once_it_is_there_a_new_stream_begins_where_all_is_confirmed),
		TEST(for_it_no_transaction_is_torn),
		TEST(a_topic_that_is_waited_for_keeps_the_stream_that_there_is),
		TEST(where_it_did_not_exist_the_stream_begins_again_without_it),
		TEST(huge_rows_that_come_often_have_a_new_connection_once_a_minute),
		TEST(a_stream_that_would_begin_far_back_keeps_its_connection),
		TEST(a_standby_that_takes_the_slot_meanwhile_has_it),
		TEST(a_standby_waits_for_no_topic), TEST(a_table_nobody_configured_stops_it),
		TEST(a_refused_event_makes_it_stream_again_from_safe),
		TEST(what_is_in_flight_comes_to_rest_before_the_sink_begins_anew),
		TEST(what_does_not_come_to_rest_in_ten_seconds_is_given_up),
		TEST(a_purged_event_settles_nothing_and_is_streamed_again),
		TEST(a_broken_sink_is_rewound_too), TEST(a_send_that_breaks_is_rewound),
		TEST(the_same_refusal_three_times_at_one_place_stops_it),
		TEST(the_one_that_is_refused_alone_goes_to_the_dead_letters),
		TEST(two_guilty_ones_side_by_side_are_both_found),
		TEST(a_dead_letter_that_is_refused_to_the_last_stops_it),
		TEST(an_undeliverable_row_goes_to_the_dead_letters_and_what_follows_flows),
		TEST(each_of_many_dead_letters_is_told_of),
		TEST(an_error_that_is_not_the_events_diverts_none),
		TEST(a_halt_is_held_and_said_once_a_minute),
		TEST(held_it_takes_back_what_is_queued_and_minds_no_broken_sink),
		TEST(held_for_a_slot_that_the_server_gave_up_it_tells_so_all_the_while),
		TEST(held_it_leaves_with_its_code_when_it_is_told_to),
		TEST(told_to_leave_while_it_halts_it_is_not_held),
		TEST(what_a_restart_may_help_is_not_held),
		TEST(with_a_limit_of_one_the_first_refusal_stops_it),
		TEST(with_a_higher_limit_it_tries_more_often),
		TEST(progress_between_refusals_starts_the_count_again),
		TEST(a_sink_that_failed_stops_it_with_its_exit_code),
		TEST(a_sink_that_failed_is_not_waited_for),
		TEST(a_sink_that_fails_while_it_stops_ends_the_draining),
		TEST(a_sink_that_needs_a_human_stops_it_with_three),
		TEST(an_old_client_that_never_ends_calls_for_another_process),
		TEST(a_sink_broken_by_the_one_alone_is_heard_out),
		TEST(a_broken_sink_that_names_nobody_is_left_after_two_seconds),
		TEST(the_one_alone_may_be_named_on_the_way_to_rest),
		TEST(two_refused_of_many_in_flight_make_no_third_guilty),
		TEST(an_event_level_error_isolates_one_event_at_a_time),
		TEST(the_one_that_is_refused_alone_is_named_and_stops_it),
		TEST(without_a_guilty_one_batches_come_back),
		TEST(an_undeliverable_row_stops_it_and_is_named),
		TEST(a_lost_connection_resumes_at_read_with_the_tickets_alive),
		TEST(half_a_transaction_is_taken_again_whole),
		TEST(it_backs_off_longer_each_time_and_ten_seconds_at_most),
		TEST(a_status_that_breaks_is_seen_without_a_wake),
		TEST(garbage_from_the_server_is_tried_again_three_times_at_most),
		TEST(the_same_error_of_the_server_three_times_stops_it),
		TEST(a_server_that_restarts_often_is_a_matter_of_patience),
		TEST(what_a_human_must_cure_stops_it),
		TEST(wrong_configuration_stops_it_at_the_start_only),
		TEST(wrong_configuration_at_a_later_connection_is_waited_for_by_a_standby_too),
		TEST(wrong_configuration_at_the_first_start_of_a_stream_stops_it),
		TEST(a_slot_held_by_another_is_waited_for),
		TEST(when_another_took_the_slot_over_our_tickets_are_forgotten),
		TEST(what_does_not_come_to_rest_after_a_takeover_goes_with_its_producer),
		TEST(a_slot_that_moved_by_itself_needs_a_human),
		TEST(a_slot_behind_us_is_no_matter), TEST(a_promotion_starts_from_the_slot),
		TEST(another_cluster_is_refused_until_the_epoch_is_raised),
		TEST(a_cluster_that_changes_under_us_is_refused_with_any_epoch),
		TEST(a_race_for_the_slot_is_lost_in_good_order),
		TEST(a_stop_drains_tells_the_last_flush_and_ends_the_copy),
		TEST(with_nothing_in_flight_a_stop_ends_the_copy_at_once),
		TEST(a_stop_within_a_transaction_goes_on_to_its_commit),
		TEST(a_commit_that_does_not_come_is_waited_for_half_of_the_time),
		TEST(a_transaction_of_which_nothing_was_sent_does_not_hold_up_a_stop),
		TEST(draining_leaves_time_to_end_the_copy), TEST(a_short_shutdown_time_is_kept_too),
		TEST(a_stop_while_paused_takes_nothing_more),
		TEST(a_connection_lost_while_draining_ends_it),
		TEST(a_refusal_while_draining_settles_nothing),
		TEST(without_a_stream_a_stop_is_immediate),
		TEST(after_a_lost_stream_a_stop_says_the_last_word),
		TEST(a_last_word_that_nobody_takes_is_not_waited_for),
		TEST(the_last_word_to_a_server_that_stopped_meanwhile_has_three_seconds_too),
		TEST(a_copy_that_is_refused_as_it_ends_is_not_waited_for),
		TEST(a_refused_stream_has_its_last_word), TEST(a_stop_while_rewinding_is_immediate),
		TEST(a_stop_at_the_end_of_isolation_tells_the_last_position),
		TEST(a_second_request_to_stop_gives_no_more_time),
		TEST(of_many_notes_the_newest_sixty_four_are_kept),
		TEST(a_note_of_a_broken_stream_tells_why_and_how_long),
		TEST(wrong_options_make_no_relay), TEST(without_memory_there_is_no_relay),
		TEST(without_memory_it_stops_and_a_restart_may_help),
		TEST(a_long_pause_is_no_silence_of_the_server),
		TEST(an_idle_stream_is_not_asked_about_on_the_side),
		TEST(a_keepalive_says_that_nothing_is_stuck_behind_it),
		TEST(in_the_middle_of_a_backlog_a_server_that_does_not_answer_is_probed),
		TEST(what_a_probe_said_of_an_earlier_stream_is_forgotten),
		TEST(at_its_end_the_server_tells_by_itself_that_it_stops),
		TEST(while_streaming_a_probe_without_answer_means_nothing),
		TEST(a_server_that_was_let_go_is_left_alone_through_a_rewind),
		TEST(a_confirmation_makes_the_next_rewind_quick_again),
		TEST(a_commit_makes_the_next_connection_quick_again),
		TEST(a_stream_that_lasted_makes_the_next_connection_quick_again),
		TEST(a_stream_that_breaks_before_its_first_commit_is_not_hurried),
		TEST(a_takeover_is_explained_by_where_the_slot_stood),
		TEST(after_a_purge_only_a_stream_from_the_slot_will_do),
		TEST(what_was_told_before_a_takeover_explains_nothing_after_it),
		TEST(the_first_error_is_told_once_and_gives_the_exit_code),
		TEST(a_sink_that_begins_anew_and_waits_for_a_topic_is_good_enough),
		TEST(a_second_refusal_on_the_way_to_rest_is_the_same_trouble),
		TEST(the_sinks_own_time_is_kept), TEST(what_passes_by_itself_is_waited_out),
		TEST(a_connection_refused_many_times_is_a_matter_of_patience_too),
		TEST(a_server_that_says_it_stops_is_left_alone),
		TEST(an_error_that_is_not_the_events_makes_none_guilty),
		TEST(what_was_lost_half_way_holds_safe_until_it_is_confirmed),
		TEST(freeing_no_relay_is_fine),
		TEST(rows_that_do_not_come_in_binary_are_asked_for_as_text),
		TEST(binary_that_was_asked_for_is_not_given_up),
		TEST(a_type_that_the_catalog_knows_by_now_goes_on_without_a_word_of_alarm),
		TEST(enums_without_room_for_their_labels_are_told_of_once));
}
