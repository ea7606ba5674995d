/*
 * Handles what is seen beside the stream: judges the slot, writes the slot checkpoint row, and
 * tells whether deliveries are stalled.
 */
#include <inttypes.h>
#include <stdio.h>

#include "relay_internal.h"
#include "walpost/outbox/subjects.h"

/* -- what is wrong ----------------------------------------------------------------- */

enum { HURRY_MS = 3 * 1000 };

static void halt_for_loss(struct wp_relay *r, const struct wp_slot_state *slot, struct wp_now now)
{
	char from[WP_LSN_TEXT_SIZE];
	char to[WP_LSN_TEXT_SIZE];
	struct wp_error error;

	r->stop.slot_lost = slot->keeping == WP_KEEPING_LOST;
	/* The finding tells what the slot kept: from what was confirmed on. */
	if (r->stop.slot_lost)
		(void)wp_error_set(&error, WP_CONFIG, "%s", slot->loss.text);
	else
		(void)wp_error_set(
			&error, WP_CONFIG,
			"%s. The last successful check was at %s; events committed between there "
			"and %s may be missing in Kafka; nothing more has been confirmed since",
			slot->loss.text, wp_lsn_text(r->slot_watch.good, from),
			wp_lsn_text(slot->server_lsn, to));
	wp_relay_halt(r, WP_EXIT_HUMAN, "events_would_be_lost", &error, now);
	/* Nothing of it will be confirmed: what is on its way may arrive, but not for long. */
	if (r->machine.state == WP_DRAINING && wp_stop_hurry(&r->stop, now.ms + HURRY_MS))
		r->machine.deadline_ms = now.ms + HURRY_MS - HURRY_MS / 4;
}

static void remind_of_loss(struct wp_relay *r, const struct wp_slot_state *slot)
{
	char since[WP_LSN_TEXT_SIZE];

	(void)wp_error_set(
		&wp_relay_note(r, WP_NOTE_WARN, "events_may_be_lost")->error, WP_CONFIG,
		"%s. The server does not answer whether this still applies: until then nothing "
		"beyond %s is confirmed to it, and it keeps the WAL from there on",
		slot->loss.text, wp_lsn_text(r->feedback.sent_flush, since));
}

static void note_unreserved(struct wp_relay *r)
{
	struct wp_note *n = wp_relay_note(r, WP_NOTE_ERROR, "slot_unreserved");
	(void)wp_error_set(&n->error, WP_OK,
			   "slot %s will be lost at one of the next checkpoints: it holds more WAL "
			   "than max_slot_wal_keep_size. Raise that now, if the disk has room: "
			   "ALTER SYSTEM SET max_slot_wal_keep_size = ...; SELECT pg_reload_conf()",
			   r->setup.slot);
}

static void note_extended(struct wp_relay *r)
{
	struct wp_note *n = wp_relay_note(r, WP_NOTE_WARN, "slot_extended");
	(void)wp_error_set(&n->error, WP_OK,
			   "slot %s holds more WAL than max_wal_size, and the server's disk is "
			   "filling up. Find out why walpost is behind: Kafka slow or unreachable, "
			   "or a long open transaction",
			   r->setup.slot);
}

static void note_guard(struct wp_relay *r)
{
	const struct wp_wal_guard_estimate e = r->slot_watch.estimate;

	struct wp_note *n = wp_relay_note(
		r, e.level == WP_WAL_GUARD_URGENT ? WP_NOTE_ERROR : WP_NOTE_WARN, "wal_guard");
	(void)wp_error_set(
		&n->error, WP_OK,
		"slot %s can be lost in about %" PRId64 " s: %" PRId64
		" bytes of WAL remain, decreasing by %" PRId64
		" a second. Then events would be missing in Kafka. Find out why walpost is behind "
		"(Kafka slow or unreachable, a long open transaction), or raise the limit: ALTER "
		"SYSTEM SET max_slot_wal_keep_size = ...; SELECT pg_reload_conf()",
		r->setup.slot, e.seconds, e.left, e.rate);
}

static void judge(struct wp_relay *r, const struct wp_slot_state *slot, struct wp_now now)
{
	unsigned answer = wp_slot_watch_judge(&r->slot_watch, slot, now.ms);

	wp_slot_watch_received(&r->slot_watch, slot, wp_ledger_received_lsn(&r->ledger));
	r->server = wp_lsn_max(r->server, slot->server_lsn); /* a paused stream brings no news */
	if (answer & WP_SLOT_UNRESERVED)
		note_unreserved(r);
	if (answer & WP_SLOT_EXTENDED)
		note_extended(r);
	if (answer & WP_SLOT_RESERVED)
		wp_relay_note(r, WP_NOTE_INFO, "slot_reserved");
	if (answer & WP_SLOT_WAL_GUARD)
		note_guard(r);
	if (answer & WP_SLOT_LOSS_SUSPECTED)
		wp_relay_note(r, WP_NOTE_WARN, "events_may_be_lost")->error = slot->loss;
	if (answer & WP_SLOT_LOSS_CERTAIN)
		halt_for_loss(r, slot, now);
}

/* -- what is written down ------------------------------------------------------------- */

/* Before the first status, it is written where the slot stood. */
static void write_down(struct wp_relay *r)
{
	wp_lsn slot = wp_relay_source(r)->facts.slot_confirmed;
	wp_lsn confirmed = r->feedback.sent_flush != 0 ? r->feedback.sent_flush : slot;

	r->setup.source->ops->write_down(r->setup.source, confirmed, wp_relay_topics(r));
}

/* Between the facts and the start of the stream nobody looked at the slot; nothing was confirmed since. */
static void judge_claim(struct wp_relay *r, struct wp_now now)
{
	const struct wp_source_view *v = wp_relay_source(r);
	struct wp_slot_progress progress = wp_relay_slot_progress(r);
	struct wp_error error;

	r->identity.claimed = v->claimed;
	if (wp_slot_identity_tells_start(&progress, v, &error))
		wp_relay_note(r, WP_NOTE_WARN, "slot_beyond_checkpoint")->error = error;
	if (!wp_slot_identity_moved_at_start(&progress, v, &error))
		return;
	r->slot_watch.suspect = true; /* nothing is confirmed, not even in the last status */
	if (r->stop.exit_code == 0)
		wp_relay_halt(r, WP_EXIT_HUMAN, "slot_moved", &error, now);
	else /* the first reason to stop counts, and this one is told */
		wp_relay_note(r, WP_NOTE_ERROR, "slot_moved")->error = error;
}

/* This goes on while the relay stops: the slot is not to be moved before the row names us. */
static void claim(struct wp_relay *r, struct wp_now now)
{
	const struct wp_source_view *v = wp_relay_source(r);

	if (v->claimed != r->identity.claimed)
		judge_claim(r, now);
	if (wp_slot_checkpoint_schedule_claims(&r->slot_checkpoint, v->unclaimed, now.ms))
		write_down(r);
}

/* -- is anything confirmed? ----------------------------------------------------------- */

/* Nothing is read before it is known what is parked. */
static bool waits_to_read(const struct wp_relay *r)
{
	return wp_relay_parking_trouble(r) != NULL && !wp_parking_is_ready(r->parking);
}

/* What waits was read and is not confirmed; what was not sent to us at all does not wait. */
static bool something_waits_here(const struct wp_relay *r)
{
	return r->ledger.in_flight > 0 || r->pending.refused_ms != INT64_MAX || waits_to_read(r);
}

/* Returns NULL when nothing waits. */
static const char *cause_of_wait(const struct wp_relay *r)
{
	const struct wp_sink_view *v = wp_relay_sink(r);

	if (!something_waits_here(r))
		return r->slot_watch.withheld ? "the server sends no event before the standbys of "
						"synchronized_standby_slots have it"
					      : NULL;
	if (waits_to_read(r))
		return "parked events cannot be read";
	if (wp_relay_parking_trouble(r) != NULL)
		return "events cannot be parked";
	if (v->state == WP_SINK_WAITING && v->topic[0] != '\0')
		return "a topic is missing, or this client may not write to it";
	if (wp_relay_awaited_subject(r) != NULL)
		return "the id of a schema is not known";
	if (!v->reachable)
		return "Kafka is not reachable";
	if (v->throttled)
		return "Kafka throttles this client (a quota)";
	if (wp_delivery_repeats(&r->delivery))
		return "Kafka refuses an event again and again, and those around it are sent again "
		       "each time";
	return r->ledger.in_flight > 0 ? "Kafka answers, but confirms nothing"
				       : "the next event cannot be sent yet";
}

static void tell_delivery(struct wp_relay *r, struct wp_now now)
{
	const struct wp_sink_view *v = wp_relay_sink(r);
	bool says_error = v->error.text[0] != '\0' && (v->state == WP_SINK_WAITING ||
						       !v->reachable); /* else it is an old one */
	const char *says = wp_relay_parking_trouble(r);
	char what[WP_SLOT_CHECKPOINT_TROUBLE_SIZE] = "";

	if (says == NULL && !something_waits_here(r))
		says = wp_relay_source(r)->slot_state.withheld;
	else if (says == NULL && says_error)
		says = v->error.text;
	else if (says == NULL && wp_relay_awaited_subject(r) != NULL)
		says = wp_relay_awaited_subject(r)->trouble;
	if (!wp_delivery_step(&r->delivery, &r->ledger, cause_of_wait(r), now.ms))
		return;
	if (r->delivery.stalled != NULL)
		(void)snprintf(what, sizeof(what), "%s%s%.1800s", r->delivery.stalled,
			       says != NULL ? ": " : "", says != NULL ? says : "");
	r->setup.source->ops->trouble(r->setup.source, what, now.ms - r->delivery.since_ms);
	if (r->feedback.sent_flush != 0)
		write_down(r);
}

static void warn_of_only_ignored(struct wp_relay *r)
{
	const struct wp_outboxes *outboxes = r->reload.now.outboxes;

	(void)wp_error_set(
		&wp_relay_note(r, WP_NOTE_WARN, "only_ignored_rows")->error, WP_OK,
		"%llu rows of tables in outbox.ignore were ignored, and no event has arrived for a "
		"minute since the first of them. If the application inserts events, it uses "
		"another table than outbox.table (%s%s): compare the names, including case, with "
		"those that walpost check lists for the publication",
		(unsigned long long)wp_pipeline_counts(r->pipeline)->ignored,
		outboxes->items[0].table, outboxes->count > 1 ? ", ..." : "");
}

/* -- each turn -------------------------------------------------------------------------- */

static bool is_watched(const struct wp_relay *r)
{
	return wp_relay_reads(r) && wp_relay_is_streaming(r);
}

void wp_relay_watch_slot(struct wp_relay *r, struct wp_now now)
{
	const struct wp_source_view *v = wp_relay_source(r);

	if (wp_relay_is_streaming(r))
		claim(r, now);
	if (is_watched(r) && v->slot_state.answers != r->slot_watch.answers)
		judge(r, &v->slot_state, now);
	if (!is_watched(r))
		return;
	if (wp_slot_watch_asks(&r->slot_watch, v->slot_state.asking, now.ms))
		r->setup.source->ops->watch(r->setup.source);
	if (wp_slot_watch_reminds(&r->slot_watch, now.ms))
		remind_of_loss(r, &v->slot_state);
	if (wp_row_warnings_only_ignored(&r->warnings, wp_pipeline_counts(r->pipeline), now.ms))
		warn_of_only_ignored(r);
	if (wp_slot_checkpoint_schedule_step(&r->slot_checkpoint, r->feedback.sent_flush,
					     r->delivery.confirmed, now.ms))
		write_down(r);
	tell_delivery(r, now);
}

/* -- walpost drain ----------------------------------------------------------------------- */

void wp_relay_drain(struct wp_relay *r, struct wp_now now)
{
	const struct wp_slot_state *slot = &wp_relay_source(r)->slot_state;
	bool rests = r->ledger.in_flight == 0 && !r->slot_watch.suspect;

	if (r->stop.drain.state != WP_DRAIN_HELD || !is_watched(r) || r->stop.asked)
		return;
	switch (wp_drain_step(&r->stop.drain, rests, slot)) {
	case WP_DRAIN_WAITS:
		break;
	case WP_DRAIN_ASK:
		wp_slot_watch_asked(&r->slot_watch, now.ms);
		r->setup.source->ops->watch(r->setup.source);
		break;
	case WP_DRAIN_STOP:
		wp_relay_note(r, WP_NOTE_INFO, "draining")->lsn = r->stop.drain.lsn;
		wp_stop_ask(&r->stop, r->setup.options->shutdown_timeout_ms, now.ms);
		break;
	case WP_DRAIN_GOES_ON:
		wp_relay_note(r, WP_NOTE_INFO, "drain_void")->lsn = r->stop.drain.lsn;
		break;
	case WP_DRAIN_UNANSWERED:
		(void)wp_error_set(&wp_relay_note(r, WP_NOTE_WARN, "drain_void")->error, WP_OK,
				   "a mark of walpost drain was read, but the server did not "
				   "answer whether the drain still waits");
		break;
	}
}

int64_t wp_relay_slot_due(const struct wp_relay *r)
{
	int64_t due = wp_slot_watch_due(&r->slot_watch, wp_relay_source(r)->slot_state.asking);

	int64_t claim =
		wp_sooner(r->slot_checkpoint.claim_ms,
			  r->slot_checkpoint.held_ms != 0 ? r->slot_checkpoint.held_ms : INT64_MAX);
	if (!is_watched(r))
		return wp_relay_is_streaming(r) ? claim : INT64_MAX;
	due = wp_sooner(due, claim);
	bool waits = r->slot_watch.withheld || something_waits_here(r);
	due = wp_sooner(due, wp_delivery_due(&r->delivery, waits));
	due = wp_sooner(due, wp_row_warnings_due(&r->warnings, wp_pipeline_counts(r->pipeline)));
	return wp_sooner(due, r->slot_checkpoint.due_ms);
}
