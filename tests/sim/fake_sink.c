#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

static struct fake_sink *self(struct wp_sink *s)
{
	return (struct fake_sink *)s;
}

static struct producer *producer_of(struct fake_sink *s)
{
	return s->producer >= 0 ? &s->world->broker.producers[s->producer] : NULL;
}

static uint32_t number_of(struct wp_span id)
{
	uint32_t n = 0;

	for (size_t i = 0; i < id.size; i++)
		n = n * 10 + (uint32_t)(id.data[i] - '0');
	return n;
}

static bool topic_is_missing(const struct world *w)
{
	return w->now_ms < w->broker.topic_missing_until_ms;
}

static void wait_for_topic(struct fake_sink *s)
{
	s->view.state = WP_SINK_WAITING;
	snprintf(s->view.topic, sizeof(s->view.topic), "outbox.event.t");
}

/* Without asking Kafka. */
static bool is_refused(const struct world *w, uint32_t event, bool letter,
		       const struct wp_record *record)
{
	if (!letter)
		return park_is_refused(w, event, BY_SINK);
	return w->park != NULL && w->park->bulky[event] && !wp_span_is_null(record->value);
}

static enum wp_rc op_send(struct wp_sink *base, wp_ticket ticket, const struct wp_record *record,
			  struct wp_error *error)
{
	struct fake_sink *s = self(base);
	struct producer *p = producer_of(s);

	if (p == NULL)
		return WP_AGAIN;
	if (p->broken)
		return wp_error_set(error, WP_IO, "the producer is broken");
	if (p->refused || (s->view.state == WP_SINK_WAITING && p->held_count > 0))
		return WP_AGAIN;
	bool missing = topic_is_missing(s->world);
	if (missing && p->one_by_one) {
		wait_for_topic(s);
		return WP_AGAIN;
	}
	bool letter = wp_span_is(record->topic, "dead");
	uint32_t event = number_of(record->id);
	if (is_refused(s->world, event, letter, record))
		return wp_error_set(error, WP_DATA, "it is larger than the topic allows");
	return producer_send(s->world, s->producer, ticket, event, letter,
			     missing || p->held_count > 0)
		       ? WP_OK
		       : WP_FULL;
}

static size_t op_collect(struct wp_sink *base, int64_t now_ms, struct wp_report *reports,
			 size_t max)
{
	struct fake_sink *s = self(base);
	struct producer *p = producer_of(s);

	(void)now_ms; /* the caller's clock may have stood still */
	if (p == NULL || s->world->now_ms < p->tells_ms)
		return 0;
	size_t count = p->report_count < max ? p->report_count : max;
	memcpy(reports, p->reports, count * sizeof(*reports));
	memmove(p->reports, p->reports + count, (p->report_count - count) * sizeof(*reports));
	p->report_count -= count;
	return count;
}

static void op_purge(struct wp_sink *base)
{
	struct fake_sink *s = self(base);

	if (s->producer >= 0)
		producer_purge(s->world, s->producer);
	s->world->wake[s->relay] = true;
}

static void op_restart(struct wp_sink *base, enum wp_batching batching)
{
	struct fake_sink *s = self(base);

	if (s->producer >= 0)
		producer_orphan(s->world, s->producer);
	s->producer = -1;
	s->batching = batching;
	s->ready_ms = s->world->now_ms + 5 + (int64_t)any(s->world, 500);
	s->view.state = WP_SINK_STARTING;
}

static void op_topics(struct wp_sink *base, struct wp_topic_list *into)
{
	wp_topic_list_add(into, "outbox.event.t", strlen("outbox.event.t"));
}

static void op_ask_topic_ends(struct wp_sink *base, const struct wp_topic_ends_question *question)
{
	struct fake_sink *s = self(base);

	(void)question; /* all events are of one source, epoch and timeline */
	s->view.topic_ends = (struct wp_topic_ends){ .state = WP_TOPIC_ENDS_ASKING };
	s->topic_ends_ms = s->world->now_ms + 1 + (int64_t)any(s->world, 200);
}

static wp_lsn commit_of(const struct world *w, uint32_t event)
{
	const struct server *server = &w->server;
	size_t i = server->transaction_count;

	while (i > 0 && server->transactions[i - 1].first_event > event)
		i--;
	return i > 0 ? server->transactions[i - 1].commit_lsn : 0;
}

/* The last of each partition: as the real one, not the highest for certain. */
static void answer_topic_ends(struct fake_sink *s)
{
	const struct broker *b = &s->world->broker;
	struct wp_topic_ends *ends = &s->view.topic_ends;

	s->topic_ends_ms = INT64_MAX;
	s->world->wake[s->relay] = true;
	if (s->world->now_ms < b->down_until_ms) {
		ends->state = WP_TOPIC_ENDS_UNREACHABLE;
		return;
	}
	ends->state = WP_TOPIC_ENDS_KNOWN;
	ends->partitions = PARTITIONS;
	for (int32_t p = 0; p < PARTITIONS; p++) {
		if (b->log_count[p] == 0)
			continue;
		wp_lsn commit = commit_of(s->world, b->log[p][b->log_count[p] - 1]);
		if (ends->found && commit <= ends->highest.commit_lsn)
			continue;
		ends->found = true;
		ends->highest = (struct wp_position){
			.timeline = wp_timelines_at(&s->world->server.timelines, commit),
			.commit_lsn = commit,
		};
		ends->partition = p;
	}
}

static const struct wp_sink_view *op_view(struct wp_sink *base)
{
	struct fake_sink *s = self(base);
	struct producer *p = producer_of(s);

	s->view.in_flight = p == NULL ? 0 : p->in_flight + p->report_count;
	s->view.queued = p == NULL ? 0 : p->held_count;
	if (p != NULL && p->broken)
		s->view.state = WP_SINK_BROKEN;
	else if (s->view.state == WP_SINK_WAITING && !topic_is_missing(s->world))
		s->view.state = WP_SINK_READY;
	s->view.reachable = s->world->now_ms >= s->world->broker.down_until_ms;
	return &s->view;
}

static int op_fd(struct wp_sink *base, short *ret_events)
{
	*ret_events = 0;
	return -1;
}

static int64_t op_due(struct wp_sink *base)
{
	return INT64_MAX;
}

static void op_free(struct wp_sink *base, int64_t wait_ms)
{
	fake_sink_die(self(base));
}

static const struct wp_sink_ops OPS = {
	.send = op_send,
	.collect = op_collect,
	.purge = op_purge,
	.restart = op_restart,
	.topics = op_topics,
	.ask_topic_ends = op_ask_topic_ends,
	.view = op_view,
	.fd = op_fd,
	.due = op_due,
	.free = op_free,
};

void fake_sink_init(struct fake_sink *s, struct world *w, int relay)
{
	*s = (struct fake_sink){ .base = { &OPS }, .world = w, .relay = relay, .producer = -1 };
	s->ready_ms = w->now_ms + 5;
	s->topic_ends_ms = INT64_MAX;
	s->view.state = WP_SINK_STARTING;
}

void fake_sink_tick(struct fake_sink *s)
{
	struct producer *p = producer_of(s);
	bool was_waiting = s->view.state == WP_SINK_WAITING;

	if (s->world->now_ms >= s->topic_ends_ms)
		answer_topic_ends(s);
	if (p == NULL && s->world->now_ms >= s->ready_ms) {
		s->producer = producer_open(s->world, s->batching == WP_BATCHING_ONE_BY_ONE);
		assert(s->producer >= 0);
		s->view.state = WP_SINK_READY;
		s->world->wake[s->relay] = true;
		return;
	}
	if (p != NULL && p->held_count > 0 && !topic_is_missing(s->world)) {
		producer_let_go(s->world, s->producer);
	} else if (p != NULL && p->held_count > 0 && !was_waiting && chance(s->world, 50)) {
		wait_for_topic(s); /* the answer: it is missing */
		s->world->wake[s->relay] = true;
	}
	if (was_waiting && !topic_is_missing(s->world))
		s->world->wake[s->relay] = true;
	if (p != NULL && (p->report_count > 0 || p->broken))
		s->world->wake[s->relay] = true;
}

void fake_sink_die(struct fake_sink *s)
{
	if (s->producer >= 0)
		producer_orphan(s->world, s->producer);
	s->producer = -1;
}
