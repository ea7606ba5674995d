/* The ledger against the naive one, in thousands of random orders. */
#include <stdio.h>

#include "naive_ledger.h"
#include "seeds.h"
#include "support/check.h"

enum { STEPS = 250, CAPACITY_MAX = 64 };

static struct seeds seeds = { .first = 1, .count = 20000 };

/* Both ledgers, and where in the run we are. */
struct run {
	uint64_t seed;
	uint64_t random;
	int step;
	const char *last; /* what was done */
	struct wp_ledger ledger;
	struct naive_ledger naive;
	wp_lsn lsn;
	size_t size_max;
	unsigned settle_weight;
	/* How often each thing happened: a run that does nothing proves nothing. */
	size_t full;
	size_t moved;
};

static uint64_t any(struct run *r, uint64_t below)
{
	return wp_random_next(&r->random) % below;
}

static void same(const struct run *r, const char *what, uint64_t got, uint64_t wanted)
{
	if (got != wanted)
		fail_msg("seed %" PRIu64 ", step %d (%s): %s is %" PRIu64 ", should be %" PRIu64,
			 r->seed, r->step, r->last, what, got, wanted);
}

static void compare(struct run *r)
{
	size_t size = any(r, r->size_max + 2);

	same(r, "confirmed_lsn", wp_ledger_confirmed_lsn(&r->ledger), naive_safe(&r->naive));
	same(r, "read", wp_ledger_received_lsn(&r->ledger), r->naive.read);
	same(r, "next", wp_ledger_next(&r->ledger), r->naive.next);
	same(r, "in flight", r->ledger.in_flight, naive_in_flight(&r->naive));
	same(r, "bytes", r->ledger.bytes, naive_bytes(&r->naive));
	same(r, "room", wp_ledger_has_room(&r->ledger, size), naive_has_room(&r->naive, size));
	same(r, "room for nothing", wp_ledger_has_room(&r->ledger, 0),
	     naive_has_room(&r->naive, 0));
}

static void add(struct run *r)
{
	size_t size = any(r, r->size_max + 1);

	r->last = "add";
	if (!naive_has_room(&r->naive, size)) {
		r->full++;
		return;
	}
	wp_ledger_add(&r->ledger, size);
	naive_add(&r->naive, size);
}

static void commit(struct run *r)
{
	r->last = "commit";
	r->lsn += 1 + any(r, 20);
	wp_ledger_commit(&r->ledger, r->lsn);
	naive_commit(&r->naive, r->lsn);
}

/* Also one that says what is known already. */
static void keepalive(struct run *r)
{
	wp_lsn wal_end = r->lsn - (any(r, 4) == 0 ? any(r, 40) : 0);

	r->last = "keepalive";
	if (any(r, 2) == 0)
		wal_end = r->lsn += any(r, 20);
	wp_ledger_keepalive(&r->ledger, wal_end);
	naive_keepalive(&r->naive, wal_end);
}

/* One in flight; now and then any number: late, twice, or never given. */
static void settle(struct run *r)
{
	wp_ticket ticket = naive_pick(&r->naive, wp_random_next(&r->random));
	wp_lsn before = naive_safe(&r->naive);

	r->last = "settle";
	if (any(r, 8) == 0)
		ticket = any(r, r->naive.next + 3);
	enum wp_settled got = wp_ledger_settle(&r->ledger, ticket);
	same(r, "settled", got, naive_settle(&r->naive, ticket));
	r->moved += naive_safe(&r->naive) > before;
}

static void settle_all(struct run *r)
{
	r->last = "settle all";
	for (wp_ticket t = r->naive.first; t < r->naive.next; t++) {
		(void)wp_ledger_settle(&r->ledger, t);
		(void)naive_settle(&r->naive, t);
	}
}

static void drop_open(struct run *r)
{
	r->last = "drop open";
	wp_ledger_drop_open(&r->ledger);
	naive_drop_open(&r->naive);
}

/* To the confirmed LSN, as a rewind does, or to where another left the slot. */
static void forget(struct run *r)
{
	wp_lsn lsn = any(r, 2) == 0 ? naive_safe(&r->naive) : any(r, r->lsn + 50);

	r->last = "forget";
	wp_ledger_forget(&r->ledger, lsn);
	naive_forget(&r->naive, lsn);
}

static void widen(struct run *r)
{
	r->last = "widen";
	r->naive.events_max += any(r, 3);
	CHECK_EQ(wp_ledger_widen(&r->ledger, r->naive.events_max, r->ledger.bytes_max), WP_OK);
}

static void act(struct run *r)
{
	uint64_t what = any(r, 100);

	if (what < r->settle_weight)
		settle(r);
	else if (what < r->settle_weight + 20)
		commit(r);
	else if (what < r->settle_weight + 27)
		keepalive(r);
	else if (what < r->settle_weight + 29)
		drop_open(r);
	else if (what < r->settle_weight + 30)
		forget(r);
	else if (what < r->settle_weight + 31)
		settle_all(r);
	else if (what < r->settle_weight + 32)
		widen(r);
	else
		add(r);
}

static void run(struct run *r, uint64_t seed)
{
	memset(r, 0, sizeof(*r)); /* large: no literal of it on the stack */
	r->seed = seed;
	r->random = seeds_start(seed);
	r->lsn = 1000;
	r->last = "init";
	size_t capacity = 1 + any(r, CAPACITY_MAX);
	size_t bytes_max = any(r, 2) == 0 ? 1 + any(r, 200) : SIZE_MAX;
	r->size_max = any(r, 60);
	r->settle_weight = 15 + (unsigned)any(r, 35);
	CHECK_EQ(wp_ledger_init(&r->ledger, capacity, bytes_max), WP_OK);
	naive_init(&r->naive, capacity, bytes_max);
	if (bytes_max == SIZE_MAX)
		r->naive.bytes_max = SIZE_MAX / 2; /* its sums must not overflow */
	for (r->step = 0; r->step < STEPS; r->step++) {
		act(r);
		compare(r);
	}
	wp_ledger_release(&r->ledger);
}

static void the_ledger_says_what_the_naive_one_says(void **state)
{
	static struct run r;
	size_t full = 0;
	size_t moved = 0;

	for (uint64_t i = 0; i < seeds.count; i++) {
		run(&r, seeds.first + i);
		full += r.full;
		moved += r.moved;
	}
	CHECK(seeds.count == 1 || (full > seeds.count && moved > seeds.count));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		PLAIN(the_ledger_says_what_the_naive_one_says),
	};

	if (!seeds_read(&seeds, argc, argv)) {
		(void)fprintf(stderr, "usage: %s [--seed N]\n", argv[0]);
		return 2;
	}
	return cmocka_run_group_tests_name("ledger", tests, NULL, NULL);
}
