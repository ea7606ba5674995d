#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "relay_internal.h"
#include "walpost/relay/faults.h"

/* So that a step is short, and the server hears of us between two: some 20 ms at most. */
enum { FRAMES_PER_STEP = 2000, WRITTEN_PER_STEP = 2 * 1024 * 1024 };

/* -- connecting ---------------------------------------------------------- */

static bool is_foreign_system(struct wp_relay *r, const struct wp_source_facts *f,
			      struct wp_error *error)
{
	uint64_t known = r->started ? r->system_id : f->checkpoint_system_id;
	bool raised = !r->started && r->setup.options->epoch > f->checkpoint_epoch;

	if (known == 0 || known == f->system_id || raised)
		return false;
	(void)wp_error_set(
		error, WP_CONFIG,
		"the server's system identifier is %" PRIu64 ", it was %" PRIu64
		": this is another database cluster (restored or replaced), whose positions start "
		"anew; events between the two may be missing. If that is intended, set relay.epoch "
		"= %u "
		"and start again",
		f->system_id, known, (unsigned)f->checkpoint_epoch + 1);
	return true;
}

/* Whoever had the slot last, this process or another. */
static bool is_older_epoch(const struct wp_relay *r, const struct wp_source_facts *f,
			   struct wp_error *error)
{
	if (!f->checkpoint_readable || r->setup.options->epoch >= f->checkpoint_epoch)
		return false;
	(void)wp_error_set(
		error, WP_CONFIG,
		"relay.epoch is %u, but relay %s sent events of this slot with epoch %u: new "
		"events would get positions below theirs, and consumers that drop by "
		"walpost-position would drop them all. Set relay.epoch = %u and start again",
		(unsigned)r->setup.options->epoch, f->checkpoint_owner,
		(unsigned)f->checkpoint_epoch, (unsigned)f->checkpoint_epoch);
	return true;
}

static bool may_resume(const struct wp_relay *r, const struct wp_source_facts *f)
{
	if (!r->started)
		return false;
	if (wp_fault(WP_FAULT_RESUME_AFTER_MOVE))
		return true;
	return !r->gap && f->timelines.current == r->timeline &&
	       f->slot_confirmed <=
		       wp_lsn_max(r->feedback.highest_flush, wp_ledger_confirmed_lsn(&r->ledger));
}

static void go_on(struct wp_relay *r, const struct wp_source_facts *f, struct wp_now now)
{
	wp_relay_tell_start(r, f);
	wp_relay_happen(r, may_resume(r, f) ? WP_SLOT_RESUME : WP_SLOT_TAKEN, now);
}

static void connected(struct wp_relay *r, struct wp_now now)
{
	const struct wp_source_facts *f = &wp_relay_source(r)->facts;
	struct wp_error error;

	r->server = wp_lsn_max(r->server, f->server_lsn);
	r->let_in = true;
	if (f->slot_held) {
		r->had_slot = false;
		wp_relay_forget_tail(r);
		r->refused_ms = INT64_MAX; /* the next event is another's to send */
	}
	if (is_foreign_system(r, f, &error))
		wp_relay_halt(r, WP_EXIT_HUMAN, "system_changed", &error, now);
	else if (is_older_epoch(r, f, &error))
		wp_relay_halt(r, WP_EXIT_HUMAN, "epoch_lowered", &error, now);
	else if (f->slot_held)
		wp_relay_happen(r, WP_SLOT_HELD, now);
	else if (!wp_relay_may_stream(
			 r, now)) /* first: a server that is behind is no matter of its slot */
		return;
	else if (wp_relay_finds_gap(r, f, &error))
		wp_relay_halt(r, WP_EXIT_HUMAN, "slot_moved", &error, now);
	else
		go_on(r, f, now);
}

/* An error that the server will give again at the same place is no matter of patience. */
static bool is_hopeless(struct wp_relay *r, const struct wp_source_failure *f)
{
	return f->reaction == WP_REACT_TRY_THRICE &&
	       wp_relay_is_too_often(&r->stream_trouble, f->sqlstate,
				     wp_ledger_received_lsn(&r->ledger), SAME_TROUBLE_MAX);
}

/*
 * What is on its way can no more be confirmed to the server: not to be waited for, nor is the end
 * of a copy that has failed.
 */
static void leave_stream(struct wp_relay *r, struct wp_now now)
{
	if (r->state == WP_DRAINING || r->state == WP_FINISHING)
		wp_relay_happen(r, WP_LOST, now);
}

/* Else it was a try to connect, of which a server that is away sees many. */
static bool had_begun(const struct wp_relay *r)
{
	return r->state == WP_STARTING || r->state == WP_STREAMING || r->state == WP_PAUSED;
}

/*
 * What is wrong with the configuration at the start does not pass. Who was let in before waits:
 * a password is being rotated, say, and the server has another than the file.
 */
static bool is_for_a_human(const struct wp_relay *r, const struct wp_source_failure *f)
{
	bool connects = r->state == WP_CONNECTING || r->state == WP_STANDBY;

	if (f->reaction == WP_REACT_STOP_CONFIG)
		return !r->started && !(r->let_in && connects);
	return f->reaction == WP_REACT_STOP_HUMAN;
}

static void failed(struct wp_relay *r, const struct wp_source_failure *f, struct wp_now now)
{
	enum wp_note_level level = f->reaction == WP_REACT_STANDBY ? WP_NOTE_DEBUG : WP_NOTE_WARN;
	bool refused = f->reaction == WP_REACT_STOP_HUMAN || f->reaction == WP_REACT_STOP_CONFIG;
	bool is_login = strncmp(f->sqlstate, "28", 2) == 0; /* no matter of what was reloaded */

	if (refused && !is_login && wp_relay_may_be_refused(r) &&
	    wp_relay_takes_back(r, &f->error, now))
		return;
	if (is_for_a_human(r, f)) {
		r->slot_lost = f->slot_lost;
		wp_relay_halt(r, wp_relay_exit_code_of(f->reaction), "stream_refused", &f->error,
			      now);
		leave_stream(r, now);
		return;
	}
	if (is_hopeless(r, f)) {
		wp_relay_halt(r, WP_EXIT_HUMAN, "stream_stuck", &f->error, now);
		leave_stream(r, now);
		return;
	}
	r->reconnects += had_begun(r);
	wp_relay_happen(r, f->reaction == WP_REACT_LET_GO ? WP_LET_GO : WP_LOST, now);
	if (r->state == WP_BACKING_OFF) {
		struct wp_note *n = wp_relay_note(r, level, "stream_broken");
		n->error = f->error;
		n->wait_ms = r->deadline_ms - now.ms;
	}
}

void wp_relay_watch_source(struct wp_relay *r, struct wp_now now)
{
	const struct wp_source_view *v = wp_relay_source(r);
	bool asking = r->state == WP_CONNECTING || r->looking;

	switch (v->state) {
	case WP_SOURCE_READY:
		if (asking)
			connected(r, now);
		break;
	case WP_SOURCE_STREAMING:
		if (r->state == WP_STARTING)
			wp_relay_happen(r, WP_COPYING, now);
		break;
	case WP_SOURCE_FAILED: {
		struct wp_source_failure f = v->failure; /* the view changes below */
		failed(r, &f, now);
		break;
	}
	case WP_SOURCE_FINISHED:
		/* The server ended the copy: it is stopping, or was told to by us. */
		wp_relay_happen(r, r->state == WP_FINISHING ? WP_COPY_ENDED : WP_LET_GO, now);
		break;
	default:
		break;
	}
}

/* -- frames --------------------------------------------------------------- */

static void heard(struct wp_relay *r, const struct wp_taken *taken, struct wp_now now)
{
	r->server = wp_lsn_max(r->server, taken->wal_end);
	r->heard_ms = now.ms;
	r->keepalives += taken->keepalive;
	/* One that breaks before its first commit each time is not to be hurried. */
	if ((!taken->keepalive && !wp_pipeline_in_transaction(r->pipeline)) ||
	    now.ms - r->begun_ms >= LASTING_MS)
		wp_backoff_reset(&r->connect_backoff);
	if (!taken->keepalive) {
		wp_feedback_heard_data(&r->feedback, now.ms);
		return;
	}
	r->quiet_ms = now.ms; /* the server had nothing more to send */
	wp_feedback_heard_keepalive(&r->feedback, now.ms, taken->reply_requested);
}

static void broke_protocol(struct wp_relay *r, const struct wp_error *error, struct wp_now now)
{
	if (wp_relay_is_too_often(&r->stream_trouble, "protocol",
				  wp_ledger_received_lsn(&r->ledger), SAME_TROUBLE_MAX)) {
		wp_relay_halt(r, WP_EXIT_HUMAN, "stream_stuck", error, now);
		return;
	}
	r->reconnects++;
	wp_relay_happen(r, WP_LOST, now);
	wp_relay_note(r, WP_NOTE_WARN, "stream_broken")->error = *error;
}

/*
 * A type that was made after the catalog was asked, or that it told nothing of: asked anew, it
 * may. Once at each place, for it may as well not.
 */
static bool asks_anew(struct wp_relay *r, const struct wp_error *error, struct wp_now now)
{
	wp_lsn at = wp_ledger_received_lsn(&r->ledger);

	if (!wp_pipeline_wants_facts(r->pipeline) || (r->asked_anew && r->asked_anew_at == at))
		return false;
	r->asked_anew = true;
	r->asked_anew_at = at;
	wp_relay_happen(r, WP_LOST, now);
	wp_relay_note(r, WP_NOTE_INFO, "types_asked_anew")->error = *error;
	return true;
}

/*
 * A table that is, or was as its rows were written, otherwise than the catalog said when the
 * stream began.
 */
static bool goes_on_in_text(struct wp_relay *r, const struct wp_error *error, struct wp_now now)
{
	if (!wp_relay_source(r)->facts.text_will_do || !wp_pipeline_wants_text(r->pipeline))
		return false;
	r->as_text = true;
	wp_relay_happen(r, WP_LOST, now);
	wp_relay_note(r, WP_NOTE_WARN, "binary_given_up")->error = *error;
	return true;
}

static void ask(struct wp_relay *r, struct wp_now now)
{
	r->question.due_ms = INT64_MAX;
	r->question.asked_ms = now.ms;
	r->setup.source->ops->ask_partitions(r->setup.source);
}

/*
 * A transaction that was just committed is not visible at once, and not for as long as it waits
 * for a synchronous standby: the same question again is asked ever more seldom.
 */
static void open_question(struct wp_relay *r, struct wp_now now)
{
	struct question *q = &r->question;
	uint32_t xid = wp_pipeline_question(r->pipeline);

	q->wait_ms = q->xid != xid ? ASK_EVERY_MS : 2 * q->wait_ms;
	if (q->wait_ms > ASK_AGAIN_MS)
		q->wait_ms = ASK_AGAIN_MS;
	q->xid = xid;
	q->open = true;
	q->due_ms = q->asked_ms + q->wait_ms;
	if (now.ms >= q->due_ms)
		ask(r, now);
}

/* What an answer of the pipeline means for the state; the frame stays held unless taken. */
static void not_taken(struct wp_relay *r, enum wp_rc rc, const struct wp_error *error,
		      struct wp_now now)
{
	switch (rc) {
	case WP_FULL:
	case WP_AGAIN:
		if (r->refused_ms == INT64_MAX)
			r->refused_ms = now.ms;
		wp_relay_happen(r, WP_NO_ROOM, now);
		break;
	case WP_PAUSE:
		open_question(r, now);
		wp_relay_happen(r, WP_NO_ROOM, now);
		break;
	case WP_DATA:
		/* Its cure gives up what is not confirmed: let all before it be. */
		if (r->ledger.in_flight > 0)
			wp_relay_happen(r, WP_NO_ROOM, now);
		else
			wp_relay_halt_for_event(r, "event_undeliverable", error, true, now);
		break;
	case WP_CONFIG:
		if (!asks_anew(r, error, now) && !goes_on_in_text(r, error, now) &&
		    !wp_relay_takes_back(r, error, now))
			wp_relay_halt(r, WP_EXIT_HUMAN, "stream_refused", error, now);
		break;
	case WP_IO: /* the sink's view tells more */
		wp_relay_rewind(r, now);
		break;
	case WP_NOMEM:
		wp_relay_halt(r, WP_EXIT_FAILED, "out_of_memory", error, now);
		break;
	default:
		broke_protocol(r, error, now);
		break;
	}
}

/*
 * One event in flight while isolating, none more when that may end (under load it would
 * never), or no more than the ledger's window.
 */
static bool has_room(const struct wp_relay *r)
{
	if ((r->isolation.crawling || wp_relay_is_past_trouble(r) || wp_relay_may_change_here(r)) &&
	    r->ledger.in_flight > 0)
		return false;
	bool waits = !wp_span_is_null(r->held); /* for room of its own size, perhaps */
	return wp_ledger_has_room(&r->ledger, waits ? wp_pipeline_last_size(r->pipeline) : 0);
}

static enum wp_rc next_frame(struct wp_relay *r)
{
	if (!wp_span_is_null(r->held))
		return WP_OK;
	return r->setup.source->ops->next(r->setup.source, &r->held);
}

/* All that were in flight when the error came have been sent again, each alone. */
static void note_sent(struct wp_relay *r)
{
	bool alone = r->isolation.crawling && r->batching_now == WP_BATCHING_ONE_BY_ONE;
	const struct wp_position *at = wp_pipeline_last_position(r->pipeline);
	const struct wp_position *until = &r->isolation.until_event;

	if (at->commit_lsn > until->commit_lsn ||
	    (at->commit_lsn == until->commit_lsn && at->ordinal > until->ordinal))
		r->isolation.crawling = false;
	r->isolation.alone = alone ? wp_ledger_next(&r->ledger) - 1 : 0;
	r->refused_ms = INT64_MAX;
	wp_relay_note_delivered(r, at);
}

static void note_dead_letter(struct wp_relay *r)
{
	const struct wp_event_name *e = wp_pipeline_last_event(r->pipeline);
	char position[WP_POSITION_TEXT_SIZE];

	(void)wp_error_set(
		&wp_relay_note(r, WP_NOTE_WARN, "dead_letter")->error, WP_OK,
		"the event of %s%s with id %s (position %s, %zu bytes, topic %s) goes to "
		"dead-letter topic %s: %s",
		wp_relay_event_kind(e), e->table, e->id[0] != '\0' ? e->id : "NULL",
		wp_position_text(&e->position, position), e->size,
		e->topic[0] != '\0' ? e->topic : "unknown", r->setup.options->dead_letter_topic,
		wp_pipeline_reason(r->pipeline)->text);
}

enum { COMPLAIN_EVERY_MS = 10 * 1000 };

static bool is_due(int64_t *noted_ms, struct wp_now now)
{
	if (*noted_ms != 0 && now.ms - *noted_ms < COMPLAIN_EVERY_MS)
		return false;
	*noted_ms = now.ms;
	return true;
}

/* Not each of them: there may be millions. The counts tell how many. */
static void note_update(struct wp_relay *r, const struct wp_outbox_options *o, struct wp_now now)
{
	enum wp_note_level level =
		o->on_update == WP_ON_UPDATE_ERROR ? WP_NOTE_ERROR : WP_NOTE_WARN;

	if (is_due(level == WP_NOTE_ERROR ? &r->update_error_noted_ms : &r->update_noted_ms, now))
		(void)wp_error_set(
			&wp_relay_note(r, level, "row_updated")->error, WP_OK,
			"a row of outbox table %s was updated, which is no event (%llu so far): "
			"insert a new row for a new event",
			o->table, (unsigned long long)wp_pipeline_counts(r->pipeline)->updates);
}

static void note_refused_message(struct wp_relay *r, struct wp_now now)
{
	if (is_due(&r->message_noted_ms, now))
		(void)wp_error_set(
			&wp_relay_note(r, WP_NOTE_WARN, "message_refused")->error, WP_OK,
			"a logical message of our prefix was not transactional and is no event, "
			"for its transaction may have rolled back (%llu so far): give "
			"pg_logical_emit_message() true for its first argument",
			(unsigned long long)wp_pipeline_counts(r->pipeline)->messages_refused);
}

static bool take_held(struct wp_relay *r, struct wp_now now)
{
	struct wp_taken taken;
	struct wp_error error;

	error.text[0] = '\0'; /* and not all of it, for every frame */
	taken.updated = NULL;
	enum wp_rc rc = wp_pipeline_take(r->pipeline, r->held, &taken, &error);
	if (rc == WP_CONFIG && taken.updated != NULL) {
		/* Asked for, and no fault of a reload that asked for it. */
		wp_relay_halt(r, WP_EXIT_HUMAN, "stream_refused", &error, now);
		return false;
	}
	if (rc != WP_OK) {
		not_taken(r, rc, &error, now);
		return false;
	}
	wp_relay_drop_held(r);
	if (taken.event) {
		note_sent(r);
		r->event_ms = now.ms;
	}
	if (taken.dead_letter)
		note_dead_letter(r);
	if (taken.updated != NULL)
		note_update(r, taken.updated->options, now);
	if (taken.refused_message)
		note_refused_message(r, now);
	heard(r, &taken, now);
	return true;
}

/* Takes one frame; false when the state changed or nothing is there. */
static bool take_frame(struct wp_relay *r, struct wp_now now)
{
	if (!has_room(r)) {
		wp_relay_happen(r, WP_NO_ROOM, now);
		return false;
	}
	enum wp_rc rc = next_frame(r);
	if (rc == WP_AGAIN && now.ms - r->paused_ms >= PROBE_AFTER_MS)
		r->quiet_ms = now.ms; /* nothing can have been stuck behind what we did not read */
	if (rc != WP_OK)
		return false;
	if (r->held.size > r->largest_frame) {
		r->largest_frame = r->held.size;
		r->event_ms = now.ms;
	}
	return take_held(r, now);
}

/* True when the budget was spent. */
bool wp_relay_take_frames(struct wp_relay *r, struct wp_now now)
{
	for (unsigned i = 0; i < FRAMES_PER_STEP; i++) {
		if (wp_pipeline_written(r->pipeline) - r->written >= WRITTEN_PER_STEP)
			return true;
		/* Each dead letter is told of: what there is to tell is taken between two steps. */
		if (r->note_count >= NOTES_MAX / 2)
			return true;
		if (r->state != WP_STREAMING || (r->stop_asked && wp_relay_may_stop_here(r, now)))
			return false;
		if (wp_relay_may_change_here(r) && r->ledger.in_flight == 0)
			return true;
		if (!take_frame(r, now))
			return false;
	}
	return true;
}

/* Is the answer about the partitions still awaited? */
static bool question_open(struct wp_relay *r, struct wp_now now)
{
	struct question *q = &r->question;
	enum wp_asked asked = wp_relay_source(r)->partitions_asked;

	if (q->open && q->due_ms != INT64_MAX) {
		if (now.ms >= q->due_ms)
			ask(r, now);
	} else if (q->open && asked == WP_ASKED_FAILED) {
		wp_relay_note(r, WP_NOTE_WARN, "partitions_unknown");
		q->due_ms = now.ms + ASK_AGAIN_MS;
	} else if (q->open && asked == WP_ASKED_ANSWERED) {
		q->open = false; /* the row asks again if that was not enough */
	}
	return q->open;
}

void wp_relay_try_again(struct wp_relay *r, struct wp_now now)
{
	if (r->state != WP_PAUSED || question_open(r, now) || !has_room(r))
		return;
	if (wp_relay_sink(r)->state != WP_SINK_READY)
		return;
	if (r->stop_asked && wp_relay_may_stop_here(r, now))
		return;
	/* Reading comes after, for turned on it wakes us: refused again, for ever. */
	if (!wp_span_is_null(r->held) && !take_held(r, now))
		return;
	wp_relay_happen(r, WP_ROOM, now);
}

/* -- a connection that has grown ------------------------------------------ */

/* A new stream is decoded from restart_lsn on, which takes a server its time. */
static bool begins_far_back(const struct wp_relay *r)
{
	return wp_relay_source(r)->health.retained > RENEW_RETAINED_MAX;
}

/* Nothing would come twice: the server has heard, or is about to, of all that was read. */
static bool may_renew(const struct wp_relay *r)
{
	return !begins_far_back(r) && r->largest_frame >= RENEW_FROM_BYTES &&
	       r->state == WP_STREAMING && wp_relay_is_streaming(r) && !r->stop_asked &&
	       !r->health.suspect && wp_span_is_null(r->held) &&
	       !wp_pipeline_in_transaction(r->pipeline) && r->ledger.in_flight == 0 &&
	       wp_ledger_confirmed_lsn(&r->ledger) == wp_ledger_received_lsn(&r->ledger);
}

int64_t wp_relay_renew_due(const struct wp_relay *r)
{
	int64_t due = r->event_ms + RENEW_AFTER_MS;
	int64_t again = r->renewed_ms + RENEW_EVERY_MS;

	if (!may_renew(r))
		return INT64_MAX;
	return r->renewals > 0 && again > due ? again : due;
}

void wp_relay_renew(struct wp_relay *r, struct wp_now now)
{
	struct wp_error error;

	if (now.ms < wp_relay_renew_due(r))
		return;
	wp_relay_send_status(r, now); /* in case another takes the slot in between */
	if (!wp_relay_is_streaming(r))
		return;
	r->renewals++;
	r->renewed_ms = now.ms;
	(void)wp_error_set(&wp_relay_note(r, WP_NOTE_INFO, "stream_renewed")->error, WP_OK,
			   "a row of %zu bytes had come; a new connection gives back the memory "
			   "that libpq keeps for rows of that size",
			   r->largest_frame);
	/* Without memory for new ones the old stay. */
	(void)!wp_pipeline_change(r->pipeline, r->setup.task.outboxes, &error);
	wp_relay_happen(r, WP_OVERGROWN, now);
}
