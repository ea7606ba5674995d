#include <stdlib.h>

#include "state.h"

/* With several clients each has so many on its way or about to be, a few requests. */
#define SENT_PER_CLIENT 128
/* Nothing reported for so long: what is sent may be for partitions that have no leader now. */
#define STILL_MS 1000

/* ---- counting ---- */

static void push(struct wp_producer *p, struct wp_topic *topic, struct wp_queued *item)
{
	wp_queue_push(&topic->queue, item);
	p->backlog.count++;
	if (topic->state != WP_TOPIC_READY)
		p->view.queued++;
}

static struct wp_queued *pop(struct wp_producer *p, struct wp_topic *topic)
{
	struct wp_queued *item = wp_queue_pop(&topic->queue);

	if (item == NULL)
		return NULL;
	p->backlog.count--;
	if (topic->state != WP_TOPIC_READY)
		p->view.queued--;
	return item;
}

void wp_backlog_topic_changes(struct wp_producer *p, const struct wp_topic *topic,
			      enum wp_topic_state to)
{
	if (topic->state == to)
		return;
	if (to == WP_TOPIC_READY)
		p->view.queued -= topic->queue.count;
	else
		p->view.queued += topic->queue.count;
}

/* ---- in ---- */

/*
 * One by one the relay waits with what cannot go yet: each answer names one event then. So does what
 * would be refused as things were when the topic was last asked for: it is asked again first.
 */
static bool may_wait_here(const struct wp_producer *p, const struct wp_topic *topic,
			  const struct wp_record *record)
{
	return p->shape.batching == WP_BATCHING_NORMAL && wp_gate_seems_to_fit(p, topic, record);
}

enum wp_rc wp_backlog_take(struct wp_producer *p, struct wp_topic *topic, wp_ticket ticket,
			   const struct wp_record *record, struct wp_error *error)
{
	if (!may_wait_here(p, topic, record))
		return WP_AGAIN;
	struct wp_queued *item = wp_queued_new(ticket, record);
	if (item == NULL)
		return wp_error_set(error, WP_NOMEM, "no memory for an event");
	push(p, topic, item);
	return WP_OK;
}

/* ---- held back ---- */

static bool has_room(const struct wp_producer *p)
{
	return wp_producer_sent(p) < p->client_count * SENT_PER_CLIENT;
}

/*
 * A request carries records of one partition. Where there are so many partitions that there are
 * several clients, each would carry next to nothing if all went to librdkafka at once. So what it does
 * not need yet waits here, and goes topic by topic, all of one together: who waits longest first.
 */
bool wp_backlog_holds_back(struct wp_producer *p, struct wp_topic *topic)
{
	struct wp_backlog *b = &p->backlog;

	if (p->client_count < 2 || p->shape.batching != WP_BATCHING_NORMAL || b->is_releasing)
		return false;
	if (b->first_held == NULL && has_room(p))
		return false;
	if (topic->is_held)
		return true;
	if (b->first_held == NULL)
		b->still_since_ms = p->now_ms;
	topic->is_held = true;
	topic->next_held = NULL;
	*(b->first_held == NULL ? &b->first_held : &b->last_held->next_held) = topic;
	b->last_held = topic;
	return true;
}

static struct wp_topic *next_held(struct wp_producer *p)
{
	struct wp_topic *topic = p->backlog.first_held;

	if (topic == NULL)
		return NULL;
	p->backlog.first_held = topic->next_held;
	topic->is_held = false;
	return topic;
}

/* ---- on ---- */

void wp_backlog_look_at(struct wp_producer *p, struct wp_topic *topic)
{
	topic->goes_on = p->backlog.goes_on = true;
}

void wp_backlog_look(struct wp_producer *p)
{
	for (struct wp_topic *t = p->topics.newest; t != NULL && p->backlog.count > 0;
	     t = t->older) {
		if (t->queue.first != NULL)
			wp_backlog_look_at(p, t);
	}
}

/* Unsent, to be collected. */
static void give_back(struct wp_producer *p, struct wp_queued *item, const struct wp_report *report)
{
	item->report = *report;
	item->report.ticket = item->ticket;
	wp_queue_push(&p->returned, item);
}

/*
 * Taken, it cannot be answered any more that it can never be delivered. The relay begins anew after
 * what is confirmed and goes one by one, and is answered then.
 */
static void refuse(struct wp_producer *p, struct wp_queued *item)
{
	static const struct wp_report refused = {
		.outcome = WP_REFUSED,
		.reaction = WP_REACT_ISOLATE,
		.event_level = true,
		.code = "UNDELIVERABLE",
	};

	p->has_refused = true;
	give_back(p, item, &refused);
}

static bool may_go(const struct wp_producer *p, const struct wp_topic *topic)
{
	return p->phase == WP_PHASE_RUNNING && !p->has_refused && topic->state == WP_TOPIC_READY;
}

static void pass_on(struct wp_producer *p, struct wp_topic *topic, struct wp_queued *item)
{
	struct wp_error error = { "" };
	enum wp_rc rc = WP_AGAIN;

	if (may_go(p, topic))
		rc = wp_producer_pass_on(p, topic, item->ticket, &item->record, &error);
	switch (rc) {
	case WP_OK:
		free(item);
		break;
	case WP_DATA:
		refuse(p, item);
		break;
	case WP_AGAIN:
		push(p, topic, item);
		break;
	default: /* no memory, or no room where there must be some: it is sent again by the relay */
		push(p, topic, item);
		wp_producer_break(p, RD_KAFKA_RESP_ERR__FAIL, error.text);
		break;
	}
}

/*
 * All of a topic in one go: who waits for a partition's first record to be confirmed goes back into
 * the queue, and so does all that is behind it for that partition. Other partitions' go.
 */
static void go_on(struct wp_producer *p, struct wp_topic *topic)
{
	topic->goes_on = false;
	for (size_t count = topic->queue.count; count > 0; count--)
		pass_on(p, topic, pop(p, topic));
}

static void release_held(struct wp_producer *p)
{
	bool is_still = p->now_ms - p->backlog.still_since_ms >= STILL_MS;
	struct wp_topic *topic;

	p->backlog.is_releasing = true;
	while ((is_still || has_room(p)) && (topic = next_held(p)) != NULL)
		go_on(p, topic);
	p->backlog.is_releasing = false;
}

void wp_backlog_step(struct wp_producer *p)
{
	release_held(p);
	if (!p->backlog.goes_on)
		return;
	p->backlog.goes_on = false;
	for (struct wp_topic *t = p->topics.newest; t != NULL; t = t->older) {
		if (t->goes_on)
			go_on(p, t);
	}
}

/* ---- out ---- */

void wp_backlog_purge(struct wp_producer *p)
{
	static const struct wp_report purged = { .outcome = WP_PURGED };
	struct wp_queued *item;

	for (struct wp_topic *t = p->topics.newest; t != NULL && p->backlog.count > 0;
	     t = t->older) {
		while ((item = pop(p, t)) != NULL)
			give_back(p, item, &purged);
	}
}

size_t wp_backlog_collect(struct wp_producer *p, struct wp_report *reports, size_t max)
{
	size_t count = 0;

	for (; count < max && p->returned.first != NULL; count++) {
		struct wp_queued *item = wp_queue_pop(&p->returned);
		reports[count] = item->report;
		free(item);
		p->view.in_flight--;
	}
	return count;
}

void wp_backlog_drop(struct wp_producer *p)
{
	for (struct wp_topic *t = p->topics.newest; t != NULL; t = t->older)
		wp_queue_clear(&t->queue);
	wp_queue_clear(&p->returned);
	while (next_held(p) != NULL)
		;
	p->backlog.count = 0;
	p->view.queued = 0;
	p->has_refused = false;
}
