/*
 * The ledger as one would write it without a thought for speed or memory: everything
 * that happened is kept in a list, and each question walks all of it.
 */
#ifndef WALPOST_TESTS_NAIVE_LEDGER_H
#define WALPOST_TESTS_NAIVE_LEDGER_H

#include <stdbool.h>

#include "walpost/relay/ledger.h"

enum { NAIVE_ITEMS_MAX = 4096, NAIVE_TICKETS_MAX = 4096 };

/* A transaction with events, or a mark: "up to here there is nothing for us". */
struct naive_item {
	bool mark;
	bool closed;
	wp_lsn end_lsn; /* 0: dropped */
	wp_ticket first;
	wp_ticket last; /* behind it */
};

struct naive_ledger {
	struct naive_item items[NAIVE_ITEMS_MAX]; /* since all was forgotten */
	size_t count;
	bool open; /* the last item */
	wp_lsn base;
	wp_lsn read;
	wp_ticket first;
	wp_ticket next;
	bool settled[NAIVE_TICKETS_MAX];
	size_t sizes[NAIVE_TICKETS_MAX];
	size_t events_max;
	size_t bytes_max;
};

void naive_init(struct naive_ledger *n, size_t events_max, size_t bytes_max);
void naive_add(struct naive_ledger *n, size_t size);
void naive_commit(struct naive_ledger *n, wp_lsn end_lsn);
void naive_keepalive(struct naive_ledger *n, wp_lsn wal_end);
enum wp_settled naive_settle(struct naive_ledger *n, wp_ticket ticket);
void naive_drop_open(struct naive_ledger *n);
void naive_forget(struct naive_ledger *n, wp_lsn lsn);

wp_lsn naive_safe(const struct naive_ledger *n);
size_t naive_in_flight(const struct naive_ledger *n);
size_t naive_bytes(const struct naive_ledger *n);
bool naive_has_room(const struct naive_ledger *n, size_t size);
/* One of those not settled yet, by number; 0: none. */
wp_ticket naive_pick(const struct naive_ledger *n, uint64_t random);

#endif
