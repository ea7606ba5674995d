/*
 * Parks events and sends them again: collects what the store has written, loads what is parked, and
 * tells of trouble with walpost.parked.
 */
#include <inttypes.h>

#include "parking.h"
#include "relay_internal.h"

enum { TICKETS_PER_CALL = 256, TROUBLE_MS = 60 * 1000, TROUBLE_FIRST_MS = 2 * 1000 };

static const struct wp_parked_view *parked_view(const struct wp_relay *r)
{
	return r->setup.parked->ops->view(r->setup.parked);
}

/* -- the set -------------------------------------------------------------------- */

static bool load_one(struct wp_relay *r, const struct wp_parked_aggregate *a, struct wp_now now)
{
	struct wp_error error;
	enum wp_rc rc = wp_pipeline_parked_outbox(r->pipeline, a->outbox, a->settings, &error);

	if (rc == WP_OK)
		rc = wp_parking_load(r->parking, a, &error);
	if (rc == WP_OK)
		return true;
	if (rc == WP_NOMEM)
		wp_relay_halt(r, WP_EXIT_FAILED, "out_of_memory", &error, now);
	else if (rc == WP_DATA)
		wp_relay_halt(r, WP_EXIT_HUMAN, "parked_too_many", &error, now);
	else if (!wp_relay_takes_back(r, &error, now))
		wp_relay_halt(r, WP_EXIT_HUMAN, "parked_unfit", &error, now);
	return false;
}

/* -- the store -------------------------------------------------------------------- */

static void collect_put(struct wp_relay *r, struct wp_now now)
{
	wp_ticket tickets[TICKETS_PER_CALL];
	size_t count;

	do {
		count = wp_parking_collect(r->parking, tickets, TICKETS_PER_CALL);
		for (size_t i = 0; i < count; i++) {
			if (wp_ledger_settle(&r->ledger, tickets[i]) == WP_SETTLED) {
				wp_delivery_settled(&r->delivery);
				wp_feedback_confirmed(&r->feedback);
			}
		}
	} while (count == TICKETS_PER_CALL);
	(void)now;
}

/* Whoever raised the generation had the slot then: this stream is over, or will be, unheard perhaps. */
static void watch_state(struct wp_relay *r, struct wp_now now)
{
	const struct wp_parked_view *v = parked_view(r);
	struct wp_source *source = r->setup.source;

	if (v->state == WP_PARKED_FENCED && wp_relay_reads(r) && wp_relay_is_streaming(r)) {
		(void)wp_error_set(&wp_relay_note(r, WP_NOTE_WARN, "parking_fenced")->error, WP_OK,
				   "%.1500s; the stream begins again", v->error.text);
		/* The stream's end may tell the next one that walpost.reissue cannot be read here. */
		source->ops->reading(source, WP_READING_LAST_WORD);
	}
	if (v->state == WP_PARKED_REFUSED)
		wp_relay_halt(r, WP_EXIT_HUMAN, "parking_refused", &v->error, now);
}

/* Trouble is told of only after a while, for a connection that is lost is made again. */
static void watch_trouble(struct wp_relay *r, struct wp_now now)
{
	const struct wp_parked_view *v = parked_view(r);
	bool on = v->error.text[0] != '\0' && v->state != WP_PARKED_REFUSED;

	if (!on && r->parking_trouble.noted)
		wp_relay_note(r, WP_NOTE_INFO, "parking_available");
	if (!on) {
		r->parking_trouble.on = r->parking_trouble.noted = false;
		return;
	}
	if (!r->parking_trouble.on) {
		r->parking_trouble.since_ms = now.ms;
		r->parking_trouble.note_ms = now.ms + TROUBLE_FIRST_MS;
	}
	r->parking_trouble.on = true;
	if (now.ms < r->parking_trouble.note_ms)
		return;
	r->parking_trouble.noted = true;
	r->parking_trouble.note_ms = now.ms + TROUBLE_MS;
	wp_relay_note(r, WP_NOTE_WARN, "parking_unavailable")->error = v->error;
}

/* -- sending again ------------------------------------------------------------------ */

static bool may_send(const struct wp_relay *r)
{
	return wp_relay_reads(r) && !r->stop.asked && !r->isolation.on && !r->ledger.lost &&
	       wp_relay_sink(r)->state == WP_SINK_READY;
}

static enum wp_rc step_parking(struct wp_relay *r)
{
	return wp_parking_step(r->parking, may_send(r), wp_ledger_confirmed_lsn(&r->ledger),
			       r->feedback.sent_flush);
}

static void send_parked_rows(struct wp_relay *r, struct wp_now now)
{
	struct wp_parking_row row;
	struct wp_error error;
	bool dropped;

	while (may_send(r) && wp_parking_next(r->parking, wp_relay_sink(r)->in_flight == 0, &row)) {
		enum wp_rc rc = wp_pipeline_send_parked(r->pipeline, &row, &dropped, &error);
		if (rc == WP_CONFIG) {
			wp_relay_halt(r, WP_EXIT_HUMAN, "parked_unfit", &error, now);
			return;
		}
		if (rc == WP_IO)
			wp_relay_rewind(r, now);
		if (rc != WP_OK && rc != WP_DATA)
			return; /* with room, or memory, it is taken */
		if (dropped)
			wp_parking_dropped(r->parking);
		else
			wp_parking_sent(r->parking, rc, &error);
	}
}

static void note_attempt_failed(struct wp_relay *r, const struct wp_parking_news *news,
				struct wp_now now)
{
	char position[WP_POSITION_TEXT_SIZE];

	if (!news->exhausted &&
	    !wp_row_warnings_are_due(&r->warnings, WP_WARN_PARKED_ATTEMPT, now.ms))
		return;
	(void)wp_error_set(
		&wp_relay_note(r, WP_NOTE_WARN, "parked_attempt_failed")->error, WP_OK,
		"the parked event at position %s could not be delivered: %.1200s%s",
		wp_position_text(&news->position, position), news->error.text,
		news->exhausted
			? "; it will not be tried again by itself: walpost parked retry, or "
			  "walpost parked skip"
			: "");
}

static void note_news(struct wp_relay *r, struct wp_now now)
{
	struct wp_parking_news news;
	char position[WP_POSITION_TEXT_SIZE];

	while (r->notes.count < WP_NOTES_MAX / 2 && wp_parking_take_news(r->parking, &news)) {
		if (news.failed)
			note_attempt_failed(r, &news, now);
		else if (news.letter)
			(void)wp_error_set(
				&wp_relay_note(r, WP_NOTE_WARN, "dead_letter")->error, WP_OK,
				"the parked event at position %s went to dead-letter topic %s; its "
				"aggregate continues without it",
				wp_position_text(&news.position, position),
				r->setup.options->dead_letter_topic);
		else if (wp_row_warnings_are_due(&r->warnings, WP_WARN_PARKED_RELEASED, now.ms))
			(void)wp_error_set(
				&wp_relay_note(r, WP_NOTE_INFO, "parked_released")->error, WP_OK,
				"an aggregate is no longer parked: %" PRIu64
				" events delivered, the last at position %s",
				news.events, wp_position_text(&news.position, position));
	}
}

/* -- for the relay's other files -------------------------------------------------------- */

bool wp_relay_parked_report(struct wp_relay *r, const struct wp_report *report)
{
	if ((report->ticket & WP_PARKED_TICKETS) == 0)
		return false;
	if (report->outcome == WP_REFUSED)
		return true; /* it is judged as all that are refused */
	wp_parking_report(r->parking, report, NULL);
	return true;
}

void wp_relay_park(struct wp_relay *r, struct wp_now now)
{
	if (r->parking == NULL)
		return;
	wp_parking_tick(r->parking, now.ms);
	collect_put(r, now);
	watch_state(r, now);
	watch_trouble(r, now);
	if (!wp_relay_reads(r) || !wp_relay_is_streaming(r))
		return;
	const struct wp_parked_aggregate *a = wp_parking_next_loaded(r->parking);
	while (a != NULL && load_one(r, a, now))
		a = wp_parking_next_loaded(r->parking);
	if (step_parking(r) != WP_OK)
		return; /* with memory it goes on */
	send_parked_rows(r, now);
	/* What failed before it was sent, or was the last, is over now. */
	(void)!step_parking(r);
	note_news(r, now);
}

bool wp_relay_parking_holds_up(const struct wp_relay *r)
{
	return !wp_parking_is_ready(r->parking) || wp_parking_wants_quiet(r->parking);
}

const char *wp_relay_parking_trouble(const struct wp_relay *r)
{
	return r->parking_trouble.noted ? parked_view(r)->error.text : NULL;
}

int64_t wp_relay_parking_due(const struct wp_relay *r)
{
	int64_t due_ms = INT64_MAX;

	if (r->parking == NULL)
		return INT64_MAX;
	if (r->parking_trouble.on)
		due_ms = r->parking_trouble.note_ms;
	if (wp_relay_reads(r))
		due_ms = wp_sooner(due_ms, wp_parking_due(r->parking, may_send(r)));
	return due_ms;
}

void wp_relay_parking_figures(const struct wp_relay *r, struct wp_parking_figures *ret)
{
	const char *trouble = wp_relay_parking_trouble(r);

	*ret = (struct wp_parking_figures){ .since_ms = INT64_MAX };
	if (r->parking != NULL)
		wp_parking_figures(r->parking, ret);
	ret->trouble = trouble != NULL ? trouble : "";
	ret->trouble_ms = trouble != NULL ? r->parking_trouble.since_ms : INT64_MIN;
}
