#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/kafka/topics.h"

/* Each with a NUL behind it, as in a record. */
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
	/* Behind a struct that holds pointers, so aligned for them. */
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
