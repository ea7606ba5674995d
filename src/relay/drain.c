#include "drain.h"

#include <stdio.h>
#include <string.h>

#include "walpost/relay/faults.h"

void wp_drain_mark(struct wp_drain *d, struct wp_span number)
{
	/* A number longer than any of ours is nobody's. */
	if (d->state == WP_DRAIN_STOPS || number.size == 0 || number.size >= sizeof(d->number))
		return;
	*d = (struct wp_drain){ .state = WP_DRAIN_MARKED };
	memcpy(d->number, number.data, number.size);
}

void wp_drain_commit(struct wp_drain *d, wp_lsn end_lsn)
{
	if (d->state != WP_DRAIN_MARKED)
		return;
	d->state = WP_DRAIN_HELD;
	d->lsn = end_lsn;
}

void wp_drain_begin(struct wp_drain *d, enum wp_drain_begins where)
{
	if (d->state == WP_DRAIN_STOPS)
		return;
	d->asked = false;
	if (where == WP_DRAIN_REREAD || d->state == WP_DRAIN_MARKED)
		*d = (struct wp_drain){ 0 };
}

/* Is `number` among those of `drains`, which have a space between each two? */
static bool waits(const struct wp_slot_state *slot, const char *number)
{
	const char *at = slot->drains;
	size_t size = strlen(number);

	while (*at != '\0') {
		size_t next = strcspn(at, " ");
		if (next == size && memcmp(at, number, size) == 0)
			return true;
		at += next + strspn(at + next, " ");
	}
	return false;
}

/*
 * A question that is under way may have been answered before the drain began, so that only the
 * next one counts.
 */
enum wp_drain_step wp_drain_step(struct wp_drain *d, bool rests, const struct wp_slot_state *slot)
{
	if (d->state != WP_DRAIN_HELD)
		return WP_DRAIN_WAITS;
	if ((!rests && !wp_fault(WP_FAULT_DRAIN_HASTY)) || slot->asking)
		return WP_DRAIN_WAITS;
	if (!d->asked) {
		d->asked = true;
		d->answers = slot->answers;
		return WP_DRAIN_ASK;
	}
	bool is_answered = slot->answers != d->answers;
	/* It may be that nothing more may be confirmed: the next answer tells. */
	if (is_answered && slot->loss.text[0] != '\0')
		return WP_DRAIN_WAITS;
	if ((is_answered && waits(slot, d->number)) || wp_fault(WP_FAULT_DRAIN_UNASKED)) {
		d->state = WP_DRAIN_STOPS;
		return WP_DRAIN_STOP;
	}
	*d = (struct wp_drain){ 0 };
	return is_answered ? WP_DRAIN_GOES_ON : WP_DRAIN_UNANSWERED;
}
