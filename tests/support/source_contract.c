#include <stdbool.h>
#include <string.h>

#include "support/check.h"
#include "support/source_contract.h"
#include "walpost/base/wire.h"

/* ---- helpers ---- */

static const struct wp_source_view *view(struct source_driver *d)
{
	return d->source->ops->view(d->source);
}

static void pump(struct source_driver *d)
{
	d->pump(d->arg);
}

static void await(struct source_driver *d, enum wp_source_state state)
{
	for (int i = 0; i < SOURCE_CONTRACT_PUMPS_MAX && view(d)->state != state; i++) {
		if (view(d)->state == WP_SOURCE_FAILED)
			print_error("failed: %s\n", view(d)->failure.error.text);
		assert_int_not_equal(view(d)->state, WP_SOURCE_FAILED);
		pump(d);
	}
	CHECK_EQ(view(d)->state, state);
}

static void await_failure(struct source_driver *d, enum wp_reaction reaction)
{
	for (int i = 0; i < SOURCE_CONTRACT_PUMPS_MAX && view(d)->state != WP_SOURCE_FAILED; i++)
		pump(d);
	CHECK_EQ(view(d)->state, WP_SOURCE_FAILED);
	CHECK_EQ(view(d)->failure.reaction, reaction);
	CHECK(*view(d)->failure.error.text);
}

static void connect(struct source_driver *d)
{
	d->source->ops->connect(d->source);
	CHECK_EQ(view(d)->state, WP_SOURCE_CONNECTING);
	await(d, WP_SOURCE_READY);
}

static void pump_some(struct source_driver *d)
{
	for (int i = 0; i < 5; i++)
		pump(d);
}

/* Connects until the server answers again and the slot is free. */
static void connect_again(struct source_driver *d)
{
	for (int i = 0; i < SOURCE_CONTRACT_PUMPS_MAX; i++) {
		enum wp_source_state state = view(d)->state;
		if (state == WP_SOURCE_READY && !view(d)->facts.slot_active)
			return;
		if (state == WP_SOURCE_READY) {
			pump_some(d); /* pumps are counted, not time */
			d->source->ops->refresh(d->source);
		} else if (state == WP_SOURCE_CLOSED || state == WP_SOURCE_FAILED ||
			   state == WP_SOURCE_FINISHED) {
			d->source->ops->connect(d->source);
		}
		pump(d);
	}
	fail_msg("no connection with a free slot");
}

static void start(struct source_driver *d, enum wp_slot_checkpoint slot_checkpoint)
{
	d->source->ops->start(d->source, view(d)->facts.slot_confirmed, WP_TRANSFER_TEXT,
			      slot_checkpoint);
	CHECK_EQ(view(d)->state, WP_SOURCE_STARTING);
	await(d, WP_SOURCE_STREAMING);
}

static void stream(struct source_driver *d)
{
	connect(d);
	start(d, WP_SLOT_CHECKPOINT_KEEP);
}

/* What was seen of the log. */
struct seen {
	unsigned begins;
	unsigned inserts;
	unsigned commits;
	wp_lsn end; /* of the last commit */
	uint32_t xid;
};

static void see(struct seen *seen, struct wp_span copy_data)
{
	struct wp_frame frame;
	struct wp_error error;
	CHECK_EQ(wp_frame_read(copy_data, &frame, &error), WP_OK);
	if (frame.kind == WP_FRAME_KEEPALIVE)
		return;
	struct wp_wire w;
	wp_wire_init(&w, frame.body);
	switch (wp_wire_u8(&w)) {
	case 'B':
		CHECK_EQ(seen->begins, seen->commits);
		seen->begins++;
		(void)wp_wire_u64(&w);
		(void)wp_wire_u64(&w);
		seen->xid = wp_wire_u32(&w);
		break;
	case 'I':
		CHECK_EQ(seen->begins, seen->commits + 1);
		seen->inserts++;
		break;
	case 'C':
		CHECK_EQ(seen->begins, seen->commits + 1);
		seen->commits++;
		(void)wp_wire_u8(&w);
		(void)wp_wire_u64(&w);
		seen->end = wp_wire_u64(&w);
		break;
	default:
		break;
	}
}

/* One call of next(). */
static enum wp_rc take(struct source_driver *d, struct seen *seen)
{
	struct wp_span frame;
	enum wp_rc rc = d->source->ops->next(d->source, &frame);
	if (rc == WP_OK)
		see(seen, frame);
	return rc;
}

static bool has_whole(const struct seen *seen, unsigned inserts)
{
	return seen->inserts >= inserts && seen->begins == seen->commits;
}

/* Takes frames until so many inserts were seen in all and their transaction is over. */
static void take_inserts(struct source_driver *d, struct seen *seen, unsigned inserts)
{
	for (int i = 0; i < SOURCE_CONTRACT_PUMPS_MAX; i++) {
		enum wp_rc rc = WP_OK;
		while (rc == WP_OK && !has_whole(seen, inserts))
			rc = take(d, seen);
		if (has_whole(seen, inserts))
			break;
		CHECK_EQ(rc, WP_AGAIN);
		pump(d);
	}
	CHECK_EQ(seen->inserts, inserts);
}

/* Reads on until there is no more stream. */
static void take_to_the_end(struct source_driver *d)
{
	for (int i = 0; i < SOURCE_CONTRACT_PUMPS_MAX && view(d)->state == WP_SOURCE_STREAMING;
	     i++) {
		struct wp_span frame;
		enum wp_rc rc = WP_OK;
		while (rc == WP_OK)
			rc = d->source->ops->next(d->source, &frame);
		if (rc == WP_IO)
			return;
		pump(d);
	}
	assert_int_not_equal(view(d)->state, WP_SOURCE_STREAMING);
}

static enum wp_rc say(struct source_driver *d, wp_lsn flush)
{
	struct wp_status status = { .write = flush, .flush = flush, .apply = flush };
	return d->source->ops->status(d->source, &status);
}

static void await_confirmed(struct source_driver *d, wp_lsn wanted)
{
	for (int i = 0; i < SOURCE_CONTRACT_PUMPS_MAX && d->slot_confirmed(d->arg) != wanted; i++)
		pump(d);
	CHECK_EQ(d->slot_confirmed(d->arg), wanted);
}

static void await_probe(struct source_driver *d, enum wp_probe wanted)
{
	for (int i = 0; i < SOURCE_CONTRACT_PUMPS_MAX && view(d)->probe != wanted; i++) {
		if (view(d)->probe != WP_PROBE_RUNNING) {
			pump_some(d); /* pumps are counted, not time */
			d->source->ops->probe(d->source);
			CHECK_EQ(view(d)->probe, WP_PROBE_RUNNING);
		}
		pump(d);
	}
	CHECK_EQ(view(d)->probe, wanted);
}

/* ---- the cases ---- */

static void a_new_source_is_closed(struct source_driver *d)
{
	CHECK_EQ(view(d)->state, WP_SOURCE_CLOSED);
	CHECK_EQ(view(d)->probe, WP_PROBE_NONE);
	CHECK_EQ(view(d)->partitions_asked, WP_ASKED_NOTHING);
	CHECK(!view(d)->partitions.known);
}

static void connecting_leads_to_facts(struct source_driver *d)
{
	unsigned long wakes = d->wakes(d->arg);
	connect(d);
	CHECK(d->wakes(d->arg) > wakes);
	const struct wp_source_facts *f = &view(d)->facts;
	CHECK(f->system_id != 0);
	CHECK(f->timelines.current >= 1);
	CHECK(f->slot_confirmed > 0);
	CHECK(f->server_lsn >= f->slot_confirmed);
	CHECK(!f->slot_active);
	CHECK(f->wal_sender_timeout_ms >= 0);
}

static void looking_reads_the_facts_again(struct source_driver *d)
{
	connect(d);
	wp_lsn before = view(d)->facts.server_lsn;
	d->commit(d->arg, 1);
	d->source->ops->refresh(d->source);
	CHECK_EQ(view(d)->state, WP_SOURCE_REFRESHING);
	await(d, WP_SOURCE_READY);
	CHECK(view(d)->facts.server_lsn > before);
}

static void transactions_come_whole_and_in_order(struct source_driver *d)
{
	struct seen seen = { 0 };
	stream(d);
	d->commit(d->arg, 1);
	d->commit(d->arg, 3);
	take_inserts(d, &seen, 1);
	wp_lsn first = seen.end;
	take_inserts(d, &seen, 4);
	CHECK_EQ(seen.commits, 2);
	CHECK(seen.end > first);
}

static void what_was_committed_before_the_start_comes_too(struct source_driver *d)
{
	struct seen seen = { 0 };
	d->commit(d->arg, 2);
	stream(d);
	take_inserts(d, &seen, 2);
}

static void a_quiet_stream_says_again_and_wakes_when_there_is_more(struct source_driver *d)
{
	struct seen seen = { 0 };
	stream(d);
	d->commit(d->arg, 1);
	take_inserts(d, &seen, 1);
	while (take(d, &seen) == WP_OK)
		continue;
	unsigned long wakes = d->wakes(d->arg);
	d->commit(d->arg, 1);
	for (int i = 0; i < SOURCE_CONTRACT_PUMPS_MAX && d->wakes(d->arg) == wakes; i++)
		pump(d);
	CHECK(d->wakes(d->arg) > wakes);
	take_inserts(d, &seen, 2);
}

static void a_frame_outlives_a_status(struct source_driver *d)
{
	struct wp_span frame = { 0 };
	uint8_t copy[512];
	stream(d);
	d->commit(d->arg, 1);
	enum wp_rc rc = WP_AGAIN;
	for (int i = 0; i < SOURCE_CONTRACT_PUMPS_MAX && rc == WP_AGAIN; i++) {
		pump(d);
		rc = d->source->ops->next(d->source, &frame);
	}
	CHECK_EQ(rc, WP_OK);
	CHECK(frame.size <= sizeof(copy));
	memcpy(copy, frame.data, frame.size);
	CHECK_EQ(say(d, view(d)->facts.slot_confirmed), WP_OK);
	assert_memory_equal(copy, frame.data, frame.size);
}

static void a_paused_source_is_quiet_and_goes_on_where_it_was(struct source_driver *d)
{
	struct seen seen = { 0 };
	stream(d);
	while (take(d, &seen) == WP_OK)
		continue;
	d->source->ops->reading(d->source, WP_READING_OFF);
	pump_some(d);
	unsigned long wakes = d->wakes(d->arg);
	d->commit(d->arg, 2);
	pump_some(d);
	CHECK_EQ(d->wakes(d->arg), wakes);
	d->source->ops->reading(d->source, WP_READING_ON);
	take_inserts(d, &seen, 2);
}

static void a_status_moves_the_slot(struct source_driver *d)
{
	struct seen seen = { 0 };
	stream(d);
	d->commit(d->arg, 1);
	take_inserts(d, &seen, 1);
	CHECK_EQ(say(d, seen.end), WP_OK);
	await_confirmed(d, seen.end);
}

static void a_status_leaves_while_paused(struct source_driver *d)
{
	struct seen seen = { 0 };
	stream(d);
	d->commit(d->arg, 1);
	take_inserts(d, &seen, 1);
	d->source->ops->reading(d->source, WP_READING_OFF);
	d->commit(d->arg, 5);
	CHECK_EQ(say(d, seen.end), WP_OK);
	await_confirmed(d, seen.end);
}

static void of_many_statuses_the_last_counts(struct source_driver *d)
{
	struct seen seen = { 0 };
	stream(d);
	wp_lsn from = view(d)->facts.slot_confirmed;
	d->commit(d->arg, 1);
	take_inserts(d, &seen, 1);
	d->source->ops->reading(d->source, WP_READING_OFF);
	for (int i = 0; i < 20000; i++)
		CHECK_EQ(say(d, from), WP_OK);
	CHECK_EQ(say(d, seen.end), WP_OK);
	await_confirmed(d, seen.end);
}

static void finishing_loses_no_status(struct source_driver *d)
{
	struct seen seen = { 0 };
	stream(d);
	d->commit(d->arg, 1);
	take_inserts(d, &seen, 1);
	/* Unread input is what makes a hasty close lose it. */
	d->commit(d->arg, 50);
	CHECK_EQ(say(d, seen.end), WP_OK);
	d->source->ops->finish(d->source, "a,b");
	CHECK_EQ(view(d)->state, WP_SOURCE_FINISHING);
	await(d, WP_SOURCE_FINISHED);
	CHECK_EQ(d->slot_confirmed(d->arg), seen.end);
}

static void finishing_works_while_paused(struct source_driver *d)
{
	struct seen seen = { 0 };
	stream(d);
	d->commit(d->arg, 1);
	take_inserts(d, &seen, 1);
	d->source->ops->reading(d->source, WP_READING_OFF);
	d->commit(d->arg, 50);
	CHECK_EQ(say(d, seen.end), WP_OK);
	d->source->ops->finish(d->source, "a,b");
	await(d, WP_SOURCE_FINISHED);
	CHECK_EQ(d->slot_confirmed(d->arg), seen.end);
}

static void a_finished_source_may_connect_again(struct source_driver *d)
{
	struct seen seen = { 0 };
	stream(d);
	d->source->ops->finish(d->source, "a,b");
	await(d, WP_SOURCE_FINISHED);
	connect_again(d);
	start(d, WP_SLOT_CHECKPOINT_KEEP);
	d->commit(d->arg, 1);
	take_inserts(d, &seen, 1);
}

static void what_was_not_confirmed_comes_again(struct source_driver *d)
{
	struct seen first = { 0 }, second = { 0 };
	stream(d);
	d->commit(d->arg, 1);
	take_inserts(d, &first, 1);
	CHECK_EQ(say(d, first.end), WP_OK);
	await_confirmed(d, first.end);
	d->commit(d->arg, 2);
	take_inserts(d, &first, 3);
	d->source->ops->close(d->source);
	connect_again(d);
	CHECK(view(d)->facts.slot_confirmed < first.end);
	start(d, WP_SLOT_CHECKPOINT_KEEP);
	take_inserts(d, &second, 2);
	CHECK_EQ(second.end, first.end);
}

static void closing_is_possible_in_every_state(struct source_driver *d)
{
	d->source->ops->close(d->source);
	CHECK_EQ(view(d)->state, WP_SOURCE_CLOSED);

	d->source->ops->connect(d->source);
	d->source->ops->close(d->source);
	CHECK_EQ(view(d)->state, WP_SOURCE_CLOSED);

	connect_again(d);
	d->source->ops->close(d->source);
	CHECK_EQ(view(d)->state, WP_SOURCE_CLOSED);

	connect_again(d);
	d->source->ops->refresh(d->source);
	d->source->ops->close(d->source);
	CHECK_EQ(view(d)->state, WP_SOURCE_CLOSED);

	connect_again(d);
	d->source->ops->start(d->source, view(d)->facts.slot_confirmed, WP_TRANSFER_TEXT,
			      WP_SLOT_CHECKPOINT_KEEP);
	d->source->ops->close(d->source);
	CHECK_EQ(view(d)->state, WP_SOURCE_CLOSED);

	connect_again(d);
	start(d, WP_SLOT_CHECKPOINT_KEEP);
	d->source->ops->finish(d->source, "a,b");
	d->source->ops->close(d->source);
	CHECK_EQ(view(d)->state, WP_SOURCE_CLOSED);
	pump_some(d);
	CHECK_EQ(view(d)->state, WP_SOURCE_CLOSED);
}

static void a_broken_connection_asks_for_a_new_one(struct source_driver *d)
{
	struct seen seen = { 0 };
	stream(d);
	d->break_connection(d->arg);
	take_to_the_end(d);
	await_failure(d, WP_REACT_RECONNECT);
	connect_again(d);
	start(d, WP_SLOT_CHECKPOINT_KEEP);
	d->commit(d->arg, 1);
	take_inserts(d, &seen, 1);
}

static void a_slot_held_by_another_is_told_and_not_fought_for(struct source_driver *d)
{
	d->hold_slot(d->arg);
	connect(d);
	CHECK(view(d)->facts.slot_active);
	d->source->ops->start(d->source, view(d)->facts.slot_confirmed, WP_TRANSFER_TEXT,
			      WP_SLOT_CHECKPOINT_WRITE);
	await_failure(d, WP_REACT_STANDBY);
	CHECK_TEXT(view(d)->failure.sqlstate, "55006");
	d->release_slot(d->arg);
	connect_again(d);
	CHECK_TEXT(view(d)->facts.slot_checkpoint_owner, "");
	start(d, WP_SLOT_CHECKPOINT_KEEP);
}

static void looking_sees_the_slot_become_free(struct source_driver *d)
{
	d->hold_slot(d->arg);
	connect(d);
	CHECK(view(d)->facts.slot_active);
	d->source->ops->refresh(d->source);
	await(d, WP_SOURCE_READY);
	CHECK(view(d)->facts.slot_active);
	d->release_slot(d->arg);
	connect_again(d);
	CHECK_EQ(view(d)->state, WP_SOURCE_READY);
}

static void our_own_old_stream_does_not_hold_the_slot(struct source_driver *d)
{
	stream(d);
	d->source->ops->close(d->source);
	connect(d);
	CHECK(!view(d)->facts.slot_active);
	start(d, WP_SLOT_CHECKPOINT_KEEP);
}

static void the_slot_checkpoint_is_written_only_when_asked(struct source_driver *d)
{
	connect(d);
	CHECK(view(d)->facts.slot_checkpoint_readable);
	CHECK_TEXT(view(d)->facts.slot_checkpoint_owner, "");
	start(d, WP_SLOT_CHECKPOINT_KEEP);
	d->source->ops->close(d->source);
	connect_again(d);
	CHECK_TEXT(view(d)->facts.slot_checkpoint_owner, "");
	start(d, WP_SLOT_CHECKPOINT_WRITE);
	d->source->ops->close(d->source);
	connect_again(d);
	CHECK_TEXT(view(d)->facts.slot_checkpoint_owner, d->owner);
	CHECK_EQ(view(d)->facts.slot_checkpoint_system_id, view(d)->facts.system_id);
}

static void its_end_stands_in_the_slot_checkpoint(struct source_driver *d)
{
	struct seen seen = { 0 };
	connect(d);
	start(d, WP_SLOT_CHECKPOINT_WRITE);
	d->commit(d->arg, 1);
	take_inserts(d, &seen, 1);
	CHECK_EQ(say(d, seen.end), WP_OK);
	d->source->ops->finish(d->source, "a,b");
	await(d, WP_SOURCE_FINISHED);
	connect_again(d);
	CHECK(view(d)->facts.slot_checkpoint_writable);
	CHECK(view(d)->facts.slot_checkpoint_stopped);
	CHECK_EQ(view(d)->facts.slot_checkpoint_confirmed, seen.end);
	CHECK_TEXT(view(d)->facts.slot_checkpoint_topics, "a,b");
	start(d, WP_SLOT_CHECKPOINT_WRITE);
	d->source->ops->close(d->source);
	connect_again(d);
	CHECK(!view(d)->facts.slot_checkpoint_stopped);
}

static void without_ever_having_had_the_slot_there_is_no_last_word(struct source_driver *d)
{
	d->source->ops->part(d->source, "");
	CHECK_EQ(view(d)->state, WP_SOURCE_CLOSED);
	connect(d);
	d->source->ops->part(d->source, "");
	CHECK_EQ(view(d)->state, WP_SOURCE_CLOSED);
	connect_again(d);
	CHECK_TEXT(view(d)->facts.slot_checkpoint_owner, "");
}

static void lose_after_one_event(struct source_driver *d, struct seen *seen)
{
	connect(d);
	start(d, WP_SLOT_CHECKPOINT_WRITE);
	d->commit(d->arg, 1);
	take_inserts(d, seen, 1);
	CHECK_EQ(say(d, seen->end), WP_OK);
	await_confirmed(d, seen->end);
	d->break_connection(d->arg);
	take_to_the_end(d);
	await_failure(d, WP_REACT_RECONNECT);
}

static void after_a_lost_stream_too_its_end_stands_in_the_slot_checkpoint(struct source_driver *d)
{
	struct seen seen = { 0 };
	lose_after_one_event(d, &seen);
	d->source->ops->part(d->source, "a,b");
	CHECK_EQ(view(d)->state, WP_SOURCE_FINISHING);
	await(d, WP_SOURCE_FINISHED);
	connect_again(d);
	CHECK(view(d)->facts.slot_checkpoint_stopped);
	CHECK_EQ(view(d)->facts.slot_checkpoint_confirmed, seen.end);
	CHECK_TEXT(view(d)->facts.slot_checkpoint_topics, "a,b");
}

static void the_last_word_is_left_to_who_has_the_slot_by_now(struct source_driver *d)
{
	struct seen seen = { 0 };
	lose_after_one_event(d, &seen);
	d->hold_slot(d->arg);
	d->source->ops->part(d->source, "a,b");
	await(d, WP_SOURCE_FINISHED);
	d->release_slot(d->arg);
	connect_again(d);
	CHECK(!view(d)->facts.slot_checkpoint_stopped);
}

static void a_server_that_is_gone_takes_no_last_word(struct source_driver *d)
{
	struct seen seen = { 0 };
	lose_after_one_event(d, &seen);
	d->kill_server(d->arg);
	d->source->ops->part(d->source, "a,b");
	await(d, WP_SOURCE_FINISHED);
	d->start_server(d->arg);
}

static void what_is_seen_beside_the_stream_is_told(struct source_driver *d)
{
	struct seen seen = { 0 };
	connect(d);
	start(d, WP_SLOT_CHECKPOINT_WRITE);
	CHECK_EQ(view(d)->slot_state.answers, 0);
	for (uint64_t wanted = 1; wanted <= 2; wanted++) {
		d->source->ops->watch(d->source);
		for (int i = 0; i < SOURCE_CONTRACT_PUMPS_MAX && view(d)->slot_state.asking; i++)
			pump(d);
		CHECK_EQ(view(d)->slot_state.answers, wanted);
		CHECK_EQ(view(d)->slot_state.keeping, WP_KEEPING_RESERVED);
		CHECK_TEXT(view(d)->slot_state.loss.text, "");
		CHECK(view(d)->slot_state.server_lsn >= view(d)->facts.slot_confirmed);
	}
	d->commit(d->arg, 1);
	take_inserts(d, &seen, 1);
	d->source->ops->write_down(d->source, seen.end, "a");
	d->source->ops->watch(d->source); /* behind it, on the same connection */
	for (int i = 0; i < SOURCE_CONTRACT_PUMPS_MAX && view(d)->slot_state.answers < 3; i++)
		pump(d);
	CHECK_EQ(view(d)->slot_state.answers, 3);
	d->source->ops->close(d->source);
	CHECK_EQ(view(d)->slot_state.answers, 0);
	connect_again(d);
	CHECK_EQ(view(d)->facts.slot_checkpoint_confirmed, seen.end);
	CHECK(!view(d)->facts.slot_checkpoint_stopped);
}

static void what_is_written_down_needs_no_question_before(struct source_driver *d)
{
	struct seen seen = { 0 };
	connect(d);
	start(d, WP_SLOT_CHECKPOINT_WRITE);
	d->commit(d->arg, 1);
	take_inserts(d, &seen, 1);
	d->source->ops->write_down(d->source, seen.end, "a");
	d->source->ops->watch(d->source);
	for (int i = 0; i < SOURCE_CONTRACT_PUMPS_MAX && view(d)->slot_state.answers < 1; i++)
		pump(d);
	d->source->ops->close(d->source);
	connect_again(d);
	CHECK_EQ(view(d)->facts.slot_checkpoint_confirmed, seen.end);
}

static void a_server_that_is_gone_fails_and_comes_back(struct source_driver *d)
{
	struct seen seen = { 0 };
	stream(d);
	d->kill_server(d->arg);
	take_to_the_end(d);
	await_failure(d, WP_REACT_RECONNECT);
	d->source->ops->connect(d->source);
	await_failure(d, WP_REACT_RECONNECT);
	CHECK_TEXT(view(d)->failure.sqlstate, "");
	d->start_server(d->arg);
	connect_again(d);
	start(d, WP_SLOT_CHECKPOINT_KEEP);
	d->commit(d->arg, 1);
	take_inserts(d, &seen, 1);
}

static void a_stop_with_all_confirmed_ends_the_copy_well(struct source_driver *d)
{
	struct wp_span bytes;
	wp_lsn end = 0, said = 0;
	stream(d);
	d->ask_to_stop(d->arg);
	for (int i = 0; i < SOURCE_CONTRACT_PUMPS_MAX && view(d)->state == WP_SOURCE_STREAMING;
	     i++) {
		enum wp_rc rc;
		while ((rc = d->source->ops->next(d->source, &bytes)) == WP_OK) {
			struct wp_frame frame;
			CHECK_EQ(wp_frame_read(bytes, &frame, NULL), WP_OK);
			end = wp_lsn_max(end, frame.end);
			/* Once: what a server leaves unread when it goes resets the connection. */
			if (frame.kind != WP_FRAME_KEEPALIVE || !frame.reply_requested ||
			    end <= said)
				continue;
			said = end;
			if (say(d, end) != WP_OK)
				break;
		}
		pump(d);
	}
	CHECK_EQ(view(d)->state, WP_SOURCE_FINISHED);
	d->kill_server(d->arg);
	d->start_server(d->arg);
}

static void probing_tells_alive_stopping_and_unreachable(struct source_driver *d)
{
	struct seen seen = { 0 };
	stream(d);
	d->commit(d->arg, 1);
	take_inserts(d, &seen, 1);
	d->source->ops->reading(d->source, WP_READING_OFF);
	await_probe(d, WP_PROBE_ALIVE);
	/* It waits for us, and we confirm nothing: the trap of a relay without Kafka. */
	d->ask_to_stop(d->arg);
	await_probe(d, WP_PROBE_STOPPING);
	d->source->ops->close(d->source);
	d->kill_server(d->arg);
	await_probe(d, WP_PROBE_UNREACHABLE);
	d->start_server(d->arg);
}

static void an_answer_about_partitions_covers_all_that_was_committed_before(struct source_driver *d)
{
	struct seen seen = { 0 };
	stream(d);
	d->commit(d->arg, 1);
	take_inserts(d, &seen, 1);
	d->source->ops->ask_partitions(d->source);
	for (int i = 0; i < SOURCE_CONTRACT_PUMPS_MAX && view(d)->partitions_asked == WP_ASKED_OPEN;
	     i++)
		pump(d);
	CHECK_EQ(view(d)->partitions_asked, WP_ASKED_ANSWERED);
	CHECK(wp_partitions_cover(&view(d)->partitions, seen.xid));
	CHECK_EQ(view(d)->state, WP_SOURCE_STREAMING);
}

#define CASE(name_)           \
	{                     \
#name_, name_ \
	}
const struct source_contract_case source_contract_cases[] = {
	CASE(a_new_source_is_closed),
	CASE(connecting_leads_to_facts),
	CASE(looking_reads_the_facts_again),
	CASE(transactions_come_whole_and_in_order),
	CASE(what_was_committed_before_the_start_comes_too),
	CASE(a_quiet_stream_says_again_and_wakes_when_there_is_more),
	CASE(a_frame_outlives_a_status),
	CASE(a_paused_source_is_quiet_and_goes_on_where_it_was),
	CASE(a_status_moves_the_slot),
	CASE(a_status_leaves_while_paused),
	CASE(of_many_statuses_the_last_counts),
	CASE(finishing_loses_no_status),
	CASE(finishing_works_while_paused),
	CASE(a_finished_source_may_connect_again),
	CASE(what_was_not_confirmed_comes_again),
	CASE(closing_is_possible_in_every_state),
	CASE(a_broken_connection_asks_for_a_new_one),
	CASE(a_slot_held_by_another_is_told_and_not_fought_for),
	CASE(looking_sees_the_slot_become_free),
	CASE(our_own_old_stream_does_not_hold_the_slot),
	CASE(the_slot_checkpoint_is_written_only_when_asked),
	CASE(its_end_stands_in_the_slot_checkpoint),
	CASE(without_ever_having_had_the_slot_there_is_no_last_word),
	CASE(after_a_lost_stream_too_its_end_stands_in_the_slot_checkpoint),
	CASE(the_last_word_is_left_to_who_has_the_slot_by_now),
	CASE(a_server_that_is_gone_takes_no_last_word),
	CASE(what_is_seen_beside_the_stream_is_told),
	CASE(what_is_written_down_needs_no_question_before),
	CASE(a_server_that_is_gone_fails_and_comes_back),
	CASE(a_stop_with_all_confirmed_ends_the_copy_well),
	CASE(probing_tells_alive_stopping_and_unreachable),
	CASE(an_answer_about_partitions_covers_all_that_was_committed_before),
};
const size_t source_contract_count =
	sizeof(source_contract_cases) / sizeof(source_contract_cases[0]);
