#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "relay_internal.h"
#include "walpost/relay/diversions.h"
#include "walpost/relay/faults.h"

enum {
	REPORTS_PER_CALL = 512,
	REPORTS_PER_STEP = 8192,
};

void wp_relay_rewind(struct wp_relay *r, struct wp_now now)
{
	r->gap = true;
	if (r->state == WP_REWINDING || r->state == WP_REBUILDING)
		return;
	r->rewinds++;
	wp_relay_happen(r, WP_SINK_ERROR, now);
}

/* Its name is that of the event sent last. */
static bool went_alone(const struct wp_relay *r, wp_ticket ticket)
{
	bool is_it = ticket == r->isolation.alone;

	if (wp_fault(WP_FAULT_GUESS_GUILTY))
		is_it = r->batching_now == WP_BATCHING_ONE_BY_ONE;
	return r->isolation.crawling && is_it;
}

static bool is_one_alone_in_flight(const struct wp_relay *r)
{
	return wp_relay_sink(r)->in_flight > 0 && r->isolation.crawling && r->isolation.alone != 0;
}

static void say_refused(const struct wp_report *report, struct wp_error *ret)
{
	char limit[64] = "";

	if (report->limit > 0)
		snprintf(limit, sizeof(limit), "; the topic's limit: %zu bytes", report->limit);
	(void)wp_error_set(ret, WP_DATA,
			   "Kafka refuses it with %s also when it is sent alone%s%s%s",
			   report->code, limit, report->cure != NULL ? "; " : "",
			   report->cure != NULL ? report->cure : "");
}

static void halt_for_poison(struct wp_relay *r, const struct wp_report *report, struct wp_now now)
{
	struct wp_error reason;

	say_refused(report, &reason);
	wp_relay_halt_for_event(r, "event_undeliverable", &reason, true, now);
}

/* It is read again, and goes to the dead-letter topic then. */
static void divert(struct wp_relay *r, const struct wp_report *report, struct wp_now now)
{
	char reason[WP_DIVERSION_REASON_SIZE];
	char limit[64] = "";

	if (report->limit > 0)
		snprintf(limit, sizeof(limit), "; the topic's limit: %zu bytes", report->limit);
	snprintf(reason, sizeof(reason), "refused by Kafka with %s when it was sent alone%s",
		 report->code, limit);
	struct wp_error error;
	enum wp_rc rc = wp_pipeline_divert(r->pipeline, reason);
	if (rc == WP_OK) {
		wp_relay_rewind(r, now);
		return;
	}
	say_refused(report, &error);
	(void)wp_error_set(&error, WP_DATA, "%s; %s", error.text,
			   rc == WP_DATA   ? "so is its dead letter, as short as it may be"
			   : rc == WP_FULL ? "and it is the 1025th such event of transactions that "
					     "are not confirmed yet"
					   : "and there is no memory to remember it");
	wp_relay_halt_for_event(r, "event_undeliverable", &error, true, now);
}

static void note_refusal(struct wp_relay *r, const struct wp_report *report)
{
	(void)wp_error_set(&wp_relay_note(r, WP_NOTE_WARN, "event_refused")->error, WP_OK,
			   "an event was refused with %s; streaming again from the last confirmed "
			   "position",
			   report->code);
}

/* Up to the end of the transaction that the last event sent belongs to. */
static void isolate(struct wp_relay *r)
{
	const struct wp_event_name *e = wp_pipeline_last_event(r->pipeline);

	r->isolation.on = true;
	r->isolation.crawling = true;
	r->isolation.alone = 0; /* what is in flight now is not */
	r->isolation.until_event = e->position;
	r->isolation.until =
		wp_lsn_max(wp_ledger_received_lsn(&r->ledger), e->position.commit_lsn + 1);
	r->batching = WP_BATCHING_ONE_BY_ONE;
}

/*
 * Refused again and again at the same place, for a reason that is not the event's: a human
 * must look. The last try but one goes on one by one, so that the last one names the event.
 */
static bool refuses_always(struct wp_relay *r, const struct wp_report *report, struct wp_now now)
{
	size_t max = r->setup.options->rewinds_max;
	struct wp_error error;

	if (report->reaction != WP_REACT_REWIND)
		return false;
	if (!wp_relay_is_too_often(&r->rewind_trouble, report->code,
				   wp_ledger_confirmed_lsn(&r->ledger), max)) {
		if (r->rewind_trouble.count + 1 >= max && !r->isolation.crawling)
			isolate(r);
		return false;
	}
	(void)wp_error_set(&error, WP_IO,
			   "Kafka refused it %zu times in a row with %s, which is no matter of the "
			   "event: look at the broker's log, then start again: nothing is lost",
			   max, report->code);
	if (went_alone(r, report->ticket)) {
		wp_relay_halt_for_event(r, "sink_refuses", &error, false, now);
		return true;
	}
	(void)wp_error_set(
		&error, WP_IO,
		"Kafka refused events after the same position %zu times in a row with %s; look at "
		"the broker's log, then start again: nothing is lost",
		max, report->code);
	wp_relay_halt(r, WP_EXIT_HUMAN, "sink_refuses", &error, now);
	return true;
}

/* An error for a forgotten ticket counts too: its producer is still the current one. */
static void refused(struct wp_relay *r, const struct wp_report *report, struct wp_now now)
{
	if (wp_fault(WP_FAULT_GO_ON_AFTER_ERROR))
		return;
	r->gap = true;
	bool too_late = wp_fault(WP_FAULT_HASTY_REWIND) && r->state == WP_REWINDING;
	if (report->event_level && went_alone(r, report->ticket) && !too_late) {
		if (r->setup.options->poison == WP_POISON_DEAD_LETTER)
			divert(r, report, now);
		else
			halt_for_poison(r, report, now);
		return;
	}
	if (report->reaction == WP_REACT_ISOLATE && !r->isolation.crawling)
		isolate(r); /* also when what it broke was noticed first */
	if (r->state == WP_REWINDING)
		return;
	note_refusal(r, report);
	if (!refuses_always(r, report, now))
		wp_relay_rewind(r, now);
}

static void take_report(struct wp_relay *r, const struct wp_report *report, struct wp_now now)
{
	switch (report->outcome) {
	case WP_CONFIRMED:
		if (wp_ledger_settle(&r->ledger, report->ticket) == WP_SETTLED) {
			r->confirmed++;
			r->confirmed_ms = now.ms;
			wp_meter_confirmed(&r->meter, report->ticket, now.wall_us);
			wp_feedback_confirmed(&r->feedback);
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
bool wp_relay_collect(struct wp_relay *r, struct wp_now now)
{
	struct wp_report reports[REPORTS_PER_CALL];
	size_t total = 0;
	size_t count = 0;

	do {
		count = r->setup.sink->ops->collect(r->setup.sink, now.ms, reports,
						    REPORTS_PER_CALL);
		for (size_t i = 0; i < count; i++)
			take_report(r, &reports[i], now);
		total += count;
	} while (count == REPORTS_PER_CALL && total < REPORTS_PER_STEP);
	return count == REPORTS_PER_CALL;
}

/* Never narrower again: what is in flight would not fit. Without memory for more: as it is. */
void wp_relay_widen(struct wp_relay *r)
{
	size_t partitions = wp_relay_sink(r)->partitions;

	if (partitions <= r->partitions)
		return;
	r->partitions = partitions;
	struct wp_window w = wp_window_for(r->setup.options, partitions);
	if (w.events == r->ledger.events_max && w.bytes == r->ledger.bytes_max)
		return;
	enum wp_rc rc =
		wp_meter_widen(&r->meter, w.events, r->ledger.first_ticket, r->ledger.next_ticket);
	if (rc == WP_OK)
		rc = wp_ledger_widen(&r->ledger, w.events, w.bytes);
	(void)rc;
}

/* Of the Kafka user, on the cluster. */
static void halt_for_permission(struct wp_relay *r, const struct wp_sink_view *v, struct wp_now now)
{
	struct wp_error error;

	(void)wp_error_set(&error, WP_CONFIG,
			   "%.1500s. That was waited for, as long as relay.topic.wait says: then "
			   "start again",
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
			"%.1000s. That was waited for, as long as relay.topic.wait says: then "
			"start "
			"again. It is for the event of %s%.150s with id %s (position %s); to "
			"give up what its transaction has not delivered: walpost slot skip --to %s "
			"lists it, and with --force moves the slot",
			v->error.text, wp_relay_event_kind(e), e->table,
			e->id[0] != '\0' ? e->id : "NULL", wp_position_text(&e->position, position),
			wp_lsn_text(e->position.commit_lsn + 1, beyond));
	wp_relay_halt(r, WP_EXIT_HUMAN, "topic_missing", &error, now);
}

static void note_waiting(struct wp_relay *r, const struct wp_sink_view *v, struct wp_now now)
{
	r->waiting_note_ms = now.ms;
	if (v->topic[0] != '\0')
		wp_relay_note(r, WP_NOTE_WARN, "topic_waiting")->error = v->error;
	else
		wp_relay_note(r, WP_NOTE_WARN, "permission_waiting")->error = v->error;
}

static void note_found(struct wp_relay *r)
{
	r->waiting = false;
	if (r->waiting_topic[0] != '\0')
		wp_relay_note(r, WP_NOTE_INFO, "topic_found");
	else
		wp_relay_note(r, WP_NOTE_INFO, "permission_granted");
}

static void wait_for_topic(struct wp_relay *r, const struct wp_sink_view *v, struct wp_now now)
{
	/* It has taken the event: no other is to be read that would be held up, too. */
	if (r->state == WP_STREAMING && v->queued > 0)
		wp_relay_happen(r, WP_NO_ROOM, now);
	if (r->state != WP_PAUSED)
		return;
	if (!r->waiting || strcmp(r->waiting_topic, v->topic) != 0) {
		r->waiting = true;
		r->waiting_since_ms = now.ms;
		snprintf(r->waiting_topic, sizeof(r->waiting_topic), "%s", v->topic);
		note_waiting(r, v, now);
	}
	if (!v->reachable) /* nobody can tell whether it is there by now */
		r->waiting_since_ms = now.ms;
	r->waiting_lsn = wp_ledger_confirmed_lsn(&r->ledger);
	if (now.ms - r->waiting_since_ms < r->setup.options->topic_wait_ms) {
		if (now.ms - r->waiting_note_ms >= TOPIC_NOTE_EVERY_MS)
			note_waiting(r, v, now);
	} else if (v->topic[0] != '\0') {
		halt_for_topic(r, v, now);
	} else {
		halt_for_permission(r, v, now);
	}
}

int64_t wp_relay_refused_for(const struct wp_relay *r, int64_t now_ms)
{
	return r->refused_ms == INT64_MAX ? 0 : now_ms - r->refused_ms;
}

static void say_what_waits(const struct wp_relay *r, struct wp_now now, struct wp_error *ret)
{
	char confirmed_lsn[WP_LSN_TEXT_SIZE];
	char read[WP_LSN_TEXT_SIZE];

	if (r->ledger.in_flight > 0)
		(void)wp_error_set(ret, WP_OK, "%zu events in flight", (size_t)r->ledger.in_flight);
	else if (r->refused_ms != INT64_MAX)
		(void)wp_error_set(ret, WP_OK, "an event has waited for %" PRId64 " s to be sent",
				   wp_relay_refused_for(r, now.ms) / 1000);
	else
		(void)wp_error_set(ret, WP_OK, "no event waits");
	/* Without a stream what we know of these is old, or another's by now. */
	if (wp_relay_is_streaming(r))
		(void)wp_error_set(ret, WP_OK, "%.200s; confirmed LSN %s, received LSN %s",
				   ret->text,
				   wp_lsn_text(wp_ledger_confirmed_lsn(&r->ledger), confirmed_lsn),
				   wp_lsn_text(wp_ledger_received_lsn(&r->ledger), read));
}

/* Each minute, for Postgres keeps its log meanwhile. A topic that is waited for has a line of its own. */
static void repeat_outage(struct wp_relay *r, const struct wp_sink_view *v, struct wp_now now)
{
	struct outage *o = &r->outage;
	struct wp_error waits;

	if (now.ms - o->noted_ms < OUTAGE_NOTE_EVERY_MS)
		return;
	o->noted_ms = now.ms;
	if (v->state == WP_SINK_WAITING)
		return;
	say_what_waits(r, now, &waits);
	(void)wp_error_set(&wp_relay_note(r, WP_NOTE_WARN, "sink_unreachable")->error, WP_OK,
			   "%.1500s; unreachable for %" PRId64 " s; %s", v->error.text,
			   (now.ms - o->since_ms) / 1000, waits.text);
}

static void note_reach(struct wp_relay *r, const struct wp_sink_view *v, struct wp_now now)
{
	r->reached |= v->reachable;
	if (v->reachable && r->outage.on) {
		wp_relay_note(r, WP_NOTE_INFO, "sink_reachable");
	} else if (!v->reachable && r->outage.on) {
		repeat_outage(r, v, now);
	} else if (!v->reachable && v->error.text[0] != '\0') {
		r->outage = (struct outage){ true, now.ms, now.ms };
		wp_relay_note(r, WP_NOTE_WARN, "sink_unreachable")->error = v->error;
	}
	r->outage.on = r->outage.on && !v->reachable;
}

static bool is_stalled(const struct wp_relay *r, const struct wp_sink_view *v)
{
	bool works = v->state == WP_SINK_READY || v->state == WP_SINK_STARTING;

	return (r->state == WP_STREAMING || r->state == WP_PAUSED) && r->ledger.in_flight > 0 &&
	       r->confirmed == r->stall.confirmed && v->reachable && works;
}

/*
 * A partition that takes no writes is tried for ever and without a word, while its broker answers
 * all questions; the log is kept meanwhile.
 */
static void note_stall(struct wp_relay *r, const struct wp_sink_view *v, struct wp_now now)
{
	struct stall *s = &r->stall;
	char confirmed_lsn[WP_LSN_TEXT_SIZE];

	if (!is_stalled(r, v)) {
		if (s->noted && r->confirmed > s->confirmed)
			wp_relay_note(r, WP_NOTE_INFO, "sink_confirms");
		s->noted = s->noted && r->confirmed == s->confirmed;
		s->confirmed = r->confirmed;
		s->since_ms = s->noted_ms = now.ms;
		return;
	}
	if (now.ms - s->noted_ms < STALL_NOTE_EVERY_MS)
		return;
	s->noted_ms = now.ms;
	s->noted = true;
	(void)wp_error_set(
		&wp_relay_note(r, WP_NOTE_WARN, "sink_stalled")->error, WP_OK,
		"Kafka answers, but has confirmed none of %zu events in flight for %" PRId64
		" s: a partition may have no leader, or fewer in-sync replicas than its topic's "
		"min.insync.replicas (kafka-topics.sh --describe --unavailable-partitions, "
		"--under-min-isr-partitions). Nothing is lost, but Postgres keeps its log from %s "
		"on until it does",
		(size_t)r->ledger.in_flight, (now.ms - s->since_ms) / 1000,
		wp_lsn_text(wp_ledger_confirmed_lsn(&r->ledger), confirmed_lsn));
}

int64_t wp_relay_sink_due(const struct wp_relay *r)
{
	if (r->state == WP_HELD)
		return INT64_MAX;
	if (r->outage.on)
		return r->outage.noted_ms + OUTAGE_NOTE_EVERY_MS;
	return is_stalled(r, wp_relay_sink(r)) ? r->stall.noted_ms + STALL_NOTE_EVERY_MS
					       : INT64_MAX;
}

/* It will confirm nothing more: no draining. Who asked for a stop gets it, with what is confirmed. */
static void leave_failed(struct wp_relay *r, const struct wp_sink_view *v, struct wp_now now)
{
	if (r->state == WP_FINISHING)
		return;
	if (!r->stop_asked)
		wp_relay_halt(r, wp_relay_exit_code_of(v->reaction), "sink_failed", &v->error, now);
	else if (r->exit_code == 0)
		wp_relay_note(r, WP_NOTE_WARN, "sink_failed")->error = v->error;
	wp_relay_happen(r, WP_STOP, now);
	wp_relay_happen(r, WP_SINK_ERROR, now);
}

/*
 * It tells that it is broken a moment before it tells by which event. Purged, that one
 * would not be named.
 */
static void leave_broken(struct wp_relay *r, const struct wp_sink_view *v, struct wp_now now)
{
	if (r->state == WP_REWINDING || r->state == WP_REBUILDING || r->state == WP_FINISHING)
		return;
	if (r->broken_ms == INT64_MAX)
		r->broken_ms = now.ms;
	bool will_tell = is_one_alone_in_flight(r) && !wp_fault(WP_FAULT_HASTY_REWIND);
	if (will_tell && now.ms - r->broken_ms < REST_BROKEN_MS)
		return;
	if (r->exit_code == 0)
		wp_relay_note(r, WP_NOTE_WARN, "sink_broken")->error = v->error;
	wp_relay_rewind(r, now);
}

void wp_relay_watch_sink(struct wp_relay *r, struct wp_now now)
{
	const struct wp_sink_view *v = wp_relay_sink(r);

	if (r->state == WP_HELD)
		return;
	note_reach(r, v, now);
	note_stall(r, v, now);
	/* A sink remembers the topic also when the event is another relay's by now. */
	if (r->state == WP_STANDBY)
		r->waiting = false;
	else if (v->state == WP_SINK_WAITING)
		wait_for_topic(r, v, now);
	else if (r->waiting && wp_ledger_confirmed_lsn(&r->ledger) > r->waiting_lsn)
		note_found(r);
	if (v->state == WP_SINK_FAILED)
		leave_failed(r, v, now);
	if (v->state == WP_SINK_BROKEN)
		leave_broken(r, v, now);
	else
		r->broken_ms = INT64_MAX;
	if (r->state == WP_REBUILDING && (v->state == WP_SINK_READY || v->state == WP_SINK_WAITING))
		wp_relay_happen(r, WP_SINK_NEW, now);
}

bool wp_relay_is_past_trouble(const struct wp_relay *r)
{
	return r->isolation.on && !wp_pipeline_in_transaction(r->pipeline) &&
	       wp_ledger_confirmed_lsn(&r->ledger) >= r->isolation.until;
}

/* Past the place of trouble and nothing in flight: batches again. */
void wp_relay_end_isolation(struct wp_relay *r, struct wp_now now)
{
	bool reads = r->state == WP_STREAMING || r->state == WP_PAUSED;

	/* A stop needs the stream for the last status. */
	if (!reads || r->stop_asked || r->ledger.in_flight > 0 || !wp_relay_is_past_trouble(r))
		return;
	r->isolation = (struct isolation){ 0 };
	r->batching = WP_BATCHING_NORMAL;
	wp_relay_note(r, WP_NOTE_INFO, "isolation_over");
	wp_relay_happen(r, WP_SINK_ERROR, now);
}
