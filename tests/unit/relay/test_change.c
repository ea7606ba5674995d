/* A new task for a running relay: where it takes effect, and what is taken back. */
#include <stdlib.h>

#include "bench.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/rows.h"

#define SLOT 0x1000

static struct bench *const b = &bench;
static struct wp_outbox_options other; /* as the first, but for the topic */
static struct wp_outboxes others;
/* Nobody looks into it here. */
static const struct wp_relay_task task = { &others,
					   (const struct wp_requirements *)(const void *)"" };

static int set_up(void **state)
{
	begin(SLOT);
	b->options.in_flight_events = 16;
	other = b->outbox;
	other.topic_replacement = "new.${routedByValue}";
	others = only(&other, "");
	return build() == WP_OK ? 0 : -1;
}

static void change(void)
{
	CHECK_EQ(wp_relay_reload(b->relay, &task, &b->error), WP_OK);
}

static void start(void)
{
	CHECK_STATE("connecting");
	b->source.view.state = WP_SOURCE_READY;
	step();
	CHECK_STATE("starting");
	b->source.view.state = WP_SOURCE_STREAMING;
	step();
	CHECK_STATE("streaming");
}

static void stream(void)
{
	step();
	start();
}

static void confirm_all(void)
{
	size_t count = b->sink.view.in_flight;

	for (size_t i = b->sink.sent_count - count; i < b->sink.sent_count; i++)
		scripted_sink_confirm(&b->sink, b->sink.sent[i].ticket);
	step();
}

#define CHECK_TOPIC(topic_) CHECK_TEXT(scripted_sink_last(&b->sink)->topic, (topic_))

static void the_next_transaction_goes_by_the_new_task(void **state)
{
	stream();
	one_event(0x2000, "1");
	CHECK_TOPIC("outbox.event.order");
	change();
	step();
	CHECK_STATE("paused"); /* until nothing is in flight */
	confirm_all();
	CHECK_HAS(b->events, "I:outbox_changed");
	CHECK(b->source.wanted == task.wanted);
	CHECK_EQ(b->source.status.flush, 0x2008); /* said before it closed */
	start();
	CHECK_EQ(b->source.start_at, 0x2008);
	one_event(0x3000, "2");
	CHECK_TOPIC("new.order");
	confirm_all();
	CHECK_EQ(b->snapshot.confirmed_lsn, 0x3008);
	CHECK_EQ(b->snapshot.changes, 1);
	CHECK_EQ(b->snapshot.changes_refused, 0);
}

static void a_transaction_is_not_torn(void **state)
{
	stream();
	send_begin(0x2000);
	send_relation(OUTBOX, "outbox");
	send_row_of(OUTBOX, "1", "k");
	step();
	change();
	step();
	CHECK_STATE("streaming");
	send_row_of(OUTBOX, "2", "k");
	step();
	CHECK_TOPIC("outbox.event.order");
	CHECK_EQ(b->snapshot.changes, 0);
	send_commit(0x2000);
	step();
	CHECK_EQ(b->snapshot.changes, 0);
	confirm_all();
	CHECK_EQ(b->snapshot.changes, 1);
	start();
	CHECK_EQ(b->source.start_at, 0x2008);
}

/* However many come at once, the boundary between two is not passed over. */
static void it_takes_effect_behind_the_first_commit(void **state)
{
	stream();
	send_begin(0x2000);
	send_relation(OUTBOX, "outbox");
	step();
	change();
	send_row_of(OUTBOX, "1", "k");
	send_commit(0x2000);
	send_begin(0x3000);
	send_row_of(OUTBOX, "2", "k");
	step();
	CHECK_EQ(b->sink.sent_count, 1);
	confirm_all();
	CHECK_EQ(b->sink.sent_count, 1);
	start();
	CHECK_EQ(b->source.start_at, 0x2008);
}

static void one_that_waits_for_a_topic_may_be_mended_so(void **state)
{
	stream();
	send_begin(0x2000);
	send_relation(OUTBOX, "outbox");
	send_row_of(OUTBOX, "1", "k");
	b->sink.answer = WP_AGAIN;
	b->sink.view.state = WP_SINK_WAITING;
	(void)strcpy(b->sink.view.topic, "outbox.event.order");
	step();
	CHECK_STATE("paused");
	change();
	b->sink.answer = WP_OK;
	step();
	CHECK_STATE("connecting");
	b->sink.view.state = WP_SINK_READY;
	start();
	CHECK_EQ(b->source.start_at, SLOT);
	one_event(0x2000, "1");
	CHECK_TOPIC("new.order");
}

static void what_waits_in_the_sink_for_a_topic_is_made_anew_by_the_change(void **state)
{
	stream();
	one_event(0x2000, "1");
	b->sink.view.queued = 1;
	b->sink.view.state = WP_SINK_WAITING;
	(void)strcpy(b->sink.view.topic, "outbox.event.order");
	step();
	CHECK_STATE("paused");
	unsigned purges = b->sink.purges;
	change();
	step();
	CHECK_STATE("connecting");
	CHECK_EQ(b->sink.purges, purges + 1);
	CHECK_EQ(b->snapshot.changes, 1);
	b->sink.view.state = WP_SINK_READY;
	start();
	CHECK_EQ(b->source.start_at, SLOT);
	one_event(0x2000, "1");
	CHECK_TOPIC("new.order");
}

static void without_a_stream_it_takes_effect_at_once(void **state)
{
	change();
	step();
	CHECK_EQ(b->snapshot.changes, 1);
	start();
	one_event(0x2000, "1");
	CHECK_TOPIC("new.order");
}

static void a_standby_asks_anew(void **state)
{
	step();
	b->source.view.facts.slot_active = true;
	b->source.view.state = WP_SOURCE_READY;
	step();
	CHECK_STATE("standby");
	change();
	step();
	CHECK_STATE("connecting");
	CHECK(b->source.wanted == task.wanted);
}

static void what_the_server_refuses_is_taken_back(void **state)
{
	stream();
	one_event(0x2000, "1");
	change();
	confirm_all();
	CHECK_STATE("connecting");
	scripted_source_fail(&b->source, WP_REACT_STOP_CONFIG, "");
	step();
	CHECK_HAS(b->events, "E:reload_refused");
	CHECK_HAS(b->last.text, "as scripted; the previous configuration of events");
	CHECK_EQ(b->snapshot.changes_refused, 1);
	CHECK(b->source.wanted == NULL);
	CHECK(!wp_relay_uses(b->relay, &others));
	start();
	one_event(0x3000, "2");
	CHECK_TOPIC("outbox.event.order");
}

static void what_the_first_row_shows_to_be_wrong_is_taken_back(void **state)
{
	other.headers = "no_such_column";
	stream();
	change();
	step();
	start();
	send_begin(0x2000);
	send_relation(OUTBOX, "outbox");
	step();
	CHECK_HAS(b->events, "E:reload_refused");
	CHECK_HAS(b->last.text, "no_such_column");
	start();
	CHECK_EQ(b->source.start_at, SLOT);
	one_event(0x2000, "1");
	CHECK_TOPIC("outbox.event.order");
}

/* Once events were made by it, there is no way back. */
static void what_proved_good_stays(void **state)
{
	stream();
	change();
	step();
	start();
	CHECK(wp_relay_uses(b->relay, &b->outboxes));
	one_event(0x2000, "1");
	step();
	CHECK(!wp_relay_uses(b->relay, &b->outboxes));
	CHECK(wp_relay_uses(b->relay, &others));
	scripted_source_fail(&b->source, WP_REACT_STOP_HUMAN, "");
	step();
	CHECK_HAS(b->events, "E:stream_refused");
	CHECK_EQ(b->snapshot.changes_refused, 0);
}

static void a_second_one_before_the_first_proved_good_falls_back_behind_both(void **state)
{
	struct wp_outboxes third = only(&other, "");

	stream();
	change();
	step();
	CHECK_EQ(wp_relay_reload(b->relay, &(struct wp_relay_task){ &third, NULL }, &b->error),
		 WP_OK);
	step();
	CHECK(!wp_relay_uses(b->relay, &others));
	scripted_source_fail(&b->source, WP_REACT_STOP_CONFIG, "");
	step();
	start();
	one_event(0x2000, "1");
	CHECK_TOPIC("outbox.event.order");
	CHECK(!wp_relay_uses(b->relay, &third));
}

/* Once a stream began with the first, it is what is gone back to. */
static void a_second_one_falls_back_to_the_first_that_the_server_took(void **state)
{
	struct wp_outboxes third = only(&b->outbox, "");

	stream();
	change();
	step();
	start();
	CHECK_EQ(wp_relay_reload(b->relay, &(struct wp_relay_task){ &third, NULL }, &b->error),
		 WP_OK);
	step();
	scripted_source_fail(&b->source, WP_REACT_STOP_CONFIG, "");
	step();
	CHECK_HAS(b->events, "E:reload_refused");
	start();
	one_event(0x2000, "1");
	CHECK_TOPIC("new.order");
	CHECK(!wp_relay_uses(b->relay, &third));
}

/* However long no event came: a slot that is lost, say. */
static void what_the_server_refuses_after_it_took_the_task_is_no_matter_of_it(void **state)
{
	stream();
	change();
	step();
	start();
	scripted_source_fail(&b->source, WP_REACT_STOP_HUMAN, "");
	step();
	CHECK_HAS(b->events, "E:stream_refused");
	CHECK_EQ(b->snapshot.changes_refused, 0);
}

static void a_relay_that_stops_takes_no_new_task(void **state)
{
	stream();
	send_begin(0x2000);
	step();
	change();
	wp_relay_stop(b->relay, now());
	CHECK_EQ(wp_relay_reload(b->relay, &task, &b->error), WP_CONFIG);
	CHECK_HAS(b->error.text, "is stopping");
	send_commit(0x2000);
	step();
	step();
	CHECK_STATE("finishing");
	CHECK_EQ(b->snapshot.changes, 0);
}

static void without_memory_all_stays(void **state)
{
	stream();
	change();
	memory_fails_after(0);
	step();
	memory_works();
	CHECK_HAS(b->events, "E:reload_refused");
	CHECK_STATE("streaming");
	one_event(0x2000, "1");
	CHECK_TOPIC("outbox.event.order");
}

/* Taken back all the same, it would be missing: the stream goes on behind it. */
static void without_memory_the_sink_keeps_what_waits_for_a_topic(void **state)
{
	stream();
	one_event(0x2000, "1");
	b->sink.view.queued = 1;
	b->sink.view.state = WP_SINK_WAITING;
	(void)strcpy(b->sink.view.topic, "outbox.event.order");
	step();
	CHECK_STATE("paused");
	unsigned purges = b->sink.purges;
	change();
	memory_fails_after(0);
	step();
	memory_works();
	CHECK_HAS(b->events, "E:reload_refused");
	CHECK_EQ(b->sink.purges, purges);
	b->sink.view.queued = 0;
	b->sink.view.state = WP_SINK_READY;
	confirm_all();
	CHECK_STATE("streaming");
	CHECK_EQ(b->snapshot.confirmed_lsn, 0x2008);
}

int main(void)
{
	return RUN(TEST(the_next_transaction_goes_by_the_new_task), TEST(a_transaction_is_not_torn),
		   TEST(it_takes_effect_behind_the_first_commit),
		   TEST(one_that_waits_for_a_topic_may_be_mended_so),
		   TEST(what_waits_in_the_sink_for_a_topic_is_made_anew_by_the_change),
		   TEST(without_a_stream_it_takes_effect_at_once), TEST(a_standby_asks_anew),
		   TEST(what_the_server_refuses_is_taken_back),
		   TEST(what_the_first_row_shows_to_be_wrong_is_taken_back),
		   TEST(what_proved_good_stays),
		   TEST(a_second_one_before_the_first_proved_good_falls_back_behind_both),
		   TEST(a_second_one_falls_back_to_the_first_that_the_server_took),
		   TEST(what_the_server_refuses_after_it_took_the_task_is_no_matter_of_it),
		   TEST(a_relay_that_stops_takes_no_new_task), TEST(without_memory_all_stays),
		   TEST(without_memory_the_sink_keeps_what_waits_for_a_topic));
}
