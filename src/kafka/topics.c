#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/hash.h"
#include "walpost/kafka/topics.h"

static bool has_topic_name(const struct wp_topic *topic, uint64_t hash, struct wp_span name)
{
	return topic->hash == hash && topic->name_size == name.size &&
	       memcmp(topic->name, name.data, name.size) == 0;
}

static struct wp_topic **bucket_of(const struct wp_topics *t, uint64_t hash)
{
	return &t->buckets[hash & (t->bucket_count - 1)];
}

static struct wp_topic *topic_in_bucket(const struct wp_topics *t, uint64_t hash,
					struct wp_span name)
{
	struct wp_topic *topic = *bucket_of(t, hash);

	while (topic != NULL && !has_topic_name(topic, hash, name))
		topic = topic->next;
	return topic;
}

static void unlink_age(struct wp_topics *t, struct wp_topic *topic)
{
	*(topic->newer != NULL ? &topic->newer->older : &t->newest) = topic->older;
	*(topic->older != NULL ? &topic->older->newer : &t->oldest) = topic->newer;
}

static void link_newest(struct wp_topics *t, struct wp_topic *topic)
{
	topic->newer = NULL;
	topic->older = t->newest;
	*(t->newest != NULL ? &t->newest->newer : &t->oldest) = topic;
	t->newest = topic;
}

static void drop_handle(struct wp_topics *t, struct wp_topic *topic)
{
	if (topic->handle != NULL)
		t->drop(topic->handle);
	topic->handle = NULL;
}

static void evict(struct wp_topics *t, struct wp_topic *topic)
{
	struct wp_topic **at = bucket_of(t, topic->hash);

	while (*at != topic)
		at = &(*at)->next;
	*at = topic->next;
	unlink_age(t, topic);
	t->count--;
	t->partition_count -= (size_t)topic->partition_count;
	drop_handle(t, topic);
	wp_queue_clear(&topic->queue);
	free(topic->partitions);
	free(topic->no_creation);
	free(topic);
}

static void evict_idle(struct wp_topics *t)
{
	struct wp_topic *topic = t->oldest;

	while (topic != NULL && t->count >= t->capacity) {
		struct wp_topic *newer = topic->newer;
		if (topic->queue.first == NULL && topic->in_flight == 0 && !topic->is_deferred)
			evict(t, topic);
		topic = newer;
	}
}

static struct wp_topic *insert_topic(struct wp_topics *t, uint64_t hash, struct wp_span name)
{
	struct wp_topic *topic = calloc(1, sizeof(*topic));
	struct wp_topic **bucket = bucket_of(t, hash);

	if (topic == NULL)
		return NULL;
	memcpy(topic->name, name.data, name.size);
	topic->name_size = name.size;
	topic->hash = hash;
	topic->next = *bucket;
	*bucket = topic;
	link_newest(t, topic);
	t->count++;
	return topic;
}

enum wp_rc wp_topics_init(struct wp_topics *t, size_t capacity, void (*drop)(void *handle))
{
	size_t bucket_count = 16;

	assert(capacity >= 2);
	assert(drop != NULL);
	while (bucket_count < capacity)
		bucket_count *= 2;
	struct wp_topic **buckets = calloc(bucket_count, sizeof(struct wp_topic *));
	if (buckets == NULL)
		return WP_NOMEM;
	*t = (struct wp_topics){
		.buckets = buckets,
		.bucket_count = bucket_count,
		.capacity = capacity,
		.drop = drop,
	};
	return WP_OK;
}

void wp_topics_release(struct wp_topics *t)
{
	while (t->oldest != NULL)
		evict(t, t->oldest);
	free(t->buckets);
	*t = (struct wp_topics){ 0 };
}

struct wp_topic *wp_topics_get(struct wp_topics *t, struct wp_span name)
{
	/* Most records go where the last one went. */
	if (t->newest != NULL && t->newest->name_size == name.size &&
	    memcmp(t->newest->name, name.data, name.size) == 0)
		return t->newest;
	if (name.size > WP_TOPIC_NAME_MAX || wp_span_is_null(name))
		return NULL;

	uint64_t hash = wp_hash(WP_HASH_BEGIN, name);
	struct wp_topic *topic = topic_in_bucket(t, hash, name);
	if (topic != NULL) {
		unlink_age(t, topic);
		link_newest(t, topic);
		return topic;
	}
	evict_idle(t);
	return insert_topic(t, hash, name);
}

struct wp_topic *wp_topics_find(const struct wp_topics *t, const char *name)
{
	struct wp_span span = wp_span_of(name);

	return topic_in_bucket(t, wp_hash(WP_HASH_BEGIN, span), span);
}

/* ---- queued records ---- */

void wp_topics_set_state(struct wp_topics *t, struct wp_topic *topic, enum wp_topic_state state)
{
	if (topic->state == state)
		return;
	if (state == WP_TOPIC_READY)
		t->waiting_count -= topic->queue.count;
	else
		t->waiting_count += topic->queue.count;
	topic->state = state;
}

void wp_topics_push(struct wp_topics *t, struct wp_topic *topic, struct wp_queued *item)
{
	wp_queue_push(&topic->queue, item);
	t->queued_count++;
	if (topic->state != WP_TOPIC_READY)
		t->waiting_count++;
}

struct wp_queued *wp_topics_pop(struct wp_topics *t, struct wp_topic *topic)
{
	struct wp_queued *item = wp_queue_pop(&topic->queue);

	if (item == NULL)
		return NULL;
	t->queued_count--;
	if (topic->state != WP_TOPIC_READY)
		t->waiting_count--;
	return item;
}

void wp_topics_clear_queues(struct wp_topics *t)
{
	for (struct wp_topic *topic = t->newest; topic != NULL; topic = topic->older)
		wp_queue_clear(&topic->queue);
	t->queued_count = t->waiting_count = 0;
}

void wp_topics_retry(struct wp_topics *t, struct wp_topic *topic)
{
	topic->is_retried = t->any_is_retried = true;
}

void wp_topics_retry_all(struct wp_topics *t)
{
	for (struct wp_topic *topic = t->newest; topic != NULL && t->queued_count > 0;
	     topic = topic->older) {
		if (topic->queue.first != NULL)
			wp_topics_retry(t, topic);
	}
}

struct wp_topic *wp_topics_next_retried(struct wp_topics *t, const struct wp_topic *after)
{
	struct wp_topic *topic = after != NULL ? after->older : NULL;

	if (after == NULL && t->any_is_retried) {
		topic = t->newest;
		t->any_is_retried = false;
	}
	while (topic != NULL && !topic->is_retried)
		topic = topic->older;
	if (topic != NULL)
		topic->is_retried = false;
	return topic;
}

/* ---- partitions ---- */

static void reset_partitions(struct wp_topic_partition *partitions, int32_t from, int32_t to)
{
	for (int32_t i = from; i < to; i++)
		partitions[i] = (struct wp_topic_partition){ .confirmed_at_ms = INT64_MIN };
}

void wp_topics_drop_handles(struct wp_topics *t)
{
	for (struct wp_topic *topic = t->newest; topic != NULL; topic = topic->older) {
		drop_handle(t, topic);
		topic->in_flight = 0;
		for (int32_t i = 0; i < topic->partition_count; i++) {
			topic->partitions[i].pioneer = 0;
			topic->partitions[i].confirmed_at_ms = INT64_MIN;
		}
	}
}

bool wp_partition_lost_data(struct wp_topic_partition *partition, wp_ticket ticket, int64_t offset,
			    int64_t *ret_before)
{
	if (offset < 0 || ticket <= partition->ticket)
		return false;
	bool lost = partition->ticket != 0 && offset <= partition->offset;
	if (lost)
		*ret_before = partition->offset;
	partition->ticket = ticket;
	partition->offset = offset;
	return lost;
}

enum wp_rc wp_topics_set_partitions(struct wp_topics *t, struct wp_topic *topic, int32_t count)
{
	assert(count > 0);
	if (count > topic->partition_count) {
		struct wp_topic_partition *partitions =
			realloc(topic->partitions, (size_t)count * sizeof(*partitions));
		if (partitions == NULL)
			return WP_NOMEM;
		reset_partitions(partitions, topic->partition_count, count);
		topic->partitions = partitions;
	}
	t->partition_count += (size_t)count - (size_t)topic->partition_count;
	topic->partition_count = count;
	return WP_OK;
}
