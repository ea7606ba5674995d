/*
 * Is the slot that was found the one that we, or the relay of whom the slot checkpoint row tells, left?
 *
 * A slot moves forward by what its relay confirms, and back a little when the server
 * crashes, for it is written to disk lazily. Whatever else moves it, or makes it anew,
 * skips events. A relay that gets the slot writes its name into the slot checkpoint row before it
 * moves the slot. So a process that finds its own name there, and the slot beyond what it confirmed
 * itself, knows that no relay moved it, whoever held it meanwhile. A row that names another tells what
 * that one knew of it:
 *
 *   stopped in good order          it stands where that one left it, or below
 *   killed, same life of the server   it has decoded at least as many transactions as then
 *   a timeline that has ended      it cannot stand beyond that end: a slot that came over with
 *                                  the promotion stands below
 *
 * A client that was seen to hold the slot and is no relay, and a slot that moved since, are a gap for
 * everybody. Where none of these holds, nothing can be told, and that is said.
 *
 * Pure.
 */
#ifndef WALPOST_SRC_RELAY_SLOT_IDENTITY_H
#define WALPOST_SRC_RELAY_SLOT_IDENTITY_H

#include "walpost/relay/relay.h"
#include "walpost/source/source.h"

/* This is what this process knows of itself. */
struct wp_slot_identity {
	bool let_in;	/* a connection of this process was good for streaming */
	bool started;	/* this process has streamed before: the facts below hold */
	bool had_slot;	/* and nobody else since, as far as it knows */
	wp_lsn claimed; /* judged: as in wp_source_view, of this stream */
	uint64_t system_id;
	uint32_t timeline;
	/* A client that is no relay held the slot while we waited; the rest is what was so as we saw it first. */
	struct {
		char client[WP_HOLDER_SIZE]; /* "": none did */
		wp_lsn slot;
		char owner[WP_OWNER_SIZE]; /* of the slot checkpoint row */
		wp_lsn confirmed;
		char confirmed_at[32];
	} foreign;
};

/* This is who we are, and how far we came. */
struct wp_slot_progress {
	const char *slot;
	const char *owner;
	uint16_t epoch;
	wp_lsn confirmed_lsn;
	wp_lsn highest_flush; /* that a server was told since the slot was taken over; 0: none */
	bool lost_ticket;     /* one that is not passed will never be confirmed */
};

/* Another has the slot. Returns true when it is no relay, and that is new. */
bool wp_slot_identity_sees_holder(struct wp_slot_identity *i, const struct wp_slot_progress *p,
				  const struct wp_source_facts *f);
/* A stream began. */
void wp_slot_identity_streams(struct wp_slot_identity *i, const struct wp_source_facts *f);
/* These return true, with the error, when a human must look. They are asked in this order. */
bool wp_slot_identity_is_foreign(const struct wp_slot_identity *i, const struct wp_slot_progress *p,
				 const struct wp_source_facts *f, struct wp_error *error);
bool wp_slot_identity_is_older_epoch(const struct wp_slot_progress *p,
				     const struct wp_source_facts *f, struct wp_error *error);
bool wp_slot_identity_finds_gap(const struct wp_slot_identity *i, const struct wp_slot_progress *p,
				const struct wp_source_facts *f, struct wp_error *error);
/* May the stream go on at what was read, with its tickets? Otherwise it goes on from where the slot stands. */
bool wp_slot_identity_may_resume(const struct wp_slot_identity *i, const struct wp_slot_progress *p,
				 const struct wp_source_facts *f);
/* The row names us, and the slot stood where neither we nor what was found before the start put it. */
bool wp_slot_identity_moved_at_start(const struct wp_slot_progress *p,
				     const struct wp_source_view *v, struct wp_error *error);
/* Likewise, but another relay may have done that, so it is only told. */
bool wp_slot_identity_tells_start(const struct wp_slot_progress *p, const struct wp_source_view *v,
				  struct wp_error *error);
/* What a start finds that nothing can judge is told at least: true with the error. */
bool wp_slot_identity_tells_distance(const struct wp_slot_identity *i,
				     const struct wp_slot_progress *p,
				     const struct wp_source_facts *f, struct wp_error *error);
bool wp_slot_identity_tells_timeline(const struct wp_slot_identity *i,
				     const struct wp_slot_progress *p,
				     const struct wp_source_facts *f, struct wp_error *error);

#endif
