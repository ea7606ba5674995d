#include <stdlib.h>

#include "state.h"

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
			   const struct wp_record *record, struct wp_why *why)
{
	if (!may_wait_here(p, topic, record))
		return WP_AGAIN;
	struct wp_queued *item = wp_queued_new(ticket, record);
	if (item == NULL)
		return wp_why_set(why, WP_NOMEM, "no memory for an event");
	wp_queue_push(&topic->queue, item);
	p->view.queued++;
	return WP_OK;
}

/* ---- on ---- */

void wp_backlog_look_at(struct wp_producer *p, struct wp_topic *topic)
{
	topic->goes_on = p->backlog_goes_on = true;
}

void wp_backlog_look(struct wp_producer *p)
{
	for (struct wp_topic *t = p->topics.newest; t != NULL && p->view.queued > 0; t = t->older) {
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
	p->view.queued--;
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
	struct wp_why why = { "" };
	enum wp_rc rc = WP_AGAIN;

	if (may_go(p, topic))
		rc = wp_producer_pass_on(p, topic, item->ticket, &item->record, &why);
	switch (rc) {
	case WP_OK:
		p->view.queued--;
		free(item);
		break;
	case WP_DATA:
		refuse(p, item);
		break;
	case WP_AGAIN:
		wp_queue_push(&topic->queue, item);
		break;
	default: /* no memory, or no room where there must be some: it is sent again by the relay */
		wp_queue_push(&topic->queue, item);
		wp_producer_break(p, RD_KAFKA_RESP_ERR__FAIL, why.text);
		break;
	}
}

/*
 * All of a topic in one go: who waits for a partition's first record to be confirmed goes back into
 * the queue, and so does all that is behind it for that partition. Other partitions' go.
 */
static void go_on(struct wp_producer *p, struct wp_topic *topic)
{
	struct wp_queue waiting = topic->queue;
	struct wp_queued *item;

	topic->goes_on = false;
	topic->queue = (struct wp_queue){ 0 };
	while ((item = wp_queue_pop(&waiting)) != NULL)
		pass_on(p, topic, item);
}

void wp_backlog_step(struct wp_producer *p)
{
	if (!p->backlog_goes_on)
		return;
	p->backlog_goes_on = false;
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

	for (struct wp_topic *t = p->topics.newest; t != NULL && p->view.queued > 0; t = t->older) {
		while ((item = wp_queue_pop(&t->queue)) != NULL)
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
	p->view.queued = 0;
	p->has_refused = false;
}
