#include "aggregates.h"

#include <stdlib.h>
#include <string.h>

#include "walpost/base/hash.h"

enum { BUCKETS_FIRST = 64, FIND_SINCE_MS = 1000 /* figures are asked for with each turn */ };

enum wp_rc wp_aggregates_init(struct wp_aggregates *set)
{
	*set = (struct wp_aggregates){ .due_ms = INT64_MAX, .since_ms = INT64_MAX };
	set->buckets = calloc(BUCKETS_FIRST, sizeof(struct wp_aggregate *));
	set->bucket_count = BUCKETS_FIRST;
	return set->buckets != NULL ? WP_OK : WP_NOMEM;
}

void wp_aggregates_clear(struct wp_aggregates *set)
{
	for (size_t i = 0; i < set->bucket_count; i++) {
		while (set->buckets[i] != NULL) {
			struct wp_aggregate *next = set->buckets[i]->next;
			free(set->buckets[i]);
			set->buckets[i] = next;
		}
	}
	set->count = 0;
	set->events = 0;
	set->code_count = 0;
	set->due_ms = set->since_ms = INT64_MAX;
	set->is_since_old = false;
}

void wp_aggregates_release(struct wp_aggregates *set)
{
	wp_aggregates_clear(set);
	free(set->buckets);
}

static int64_t oldest_since(const struct wp_aggregates *set)
{
	int64_t since_ms = INT64_MAX;

	for (size_t i = 0; i < set->bucket_count; i++) {
		for (const struct wp_aggregate *a = set->buckets[i]; a != NULL; a = a->next)
			since_ms = a->since_ms < since_ms ? a->since_ms : since_ms;
	}
	return since_ms;
}

void wp_aggregates_tick(struct wp_aggregates *set, int64_t now_ms)
{
	if (!set->is_since_old || now_ms - set->since_found_ms < FIND_SINCE_MS)
		return;
	set->since_ms = oldest_since(set);
	set->is_since_old = false;
	set->since_found_ms = now_ms;
}

/* An event without a key is an aggregate of its own, by its position. */
static uint64_t hash_of(struct wp_span outbox, struct wp_span key,
			const struct wp_position *position)
{
	uint64_t hash = wp_hash(WP_HASH_BEGIN, outbox);

	if (!wp_span_is_null(key))
		return wp_hash(hash * 31, key);
	return (hash ^ position->commit_lsn) * WP_HASH_PRIME + position->ordinal;
}

static bool is_it(const struct wp_aggregate *a, uint64_t hash, struct wp_span outbox,
		  struct wp_span key, const struct wp_position *position)
{
	if (a->hash != hash || !wp_span_equal(a->outbox, outbox) ||
	    a->has_key == wp_span_is_null(key))
		return false;
	if (!a->has_key)
		return wp_position_compare(&a->position, position) == 0;
	return a->key_size == key.size && memcmp(a->key, key.data, key.size) == 0;
}

struct wp_aggregate *wp_aggregates_find(const struct wp_aggregates *set, struct wp_span outbox,
					struct wp_span key, const struct wp_position *position)
{
	uint64_t hash = hash_of(outbox, key, position);
	struct wp_aggregate *a = set->buckets[hash & (set->bucket_count - 1)];

	while (a != NULL && !is_it(a, hash, outbox, key, position))
		a = a->next;
	return a;
}

/* Without memory for more buckets the set is slower, and no less right. */
static void widen(struct wp_aggregates *set)
{
	size_t count = set->bucket_count * 2;
	struct wp_aggregate **buckets = calloc(count, sizeof(struct wp_aggregate *));

	if (buckets == NULL)
		return;
	for (size_t i = 0; i < set->bucket_count; i++) {
		while (set->buckets[i] != NULL) {
			struct wp_aggregate *a = set->buckets[i];
			set->buckets[i] = a->next;
			a->next = buckets[a->hash & (count - 1)];
			buckets[a->hash & (count - 1)] = a;
		}
	}
	free(set->buckets);
	set->buckets = buckets;
	set->bucket_count = count;
}

struct wp_aggregate *wp_aggregates_add(struct wp_aggregates *set, struct wp_span outbox,
				       struct wp_span key, const struct wp_position *position)
{
	struct wp_aggregate *a = calloc(1, sizeof(*a) + key.size + outbox.size);

	if (a == NULL)
		return NULL;
	if (set->count >= set->bucket_count)
		widen(set);
	a->hash = hash_of(outbox, key, position);
	a->outbox = (struct wp_span){ .data = a->key + key.size, .size = outbox.size };
	a->position = *position;
	a->has_key = !wp_span_is_null(key);
	a->key_size = key.size;
	if (key.size > 0)
		memcpy(a->key, key.data, key.size);
	if (outbox.size > 0)
		memcpy(a->key + key.size, outbox.data, outbox.size);
	struct wp_aggregate **bucket = &set->buckets[a->hash & (set->bucket_count - 1)];
	a->next = *bucket;
	*bucket = a;
	set->count++;
	return a;
}

void wp_aggregates_drop(struct wp_aggregates *set, struct wp_aggregate *a)
{
	struct wp_aggregate **at = &set->buckets[a->hash & (set->bucket_count - 1)];

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	set->count--;
	set->is_since_old |= a->since_ms <= set->since_ms;
	if (set->count == 0)
		set->since_ms = INT64_MAX;
	free(a);
}

/* -- reasons, counted ---------------------------------------------------------------- */

static unsigned code_number(struct wp_aggregates *set, struct wp_span code)
{
	unsigned i = 0;

	while (i < set->code_count && !wp_span_is(code, set->codes[i].code))
		i++;
	if (i < set->code_count)
		return i;
	if (set->code_count == WP_PARKING_CODES_MAX)
		return WP_PARKING_CODES_MAX - 1;
	if (set->code_count == WP_PARKING_CODES_MAX - 1)
		code = wp_span_of("OTHER");
	size_t size = code.size < WP_PARKING_CODE_SIZE ? code.size : WP_PARKING_CODE_SIZE - 1;
	set->codes[i] = (struct wp_parking_code){ 0 };
	if (size > 0)
		memcpy(set->codes[i].code, code.data, size);
	set->code_count++;
	return i;
}

void wp_aggregates_set_code(struct wp_aggregates *set, struct wp_aggregate *a, struct wp_span code,
			    bool is_new)
{
	if (!is_new)
		set->codes[a->code].aggregates--;
	a->code = code_number(set, code);
	set->codes[a->code].aggregates++;
}

void wp_aggregates_count(struct wp_aggregates *set, struct wp_aggregate *a, uint64_t events)
{
	set->events = set->events - a->events + events;
	a->events = events;
}

void wp_aggregates_set_due(struct wp_aggregates *set, struct wp_aggregate *a, int64_t due_ms)
{
	a->due_ms = due_ms;
	if (due_ms < set->due_ms)
		set->due_ms = due_ms;
}

void wp_aggregates_set_since(struct wp_aggregates *set, struct wp_aggregate *a, int64_t since_ms)
{
	a->since_ms = since_ms;
	if (since_ms < set->since_ms)
		set->since_ms = since_ms;
}

bool wp_aggregate_is(const struct wp_aggregate *a, struct wp_span outbox, struct wp_span key,
		     const struct wp_position *position)
{
	return is_it(a, hash_of(outbox, key, position), outbox, key, position);
}
