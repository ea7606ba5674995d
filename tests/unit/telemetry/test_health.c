#include "patient.h"

static struct wp_health_verdict verdict(void)
{
	struct wp_health_verdict v;

	wp_verdict_of(&p.telemetry, &v);
	return v;
}

static void is_ready(const char *remark)
{
	struct wp_health_verdict v = verdict();

	CHECK(v.live);
	CHECK(v.ready);
	if (remark == NULL)
		CHECK_EQ(v.reason_count, 0);
	else
		CHECK_HAS(v.reasons[0], remark);
}

static void is_not_ready(const char *reason)
{
	struct wp_health_verdict v = verdict();

	CHECK(v.live);
	CHECK(!v.ready);
	CHECK(v.reason_count > 0);
	CHECK_HAS(v.reasons[0], reason);
}

static void one_that_streams_is_live_and_ready(void **state)
{
	is_ready(NULL);
}

static void a_turn_that_does_not_come_is_death(void **state)
{
	p.telemetry.step_due_ms = NOW_MS - WP_LIVE_LATE_MS + 1;
	CHECK(verdict().live);
	p.telemetry.step_due_ms = NOW_MS - WP_LIVE_LATE_MS;
	CHECK(!verdict().live);
	CHECK(!verdict().ready);
	CHECK_HAS(verdict().reasons[0], "overdue by 30 s");
	p.telemetry.step_due_ms = INT64_MAX;
	CHECK(verdict().live);
}

static void a_state_that_does_not_end_is_death(void **state)
{
	p.telemetry.relay.state = WP_REBUILDING;
	p.telemetry.relay.deadline_ms = NOW_MS - WP_LIVE_LATE_MS;
	CHECK(!verdict().live);
	CHECK_HAS(verdict().reasons[0], "rebuilding");
}

static void a_standby_is_ready_and_says_so(void **state)
{
	p.telemetry.relay.state = WP_STANDBY;
	p.telemetry.relay.heard_ms = p.telemetry.relay.confirmed_ms = INT64_MIN;
	is_ready("standby: another process streams from slot orders");
}

static void a_standby_behind_a_client_that_is_no_relay_is_not_ready(void **state)
{
	p.telemetry.relay.state = WP_STANDBY;
	p.telemetry.relay.foreign = true;
	p.telemetry.relay.holder = "process 17 (pg_recvlogical, user app)";
	is_not_ready("slot orders is held by a client that is no walpost relay: process 17 "
		     "(pg_recvlogical, user app); nobody delivers events");
	CHECK_EQ(verdict().reason_count, 1);
}

static void what_the_server_withholds_is_told_once_it_is_stalled(void **state)
{
	p.telemetry.relay.withheld = "slot phys does not exist";
	is_ready(NULL);
	p.telemetry.relay.stalled_ms = NOW_MS - 20 * 1000;
	is_not_ready("the server has sent no event for 20 s: it waits for the standbys of "
		     "synchronized_standby_slots (slot phys does not exist)");
}

static void before_the_first_stream_it_is_not_ready(void **state)
{
	p.telemetry.relay.heard_ms = INT64_MIN;
	p.telemetry.relay.state = WP_CONNECTING;
	is_not_ready("connecting: it has not streamed yet");
	p.telemetry.relay.state = WP_BACKING_OFF;
	is_not_ready("backing_off: it has not streamed yet");
}

static void connecting_again_counts_after_a_while(void **state)
{
	p.telemetry.relay.state = WP_BACKING_OFF;
	p.telemetry.relay.heard_ms = NOW_MS - WP_READY_AWAY_MS + 1;
	is_ready("backing_off");
	p.telemetry.relay.heard_ms = NOW_MS - WP_READY_AWAY_MS;
	is_not_ready("it has not streamed for 15 s");
}

static void catching_up_with_progress_is_ready_however_far_behind(void **state)
{
	p.telemetry.relay.server = UINT64_C(1) << 40;
	p.telemetry.relay.in_flight = 100;
	p.telemetry.relay.oldest =
		(struct wp_relay_oldest){ true, NOW_US - INT64_C(86400000000), 3600 * 1000 };
	is_ready(NULL);
}

static void events_without_any_report_are_a_stall(void **state)
{
	p.telemetry.relay.in_flight = 7;
	p.telemetry.relay.oldest.any = true;
	p.telemetry.relay.oldest.waiting_ms = WP_READY_STALLED_MS;
	p.telemetry.relay.confirmed_ms = NOW_MS - WP_READY_STALLED_MS / 2 + 1;
	is_ready(NULL);
	p.telemetry.relay.confirmed_ms = NOW_MS - WP_READY_STALLED_MS / 2;
	is_not_ready("7 events are in flight, the oldest for 60 s");
	p.telemetry.relay.confirmed_ms = INT64_MIN;
	is_not_ready("7 events");
	p.telemetry.relay.sink_reachable = false;
	is_not_ready("Kafka is not reachable");
	p.telemetry.relay.oldest.waiting_ms = WP_READY_STALLED_MS - 1;
	CHECK(verdict().ready);
}

static void an_event_that_cannot_be_sent_is_a_stall_too(void **state)
{
	p.telemetry.relay.in_flight = 0;
	p.telemetry.relay.state = WP_PAUSED;
	p.telemetry.relay.oldest.any = true;
	p.telemetry.relay.oldest.waiting_ms = WP_READY_STALLED_MS;
	p.telemetry.relay.confirmed_ms = INT64_MIN;
	is_not_ready("an event has been waiting for 60 s to be sent: Kafka does not accept it");
	p.telemetry.relay.sink_reachable = false;
	is_not_ready("an event has been waiting for 60 s to be sent: Kafka is not reachable");
	p.telemetry.relay.oldest.waiting_ms = WP_READY_STALLED_MS - 1;
	CHECK(verdict().ready);
}

static void parked_events_are_no_reason_to_be_unready(void **state)
{
	park_some();
	is_ready("parked events: 17, aggregates: 3 (walpost parked list)");
}

static void one_that_waits_to_be_parked_is_a_stall(void **state)
{
	struct wp_relay_snapshot *r = &p.telemetry.relay;

	park_some();
	r->parking.trouble = "permission denied for table parked";
	r->parking.trouble_ms = NOW_MS - 2 * WP_READY_STALLED_MS;
	r->in_flight = 7;
	r->oldest.any = true;
	r->oldest.waiting_ms = WP_READY_STALLED_MS;
	is_ready("parked events cannot be read or written: permission denied");
	r->confirmed_ms = NOW_MS - WP_READY_STALLED_MS / 2; /* now the others wait too */
	is_not_ready("an event has been waiting for 60 s to be parked: permission denied");
}

static void while_it_is_not_known_what_is_parked_nothing_flows(void **state)
{
	struct wp_relay_snapshot *r = &p.telemetry.relay;

	r->state = WP_PAUSED;
	r->parking.on = true;
	r->parking.trouble = "permission denied for table parked";
	r->parking.trouble_ms = NOW_MS - WP_READY_STALLED_MS + 1;
	is_ready("parked events cannot be read");
	r->parking.trouble_ms = NOW_MS - WP_READY_STALLED_MS;
	is_not_ready("parked events have not been readable for 60 s: permission denied");
	r->parking.ready = true;
	CHECK(verdict().ready);
}

static void until_kafka_was_reached_once_nobody_is_ready(void **state)
{
	p.telemetry.relay.sink_reachable = p.telemetry.relay.sink_reached = false;
	is_not_ready("Kafka has not been reached yet");
	CHECK_EQ(verdict().reason_count, 1);
	p.telemetry.relay.state = WP_STANDBY;
	is_not_ready("Kafka has not been reached yet");
}

static void a_server_that_says_nothing_is_noticed_while_it_is_read(void **state)
{
	p.telemetry.relay.heard_ms = NOW_MS - WP_READY_DEAF_MS;
	is_not_ready("nothing was received from the server for 60 s");
	p.telemetry.relay.state = WP_PAUSED;
	is_ready(NULL);
}

static void a_missing_topic_is_named(void **state)
{
	p.telemetry.relay.state = WP_PAUSED;
	p.telemetry.relay.waiting = true;
	p.telemetry.relay.waiting_topic = "outbox.event.order";
	is_not_ready("topic outbox.event.order, which is missing or forbidden");
}

static void a_schema_id_that_is_not_known_is_named(void **state)
{
	p.telemetry.relay.state = WP_PAUSED;
	p.telemetry.relay.waiting_subject = "orders-value";
	is_not_ready("waiting for the schema id of subject orders-value");
	CHECK_EQ(verdict().reason_count, 1);
	p.telemetry.relay.oldest =
		(struct wp_relay_oldest){ .any = true, .waiting_ms = WP_READY_STALLED_MS };
	p.telemetry.relay.confirmed_ms = INT64_MIN;
	is_not_ready("waiting for the schema id of subject orders-value");
	CHECK_EQ(verdict().reason_count, 1); /* it is no matter of Kafka's */
}

static void a_right_that_the_kafka_user_lacks_is_told(void **state)
{
	p.telemetry.relay.state = WP_BACKING_OFF; /* at times: the client begins anew */
	p.telemetry.relay.waiting = true;
	is_not_ready("the Kafka user lacks a permission");
}

static void one_that_is_refused_again_and_again_is_not_ready(void **state)
{
	p.telemetry.relay.stalled_ms = p.telemetry.now.ms - 20000;
	p.telemetry.relay.confirmed_ms = p.telemetry.now.ms;
	p.telemetry.relay.repeats = true;
	is_not_ready("Kafka has refused an event again and again for 20 s");
}

/* All that an error can hold: it ends with what is to be pasted. */
static void a_cure_is_never_cut(void **state)
{
	static char long_error[sizeof(((struct wp_error *)0)->text)];

	memset(long_error, 'x', sizeof(long_error) - 1);
	memcpy(long_error + sizeof(long_error) - 17, "x moves the slot", 17);
	p.telemetry.relay.state = WP_HELD;
	p.telemetry.relay.halt_event = "event_undeliverable";
	p.telemetry.relay.halt_error = long_error;
	is_not_ready("x moves the slot");
}

static void one_that_is_held_is_live_and_not_ready_and_says_error(void **state)
{
	p.telemetry.relay.state = WP_HELD;
	p.telemetry.relay.halt_event = "slot_moved";
	p.telemetry.relay.halt_error = "somebody moved it";
	is_not_ready("stopped, operator action is required (slot_moved): somebody moved it");
}

static void one_that_stops_is_not_ready(void **state)
{
	p.telemetry.relay.stopping = true;
	is_not_ready("stopping");
	p.telemetry.relay.halt_event = "sink_stuck";
	p.telemetry.relay.halt_error = "no new client";
	is_not_ready("stopping (sink_stuck): no new client");
}

static void a_slot_that_is_lost_or_loses_events_is_no_health(void **state)
{
	p.telemetry.relay.slot.suspect = true;
	is_not_ready("events may be lost");
	p.telemetry.relay.slot.suspect = false;
	p.telemetry.relay.slot.keeping = WP_KEEPING_LOST;
	is_not_ready("the slot orders is lost");
	p.telemetry.relay.slot.keeping = WP_KEEPING_UNRESERVED;
	is_ready("may be lost at the next checkpoint");
}

static void what_is_good_to_know_is_told(void **state)
{
	p.telemetry.relay.slot.seconds = 240;
	is_ready("may be lost in about 240 s");
	p.telemetry.relay.slot.seconds = INT64_MAX;
	p.telemetry.relay.sink_reachable = false;
	is_ready("Kafka was not reachable");
	p.telemetry.relay.sink_reachable = true;
	p.telemetry.relay.isolating = true;
	is_ready("one by one");
}

static void the_texts_say_the_word_first(void **state)
{
	struct wp_buffer into;
	struct wp_health_verdict v = verdict();

	wp_buffer_init(&into, 4096);
	CHECK_EQ(wp_livez_text(&into, &v), WP_OK);
	CHECK_SPAN(wp_buffer_span(&into), "ok\n");
	wp_buffer_reset(&into);
	p.telemetry.relay.slot.suspect = true;
	v = verdict();
	CHECK_EQ(wp_livez_text(&into, &v), WP_OK);
	CHECK_SPAN(wp_buffer_span(&into), "ok\n"); /* its reasons are those of readiness */
	wp_buffer_reset(&into);
	v = (struct wp_health_verdict){ .reasons = { "late", "far" }, .reason_count = 2 };
	CHECK_EQ(wp_livez_text(&into, &v), WP_OK);
	CHECK_SPAN(wp_buffer_span(&into), "stuck\nlate\nfar\n");
	wp_buffer_reset(&into);
	CHECK_EQ(wp_readyz_text(&into, &v), WP_OK);
	CHECK_SPAN(wp_buffer_span(&into), "not ready\nlate\nfar\n");
	wp_buffer_reset(&into);
	v = (struct wp_health_verdict){ .reasons = { "\x1B[2J\xC2\x9B\nready" },
					.reason_count = 1 };
	CHECK_EQ(wp_readyz_text(&into, &v), WP_OK);
	CHECK_SPAN(wp_buffer_span(&into), "not ready\n\\x1b[2J\\u009B\\x0aready\n");
	wp_buffer_release(&into);
}

static void more_reasons_than_there_is_room_for_are_left_out(void **state)
{
	p.telemetry.step_due_ms = p.telemetry.relay.deadline_ms = 0;
	p.telemetry.relay.heard_ms = 0;
	p.telemetry.relay.entered_ms = 0;
	p.telemetry.relay.confirmed_ms = 0;
	p.telemetry.relay.in_flight = 1;
	p.telemetry.relay.oldest = (struct wp_relay_oldest){ true, 0, NOW_MS };
	p.telemetry.relay.waiting = true;
	p.telemetry.relay.waiting_topic = "t";
	p.telemetry.relay.sink_reachable = false;
	p.telemetry.relay.slot = (struct wp_relay_slot){
		.known = true, .keeping = WP_KEEPING_LOST, .suspect = true, .seconds = 5
	};
	p.telemetry.relay.isolating = true;
	CHECK_EQ(verdict().reason_count, WP_VITALS_REASONS_MAX);
}

int main(void)
{
	return RUN(
		TEST(one_that_streams_is_live_and_ready), TEST(a_turn_that_does_not_come_is_death),
		TEST(a_state_that_does_not_end_is_death), TEST(a_standby_is_ready_and_says_so),
		TEST(a_standby_behind_a_client_that_is_no_relay_is_not_ready),
		TEST(what_the_server_withholds_is_told_once_it_is_stalled),
		TEST(before_the_first_stream_it_is_not_ready),
		TEST(connecting_again_counts_after_a_while),
		TEST(catching_up_with_progress_is_ready_however_far_behind),
		TEST(events_without_any_report_are_a_stall),
		TEST(an_event_that_cannot_be_sent_is_a_stall_too),
		TEST(parked_events_are_no_reason_to_be_unready),
		TEST(one_that_waits_to_be_parked_is_a_stall),
		TEST(while_it_is_not_known_what_is_parked_nothing_flows),
		TEST(until_kafka_was_reached_once_nobody_is_ready),
		TEST(a_server_that_says_nothing_is_noticed_while_it_is_read),
		TEST(a_missing_topic_is_named), TEST(a_schema_id_that_is_not_known_is_named),
		TEST(a_right_that_the_kafka_user_lacks_is_told),
		TEST(one_that_is_refused_again_and_again_is_not_ready), TEST(a_cure_is_never_cut),
		TEST(one_that_is_held_is_live_and_not_ready_and_says_error),
		TEST(one_that_stops_is_not_ready),
		TEST(a_slot_that_is_lost_or_loses_events_is_no_health),
		TEST(what_is_good_to_know_is_told), TEST(the_texts_say_the_word_first),
		TEST(more_reasons_than_there_is_room_for_are_left_out));
}
