#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "slot_identity.h"
#include "walpost/relay/faults.h"

void wp_slot_identity_streams(struct wp_slot_identity *i, const struct wp_source_facts *f)
{
	i->started = i->had_slot = true;
	i->system_id = f->system_id;
	i->timeline = f->timelines.current;
}

/* -- another database, another epoch ------------------------------------------ */

bool wp_slot_identity_is_foreign(const struct wp_slot_identity *i, const struct wp_slot_claim *c,
				 const struct wp_source_facts *f, struct wp_error *error)
{
	uint64_t known = i->started ? i->system_id : f->checkpoint_system_id;
	bool raised = !i->started && c->epoch > f->checkpoint_epoch;

	if (known == 0 || known == f->system_id || raised)
		return false;
	(void)wp_error_set(error, WP_CONFIG,
			   "the server's system identifier is %" PRIu64 ", it was %" PRIu64
			   ": this is another database cluster (restored or replaced), whose "
			   "positions start over; events between the two may be missing. If that "
			   "is intended, set relay.epoch = %u and start again",
			   f->system_id, known, (unsigned)f->checkpoint_epoch + 1);
	return true;
}

/* Whoever had the slot last, this process or another. */
bool wp_slot_identity_is_older_epoch(const struct wp_slot_claim *c, const struct wp_source_facts *f,
				     struct wp_error *error)
{
	if (!f->checkpoint_readable || c->epoch >= f->checkpoint_epoch)
		return false;
	(void)wp_error_set(
		error, WP_CONFIG,
		"relay.epoch is %u, but relay %s sent events of this slot with epoch %u: new "
		"events would get lower positions, and consumers that drop duplicates by "
		"walpost-position would drop all of them. Set relay.epoch = %u and start again",
		(unsigned)c->epoch, f->checkpoint_owner, (unsigned)f->checkpoint_epoch,
		(unsigned)f->checkpoint_epoch);
	return true;
}

/* -- the words ---------------------------------------------------------------- */

struct gap {
	const char *how;  /* it is known */
	const char *who;  /* confirmed last */
	const char *when; /* "" : not told */
	wp_lsn confirmed;
	wp_lsn slot;
	bool is_written; /* there is a row that would say it again */
};

static void say(const struct wp_slot_claim *c, const struct gap *g, struct wp_error *error)
{
	char slot[WP_LSN_TEXT_SIZE];
	char confirmed[WP_LSN_TEXT_SIZE];
	uint64_t bytes = g->slot > g->confirmed ? g->slot - g->confirmed : 0;

	(void)wp_error_set(
		error, WP_CONFIG,
		"slot %s is at %s, but %.80s had confirmed only %s%s%s; %s. Someone advanced or "
		"recreated it: no relay has read the %" PRIu64
		" bytes of WAL between these positions, and events committed there may be missing "
		"in Kafka. Run `walpost backfill --missing --force`, which sends the rows of the "
		"outbox that Kafka does not have and replaces the slot (logical messages that it "
		"still holds are given up), and start again. If nothing is missing: %s",
		c->slot, wp_lsn_text(g->slot, slot), g->who, wp_lsn_text(g->confirmed, confirmed),
		*g->when ? " at " : "", g->when, g->how, bytes,
		g->is_written ? "acknowledge with `walpost slot accept`, and start again"
			      : "start again");
}

/* -- what this process knows itself -------------------------------------------- */

/* As far as can be told it had the slot last. */
static bool is_ours(const struct wp_slot_identity *i, const struct wp_slot_claim *c,
		    const struct wp_source_facts *f)
{
	return i->had_slot &&
	       (!f->checkpoint_readable || strcmp(f->checkpoint_owner, c->owner) == 0);
}

/* The slot stands beyond what we ever confirmed, and we did not take it over there. */
static bool is_beyond_us(const struct wp_slot_claim *c, const struct wp_source_facts *f)
{
	return f->slot_confirmed > c->highest_flush && f->slot_confirmed > c->confirmed_lsn &&
	       f->slot_confirmed > f->checkpoint_taken_at;
}

/* -- what the slot checkpoint knows ----------------------------------------------------------- */

static bool is_believed(const struct wp_slot_claim *c, const struct wp_source_facts *f)
{
	/* A row that could not be kept true says nothing; a new epoch begins anew. */
	return f->checkpoint_readable && f->checkpoint_writable && f->checkpoint_owner[0] != '\0' &&
	       f->checkpoint_confirmed != 0 && c->epoch <= f->checkpoint_epoch;
}

/* Was the byte before the slot's position written after the owner's timeline had ended? */
static bool is_beyond_timeline(const struct wp_source_facts *f)
{
	return f->timelines.count > 0 && f->slot_confirmed > f->checkpoint_confirmed &&
	       wp_timelines_at(&f->timelines, f->slot_confirmed - 1) > f->checkpoint_timeline;
}

static bool has_decoded_less(const struct wp_source_facts *f)
{
	return f->checkpoint_transactions >= 0 && f->slot_transactions >= 0 &&
	       f->slot_transactions < f->checkpoint_transactions;
}

/* NULL: it is not. */
static const char *how_it_is_known(const struct wp_source_facts *f)
{
	if (f->checkpoint_stopped && f->slot_confirmed > f->checkpoint_confirmed)
		return "it stopped cleanly there";
	if (has_decoded_less(f))
		return "and the slot has now decoded fewer transactions than then";
	if (is_beyond_timeline(f))
		return "and the server was promoted or restored since, and no slot survives that "
		       "beyond the end of its timeline";
	return NULL;
}

static bool is_behind(const struct wp_source_facts *f, struct wp_error *error)
{
	char end[WP_LSN_TEXT_SIZE];
	char confirmed[WP_LSN_TEXT_SIZE];

	if (f->server_lsn >= f->checkpoint_confirmed)
		return false;
	(void)wp_error_set(error, WP_CONFIG,
			   "the server's WAL ends at %s, before %s, which relay %s recorded as "
			   "confirmed at %s: the database is an older state or a copy, and its "
			   "positions repeat, so that consumers would mistake new events for "
			   "duplicates. If that is intended, set relay.epoch = %u and start again",
			   wp_lsn_text(f->server_lsn, end),
			   wp_lsn_text(f->checkpoint_confirmed, confirmed), f->checkpoint_owner,
			   f->checkpoint_confirmed_at, (unsigned)f->checkpoint_epoch + 1);
	return true;
}

bool wp_slot_identity_finds_gap(const struct wp_slot_identity *i, const struct wp_slot_claim *c,
				const struct wp_source_facts *f, struct wp_error *error)
{
	char who[WP_OWNER_SIZE + 8];
	struct gap g = { .slot = f->slot_confirmed, .is_written = f->checkpoint_readable };

	/* Another may have had the slot, and nobody may be accused for want of a word. */
	if (f->checkpoint_unsure || wp_fault(WP_FAULT_TRUST_SLOT))
		return false;
	if (is_ours(i, c, f)) {
		if (!is_beyond_us(c, f))
			return false;
		g.who = "this process";
		g.when = "";
		g.how = "no other relay has taken the slot over";
		g.confirmed = c->confirmed_lsn;
	} else {
		if (!is_believed(c, f))
			return false;
		if (is_behind(f, error))
			return true;
		g.how = how_it_is_known(f);
		if (g.how == NULL)
			return false;
		snprintf(who, sizeof(who), "relay %s", f->checkpoint_owner);
		g.who = who;
		g.when = f->checkpoint_confirmed_at;
		g.confirmed = f->checkpoint_confirmed;
	}
	say(c, &g, error);
	return true;
}

/* -- what is only told -------------------------------------------------------------- */

bool wp_slot_identity_may_resume(const struct wp_slot_identity *i, const struct wp_slot_claim *c,
				 const struct wp_source_facts *f)
{
	if (!i->started)
		return false;
	if (wp_fault(WP_FAULT_RESUME_AFTER_MOVE))
		return true;
	return !c->lost_ticket && f->timelines.current == i->timeline &&
	       f->slot_confirmed <= wp_lsn_max(c->highest_flush, c->confirmed_lsn);
}

bool wp_slot_identity_tells_distance(const struct wp_slot_identity *i,
				     const struct wp_slot_claim *c, const struct wp_source_facts *f,
				     struct wp_error *error)
{
	char slot[WP_LSN_TEXT_SIZE];
	char confirmed[WP_LSN_TEXT_SIZE];

	if (i->started || !is_believed(c, f) || f->slot_confirmed <= f->checkpoint_confirmed)
		return false;
	(void)wp_error_set(
		error, WP_OK,
		"slot %s is at %s, %" PRIu64
		" bytes beyond %s, which relay %s recorded at %s; that relay did not stop cleanly, "
		"so it may have confirmed the rest as well: a moved slot would look the same",
		c->slot, wp_lsn_text(f->slot_confirmed, slot),
		f->slot_confirmed - f->checkpoint_confirmed,
		wp_lsn_text(f->checkpoint_confirmed, confirmed), f->checkpoint_owner,
		f->checkpoint_confirmed_at);
	return true;
}

bool wp_slot_identity_tells_timeline(const struct wp_slot_identity *i,
				     const struct wp_slot_claim *c, const struct wp_source_facts *f,
				     struct wp_error *error)
{
	if (i->started || !is_believed(c, f) || f->timelines.current == f->checkpoint_timeline)
		return false;
	(void)wp_error_set(error, WP_OK,
			   "the server is on timeline %u, but was on %u at the last record of "
			   "relay %s: it was promoted or restored meanwhile",
			   (unsigned)f->timelines.current, (unsigned)f->checkpoint_timeline,
			   f->checkpoint_owner);
	return true;
}
