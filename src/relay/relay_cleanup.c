/* Removes old rows of outboxes while the relay streams, once all events before are in Kafka. */
#include "walpost/relay/faults.h"
#include "walpost/source/cleanup.h"

#include "relay_internal.h"

/* All events up to here are in Kafka, by this relay's own ledger in this stream. */
static wp_lsn removable(const struct wp_relay *r)
{
	return wp_fault(WP_FAULT_CLEANUP_RECEIVED) ? wp_ledger_received_lsn(&r->ledger)
						   : wp_relay_flush(r);
}

void wp_relay_clean(struct wp_relay *r)
{
	struct wp_cleanup_store *s = r->setup.cleanup;

	if (s == NULL)
		return;
	const struct wp_cleanup_view *v = s->ops->view(s);
	bool may =
		wp_relay_reads(r) && wp_relay_is_streaming(r) && !r->stop.asked && !r->ledger.lost;
	if (!may && v->state != WP_CLEANUP_CLOSED && !wp_fault(WP_FAULT_CLEANUP_KEPT_BATCH))
		s->ops->close(s);
	if (may && v->state == WP_CLEANUP_CLOSED)
		s->ops->open(s);
	if (may && v->state == WP_CLEANUP_LOOKED && removable(r) >= v->lsn)
		s->ops->remove(s);
}
