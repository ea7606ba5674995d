#include "naive_ledger.h"

#include <assert.h>
#include <string.h>

void naive_init(struct naive_ledger *n, size_t events_max, size_t bytes_max)
{
	memset(n, 0, sizeof(*n));
	n->first = n->next = 1;
	n->events_max = events_max;
	n->bytes_max = bytes_max;
}

void naive_add(struct naive_ledger *n, size_t size)
{
	assert(n->next < NAIVE_TICKETS_MAX && n->count < NAIVE_ITEMS_MAX);
	if (!n->open)
		n->items[n->count++] = (struct naive_item){ .first = n->next };
	n->open = true;
	n->sizes[n->next++] = size;
	n->items[n->count - 1].last = n->next;
}

static void close_open(struct naive_ledger *n, wp_lsn end_lsn)
{
	n->items[n->count - 1].closed = true;
	n->items[n->count - 1].end_lsn = end_lsn;
	n->open = false;
}

void naive_commit(struct naive_ledger *n, wp_lsn end_lsn)
{
	if (!n->open) {
		naive_keepalive(n, end_lsn);
		return;
	}
	close_open(n, end_lsn);
	n->read = wp_lsn_max(n->read, end_lsn);
}

/* It speaks of what was sent before: of nothing that is in the open transaction. */
void naive_keepalive(struct naive_ledger *n, wp_lsn wal_end)
{
	size_t at = n->count - (n->open ? 1 : 0);

	assert(n->count < NAIVE_ITEMS_MAX);
	memmove(&n->items[at + 1], &n->items[at], (n->count - at) * sizeof(n->items[0]));
	n->items[at] = (struct naive_item){ .mark = true, .end_lsn = wal_end };
	n->count++;
	n->read = wp_lsn_max(n->read, wal_end);
}

enum wp_settled naive_settle(struct naive_ledger *n, wp_ticket ticket)
{
	if (ticket < n->first || ticket >= n->next || n->settled[ticket])
		return WP_SETTLED_ALREADY;
	n->settled[ticket] = true;
	return WP_SETTLED;
}

void naive_drop_open(struct naive_ledger *n)
{
	if (n->open)
		close_open(n, 0);
}

void naive_forget(struct naive_ledger *n, wp_lsn lsn)
{
	n->count = 0;
	n->open = false;
	n->first = n->next;
	n->base = n->read = lsn;
}

static bool passes(const struct naive_ledger *n, const struct naive_item *item)
{
	if (!item->mark && !item->closed)
		return false;
	for (wp_ticket t = item->first; t < item->last; t++) {
		if (!n->settled[t])
			return false;
	}
	return true;
}

wp_lsn naive_safe(const struct naive_ledger *n)
{
	wp_lsn confirmed_lsn = n->base;

	for (size_t i = 0; i < n->count && passes(n, &n->items[i]); i++)
		confirmed_lsn = wp_lsn_max(confirmed_lsn, n->items[i].end_lsn);
	return confirmed_lsn;
}

size_t naive_in_flight(const struct naive_ledger *n)
{
	size_t count = 0;

	for (wp_ticket t = n->first; t < n->next; t++)
		count += n->settled[t] ? 0 : 1;
	return count;
}

size_t naive_bytes(const struct naive_ledger *n)
{
	size_t bytes = 0;

	for (wp_ticket t = n->first; t < n->next; t++)
		bytes += n->settled[t] ? 0 : n->sizes[t];
	return bytes;
}

bool naive_has_room(const struct naive_ledger *n, size_t size)
{
	wp_ticket oldest = n->first;

	while (oldest < n->next && n->settled[oldest])
		oldest++;
	if (n->next - oldest >= n->events_max)
		return false;
	size_t bytes = naive_bytes(n);
	return naive_in_flight(n) == 0 || (bytes < n->bytes_max && bytes + size <= n->bytes_max);
}

wp_ticket naive_pick(const struct naive_ledger *n, uint64_t random)
{
	size_t left = naive_in_flight(n);

	if (left == 0)
		return 0;
	left = (size_t)(random % left);
	for (wp_ticket t = n->first; t < n->next; t++) {
		if (!n->settled[t] && left-- == 0)
			return t;
	}
	return 0;
}
