/*
 * Handles what comes from the sink: reports of events, confirmed or refused, awaited topics and
 * schemas, outages and stalls.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "relay_internal.h"
#include "walpost/outbox/subjects.h"
#include "walpost/relay/faults.h"
#include "walpost/relay/options.h"
#include "walpost/relay/pending_dead_letters.h"

enum {
	REPORTS_PER_CALL = 512,
	REPORTS_PER_STEP = 8192,
};

/* -- a refused event ------------------------------------------------------- */

/* Returns the column of the event's timestamp; "": that is always the time of its commit. */
static const char *timestamp_column(struct wp_relay *r)
{
	const struct wp_outboxes *outboxes = r->reload.now.outboxes;
	const char *table = wp_pipeline_last_event(r->pipeline)->table;

	for (size_t i = 0; i < outboxes->count; i++) {
		const struct wp_outbox_options *o = &outboxes->items[i];
		if (outboxes->count == 1 || strcmp(o->table, table) == 0)
			return o->column_timestamp;
	}
	return "";
}

static void say_refused(struct wp_relay *r, const struct wp_report *report, struct wp_error *ret)
{
	char limit[64] = "", source[160] = "";
	const char *column =
		strcmp(report->code, "INVALID_TIMESTAMP") == 0 ? timestamp_column(r) : "";

	if (report->limit > 0)
		snprintf(limit, sizeof(limit), "; the topic's limit: %zu bytes", report->limit);
	if (column[0] != '\0')
		snprintf(source, sizeof(source),
			 "; the timestamp is the value of outbox.column.timestamp (%.64s), or the "
			 "time of the commit "
			 "where that is NULL",
			 column);
	(void)wp_error_set(ret, WP_DATA,
			   "Kafka refuses it with %s even when it is sent alone%s%s%s%s",
			   report->code, limit, report->cure != NULL ? "; " : "",
			   report->cure != NULL ? report->cure : "", source);
}

/* The event is read again, and then goes to the dead-letter topic, or is parked. */
static void divert(struct wp_relay *r, const struct wp_report *report, struct wp_now now)
{
	char reason[WP_DEAD_LETTER_REASON_SIZE];
	char limit[64] = "";

	if (report->limit > 0)
		snprintf(limit, sizeof(limit), "; the topic's limit: %zu bytes", report->limit);
	snprintf(reason, sizeof(reason), "refused by Kafka with %s when sent alone%s", report->code,
		 limit);
	struct wp_error error;
	enum wp_rc rc = wp_pipeline_divert(r->pipeline, reason, report->code);
	if (rc == WP_OK) {
		wp_backoff_reset(&r->retry.rewind); /* Kafka is well: it is the event */
		wp_relay_rewind(r, now);
		return;
	}
	say_refused(r, report, &error);
	(void)wp_error_set(&error, WP_DATA, "%s; %s", error.text,
			   rc == WP_DATA ? "so is its dead letter, reduced to the minimum"
			   : rc == WP_FULL
				   ? "and it is the 1025th such event in unconfirmed transactions"
				   : "and memory to record it is exhausted");
	wp_relay_halt_for_event(r, "event_undeliverable", &error, true, now);
}

static void note_event_refused(struct wp_relay *r, const struct wp_report *report)
{
	(void)wp_error_set(&wp_relay_note(r, WP_NOTE_WARN, "event_refused")->error, WP_OK,
			   "an event was refused with %s; %s", report->code,
			   r->machine.state == WP_DRAINING
				   ? "the next start sends it again"
				   : "streaming again from the confirmed LSN");
}

/* Isolates up to the end of the transaction that the last event sent belongs to. */
static void isolate(struct wp_relay *r)
{
	wp_isolation_begin(&r->isolation, wp_pipeline_last_position(r->pipeline),
			   wp_ledger_received_lsn(&r->ledger));
}

/*
 * When Kafka refuses again and again at the same place, for a reason that is not the event's, a
 * human must look. The last try but one goes on one by one, so that the last one names the event.
 */
static bool refuses_always(struct wp_relay *r, const struct wp_report *report, struct wp_now now)
{
	size_t max = r->setup.options->rewinds_max;
	bool isolates = false;
	struct wp_error error;

	if (report->reaction != WP_REACT_REWIND)
		return false;
	if (!wp_isolation_refuses_always(&r->isolation, report->code,
					 wp_ledger_confirmed_lsn(&r->ledger), max, &isolates)) {
		if (isolates)
			isolate(r);
		return false;
	}
	(void)wp_error_set(&error, WP_IO,
			   "Kafka refused it %zu times in a row with %s, which is not caused by "
			   "the event: check the broker's log, then start again; nothing is lost",
			   max, report->code);
	if (wp_isolation_went_alone(&r->isolation, report->ticket)) {
		wp_relay_halt_for_event(r, "sink_refuses", &error, false, now);
		return true;
	}
	(void)wp_error_set(&error, WP_IO,
			   "Kafka refused events after the same position %zu times in a row with "
			   "%s; check the broker's log, then start again; nothing is lost",
			   max, report->code);
	wp_relay_halt(r, WP_EXIT_HUMAN, "sink_refuses", &error, now);
	return true;
}

/*
 * A parked event that went alone was refused for its own sake: it stays parked. Of the events that
 * were sent together none is known to be the guilty one: parked ones go alone from now on.
 */
static bool refused_again(struct wp_relay *r, const struct wp_report *report, struct wp_now now)
{
	struct wp_error reason;

	if (r->parking == NULL || !report->event_level)
		return false;
	if (!wp_parking_went_alone(r->parking, report->ticket)) {
		(void)!wp_parking_suspect(r->parking); /* without memory they are found out anew */
		return false;
	}
	say_refused(r, report, &reason);
	wp_parking_report(r->parking, report, reason.text);
	wp_backoff_reset(&r->retry.rewind); /* Kafka is well: it is the event, as was expected */
	wp_relay_rewind(r, now);
	return true;
}

/* An error for a forgotten ticket counts too: its producer is still the current one. */
static void refused(struct wp_relay *r, const struct wp_report *report, struct wp_now now)
{
	if (wp_fault(WP_FAULT_GO_ON_AFTER_ERROR))
		return;
	wp_ledger_lose(&r->ledger);
	if (refused_again(r, report, now))
		return;
	bool too_late = wp_fault(WP_FAULT_HASTY_REWIND) && r->machine.state == WP_REWINDING;
	if (report->event_level && wp_isolation_went_alone(&r->isolation, report->ticket) &&
	    !too_late) {
		if (r->setup.options->poison != WP_POISON_STOP) {
			divert(r, report, now);
			return;
		}
		struct wp_error reason;
		say_refused(r, report, &reason);
		wp_relay_halt_for_event(r, "event_undeliverable", &reason, true, now);
		return;
	}
	if (report->reaction == WP_REACT_ISOLATE && !r->isolation.one_in_flight)
		isolate(r); /* also when what it broke was noticed first */
	if (r->machine.state == WP_REWINDING || r->machine.state >= WP_FINISHING ||
	    r->stop.sink_lost)
		return;
	note_event_refused(r, report);
	if (report->reaction != WP_REACT_ISOLATE) /* otherwise it is found out, and goes its way */
		wp_delivery_rewound(&r->delivery);
	if (!refuses_always(r, report, now))
		wp_relay_rewind(r, now);
}

static void settle_report(struct wp_relay *r, const struct wp_report *report, struct wp_now now)
{
	if (wp_relay_parked_report(r, report) && report->outcome != WP_REFUSED) {
		if (report->outcome == WP_CONFIRMED) {
			wp_delivery_confirmed(&r->delivery, now.ms);
			wp_backoff_reset(&r->retry.rewind);
		}
		return;
	}
	switch (report->outcome) {
	case WP_CONFIRMED:
		if (wp_ledger_settle(&r->ledger, report->ticket) == WP_SETTLED) {
			wp_delivery_confirmed(&r->delivery, now.ms);
			wp_meter_confirmed(&r->meter, report->ticket, now.wall_us);
			wp_feedback_confirmed(&r->feedback);
			wp_backoff_reset(&r->retry.rewind);
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
		else if (!wp_fault(WP_FAULT_RESUME_AFTER_PURGE))
			/*
			 * The stream that it came by has ended, and the next one begins at what is
			 * confirmed. If the report is late and that one streams already, the ticket
			 * is forgotten: this costs repetitions at the next reconnect, and no event.
			 */
			wp_ledger_lose(&r->ledger);
		break;
	}
}

/* Returns true when there may be more. */
bool wp_relay_collect(struct wp_relay *r, struct wp_now now)
{
	struct wp_report reports[REPORTS_PER_CALL];
	size_t total = 0;
	size_t count = 0;

	do {
		count = r->setup.sink->ops->collect(r->setup.sink, now.ms, reports,
						    REPORTS_PER_CALL);
		for (size_t i = 0; i < count; i++)
			settle_report(r, &reports[i], now);
		total += count;
	} while (count == REPORTS_PER_CALL && total < REPORTS_PER_STEP);
	return count == REPORTS_PER_CALL;
}

/* Bounds never narrow again, for what is in flight would not fit. Without memory they stay. */
void wp_relay_widen(struct wp_relay *r)
{
	size_t partitions = wp_relay_sink(r)->partitions;

	if (partitions <= r->sink.partitions)
		return;
	r->sink.partitions = partitions;
	struct wp_in_flight_limits w = wp_in_flight_limits_for(r->setup.options, partitions);
	if (w.events == r->ledger.events_max && w.bytes == r->ledger.bytes_max)
		return;
	enum wp_rc rc =
		wp_meter_widen(&r->meter, w.events, r->ledger.first_ticket, r->ledger.next_ticket);
	if (rc == WP_OK)
		rc = wp_ledger_widen(&r->ledger, w.events, w.bytes);
	(void)rc;
}

/* -- a topic, or a right, that is waited for -------------------------------- */

/* The Kafka user lacks a right on the cluster. */
static void halt_for_permission(struct wp_relay *r, const struct wp_sink_view *v, struct wp_now now)
{
	struct wp_error error;

	(void)wp_error_set(
		&error, WP_CONFIG,
		"%.1500s. The wait exceeded relay.topic.wait: fix the cause, then start again",
		v->error.text);
	wp_relay_halt(r, WP_EXIT_HUMAN, "permission_missing", &error, now);
}

static void halt_for_topic(struct wp_relay *r, const struct wp_sink_view *v, struct wp_now now)
{
	const struct wp_event_name *e = wp_pipeline_last_event(r->pipeline);
	char position[WP_POSITION_TEXT_SIZE];
	char beyond[WP_LSN_TEXT_SIZE];
	struct wp_event_name waiting;
	struct wp_error error = v->error;

	if (v->waiting != NULL) {
		wp_event_name_of(v->waiting, &waiting);
		e = &waiting;
	}
	if (strcmp(e->topic, v->topic) == 0)
		(void)wp_error_set(
			&error, WP_CONFIG,
			"%.1000s. The wait exceeded relay.topic.wait: fix the cause, then start "
			"again. It affects the event of %s%.150s with id %s (position %s); to "
			"discard the undelivered rest of its transaction: walpost slot skip --to "
			"%s lists it, and with --force moves the slot",
			v->error.text, wp_relay_event_kind(e), e->table,
			e->id[0] != '\0' ? e->id : "NULL", wp_position_text(&e->position, position),
			wp_lsn_text(e->position.commit_lsn + 1, beyond));
	wp_relay_halt(r, WP_EXIT_HUMAN, "topic_missing", &error, now);
}

static void wait_for_topic(struct wp_relay *r, const struct wp_sink_view *v, struct wp_now now)
{
	/* The sink has taken the event: no other is to be read that would be held up, too. */
	if (v->state == WP_SINK_WAITING && r->machine.state == WP_STREAMING && v->queued > 0)
		wp_relay_handle(r, WP_NO_ROOM, now);
	unsigned answer = wp_topic_wait_step(&r->topic, r->machine.state, v,
					     wp_ledger_confirmed_lsn(&r->ledger),
					     r->setup.options->topic_wait_ms, now.ms);
	bool is_topic = r->topic.topic[0] != '\0';

	if (answer & WP_TOPIC_NOTE && is_topic)
		wp_relay_note(r, WP_NOTE_WARN, "topic_waiting")->error = v->error;
	else if (answer & WP_TOPIC_NOTE)
		wp_relay_note(r, WP_NOTE_WARN, "permission_waiting")->error = v->error;
	if (answer & WP_TOPIC_FOUND && is_topic)
		wp_relay_note(r, WP_NOTE_INFO, "topic_found");
	else if (answer & WP_TOPIC_FOUND)
		wp_relay_note(r, WP_NOTE_INFO, "permission_granted");
	if (answer & WP_TOPIC_GIVE_UP && is_topic)
		halt_for_topic(r, v, now);
	else if (answer & WP_TOPIC_GIVE_UP)
		halt_for_permission(r, v, now);
}

/* -- the id of a schema that is waited for ---------------------------------- */

/* Shows the subject as if it were a topic: what is said of a wait, and how long, is alike. */
static const struct wp_sink_view *schema_view(const struct wp_relay *r, struct wp_sink_view *ret)
{
	const struct wp_subject *s = wp_relay_awaited_subject(r);

	ret->state = s != NULL ? WP_SINK_WAITING : WP_SINK_READY;
	ret->reachable = s == NULL || s->is_refused;
	(void)snprintf(ret->topic, sizeof(ret->topic), "%s",
		       s != NULL ? s->name : ""); /* cut: for people */
	(void)wp_error_set(&ret->error, WP_OK, "%s",
			   s != NULL && s->trouble != NULL ? s->trouble : "");
	return ret;
}

static void halt_for_schema(struct wp_relay *r, const struct wp_sink_view *v, struct wp_now now)
{
	struct wp_error error;

	(void)wp_error_set(
		&error, WP_CONFIG,
		"%.1500s. The wait exceeded relay.topic.wait: fix the cause, then start again",
		v->error.text);
	wp_relay_halt(r, WP_EXIT_HUMAN, "schema_missing", &error, now);
}

static void wait_for_schema(struct wp_relay *r, struct wp_now now)
{
	struct wp_sink_view view;

	if (!r->pending.schema.on && wp_pipeline_awaited(r->pipeline) == NULL)
		return;
	const struct wp_sink_view *v = schema_view(r, &view);
	unsigned answer = wp_topic_wait_step(&r->pending.schema, r->machine.state, v,
					     wp_ledger_confirmed_lsn(&r->ledger),
					     r->setup.options->topic_wait_ms, now.ms);

	if (answer & WP_TOPIC_NOTE)
		wp_relay_note(r, WP_NOTE_WARN, "schema_waiting")->error = v->error;
	if (answer & WP_TOPIC_FOUND)
		wp_relay_note(r, WP_NOTE_INFO, "schema_found");
	if (answer & WP_TOPIC_GIVE_UP)
		halt_for_schema(r, v, now);
}

static int64_t schema_due(const struct wp_relay *r)
{
	struct wp_sink_view view;

	if (!r->pending.schema.on)
		return INT64_MAX;
	return wp_topic_wait_due(&r->pending.schema, r->machine.state, schema_view(r, &view),
				 r->setup.options->topic_wait_ms);
}

/* -- outages and stalls ------------------------------------------------------ */

static void say_what_waits(const struct wp_relay *r, struct wp_now now, struct wp_error *ret)
{
	char confirmed_lsn[WP_LSN_TEXT_SIZE];
	char read[WP_LSN_TEXT_SIZE];

	if (r->ledger.in_flight > 0)
		(void)wp_error_set(ret, WP_OK, "%zu events in flight", (size_t)r->ledger.in_flight);
	else if (r->pending.refused_ms != INT64_MAX)
		(void)wp_error_set(ret, WP_OK,
				   "an event has been waiting for %" PRId64 " s to be sent",
				   wp_relay_refused_for(r, now.ms) / 1000);
	else
		(void)wp_error_set(ret, WP_OK, "no event is waiting");
	/* Without a stream what we know of these is old, or another's by now. */
	if (wp_relay_is_streaming(r))
		(void)wp_error_set(ret, WP_OK, "%.200s; confirmed LSN %s, received LSN %s",
				   ret->text,
				   wp_lsn_text(wp_ledger_confirmed_lsn(&r->ledger), confirmed_lsn),
				   wp_lsn_text(wp_ledger_received_lsn(&r->ledger), read));
}

/* The outage is told of each minute, for Postgres keeps its log meanwhile. */
static void repeat_outage(struct wp_relay *r, const struct wp_sink_view *v, struct wp_now now)
{
	struct wp_error waits;

	say_what_waits(r, now, &waits);
	(void)wp_error_set(&wp_relay_note(r, WP_NOTE_WARN, "sink_unreachable")->error, WP_OK,
			   "%.1500s; unreachable for %" PRId64 " s; %s", v->error.text,
			   (now.ms - r->sink.outage.since_ms) / 1000, waits.text);
}

static void note_stall(struct wp_relay *r, struct wp_now now)
{
	char confirmed_lsn[WP_LSN_TEXT_SIZE];

	(void)wp_error_set(
		&wp_relay_note(r, WP_NOTE_WARN, "sink_stalled")->error, WP_OK,
		"Kafka answers, but has confirmed none of %zu events in flight for %" PRId64
		" s: a partition may have no leader, or fewer in-sync replicas than its topic's "
		"min.insync.replicas (kafka-topics.sh --describe --unavailable-partitions, "
		"--under-min-isr-partitions). Nothing is lost, but Postgres keeps its WAL from %s "
		"on meanwhile",
		(size_t)r->ledger.in_flight, (now.ms - r->sink.stall.since_ms) / 1000,
		wp_lsn_text(wp_ledger_confirmed_lsn(&r->ledger), confirmed_lsn));
}

static struct wp_sink_use sink_use(const struct wp_relay *r)
{
	return (struct wp_sink_use){
		.state = r->machine.state,
		.in_flight = r->ledger.in_flight,
		.confirmed = r->delivery.confirmed,
	};
}

static void step_sink_watch(struct wp_relay *r, const struct wp_sink_view *v, struct wp_now now)
{
	const struct wp_sink_use use = sink_use(r);
	unsigned answer = wp_sink_watch_step(&r->sink, v, &use, now.ms);

	if (answer & WP_SINK_REACHABLE)
		wp_relay_note(r, WP_NOTE_INFO, "sink_reachable");
	if (answer & WP_SINK_UNREACHABLE)
		wp_relay_note(r, WP_NOTE_WARN, "sink_unreachable")->error = v->error;
	if (answer & WP_SINK_STILL_UNREACHABLE)
		repeat_outage(r, v, now);
	if (answer & WP_SINK_CONFIRMS)
		wp_relay_note(r, WP_NOTE_INFO, "sink_confirms");
	if (answer & WP_SINK_STALLED)
		note_stall(r, now);
}

/* -- a sink that broke or failed ----------------------------------------------- */

/* The sink confirms nothing more: a stop comes at once, with what is confirmed, and no draining. */
static void leave_failed(struct wp_relay *r, const struct wp_sink_view *v, struct wp_now now)
{
	if (r->machine.state == WP_FINISHING || r->stop.sink_lost)
		return;
	if (!r->stop.asked)
		wp_relay_halt(r, wp_relay_exit_code_of(v->reaction), "sink_failed", &v->error, now);
	else if (r->stop.exit_code == 0)
		wp_relay_note(r, WP_NOTE_WARN, "sink_failed")->error = v->error;
	wp_relay_handle(r, WP_STOP, now);
	wp_relay_handle(r, WP_SINK_ERROR, now);
}

/*
 * The sink tells that it is broken a moment before it tells by which event. Purged, that one would
 * not be named.
 */
static void leave_broken(struct wp_relay *r, const struct wp_sink_view *v, struct wp_now now)
{
	if (r->machine.state == WP_REWINDING || r->machine.state == WP_REBUILDING ||
	    r->machine.state == WP_FINISHING || r->stop.sink_lost)
		return;
	int64_t broken_ms = wp_sink_watch_broken_for(&r->sink, now.ms);
	bool one_alone = v->in_flight > 0 && r->isolation.one_in_flight && r->isolation.alone != 0;
	bool will_tell = one_alone && !wp_fault(WP_FAULT_HASTY_REWIND);
	if (will_tell && broken_ms < WP_SINK_BROKEN_MS)
		return;
	if (r->stop.exit_code == 0)
		wp_relay_note(r, WP_NOTE_WARN, "sink_broken")->error = v->error;
	wp_relay_rewind(r, now);
}

void wp_relay_watch_sink(struct wp_relay *r, struct wp_now now)
{
	const struct wp_sink_view *v = wp_relay_sink(r);

	if (r->machine.state == WP_HELD)
		return;
	step_sink_watch(r, v, now);
	wait_for_topic(r, v, now);
	wait_for_schema(r, now);
	if (v->state == WP_SINK_FAILED)
		leave_failed(r, v, now);
	if (v->state == WP_SINK_BROKEN)
		leave_broken(r, v, now);
	else
		r->sink.broken_ms = INT64_MAX;
	if (r->machine.state == WP_REBUILDING &&
	    (v->state == WP_SINK_READY || v->state == WP_SINK_WAITING))
		wp_relay_handle(r, WP_SINK_NEW, now);
}

static int64_t broken_due(const struct wp_relay *r)
{
	if (r->machine.state == WP_REWINDING)
		return r->machine.entered_ms + WP_SINK_BROKEN_MS;
	if (r->machine.state >= WP_FINISHING || r->machine.state == WP_REBUILDING ||
	    r->stop.sink_lost || r->sink.broken_ms == INT64_MAX)
		return INT64_MAX;
	return r->sink.broken_ms + WP_SINK_BROKEN_MS;
}

int64_t wp_relay_sink_due(const struct wp_relay *r)
{
	const struct wp_sink_view *v = wp_relay_sink(r);
	const struct wp_sink_use use = sink_use(r);
	int64_t due = wp_sooner(
		wp_sink_watch_due(&r->sink, v, &use),
		wp_topic_wait_due(&r->topic, r->machine.state, v, r->setup.options->topic_wait_ms));

	due = wp_sooner(due, schema_due(r));
	return v->state == WP_SINK_BROKEN ? wp_sooner(due, broken_due(r)) : due;
}

/* Once the place of trouble is passed and nothing is in flight, events go in batches again. */
void wp_relay_end_isolation(struct wp_relay *r, struct wp_now now)
{
	/* A stop needs the stream for the last status. */
	if (!wp_relay_reads(r) || r->stop.asked || r->ledger.in_flight > 0 ||
	    !wp_relay_is_past_trouble(r))
		return;
	wp_isolation_end(&r->isolation);
	wp_relay_note(r, WP_NOTE_INFO, "isolation_over");
	wp_relay_handle(r, WP_SINK_ERROR, now);
}
