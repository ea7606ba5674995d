#include <assert.h>
#include <stdlib.h>

#include "walpost/relay/faults.h"
#include "walpost/relay/ledger.h"

static struct wp_ledger_event *event_at(const struct wp_ledger *l, wp_ticket ticket)
{
	return &l->events[ticket % l->events_max];
}

static struct wp_ledger_entry *entry_at(const struct wp_ledger *l, uint64_t number)
{
	assert(number >= l->first_entry && number < l->next_entry);
	return &l->entries[number % l->events_max];
}

static void move_confirmed(struct wp_ledger *l, wp_lsn lsn)
{
	l->confirmed_lsn = wp_lsn_max(l->confirmed_lsn, lsn);
}

/* Returns the newest entry whose COMMIT was read, or NULL. */
static struct wp_ledger_entry *last_closed(const struct wp_ledger *l)
{
	uint64_t end = l->next_entry - (l->open ? 1 : 0);
	return end == l->first_entry ? NULL : entry_at(l, end - 1);
}

static bool passes(const struct wp_ledger_entry *e)
{
	return e->closed && e->pending == 0;
}

static void advance_confirmed(struct wp_ledger *l)
{
	while (l->first_ticket < l->next_ticket && event_at(l, l->first_ticket)->settled)
		l->first_ticket++;
	while (l->first_entry < l->next_entry && passes(entry_at(l, l->first_entry))) {
		move_confirmed(l, entry_at(l, l->first_entry)->end_lsn);
		l->first_entry++;
	}
	if (wp_fault(WP_FAULT_ANY_ENTRY_PASSES) && last_closed(l) && passes(last_closed(l)))
		move_confirmed(l, last_closed(l)->end_lsn);
}

enum wp_rc wp_ledger_init(struct wp_ledger *l, size_t events_max, size_t bytes_max)
{
	assert(events_max > 0 && bytes_max > 0);
	*l = (struct wp_ledger){
		.events = calloc(events_max, sizeof(*l->events)),
		.entries = calloc(events_max, sizeof(*l->entries)),
		.events_max = events_max,
		.bytes_max = bytes_max,
		.first_ticket = 1,
		.next_ticket = 1,
	};
	if (l->events == NULL || l->entries == NULL) {
		wp_ledger_release(l);
		return WP_NOMEM;
	}
	return WP_OK;
}

void wp_ledger_release(struct wp_ledger *l)
{
	free(l->events);
	free(l->entries);
	*l = (struct wp_ledger){ 0 };
}

enum wp_rc wp_ledger_widen(struct wp_ledger *l, size_t events_max, size_t bytes_max)
{
	struct wp_ledger wide = *l;

	assert(events_max >= l->events_max && bytes_max >= l->bytes_max);
	wide.events_max = events_max;
	wide.bytes_max = bytes_max;
	wide.events = calloc(events_max, sizeof(*wide.events));
	wide.entries = calloc(events_max, sizeof(*wide.entries));
	if (wide.events == NULL || wide.entries == NULL) {
		free(wide.events);
		free(wide.entries);
		return WP_NOMEM;
	}
	for (wp_ticket t = l->first_ticket; t < l->next_ticket; t++)
		*event_at(&wide, t) = *event_at(l, t);
	for (uint64_t e = l->first_entry; e < l->next_entry; e++)
		*entry_at(&wide, e) = *entry_at(l, e);
	free(l->events);
	free(l->entries);
	*l = wide;
	return WP_OK;
}

bool wp_ledger_has_room(const struct wp_ledger *l, size_t size)
{
	if (l->next_ticket - l->first_ticket >= l->events_max)
		return false;
	return l->in_flight == 0 || (l->bytes < l->bytes_max && size <= l->bytes_max - l->bytes);
}

wp_ticket wp_ledger_next(const struct wp_ledger *l)
{
	return l->next_ticket;
}

void wp_ledger_add(struct wp_ledger *l, size_t size)
{
	assert(l->next_ticket - l->first_ticket < l->events_max);
	if (!l->open) {
		assert(l->next_entry - l->first_entry < l->events_max);
		l->next_entry++;
		*entry_at(l, l->next_entry - 1) = (struct wp_ledger_entry){ 0 };
		l->open = true;
	}
	entry_at(l, l->next_entry - 1)->pending++;
	*event_at(l, l->next_ticket) = (struct wp_ledger_event){
		.entry = l->next_entry - 1,
		.size = size,
	};
	l->next_ticket++;
	l->in_flight++;
	l->bytes += size;
	if (l->bytes > l->bytes_highest)
		l->bytes_highest = l->bytes;
	if (wp_fault(WP_FAULT_CONFIRM_ON_RECEIPT))
		(void)wp_ledger_settle(l, l->next_ticket - 1);
}

void wp_ledger_commit(struct wp_ledger *l, wp_lsn end_lsn)
{
	if (!l->open) {
		wp_ledger_keepalive(l, end_lsn);
		return;
	}
	struct wp_ledger_entry *e = entry_at(l, l->next_entry - 1);
	e->closed = true;
	e->end_lsn = end_lsn;
	l->open = false;
	l->received_lsn = wp_lsn_max(l->received_lsn, end_lsn);
	advance_confirmed(l);
}

void wp_ledger_keepalive(struct wp_ledger *l, wp_lsn wal_end)
{
	struct wp_ledger_entry *e = last_closed(l);

	l->received_lsn = wp_lsn_max(l->received_lsn, wal_end);
	if (e == NULL || wp_fault(WP_FAULT_KEEPALIVE_JUMPS))
		move_confirmed(l, wal_end);
	else
		e->end_lsn = wp_lsn_max(e->end_lsn, wal_end);
}

enum wp_settled wp_ledger_settle(struct wp_ledger *l, wp_ticket ticket)
{
	if (ticket < l->first_ticket || ticket >= l->next_ticket || event_at(l, ticket)->settled)
		return WP_SETTLED_ALREADY;
	struct wp_ledger_event *event = event_at(l, ticket);
	struct wp_ledger_entry *e = entry_at(l, event->entry);
	assert(e->pending > 0 && l->in_flight > 0 && l->bytes >= event->size);
	event->settled = true;
	e->pending--;
	l->in_flight--;
	l->bytes -= event->size;
	advance_confirmed(l);
	return WP_SETTLED;
}

void wp_ledger_drop_open(struct wp_ledger *l)
{
	if (!l->open)
		return;
	/* It passes without moving the confirmed LSN once its own events are confirmed. */
	entry_at(l, l->next_entry - 1)->closed = true;
	l->open = false;
	advance_confirmed(l);
}

void wp_ledger_lose(struct wp_ledger *l)
{
	l->lost = true;
}

void wp_ledger_forget(struct wp_ledger *l, wp_lsn lsn)
{
	l->lost = false;
	l->first_ticket = l->next_ticket;
	l->first_entry = l->next_entry;
	l->open = false;
	l->in_flight = 0;
	l->bytes = 0;
	l->confirmed_lsn = lsn;
	l->received_lsn = lsn;
}

size_t wp_ledger_take_highest(struct wp_ledger *l)
{
	size_t highest = l->bytes_highest;

	l->bytes_highest = l->bytes;
	return highest;
}

wp_lsn wp_ledger_confirmed_lsn(const struct wp_ledger *l)
{
	return l->confirmed_lsn;
}

wp_lsn wp_ledger_received_lsn(const struct wp_ledger *l)
{
	return l->received_lsn;
}
