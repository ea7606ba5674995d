/*
 * Records that were taken and cannot be sent yet, first in, first out. Each is copied whole, with
 * what names it to people, into one allocation.
 *
 * Owns: its records. Calls: nothing. Bounded by who fills it.
 */
#ifndef WALPOST_KAFKA_QUEUE_H
#define WALPOST_KAFKA_QUEUE_H

#include "walpost/sink/sink.h"

struct wp_queued {
	struct wp_queued *next;
	wp_ticket ticket;
	struct wp_record record; /* all it points to lies behind it; without `columns` */
	struct wp_report report; /* for who gives it back unsent */
};

struct wp_queue {
	struct wp_queued *first; /* NULL: empty */
	struct wp_queued *last;
	size_t count;
};

/* Owned by the caller until it is pushed; free() ends it. NULL: no memory. */
struct wp_queued *wp_queued_new(wp_ticket ticket, const struct wp_record *record);
/* Takes it. */
void wp_queue_push(struct wp_queue *q, struct wp_queued *item);
/* The caller's from here on. NULL: empty. */
struct wp_queued *wp_queue_pop(struct wp_queue *q);
void wp_queue_clear(struct wp_queue *q);

#endif
