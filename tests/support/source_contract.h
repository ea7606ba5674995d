/*
 * What every wp_source must do, real or fake: the contract of source/source.h as
 * tests. Whoever has a source gives a driver that acts on the world around it; each case
 * starts with a source in CLOSED, a server that runs, and a slot nobody holds.
 *
 * A case fails by cmocka's assertions. No sleeps: a case pumps until something is
 * so, PUMPS_MAX times at most.
 */
#ifndef WALPOST_TESTS_SOURCE_CONTRACT_H
#define WALPOST_TESTS_SOURCE_CONTRACT_H

#include <stddef.h>

#include "walpost/source/source.h"

#define SOURCE_CONTRACT_PUMPS_MAX 12000

struct source_driver {
	struct wp_source *source;
	const char *owner; /* as the source writes it into the slot checkpoint row */
	void *arg;
	/* Lets the source work until something happened, or about 10 ms passed. */
	void (*pump)(void *arg);
	/* How often the source called its wake so far. */
	unsigned long (*wakes)(void *arg);
	/* One transaction of `rows` inserts that the source must deliver. */
	void (*commit)(void *arg, unsigned rows);
	/* What the server has for the slot's confirmed position. */
	wp_lsn (*slot_confirmed)(void *arg);
	/* Another process streams from the slot, until released. */
	void (*hold_slot)(void *arg);
	void (*release_slot)(void *arg);
	/* The server, or the network, ends the source's connection. */
	void (*break_connection)(void *arg);
	/* Asked to stop in good order: it waits for a stream that is not done. */
	void (*ask_to_stop)(void *arg);
	/* At once, without a word. */
	void (*kill_server)(void *arg);
	void (*start_server)(void *arg);
};

struct source_contract_case {
	const char *name;
	void (*run)(struct source_driver *d);
};

extern const struct source_contract_case source_contract_cases[];
extern const size_t source_contract_count;

#endif
