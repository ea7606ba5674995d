#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "relay_internal.h"
#include "walpost/relay/faults.h"

/* -- notes ---------------------------------------------------------------- */

struct wp_note *wp_relay_note(struct wp_relay *r, enum wp_note_level level, const char *event)
{
	if (r->note_count == NOTES_MAX) {
		r->note_first = (r->note_first + 1) % NOTES_MAX;
		r->note_count--;
	}
	struct wp_note *n = &r->notes[(r->note_first + r->note_count++) % NOTES_MAX];
	*n = (struct wp_note){
		.level = level,
		.event = event,
		.lsn = wp_ledger_confirmed_lsn(&r->ledger),
		.wait_ms = -1,
	};
	return n;
}

bool wp_relay_take_note(struct wp_relay *r, struct wp_note *ret)
{
	if (r->note_count == 0)
		return false;
	*ret = r->notes[r->note_first];
	r->note_first = (r->note_first + 1) % NOTES_MAX;
	r->note_count--;
	return true;
}

/* -- life ----------------------------------------------------------------- */

enum wp_rc wp_relay_new(const struct wp_relay_setup *setup, struct wp_relay **ret,
			struct wp_error *error)
{
	const struct wp_relay_options *options = setup->options;
	struct wp_relay *r = calloc(1, sizeof(*r));
	enum wp_rc rc = WP_NOMEM;

	if (r == NULL)
		return WP_NOMEM;
	r->setup = *setup;
	r->random = setup->seed;
	r->state = WP_BACKING_OFF; /* until now: the first step connects */
	r->broken_ms = INT64_MAX;
	r->refused_ms = INT64_MAX;
	r->question.asked_ms = -ASK_AGAIN_MS;
	r->heard_ms = r->confirmed_ms = INT64_MIN;
	wp_backoff_init(&r->connect_backoff, BACKOFF_FIRST_MS, BACKOFF_MAX_MS);
	wp_backoff_init(&r->rewind_backoff, REWIND_FIRST_MS, REWIND_MAX_MS);
	wp_feedback_init(&r->feedback, options->feedback_interval_ms);
	wp_guard_init(&r->guard);
	rc = wp_ledger_init(&r->ledger, options->in_flight_events, options->in_flight_bytes);
	if (rc != WP_OK)
		goto fail;
	rc = wp_meter_init(&r->meter, options->in_flight_events);
	if (rc != WP_OK)
		goto fail;
	rc = wp_pipeline_new(
		&(struct wp_pipeline_setup){
			.outboxes = setup->task.outboxes,
			.epoch = options->epoch,
			.poison = options->poison,
			.dead_letter_topic = options->dead_letter_topic,
			.value_size_max = (size_t)INT32_MAX,
			.record_max = setup->sink->ops->view(setup->sink)->record_max,
			.partitions = &setup->source->ops->view(setup->source)->partitions,
			.ledger = &r->ledger,
			.meter = &r->meter,
			.sink = setup->sink,
		},
		&r->pipeline, error);
	if (rc != WP_OK)
		goto fail;
	*ret = r;
	return WP_OK;
fail:
	wp_relay_free(r);
	return rc;
}

void wp_relay_free(struct wp_relay *r)
{
	if (r == NULL)
		return;
	wp_pipeline_free(r->pipeline);
	wp_ledger_release(&r->ledger);
	wp_meter_release(&r->meter);
	free(r);
}

int wp_relay_exit_code(const struct wp_relay *r)
{
	return r->exit_code;
}

/* -- the edges, shortened ------------------------------------------------- */

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

/* WP_IO shows in the source's view at the next turn. */
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

	r->statuses++;
	(void)r->setup.source->ops->status(r->setup.source, &status);
}

/* -- actions -------------------------------------------------------------- */

void wp_relay_drop_held(struct wp_relay *r)
{
	r->held = (struct wp_span){ 0 };
}

/* Once: it does not stop anything, and is the same with each stream. */
static void note_unlabelled(struct wp_relay *r, size_t count)
{
	const struct wp_outboxes *outboxes = r->setup.task.outboxes;
	bool writes_schemas = false;

	for (size_t i = 0; i < outboxes->count; i++)
		writes_schemas |= outboxes->items[i].types == WP_RENDERING_DEBEZIUM;
	if (count == 0 || !writes_schemas || r->unlabelled_noted)
		return;
	r->unlabelled_noted = true;
	(void)wp_error_set(&wp_relay_note(r, WP_NOTE_WARN, "enum_labels_left_out")->error, WP_OK,
			   "%zu enums of the outbox have so many labels that there is no room for "
			   "them (%d bytes for all): schemas do not name what these allow; values "
			   "are as ever",
			   count, WP_TYPE_LABELS_SIZE);
}

static void act_start(struct wp_relay *r)
{
	const struct wp_source_facts *facts = &wp_relay_source(r)->facts;

	wp_pipeline_begin(r->pipeline, &facts->timelines);
	enum wp_transfer transfer = r->as_text ? WP_TRANSFER_TEXT : facts->transfer;
	wp_pipeline_know(r->pipeline, &facts->columns, transfer);
	note_unlabelled(r, facts->columns.unlabelled);
	r->had_slot = false; /* the row names us before it is known who gets the slot */
	r->question.open = false;
	r->largest_frame = 0;
	if (r->setup.sink->ops->prefetch != NULL)
		r->setup.sink->ops->prefetch(r->setup.sink, r->topics.text);
	/* Another may have held the slot since the facts were read: claim it each time. */
	r->setup.source->ops->start(r->setup.source, wp_ledger_received_lsn(&r->ledger), transfer,
				    WP_CHECKPOINT_WRITE);
}

static void act_take_over(struct wp_relay *r)
{
	wp_ledger_forget(&r->ledger, wp_relay_source(r)->facts.slot_confirmed);
	wp_feedback_forget(&r->feedback);
	r->gap = false;
}

static void act_restart(struct wp_relay *r)
{
	wp_lsn from = wp_fault(WP_FAULT_REWIND_TO_RECEIVED) ? wp_ledger_received_lsn(&r->ledger)
							    : wp_ledger_confirmed_lsn(&r->ledger);

	r->setup.sink->ops->restart(r->setup.sink, r->batching);
	r->batching_now = r->batching;
	wp_ledger_forget(&r->ledger, from);
	r->gap = false;
}

static void act_begin(struct wp_relay *r, struct wp_now now)
{
	struct wp_note *n = wp_relay_note(r, WP_NOTE_INFO, "streaming");

	n->lsn = wp_ledger_received_lsn(&r->ledger);
	r->started = r->had_slot = true;
	wp_relay_note_accepted(r);
	r->system_id = wp_relay_source(r)->facts.system_id;
	r->timeline = wp_relay_source(r)->facts.timelines.current;
	r->begun_ms = now.ms;
	r->quiet_ms = now.ms;
	r->paused_ms = now.ms - PROBE_AFTER_MS;
	r->probed_ms = now.ms;
	wp_feedback_begin(&r->feedback, now.ms, wp_relay_source(r)->facts.wal_sender_timeout_ms,
			  wp_ledger_confirmed_lsn(&r->ledger));
	wp_relay_begin_health(r, now);
}

static void act_back_off(struct wp_relay *r, enum wp_state from, struct wp_now now)
{
	struct wp_backoff *b = from == WP_REBUILDING ? &r->rewind_backoff : &r->connect_backoff;
	int64_t wait_ms = wp_backoff_next(b, wp_random_next(&r->random));

	r->deadline_ms = now.ms + wait_ms;
	if (r->deadline_ms < r->away_until_ms)
		r->deadline_ms = r->away_until_ms;
}

static void act_stay_away(struct wp_relay *r, struct wp_now now)
{
	r->away_until_ms = now.ms + AWAY_MS + (int64_t)(wp_random_next(&r->random) % 2000);
	r->deadline_ms = r->away_until_ms;
}

/* Draining leaves some of the time to end the copy. */
static void act_give_time(struct wp_relay *r, struct wp_now now)
{
	int64_t reserve_ms = r->setup.options->shutdown_timeout_ms / 4;
	int64_t given_ms = r->deadline_ms; /* by what has just been done */

	if (reserve_ms > FINISH_MS)
		reserve_ms = FINISH_MS;
	r->deadline_ms = now.ms + REST_MS;
	if (r->state == WP_CONNECTING || r->state == WP_STARTING)
		r->deadline_ms = now.ms + ANSWER_MS; /* the source has shorter limits of its own */
	if (r->state == WP_REBUILDING)
		r->deadline_ms = now.ms + REBUILD_MS;
	if (r->state == WP_DRAINING)
		r->deadline_ms = r->stop_by_ms - reserve_ms;
	if (r->state == WP_FINISHING)
		r->deadline_ms = given_ms < r->stop_by_ms ? given_ms : r->stop_by_ms;
}

/* What is taken back may be reported late, when a stream from `read` has left it behind. */
void wp_relay_take_back(struct wp_relay *r)
{
	if (wp_relay_sink(r)->in_flight > 0)
		r->gap = !wp_fault(WP_FAULT_RESUME_AFTER_PURGE);
	r->setup.sink->ops->purge(r->setup.sink);
}

/* A stream that was lost, or refused, has had no last word yet: where the slot may stand by us. */
static void act_part(struct wp_relay *r, struct wp_now now)
{
	wp_relay_drop_held(r);
	r->setup.source->ops->part(r->setup.source, wp_relay_topics(r));
	r->deadline_ms = now.ms + FINISH_MS;
	if (r->deadline_ms > r->stop_by_ms)
		r->deadline_ms = r->stop_by_ms;
	if (wp_relay_source(r)->state == WP_SOURCE_CLOSED)
		wp_relay_happen(r, WP_COPY_ENDED, now);
}

static void act_finish(struct wp_relay *r, struct wp_now now)
{
	wp_relay_drop_held(r);
	if (!wp_relay_is_streaming(r)) {
		act_part(r, now);
		return;
	}
	wp_relay_send_status(r, now);
	if (wp_relay_is_streaming(r))
		r->setup.source->ops->finish(r->setup.source, wp_relay_topics(r));
}

static void act_on_source(struct wp_relay *r, unsigned actions, struct wp_now now)
{
	struct wp_source *s = r->setup.source;

	if (actions & WP_ACT_CONNECT)
		s->ops->connect(s);
	if (actions & WP_ACT_LOOK)
		s->ops->look(s);
	if (actions & WP_ACT_START)
		act_start(r);
	if (actions & WP_ACT_BEGIN)
		act_begin(r, now);
	if ((actions & WP_ACT_READ_OFF) && wp_relay_is_streaming(r))
		s->ops->reading(s, WP_READING_OFF);
	if ((actions & WP_ACT_READ_ON) && wp_relay_is_streaming(r))
		s->ops->reading(s, WP_READING_ON);
	if (actions & WP_ACT_FINISH)
		act_finish(r, now);
}

static void act(struct wp_relay *r, enum wp_state from, unsigned actions, struct wp_now now)
{
	if (actions & WP_ACT_CLOSE) {
		wp_relay_drop_held(r);
		r->setup.source->ops->close(r->setup.source);
	}
	if (actions & WP_ACT_DROP_OPEN)
		wp_ledger_drop_open(&r->ledger);
	/* Leaving, nothing more is begun to be sent. */
	bool leaves = (actions & (WP_ACT_FINISH | WP_ACT_PART)) != 0;
	if ((actions & WP_ACT_PURGE) || (leaves && wp_relay_sink(r)->queued > 0))
		wp_relay_take_back(r);
	if (actions & WP_ACT_RESTART)
		act_restart(r);
	if (actions & WP_ACT_TAKE_OVER)
		act_take_over(r);
	act_on_source(r, actions, now);
	r->looking = (actions & WP_ACT_LOOK) != 0;
	if (r->looking)
		r->deadline_ms = now.ms + ANSWER_MS;
	if (actions & WP_ACT_LOOK_LATER)
		r->deadline_ms = now.ms + LOOK_EVERY_MS / 2 +
				 (int64_t)(wp_random_next(&r->random) % LOOK_EVERY_MS);
	if (actions & WP_ACT_BACK_OFF)
		act_back_off(r, from, now);
	if (actions & WP_ACT_STAY_AWAY)
		act_stay_away(r, now);
	if (actions & WP_ACT_GIVE_TIME)
		act_give_time(r, now);
	if (actions & WP_ACT_PART)
		act_part(r, now);
}

/* Between streaming and paused the relay flits; the rest is news. */
static void note_move(struct wp_relay *r, enum wp_state from, enum wp_state to,
		      enum wp_happening what)
{
	bool flit = (from == WP_STREAMING && to == WP_PAUSED) ||
		    (from == WP_PAUSED && to == WP_STREAMING);
	struct wp_note *n = wp_relay_note(r, flit ? WP_NOTE_DEBUG : WP_NOTE_INFO, "state");

	(void)wp_error_set(&n->error, WP_OK, "%s -> %s (%s)", wp_state_name(from),
			   wp_state_name(to), wp_happening_name(what));
}

void wp_relay_happen(struct wp_relay *r, enum wp_happening what, struct wp_now now)
{
	enum wp_state from = r->state;
	struct wp_move move = wp_machine_move(from, what);

	if (move.to == from && move.actions == 0)
		return;
	r->state = move.to;
	r->deadline_ms = INT64_MAX;
	if (move.to != from) {
		r->moves++;
		r->moves_to[move.to]++;
		r->entered_ms = now.ms;
		note_move(r, from, move.to, what);
	}
	act(r, from, move.actions, now);
}

/* -- stopping ------------------------------------------------------------- */

static void begin_to_stop(struct wp_relay *r, struct wp_now now)
{
	if (r->stop_asked)
		return;
	r->stop_asked = true;
	r->stop_by_ms = now.ms + r->setup.options->shutdown_timeout_ms;
}

void wp_relay_stop(struct wp_relay *r, struct wp_now now)
{
	r->told_to_leave = true;
	begin_to_stop(r, now);
}

/* For who looks at the slot when the log is not at hand: the last word to the slot checkpoint has it. */
static void tell_halt(struct wp_relay *r)
{
	struct wp_error said;

	(void)wp_error_set(&said, WP_OK, "%s: %s", r->halt_event, r->halt_error.text);
	r->setup.source->ops->trouble(r->setup.source, said.text, 0);
}

/* A human must act, or a restart may help: stop in good order with that exit code. */
void wp_relay_halt(struct wp_relay *r, int exit_code, const char *event,
		   const struct wp_error *error, struct wp_now now)
{
	if (r->exit_code != 0)
		return;
	r->exit_code = exit_code;
	r->halt_event = event;
	r->halt_error = *error;
	wp_relay_note(r, WP_NOTE_ERROR, event)->error = *error;
	tell_halt(r);
	begin_to_stop(r, now);
	wp_relay_happen(r, WP_STOP, now);
}

/* What stands before the name of where an event comes from. */
const char *wp_relay_event_kind(const struct wp_event_name *e)
{
	return e->is_message ? "the " : "table ";
}

/* What is not its fault would befall a dead letter as well. */
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
		"the event of %s%.150s with id %s (position %s%s) can not be delivered: "
		"%.1000s. Nothing after it was confirmed. %sTo give up%s what its transaction has "
		"not delivered: walpost slot skip --to %s lists it, and with --force moves the "
		"slot",
		wp_relay_event_kind(e), e->table, e->id[0] != '\0' ? e->id : "NULL",
		wp_position_text(&e->position, position), sent, reason->text,
		is_its_fault && r->setup.options->poison == WP_POISON_STOP
			? "To set aside it and later ones like it, and deliver the rest: set "
			  "relay.poison = dead-letter and relay.dead_letter.topic, and start "
			  "again. "
			: "",
		is_its_fault ? "" : " all the same",
		wp_lsn_text(e->position.commit_lsn + 1, beyond));
	wp_relay_halt(r, WP_EXIT_HUMAN, event, &error, now);
}

/* Stays up, delivering nothing, until it is told to leave: not for a supervisor to start again. */
static bool is_to_hold(const struct wp_relay *r)
{
	return r->setup.options->on_halt == WP_ON_HALT_HOLD && r->exit_code == WP_EXIT_HUMAN &&
	       !r->told_to_leave;
}

static void hold(struct wp_relay *r, struct wp_now now)
{
	if (r->state == WP_STOPPED && is_to_hold(r)) {
		wp_relay_happen(r, WP_HALTED, now);
		r->held_note_ms = now.ms;
	}
	if (r->state != WP_HELD)
		return;
	if (r->told_to_leave) {
		wp_relay_happen(r, WP_STOP, now);
	} else if (now.ms - r->held_note_ms >= HELD_NOTE_EVERY_MS) {
		r->held_note_ms = now.ms;
		wp_relay_note(r, WP_NOTE_ERROR, "held")->error = r->halt_error;
	}
}

int wp_relay_exit_code_of(enum wp_reaction reaction)
{
	return reaction == WP_REACT_STOP_CONFIG ? WP_EXIT_CONFIG : WP_EXIT_HUMAN;
}

/* For a topic, or for anybody to ask about one. */
static bool sink_waits(const struct wp_sink_view *v)
{
	return v->state == WP_SINK_WAITING ||
	       (!v->reachable && v->queued > 0 && v->queued == v->in_flight);
}

/*
 * To stop in the middle of a transaction is to send again what was sent of it: go on to its
 * COMMIT, for half of the time given, if there is a way on.
 */
bool wp_relay_may_stop_here(const struct wp_relay *r, struct wp_now now)
{
	bool reading = r->state == WP_STREAMING || r->state == WP_PAUSED;

	return !reading || !wp_pipeline_has_sent(r->pipeline) || sink_waits(wp_relay_sink(r)) ||
	       now.ms >= r->stop_by_ms - r->setup.options->shutdown_timeout_ms / 2;
}

bool wp_relay_is_too_often(struct trouble *t, const char *code, wp_lsn at, size_t max)
{
	if (t->at != at || strcmp(t->code, code) != 0) {
		*t = (struct trouble){ .at = at };
		snprintf(t->code, sizeof(t->code), "%s", code);
	}
	return ++t->count >= max;
}

/* -- time ----------------------------------------------------------------- */

/* What the source did in this very turn must not wait for its next wake. */
static bool source_needs_look(const struct wp_relay *r)
{
	enum wp_source_state s = wp_relay_source(r)->state;

	return s == WP_SOURCE_FAILED || s == WP_SOURCE_FINISHED;
}

static bool reads_or_pauses(const struct wp_relay *r)
{
	return r->state == WP_STREAMING || r->state == WP_PAUSED || r->state == WP_DRAINING;
}

/*
 * Has the server sent less than it had when it was asked last? Then it pings, when it stops, only
 * after it has sent the rest, however much that is.
 */
static bool is_behind(const struct wp_relay *r)
{
	return r->state == WP_STREAMING && wp_ledger_received_lsn(&r->ledger) < r->server;
}

static bool wants_probe(const struct wp_relay *r, struct wp_now now)
{
	if (wp_fault(WP_FAULT_DEAF_WHEN_PAUSED))
		return false;
	bool deaf = now.ms - r->quiet_ms >= PROBE_AFTER_MS;
	/* Asked beside the stream it was silent, which a stopping server is from its first moment. */
	bool silent = wp_relay_source(r)->health.unanswered && is_behind(r);

	return r->state != WP_DRAINING && (deaf || silent) &&
	       now.ms - r->probed_ms >= PROBE_EVERY_MS;
}

/*
 * Pings of a stopping server go unread while we are not at the end of what it sent, and
 * our own statuses keep its timeout from helping. So ask on the side.
 */
static void probe(struct wp_relay *r, struct wp_now now)
{
	enum wp_probe result = wp_relay_source(r)->probe;
	bool deaf = r->probed_ms > r->quiet_ms;

	if (result == WP_PROBE_STOPPING && r->probed_ms > r->begun_ms && (deaf || is_behind(r)))
		wp_relay_happen(r, WP_LET_GO, now);
	else if (deaf && result == WP_PROBE_UNREACHABLE && r->state == WP_PAUSED)
		wp_relay_happen(r, WP_LOST, now);
	else if (result != WP_PROBE_RUNNING && wants_probe(r, now)) {
		r->probed_ms = now.ms;
		r->setup.source->ops->probe(r->setup.source);
	}
}

static void give_feedback(struct wp_relay *r, struct wp_now now)
{
	struct wp_feedback *f = &r->feedback;
	wp_lsn confirmed_lsn = wp_relay_flush(r);

	wp_feedback_note(f, now.ms, confirmed_lsn);
	if (r->state != WP_STREAMING) {
		r->paused_ms = now.ms;
		wp_feedback_not_reading(f, now.ms);
	}
	if (wp_fault(WP_FAULT_SILENT_WHEN_PAUSED) && r->state == WP_PAUSED)
		return;
	if (now.ms >= wp_feedback_due(f, confirmed_lsn))
		wp_relay_send_status(r, now);
	if (r->state == WP_STREAMING && wp_feedback_half_open(f, now.ms)) {
		wp_relay_note(r, WP_NOTE_WARN, "half_open");
		wp_relay_happen(r, WP_LOST, now);
	} else if (wp_feedback_server_stops(f, now.ms) && !wp_fault(WP_FAULT_NEVER_LET_GO)) {
		wp_relay_happen(r, WP_LET_GO, now);
	}
}

/* A broken producer may keep reports back until it is gone (librdkafka does). */
static bool reports_no_more(const struct wp_relay *r, struct wp_now now)
{
	return r->state == WP_REWINDING && wp_relay_sink(r)->state == WP_SINK_BROKEN &&
	       now.ms - r->entered_ms >= REST_BROKEN_MS;
}

/* A stream has turns far more often than the server's patience; else there may be nothing to do. */
static int64_t stood_still_ms(const struct wp_relay *r, struct wp_now now)
{
	int64_t gap_ms = now.boot_ms - r->stepped.boot_ms;

	return reads_or_pauses(r) && wp_relay_is_streaming(r) ? gap_ms : gap_ms - r->wait_ms;
}

/* By how much the wall clock went ahead of the time that passed. */
static int64_t wall_jump_ms(const struct wp_relay *r, struct wp_now now)
{
	return (now.wall_us - r->stepped.wall_us) / 1000 - (now.boot_ms - r->stepped.boot_ms);
}

static bool has_stood_still(const struct wp_relay *r, struct wp_now now, struct wp_error *error)
{
	int64_t patience_ms = wp_relay_source(r)->facts.wal_sender_timeout_ms;
	int64_t still_ms = stood_still_ms(r, now);
	int64_t jump_ms = wall_jump_ms(r, now);

	if (patience_ms > 0 && still_ms >= patience_ms)
		(void)wp_error_set(
			error, WP_IO,
			"no turn for %lld ms, more than wal_sender_timeout: what was "
			"received and not confirmed is read again, lest another relay has "
			"sent it by now",
			(long long)still_ms);
	else if (jump_ms > WALL_JUMP_MS)
		(void)wp_error_set(
			error, WP_IO,
			"the wall clock went ahead by %lld ms at once, as after a pause of "
			"the virtual machine: what was received and not confirmed is read "
			"again, lest another relay has sent it by now",
			(long long)jump_ms);
	else
		return false;
	return true;
}

/*
 * We stood still for longer than the server waits for a word (SIGSTOP, a suspended machine, for
 * which CLOCK_BOOTTIME goes on), or the machine did with all of its clocks (a paused VM, whose wall
 * clock is set right later): another may have the slot by now, and what has come before is old.
 * Before anything else, for the sink's threads woke with us.
 */
static void look_at_the_clock(struct wp_relay *r, struct wp_now now)
{
	struct wp_error error;
	bool first = r->stepped.ms == 0;
	bool stood_still = !first && r->state < WP_HELD && has_stood_still(r, now, &error);
	int64_t suspended_ms = now.boot_ms - now.ms - (r->stepped.boot_ms - r->stepped.ms);

	if (!first && suspended_ms >= SUSPENDED_MS) /* less is rounding */
		wp_feedback_suspended(&r->feedback, suspended_ms);
	r->stepped = now;
	if (!stood_still)
		return;
	if (wp_relay_sink(r)->in_flight > 0)
		wp_relay_take_back(r);
	wp_relay_note(r, WP_NOTE_WARN, "stood_still")->error = error;
	if (r->state < WP_FINISHING)
		wp_relay_happen(r, WP_LOST, now);
}

/* What waits for its topic, or for an answer about it, is not waited for: it comes again. */
static bool is_drained(const struct wp_relay *r)
{
	return r->state == WP_DRAINING && wp_relay_sink(r)->in_flight == wp_relay_sink(r)->queued;
}

static bool is_resting(const struct wp_relay *r)
{
	return r->state == WP_SETTLING || r->state == WP_REWINDING || r->state == WP_DRAINING;
}

static void time_up(struct wp_relay *r, struct wp_now now)
{
	struct wp_error error;

	r->deadline_ms = INT64_MAX;
	if (r->state == WP_REBUILDING) {
		(void)wp_error_set(
			&error, WP_IO,
			"no new Kafka client within %d s: the old one has not ended, or the "
			"machine had no thread or memory for it; another process can begin "
			"with a new one",
			REBUILD_MS / 1000);
		wp_relay_halt(r, WP_EXIT_FAILED, "sink_stuck", &error, now);
		return;
	}
	/* An answer that does not come is a connection that is gone. */
	wp_relay_happen(r, r->looking ? WP_LOST : WP_TIME_UP, now);
}

static void keep_time(struct wp_relay *r, struct wp_now now)
{
	if (r->stop_asked && r->state < WP_DRAINING && wp_relay_may_stop_here(r, now))
		wp_relay_happen(r, WP_STOP, now);
	bool at_rest = wp_relay_sink(r)->in_flight == 0 || is_drained(r) ||
		       (wp_fault(WP_FAULT_NO_DRAIN) && r->stop_asked);

	if (is_resting(r) && (at_rest || reports_no_more(r, now)))
		wp_relay_happen(r, WP_AT_REST, now);
	if (now.ms >= r->deadline_ms)
		time_up(r, now);
}

/* Until the next turn, at the longest. */
static int64_t wait_ms(const struct wp_relay *r, struct wp_now now)
{
	int64_t due = wp_relay_due(r);

	if (due <= now.ms)
		return 0;
	return due - now.ms < WAIT_MAX_MS ? due - now.ms : WAIT_MAX_MS;
}

enum wp_step wp_relay_step(struct wp_relay *r, struct wp_now now)
{
	wp_meter_tick(&r->meter, now.ms);
	look_at_the_clock(r, now);
	bool more = wp_relay_collect(r, now);

	wp_relay_widen(r);
	r->written = wp_pipeline_written(r->pipeline);
	wp_relay_watch_change(r, now);
	wp_relay_watch_sink(r, now);
	wp_relay_watch_source(r, now);
	wp_relay_end_isolation(r, now);
	wp_relay_try_again(r, now);
	if (r->state == WP_STREAMING)
		more = wp_relay_take_frames(r, now) || more;
	if (reads_or_pauses(r) && wp_relay_is_streaming(r)) {
		probe(r, now);
		wp_relay_watch_health(r, now);
		if (reads_or_pauses(r) && wp_relay_is_streaming(r))
			give_feedback(r, now);
		wp_relay_renew(r, now);
	}
	keep_time(r, now);
	hold(r, now);
	if (r->state == WP_STOPPED)
		return WP_STEP_OVER;
	enum wp_step wants = more || source_needs_look(r) ? WP_STEP_MORE : WP_STEP_WAIT;
	r->wait_ms = wants == WP_STEP_MORE ? 0 : wait_ms(r, now);
	return wants;
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t probe_due(const struct wp_relay *r)
{
	int64_t after = r->quiet_ms + PROBE_AFTER_MS;
	int64_t again = r->probed_ms + PROBE_EVERY_MS;

	if (r->state != WP_PAUSED || wp_relay_source(r)->probe == WP_PROBE_RUNNING)
		return INT64_MAX;
	return after > again ? after : again;
}

static int64_t waiting_due(const struct wp_relay *r)
{
	/* Found, and nothing confirmed yet: there is nothing to tell. */
	if (!r->waiting || r->state != WP_PAUSED || wp_relay_sink(r)->state != WP_SINK_WAITING)
		return INT64_MAX;
	return sooner(r->waiting_note_ms + TOPIC_NOTE_EVERY_MS,
		      r->waiting_since_ms + r->setup.options->topic_wait_ms);
}

static int64_t broken_due(const struct wp_relay *r)
{
	if (r->state == WP_REWINDING)
		return r->entered_ms + REST_BROKEN_MS;
	if (r->state >= WP_FINISHING || r->state == WP_REBUILDING || r->broken_ms == INT64_MAX)
		return INT64_MAX;
	return r->broken_ms + REST_BROKEN_MS;
}

int64_t wp_relay_due(const struct wp_relay *r)
{
	int64_t due = sooner(r->deadline_ms, r->setup.sink->ops->due(r->setup.sink));

	due = sooner(due, waiting_due(r));
	due = sooner(due, wp_relay_renew_due(r));
	due = sooner(due, wp_relay_sink_due(r));
	if (wp_relay_sink(r)->state == WP_SINK_BROKEN)
		due = sooner(due, broken_due(r));
	if (r->state == WP_PAUSED && r->question.open)
		due = sooner(due, r->question.due_ms);
	if (reads_or_pauses(r) && wp_relay_is_streaming(r)) {
		due = sooner(due, wp_feedback_due(&r->feedback, wp_relay_flush(r)));
		due = sooner(due, probe_due(r));
		due = sooner(due, wp_relay_health_due(r));
	}
	if (r->state == WP_HELD)
		due = sooner(due, r->held_note_ms + HELD_NOTE_EVERY_MS);
	if (r->stop_asked && r->state < WP_DRAINING)
		due = sooner(due, r->stop_by_ms - r->setup.options->shutdown_timeout_ms / 2);
	return due;
}

static struct wp_relay_oldest oldest(const struct wp_relay *r)
{
	bool waits = r->state == WP_PAUSED && !wp_span_is_null(r->held) &&
		     wp_pipeline_in_transaction(r->pipeline);

	if (r->ledger.in_flight == 0)
		return (struct wp_relay_oldest){
			.any = waits,
			.commit_time_us = waits ? wp_pipeline_commit_time(r->pipeline) : 0,
			.waiting_ms = waits ? wp_relay_refused_for(r, r->meter.now_ms) : 0,
		};
	struct wp_meter_age age = wp_meter_age(&r->meter, r->ledger.first_ticket);
	return (struct wp_relay_oldest){
		.any = true,
		.commit_time_us = age.commit_time_us,
		.waiting_ms = age.waiting_ms,
	};
}

/*
 * As far as it is known: nothing before the first answer beside a stream, nor without one; but
 * that it is lost, for good.
 */
static struct wp_relay_slot slot(const struct wp_relay *r)
{
	const struct wp_health *h = &wp_relay_source(r)->health;

	if (r->slot_lost)
		return (struct wp_relay_slot){
			.known = true,
			.keeping = WP_KEEPING_LOST,
			.retained = -1,
			.seconds = INT64_MAX,
		};
	if (h->answers == 0 || !(r->state == WP_STREAMING || r->state == WP_PAUSED))
		return (struct wp_relay_slot){ 0 };
	return (struct wp_relay_slot){
		.known = true,
		.keeping = h->keeping,
		.retained = h->retained,
		.limited = h->limited,
		.safe_size = h->safe_size,
		.seconds = h->limited ? r->estimate.seconds : INT64_MAX,
		.suspect = r->health.suspect,
	};
}

void wp_relay_look(const struct wp_relay *r, struct wp_relay_snapshot *ret)
{
	const struct wp_sink_view *sink = wp_relay_sink(r);

	*ret = (struct wp_relay_snapshot){
		.state = r->state,
		.entered_ms = r->entered_ms,
		.deadline_ms = r->deadline_ms,
		.counts = *wp_pipeline_counts(r->pipeline),
		.confirmed = r->confirmed,
		.reconnects = r->reconnects,
		.renewals = r->renewals,
		.rewinds = r->rewinds,
		.moves = r->moves,
		.changes = r->changes,
		.changes_refused = r->changes_refused,
		.keepalives = r->keepalives,
		.statuses = r->statuses,
		.confirmed_lsn = wp_ledger_confirmed_lsn(&r->ledger),
		.read = wp_ledger_received_lsn(&r->ledger),
		.server = r->server,
		.in_flight = r->ledger.in_flight,
		.in_flight_bytes = r->ledger.bytes,
		.in_flight_max = r->ledger.events_max,
		.in_flight_bytes_max = r->ledger.bytes_max,
		.oldest = oldest(r),
		.heard_ms = r->heard_ms,
		.confirmed_ms = r->confirmed_ms,
		.slot = slot(r),
		.sink_reachable = sink->reachable,
		.sink_reached = r->reached,
		.sink_data_losses = sink->data_losses,
		.isolating = r->isolation.on,
		.stopping = r->stop_asked,
		.exit_code = r->exit_code,
		.unreachable_ms = r->outage.on ? r->outage.since_ms : INT64_MIN,
		.sink_error = sink->reachable ? "" : sink->error.text,
		.stalled_ms = r->delivery.stalled != NULL ? r->delivery.since_ms : INT64_MIN,
		.waiting = r->waiting || sink->state == WP_SINK_WAITING,
		.waiting_topic = r->waiting ? r->waiting_topic : sink->topic,
		.waiting_ms = r->waiting ? r->waiting_since_ms : INT64_MIN,
		.holder = r->state == WP_STANDBY ? wp_relay_source(r)->facts.checkpoint_owner : "",
		.halt_event = r->halt_event,
		.halt_error = r->halt_error.text,
	};
	memcpy(ret->moves_to, r->moves_to, sizeof(ret->moves_to));
}

bool wp_relay_lag(const struct wp_relay_snapshot *s, uint64_t *ret)
{
	*ret = s->server > s->confirmed_lsn ? s->server - s->confirmed_lsn : 0;
	return s->state != WP_STANDBY && s->confirmed_lsn != 0;
}

const struct wp_meter *wp_relay_meter(const struct wp_relay *r)
{
	return &r->meter;
}

size_t wp_relay_take_highest(struct wp_relay *r)
{
	return wp_ledger_take_highest(&r->ledger);
}
