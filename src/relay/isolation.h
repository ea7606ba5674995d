/*
 * Which event was it that Kafka refused? An error of the closed list that may be an event's fault
 * names no event: the whole batch is refused. So what was in flight is sent again with one message
 * a batch, until the transaction is passed, and with one event in flight, until the last event is
 * passed that was in flight then. Refused alone, an event is the guilty one.
 *
 * Owns: how the sink batches. Pure.
 */
#ifndef WALPOST_SRC_RELAY_ISOLATION_H
#define WALPOST_SRC_RELAY_ISOLATION_H

#include "retry.h"
#include "walpost/wal/position.h"
#include "walpost/sink/sink.h"

struct wp_isolation {
	bool on;	    /* one message a batch, until `until` is confirmed */
	bool one_in_flight; /* besides, until the last suspect is sent again */
	wp_lsn until;
	struct wp_position last_suspect;
	wp_ticket alone; /* sent last: nothing else is in flight, nor in its batch; 0: none */
	enum wp_batching batching; /* for the next restart of the sink */
	enum wp_batching batching_now;
	struct wp_repeated_trouble refusals;
};

/* `last`: the position of the event sent last; the received LSN: how far the stream was taken. */
void wp_isolation_begin(struct wp_isolation *i, const struct wp_position *last,
			wp_lsn received_lsn);
void wp_isolation_end(struct wp_isolation *i);
/* The sink begins anew; returns how it is to batch. */
enum wp_batching wp_isolation_restart(struct wp_isolation *i);
/* An event went to the sink. */
void wp_isolation_sent(struct wp_isolation *i, const struct wp_position *position,
		       wp_ticket ticket);
/* Was it alone? Its name is that of the event sent last. */
bool wp_isolation_went_alone(const struct wp_isolation *i, wp_ticket ticket);
/* What was suspect is confirmed: what is in flight need only come to rest. */
bool wp_isolation_is_past(const struct wp_isolation *i, bool in_transaction, wp_lsn confirmed_lsn);
/*
 * Kafka refused after the confirmed LSN, for a reason that is not an event's; returns true when that came `max` times.
 * The last try but one is sent one by one (`ret_isolate`), so that the last one names the event.
 */
bool wp_isolation_refuses_always(struct wp_isolation *i, const char *code, wp_lsn confirmed_lsn,
				 size_t max, bool *ret_isolate);

#endif
