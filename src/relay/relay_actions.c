/* Carries out the actions of the machine's table, and has what any file of the relay may do. */
#include <stdio.h>

#include "relay_internal.h"
#include "walpost/outbox/subjects.h"
#include "walpost/relay/faults.h"

/* -- the edges, shortened ------------------------------------------------- */

struct wp_note *wp_relay_note(struct wp_relay *r, enum wp_note_level level, const char *event)
{
	return wp_notes_add(&r->notes, level, event, wp_ledger_confirmed_lsn(&r->ledger));
}

const struct wp_source_view *wp_relay_source(const struct wp_relay *r)
{
	return r->setup.source->ops->view(r->setup.source);
}

const struct wp_sink_view *wp_relay_sink(const struct wp_relay *r)
{
	return r->setup.sink->ops->view(r->setup.sink);
}

bool wp_relay_is_streaming(const struct wp_relay *r)
{
	return wp_relay_source(r)->state == WP_SOURCE_STREAMING;
}

bool wp_relay_reads(const struct wp_relay *r)
{
	return r->machine.state == WP_STREAMING || r->machine.state == WP_PAUSED;
}

wp_lsn wp_relay_flush(const struct wp_relay *r)
{
	if (r->slot_watch.suspect && !wp_fault(WP_FAULT_CONFIRM_WHEN_BROKEN))
		return r->feedback.sent_flush;
	if (r->slot_checkpoint.held_ms != 0)
		return r->feedback.sent_flush;
	return wp_ledger_confirmed_lsn(&r->ledger);
}

void wp_relay_send_status(struct wp_relay *r, struct wp_now now)
{
	wp_lsn confirmed_lsn = wp_relay_flush(r);
	struct wp_status status = {
		.write = wp_lsn_max(wp_ledger_received_lsn(&r->ledger), confirmed_lsn),
		.flush = confirmed_lsn,
		.apply = confirmed_lsn,
		.now_us = now.wall_us,
		.reply_requested = wp_feedback_sent(&r->feedback, now.ms, confirmed_lsn),
	};

	(void)r->setup.source->ops->status(r->setup.source, &status);
}

const char *wp_relay_topics(struct wp_relay *r)
{
	return wp_behind_check_topics(&r->behind, r->setup.sink,
				      r->setup.options->dead_letter_topic);
}

/* What is taken back may be reported late, when a stream from the received LSN has left it behind. */
void wp_relay_take_back(struct wp_relay *r)
{
	if (wp_relay_sink(r)->in_flight > 0 && !wp_fault(WP_FAULT_RESUME_AFTER_PURGE))
		wp_ledger_lose(&r->ledger);
	r->setup.sink->ops->purge(r->setup.sink);
}

/* -- actions -------------------------------------------------------------- */

enum {
	FINISH_MS = 3 * 1000,
	REST_MS = 10 * 1000,
	ANSWER_MS = 60 * 1000,
};

/* This is noted once: it does not stop anything, and is the same with each stream. */
static void note_unlabelled(struct wp_relay *r, size_t count)
{
	const struct wp_outboxes *outboxes = r->reload.now.outboxes;
	bool writes_schemas = false;

	for (size_t i = 0; i < outboxes->count; i++)
		writes_schemas |= outboxes->items[i].types == WP_RENDERING_DEBEZIUM;
	if (count == 0 || !writes_schemas || r->reload.unlabelled_noted)
		return;
	r->reload.unlabelled_noted = true;
	(void)wp_error_set(&wp_relay_note(r, WP_NOTE_WARN, "enum_labels_left_out")->error, WP_OK,
			   "%zu enums of the outbox have more labels than fit (%d bytes for all): "
			   "schemas omit their allowed values; values are unaffected",
			   count, WP_TYPE_LABELS_SIZE);
}

static void act_restart(struct wp_relay *r)
{
	wp_lsn from = wp_fault(WP_FAULT_REWIND_TO_RECEIVED) ? wp_ledger_received_lsn(&r->ledger)
							    : wp_ledger_confirmed_lsn(&r->ledger);

	r->setup.sink->ops->restart(r->setup.sink, wp_isolation_restart(&r->isolation));
	if (r->parking != NULL)
		wp_parking_forget(r->parking);
	wp_ledger_forget(&r->ledger, from);
	wp_drain_begin(&r->stop.drain, WP_DRAIN_REREAD);
}

static void act_take_over(struct wp_relay *r)
{
	if (r->parking != NULL)
		wp_parking_forget(r->parking);
	wp_ledger_forget(&r->ledger, wp_relay_source(r)->facts.slot_confirmed);
	wp_drain_begin(&r->stop.drain, WP_DRAIN_REREAD);
	wp_feedback_forget(&r->feedback);
}

static void act_start(struct wp_relay *r)
{
	const struct wp_source_facts *facts = &wp_relay_source(r)->facts;

	wp_pipeline_begin(r->pipeline, &facts->timelines, facts->encoding);
	enum wp_transfer transfer = r->reload.as_text ? WP_TRANSFER_TEXT : facts->transfer;
	wp_pipeline_know(r->pipeline, &facts->columns, transfer);
	note_unlabelled(r, facts->columns.unlabelled);
	/* The row names us before it is known who gets the slot. */
	r->identity.had_slot = false;
	r->question.open = false;
	r->renewal.largest_frame = 0;
	if (r->setup.sink->ops->prefetch != NULL)
		r->setup.sink->ops->prefetch(r->setup.sink, r->behind.topics.text);
	/* Another may have held the slot since the facts were read: claim it each time. */
	r->setup.source->ops->start(r->setup.source, wp_ledger_received_lsn(&r->ledger), transfer,
				    WP_SLOT_CHECKPOINT_WRITE);
}

static void act_begin(struct wp_relay *r, struct wp_now now)
{
	const struct wp_source_view *v = wp_relay_source(r);
	wp_lsn confirmed_lsn = wp_ledger_confirmed_lsn(&r->ledger);

	wp_relay_note(r, WP_NOTE_INFO, "streaming")->lsn = wp_ledger_received_lsn(&r->ledger);
	/* The server takes the task: what it refuses from now on is no matter of it; rows may be. */
	r->reload.accepted = true;
	wp_slot_identity_streams(&r->identity, &v->facts);
	wp_shutdown_probe_begin(&r->probe, now.ms);
	wp_feedback_begin(&r->feedback, now.ms, v->facts.wal_sender_timeout_ms, confirmed_lsn);
	wp_slot_watch_begin(&r->slot_watch, v->facts.server_lsn, now.ms);
	wp_slot_checkpoint_schedule_begin(&r->slot_checkpoint, v->unclaimed, confirmed_lsn,
					  r->delivery.confirmed, now.ms);
	wp_delivery_begin(&r->delivery, &r->ledger, now.ms);
	wp_drain_begin(&r->stop.drain, WP_DRAIN_BEHIND);
	/* The slot is ours: what is parked is known before the first frame is taken. */
	if (r->parking != NULL)
		wp_parking_begin(r->parking, confirmed_lsn);
}

static void act_read(struct wp_relay *r, enum wp_reading reading)
{
	if (wp_relay_is_streaming(r))
		r->setup.source->ops->reading(r->setup.source, reading);
}

static void act_finish(struct wp_relay *r, struct wp_now now)
{
	r->pending.frame = (struct wp_span){ 0 };
	wp_relay_send_status(r, now);
	if (wp_relay_is_streaming(r))
		r->setup.source->ops->finish(r->setup.source, wp_relay_topics(r));
}

static int64_t time_given(const struct wp_relay *r, struct wp_now now)
{
	switch (r->machine.state) {
	case WP_CONNECTING:
	case WP_STARTING:
		return now.ms + ANSWER_MS; /* the source has shorter limits of its own */
	case WP_REBUILDING:
		return now.ms + WP_REBUILD_MS;
	case WP_DRAINING: /* leaves some of the time to end the copy */
		return r->stop.by_ms -
		       wp_sooner(FINISH_MS, r->setup.options->shutdown_timeout_ms / 4);
	case WP_FINISHING:
		return r->stop.by_ms;
	default:
		return now.ms + REST_MS;
	}
}

/* A stream that was lost or refused has had no last word yet: where the slot may stand by us. */
static enum wp_machine_event act_part(struct wp_relay *r, struct wp_now now)
{
	r->pending.frame = (struct wp_span){ 0 };
	r->setup.source->ops->part(r->setup.source, wp_relay_topics(r));
	r->machine.deadline_ms = wp_sooner(now.ms + FINISH_MS, r->stop.by_ms);
	return wp_relay_source(r)->state == WP_SOURCE_CLOSED ? WP_COPY_ENDED : WP_NO_EVENT;
}

/* Carries out one action; returns the event that it brings about at once. */
static enum wp_machine_event act(struct wp_relay *r, enum wp_action action, enum wp_state from,
				 struct wp_now now)
{
	struct wp_source *s = r->setup.source;
	int64_t *deadline_ms = &r->machine.deadline_ms;

	switch (action) {
	case WP_ACT_CLOSE:
		r->pending.frame = (struct wp_span){ 0 };
		s->ops->close(s);
		break;
	case WP_ACT_DROP_OPEN:
		wp_ledger_drop_open(&r->ledger);
		break;
	case WP_ACT_PURGE:
		wp_relay_take_back(r);
		break;
	case WP_ACT_RESTART:
		act_restart(r);
		break;
	case WP_ACT_TAKE_OVER:
		act_take_over(r);
		break;
	case WP_ACT_CONNECT:
		s->ops->connect(s);
		break;
	case WP_ACT_REFRESH:
		s->ops->refresh(s);
		*deadline_ms = now.ms + ANSWER_MS;
		break;
	case WP_ACT_START:
		act_start(r);
		break;
	case WP_ACT_BEGIN:
		act_begin(r, now);
		break;
	case WP_ACT_READ_OFF:
		act_read(r, WP_READING_OFF);
		break;
	case WP_ACT_READ_ON:
		act_read(r, WP_READING_ON);
		break;
	case WP_ACT_FINISH:
		act_finish(r, now);
		break;
	case WP_ACT_REFRESH_LATER:
		*deadline_ms = wp_retry_refresh(&r->retry, now.ms);
		break;
	case WP_ACT_BACK_OFF:
		*deadline_ms = from == WP_REBUILDING ? wp_retry_after_rewind(&r->retry, now.ms)
						     : wp_retry_after_loss(&r->retry, now.ms);
		break;
	case WP_ACT_STAY_AWAY:
		*deadline_ms = wp_retry_stay_away(&r->retry, now.ms);
		break;
	case WP_ACT_GIVE_TIME:
		*deadline_ms = time_given(r, now);
		break;
	case WP_ACT_PART:
		return act_part(r, now);
	}
	return WP_NO_EVENT;
}

/* Fits the table's list to what source and sink are like. */
static unsigned fitted(const struct wp_relay *r, unsigned actions)
{
	/* Without a stream there is no copy to end. */
	if ((actions & WP_ACT_FINISH) && !wp_relay_is_streaming(r))
		actions = (actions & ~(unsigned)(WP_ACT_FINISH | WP_ACT_GIVE_TIME)) | WP_ACT_PART;
	/* When the relay leaves, it begins to send nothing more. */
	if ((actions & (WP_ACT_FINISH | WP_ACT_PART)) && wp_relay_sink(r)->queued > 0)
		actions |= WP_ACT_PURGE;
	return actions;
}

/* Between streaming and paused the relay flits; the rest is news. */
static void note_move(struct wp_relay *r, enum wp_state from, enum wp_machine_event event)
{
	enum wp_state to = r->machine.state;
	bool flit = (from == WP_STREAMING && to == WP_PAUSED) ||
		    (from == WP_PAUSED && to == WP_STREAMING);
	struct wp_note *n = wp_relay_note(r, flit ? WP_NOTE_DEBUG : WP_NOTE_INFO, "state");

	(void)wp_error_set(&n->error, WP_OK, "%s -> %s (%s)", wp_state_name(from),
			   wp_state_name(to), wp_machine_event_name(event));
}

static enum wp_machine_event move(struct wp_relay *r, enum wp_machine_event event,
				  struct wp_now now)
{
	enum wp_state from = r->machine.state;
	enum wp_machine_event next = WP_NO_EVENT;
	unsigned actions = fitted(r, wp_machine_take(&r->machine, event, now.ms));

	if (r->machine.state != from)
		note_move(r, from, event);
	for (unsigned rest = actions; rest != 0; rest &= rest - 1) {
		enum wp_action first = (enum wp_action)(rest & -rest);
		enum wp_machine_event brought = act(r, first, from, now);
		if (brought != WP_NO_EVENT)
			next = brought;
	}
	return next;
}

/*
 * The last status says what is confirmed, which it may not do before the row names us: when the sink
 * has failed, its reports are not waited for any more, but the row is.
 */
static bool is_put_off(struct wp_relay *r, enum wp_machine_event event)
{
	if (event != WP_SINK_ERROR || r->machine.state != WP_DRAINING ||
	    r->slot_checkpoint.held_ms == 0)
		return false;
	r->stop.sink_lost = true;
	return true;
}

void wp_relay_handle(struct wp_relay *r, enum wp_machine_event event, struct wp_now now)
{
	if (is_put_off(r, event))
		return;
	/* What an action brings about comes after all of its list, and never from within. */
	while (event != WP_NO_EVENT)
		event = move(r, event, now);
}

void wp_relay_rewind(struct wp_relay *r, struct wp_now now)
{
	wp_ledger_lose(&r->ledger);
	if (r->machine.state == WP_REWINDING || r->machine.state == WP_REBUILDING ||
	    r->stop.sink_lost)
		return;
	r->retry.rewinds++;
	wp_relay_handle(r, WP_SINK_ERROR, now);
}

/* -- stopping ------------------------------------------------------------- */

void wp_relay_halt(struct wp_relay *r, int exit_code, const char *event,
		   const struct wp_error *error, struct wp_now now)
{
	struct wp_error said;

	if (!wp_stop_halt(&r->stop, exit_code, event, error, r->setup.options->shutdown_timeout_ms,
			  now.ms))
		return;
	wp_relay_note(r, WP_NOTE_ERROR, event)->error = *error;
	/* Whoever has no log at hand finds the reason in the last word to the slot checkpoint. */
	(void)wp_error_set(&said, WP_OK, "%s: %s", event, error->text);
	r->setup.source->ops->trouble(r->setup.source, said.text, 0);
	wp_relay_handle(r, WP_STOP, now);
}

int wp_relay_exit_code_of(enum wp_reaction reaction)
{
	return reaction == WP_REACT_STOP_CONFIG ? WP_EXIT_CONFIG : WP_EXIT_HUMAN;
}

const char *wp_relay_event_kind(const struct wp_event_name *e)
{
	return e->is_message ? "the " : "table ";
}

/* What is not the event's fault would befall a dead letter as well. */
void wp_relay_halt_for_event(struct wp_relay *r, const char *event, const struct wp_error *reason,
			     bool is_its_fault, struct wp_now now)
{
	const struct wp_event_name *e = wp_pipeline_last_event(r->pipeline);
	char position[WP_POSITION_TEXT_SIZE];
	char beyond[WP_LSN_TEXT_SIZE];
	char sent[300] = ""; /* not known when the row itself was the trouble */
	struct wp_error error;

	if (e->topic[0] != '\0')
		snprintf(sent, sizeof(sent), ", %zu bytes for topic %s", e->size, e->topic);
	(void)wp_error_set(
		&error, WP_DATA,
		"the event of %s%.150s with id %s (position %s%s) cannot be delivered: %.1000s. "
		"Nothing after it was confirmed. %sTo discard%s the undelivered rest of its "
		"transaction: walpost slot skip --to %s lists it, and with --force moves the slot",
		wp_relay_event_kind(e), e->table, e->id[0] != '\0' ? e->id : "NULL",
		wp_position_text(&e->position, position), sent, reason->text,
		is_its_fault && r->setup.options->poison == WP_POISON_STOP
			? "To park it and later events of its aggregate, and deliver the rest: "
			  "set relay.poison = park (walpost init creates the tables). To send "
			  "it to a dead-letter topic instead: set relay.poison = dead-letter and "
			  "relay.dead_letter.topic. Then start again. "
			: "",
		is_its_fault ? "" : " nevertheless",
		wp_lsn_text(e->position.commit_lsn + 1, beyond));
	wp_relay_halt(r, WP_EXIT_HUMAN, event, &error, now);
}

const struct wp_subject *wp_relay_awaited_subject(const struct wp_relay *r)
{
	const struct wp_subject *s = wp_pipeline_awaited(r->pipeline);
	bool waits =
		s != NULL && r->machine.state == WP_PAUSED && !wp_span_is_null(r->pending.frame);

	return waits && s->failures > 0 ? s : NULL;
}

/* Does the sink wait for a topic, or for anybody to ask about one? */
static bool sink_waits(const struct wp_sink_view *v)
{
	return v->state == WP_SINK_WAITING ||
	       (!v->reachable && v->queued > 0 && v->queued == v->in_flight);
}

/*
 * To stop in the middle of a transaction is to send again what was sent of it: go on to its
 * COMMIT, for half of the time given, if there is a way on.
 */
bool wp_relay_stops_here(const struct wp_relay *r, struct wp_now now)
{
	if (!r->stop.asked)
		return false;
	return !wp_relay_reads(r) || !wp_pipeline_has_sent(r->pipeline) ||
	       sink_waits(wp_relay_sink(r)) || wp_relay_awaited_subject(r) != NULL ||
	       now.ms >=
		       wp_stop_gives_up_commit_at(&r->stop, r->setup.options->shutdown_timeout_ms);
}

int64_t wp_relay_refused_for(const struct wp_relay *r, int64_t now_ms)
{
	return r->pending.refused_ms == INT64_MAX ? 0 : now_ms - r->pending.refused_ms;
}

bool wp_relay_is_past_trouble(const struct wp_relay *r)
{
	return r->isolation.on &&
	       wp_isolation_is_past(&r->isolation, wp_pipeline_in_transaction(r->pipeline),
				    wp_ledger_confirmed_lsn(&r->ledger));
}
