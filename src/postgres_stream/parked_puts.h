/*
 * Keeps events that were put into a parked store and are not in the table yet, in order: each waits, is under
 * way, is committed, and durable when it may be collected.
 *
 * Owns: their rows, until they are durable. Pure. Bounded: WP_PARKED_PUT_MAX events and
 * WP_PARKED_PUT_SIZE_MAX bytes not durable; one larger when it is alone.
 */
#ifndef WALPOST_POSTGRES_STREAM_PARKED_PUTS_H
#define WALPOST_POSTGRES_STREAM_PARKED_PUTS_H

#include "walpost/base/buffer.h"
#include "walpost/source/parked.h"

struct wp_parked_put {
	uint64_t ticket;
	char *text;  /* owned: "[", the row, "]", NUL: a JSON array; NULL once it is durable */
	size_t size; /* of the row */
};

/* A ring: its `count` events are, from the first on, durable, then committed, then sent, then not. */
struct wp_parked_puts {
	struct wp_parked_put ring[WP_PARKED_PUT_MAX];
	size_t first;
	size_t count;
	size_t durable;
	size_t committed;
	size_t sent;
	size_t size;   /* bytes of those not durable */
	size_t singly; /* so many are sent one by one: one of them is refused */
};

/* The row is copied. Returns WP_FULL, WP_NOMEM. */
enum wp_rc wp_parked_puts_add(struct wp_parked_puts *p, uint64_t ticket,
			      struct wp_span row) WP_MUST_CHECK;
void wp_parked_puts_clear(struct wp_parked_puts *p);
/* Returns the next that is not committed; there must be one. */
const struct wp_parked_put *wp_parked_puts_next(const struct wp_parked_puts *p);
/* Says how many from that one on go in one statement: 1 or more. */
size_t wp_parked_puts_batch(const struct wp_parked_puts *p);
/* Writes so many as a JSON array, NUL-terminated. */
enum wp_rc wp_parked_puts_json(const struct wp_parked_puts *p, size_t count,
			       struct wp_buffer *into) WP_MUST_CHECK;
void wp_parked_puts_sent(struct wp_parked_puts *p, size_t count);
/* What was sent failed, or nothing is known of it: it is sent again. */
void wp_parked_puts_unsent(struct wp_parked_puts *p);
/* The same, but one by one. Returns false when it was one. */
bool wp_parked_puts_divide(struct wp_parked_puts *p);
/* What was sent is committed; returns how many. */
size_t wp_parked_puts_committed(struct wp_parked_puts *p);
void wp_parked_puts_durable(struct wp_parked_puts *p, size_t count);
/* What is committed and not durable may be lost: it is sent again. */
void wp_parked_puts_uncommitted(struct wp_parked_puts *p);
/* Gives the tickets of what is durable, and forgets them. */
size_t wp_parked_puts_collect(struct wp_parked_puts *p, uint64_t *tickets, size_t max);

#endif
