/* What a relay makes of what is seen beside its stream, and of the slot checkpoint at its start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "support/check.h"
#include "walpost/source/parked.h"

#define SLOT 0x1000
#define WATCH_MS 2000
#define SUSPECT_MS 250
#define MIB (INT64_C(1) << 20)

static struct bench *const b = &bench;
static struct wp_source_facts *const facts = &bench.source.view.facts;
static struct wp_slot_state *const slot_state = &bench.source.view.slot_state;

static int set_up(void **state)
{
	begin(SLOT);
	b->options.in_flight_events = 16;
	return build() == WP_OK ? 0 : -1;
}

#define CHECK_NOTED(event_) CHECK_HAS(b->events, (event_))
#define CHECK_NOT_NOTED(event_) assert_null(strstr(b->events, (event_)))

static void connect(void)
{
	step();
	b->source.view.state = WP_SOURCE_READY;
	step();
}

static void stream(void)
{
	connect();
	CHECK_STATE("starting");
	b->source.view.state = WP_SOURCE_STREAMING;
	step();
	CHECK_STATE("streaming");
}

static void reconnect(void)
{
	scripted_source_fail(&b->source, WP_REACT_RECONNECT, "");
	step();
	live(12 * 1000);
	b->source.view.state = WP_SOURCE_READY;
	step();
}

static void keepalive(wp_lsn wal_end)
{
	send_keepalive(wal_end, false);
	step();
}

static void confirm_last(void)
{
	scripted_sink_confirm(&b->sink, scripted_sink_last(&b->sink)->ticket);
	step();
}

/* A server that has nothing to say says so. */
static void live_long(int64_t ms)
{
	for (; ms > 10 * 1000; ms -= 10 * 1000) {
		live(10 * 1000);
		keepalive(b->snapshot.confirmed_lsn);
	}
	live(ms);
}

/* The question under way is answered: all is well, or what is wrong. */
static void answer(wp_lsn server_lsn, const char *loss)
{
	CHECK(slot_state->asking);
	slot_state->asking = false;
	slot_state->answers++;
	slot_state->server_lsn = server_lsn;
	(void)wp_error_set(&slot_state->loss, WP_OK, "%s", loss);
	step();
}

static void answer_safe_size(int64_t safe_size)
{
	slot_state->limited = true;
	slot_state->safe_size = safe_size;
	answer((wp_lsn)(4096 * MIB - safe_size), ""); /* the limit stays */
}

/* -- asking -------------------------------------------------------------------- */

static void a_stream_is_asked_about_every_two_seconds(void **state)
{
	stream();
	CHECK_EQ(b->source.watches, 0);
	live(WATCH_MS - 1);
	CHECK_EQ(b->source.watches, 0);
	live(1);
	CHECK_EQ(b->source.watches, 1);
	answer(SLOT, "");
	live(WATCH_MS);
	CHECK_EQ(b->source.watches, 2);
}

static void a_question_without_an_answer_is_not_asked_again(void **state)
{
	stream();
	live_long(60 * 1000);
	CHECK_EQ(b->source.watches, 1);
	CHECK_STATE("streaming");
	slot_state->asking = false; /* it failed */
	step();
	CHECK_EQ(b->source.watches, 2);
}

static void a_server_that_answers_slowly_is_asked_more_seldom(void **state)
{
	stream();
	live(WATCH_MS);
	b->now_ms += 500;
	answer(SLOT, ""); /* one alone may have waited for us */
	live(1500);
	CHECK_EQ(b->source.watches, 2);
	b->now_ms += 500;
	answer(SLOT, "");
	live(10 * 1000 - 501);
	CHECK_EQ(b->source.watches, 2);
	live(1);
	CHECK_EQ(b->source.watches, 3);
	live_long(12 * 1000);
	answer(SLOT, "");
	live_long(60 * 1000); /* once a minute at least */
	CHECK_EQ(b->source.watches, 4);
}

static void a_paused_relay_asks_too(void **state)
{
	stream();
	b->sink.answer = WP_AGAIN;
	one_event(0x2000, "1");
	CHECK_STATE("paused");
	live(WATCH_MS);
	CHECK_EQ(b->source.watches, 1);
}

/* -- what would lose events --------------------------------------------------------- */

static void break_it(void)
{
	live(WATCH_MS);
	unsigned watches = b->source.watches;
	answer(0x9000, "the table is not published; cure: add it");
	CHECK_NOTED("W:events_may_be_lost");
	CHECK_EQ(b->source.watches, watches);
	live(SUSPECT_MS); /* soon once more */
	CHECK_EQ(b->source.watches, watches + 1);
	answer(0x9100, "the table is not published; cure: add it");
}

static void a_paused_relay_learns_where_the_server_is(void **state)
{
	stream();
	live(2000);
	answer(facts->server_lsn + 5000, "");
	CHECK_EQ(b->snapshot.server, facts->server_lsn + 5000);
}

static void what_loses_events_stops_it_with_three(void **state)
{
	stream();
	live(WATCH_MS);
	answer(0x5000, "");
	live(WATCH_MS);
	answer(0x6000, "");
	break_it();
	CHECK_NOTED("E:events_would_be_lost");
	CHECK_HAS(b->error.text, "add it");
	/* Well at 6000, by an answer that may be older than the position in it: since 5000. */
	CHECK_HAS(b->error.text, "0/5000");
	CHECK_HAS(b->error.text, "0/9100");
	live(1);
	b->source.view.state = WP_SOURCE_FINISHED;
	step();
	CHECK_OVER(3);
}

static void before_the_first_answer_all_was_well_as_it_connected(void **state)
{
	facts->server_lsn = 0x4000;
	stream();
	break_it();
	CHECK_HAS(b->error.text, "0/4000");
}

static void nothing_is_confirmed_after_that_not_even_in_the_last_status(void **state)
{
	stream();
	one_event(0x2000, "1");
	confirm_last();
	live(200);
	CHECK_EQ(b->source.status.flush, 0x2008);
	one_event(0x3000, "2");
	live(WATCH_MS);
	answer(0x9000, "broken");
	keepalive(0x9000);
	confirm_last();
	live(1000);
	CHECK_EQ(b->source.status.flush, 0x2008);
	one_event(0x9500, "3");
	answer(0x9600, "broken");
	CHECK_STATE("draining");
	confirm_last();
	CHECK_EQ(b->source.finishes, 1);
	CHECK_EQ(b->source.status.flush, 0x2008);
}

static void one_bad_answer_is_forgiven_when_the_next_is_good(void **state)
{
	stream();
	live(WATCH_MS);
	answer(0x9000, "broken");
	one_event(0x2000, "1");
	confirm_last();
	live(SUSPECT_MS);
	CHECK(b->source.status.flush < 0x2008);
	answer(0x9000, "");
	live(200);
	CHECK_EQ(b->source.status.flush, 0x2008);
	CHECK_STATE("streaming");
	live(20 * 150);
	answer(0x9000, "broken");
	CHECK_STATE("streaming");
}

/* The log is kept meanwhile. */
static void a_bad_answer_without_another_is_told_each_minute(void **state)
{
	stream();
	live(WATCH_MS);
	answer(0x9000, "broken");
	CHECK_NOTED("W:events_may_be_lost");
	b->events[0] = '\0';
	live_long(59 * 1000);
	CHECK_NOT_NOTED("events_may_be_lost");
	live_long(2000);
	CHECK_NOTED("W:events_may_be_lost");
	CHECK_HAS(b->last.text, "broken. The server does not answer");
	CHECK_HAS(b->last.text, "nothing beyond 0/");
	answer(0x9000, "");
	b->events[0] = '\0';
	for (int i = 0; i < 40; i++) {
		live(WATCH_MS);
		if (slot_state->asking)
			answer(0x9000, "");
	}
	CHECK_NOT_NOTED("events_may_be_lost");
}

static void with_kafka_deaf_it_does_not_wait_long_for_reports(void **state)
{
	stream();
	one_event(0x2000, "1");
	break_it();
	CHECK_STATE("draining");
	live(3000);
	b->source.view.state = WP_SOURCE_FINISHED;
	step();
	CHECK_EQ(b->step, WP_STEP_OVER);
}

/* -- the log kept for the slot ---------------------------------------------------------- */

static void each_change_of_the_kept_log_is_told_once(void **state)
{
	stream();
	for (int i = 0; i < 3; i++) {
		live(WATCH_MS);
		slot_state->keeping = WP_KEEPING_EXTENDED;
		answer(SLOT, "");
	}
	CHECK_NOTED("W:slot_extended");
	CHECK_EQ(strstr(strstr(b->events, "slot_extended") + 1, "slot_extended"), NULL);
	live(WATCH_MS);
	slot_state->keeping = WP_KEEPING_UNRESERVED;
	answer(SLOT, "");
	CHECK_NOTED("E:slot_unreserved");
	CHECK_HAS(b->last.text, "max_slot_wal_keep_size");
	live(WATCH_MS);
	slot_state->keeping = WP_KEEPING_RESERVED;
	answer(SLOT, "");
	CHECK_NOTED("I:slot_reserved");
}

static void the_guard_warns_and_then_calls(void **state)
{
	stream();
	for (int64_t i = 0; i < 10; i++) {
		live(WATCH_MS);
		answer_safe_size((2000 - 10 * i) * MIB); /* 5 MiB a second */
	}
	CHECK_NOTED("W:wal_guard");
	CHECK_HAS(b->last.text, " s: ");
	CHECK_HAS(b->last.text, "5242880 a second");
	CHECK_HAS(b->last.text, "max_slot_wal_keep_size");
	live(WATCH_MS);
	answer_safe_size(100 * MIB);
	CHECK_NOTED("E:wal_guard");
	CHECK_STATE("streaming");
	CHECK_EQ(wp_relay_exit_code(b->relay), 0);
}

/* -- writing down ------------------------------------------------------------------------ */

static void what_was_confirmed_is_written_down_soon_and_then_each_minute(void **state)
{
	stream();
	one_event(0x2000, "1");
	confirm_last();
	live(4999);
	CHECK_EQ(b->source.writes, 0);
	live(1);
	CHECK_EQ(b->source.writes, 1);
	CHECK_EQ(b->source.written, 0x2008);
	one_event(0x3000, "2");
	confirm_last();
	live_long(59 * 1000);
	CHECK_EQ(b->source.writes, 1);
	live(1000);
	CHECK_EQ(b->source.written, 0x3008);
}

static void what_names_another_owner_is_written_soon_and_without_any_progress(void **state)
{
	b->source.view.unclaimed = true;
	stream();
	keepalive(SLOT + 1);
	live(19 * 1000);
	CHECK_EQ(b->source.writes, 10); /* each 2 s, until it could be written */
	CHECK_EQ(b->source.written, SLOT + 1);
	b->source.view.unclaimed = false;
	live_long(300 * 1000);
	CHECK_EQ(b->source.writes, 10);
}

/* Who finds its own name there is to know that no relay moved the slot. */
static void the_slot_is_not_moved_before_the_row_names_us(void **state)
{
	b->source.view.unclaimed = true;
	stream();
	one_event(0x2000, "1");
	confirm_last();
	live(5 * 1000);
	CHECK_EQ(b->source.written, SLOT);
	CHECK_EQ(b->source.status.flush, 0);
	b->source.view.unclaimed = false;
	live(1000);
	CHECK_EQ(b->source.status.flush, 0x2008);
}

/* Else the events that Kafka has confirmed would all come again. */
static void a_sink_that_fails_before_the_row_names_us_is_left_when_the_slot_may_move(void **state)
{
	b->source.view.unclaimed = true;
	stream();
	one_event(0x2000, "1");
	confirm_last();
	one_event(0x3000, "2");
	b->sink.view.state = WP_SINK_FAILED;
	b->sink.view.reaction = WP_REACT_STOP_HUMAN;
	step();
	live(1000);
	CHECK_STATE("draining");
	CHECK_EQ(b->source.status.flush, 0);
	b->source.view.unclaimed = false;
	step();
	CHECK_STATE("finishing");
	CHECK_EQ(b->source.status.flush, 0x2008);
}

static void a_sink_that_breaks_then_is_told_of_once(void **state)
{
	b->source.view.unclaimed = true;
	stream();
	one_event(0x2000, "1");
	wp_relay_stop(b->relay, now());
	step();
	b->sink.view.state = WP_SINK_BROKEN;
	live(2000);
	CHECK(noted("sink_broken"));
	b->events[0] = '\0';
	live(2000);
	CHECK_STATE("draining");
	CHECK(!noted("sink_broken"));
	b->source.view.unclaimed = false;
	step();
	CHECK_STATE("finishing");
}

/* What it refuses then is read again by who streams next, not by us. */
static void what_a_sink_refuses_before_the_row_names_us_is_told_as_no_rewind(void **state)
{
	b->source.view.unclaimed = true;
	stream();
	for (int i = 0; i < 4; i++)
		one_event(0x2000 + 0x1000 * (wp_lsn)i, "1");
	wp_relay_stop(b->relay, now());
	step();
	b->options.rewinds_max = 2;
	for (wp_ticket ticket = 1; ticket <= 4; ticket++) {
		b->events[0] = '\0';
		scripted_sink_refuse(&b->sink, ticket, WP_REACT_REWIND, false, "SOME_ERROR");
		step();
		CHECK_EQ(noted("event_refused"), ticket == 1);
	}
	CHECK_STATE("draining");
	b->source.view.unclaimed = false;
	step();
	CHECK_STATE("finishing");
	CHECK_EQ(wp_relay_exit_code(b->relay), 0);
}

static void a_row_that_cannot_be_written_is_not_waited_for_for_ever(void **state)
{
	b->source.view.unclaimed = true;
	stream();
	one_event(0x2000, "1");
	confirm_last();
	live(11 * 1000);
	CHECK_EQ(b->source.status.flush, 0x2008);
}

static void what_is_not_claimed_yet_is_written_at_once(void **state)
{
	b->source.view.unclaimed = true;
	stream();
	live(1);
	CHECK_EQ(b->source.writes, 1);
}

static void without_events_it_is_written_down_by_the_mebibyte(void **state)
{
	stream();
	keepalive(SLOT + (1 << 20) - 1);
	live_long(66 * 1000);
	CHECK_EQ(b->source.writes, 0);
	keepalive(SLOT + (1 << 20));
	live_long(66 * 1000);
	CHECK_EQ(b->source.writes, 1);
	live_long(300 * 1000);
	CHECK_EQ(b->source.writes, 1);
}

/* -- is anything confirmed? --------------------------------------------------------------- */

#define STALLED_MS (15 * 1000)

static void what_waits_for_kafka_too_long_is_told_to_the_row(void **state)
{
	stream();
	live(30 * 1000);
	one_event(0x2000, "1");
	b->sink.view.reachable = false;
	(void)wp_error_set(&b->sink.view.error, WP_IO, "kafka:9092: Connection refused");
	live(STALLED_MS - 1);
	CHECK_TEXT(b->source.trouble, "");
	unsigned writes = b->source.writes;
	live(1);
	CHECK_TEXT(b->source.trouble, "Kafka is not reachable: kafka:9092: Connection refused");
	CHECK_EQ(b->source.trouble_ms, STALLED_MS);
	CHECK_EQ(b->source.writes, writes + 1);
	live_long(300 * 1000);
	CHECK_EQ(b->source.writes, writes + 1); /* once */
	confirm_last();
	CHECK_TEXT(b->source.trouble, "");
	CHECK_EQ(b->source.writes, writes + 2);
}

static void reports_that_come_are_no_stall_however_old_the_oldest_is(void **state)
{
	stream();
	one_event(0x2000, "1");
	for (wp_lsn at = 0x3000; at < 0x3000 + 8 * 0x100; at += 0x100) {
		one_event(at, "2");
		live(STALLED_MS / 2);
		confirm_last();
	}
	CHECK_TEXT(b->source.trouble, "");
}

static void neither_idle_nor_a_transaction_on_its_way_is_a_stall(void **state)
{
	stream();
	b->sink.view.reachable = false; /* and nothing waits for it */
	live_long(120 * 1000);
	send_begin(0x2000);
	step();
	live_long(120 * 1000);
	CHECK_TEXT(b->source.trouble, "");
}

static void a_stall_outlives_a_new_stream(void **state)
{
	stream();
	one_event(0x2000, "1");
	live(STALLED_MS);
	CHECK_HAS(b->source.trouble, "Kafka answers, but confirms nothing");
	reconnect();
	b->source.view.state = WP_SOURCE_STREAMING;
	step();
	one_event(0x2000, "1");
	live(STALLED_MS / 2);
	CHECK_HAS(b->source.trouble, "Kafka answers, but confirms nothing");
	confirm_last();
	CHECK_TEXT(b->source.trouble, "");
}

static void what_waited_while_there_was_no_stream_has_not_waited_for_kafka(void **state)
{
	stream();
	reconnect();
	live(STALLED_MS * 2);
	b->source.view.state = WP_SOURCE_STREAMING;
	send_event(0x2000, "1");
	step();
	CHECK_TEXT(b->source.trouble, "");
	live(STALLED_MS - 1);
	CHECK_TEXT(b->source.trouble, "");
}

/* -- events that are to be parked --------------------------------------------------------- */

/* A table without rows, whose server answers or does not. */
static struct {
	struct wp_parked_store store;
	struct wp_parked_view view;
	bool answers;
	uint64_t put[16];
	size_t put_count;
} table;

static void table_open(struct wp_parked_store *s, wp_lsn from, size_t aggregates_max)
{
	table.view.state = table.answers ? WP_PARKED_READY : WP_PARKED_OPENING;
}

static void table_set_taken(struct wp_parked_store *s)
{
}

static void table_close(struct wp_parked_store *s)
{
	table.view.state = WP_PARKED_CLOSED;
}

static enum wp_rc table_put(struct wp_parked_store *s, uint64_t ticket, struct wp_span row)
{
	table.put[table.put_count++] = ticket;
	return WP_OK;
}

static size_t table_collect(struct wp_parked_store *s, uint64_t *tickets, size_t max)
{
	size_t count = table.answers ? table.put_count : 0;

	memcpy(tickets, table.put, count * sizeof(*tickets));
	table.put_count -= count;
	return count;
}

static enum wp_rc table_change(struct wp_parked_store *s, const struct wp_parked_change *changes,
			       size_t count)
{
	return WP_OK;
}

static void table_load(struct wp_parked_store *s, const struct wp_parked_choice *choices,
		       size_t count, size_t size_max)
{
}

static void table_look(struct wp_parked_store *s)
{
}

static const struct wp_parked_view *table_view(struct wp_parked_store *s)
{
	return &table.view;
}

static const struct wp_parked_store_ops TABLE = {
	.open = table_open,
	.set_taken = table_set_taken,
	.close = table_close,
	.put = table_put,
	.collect = table_collect,
	.change = table_change,
	.load = table_load,
	.look = table_look,
	.view = table_view,
};

static void the_table_fails(void)
{
	table.answers = false;
	(void)wp_error_set(&table.view.error, WP_IO, "permission denied for table parked");
}

static void the_table_is_cured(void)
{
	table.answers = true;
	table.view.error.text[0] = '\0';
	if (table.view.state == WP_PARKED_OPENING)
		table.view.state = WP_PARKED_READY;
}

static void rebuild_parking(void)
{
	wp_relay_free(b->relay);
	memset(&table, 0, sizeof(table));
	table.store.ops = &TABLE;
	table.answers = true;
	b->parked = &table.store;
	b->options.poison = WP_POISON_PARK;
	b->options.park = (struct wp_park_options){
		.aggregates_max = 100,
		.events_max = 100,
		.retry_first_ms = 1 << 30,
		.retry_max_ms = 1 << 30,
	};
	CHECK_EQ(build(), WP_OK);
}

static void what_cannot_be_parked_is_told_to_the_row_and_in_the_snapshot(void **state)
{
	rebuild_parking();
	stream();
	CHECK(b->snapshot.parking.on && b->snapshot.parking.ready);
	the_table_fails();
	send_begin(0x2000);
	send_relation(OUTBOX, "outbox");
	send_row_of(OUTBOX, "guilty", NULL);
	send_commit(0x2000);
	step();
	CHECK_TEXT(b->snapshot.parking.trouble, "");
	int64_t began_ms = b->now_ms;
	live(STALLED_MS);
	CHECK_TEXT(b->source.trouble,
		   "events cannot be parked: permission denied for table parked");
	CHECK_TEXT(b->snapshot.parking.trouble, "permission denied for table parked");
	CHECK_EQ(b->snapshot.parking.trouble_ms, began_ms);
	CHECK_EQ(b->snapshot.parking.parked, 1);
	CHECK_EQ(b->snapshot.confirmed_lsn, SLOT);
	the_table_is_cured();
	step();
	CHECK_TEXT(b->source.trouble, "");
	CHECK_TEXT(b->snapshot.parking.trouble, "");
	CHECK_EQ(b->snapshot.confirmed_lsn, 0x2008);
}

static void until_it_is_known_what_is_parked_the_log_waits_and_that_is_a_stall(void **state)
{
	rebuild_parking();
	the_table_fails();
	connect();
	b->source.view.state = WP_SOURCE_STREAMING;
	step();
	CHECK_STATE("paused");
	send_event(0x2000, "1");
	live(STALLED_MS + 5000); /* of these it is no trouble yet for some seconds */
	CHECK_EQ(b->sink.sent_count, 0);
	CHECK(!b->snapshot.parking.ready);
	CHECK_TEXT(b->source.trouble,
		   "parked events cannot be read: permission denied for table parked");
	the_table_is_cured();
	live(1000);
	CHECK_EQ(b->sink.sent_count, 1);
	confirm_last();
	CHECK_TEXT(b->source.trouble, "");
}

/* -- a gap at the start ------------------------------------------------------------------- */

static void had(const char *owner, wp_lsn confirmed, bool stopped)
{
	(void)snprintf(facts->slot_checkpoint_owner, WP_OWNER_SIZE, "%s", owner);
	(void)snprintf(facts->slot_checkpoint_confirmed_at,
		       sizeof(facts->slot_checkpoint_confirmed_at), "2026-01-02 03:04:05 UTC");
	facts->slot_checkpoint_confirmed = confirmed;
	facts->slot_checkpoint_stopped = stopped;
	facts->slot_checkpoint_system_id = facts->system_id;
}

static void check_refused(const char *how)
{
	CHECK_OVER(3);
	CHECK_EQ(b->source.starts, 0);
	CHECK_NOTED("E:slot_moved");
	CHECK_HAS(b->error.text, how);
}

static void a_slot_beyond_a_good_stop_is_refused_in_words(void **state)
{
	had("host:1", SLOT - 1, true);
	connect();
	check_refused("it stopped cleanly there");
	CHECK_HAS(b->error.text, "slot walpost is at 0/1000");
	CHECK_HAS(b->error.text,
		  "relay host:1 had confirmed only 0/FFF at 2026-01-02 03:04:05 UTC");
	CHECK_HAS(b->error.text, "the 1 bytes of WAL");
	CHECK_HAS(b->error.text, "walpost slot accept");
	CHECK(strlen(b->error.text) < sizeof(b->error.text) - 1); /* not cut */
}

static void a_halt_is_told_to_the_row_with_the_last_word(void **state)
{
	had("host:1", SLOT - 1, true);
	connect();
	check_refused("it stopped cleanly there");
	CHECK(strncmp(b->source.trouble, "slot_moved: slot walpost is at 0/1000", 37) == 0);
	CHECK_EQ(b->source.parts, 1);
}

static void a_slot_at_or_before_a_good_stop_is_fine(void **state)
{
	for (wp_lsn confirmed = SLOT; confirmed <= SLOT + 1; confirmed++) {
		had("host:1", confirmed, true);
		facts->server_lsn = SLOT + 1;
		stream();
		CHECK_NOT_NOTED("slot_beyond");
		wp_relay_free(b->relay);
		CHECK_EQ(set_up(state), 0);
	}
}

static void a_slot_beyond_what_a_killed_one_wrote_is_told_and_taken(void **state)
{
	had("host:1", SLOT - 10, false);
	stream();
	CHECK_NOTED("I:slot_beyond_checkpoint");
	CHECK_NOT_NOTED("E:");
}

static void a_slot_that_has_decoded_less_than_then_was_made_anew(void **state)
{
	had("host:1", SLOT - 10, false);
	facts->slot_checkpoint_transactions = 7;
	facts->slot_transactions = 6;
	connect();
	check_refused("fewer transactions");
}

static void what_has_decoded_as_many_or_cannot_be_compared_is_fine(void **state)
{
	static const int64_t pairs[][2] = { { 7, 7 }, { 7, 8 }, { -1, 0 }, { 7, -1 }, { 0, 0 } };

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		had("host:1", SLOT - 10, false);
		facts->slot_checkpoint_transactions = pairs[i][0];
		facts->slot_transactions = pairs[i][1];
		stream();
		wp_relay_free(b->relay);
		CHECK_EQ(set_up(state), 0);
	}
}

/* Timeline 1 ended at `at`; the server is on 2. */
static void promote(wp_lsn at)
{
	facts->timelines = (struct wp_timelines){ .current = 2, .count = 1 };
	facts->timelines.past[0].timeline = 1;
	facts->timelines.past[0].ends_at = at;
}

static void a_slot_beyond_the_end_of_its_timeline_was_made_after_the_promotion(void **state)
{
	had("host:1", SLOT - 100, false);
	promote(SLOT - 1);
	connect();
	check_refused("promoted or restored");
}

static void a_slot_that_came_over_with_the_promotion_is_fine(void **state)
{
	had("host:1", SLOT - 100, false);
	promote(SLOT);
	stream();
	CHECK_NOTED("I:timeline_changed");
}

static void without_its_history_a_timeline_says_nothing(void **state)
{
	had("host:1", SLOT - 100, false);
	facts->timelines = (struct wp_timelines){ .current = 2 };
	stream();
}

static void a_server_behind_what_was_confirmed_is_an_older_one(void **state)
{
	had("host:1", SLOT + 100, true);
	facts->server_lsn = SLOT + 99;
	facts->slot_checkpoint_epoch = 3;
	b->options.epoch = 3;
	connect();
	check_refused("relay.epoch = 4");
}

static void what_can_not_be_read_just_now_accuses_nobody(void **state)
{
	stream();
	facts->slot_checkpoint_readable = false;
	facts->slot_checkpoint_unsure = true;
	facts->slot_confirmed = SLOT + 200;
	reconnect();
	CHECK_EQ(wp_relay_exit_code(b->relay), 0);
	CHECK_STATE("starting");
}

static void a_lowered_epoch_is_refused(void **state)
{
	had("another", SLOT, true);
	facts->slot_checkpoint_epoch = 3;
	b->options.epoch = 2;
	connect();
	CHECK_NOTED("E:epoch_lowered");
	CHECK_HAS(b->error.text, "relay another sent events of this slot with epoch 3");
	CHECK_HAS(b->error.text, "Set relay.epoch = 3");
	CHECK_EQ(wp_relay_exit_code(b->relay), 3);
	CHECK_EQ(b->source.starts, 0);
}

static void a_relay_in_standby_learns_of_a_higher_epoch(void **state)
{
	facts->slot_active = true;
	connect();
	CHECK_STATE("standby");
	had("another", SLOT, false);
	facts->slot_checkpoint_epoch = 1;
	live(2000);
	b->source.view.state = WP_SOURCE_READY;
	step();
	CHECK_NOTED("E:epoch_lowered");
}

/* Both saw the slot free and wrote the row; had a relay been first, its name would be there. */
static void who_lost_the_race_for_a_free_slot_knows_that_no_relay_moved_it(void **state)
{
	connect();
	CHECK_STATE("starting");
	scripted_source_fail(&b->source, WP_REACT_RECONNECT, "55006");
	step();
	had("us", SLOT, false);
	facts->slot_checkpoint_taken_at = SLOT;
	facts->slot_confirmed = SLOT + 100;
	live(12 * 1000);
	b->source.view.state = WP_SOURCE_READY;
	step();
	CHECK_NOTED("E:slot_moved");
}

static void who_streamed_before_and_lost_the_race_knows_it_too(void **state)
{
	stream();
	reconnect();
	CHECK_STATE("starting");
	scripted_source_fail(&b->source, WP_REACT_STANDBY, "55006");
	step();
	had("us", SLOT, false); /* we wrote it last */
	facts->slot_checkpoint_taken_at = SLOT;
	live(12 * 1000);
	b->source.view.state = WP_SOURCE_READY;
	step();
	CHECK_NOT_NOTED("slot_moved");
	CHECK_STATE("starting"); /* it did not move */
	scripted_source_fail(&b->source, WP_REACT_STANDBY, "55006");
	step();
	facts->slot_confirmed = SLOT + 100;
	live(12 * 1000);
	b->source.view.state = WP_SOURCE_READY;
	step();
	CHECK_NOTED("E:slot_moved");
}

/* Our name is in the row: whoever had the slot while we stood by was no relay. */
static void a_slot_that_moved_while_we_stood_by_needs_a_human(void **state)
{
	stream();
	had("us", SLOT, false);
	facts->slot_checkpoint_taken_at = SLOT;
	facts->slot_active = true;
	(void)snprintf(facts->holder, sizeof(facts->holder),
		       "process 17 (pg_recvlogical, user app)");
	reconnect();
	CHECK_STATE("standby");
	CHECK_NOTED("W:slot_foreign");
	CHECK_HAS(b->last.text, "process 17 (pg_recvlogical, user app)");
	CHECK(b->snapshot.foreign);
	CHECK_TEXT(b->snapshot.holder, "process 17 (pg_recvlogical, user app)");
	facts->slot_active = false;
	facts->slot_confirmed = SLOT + 100;
	live(2000);
	b->source.view.state = WP_SOURCE_READY;
	step();
	CHECK_OVER(3);
	CHECK_NOTED("E:slot_moved");
	CHECK_HAS(b->error.text,
		  "this process had confirmed only 0/1000; no other relay has taken the "
		  "slot over, but this one had it: process 17 (pg_recvlogical, user app)");
}

static void a_relay_that_has_the_slot_is_named_by_the_row(void **state)
{
	had("other:1", SLOT, false);
	facts->slot_active = facts->holder_is_walpost = true;
	(void)snprintf(facts->holder, sizeof(facts->holder), "process 17 (walpost, user app)");
	connect();
	CHECK_STATE("standby");
	CHECK_TEXT(b->snapshot.holder, "other:1");
	CHECK(!b->snapshot.foreign);
	CHECK_NOT_NOTED("slot_foreign");
}

/* The row is another's, who does not come back: what we saw ourselves is known all the same. */
static void a_standby_that_saw_a_foreign_client_move_the_slot_needs_a_human(void **state)
{
	had("other:1", SLOT - 10, false);
	facts->slot_active = true;
	(void)snprintf(facts->holder, sizeof(facts->holder), "process 17 (psql, user app)");
	connect();
	CHECK_STATE("standby");
	facts->slot_active = false;
	facts->slot_confirmed = SLOT + 100;
	live(2000);
	b->source.view.state = WP_SOURCE_READY;
	step();
	CHECK_OVER(3);
	CHECK_NOTED("E:slot_moved");
	CHECK_HAS(b->error.text, "process 17 (psql, user app)");
}

/* One that looked and took nothing, and the usual distance after a relay that was killed. */
static void a_foreign_client_that_did_not_move_it_is_no_reason_to_stop(void **state)
{
	had("other:1", SLOT - 10, false);
	facts->slot_active = true;
	(void)snprintf(facts->holder, sizeof(facts->holder), "process 17 (psql, user app)");
	connect();
	facts->slot_active = false;
	live(2000);
	b->source.view.state = WP_SOURCE_READY;
	step();
	CHECK_STATE("starting");
	CHECK_NOTED("W:slot_beyond_checkpoint");
}

/* Between the facts and the start nobody looks; where the slot stood as we claimed the row tells. */
static void a_slot_that_moved_as_we_started_is_found_by_the_claim(void **state)
{
	b->source.view.unclaimed = true;
	stream();
	b->source.view.unclaimed = false;
	b->source.view.claimed = SLOT;
	step();
	CHECK_NOT_NOTED("slot_moved");
	b->source.view.claimed = SLOT + 100;
	step();
	CHECK_NOTED("E:slot_moved");
	CHECK_HAS(b->error.text,
		  "slot walpost is at 0/1064, but this process had confirmed only 0/1000");
}

static void a_slot_that_moved_is_told_by_a_relay_that_stops_for_another_reason_too(void **state)
{
	b->source.view.unclaimed = true;
	stream();
	one_event(0x2000, "1");
	b->sink.view.state = WP_SINK_FAILED;
	b->sink.view.reaction = WP_REACT_STOP_CONFIG;
	step();
	CHECK_NOTED("E:sink_failed");
	CHECK_STATE("draining");
	b->source.view.unclaimed = false;
	b->source.view.claimed = SLOT + 100;
	step();
	CHECK_NOTED("E:slot_moved");
	CHECK_EQ(b->source.status.flush, 0);
	CHECK_EQ(wp_relay_exit_code(b->relay), 2);
}

static void without_the_row_what_is_beyond_us_is_told(void **state)
{
	stream();
	facts->slot_checkpoint_readable = facts->slot_checkpoint_writable = false;
	facts->slot_active = facts->holder_is_walpost = true;
	reconnect();
	CHECK_STATE("standby");
	facts->slot_active = false;
	facts->slot_confirmed = SLOT + 100;
	live(2000);
	b->source.view.state = WP_SOURCE_READY;
	step();
	CHECK_STATE("starting");
	CHECK_NOTED("W:slot_beyond_checkpoint");
	CHECK_HAS(b->last.text, "100 bytes beyond 0/1000, which this process confirmed last");
}

static void what_the_server_withholds_is_a_stall(void **state)
{
	stream();
	(void)snprintf(slot_state->withheld, sizeof(slot_state->withheld),
		       "slot phys does not exist");
	for (int i = 0; i < 3; i++) {
		live(WATCH_MS);
		answer(SLOT, "");
	}
	CHECK_TEXT(b->source.trouble, "");
	live(15 * 1000);
	CHECK_TEXT(
		b->source.trouble,
		"the server sends no event before the standbys of synchronized_standby_slots have "
		"it: slot phys does not exist");
	CHECK_TEXT(b->snapshot.withheld, "slot phys does not exist");
	slot_state->withheld[0] = '\0';
	answer(SLOT, "");
	live(20 * 1000);
	CHECK_TEXT(b->source.trouble, "");
}

/* It waits for a standby each time, and yet it sends. */
static void who_sends_between_two_answers_withholds_nothing(void **state)
{
	stream();
	(void)snprintf(slot_state->withheld, sizeof(slot_state->withheld), "slot phys is behind");
	for (int i = 1; i < 20; i++) {
		live(WATCH_MS);
		keepalive(SLOT + (wp_lsn)i);
		answer(SLOT + (wp_lsn)i, "");
	}
	CHECK_TEXT(b->source.trouble, "");
}

/* The row could not be written, and names who stopped before us. */
static void a_slot_where_we_put_it_is_fine_whatever_the_row_says(void **state)
{
	had("other:1", SLOT, true);
	stream();
	one_event(0x2000, "1");
	confirm_last();
	live(1000);
	facts->slot_confirmed = 0x2008;
	reconnect();
	CHECK_NOT_NOTED("slot_moved");
	CHECK_STATE("starting");
}

static void without_a_row_what_is_beyond_us_is_told_too(void **state)
{
	stream();
	facts->slot_checkpoint_owner[0] = '\0';
	facts->slot_confirmed = SLOT + 100;
	reconnect();
	CHECK_STATE("starting");
	CHECK_NOTED("W:slot_beyond_checkpoint");
}

/* By another name: it has written the row since it came. */
static void who_writes_the_row_is_a_relay_whatever_its_name(void **state)
{
	had("other:1", SLOT, false);
	facts->slot_active = facts->holder_wrote = true;
	(void)snprintf(facts->holder, sizeof(facts->holder), "process 17 (orders, user app)");
	connect();
	CHECK_STATE("standby");
	CHECK_NOT_NOTED("slot_foreign");
	CHECK(!b->snapshot.foreign);
}

static void the_slot_is_not_moved_unnamed_by_a_relay_that_stops_either(void **state)
{
	b->source.view.unclaimed = true;
	stream();
	one_event(0x2000, "1");
	confirm_last();
	wp_relay_stop(b->relay, now());
	step();
	live(500);
	CHECK_STATE("draining");
	CHECK_EQ(b->source.status.flush, 0);
	b->source.view.unclaimed = false;
	step();
	CHECK_EQ(b->source.status.flush, 0x2008);
}

static void a_raised_epoch_begins_anew(void **state)
{
	had("host:1", SLOT - 1, true);
	facts->slot_checkpoint_epoch = 3;
	b->options.epoch = 4;
	stream();
}

static void a_slot_checkpoint_that_cannot_be_kept_true_is_not_believed(void **state)
{
	had("host:1", SLOT - 1, true);
	facts->slot_checkpoint_writable = false;
	stream();
	CHECK_NOT_NOTED("slot_beyond");
}

static void a_row_without_a_position_is_not_believed(void **state)
{
	had("host:1", 0, true);
	stream();
}

static void after_another_had_the_slot_its_word_counts_for_us_too(void **state)
{
	stream();
	had("other:1", SLOT + 100, true);
	facts->server_lsn = SLOT + 500;
	facts->slot_confirmed = SLOT + 200;
	reconnect();
	CHECK_EQ(wp_relay_exit_code(b->relay), 3);
	CHECK_HAS(b->error.text, "relay other:1");
}

static void a_takeover_by_another_that_stopped_well_is_fine(void **state)
{
	stream();
	had("other:1", SLOT + 200, true);
	facts->server_lsn = SLOT + 500;
	facts->slot_confirmed = SLOT + 200;
	reconnect();
	CHECK_STATE("starting");
	CHECK_EQ(b->source.start_at, SLOT + 200);
}

static void a_slot_moved_under_us_is_told_in_the_same_words_on_any_timeline(void **state)
{
	stream();
	had("us", SLOT, false);
	facts->slot_checkpoint_taken_at = SLOT;
	facts->slot_confirmed = SLOT + 200;
	promote(SLOT + 100);
	reconnect();
	CHECK_EQ(wp_relay_exit_code(b->relay), 3);
	CHECK_HAS(b->error.text, "this process had confirmed only 0/1000;");
	CHECK_HAS(b->error.text, "walpost slot accept");
}

int main(void)
{
	return RUN(TEST(a_stream_is_asked_about_every_two_seconds),
		   TEST(a_question_without_an_answer_is_not_asked_again),
		   TEST(a_server_that_answers_slowly_is_asked_more_seldom),
		   TEST(a_paused_relay_asks_too), TEST(a_paused_relay_learns_where_the_server_is),
		   TEST(what_loses_events_stops_it_with_three),
		   TEST(before_the_first_answer_all_was_well_as_it_connected),
		   TEST(nothing_is_confirmed_after_that_not_even_in_the_last_status),
		   TEST(one_bad_answer_is_forgiven_when_the_next_is_good),
		   TEST(a_bad_answer_without_another_is_told_each_minute),
		   TEST(with_kafka_deaf_it_does_not_wait_long_for_reports),
		   TEST(each_change_of_the_kept_log_is_told_once),
		   TEST(the_guard_warns_and_then_calls),
		   TEST(what_was_confirmed_is_written_down_soon_and_then_each_minute),
		   TEST(what_names_another_owner_is_written_soon_and_without_any_progress),
		   TEST(without_events_it_is_written_down_by_the_mebibyte),
		   TEST(what_waits_for_kafka_too_long_is_told_to_the_row),
		   TEST(reports_that_come_are_no_stall_however_old_the_oldest_is),
		   TEST(neither_idle_nor_a_transaction_on_its_way_is_a_stall),
		   TEST(a_stall_outlives_a_new_stream),
		   TEST(what_waited_while_there_was_no_stream_has_not_waited_for_kafka),
		   TEST(what_cannot_be_parked_is_told_to_the_row_and_in_the_snapshot),
		   TEST(until_it_is_known_what_is_parked_the_log_waits_and_that_is_a_stall),
		   TEST(a_slot_beyond_a_good_stop_is_refused_in_words),
		   TEST(a_halt_is_told_to_the_row_with_the_last_word),
		   TEST(a_slot_at_or_before_a_good_stop_is_fine),
		   TEST(a_slot_beyond_what_a_killed_one_wrote_is_told_and_taken),
		   TEST(a_slot_that_has_decoded_less_than_then_was_made_anew),
		   TEST(what_has_decoded_as_many_or_cannot_be_compared_is_fine),
		   TEST(a_slot_beyond_the_end_of_its_timeline_was_made_after_the_promotion),
		   TEST(a_slot_that_came_over_with_the_promotion_is_fine),
		   TEST(without_its_history_a_timeline_says_nothing),
		   TEST(a_server_behind_what_was_confirmed_is_an_older_one),
		   TEST(what_can_not_be_read_just_now_accuses_nobody),
		   TEST(a_raised_epoch_begins_anew), TEST(a_lowered_epoch_is_refused),
		   TEST(a_relay_in_standby_learns_of_a_higher_epoch),
		   TEST(who_lost_the_race_for_a_free_slot_knows_that_no_relay_moved_it),
		   TEST(who_streamed_before_and_lost_the_race_knows_it_too),
		   TEST(a_slot_that_moved_while_we_stood_by_needs_a_human),
		   TEST(a_relay_that_has_the_slot_is_named_by_the_row),
		   TEST(a_standby_that_saw_a_foreign_client_move_the_slot_needs_a_human),
		   TEST(a_foreign_client_that_did_not_move_it_is_no_reason_to_stop),
		   TEST(a_slot_that_moved_as_we_started_is_found_by_the_claim),
		   TEST(a_slot_that_moved_is_told_by_a_relay_that_stops_for_another_reason_too),
		   TEST(without_the_row_what_is_beyond_us_is_told),
		   TEST(what_the_server_withholds_is_a_stall),
		   TEST(who_sends_between_two_answers_withholds_nothing),
		   TEST(a_slot_where_we_put_it_is_fine_whatever_the_row_says),
		   TEST(without_a_row_what_is_beyond_us_is_told_too),
		   TEST(who_writes_the_row_is_a_relay_whatever_its_name),
		   TEST(the_slot_is_not_moved_unnamed_by_a_relay_that_stops_either),
		   TEST(the_slot_is_not_moved_before_the_row_names_us),
		   TEST(a_sink_that_fails_before_the_row_names_us_is_left_when_the_slot_may_move),
		   TEST(a_sink_that_breaks_then_is_told_of_once),
		   TEST(what_a_sink_refuses_before_the_row_names_us_is_told_as_no_rewind),
		   TEST(a_row_that_cannot_be_written_is_not_waited_for_for_ever),
		   TEST(what_is_not_claimed_yet_is_written_at_once),
		   TEST(a_slot_checkpoint_that_cannot_be_kept_true_is_not_believed),
		   TEST(a_row_without_a_position_is_not_believed),
		   TEST(after_another_had_the_slot_its_word_counts_for_us_too),
		   TEST(a_takeover_by_another_that_stopped_well_is_fine),
		   TEST(a_slot_moved_under_us_is_told_in_the_same_words_on_any_timeline));
}
