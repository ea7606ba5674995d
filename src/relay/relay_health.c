#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "relay_internal.h"
#include "walpost/relay/faults.h"

enum {
	WATCH_EVERY_MS = 2 * 1000,
	WATCH_SHARE = 20, /* an answer that took a while is asked for that much more seldom */
	WATCH_SELDOM_MS = 60 * 1000,
	SUSPECT_MS = 250,
	REMIND_EVERY_MS = 60 * 1000,
	HURRY_MS = 3 * 1000,
	WRITE_CLAIM_MS = 200,
	WRITE_FIRST_MS = 5 * 1000,
	WRITE_EVERY_MS = 60 * 1000,
	STALLED_MS = 15 * 1000,
};

/* The log of other tables moves the slot too; that alone is written down more coarsely. */
#define WRITE_BYTES (UINT64_C(1) << 20)

/* -- what is told to the server ----------------------------------------------- */

wp_lsn wp_relay_flush(const struct wp_relay *r)
{
	if (r->health.suspect && !wp_fault(WP_FAULT_CONFIRM_WHEN_BROKEN))
		return r->feedback.sent_flush;
	return wp_ledger_confirmed_lsn(&r->ledger);
}

/* -- a new stream --------------------------------------------------------------- */

void wp_relay_begin_health(struct wp_relay *r, struct wp_now now)
{
	wp_lsn server = wp_relay_source(r)->facts.server_lsn; /* before preflight found all well */
	int64_t write_after_ms = wp_relay_source(r)->unclaimed ? WRITE_CLAIM_MS : WRITE_FIRST_MS;

	r->health = (struct health){
		.interval_ms = WATCH_EVERY_MS,
		.asked_ms = now.ms,
		.keeping = r->health.keeping,
		.good = server,
		.good_next = server,
		.write_due_ms = now.ms + write_after_ms,
		.written = wp_ledger_confirmed_lsn(&r->ledger),
		.written_events = r->confirmed,
	};
	wp_guard_forget(&r->guard);
	/* What waited while there was no stream has not waited for Kafka. */
	if (r->delivery.stalled == NULL)
		r->delivery.since_ms = now.ms;
	r->delivery.waited_ms = now.ms;
}

/* -- what is wrong ----------------------------------------------------------------- */

static void halt_for_loss(struct wp_relay *r, const struct wp_health *h, struct wp_now now)
{
	char from[WP_LSN_TEXT_SIZE];
	char to[WP_LSN_TEXT_SIZE];
	struct wp_error error;

	r->slot_lost = h->keeping == WP_KEEPING_LOST;
	/* What it kept is told by the finding: from what was confirmed on. */
	if (r->slot_lost)
		(void)wp_error_set(&error, WP_CONFIG, "%s", h->loss.text);
	else
		(void)wp_error_set(
			&error, WP_CONFIG,
			"%s. All was well at %s; events committed between there and %s may be "
			"missing in Kafka; since this was found nothing more has been confirmed",
			h->loss.text, wp_lsn_text(r->health.good, from),
			wp_lsn_text(h->server_lsn, to));
	wp_relay_halt(r, WP_EXIT_HUMAN, "events_would_be_lost", &error, now);
	/* Nothing of it will be confirmed: what is on its way may arrive, but not for long. */
	if (r->state == WP_DRAINING && r->stop_by_ms > now.ms + HURRY_MS) {
		r->stop_by_ms = now.ms + HURRY_MS;
		r->deadline_ms = now.ms + HURRY_MS - HURRY_MS / 4;
	}
}

/* One question sees two moments of the catalog: only the same twice is believed. */
static void judge_loss(struct wp_relay *r, const struct wp_health *h, struct wp_now now)
{
	bool again = r->health.suspect;

	r->health.suspect = h->loss.text[0] != '\0';
	if (r->health.suspect && again) {
		halt_for_loss(r, h, now);
		return;
	}
	if (r->health.suspect) {
		r->health.reminded_ms = now.ms;
		wp_relay_note(r, WP_NOTE_WARN, "events_may_be_lost")->error = h->loss;
		return;
	}
	/* What was changed while this question was asked is later than the answer before it. */
	r->health.good = r->health.good_next;
	r->health.good_next = h->server_lsn;
}

/* Nobody can be asked: it stays safe, but the log that is kept grows. */
static void remind_of_loss(struct wp_relay *r, const struct wp_health *h, struct wp_now now)
{
	char since[WP_LSN_TEXT_SIZE];

	if (!r->health.suspect || now.ms - r->health.reminded_ms < REMIND_EVERY_MS)
		return;
	r->health.reminded_ms = now.ms;
	(void)wp_error_set(&wp_relay_note(r, WP_NOTE_WARN, "events_may_be_lost")->error, WP_CONFIG,
			   "%s. The server does not answer whether it is still so: until then "
			   "nothing past %s is confirmed to it, and it keeps the log from there on",
			   h->loss.text, wp_lsn_text(r->feedback.sent_flush, since));
}

static void judge_keeping(struct wp_relay *r, const struct wp_health *h)
{
	bool was_bad = r->health.keeping == WP_KEEPING_EXTENDED ||
		       r->health.keeping == WP_KEEPING_UNRESERVED;
	struct wp_note *n;

	if (h->keeping == r->health.keeping)
		return;
	r->health.keeping = h->keeping;
	switch (h->keeping) {
	case WP_KEEPING_UNRESERVED:
		n = wp_relay_note(r, WP_NOTE_ERROR, "slot_unreserved");
		(void)wp_error_set(
			&n->error, WP_OK,
			"slot %s will be lost at one of the next checkpoints: it holds more "
			"log than max_slot_wal_keep_size. Raise that now, if the disk has room: "
			"ALTER SYSTEM SET max_slot_wal_keep_size = ...; SELECT pg_reload_conf()",
			r->setup.slot);
		break;
	case WP_KEEPING_EXTENDED:
		n = wp_relay_note(r, WP_NOTE_WARN, "slot_extended");
		(void)wp_error_set(
			&n->error, WP_OK,
			"slot %s holds more log than max_wal_size: the server keeps it for "
			"the slot, and its disk fills. Look why walpost is behind: Kafka "
			"slow or away, or a transaction open for long",
			r->setup.slot);
		break;
	default:
		if (was_bad && h->keeping == WP_KEEPING_RESERVED)
			wp_relay_note(r, WP_NOTE_INFO, "slot_reserved");
	}
}

static void guard(struct wp_relay *r, const struct wp_health *h, struct wp_now now)
{
	if (!h->limited) {
		wp_guard_forget(&r->guard);
		return;
	}
	struct wp_guard_estimate e =
		wp_guard_sample(&r->guard, now.ms, h->safe_size, h->server_lsn);
	r->estimate = e;
	if (!wp_guard_tells(&r->guard, now.ms, &e))
		return;
	struct wp_note *n = wp_relay_note(
		r, e.level == WP_GUARD_URGENT ? WP_NOTE_ERROR : WP_NOTE_WARN, "wal_guard");
	(void)wp_error_set(
		&n->error, WP_OK,
		"slot %s can be lost in about %" PRId64 " s: %" PRId64
		" bytes of log may still be written, and they become fewer by %" PRId64
		" a second. Then events would be missing in Kafka. See why walpost is behind "
		"(Kafka slow or away, a transaction open for long), or raise the limit: ALTER "
		"SYSTEM SET max_slot_wal_keep_size = ...; SELECT pg_reload_conf()",
		r->setup.slot, e.seconds, e.left, e.rate);
}

static int64_t interval_after(int64_t took_ms)
{
	int64_t interval_ms = took_ms * WATCH_SHARE;

	if (interval_ms > WATCH_SELDOM_MS)
		return WATCH_SELDOM_MS;
	return interval_ms < WATCH_EVERY_MS ? WATCH_EVERY_MS : interval_ms;
}

static void judge(struct wp_relay *r, const struct wp_health *h, struct wp_now now)
{
	r->health.answers = h->answers;
	r->server = wp_lsn_max(r->server, h->server_lsn); /* a paused stream brings no news */
	r->health.interval_ms = interval_after(now.ms - r->health.asked_ms);
	judge_keeping(r, h);
	guard(r, h, now);
	judge_loss(r, h, now);
	if (r->health
		    .suspect) /* soon; and a change in two statements has a moment for the second */
		r->health.interval_ms = SUSPECT_MS;
}

/* -- what is written down ------------------------------------------------------------- */

/*
 * That we have the slot, at once: else the next start of whom the row names accuses somebody. How
 * far we come is written for its own sake, later: the server's statistics lag behind.
 */
static void claim(struct wp_relay *r, struct wp_now now)
{
	wp_lsn flush = r->feedback.sent_flush; /* 0: the first status is not sent yet */

	r->health.write_due_ms = now.ms + (flush == 0 ? WRITE_CLAIM_MS : WRITE_FIRST_MS);
	if (flush != 0)
		r->setup.source->ops->write_down(r->setup.source, flush, wp_relay_topics(r));
}

static void write_down(struct wp_relay *r, struct wp_now now)
{
	wp_lsn flush = r->feedback.sent_flush;
	bool events = r->confirmed > r->health.written_events;

	if (now.ms < r->health.write_due_ms)
		return;
	if (wp_relay_source(r)->unclaimed) {
		claim(r, now);
		return;
	}
	r->health.write_due_ms = now.ms + WRITE_EVERY_MS;
	if (flush <= r->health.written || (!events && flush - r->health.written < WRITE_BYTES))
		return;
	r->health.written = flush;
	r->health.written_events = r->confirmed;
	r->setup.source->ops->write_down(r->setup.source, flush, wp_relay_topics(r));
}

/* -- is anything confirmed? ----------------------------------------------------------- */

/* What was read and is not confirmed; not a transaction of which nothing was sent to us. */
static bool something_waits(const struct wp_relay *r)
{
	return r->ledger.in_flight > 0 || r->refused_ms != INT64_MAX;
}

static const char *why_stalled(const struct wp_relay *r)
{
	const struct wp_sink_view *v = wp_relay_sink(r);

	if (v->state == WP_SINK_WAITING && v->topic[0] != '\0')
		return "a topic is missing, or this client may not write to it";
	if (!v->reachable)
		return "Kafka is not reachable";
	return r->ledger.in_flight > 0 ? "Kafka answers, but confirms nothing"
				       : "the next event cannot be sent yet";
}

/* True when the row is to say something else now. Idle is not stalled, nor is a slow Kafka. */
static bool is_news_of_delivery(struct wp_relay *r, struct wp_now now)
{
	struct delivery *d = &r->delivery;
	const char *before = d->stalled;
	bool waits = something_waits(r);
	bool moved = r->confirmed > d->confirmed;

	d->confirmed = r->confirmed;
	/* Turns may lie far apart while nothing happens: from this one on it waits. */
	if (moved || (before == NULL && !(waits && d->waits)))
		d->since_ms = now.ms;
	if (waits)
		d->waited_ms = now.ms;
	d->waits = waits;
	if (before == NULL)
		d->stalled = waits && now.ms - d->since_ms >= STALLED_MS ? why_stalled(r) : NULL;
	else if (moved || now.ms - d->waited_ms >= STALLED_MS)
		d->stalled = NULL;
	else if (waits)
		d->stalled = why_stalled(r);
	return d->stalled != before;
}

static void tell_delivery(struct wp_relay *r, struct wp_now now)
{
	const struct wp_sink_view *v = wp_relay_sink(r);
	bool says_error = v->error.text[0] != '\0' && (v->state == WP_SINK_WAITING ||
						       !v->reachable); /* else it is an old one */
	char what[WP_CHECKPOINT_TROUBLE_SIZE] = "";

	if (!is_news_of_delivery(r, now))
		return;
	if (r->delivery.stalled != NULL)
		(void)snprintf(what, sizeof(what), "%s%s%.700s", r->delivery.stalled,
			       says_error ? ": " : "", says_error ? v->error.text : "");
	r->setup.source->ops->trouble(r->setup.source, what, now.ms - r->delivery.since_ms);
	if (r->feedback.sent_flush != 0)
		r->setup.source->ops->write_down(r->setup.source, r->feedback.sent_flush,
						 wp_relay_topics(r));
}

static int64_t delivery_due(const struct wp_relay *r)
{
	const struct delivery *d = &r->delivery;

	if (d->stalled != NULL)
		return something_waits(r) ? INT64_MAX : d->waited_ms + STALLED_MS;
	return something_waits(r) ? d->since_ms + STALLED_MS : INT64_MAX;
}

/* -- rows of others, and of the outbox none -------------------------------------- */

static bool sees_only_ignored(const struct wp_relay *r)
{
	const struct wp_pipeline_counts *counts = wp_pipeline_counts(r->pipeline);

	return counts->ignored > 0 && counts->events == 0 && !r->only_ignored_noted;
}

/* Once, and not for an outbox that is idle later: one event tells that its name is right. */
static void tell_of_only_ignored(struct wp_relay *r, struct wp_now now)
{
	const struct wp_outboxes *outboxes = r->setup.task.outboxes;

	if (!sees_only_ignored(r))
		return;
	if (r->passed_over_ms == 0)
		r->passed_over_ms = now.ms;
	if (now.ms - r->passed_over_ms < ONLY_IGNORED_MS)
		return;
	r->only_ignored_noted = true;
	(void)wp_error_set(
		&wp_relay_note(r, WP_NOTE_WARN, "only_ignored_rows")->error, WP_OK,
		"%llu rows of tables under outbox.ignore were dropped, and no event has come for a "
		"minute since the first of them. If the application inserts events, it does so "
		"into another table than outbox.table (%s%s): compare the names, capital letters "
		"too, with those that walpost check lists of the publication",
		(unsigned long long)wp_pipeline_counts(r->pipeline)->ignored,
		outboxes->items[0].table, outboxes->count > 1 ? ", ..." : "");
}

/* -- each turn -------------------------------------------------------------------------- */

static bool is_watched(const struct wp_relay *r)
{
	return (r->state == WP_STREAMING || r->state == WP_PAUSED) && wp_relay_is_streaming(r);
}

void wp_relay_watch_health(struct wp_relay *r, struct wp_now now)
{
	const struct wp_health *h = &wp_relay_source(r)->health;

	if (!is_watched(r))
		return;
	if (h->answers != r->health.answers)
		judge(r, h, now);
	if (!is_watched(r))
		return;
	if (!h->asking && now.ms - r->health.asked_ms >= r->health.interval_ms) {
		r->health.asked_ms = now.ms;
		r->setup.source->ops->watch(r->setup.source);
	}
	remind_of_loss(r, h, now);
	tell_of_only_ignored(r, now);
	write_down(r, now);
	tell_delivery(r, now);
}

int64_t wp_relay_health_due(const struct wp_relay *r)
{
	int64_t due = r->health.asked_ms + r->health.interval_ms;

	if (!is_watched(r))
		return INT64_MAX;
	if (wp_relay_source(r)->health.asking)
		due = INT64_MAX; /* its end wakes us */
	if (r->health.suspect && r->health.reminded_ms + REMIND_EVERY_MS < due)
		due = r->health.reminded_ms + REMIND_EVERY_MS;
	if (delivery_due(r) < due)
		due = delivery_due(r);
	if (sees_only_ignored(r) && r->passed_over_ms != 0 &&
	    r->passed_over_ms + ONLY_IGNORED_MS < due)
		due = r->passed_over_ms + ONLY_IGNORED_MS;
	return due < r->health.write_due_ms ? due : r->health.write_due_ms;
}
