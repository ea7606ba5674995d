#include "topics.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/hash.h"

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

/* Each has a NUL behind it, as in a record. */
static size_t size_with_nul(struct wp_span bytes)
{
	return wp_span_is_null(bytes) ? 0 : bytes.size + 1;
}

static size_t copy_size(const struct wp_record *r)
{
	size_t size = size_with_nul(r->topic) + size_with_nul(r->key) + size_with_nul(r->value) +
		      size_with_nul(r->id);

	size += r->table != NULL ? strlen(r->table) + 1 : 0;
	for (size_t i = 0; i < r->header_count; i++)
		size += size_with_nul(r->headers[i].name) + size_with_nul(r->headers[i].value);
	return size;
}

static struct wp_span copy_bytes(uint8_t **at, struct wp_span bytes)
{
	if (wp_span_is_null(bytes))
		return bytes;
	struct wp_span kept = { *at, bytes.size };
	if (bytes.size > 0)
		memcpy(*at, bytes.data, bytes.size);
	(*at)[bytes.size] = '\0';
	*at += bytes.size + 1;
	return kept;
}

struct wp_queued *wp_queued_new(wp_ticket ticket, const struct wp_record *record)
{
	size_t headers_size = record->header_count * sizeof(struct wp_header);
	struct wp_queued *item = malloc(sizeof(*item) + headers_size + copy_size(record));

	if (item == NULL)
		return NULL;
	*item = (struct wp_queued){ .ticket = ticket, .record = *record };
	/* They stand behind a struct that holds pointers, so they are aligned for them. */
	struct wp_header *headers = (struct wp_header *)(item + 1);
	uint8_t *at = (uint8_t *)(item + 1) + headers_size;
	struct wp_record *r = &item->record;
	r->topic = copy_bytes(&at, record->topic);
	r->key = copy_bytes(&at, record->key);
	r->value = copy_bytes(&at, record->value);
	r->id = copy_bytes(&at, record->id);
	if (record->table != NULL)
		r->table = (const char *)copy_bytes(&at, wp_span_of(record->table)).data;
	for (size_t i = 0; i < record->header_count; i++) {
		headers[i].name = copy_bytes(&at, record->headers[i].name);
		headers[i].value = copy_bytes(&at, record->headers[i].value);
	}
	r->headers = headers;
	r->columns = NULL;
	r->column_count = r->beside_value = 0;
	return item;
}

void wp_queue_push(struct wp_queue *q, struct wp_queued *item)
{
	item->next = NULL;
	*(q->first != NULL ? &q->last->next : &q->first) = item;
	q->last = item;
	q->count++;
}

struct wp_queued *wp_queue_pop(struct wp_queue *q)
{
	struct wp_queued *item = q->first;

	if (item == NULL)
		return NULL;
	assert(q->count > 0);
	q->first = item->next;
	q->last = q->first != NULL ? q->last : NULL;
	q->count--;
	item->next = NULL;
	return item;
}

void wp_queue_clear(struct wp_queue *q)
{
	while (q->first != NULL)
		free(wp_queue_pop(q));
}

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

void wp_topics_drop_handles(struct wp_topics *t)
{
	for (struct wp_topic *topic = t->newest; topic != NULL; topic = topic->older) {
		drop_handle(t, topic);
		topic->in_flight = 0;
		topic->recounts = false;
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

void wp_topic_sent(struct wp_topic *topic, int32_t partition, wp_ticket ticket, bool alone)
{
	topic->in_flight++;
	if (alone)
		topic->partitions[partition].pioneer = ticket;
}

bool wp_topics_reported(struct wp_topics *t, struct wp_topic *topic, int32_t index,
			const struct wp_report *report, int64_t offset, int64_t now_ms,
			int64_t *ret_before)
{
	assert(topic != NULL && topic->in_flight > 0);
	topic->in_flight--;
	if (index < 0 || index >= topic->partition_count)
		return false;
	struct wp_topic_partition *partition = &topic->partitions[index];
	/* What waits behind a record that was taken back came after it; behind a refused one
	 * nothing is sent. */
	if (partition->pioneer == report->ticket) {
		partition->pioneer = 0;
		wp_topics_retry(t, topic);
	}
	if (report->outcome != WP_CONFIRMED)
		return false;
	partition->confirmed_at_ms = now_ms;
	if (topic->trouble == WP_TOPIC_FINE)
		topic->failures = 0;
	return wp_partition_lost_data(partition, report->ticket, offset, ret_before);
}

enum wp_rc wp_topics_set_partitions(struct wp_topics *t, struct wp_topic *topic, int32_t count)
{
	assert(count > 0);
	if (count > topic->partition_count) {
		struct wp_topic_partition *partitions =
			realloc(topic->partitions, (size_t)count * sizeof(*partitions));
		if (partitions == NULL)
			return WP_NOMEM;
		for (int32_t i = topic->partition_count; i < count; i++)
			partitions[i] = (struct wp_topic_partition){ .confirmed_at_ms = INT64_MIN };
		topic->partitions = partitions;
	}
	t->partition_count += (size_t)count - (size_t)topic->partition_count;
	topic->partition_count = count;
	return WP_OK;
}
