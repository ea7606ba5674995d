#include "isolation.h"
#include "walpost/relay/faults.h"

void wp_isolation_begin(struct wp_isolation *i, const struct wp_position *last, wp_lsn received_lsn)
{
	i->on = true;
	i->one_in_flight = true;
	i->alone = 0; /* what is in flight now is not alone */
	i->last_suspect = *last;
	i->until = wp_lsn_max(received_lsn, last->commit_lsn + 1);
	i->batching = WP_BATCHING_ONE_BY_ONE;
}

void wp_isolation_end(struct wp_isolation *i)
{
	*i = (struct wp_isolation){
		.batching = WP_BATCHING_NORMAL,
		.batching_now = i->batching_now, /* the restart is still to come */
		.refusals = i->refusals,
	};
}

enum wp_batching wp_isolation_restart(struct wp_isolation *i)
{
	i->batching_now = i->batching;
	return i->batching;
}

/* This is the order of a stream; wp_position_compare() is that of consumers, over all streams. */
static bool is_after(const struct wp_position *a, const struct wp_position *b)
{
	if (a->commit_lsn != b->commit_lsn)
		return a->commit_lsn > b->commit_lsn;
	return a->ordinal > b->ordinal;
}

void wp_isolation_sent(struct wp_isolation *i, const struct wp_position *position, wp_ticket ticket)
{
	/* Batches are smaller only once the sink has begun anew: before that nothing goes alone. */
	bool alone = i->one_in_flight && i->batching_now == WP_BATCHING_ONE_BY_ONE;

	if (is_after(position, &i->last_suspect))
		i->one_in_flight = false;
	i->alone = alone ? ticket : 0;
}

bool wp_isolation_went_alone(const struct wp_isolation *i, wp_ticket ticket)
{
	bool is_it = ticket == i->alone;

	if (wp_fault(WP_FAULT_GUESS_GUILTY))
		is_it = i->batching_now == WP_BATCHING_ONE_BY_ONE;
	return i->one_in_flight && is_it;
}

bool wp_isolation_is_past(const struct wp_isolation *i, bool in_transaction, wp_lsn confirmed_lsn)
{
	return i->on && !in_transaction && confirmed_lsn >= i->until;
}

bool wp_isolation_refuses_always(struct wp_isolation *i, const char *code, wp_lsn confirmed_lsn,
				 size_t max, bool *ret_isolate)
{
	if (wp_retry_is_useless(&i->refusals, code, confirmed_lsn, max))
		return true;
	*ret_isolate = i->refusals.count + 1 >= max && !i->one_in_flight;
	return false;
}
