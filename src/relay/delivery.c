#include <stddef.h>

#include "delivery.h"

enum { STALLED_MS = 15 * 1000, REPEATED = 3 };

void wp_delivery_init(struct wp_delivery *d)
{
	*d = (struct wp_delivery){ .confirmed_ms = INT64_MIN };
}

void wp_delivery_confirmed(struct wp_delivery *d, int64_t now_ms)
{
	d->confirmed++;
	d->confirmed_ms = now_ms;
}

void wp_delivery_settled(struct wp_delivery *d)
{
	d->settled++;
}

void wp_delivery_rewound(struct wp_delivery *d)
{
	d->rewinds++;
}

bool wp_delivery_repeats(const struct wp_delivery *d)
{
	return d->rewinds >= REPEATED;
}

void wp_delivery_begin(struct wp_delivery *d, const struct wp_ledger *l, int64_t now_ms)
{
	/* What waited while there was no stream has not waited for Kafka. */
	if (d->stalled == NULL && !wp_delivery_repeats(d))
		d->since_ms = now_ms;
	d->waited_ms = now_ms;
	/* Otherwise it goes on where the last stream ended. */
	if (l->first_ticket == l->next_ticket)
		d->base = l->first_ticket;
}

/* Was anything confirmed in order, and beyond what was confirmed before? */
static bool advances(struct wp_delivery *d, const struct wp_ledger *l)
{
	if (l->confirmed_lsn != d->lsn) {
		d->lsn = l->confirmed_lsn;
		d->base = l->first_ticket;
		d->best = d->rewinds = 0;
		return true;
	}
	if (l->first_ticket - d->base <= d->best)
		return false;
	d->best = l->first_ticket - d->base;
	return true;
}

bool wp_delivery_step(struct wp_delivery *d, const struct wp_ledger *l, const char *cause,
		      int64_t now_ms)
{
	const char *before = d->stalled;
	bool waits = cause != NULL;
	bool any = d->confirmed + d->settled > d->seen;
	bool moved = advances(d, l) || (any && !wp_delivery_repeats(d));

	d->seen = d->confirmed + d->settled;
	/* Turns may lie far apart while nothing happens: the wait begins with this turn. */
	if (moved || (before == NULL && !(waits && d->waits) && !wp_delivery_repeats(d)))
		d->since_ms = now_ms;
	if (waits)
		d->waited_ms = now_ms;
	d->waits = waits;
	if (before == NULL)
		d->stalled = now_ms - d->since_ms >= STALLED_MS ? cause : NULL;
	else if (moved || now_ms - d->waited_ms >= STALLED_MS)
		d->stalled = NULL;
	else if (waits)
		d->stalled = cause;
	return d->stalled != before;
}

int64_t wp_delivery_due(const struct wp_delivery *d, bool waits)
{
	if (d->stalled != NULL)
		return waits ? INT64_MAX : d->waited_ms + STALLED_MS;
	return waits ? d->since_ms + STALLED_MS : INT64_MAX;
}
