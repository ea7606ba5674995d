/*
 * The producer of `walpost backfill`: it knows what is in flight and what is confirmed, and finds
 * the event that Kafka refuses.
 */
#include "backfill.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/clock.h"
#include "walpost/cli/cli.h"
#include "walpost/kafka_send/producer.h"
#include "walpost/relay/behind_check.h"

enum {
	STEP_MS = 20,
	STUCK_MS = 30000, /* then the command ends; a relay would wait */
	REPORTS = 256,
	FREE_MS = 3000,
	ASK_MS = 500,	 /* how often it is asked whether a relay uses the slot */
	REST_MS = 10000, /* how long to wait until nothing is in flight any more */
};

static int64_t now_ms(void)
{
	return wp_clock_us() / 1000;
}

static const struct wp_sink_view *view(const struct wp_backfill *b)
{
	return b->kafka.sink->ops->view(b->kafka.sink);
}

enum wp_rc wp_backfill_open_sink(struct wp_backfill *b, struct wp_error *error)
{
	const struct wp_kafka_bounds bounds = {
		.in_flight_events = b->diff.config.relay.in_flight_events,
		.in_flight_bytes = b->diff.config.relay.in_flight_bytes,
	};
	enum wp_rc rc = wp_worker_new(&b->kafka.worker, error);

	if (rc == WP_OK)
		rc = wp_producer_new(&b->diff.config.kafka, &bounds, b->kafka.worker,
				     &b->kafka.sink, error);
	b->kafka.began_ms = now_ms();
	return rc;
}

void wp_backfill_close_sink(struct wp_backfill *b)
{
	if (b->kafka.sink != NULL)
		b->kafka.sink->ops->free(b->kafka.sink, FREE_MS);
	free(b->kafka.done);
	if (b->kafka.worker != NULL)
		(void)wp_worker_free(b->kafka.worker, FREE_MS); /* the process ends now */
}

/* -- what comes back ------------------------------------------------------------------- */

static struct wp_backfill_flight *flight(struct wp_backfill *b, wp_ticket ticket)
{
	return &b->kafka.flights[ticket % WP_BACKFILL_IN_FLIGHT];
}

/*
 * Events that were in flight beside a refused one fail too, which says nothing about them. Their
 * reports may come before that of the refused one, once the producer is broken.
 */
static enum wp_rc take_failure(struct wp_backfill *b, const struct wp_report *report,
			       const struct wp_backfill_flight *f, struct wp_error *error)
{
	if (b->kafka.refused || (!report->event_level && view(b)->state == WP_SINK_BROKEN))
		return WP_OK;
	b->kafka.refused = report->event_level && !b->kafka.alone;
	return wp_error_set(
		error, report->event_level ? WP_DATA : WP_IO,
		"Kafka refused the event with id %s: %s%s%s; no slot was created, begin "
		"again with --missing",
		f->id, report->code != NULL ? report->code : "taken back",
		report->cure != NULL ? "; " : "", report->cure != NULL ? report->cure : "");
}

static enum wp_rc take_report(struct wp_backfill *b, const struct wp_report *report,
			      struct wp_error *error)
{
	struct wp_backfill_flight *f = flight(b, report->ticket);

	if (f->ticket != report->ticket)
		return WP_OK;
	f->ticket = 0;
	b->kafka.in_flight--;
	b->kafka.in_flight_size -= f->size;
	if (report->outcome != WP_CONFIRMED)
		return take_failure(b, report, f, error);
	b->kafka.done[f->row / 8] |= (uint8_t)(1u << f->row % 8);
	b->kafka.confirmed++;
	b->kafka.dead_letters += f->is_letter;
	return WP_OK;
}

static enum wp_rc judge_state(struct wp_backfill *b, struct wp_error *error)
{
	const struct wp_sink_view *v = view(b);

	if (v->state == WP_SINK_FAILED)
		return wp_error_set(error, v->reaction == WP_REACT_STOP_CONFIG ? WP_CONFIG : WP_IO,
				    "%s", v->error.text);
	if (v->state != WP_SINK_BROKEN)
		b->kafka.broken_ms = 0;
	else if (b->kafka.broken_ms == 0)
		b->kafka.broken_ms = now_ms();
	/* The report that says why may still come. */
	if (v->state == WP_SINK_BROKEN && !b->kafka.refused &&
	    (b->kafka.in_flight == 0 || now_ms() - b->kafka.broken_ms > REST_MS))
		return wp_error_set(error, WP_IO, "%s; begin again with --missing", v->error.text);
	return WP_OK;
}

/* A relay that is started while rows are sent would send them too, and in between. */
static enum wp_rc judge_slot(struct wp_backfill *b, struct wp_error *error)
{
	if (b->kafka.ask_ms == 0 || now_ms() < b->kafka.ask_ms)
		return WP_OK;
	enum wp_rc rc = wp_backfill_judge_unused(b, error);
	b->kafka.ask_ms = now_ms() + ASK_MS;
	return rc;
}

/* Waits at most `wait_ms` for the producer, and takes what it reports. */
static enum wp_rc step(struct wp_backfill *b, int wait_ms, struct wp_error *error)
{
	struct wp_sink *sink = b->kafka.sink;
	struct wp_report reports[REPORTS];
	struct wp_error later;
	enum wp_rc rc = WP_OK;
	short events = 0;
	int fd = sink->ops->fd(sink, &events);
	struct pollfd fds[] = {
		{ .fd = fd, .events = events },
		{ .fd = wp_worker_fd(b->kafka.worker), .events = POLLIN },
	};

	int ready = poll(fds, 2, wait_ms);
	if (ready > 0 && fds[1].revents != 0)
		wp_worker_collect(b->kafka.worker);
	if (ready > 0 && fds[0].revents != 0 && sink->ops->woken != NULL)
		sink->ops->woken(sink);
	(void)ev_run(b->diff.console.loop, EVRUN_NOWAIT); /* signals, and sessions that end */
	if (b->diff.console.interrupted)
		return wp_error_set(error, WP_IO, "interrupted: no slot was created");
	for (size_t count = REPORTS; count == REPORTS;) {
		count = sink->ops->collect(sink, now_ms(), reports, REPORTS);
		/* All are taken, because what is confirmed is not sent again. */
		for (size_t i = 0; i < count; i++) {
			enum wp_rc taken =
				take_report(b, &reports[i], rc == WP_OK ? error : &later);
			rc = rc == WP_OK ? taken : rc;
		}
	}
	if (rc == WP_OK)
		rc = judge_state(b, error);
	return rc == WP_OK ? judge_slot(b, error) : rc;
}

static enum wp_rc wait_unstuck(struct wp_backfill *b, struct wp_error *error)
{
	int64_t now = now_ms();
	uint64_t before = b->kafka.confirmed;

	if (b->kafka.stuck_ms == 0)
		b->kafka.stuck_ms = now;
	enum wp_rc rc = step(b, STEP_MS, error);
	if (b->kafka.confirmed != before)
		b->kafka.stuck_ms = now;
	if (rc != WP_OK || now - b->kafka.stuck_ms < STUCK_MS)
		return rc;
	return wp_error_set(error, WP_IO, "nothing could be sent to Kafka for %d s: %s%s%s",
			    STUCK_MS / 1000,
			    view(b)->error.text[0] != '\0' ? view(b)->error.text : "no answer",
			    view(b)->topic[0] != '\0' ? ", topic " : "", view(b)->topic);
}

/* -- what is sent -------------------------------------------------------------------------- */

static enum wp_rc await_rate(struct wp_backfill *b, struct wp_error *error)
{
	enum wp_rc rc = WP_OK;

	while (b->rate > 0 && rc == WP_OK) {
		int64_t due = b->kafka.began_ms + (int64_t)b->kafka.last * 1000 / b->rate;
		int64_t left = due - now_ms();
		if (left <= 0)
			break;
		rc = step(b, (int)(left < STEP_MS ? left : STEP_MS), error);
	}
	return rc;
}

static bool has_room(const struct wp_backfill *b, size_t size)
{
	const struct wp_relay_options *o = &b->diff.config.relay;

	if (b->kafka.in_flight == 0)
		return true;
	return b->kafka.in_flight < o->in_flight_events &&
	       b->kafka.flights[(b->kafka.last + 1) % WP_BACKFILL_IN_FLIGHT].ticket == 0 &&
	       b->kafka.in_flight_size + size <= o->in_flight_bytes;
}

static void note_sent(struct wp_backfill *b, size_t size, struct wp_span id, bool is_letter)
{
	struct wp_excerpt excerpt;
	const char *text = wp_excerpt(&excerpt, id);
	struct wp_backfill_flight *f = flight(b, ++b->kafka.last);

	f->ticket = b->kafka.last;
	f->size = size;
	f->row = b->row;
	f->is_letter = is_letter;
	(void)snprintf(f->id, sizeof(f->id), "%s", text != NULL ? text : "NULL");
	b->kafka.in_flight++;
	b->kafka.in_flight_size += size;
	b->kafka.stuck_ms = 0;
}

enum wp_rc wp_backfill_send_record(struct wp_backfill *b, const struct wp_record *record,
				   struct wp_span id, bool is_letter, struct wp_error *error)
{
	size_t size = wp_record_size(record);
	enum wp_rc rc = await_rate(b, error);

	if (rc == WP_OK && b->kafka.last % REPORTS == 0)
		rc = step(b, 0, error);
	while (rc == WP_OK && !has_room(b, size))
		rc = wait_unstuck(b, error);
	while (rc == WP_OK) {
		rc = b->kafka.sink->ops->send(b->kafka.sink, b->kafka.last + 1, record, error);
		if (rc == WP_OK) {
			note_sent(b, size, id, is_letter);
			return b->kafka.alone ? wp_backfill_flush(b, error) : rc;
		}
		bool is_broken = rc == WP_IO && view(b)->state == WP_SINK_BROKEN;
		if (rc == WP_AGAIN || rc == WP_FULL || (is_broken && b->kafka.in_flight > 0))
			rc = wait_unstuck(b, error);
	}
	return rc;
}

enum wp_rc wp_backfill_flush(struct wp_backfill *b, struct wp_error *error)
{
	enum wp_rc rc = WP_OK;

	while (rc == WP_OK && b->kafka.in_flight > 0)
		rc = wait_unstuck(b, error);
	return rc;
}

/* -- which of them Kafka refuses ------------------------------------------------------------ */

enum wp_rc wp_backfill_begin_sending(struct wp_backfill *b, struct wp_error *error)
{
	b->kafka.done = calloc(b->rows_read / 8 + 1, 1);
	if (b->kafka.done == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for the rows");
	b->kafka.began_ms = b->kafka.ask_ms = now_ms();
	return WP_OK;
}

bool wp_backfill_is_confirmed(const struct wp_backfill *b, uint64_t row)
{
	return (b->kafka.done[row / 8] >> row % 8 & 1) != 0;
}

static void forget_flights(struct wp_backfill *b)
{
	for (size_t i = 0; i < WP_BACKFILL_IN_FLIGHT; i++)
		b->kafka.flights[i].ticket = 0;
	b->kafka.in_flight = b->kafka.in_flight_size = 0;
}

void wp_backfill_renew(struct wp_backfill *b)
{
	forget_flights(b);
	b->kafka.sink->ops->restart(b->kafka.sink, WP_BATCHING_ONE_BY_ONE);
}

/* An event that is not reported within REST_MS may have arrived, and is sent again. */
enum wp_rc wp_backfill_isolate(struct wp_backfill *b, struct wp_error *error)
{
	struct wp_sink *sink = b->kafka.sink;
	enum wp_rc rc = WP_OK;

	sink->ops->purge(sink);
	for (int64_t until = now_ms() + REST_MS; rc == WP_OK && b->kafka.in_flight > 0 &&
						 view(b)->state != WP_SINK_BROKEN &&
						 now_ms() < until;)
		rc = step(b, STEP_MS, error);
	if (rc == WP_OK)
		rc = step(b, 0, error);
	if (rc != WP_OK)
		return rc;
	wp_backfill_renew(b);
	b->kafka.refused = false;
	b->kafka.alone = true;
	return WP_OK;
}

void wp_backfill_end_isolation(struct wp_backfill *b)
{
	if (!b->kafka.alone)
		return;
	forget_flights(b);
	b->kafka.sink->ops->restart(b->kafka.sink, WP_BATCHING_NORMAL);
	b->kafka.alone = false;
}

/* -- what is there already ------------------------------------------------------------------ */

enum wp_rc wp_backfill_judge_topic_ends(struct wp_backfill *b, struct wp_error *error)
{
	struct wp_topic_ends_question question = {
		.source = b->diff.outboxes.items[0].headers_source,
		.epoch = b->diff.config.relay.epoch,
		.topics = b->delivered_to,
	};
	char where[WP_TOPIC_ENDS_NAME_SIZE + 80];
	enum wp_rc rc = WP_OK;

	for (size_t i = 0; i < b->topic_count; i++)
		wp_topic_list_add(&question.topics, b->topics[i].name, strlen(b->topics[i].name));
	if (question.topics.text[0] == '\0')
		return WP_OK;
	b->kafka.sink->ops->ask_topic_ends(b->kafka.sink, &question);
	while (rc == WP_OK && (view(b)->topic_ends.state == WP_TOPIC_ENDS_ASKING ||
			       view(b)->topic_ends.state == WP_TOPIC_ENDS_NONE))
		rc = wait_unstuck(b, error);
	b->kafka.stuck_ms = 0;
	if (rc != WP_OK)
		return rc;
	const struct wp_topic_ends *ends = &view(b)->topic_ends;
	if (ends->state == WP_TOPIC_ENDS_UNREACHABLE)
		return wp_error_set(error, WP_IO, "Kafka does not answer: %s", ends->error.text);
	if (ends->error.text[0] != '\0')
		wp_cli_say(stderr,
			   "walpost: cannot determine whether the database is behind the events "
			   "delivered from it: %s\n",
			   ends->error.text);
	if (!ends->found || !wp_behind_is(&ends->highest, &b->facts))
		return WP_OK;
	(void)snprintf(where, sizeof(where), "is in Kafka (topic %s, partition %d)", ends->topic,
		       (int)ends->partition);
	wp_behind_say(&ends->highest, &b->facts, where, "", error);
	return WP_CONFIG;
}
