/*
 * Handles what comes from the source: connections and their failures, the slot as it was found, and
 * each frame of the stream.
 */
#include <string.h>

#include "relay_internal.h"
#include "walpost/base/display.h"
#include "walpost/relay/faults.h"

enum {
	/* A step is kept short by these, some 20 ms at most: the server hears of us between two. */
	FRAMES_PER_STEP = 2000,
	WRITTEN_PER_STEP = 2 * 1024 * 1024,
	SAME_TROUBLE_MAX = 3,
	LASTING_MS = 10 * 1000,
};

/* -- connecting ---------------------------------------------------------- */

struct wp_slot_progress wp_relay_slot_progress(const struct wp_relay *r)
{
	return (struct wp_slot_progress){
		.slot = r->setup.slot,
		.owner = r->setup.owner,
		.epoch = r->setup.options->epoch,
		.confirmed_lsn = wp_ledger_confirmed_lsn(&r->ledger),
		.highest_flush = r->feedback.highest_flush,
		.lost_ticket = r->ledger.lost,
	};
}

static void resume_or_take_slot(struct wp_relay *r, const struct wp_slot_progress *p,
				const struct wp_source_facts *f, struct wp_now now)
{
	struct wp_error error;

	if (wp_slot_identity_tells_distance(&r->identity, p, f, &error)) {
		/* This is usual after a relay that was killed. */
		bool is_usual = f->slot_checkpoint_owner[0] != '\0' &&
				f->slot_checkpoint_writable && !f->slot_checkpoint_unsure &&
				r->identity.foreign.client[0] == '\0';
		struct wp_note *n = wp_relay_note(r, is_usual ? WP_NOTE_INFO : WP_NOTE_WARN,
						  "slot_beyond_checkpoint");
		n->lsn = f->slot_confirmed;
		n->error = error;
	}
	if (wp_slot_identity_tells_timeline(&r->identity, p, f, &error))
		wp_relay_note(r, WP_NOTE_INFO, "timeline_changed")->error = error;
	bool resumes = wp_slot_identity_may_resume(&r->identity, p, f);
	wp_relay_handle(r, resumes ? WP_SLOT_RESUME : WP_SLOT_TAKEN, now);
}

static void note_foreign_client(struct wp_relay *r, const struct wp_source_facts *f)
{
	struct wp_note *n = wp_relay_note(r, WP_NOTE_WARN, "slot_foreign");

	n->lsn = f->slot_confirmed;
	(void)wp_error_set(
		&n->error, WP_OK,
		"slot %s is held by a client that is no walpost relay: %s. Nobody delivers events "
		"while it is, and what it confirms is lost: end it, and check what it was for",
		r->setup.slot, f->holder);
}

static void connected(struct wp_relay *r, struct wp_now now)
{
	const struct wp_source_facts *f = &wp_relay_source(r)->facts;
	struct wp_slot_progress p = wp_relay_slot_progress(r);
	struct wp_error error;

	r->server = wp_lsn_max(r->server, f->server_lsn);
	r->identity.let_in = true;
	if (f->slot_active) {
		if (wp_slot_identity_sees_holder(&r->identity, &p, f))
			note_foreign_client(r, f);
		wp_behind_check_forget(&r->behind);
		r->pending.refused_ms = INT64_MAX; /* the next event is another's to send */
	}
	if (wp_slot_identity_is_foreign(&r->identity, &p, f, &error))
		wp_relay_halt(r, WP_EXIT_HUMAN, "system_changed", &error, now);
	else if (wp_slot_identity_is_older_epoch(&p, f, &error))
		wp_relay_halt(r, WP_EXIT_HUMAN, "epoch_lowered", &error, now);
	else if (f->slot_active)
		wp_relay_handle(r, WP_SLOT_ACTIVE, now);
	/* This comes first: a server that is behind is no matter of its slot. */
	else if (!wp_relay_may_stream(r, now))
		return;
	else if (wp_slot_identity_finds_gap(&r->identity, &p, f, &error))
		wp_relay_halt(r, WP_EXIT_HUMAN, "slot_moved", &error, now);
	else
		resume_or_take_slot(r, &p, f, now);
}

/*
 * What is on its way can no more be confirmed to the server, so it is not waited for, nor is the
 * end of a copy that has failed. A stop from elsewhere has parted from the source already, and what
 * it writes then is to be written.
 */
static void leave_stream(struct wp_relay *r, bool was_finishing, struct wp_now now)
{
	if (r->machine.state == WP_DRAINING || was_finishing)
		wp_relay_handle(r, WP_LOST, now);
}

/*
 * What is wrong with the configuration at the start does not pass. A relay that was let in before
 * waits: a password is being rotated, say, and the server has another than the file.
 */
static bool is_for_a_human(const struct wp_relay *r, const struct wp_source_failure *f)
{
	bool connects = r->machine.state == WP_CONNECTING || r->machine.state == WP_STANDBY;

	if (f->reaction == WP_REACT_STOP_CONFIG)
		return !r->identity.started && !(r->identity.let_in && connects);
	return f->reaction == WP_REACT_STOP_HUMAN;
}

static void handle_source_failure(struct wp_relay *r, const struct wp_source_failure *f,
				  struct wp_now now)
{
	enum wp_note_level level = f->reaction == WP_REACT_STANDBY ? WP_NOTE_DEBUG : WP_NOTE_WARN;
	bool refused = f->reaction == WP_REACT_STOP_HUMAN || f->reaction == WP_REACT_STOP_CONFIG;
	bool is_login = strncmp(f->sqlstate, "28", 2) == 0; /* no matter of what was reloaded */
	bool was_finishing = r->machine.state == WP_FINISHING;

	if (refused && !is_login && wp_reload_may_be_refused(&r->reload) &&
	    wp_relay_takes_back(r, &f->error, now))
		return;
	if (is_for_a_human(r, f)) {
		r->stop.slot_lost = f->slot_lost;
		wp_relay_halt(r, wp_relay_exit_code_of(f->reaction), "stream_refused", &f->error,
			      now);
		leave_stream(r, was_finishing, now);
		return;
	}
	/* An error that the server will give again at the same place is no matter of patience. */
	if (f->reaction == WP_REACT_TRY_THRICE &&
	    wp_retry_is_useless(&r->stream_trouble, f->sqlstate, wp_ledger_received_lsn(&r->ledger),
				SAME_TROUBLE_MAX)) {
		wp_relay_halt(r, WP_EXIT_HUMAN, "stream_stuck", &f->error, now);
		leave_stream(r, was_finishing, now);
		return;
	}
	/* Otherwise this was a try to connect, of which a server that is away sees many. */
	if (r->machine.state == WP_STARTING || wp_relay_reads(r))
		r->retry.reconnects++;
	wp_relay_handle(r, f->reaction == WP_REACT_LET_GO ? WP_LET_GO : WP_LOST, now);
	if (r->machine.state == WP_BACKING_OFF) {
		struct wp_note *n = wp_relay_note(r, f->reissue_missing ? WP_NOTE_INFO : level,
						  "stream_broken");
		n->error = f->error;
		n->wait_ms = r->machine.deadline_ms - now.ms;
	}
}

void wp_relay_watch_source(struct wp_relay *r, struct wp_now now)
{
	const struct wp_source_view *v = wp_relay_source(r);
	bool asking = r->machine.state == WP_CONNECTING || r->machine.reads_facts;

	r->reissue_from = v->reissue_from;
	switch (v->state) {
	case WP_SOURCE_READY:
		if (asking)
			connected(r, now);
		break;
	case WP_SOURCE_STREAMING:
		if (r->machine.state == WP_STARTING)
			wp_relay_handle(r, WP_COPYING, now);
		break;
	case WP_SOURCE_FAILED: {
		struct wp_source_failure f = v->failure; /* the view changes below */
		handle_source_failure(r, &f, now);
		break;
	}
	case WP_SOURCE_FINISHED:
		/* The server ended the copy: it is stopping, or was told to by us. */
		wp_relay_handle(r, r->machine.state == WP_FINISHING ? WP_COPY_ENDED : WP_LET_GO,
				now);
		break;
	default:
		break;
	}
}

/* -- frames --------------------------------------------------------------- */

static void note_heard(struct wp_relay *r, const struct wp_taken *taken, struct wp_now now)
{
	r->server = wp_lsn_max(r->server, taken->wal_end);
	r->heard_ms = now.ms;
	/* A stream that breaks before its first commit each time is not to be hurried. */
	if ((!taken->keepalive && !wp_pipeline_in_transaction(r->pipeline)) ||
	    now.ms - r->probe.begun_ms >= LASTING_MS)
		wp_backoff_reset(&r->retry.connect);
	if (!taken->keepalive) {
		wp_feedback_heard_data(&r->feedback, now.ms);
		return;
	}
	wp_shutdown_probe_at_end(&r->probe, now.ms);
	wp_feedback_heard_keepalive(&r->feedback, now.ms, taken->reply_requested);
}

static void broke_protocol(struct wp_relay *r, const struct wp_error *error, struct wp_now now)
{
	if (wp_retry_is_useless(&r->stream_trouble, "protocol", wp_ledger_received_lsn(&r->ledger),
				SAME_TROUBLE_MAX)) {
		wp_relay_halt(r, WP_EXIT_HUMAN, "stream_stuck", error, now);
		return;
	}
	r->retry.reconnects++;
	wp_relay_handle(r, WP_LOST, now);
	wp_relay_note(r, WP_NOTE_WARN, "stream_broken")->error = *error;
}

/*
 * The type was made after the catalog was asked, or the catalog told nothing of it: asked anew, it
 * may.
 */
static bool asks_anew(struct wp_relay *r, const struct wp_error *error, struct wp_now now)
{
	if (!wp_pipeline_wants_facts(r->pipeline) ||
	    !wp_reload_asks_anew(&r->reload, wp_ledger_received_lsn(&r->ledger)))
		return false;
	wp_relay_handle(r, WP_LOST, now);
	wp_relay_note(r, WP_NOTE_INFO, "types_asked_anew")->error = *error;
	return true;
}

/*
 * The table is, or was as its rows were written, other than the catalog said when the stream began.
 */
static bool goes_on_in_text(struct wp_relay *r, const struct wp_error *error, struct wp_now now)
{
	if (!wp_relay_source(r)->facts.text_will_do || !wp_pipeline_wants_text(r->pipeline))
		return false;
	r->reload.as_text = true;
	wp_relay_handle(r, WP_LOST, now);
	wp_relay_note(r, WP_NOTE_WARN, "binary_given_up")->error = *error;
	return true;
}

static void ask_source_partitions(struct wp_relay *r, enum wp_partition_step step)
{
	if (step == WP_PARTITIONS_ASK)
		r->setup.source->ops->ask_partitions(r->setup.source);
}

/* Turns an answer of the pipeline into a move of the state; the frame stays pending. */
static void handle_not_taken(struct wp_relay *r, enum wp_rc rc, const struct wp_error *error,
			     struct wp_now now)
{
	switch (rc) {
	case WP_FULL:
	case WP_AGAIN:
		if (r->pending.refused_ms == INT64_MAX)
			r->pending.refused_ms = now.ms;
		wp_relay_handle(r, WP_NO_ROOM, now);
		break;
	case WP_PAUSE:
		ask_source_partitions(
			r, wp_partition_question_open(&r->question,
						      wp_pipeline_question(r->pipeline), now.ms));
		wp_relay_handle(r, WP_NO_ROOM, now);
		break;
	case WP_DATA:
		/* Its cure gives up what is not confirmed: let all before it be confirmed. */
		if (r->ledger.in_flight > 0)
			wp_relay_handle(r, WP_NO_ROOM, now);
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
 * May a new stream begin where this one stands, and read walpost.reissue? It may once what is in
 * flight is confirmed, which would come twice otherwise.
 */
static bool may_read_reissue(const struct wp_relay *r)
{
	wp_lsn from = r->reissue_from;

	return from != 0 && wp_ledger_confirmed_lsn(&r->ledger) >= from && wp_relay_reads(r) &&
	       !r->stop.asked && !wp_pipeline_in_transaction(r->pipeline) &&
	       wp_relay_sink(r)->state == WP_SINK_READY;
}

/* One event is in flight when isolating, no more when that may end: under load it never would. */
static bool must_rest(const struct wp_relay *r)
{
	/* What is on its way to walpost.parked is not in flight to the sink. */
	if (r->isolation.one_in_flight && wp_relay_sink(r)->in_flight > 0)
		return true;
	return wp_relay_is_past_trouble(r) || wp_relay_may_change_here(r) || may_read_reissue(r);
}

/* For each frame rare cases are asked for only when they may be: else the ledger's limits count. */
static inline bool may_take_frame(const struct wp_relay *r)
{
	bool is_rare = r->isolation.on || r->reissue_from != 0 || wp_reload_waits(&r->reload);

	if (r->stop.drain.state == WP_DRAIN_HELD)
		return false;
	if (r->parking != NULL && wp_relay_parking_holds_up(r))
		return false;
	if (is_rare && r->ledger.in_flight > 0 && must_rest(r))
		return false;
	bool waits = !wp_span_is_null(r->pending.frame); /* for room of its own size, perhaps */
	return wp_ledger_has_room(&r->ledger, waits ? wp_pipeline_last_size(r->pipeline) : 0);
}

static void note_event_sent(struct wp_relay *r, struct wp_now now)
{
	const struct wp_position *at = wp_pipeline_last_position(r->pipeline);

	wp_isolation_sent(&r->isolation, at, wp_ledger_next(&r->ledger) - 1);
	wp_behind_check_sent(&r->behind, at);
	wp_stream_renewal_sent(&r->renewal, now.ms);
	r->pending.refused_ms = INT64_MAX;
}

static void note_dead_letter(struct wp_relay *r)
{
	const struct wp_event_name *e = wp_pipeline_last_event(r->pipeline);
	char position[WP_POSITION_TEXT_SIZE];

	(void)wp_error_set(&wp_relay_note(r, WP_NOTE_WARN, "dead_letter")->error, WP_OK,
			   "the event of %s%s with id %s (position %s, %zu bytes, topic %s) goes "
			   "to dead-letter topic %s: %s",
			   wp_relay_event_kind(e), e->table, e->id[0] != '\0' ? e->id : "NULL",
			   wp_position_text(&e->position, position), e->size,
			   e->topic[0] != '\0' ? e->topic : "unknown",
			   r->setup.options->dead_letter_topic,
			   wp_pipeline_reason(r->pipeline)->text);
}

/* A later event of the aggregate is told of by metrics alone. */
static void note_parked(struct wp_relay *r, bool is_first)
{
	const struct wp_event_name *e = wp_pipeline_last_event(r->pipeline);
	char position[WP_POSITION_TEXT_SIZE];

	/* It is past, as any that was sent. */
	wp_isolation_sent(&r->isolation, &e->position, wp_ledger_next(&r->ledger) - 1);
	r->pending.refused_ms = INT64_MAX;
	if (!is_first)
		return;
	(void)wp_error_set(&wp_relay_note(r, WP_NOTE_WARN, "event_parked")->error, WP_OK,
			   "the event of %s%s with id %s (position %s%s%s) cannot be delivered: "
			   "%.1000s. It is "
			   "parked, and so are later events with its key; the others continue",
			   wp_relay_event_kind(e), e->table, e->id[0] != '\0' ? e->id : "NULL",
			   wp_position_text(&e->position, position),
			   e->topic[0] != '\0' ? ", topic " : "", e->topic,
			   wp_pipeline_reason(r->pipeline)->text);
}

static void note_update(struct wp_relay *r, const struct wp_outbox_options *o, struct wp_now now)
{
	bool is_error = o->on_update == WP_ON_UPDATE_ERROR;
	enum wp_note_level level = is_error ? WP_NOTE_ERROR : WP_NOTE_WARN;
	enum wp_row_warning which = is_error ? WP_WARN_ROW_UPDATED_ERROR : WP_WARN_ROW_UPDATED;

	if (wp_row_warnings_are_due(&r->warnings, which, now.ms))
		(void)wp_error_set(&wp_relay_note(r, level, "row_updated")->error, WP_OK,
				   "a row of outbox table %s was updated, which is not an event "
				   "(%llu so far): insert a new row instead",
				   o->table,
				   (unsigned long long)wp_pipeline_counts(r->pipeline)->updates);
}

static void note_refused_message(struct wp_relay *r, struct wp_now now)
{
	if (wp_row_warnings_are_due(&r->warnings, WP_WARN_MESSAGE_REFUSED, now.ms))
		(void)wp_error_set(
			&wp_relay_note(r, WP_NOTE_WARN, "message_refused")->error, WP_OK,
			"a logical message with an outbox prefix was not transactional and is not "
			"an event, because its transaction may have rolled back (%llu so far): "
			"pass true as the first argument of pg_logical_emit_message()",
			(unsigned long long)wp_pipeline_counts(r->pipeline)->messages_refused);
}

static void note_refused_reissue(struct wp_relay *r, const struct wp_error *error,
				 struct wp_now now)
{
	if (wp_row_warnings_are_due(&r->warnings, WP_WARN_REISSUE_REFUSED, now.ms))
		(void)wp_error_set(
			&wp_relay_note(r, WP_NOTE_ERROR, "reissue_refused")->error, WP_OK,
			"%s (%llu so far)", error->text,
			(unsigned long long)wp_pipeline_counts(r->pipeline)->reissues_refused);
}

/* This is noted once: where two relays read one database, each passes over what the other sends. */
static void note_reissue_elsewhere(struct wp_relay *r, const struct wp_error *error)
{
	if (r->warnings.reissue_elsewhere_noted)
		return;
	r->warnings.reissue_elsewhere_noted = true;
	wp_relay_note(r, WP_NOTE_INFO, "reissue_of_other_slot")->error = *error;
}

/* One of ours is ignored, too, if the option is forgotten: so the first of each prefix is told. */
static void note_ignored_message(struct wp_relay *r, struct wp_span prefix)
{
	struct wp_excerpt shown;

	if (wp_row_warnings_is_new_prefix(&r->warnings, prefix))
		(void)wp_error_set(&wp_relay_note(r, WP_NOTE_INFO, "message_ignored")->error, WP_OK,
				   "a logical message of prefix %s is not an event, because no "
				   "outbox.message.prefix names it; later messages of this prefix "
				   "are only counted",
				   wp_excerpt(&shown, prefix));
}

static void note_rare(struct wp_relay *r, const struct wp_taken *taken,
		      const struct wp_error *error, struct wp_now now)
{
	if (taken->dead_letter)
		note_dead_letter(r);
	if (taken->parked)
		note_parked(r, taken->parked_first);
	if (taken->updated != NULL)
		note_update(r, taken->updated->options, now);
	if (taken->refused_message)
		note_refused_message(r, now);
	if (taken->refused_reissue)
		note_refused_reissue(r, error, now);
	if (!wp_span_is_null(taken->ignored))
		note_ignored_message(r, taken->ignored);
	if (taken->reissue_elsewhere)
		note_reissue_elsewhere(r, error);
	if (!wp_span_is_null(taken->drain))
		wp_drain_mark(&r->stop.drain, taken->drain);
}

static bool take_pending(struct wp_relay *r, struct wp_now now)
{
	struct wp_taken taken;
	struct wp_error error;

	error.text[0] = '\0'; /* clearing all of it would cost, for every frame */
	taken.updated = NULL;
	enum wp_rc rc = wp_pipeline_take(r->pipeline, r->pending.frame, &taken, &error);
	if (rc == WP_CONFIG && taken.updated != NULL) {
		/* The stop was asked for, and is no fault of a reload that asked for it. */
		wp_relay_halt(r, WP_EXIT_HUMAN, "stream_refused", &error, now);
		return false;
	}
	if (rc != WP_OK) {
		handle_not_taken(r, rc, &error, now);
		return false;
	}
	r->pending.frame = (struct wp_span){ 0 };
	if (taken.event)
		note_event_sent(r, now);
	if (taken.rare)
		note_rare(r, &taken, &error, now);
	if (r->stop.drain.state == WP_DRAIN_MARKED && !wp_pipeline_in_transaction(r->pipeline))
		wp_drain_commit(&r->stop.drain, wp_ledger_received_lsn(&r->ledger));
	note_heard(r, &taken, now);
	return true;
}

/* Takes one frame; false when the state changed or nothing is there. */
static bool take_frame(struct wp_relay *r, struct wp_now now)
{
	if (!may_take_frame(r)) {
		wp_relay_handle(r, WP_NO_ROOM, now);
		return false;
	}
	enum wp_rc rc = WP_OK;
	if (wp_span_is_null(r->pending.frame))
		rc = r->setup.source->ops->next(r->setup.source, &r->pending.frame);
	if (rc == WP_AGAIN)
		wp_shutdown_probe_found_nothing(&r->probe, now.ms);
	if (rc != WP_OK)
		return false;
	wp_stream_renewal_came(&r->renewal, r->pending.frame.size, now.ms);
	return take_pending(r, now);
}

/* Returns true when the budget was spent. */
bool wp_relay_take_frames(struct wp_relay *r, uint64_t written_before, struct wp_now now)
{
	for (unsigned i = 0; i < FRAMES_PER_STEP; i++) {
		if (wp_pipeline_written(r->pipeline) - written_before >= WRITTEN_PER_STEP)
			return true;
		/* Each dead letter is told of: what there is to tell is taken between two steps. */
		if (r->notes.count >= WP_NOTES_MAX / 2)
			return true;
		if (r->machine.state != WP_STREAMING ||
		    (r->stop.asked && wp_relay_stops_here(r, now)))
			return false;
		if (r->ledger.in_flight == 0 && wp_relay_may_change_here(r))
			return true;
		if (!take_frame(r, now))
			return false;
	}
	return true;
}

/* Is the answer about the partitions still awaited? */
static bool question_open(struct wp_relay *r, struct wp_now now)
{
	enum wp_partition_step step = wp_partition_question_step(
		&r->question, wp_relay_source(r)->partitions_asked, now.ms);

	ask_source_partitions(r, step);
	if (step == WP_PARTITIONS_UNKNOWN)
		wp_relay_note(r, WP_NOTE_WARN, "partitions_unknown");
	return step != WP_PARTITIONS_KNOWN;
}

void wp_relay_try_again(struct wp_relay *r, struct wp_now now)
{
	if (r->machine.state != WP_PAUSED || question_open(r, now) || !may_take_frame(r))
		return;
	if (wp_relay_sink(r)->state != WP_SINK_READY)
		return;
	if (wp_relay_stops_here(r, now))
		return;
	/* Reading is turned on last, for it wakes us: a refused frame would do so for ever. */
	if (!wp_span_is_null(r->pending.frame) && !take_pending(r, now))
		return;
	wp_relay_handle(r, WP_ROOM, now);
}

/* -- a connection that has grown ------------------------------------------ */

/* Nothing would come twice: the server has heard, or is about to, of all that was read. */
static bool may_renew(const struct wp_relay *r)
{
	return r->machine.state == WP_STREAMING && wp_relay_is_streaming(r) && !r->stop.asked &&
	       !r->slot_watch.suspect && wp_span_is_null(r->pending.frame) &&
	       !wp_pipeline_in_transaction(r->pipeline) && r->ledger.in_flight == 0 &&
	       wp_ledger_confirmed_lsn(&r->ledger) == wp_ledger_received_lsn(&r->ledger);
}

int64_t wp_relay_renew_due(const struct wp_relay *r)
{
	int64_t due = wp_stream_renewal_due(&r->renewal, wp_relay_source(r)->slot_state.retained);

	return due != INT64_MAX && may_renew(r) ? due : INT64_MAX;
}

static void read_reissue(struct wp_relay *r, struct wp_now now)
{
	wp_relay_send_status(r, now); /* in case another takes the slot in between */
	if (!wp_relay_is_streaming(r))
		return;
	(void)wp_error_set(
		&wp_relay_note(r, WP_NOTE_INFO, "reissue_found")->error, WP_OK,
		"the publication of walpost.reissue exists now: reconnecting to read it");
	wp_relay_handle(r, WP_CHANGED, now);
}

void wp_relay_renew(struct wp_relay *r, struct wp_now now)
{
	struct wp_error error;

	if (may_read_reissue(r) && r->ledger.in_flight == 0) {
		read_reissue(r, now);
		return;
	}

	if (now.ms < wp_relay_renew_due(r))
		return;
	wp_relay_send_status(r, now); /* in case another takes the slot in between */
	if (!wp_relay_is_streaming(r))
		return;
	wp_stream_renewal_renewed(&r->renewal, now.ms);
	(void)wp_error_set(&wp_relay_note(r, WP_NOTE_INFO, "stream_renewed")->error, WP_OK,
			   "a row of %zu bytes arrived; reconnecting frees the memory that libpq "
			   "keeps for rows of that size",
			   r->renewal.largest_frame);
	/* Without memory for new ones the old stay. */
	(void)!wp_pipeline_change(r->pipeline, r->reload.now.outboxes, &error);
	wp_relay_handle(r, WP_OVERGROWN, now);
}
