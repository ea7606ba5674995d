#include "backlog.h"

#include <stdlib.h>

/* When nothing is reported for so long, what is sent may be for partitions that have no leader
 * now. */
#define STILL_MS 1000

/*
 * A request carries records of one partition. Where there are so many partitions that there are
 * several clients, each would carry next to nothing if all went to librdkafka at once. So what it does
 * not need yet waits here, and goes topic by topic, all of one together: who waits longest first.
 */
bool wp_backlog_is_free(const struct wp_backlog *b, bool has_room)
{
	/* It goes behind those deferred before, though there is room again: they take turns. */
	return b->first_deferred == NULL && has_room;
}

void wp_backlog_defer(struct wp_backlog *b, struct wp_topic *topic, int64_t now_ms)
{
	if (topic->is_deferred)
		return;
	if (b->first_deferred == NULL)
		b->deferred_at_ms = now_ms;
	topic->is_deferred = true;
	topic->next_deferred = NULL;
	*(b->first_deferred == NULL ? &b->first_deferred : &b->last_deferred->next_deferred) =
		topic;
	b->last_deferred = topic;
}

static struct wp_topic *pop_deferred(struct wp_backlog *b)
{
	struct wp_topic *topic = b->first_deferred;

	if (topic == NULL)
		return NULL;
	b->first_deferred = topic->next_deferred;
	topic->is_deferred = false;
	return topic;
}

struct wp_topic *wp_backlog_next_deferred(struct wp_backlog *b, bool has_room,
					  int64_t reported_at_ms, int64_t now_ms)
{
	int64_t since_ms = reported_at_ms > b->deferred_at_ms ? reported_at_ms : b->deferred_at_ms;

	return has_room || now_ms - since_ms >= STILL_MS ? pop_deferred(b) : NULL;
}

void wp_backlog_give_back(struct wp_backlog *b, struct wp_queued *item,
			  const struct wp_report *report)
{
	item->report = *report;
	item->report.ticket = item->ticket;
	wp_queue_push(&b->given_back, item);
}

void wp_backlog_purge(struct wp_backlog *b, struct wp_topics *topics)
{
	static const struct wp_report purged = { .outcome = WP_PURGED };
	struct wp_queued *item;

	for (struct wp_topic *t = topics->newest; t != NULL && topics->queued_count > 0;
	     t = t->older) {
		while ((item = wp_topics_pop(topics, t)) != NULL)
			wp_backlog_give_back(b, item, &purged);
	}
}

size_t wp_backlog_collect(struct wp_backlog *b, struct wp_report *reports, size_t max)
{
	size_t count = 0;

	while (count < max && b->given_back.first != NULL) {
		struct wp_queued *item = wp_queue_pop(&b->given_back);
		reports[count++] = item->report;
		free(item);
	}
	return count;
}

void wp_backlog_drop(struct wp_backlog *b, struct wp_topics *topics)
{
	wp_topics_clear_queues(topics);
	wp_queue_clear(&b->given_back);
	while (pop_deferred(b) != NULL)
		;
}
