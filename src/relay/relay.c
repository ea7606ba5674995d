#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/backoff.h"
#include "walpost/relay/faults.h"
#include "walpost/relay/feedback.h"
#include "walpost/relay/relay.h"

enum {
	FRAMES_PER_STEP = 2000,
	REPORTS_PER_CALL = 512,
	REPORTS_PER_STEP = 8192,
	NOTES_MAX = 64,
	BACKOFF_FIRST_MS = 200,
	BACKOFF_MAX_MS = 10 * 1000,
	REWIND_FIRST_MS = 100,
	REWIND_MAX_MS = 5 * 1000,
	LOOK_EVERY_MS = 1000,
	AWAY_MS = 10 * 1000,
	REST_MS = 10 * 1000,
	PROBE_AFTER_MS = 2 * 1000,
	PROBE_EVERY_MS = 2500,
	TOPIC_NOTE_EVERY_MS = 60 * 1000,
	ASK_AGAIN_MS = 1000,
	FINISH_MS = 3 * 1000,
	SAME_TROUBLE_MAX = 3,
	EXIT_RESTART = 1,
	EXIT_CONFIG = 2,
	EXIT_HUMAN = 3,
};

/* The same trouble at the same place: three times is not bad luck. */
struct trouble {
	char code[40];
	wp_lsn at;
	unsigned count;
};

/* An event-level error was reported: one event at a time until the place is passed. */
struct isolation {
	bool on;
	wp_lsn until;
};

struct wp_relay {
	struct wp_relay_setup setup;
	struct wp_ledger ledger;
	struct wp_pipeline *pipeline;
	struct wp_feedback feedback;
	struct wp_backoff connect_backoff;
	struct wp_backoff rewind_backoff;
	uint64_t random;

	enum wp_state state;
	int64_t entered_ms; /* the state */
	int64_t deadline_ms; /* of the state; INT64_MAX: none */
	int64_t away_until_ms;

	/* The source. */
	struct wp_span held; /* a frame that was offered and not taken; null: none */
	bool started;        /* this process has streamed before: facts below hold */
	uint64_t system_id;
	uint32_t timeline;
	bool gap; /* a ticket was purged or refused: only a stream from safe heals that */
	int64_t ask_again_ms; /* a leaf's root, after a failure; INT64_MAX: not now */
	int64_t quiet_ms; /* when the socket was last seen empty */
	int64_t probed_ms;

	/* The sink. */
	enum wp_batching batching; /* for the next restart */
	struct isolation isolation;
	struct trouble rewind_trouble;
	struct trouble stream_trouble;
	bool waiting;             /* for a topic */
	int64_t waiting_since_ms;
	int64_t waiting_note_ms;
	wp_lsn waiting_safe;
	bool unreachable_noted;

	/* Stopping. */
	bool stop_asked;
	int64_t stop_by_ms; /* the end of all patience */
	int exit_code;

	wp_lsn server;
	uint64_t confirmed;
	uint64_t reconnects;
	uint64_t rewinds;
	uint64_t moves;

	struct wp_note notes[NOTES_MAX]; /* a ring */
	size_t note_first;
	size_t note_count;
};

/* -- notes ---------------------------------------------------------------- */

static struct wp_note *note(struct wp_relay *r, enum wp_note_level level, const char *event)
{
	if (r->note_count == NOTES_MAX) {
		r->note_first = (r->note_first + 1) % NOTES_MAX;
		r->note_count--;
	}
	struct wp_note *n = &r->notes[(r->note_first + r->note_count++) % NOTES_MAX];
	*n = (struct wp_note){
		.level = level,
		.event = event,
		.lsn = wp_ledger_safe(&r->ledger),
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

enum wp_rc wp_relay_new(const struct wp_relay_setup *setup, struct wp_relay **ret, struct wp_why *why)
{
	const struct wp_relay_options *options = setup->options;
	struct wp_relay *r = calloc(1, sizeof(*r));
	enum wp_rc rc = WP_NOMEM;

	if (r == NULL)
		return WP_NOMEM;
	r->setup = *setup;
	r->random = setup->seed;
	r->state = WP_BACKING_OFF; /* until now: the first step connects */
	r->ask_again_ms = INT64_MAX;
	wp_backoff_init(&r->connect_backoff, BACKOFF_FIRST_MS, BACKOFF_MAX_MS);
	wp_backoff_init(&r->rewind_backoff, REWIND_FIRST_MS, REWIND_MAX_MS);
	wp_feedback_init(&r->feedback, options->feedback_interval_ms);
	rc = wp_ledger_init(&r->ledger, options->in_flight_events, options->in_flight_bytes);
	if (rc != WP_OK)
		goto fail;
	rc = wp_pipeline_new(
		&(struct wp_pipeline_setup){
			.options = setup->outbox,
			.epoch = options->epoch,
			.value_size_max = (size_t)INT32_MAX,
			.ledger = &r->ledger,
			.sink = setup->sink,
		},
		&r->pipeline, why);
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
	free(r);
}

int wp_relay_exit_code(const struct wp_relay *r)
{
	return r->exit_code;
}

/* -- the edges, shortened ------------------------------------------------- */

static const struct wp_source_view *source_view(const struct wp_relay *r)
{
	return r->setup.source->ops->view(r->setup.source);
}

static const struct wp_sink_view *sink_view(const struct wp_relay *r)
{
	return r->setup.sink->ops->view(r->setup.sink);
}

static bool is_streaming(const struct wp_relay *r)
{
	return source_view(r)->state == WP_SOURCE_STREAMING;
}

/* WP_IO shows in the source's view at the next turn. */
static void send_status(struct wp_relay *r, struct wp_now now)
{
	wp_lsn safe = wp_ledger_safe(&r->ledger);
	struct wp_status status = {
		.write = wp_lsn_max(wp_ledger_read(&r->ledger), safe),
		.flush = safe,
		.apply = safe,
		.now_us = now.wall_us,
		.reply_requested = wp_feedback_sent(&r->feedback, now.ms, safe),
	};

	(void)r->setup.source->ops->status(r->setup.source, &status);
}

/* -- actions -------------------------------------------------------------- */

static void drop_held(struct wp_relay *r)
{
	r->held = (struct wp_span){ 0 };
}

static void act_start(struct wp_relay *r)
{
	const struct wp_source_facts *facts = &source_view(r)->facts;
	bool ours = strcmp(facts->witness_owner, r->setup.owner) == 0;

	r->started = true;
	r->system_id = facts->system_id;
	r->timeline = facts->timelines.current;
	wp_pipeline_begin(r->pipeline, &facts->timelines);
	r->setup.source->ops->start(r->setup.source, wp_ledger_read(&r->ledger),
				    ours ? WP_WITNESS_KEEP : WP_WITNESS_WRITE);
}

static void act_take_over(struct wp_relay *r)
{
	wp_ledger_forget(&r->ledger, source_view(r)->facts.slot_confirmed);
	wp_feedback_forget(&r->feedback);
	r->gap = false;
}

static void act_restart(struct wp_relay *r)
{
	wp_lsn from = wp_fault(WP_FAULT_REWIND_TO_READ) ? wp_ledger_read(&r->ledger) :
							  wp_ledger_safe(&r->ledger);

	r->setup.sink->ops->restart(r->setup.sink, r->batching);
	wp_ledger_forget(&r->ledger, from);
	r->gap = false;
}

static void act_begin(struct wp_relay *r, struct wp_now now)
{
	struct wp_note *n = note(r, WP_NOTE_INFO, "streaming");

	n->lsn = wp_ledger_read(&r->ledger);
	r->quiet_ms = now.ms;
	r->probed_ms = now.ms;
	wp_feedback_begin(&r->feedback, now.ms, source_view(r)->facts.wal_sender_timeout_ms,
			  wp_ledger_safe(&r->ledger));
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

	if (reserve_ms > FINISH_MS)
		reserve_ms = FINISH_MS;
	r->deadline_ms = now.ms + REST_MS;
	if (r->state == WP_DRAINING)
		r->deadline_ms = r->stop_by_ms - reserve_ms;
	if (r->state == WP_FINISHING)
		r->deadline_ms = r->stop_by_ms;
}

static void act_finish(struct wp_relay *r, struct wp_now now)
{
	drop_held(r);
	if (!is_streaming(r))
		return;
	send_status(r, now);
	if (is_streaming(r))
		r->setup.source->ops->finish(r->setup.source);
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
	if ((actions & WP_ACT_READ_OFF) && is_streaming(r))
		s->ops->reading(s, WP_READING_OFF);
	if ((actions & WP_ACT_READ_ON) && is_streaming(r))
		s->ops->reading(s, WP_READING_ON);
	if (actions & WP_ACT_FINISH)
		act_finish(r, now);
}

static void act(struct wp_relay *r, enum wp_state from, unsigned actions, struct wp_now now)
{
	if (actions & WP_ACT_CLOSE) {
		drop_held(r);
		r->setup.source->ops->close(r->setup.source);
	}
	if (actions & WP_ACT_DROP_OPEN)
		wp_ledger_drop_open(&r->ledger);
	if (actions & WP_ACT_PURGE)
		r->setup.sink->ops->purge(r->setup.sink);
	if (actions & WP_ACT_RESTART)
		act_restart(r);
	if (actions & WP_ACT_TAKE_OVER)
		act_take_over(r);
	act_on_source(r, actions, now);
	if (actions & WP_ACT_LOOK_LATER)
		r->deadline_ms = now.ms + LOOK_EVERY_MS / 2 +
				 (int64_t)(wp_random_next(&r->random) % LOOK_EVERY_MS);
	if (actions & WP_ACT_BACK_OFF)
		act_back_off(r, from, now);
	if (actions & WP_ACT_STAY_AWAY)
		act_stay_away(r, now);
	if (actions & WP_ACT_GIVE_TIME)
		act_give_time(r, now);
}

/* Between streaming and paused the relay flits; the rest is news. */
static void note_move(struct wp_relay *r, enum wp_state from, enum wp_state to, enum wp_happening what)
{
	bool flit = (from == WP_STREAMING && to == WP_PAUSED) ||
		    (from == WP_PAUSED && to == WP_STREAMING);
	struct wp_note *n = note(r, flit ? WP_NOTE_DEBUG : WP_NOTE_INFO, "state");

	(void)wp_why_set(&n->why, WP_OK, "%s -> %s (%s)", wp_state_name(from), wp_state_name(to),
			 wp_happening_name(what));
}

static void happen(struct wp_relay *r, enum wp_happening what, struct wp_now now)
{
	enum wp_state from = r->state;
	struct wp_move move = wp_machine_move(from, what);

	if (move.to == from && move.actions == 0)
		return;
	r->state = move.to;
	r->deadline_ms = INT64_MAX;
	if (move.to != from) {
		r->moves++;
		r->entered_ms = now.ms;
		note_move(r, from, move.to, what);
	}
	act(r, from, move.actions, now);
}

/* -- stopping ------------------------------------------------------------- */

void wp_relay_stop(struct wp_relay *r, struct wp_now now)
{
	if (r->stop_asked)
		return;
	r->stop_asked = true;
	r->stop_by_ms = now.ms + r->setup.options->shutdown_timeout_ms;
}

/* A human must act, or a restart may help: stop in good order with that exit code. */
static void halt(struct wp_relay *r, int exit_code, const char *event, const struct wp_why *why,
		 struct wp_now now)
{
	if (r->exit_code != 0)
		return;
	r->exit_code = exit_code;
	note(r, WP_NOTE_ERROR, event)->why = *why;
	wp_relay_stop(r, now);
	happen(r, WP_STOP, now);
}

static int exit_code_of(enum wp_reaction reaction)
{
	return reaction == WP_REACT_STOP_CONFIG ? EXIT_CONFIG : EXIT_HUMAN;
}

/*
 * To stop in the middle of a transaction is to send its first events twice: go on to its
 * COMMIT, for half of the time given.
 */
static bool may_stop_here(const struct wp_relay *r, struct wp_now now)
{
	bool reading = r->state == WP_STREAMING || r->state == WP_PAUSED;

	return !reading || !wp_pipeline_in_transaction(r->pipeline) ||
	       now.ms >= r->stop_by_ms - r->setup.options->shutdown_timeout_ms / 2;
}

/* True when the same trouble has come too often without getting past `at`. */
static bool is_too_often(struct trouble *t, const char *code, wp_lsn at)
{
	if (t->at != at || strcmp(t->code, code) != 0) {
		*t = (struct trouble){ .at = at };
		snprintf(t->code, sizeof(t->code), "%s", code);
	}
	return ++t->count >= SAME_TROUBLE_MAX;
}

/* -- the sink ------------------------------------------------------------- */

static void rewind_stream(struct wp_relay *r, struct wp_now now)
{
	r->gap = true;
	if (r->state == WP_REWINDING || r->state == WP_REBUILDING)
		return;
	r->rewinds++;
	happen(r, WP_SINK_ERROR, now);
}

/* Two events of the same time cannot have been in flight: this one is it. */
static void halt_for_poison(struct wp_relay *r, const struct wp_report *report, struct wp_now now)
{
	const struct wp_event_name *e = wp_pipeline_last_event(r->pipeline);
	char position[WP_POSITION_TEXT_SIZE];
	char limit[64] = "unknown";
	char beyond[WP_LSN_TEXT_SIZE];
	struct wp_why why;

	if (report->limit > 0)
		snprintf(limit, sizeof(limit), "%zu bytes", report->limit);
	(void)wp_why_set(
		&why, WP_DATA,
		"the event of table %s with id %s (%zu bytes, topic %s, position %s) is refused by Kafka "
		"with %s also when it is sent alone; the topic's limit: %s. Nothing after it was confirmed. "
		"Raise the limit (max.message.bytes of the topic) and start again, or give up what its "
		"transaction has not delivered: SELECT pg_replication_slot_advance('%s', '%s')",
		e->table, e->id, e->size, e->topic, wp_position_text(&e->position, position),
		report->code, limit, r->setup.slot, wp_lsn_text(e->position.commit_lsn + 1, beyond));
	halt(r, EXIT_HUMAN, "event_undeliverable", &why, now);
}

static void note_refusal(struct wp_relay *r, const struct wp_report *report)
{
	(void)wp_why_set(&note(r, WP_NOTE_WARN, "event_refused")->why, WP_OK,
			 "Kafka answered %s; streaming again from the last confirmed position",
			 report->code);
}

/* Up to the end of the transaction that the last event sent belongs to. */
static void isolate(struct wp_relay *r)
{
	const struct wp_event_name *e = wp_pipeline_last_event(r->pipeline);

	r->isolation.on = true;
	r->isolation.until = wp_lsn_max(wp_ledger_read(&r->ledger), e->position.commit_lsn + 1);
	r->batching = WP_BATCHING_ONE_BY_ONE;
}

static bool refuses_always(struct wp_relay *r, const struct wp_report *report, struct wp_now now)
{
	struct wp_why why;

	if (report->reaction != WP_REACT_REWIND ||
	    !is_too_often(&r->rewind_trouble, report->code, wp_ledger_safe(&r->ledger)))
		return false;
	(void)wp_why_set(&why, WP_IO,
			 "Kafka refused events after the same position %d times in a row with %s; look at "
			 "the broker's log, then start again: nothing is lost",
			 SAME_TROUBLE_MAX, report->code);
	halt(r, EXIT_HUMAN, "sink_refuses", &why, now);
	return true;
}

/* An error for a forgotten ticket counts too: its producer is still the current one. */
static void refused(struct wp_relay *r, const struct wp_report *report, struct wp_now now)
{
	bool rewinding = r->state == WP_REWINDING;

	if (wp_fault(WP_FAULT_GO_ON_AFTER_ERROR))
		return;
	r->gap = true;
	if (report->event_level && r->isolation.on && r->batching == WP_BATCHING_ONE_BY_ONE &&
	    !rewinding) {
		halt_for_poison(r, report, now);
		return;
	}
	if (report->reaction == WP_REACT_ISOLATE && !r->isolation.on)
		isolate(r); /* also when what it broke was noticed first */
	if (rewinding)
		return;
	note_refusal(r, report);
	if (!refuses_always(r, report, now))
		rewind_stream(r, now);
}

static void take_report(struct wp_relay *r, const struct wp_report *report, struct wp_now now)
{
	switch (report->outcome) {
	case WP_CONFIRMED:
		if (wp_ledger_settle(&r->ledger, report->ticket) == WP_SETTLED) {
			r->confirmed++;
			wp_backoff_reset(&r->rewind_backoff);
		}
		break;
	case WP_REFUSED:
		if (wp_fault(WP_FAULT_ERROR_SETTLES))
			(void)wp_ledger_settle(&r->ledger, report->ticket);
		else
			refused(r, report, now);
		break;
	case WP_PURGED:
		if (wp_fault(WP_FAULT_PURGE_SETTLES))
			(void)wp_ledger_settle(&r->ledger, report->ticket);
		else
			r->gap = !wp_fault(WP_FAULT_RESUME_AFTER_PURGE);
		break;
	}
}

/* True when there may be more. */
static bool collect_reports(struct wp_relay *r, struct wp_now now)
{
	struct wp_report reports[REPORTS_PER_CALL];
	size_t total = 0;
	size_t count = 0;

	do {
		count = r->setup.sink->ops->collect(r->setup.sink, now.ms, reports, REPORTS_PER_CALL);
		for (size_t i = 0; i < count; i++)
			take_report(r, &reports[i], now);
		total += count;
	} while (count == REPORTS_PER_CALL && total < REPORTS_PER_STEP);
	return count == REPORTS_PER_CALL;
}

static void wait_for_topic(struct wp_relay *r, const struct wp_sink_view *v, struct wp_now now)
{
	if (!r->waiting) {
		r->waiting = true;
		r->waiting_since_ms = now.ms;
		r->waiting_note_ms = now.ms;
		note(r, WP_NOTE_WARN, "topic_waiting")->why = v->why;
	}
	r->waiting_safe = wp_ledger_safe(&r->ledger);
	if (now.ms - r->waiting_since_ms >= r->setup.options->topic_wait_ms) {
		halt(r, EXIT_HUMAN, "topic_missing", &v->why, now);
	} else if (now.ms - r->waiting_note_ms >= TOPIC_NOTE_EVERY_MS) {
		r->waiting_note_ms = now.ms;
		note(r, WP_NOTE_WARN, "topic_waiting")->why = v->why;
	}
}

static void note_reach(struct wp_relay *r, const struct wp_sink_view *v)
{
	if (!v->reachable && !r->unreachable_noted && v->why.text[0] != '\0') {
		r->unreachable_noted = true;
		note(r, WP_NOTE_WARN, "sink_unreachable")->why = v->why;
	} else if (v->reachable && r->unreachable_noted) {
		r->unreachable_noted = false;
		note(r, WP_NOTE_INFO, "sink_reachable");
	}
}

static void watch_sink(struct wp_relay *r, struct wp_now now)
{
	const struct wp_sink_view *v = sink_view(r);

	note_reach(r, v);
	if (v->state == WP_SINK_WAITING) {
		wait_for_topic(r, v, now);
	} else if (r->waiting && wp_ledger_safe(&r->ledger) > r->waiting_safe) {
		r->waiting = false;
		note(r, WP_NOTE_INFO, "topic_found");
	}
	if (v->state == WP_SINK_FAILED)
		halt(r, exit_code_of(v->reaction), "sink_failed", &v->why, now);
	if (v->state == WP_SINK_BROKEN && r->state != WP_REWINDING && r->state != WP_REBUILDING) {
		note(r, WP_NOTE_WARN, "sink_broken")->why = v->why;
		rewind_stream(r, now);
	}
	if (r->state == WP_REBUILDING && (v->state == WP_SINK_READY || v->state == WP_SINK_WAITING))
		happen(r, WP_SINK_NEW, now);
}

/* Past the place of trouble and nothing in flight: batches again. */
static void end_isolation(struct wp_relay *r, struct wp_now now)
{
	if (!r->isolation.on || r->state != WP_STREAMING || r->ledger.in_flight > 0 ||
	    wp_pipeline_in_transaction(r->pipeline) || wp_ledger_safe(&r->ledger) < r->isolation.until)
		return;
	r->isolation.on = false;
	r->batching = WP_BATCHING_NORMAL;
	note(r, WP_NOTE_INFO, "isolation_over");
	happen(r, WP_SINK_ERROR, now);
}

/* -- the source ----------------------------------------------------------- */

static bool is_foreign_system(struct wp_relay *r, const struct wp_source_facts *f, struct wp_why *why)
{
	uint64_t known = r->started ? r->system_id : f->witness_system_id;
	bool raised = !r->started && r->setup.options->epoch > f->witness_epoch;

	if (known == 0 || known == f->system_id || raised)
		return false;
	(void)wp_why_set(why, WP_CONFIG,
			 "the server's system identifier is %" PRIu64 ", it was %" PRIu64
			 ": this is another database cluster (restored or replaced), whose positions start "
			 "anew; events between the two may be missing. If that is intended, set relay.epoch = %u "
			 "and start again",
			 f->system_id, known, (unsigned)f->witness_epoch + 1);
	return true;
}

/* The slot stands beyond what we ever confirmed: who moved it? */
static bool is_unexplained(const struct wp_relay *r, const struct wp_source_facts *f)
{
	return r->started && f->timelines.current == r->timeline &&
	       f->slot_confirmed > r->feedback.highest_flush &&
	       f->slot_confirmed > wp_ledger_safe(&r->ledger) &&
	       (!f->witness_readable || strcmp(f->witness_owner, r->setup.owner) == 0);
}

static void halt_for_moved_slot(struct wp_relay *r, const struct wp_source_facts *f, struct wp_now now)
{
	char slot[WP_LSN_TEXT_SIZE];
	char ours[WP_LSN_TEXT_SIZE];
	struct wp_why why;

	(void)wp_why_set(
		&why, WP_CONFIG,
		"slot %s stands at %s, but this process confirmed only %s and no other relay has taken the "
		"slot over: someone advanced or recreated it; events between may never be sent. Compare the "
		"outbox with the topics, then start again: it will go on from the slot",
		r->setup.slot, wp_lsn_text(f->slot_confirmed, slot),
		wp_lsn_text(wp_ledger_safe(&r->ledger), ours));
	halt(r, EXIT_HUMAN, "slot_moved", &why, now);
}

static bool may_resume(const struct wp_relay *r, const struct wp_source_facts *f)
{
	if (!r->started)
		return false;
	if (wp_fault(WP_FAULT_RESUME_AFTER_MOVE))
		return true;
	return !r->gap && f->timelines.current == r->timeline &&
	       f->slot_confirmed <= wp_lsn_max(r->feedback.highest_flush, wp_ledger_safe(&r->ledger));
}

static void connected(struct wp_relay *r, struct wp_now now)
{
	const struct wp_source_facts *f = &source_view(r)->facts;
	struct wp_why why;

	r->server = wp_lsn_max(r->server, f->server_lsn);
	if (is_foreign_system(r, f, &why))
		halt(r, EXIT_HUMAN, "system_changed", &why, now);
	else if (f->slot_held)
		happen(r, WP_SLOT_HELD, now);
	else if (is_unexplained(r, f))
		halt_for_moved_slot(r, f, now);
	else
		happen(r, may_resume(r, f) ? WP_SLOT_RESUME : WP_SLOT_MOVED, now);
}

/* An error that the server will give again at the same place is no matter of patience. */
static bool is_hopeless(struct wp_relay *r, const struct wp_source_failure *f)
{
	return f->in_copy && f->reaction == WP_REACT_RECONNECT && f->sqlstate[0] != '\0' &&
	       strncmp(f->sqlstate, "57P", 3) != 0 && strncmp(f->sqlstate, "08", 2) != 0 &&
	       is_too_often(&r->stream_trouble, f->sqlstate, wp_ledger_read(&r->ledger));
}

static void failed(struct wp_relay *r, const struct wp_source_failure *f, struct wp_now now)
{
	enum wp_note_level level = f->reaction == WP_REACT_STANDBY ? WP_NOTE_DEBUG : WP_NOTE_WARN;

	if (f->reaction == WP_REACT_STOP_HUMAN ||
	    (f->reaction == WP_REACT_STOP_CONFIG && !r->started)) {
		halt(r, exit_code_of(f->reaction), "stream_refused", &f->why, now);
		happen(r, WP_LOST, now);
		return;
	}
	if (is_hopeless(r, f)) {
		halt(r, EXIT_HUMAN, "stream_stuck", &f->why, now);
		happen(r, WP_LOST, now);
		return;
	}
	r->reconnects++;
	happen(r, f->reaction == WP_REACT_LET_GO ? WP_LET_GO : WP_LOST, now);
	if (r->state == WP_BACKING_OFF) {
		struct wp_note *n = note(r, level, "stream_broken");
		n->why = f->why;
		n->wait_ms = r->deadline_ms - now.ms;
	}
}

static void watch_source(struct wp_relay *r, struct wp_now now)
{
	const struct wp_source_view *v = source_view(r);
	bool asking = r->state == WP_CONNECTING || r->state == WP_STANDBY;

	switch (v->state) {
	case WP_SOURCE_READY:
		if (asking && r->deadline_ms == INT64_MAX)
			connected(r, now);
		break;
	case WP_SOURCE_STREAMING:
		if (r->state == WP_STARTING)
			happen(r, WP_COPYING, now);
		break;
	case WP_SOURCE_FAILED: {
		struct wp_source_failure f = v->failure; /* the view changes below */
		failed(r, &f, now);
		break;
	}
	case WP_SOURCE_FINISHED:
		/* The server ended the copy: it is stopping, or was told to by us. */
		happen(r, r->state == WP_FINISHING ? WP_COPY_ENDED : WP_LET_GO, now);
		break;
	default:
		break;
	}
}

/* -- frames --------------------------------------------------------------- */

static void heard(struct wp_relay *r, const struct wp_taken *taken, struct wp_now now)
{
	r->server = wp_lsn_max(r->server, taken->wal_end);
	wp_backoff_reset(&r->connect_backoff);
	if (taken->keepalive)
		wp_feedback_heard_keepalive(&r->feedback, now.ms, taken->reply_requested);
	else
		wp_feedback_heard_data(&r->feedback, now.ms);
}

static void halt_for_event(struct wp_relay *r, const struct wp_why *reason, struct wp_now now)
{
	const struct wp_event_name *e = wp_pipeline_last_event(r->pipeline);
	char beyond[WP_LSN_TEXT_SIZE];
	struct wp_why why = *reason;

	if (e->position.commit_lsn != 0)
		(void)wp_why_set(
			&why, WP_DATA,
			"the event of table %s with id %s (%zu bytes, topic %s) can not be delivered: %s. "
			"Nothing after it was confirmed. To give up what its transaction has not delivered: "
			"SELECT pg_replication_slot_advance('%s', '%s')",
			e->table, e->id, e->size, e->topic, reason->text, r->setup.slot,
			wp_lsn_text(e->position.commit_lsn + 1, beyond));
	halt(r, EXIT_HUMAN, "event_undeliverable", &why, now);
}

static void broke_protocol(struct wp_relay *r, const struct wp_why *why, struct wp_now now)
{
	if (is_too_often(&r->stream_trouble, "protocol", wp_ledger_read(&r->ledger))) {
		halt(r, EXIT_HUMAN, "stream_stuck", why, now);
		return;
	}
	r->reconnects++;
	happen(r, WP_LOST, now);
	note(r, WP_NOTE_WARN, "stream_broken")->why = *why;
}

static void ask(struct wp_relay *r)
{
	r->ask_again_ms = INT64_MAX;
	r->setup.source->ops->ask_root(r->setup.source, wp_pipeline_question(r->pipeline));
}

/* What an answer of the pipeline means for the state; the frame stays held unless taken. */
static void not_taken(struct wp_relay *r, enum wp_rc rc, const struct wp_why *why, struct wp_now now)
{
	switch (rc) {
	case WP_FULL:
	case WP_AGAIN:
		happen(r, WP_NO_ROOM, now);
		break;
	case WP_PAUSE:
		ask(r);
		happen(r, WP_NO_ROOM, now);
		break;
	case WP_DATA:
		halt_for_event(r, why, now);
		break;
	case WP_CONFIG:
		halt(r, EXIT_HUMAN, "stream_refused", why, now);
		break;
	case WP_IO: /* the sink's view tells more */
		rewind_stream(r, now);
		break;
	case WP_NOMEM:
		halt(r, EXIT_RESTART, "out_of_memory", why, now);
		break;
	default:
		broke_protocol(r, why, now);
		break;
	}
}

/* One event in flight while isolating, or no more than the ledger's window. */
static bool has_room(const struct wp_relay *r)
{
	if (r->isolation.on && r->ledger.in_flight > 0)
		return false;
	return wp_ledger_has_room(&r->ledger, 0);
}

static enum wp_rc next_frame(struct wp_relay *r)
{
	if (!wp_span_is_null(r->held))
		return WP_OK;
	return r->setup.source->ops->next(r->setup.source, &r->held);
}

/* Takes one frame; false when the state changed or nothing is there. */
static bool take_frame(struct wp_relay *r, struct wp_now now)
{
	struct wp_taken taken;
	struct wp_why why = { .text = "" };

	if (!has_room(r)) {
		happen(r, WP_NO_ROOM, now);
		return false;
	}
	enum wp_rc rc = next_frame(r);
	if (rc == WP_AGAIN)
		r->quiet_ms = now.ms;
	if (rc != WP_OK)
		return false;
	rc = wp_pipeline_take(r->pipeline, r->held, &taken, &why);
	if (rc != WP_OK) {
		not_taken(r, rc, &why, now);
		return false;
	}
	drop_held(r);
	heard(r, &taken, now);
	return true;
}

/* True when the budget was spent. */
static bool take_frames(struct wp_relay *r, struct wp_now now)
{
	for (unsigned i = 0; i < FRAMES_PER_STEP; i++) {
		if (r->state != WP_STREAMING || (r->stop_asked && may_stop_here(r, now)))
			return false;
		if (!take_frame(r, now))
			return false;
	}
	return true;
}

/* Is the answer about a leaf's root still awaited? */
static bool question_open(struct wp_relay *r, struct wp_now now)
{
	const struct wp_root *root = &source_view(r)->root;
	uint32_t oid = wp_pipeline_question(r->pipeline);

	if (oid == 0)
		return false;
	if (root->state == WP_ROOT_ASKING || root->leaf_oid != oid)
		return true;
	if (root->state != WP_ROOT_FAILED) {
		wp_pipeline_answer(r->pipeline, root);
		return false;
	}
	if (r->ask_again_ms == INT64_MAX) {
		note(r, WP_NOTE_WARN, "leaf_unknown");
		r->ask_again_ms = now.ms + ASK_AGAIN_MS;
	} else if (now.ms >= r->ask_again_ms) {
		ask(r);
	}
	return true;
}

static void try_again(struct wp_relay *r, struct wp_now now)
{
	if (r->state != WP_PAUSED || question_open(r, now) || !has_room(r))
		return;
	if (sink_view(r)->state != WP_SINK_READY)
		return;
	happen(r, WP_ROOM, now);
}

/* -- time ----------------------------------------------------------------- */

/* What the source did in this very turn must not wait for its next wake. */
static bool source_needs_look(const struct wp_relay *r)
{
	enum wp_source_state s = source_view(r)->state;

	return s == WP_SOURCE_FAILED || s == WP_SOURCE_FINISHED;
}

static bool reads_or_pauses(const struct wp_relay *r)
{
	return r->state == WP_STREAMING || r->state == WP_PAUSED || r->state == WP_DRAINING;
}

static bool wants_probe(const struct wp_relay *r, struct wp_now now)
{
	if (wp_fault(WP_FAULT_DEAF_WHEN_PAUSED))
		return false;
	return r->state != WP_DRAINING && now.ms - r->quiet_ms >= PROBE_AFTER_MS &&
	       now.ms - r->probed_ms >= PROBE_EVERY_MS;
}

/*
 * Pings of a stopping server go unread while we are not at the end of what it sent, and
 * our own statuses keep its timeout from helping. So ask on the side.
 */
static void probe(struct wp_relay *r, struct wp_now now)
{
	enum wp_probe result = source_view(r)->probe;

	if (r->probed_ms > r->quiet_ms && result == WP_PROBE_STOPPING)
		happen(r, WP_LET_GO, now);
	else if (r->probed_ms > r->quiet_ms && result == WP_PROBE_UNREACHABLE && r->state == WP_PAUSED)
		happen(r, WP_LOST, now);
	else if (result != WP_PROBE_RUNNING && wants_probe(r, now)) {
		r->probed_ms = now.ms;
		r->setup.source->ops->probe(r->setup.source);
	}
}

static void give_feedback(struct wp_relay *r, struct wp_now now)
{
	struct wp_feedback *f = &r->feedback;
	wp_lsn safe = wp_ledger_safe(&r->ledger);

	wp_feedback_note(f, now.ms, safe);
	if (r->state != WP_STREAMING)
		wp_feedback_not_reading(f, now.ms);
	if (wp_fault(WP_FAULT_SILENT_WHEN_PAUSED) && r->state == WP_PAUSED)
		return;
	if (now.ms >= wp_feedback_due(f, safe))
		send_status(r, now);
	if (r->state == WP_STREAMING && wp_feedback_half_open(f, now.ms)) {
		note(r, WP_NOTE_WARN, "half_open");
		happen(r, WP_LOST, now);
	} else if (wp_feedback_server_stops(f, now.ms) && !wp_fault(WP_FAULT_NEVER_LET_GO)) {
		happen(r, WP_LET_GO, now);
	}
}

static void keep_time(struct wp_relay *r, struct wp_now now)
{
	bool resting = r->state == WP_SETTLING || r->state == WP_REWINDING || r->state == WP_DRAINING;
	bool at_rest = sink_view(r)->in_flight == 0 || (wp_fault(WP_FAULT_NO_DRAIN) && r->stop_asked);

	if (resting && at_rest)
		happen(r, WP_AT_REST, now);
	if (r->stop_asked && r->state < WP_DRAINING && may_stop_here(r, now))
		happen(r, WP_STOP, now);
	if (now.ms >= r->deadline_ms) {
		r->deadline_ms = INT64_MAX;
		happen(r, WP_TIME_UP, now);
	}
}

enum wp_step wp_relay_step(struct wp_relay *r, struct wp_now now)
{
	bool more = collect_reports(r, now);

	watch_sink(r, now);
	watch_source(r, now);
	end_isolation(r, now);
	try_again(r, now);
	if (r->state == WP_STREAMING)
		more = take_frames(r, now) || more;
	if (reads_or_pauses(r) && is_streaming(r)) {
		probe(r, now);
		if (reads_or_pauses(r) && is_streaming(r))
			give_feedback(r, now);
	}
	keep_time(r, now);
	if (r->state == WP_STOPPED)
		return WP_STEP_OVER;
	return more || source_needs_look(r) ? WP_STEP_MORE : WP_STEP_WAIT;
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t probe_due(const struct wp_relay *r)
{
	int64_t after = r->quiet_ms + PROBE_AFTER_MS;
	int64_t again = r->probed_ms + PROBE_EVERY_MS;

	if (r->state != WP_PAUSED || source_view(r)->probe == WP_PROBE_RUNNING)
		return INT64_MAX;
	return after > again ? after : again;
}

static int64_t waiting_due(const struct wp_relay *r)
{
	if (!r->waiting || r->stop_asked)
		return INT64_MAX;
	return sooner(r->waiting_note_ms + TOPIC_NOTE_EVERY_MS,
		      r->waiting_since_ms + r->setup.options->topic_wait_ms);
}

int64_t wp_relay_due(const struct wp_relay *r)
{
	int64_t due = sooner(r->deadline_ms, r->setup.sink->ops->due(r->setup.sink));

	due = sooner(due, waiting_due(r));
	due = sooner(due, r->state == WP_PAUSED ? r->ask_again_ms : INT64_MAX);
	if (reads_or_pauses(r) && is_streaming(r)) {
		due = sooner(due, wp_feedback_due(&r->feedback, wp_ledger_safe(&r->ledger)));
		due = sooner(due, probe_due(r));
	}
	if (r->stop_asked && r->state < WP_DRAINING)
		due = sooner(due, r->stop_by_ms - r->setup.options->shutdown_timeout_ms / 2);
	return due;
}

void wp_relay_look(const struct wp_relay *r, struct wp_relay_snapshot *ret)
{
	*ret = (struct wp_relay_snapshot){
		.state = r->state,
		.counts = *wp_pipeline_counts(r->pipeline),
		.confirmed = r->confirmed,
		.reconnects = r->reconnects,
		.rewinds = r->rewinds,
		.moves = r->moves,
		.safe = wp_ledger_safe(&r->ledger),
		.read = wp_ledger_read(&r->ledger),
		.server = r->server,
		.in_flight = r->ledger.in_flight,
		.in_flight_bytes = r->ledger.bytes,
	};
}
