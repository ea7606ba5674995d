/*
 * Is the slot that was found the one that we, or the relay of whom the slot checkpoint row tells, left?
 *
 * A slot moves forward by what its relay confirms, and back a little when the server
 * crashes, for it is written to disk lazily. Whatever else moves it, or makes it anew,
 * skips events. The slot checkpoint row tells what its last owner knew of it:
 *
 *   stopped in good order          it stands where that one left it, or below
 *   killed, same life of the server   it has decoded at least as many transactions as then
 *   a timeline that has ended      it cannot stand beyond that end: a slot that came over with
 *                                  the promotion stands below
 *
 * Where none of these holds, nothing can be told, and that is said.
 *
 * Pure.
 */
#ifndef WALPOST_SRC_RELAY_SLOT_IDENTITY_H
#define WALPOST_SRC_RELAY_SLOT_IDENTITY_H

#include "walpost/relay/relay.h"
#include "walpost/wal/source.h"

/* What this process knows of itself. */
struct wp_slot_identity {
	bool let_in;   /* a connection of this process was good for streaming */
	bool started;  /* this process has streamed before: the facts below hold */
	bool had_slot; /* and nobody else since, as far as it knows */
	uint64_t system_id;
	uint32_t timeline;
};

/* Who we are, and how far we came. */
struct wp_slot_claim {
	const char *slot;
	const char *owner;
	uint16_t epoch;
	wp_lsn confirmed_lsn;
	wp_lsn highest_flush; /* that a server was told since the slot was taken over; 0: none */
	bool lost_ticket;     /* one that is not passed will never be confirmed */
};

/* A stream began. */
void wp_slot_identity_streams(struct wp_slot_identity *i, const struct wp_source_facts *f);
/* True with the error: a human must look. In this order. */
bool wp_slot_identity_is_foreign(const struct wp_slot_identity *i, const struct wp_slot_claim *c,
				 const struct wp_source_facts *f, struct wp_error *error);
bool wp_slot_identity_is_older_epoch(const struct wp_slot_claim *c, const struct wp_source_facts *f,
				     struct wp_error *error);
bool wp_slot_identity_finds_gap(const struct wp_slot_identity *i, const struct wp_slot_claim *c,
				const struct wp_source_facts *f, struct wp_error *error);
/* May the stream go on at what was read, with its tickets? Else from where the slot stands. */
bool wp_slot_identity_may_resume(const struct wp_slot_identity *i, const struct wp_slot_claim *c,
				 const struct wp_source_facts *f);
/* What a start finds that nothing can judge is told at least: true with the error. */
bool wp_slot_identity_tells_distance(const struct wp_slot_identity *i,
				     const struct wp_slot_claim *c, const struct wp_source_facts *f,
				     struct wp_error *error);
bool wp_slot_identity_tells_timeline(const struct wp_slot_identity *i,
				     const struct wp_slot_claim *c, const struct wp_source_facts *f,
				     struct wp_error *error);

#endif
