#include <stdlib.h>
#include <string.h>

#include "relay_internal.h"
#include "walpost/relay/faults.h"

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
	r->machine.state = WP_BACKING_OFF; /* until now: the first step connects */
	r->pending.refused_ms = INT64_MAX;
	r->heard_ms = INT64_MIN;
	wp_reload_put(&r->reload, &setup->task);
	wp_retry_init(&r->retry, setup->seed);
	wp_partition_question_init(&r->question);
	wp_sink_watch_init(&r->sink);
	wp_slot_watch_init(&r->slot_watch);
	wp_delivery_init(&r->delivery);
	wp_feedback_init(&r->feedback, options->feedback_interval_ms);
	rc = wp_ledger_init(&r->ledger, options->in_flight_events, options->in_flight_bytes);
	if (rc != WP_OK)
		goto fail;
	rc = wp_meter_init(&r->meter, options->in_flight_events);
	if (rc != WP_OK)
		goto fail;
	if (options->poison == WP_POISON_PARK)
		rc = wp_parking_new(&options->park, options->epoch,
				    options->dead_letter_topic[0] != '\0', setup->parked,
				    &r->parking);
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
			.parking = r->parking,
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
	wp_parking_free(r->parking);
	wp_ledger_release(&r->ledger);
	wp_meter_release(&r->meter);
	free(r);
}

bool wp_relay_take_note(struct wp_relay *r, struct wp_note *ret)
{
	return wp_notes_take(&r->notes, ret);
}

int wp_relay_exit_code(const struct wp_relay *r)
{
	return r->stop.exit_code;
}

void wp_relay_stop(struct wp_relay *r, struct wp_now now)
{
	wp_stop_ask(&r->stop, r->setup.options->shutdown_timeout_ms, now.ms);
}

/* -- time ----------------------------------------------------------------- */

/* What the source did in this very turn must not wait for its next wake. */
static bool source_needs_turn(const struct wp_relay *r)
{
	enum wp_source_state s = wp_relay_source(r)->state;

	return s == WP_SOURCE_FAILED || s == WP_SOURCE_FINISHED;
}

/* The server's patience is with us: it must hear of us, and we want to hear of it. */
static bool has_stream(const struct wp_relay *r)
{
	return (wp_relay_reads(r) || r->machine.state == WP_DRAINING) && wp_relay_is_streaming(r);
}

static void probe(struct wp_relay *r, struct wp_now now)
{
	enum wp_state state = r->machine.state;
	bool behind = state == WP_STREAMING && wp_ledger_received_lsn(&r->ledger) < r->server;

	switch (wp_shutdown_probe_step(&r->probe, state, wp_relay_source(r), behind, now.ms)) {
	case WP_PROBE_DO_NOTHING:
		break;
	case WP_PROBE_ASK:
		r->setup.source->ops->probe(r->setup.source);
		break;
	case WP_PROBE_LET_GO:
		wp_relay_handle(r, WP_LET_GO, now);
		break;
	case WP_PROBE_LOST:
		wp_relay_handle(r, WP_LOST, now);
		break;
	}
}

static void give_feedback(struct wp_relay *r, struct wp_now now)
{
	struct wp_feedback *f = &r->feedback;
	wp_lsn confirmed_lsn = wp_relay_flush(r);

	wp_feedback_note(f, now.ms, confirmed_lsn);
	if (r->machine.state != WP_STREAMING) {
		wp_shutdown_probe_not_reading(&r->probe, now.ms);
		wp_feedback_not_reading(f, now.ms);
	}
	if (wp_fault(WP_FAULT_SILENT_WHEN_PAUSED) && r->machine.state == WP_PAUSED)
		return;
	if (now.ms >= wp_feedback_due(f, confirmed_lsn))
		wp_relay_send_status(r, now);
	if (r->machine.state == WP_STREAMING && wp_feedback_half_open(f, now.ms)) {
		wp_relay_note(r, WP_NOTE_WARN, "half_open");
		wp_relay_handle(r, WP_LOST, now);
	} else if (wp_feedback_server_stops(f, now.ms) && !wp_fault(WP_FAULT_NEVER_LET_GO)) {
		wp_relay_handle(r, WP_LET_GO, now);
	}
}

/* This comes before anything else, for the sink's threads woke with us. */
static void watch_the_clock(struct wp_relay *r, struct wp_now now)
{
	struct wp_error error;
	int64_t suspended_ms = 0;
	bool stood_still = wp_standstill_turn(&r->standstill, now, has_stream(r),
					      wp_relay_source(r)->facts.wal_sender_timeout_ms,
					      &suspended_ms, &error);

	if (suspended_ms > 0)
		wp_feedback_suspended(&r->feedback, suspended_ms);
	if (!stood_still || r->machine.state >= WP_HELD)
		return;
	if (wp_relay_sink(r)->in_flight > 0)
		wp_relay_take_back(r);
	wp_relay_note(r, WP_NOTE_WARN, "stood_still")->error = error;
	if (r->machine.state < WP_FINISHING)
		wp_relay_handle(r, WP_LOST, now);
}

/* A broken producer may keep reports back until it is gone (librdkafka does). */
static bool reports_no_more(const struct wp_relay *r, struct wp_now now)
{
	return r->machine.state == WP_REWINDING && wp_relay_sink(r)->state == WP_SINK_BROKEN &&
	       now.ms - r->machine.entered_ms >= WP_SINK_BROKEN_MS;
}

/* Events are on their way to walpost.parked. */
static bool parks(const struct wp_relay *r, bool sink_rests)
{
	return r->parking != NULL && wp_parking_end(r->parking, sink_rests);
}

static bool is_at_rest(const struct wp_relay *r, struct wp_now now)
{
	const struct wp_sink_view *v = wp_relay_sink(r);
	bool is_empty = v->in_flight == 0 || (wp_fault(WP_FAULT_NO_DRAIN) && r->stop.asked);

	switch (r->machine.state) {
	case WP_SETTLING:
		return is_empty;
	case WP_REWINDING:
		return is_empty || reports_no_more(r, now);
	case WP_DRAINING: /* what waits for its topic, or for an answer about it, comes again */
		is_empty = is_empty || v->in_flight == v->queued;
		return (r->stop.sink_lost || (!parks(r, is_empty) && is_empty)) &&
		       r->slot_checkpoint.held_ms == 0;
	default:
		return false;
	}
}

static void time_up(struct wp_relay *r, struct wp_now now)
{
	struct wp_error error;

	r->machine.deadline_ms = INT64_MAX;
	if (r->machine.state == WP_REBUILDING) {
		(void)wp_error_set(
			&error, WP_IO,
			"no new Kafka client within %d s: the old one has not ended, or the system "
			"lacked threads or memory for it; another process can start with a new one",
			WP_REBUILD_MS / 1000);
		wp_relay_halt(r, WP_EXIT_FAILED, "sink_stuck", &error, now);
		return;
	}
	/* An answer that does not come is a connection that is gone. */
	wp_relay_handle(r, r->machine.reads_facts ? WP_LOST : WP_TIME_UP, now);
}

static void keep_time(struct wp_relay *r, struct wp_now now)
{
	if (r->machine.state < WP_DRAINING && wp_relay_stops_here(r, now))
		wp_relay_handle(r, WP_STOP, now);
	if (is_at_rest(r, now))
		wp_relay_handle(r, WP_AT_REST, now);
	if (now.ms >= r->machine.deadline_ms)
		time_up(r, now);
}

/* After a stop for a human the process stays up, if it is to, until it is told to leave. */
static void hold(struct wp_relay *r, struct wp_now now)
{
	switch (wp_stop_step(&r->stop, r->machine.state, r->setup.options->on_halt, now.ms)) {
	case WP_STOP_NOTHING:
		break;
	case WP_STOP_HOLD:
		wp_relay_handle(r, WP_HALTED, now);
		break;
	case WP_STOP_LEAVE:
		wp_relay_handle(r, WP_STOP, now);
		break;
	case WP_STOP_REMIND:
		wp_relay_note(r, WP_NOTE_ERROR, "held")->error = r->stop.halt_error;
		break;
	}
}

static int64_t due(const struct wp_relay *r)
{
	enum wp_state state = r->machine.state;
	int64_t at_ms = wp_sooner(r->machine.deadline_ms, r->setup.sink->ops->due(r->setup.sink));

	at_ms = wp_sooner(at_ms, wp_relay_renew_due(r));
	at_ms = wp_sooner(at_ms, wp_relay_parking_due(r));
	at_ms = wp_sooner(at_ms, wp_relay_sink_due(r));
	if (state == WP_PAUSED && r->question.open)
		at_ms = wp_sooner(at_ms, r->question.due_ms);
	if (has_stream(r)) {
		at_ms = wp_sooner(at_ms, wp_feedback_due(&r->feedback, wp_relay_flush(r)));
		at_ms = wp_sooner(at_ms,
				  wp_shutdown_probe_due(&r->probe, state, wp_relay_source(r)));
		at_ms = wp_sooner(at_ms, wp_relay_slot_due(r));
	}
	return wp_sooner(at_ms,
			 wp_stop_due(&r->stop, state, r->setup.options->shutdown_timeout_ms));
}

enum wp_step wp_relay_step(struct wp_relay *r, struct wp_now now)
{
	wp_meter_tick(&r->meter, now.ms);
	watch_the_clock(r, now);
	bool more = wp_relay_collect(r, now);

	wp_relay_widen(r);
	uint64_t written_before = wp_pipeline_written(r->pipeline);
	wp_relay_watch_change(r, now);
	wp_relay_watch_sink(r, now);
	wp_relay_watch_source(r, now);
	wp_relay_park(r, now);
	if (wp_relay_reads(r) && source_needs_turn(r)) /* it was heard out: nothing more is read */
		wp_relay_watch_source(r, now);
	wp_relay_clean(r);
	wp_relay_end_isolation(r, now);
	wp_relay_drain(r, now);
	wp_relay_try_again(r, now);
	if (r->machine.state == WP_STREAMING)
		more = wp_relay_take_frames(r, written_before, now) || more;
	if (has_stream(r)) {
		probe(r, now);
		wp_relay_watch_slot(r, now);
		if (has_stream(r))
			give_feedback(r, now);
		wp_relay_renew(r, now);
	}
	keep_time(r, now);
	hold(r, now);
	if (r->machine.state == WP_STOPPED) {
		if (r->stop.drain.state == WP_DRAIN_STOPS && r->stop.exit_code == 0)
			wp_relay_note(r, WP_NOTE_INFO, "drained")->lsn =
				wp_ledger_confirmed_lsn(&r->ledger);
		return WP_STEP_OVER;
	}
	enum wp_step wants = more || source_needs_turn(r) ? WP_STEP_MORE : WP_STEP_WAIT;
	wp_standstill_rest(&r->standstill, wants == WP_STEP_MORE ? now.ms : due(r));
	return wants;
}

int64_t wp_relay_due(const struct wp_relay *r)
{
	return r->standstill.due_ms;
}

/* -- for people ----------------------------------------------------------- */

/* The name in the slot checkpoint row is that of the last relay, which may be this one. */
static const char *holder(const struct wp_relay *r)
{
	const struct wp_source_facts *f = &wp_relay_source(r)->facts;
	bool is_named = r->identity.foreign.client[0] == '\0' &&
			f->slot_checkpoint_owner[0] != '\0' &&
			strcmp(f->slot_checkpoint_owner, r->setup.owner) != 0;

	return is_named ? f->slot_checkpoint_owner : f->holder;
}

static struct wp_relay_oldest oldest(const struct wp_relay *r)
{
	bool waits = r->machine.state == WP_PAUSED && !wp_span_is_null(r->pending.frame) &&
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
 * Nothing is known of the slot before the first answer beside a stream, nor without a stream; but
 * that it is lost is known for good.
 */
static struct wp_relay_slot slot(const struct wp_relay *r)
{
	const struct wp_slot_state *slot = &wp_relay_source(r)->slot_state;

	if (r->stop.slot_lost)
		return (struct wp_relay_slot){
			.known = true,
			.keeping = WP_KEEPING_LOST,
			.retained = -1,
			.seconds = INT64_MAX,
		};
	if (slot->answers == 0 ||
	    !(r->machine.state == WP_STREAMING || r->machine.state == WP_PAUSED))
		return (struct wp_relay_slot){ 0 };
	return (struct wp_relay_slot){
		.known = true,
		.keeping = slot->keeping,
		.retained = slot->retained,
		.limited = slot->limited,
		.safe_size = slot->safe_size,
		.seconds = slot->limited ? r->slot_watch.estimate.seconds : INT64_MAX,
		.suspect = r->slot_watch.suspect,
	};
}

void wp_relay_take_snapshot(const struct wp_relay *r, struct wp_relay_snapshot *ret)
{
	const struct wp_sink_view *sink = wp_relay_sink(r);

	*ret = (struct wp_relay_snapshot){
		.state = r->machine.state,
		.entered_ms = r->machine.entered_ms,
		.deadline_ms = r->machine.deadline_ms,
		.counts = *wp_pipeline_counts(r->pipeline),
		.dropped = wp_pipeline_dropped(r->pipeline),
		.confirmed = r->delivery.confirmed,
		.reconnects = r->retry.reconnects,
		.renewals = r->renewal.count,
		.rewinds = r->retry.rewinds,
		.moves = r->machine.moves,
		.changes = r->reload.changes,
		.changes_refused = r->reload.refused,
		.keepalives = r->feedback.keepalives,
		.statuses = r->feedback.statuses,
		.confirmed_lsn = wp_ledger_confirmed_lsn(&r->ledger),
		.read = wp_ledger_received_lsn(&r->ledger),
		.server = r->server,
		.in_flight = r->ledger.in_flight,
		.in_flight_bytes = r->ledger.bytes,
		.in_flight_max = r->ledger.events_max,
		.in_flight_bytes_max = r->ledger.bytes_max,
		.oldest = oldest(r),
		.heard_ms = r->heard_ms,
		.confirmed_ms = r->delivery.confirmed_ms,
		.slot = slot(r),
		.sink_reachable = sink->reachable,
		.sink_reached = r->sink.reached,
		.sink_throttled = sink->throttled,
		.sink_throttled_ms = sink->throttled_ms,
		.sink_data_losses = sink->data_losses,
		.isolating = r->isolation.on,
		.stopping = r->stop.asked,
		.exit_code = r->stop.exit_code,
		.unreachable_ms = r->sink.outage.on ? r->sink.outage.since_ms : INT64_MIN,
		.sink_error = sink->reachable ? "" : sink->error.text,
		.repeats = r->delivery.stalled != NULL && wp_delivery_repeats(&r->delivery),
		.stalled_ms = r->delivery.stalled != NULL ? r->delivery.since_ms : INT64_MIN,
		.waiting = r->topic.on || sink->state == WP_SINK_WAITING,
		.waiting_topic = r->topic.on ? r->topic.topic : sink->topic,
		.waiting_ms = r->topic.on ? r->topic.since_ms : INT64_MIN,
		.waiting_subject = r->pending.schema.on ? r->pending.schema.topic : NULL,
		.holder = r->machine.state == WP_STANDBY ? holder(r) : "",
		.withheld = r->slot_watch.withheld && r->delivery.stalled != NULL
				    ? wp_relay_source(r)->slot_state.withheld
				    : "",
		.foreign = r->machine.state == WP_STANDBY && r->identity.foreign.client[0] != '\0',
		.cleanup = r->setup.cleanup != NULL ? r->setup.cleanup->ops->view(r->setup.cleanup)
						    : NULL,
		.halt_event = r->stop.halt_event,
		.halt_error = r->stop.halt_error.text,
	};
	memcpy(ret->moves_to, r->machine.moves_to, sizeof(ret->moves_to));
	wp_relay_parking_figures(r, &ret->parking);
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
