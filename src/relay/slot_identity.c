#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "slot_identity.h"
#include "walpost/relay/faults.h"
#include "walpost/source/slot_cure.h"

/* -- a client that is no relay -------------------------------------------------- */

/* No relay had the slot since: it would have written the row. */
static bool is_foreign_since(const struct wp_slot_identity *i, const struct wp_source_facts *f)
{
	return i->foreign.client[0] != '\0' &&
	       i->foreign.confirmed == f->slot_checkpoint_confirmed &&
	       strcmp(i->foreign.owner, f->slot_checkpoint_owner) == 0 &&
	       strcmp(i->foreign.confirmed_at, f->slot_checkpoint_confirmed_at) == 0;
}

/* It is known by its name, or because it has written the row since it came. */
static bool is_relay(const struct wp_slot_progress *p, const struct wp_source_facts *f)
{
	return f->holder_is_walpost ||
	       (f->holder_wrote && strcmp(f->slot_checkpoint_owner, p->owner) != 0);
}

bool wp_slot_identity_sees_holder(struct wp_slot_identity *i, const struct wp_slot_progress *p,
				  const struct wp_source_facts *f)
{
	bool is_known = is_foreign_since(i, f);

	i->had_slot = false;
	if (f->holder[0] == '\0' || wp_fault(WP_FAULT_TRUST_HOLDER))
		return false;
	if (is_relay(p, f)) {
		i->foreign.client[0] = '\0';
		return false;
	}
	if (is_known && strcmp(i->foreign.client, f->holder) == 0)
		return false;
	(void)snprintf(i->foreign.client, sizeof(i->foreign.client), "%s", f->holder);
	if (is_known)
		return true; /* another than the one before; the slot may have moved by that one */
	i->foreign.slot = f->slot_confirmed;
	i->foreign.confirmed = f->slot_checkpoint_confirmed;
	(void)snprintf(i->foreign.owner, sizeof(i->foreign.owner), "%s", f->slot_checkpoint_owner);
	(void)snprintf(i->foreign.confirmed_at, sizeof(i->foreign.confirmed_at), "%s",
		       f->slot_checkpoint_confirmed_at);
	return true;
}

void wp_slot_identity_streams(struct wp_slot_identity *i, const struct wp_source_facts *f)
{
	i->started = i->had_slot = true;
	i->system_id = f->system_id;
	i->timeline = f->timelines.current;
	i->foreign.client[0] = '\0';
	i->claimed = 0;
}

/* -- another database, another epoch ------------------------------------------ */

bool wp_slot_identity_is_foreign(const struct wp_slot_identity *i, const struct wp_slot_progress *p,
				 const struct wp_source_facts *f, struct wp_error *error)
{
	uint64_t known = i->started ? i->system_id : f->slot_checkpoint_system_id;
	bool raised = !i->started && p->epoch > f->slot_checkpoint_epoch;

	if (known == 0 || known == f->system_id || raised)
		return false;
	(void)wp_error_set(error, WP_CONFIG,
			   "the server's system identifier is %" PRIu64 ", it was %" PRIu64
			   ": this is another database cluster (restored or replaced), whose "
			   "positions start over; events between the two may be missing. If that "
			   "is intended, set relay.epoch = %u and start again",
			   f->system_id, known, (unsigned)f->slot_checkpoint_epoch + 1);
	return true;
}

/* It does not matter who had the slot last, this process or another. */
bool wp_slot_identity_is_older_epoch(const struct wp_slot_progress *p,
				     const struct wp_source_facts *f, struct wp_error *error)
{
	if (!f->slot_checkpoint_readable || p->epoch >= f->slot_checkpoint_epoch)
		return false;
	(void)wp_error_set(
		error, WP_CONFIG,
		"relay.epoch is %u, but relay %s sent events of this slot with epoch %u: new "
		"events would get lower positions, and consumers that drop duplicates by "
		"walpost-position would drop all of them. Set relay.epoch = %u and start again",
		(unsigned)p->epoch, f->slot_checkpoint_owner, (unsigned)f->slot_checkpoint_epoch,
		(unsigned)f->slot_checkpoint_epoch);
	return true;
}

/* -- the words ---------------------------------------------------------------- */

struct gap {
	const char *how;  /* it is known that it was moved */
	const char *who;  /* confirmed last */
	const char *when; /* "" : not told */
	wp_lsn confirmed;
	wp_lsn slot;
	bool is_written; /* there is a row that would say it again */
};

static void say(const struct wp_slot_progress *p, const struct gap *g, struct wp_error *error)
{
	char slot[WP_LSN_TEXT_SIZE];
	char confirmed[WP_LSN_TEXT_SIZE];
	uint64_t bytes = g->slot > g->confirmed ? g->slot - g->confirmed : 0;

	(void)wp_error_set(error, WP_CONFIG,
			   "slot %s is at %s, but %.80s had confirmed only %s%s%s; %s. Someone "
			   "advanced or recreated it: no relay has read the %" PRIu64
			   " bytes of WAL between these positions, and events committed there may "
			   "be missing in Kafka. %s. Then start again",
			   p->slot, wp_lsn_text(g->slot, slot), g->who,
			   wp_lsn_text(g->confirmed, confirmed), *g->when ? " at " : "", g->when,
			   g->how, bytes, g->is_written ? WP_SLOT_MOVED : WP_SLOT_REPLACE);
}

/* -- what this process knows itself -------------------------------------------- */

/* Of all relays, had this one the slot last? Without the row: was nobody else seen with it? */
static bool is_ours(const struct wp_slot_identity *i, const struct wp_slot_progress *p,
		    const struct wp_source_facts *f)
{
	if (!f->slot_checkpoint_readable || !f->slot_checkpoint_writable)
		return i->had_slot;
	return strcmp(f->slot_checkpoint_owner, p->owner) == 0 &&
	       (i->had_slot || !wp_fault(WP_FAULT_TRUST_HOLDER));
}

/* The slot stands beyond what we ever confirmed, and we did not take it over there. */
static bool is_beyond_us(const struct wp_slot_progress *p, const struct wp_source_facts *f)
{
	return f->slot_confirmed > p->highest_flush && f->slot_confirmed > p->confirmed_lsn &&
	       f->slot_confirmed > f->slot_checkpoint_taken_at;
}

/* `by` is who moved it, as far as that was seen; "": it was not. */
static void say_moved(const struct wp_slot_progress *p, const char *by, const struct gap *found,
		      struct wp_error *error)
{
	char how[WP_HOLDER_SIZE + 80];
	struct gap g = *found;

	(void)snprintf(how, sizeof(how), "no other relay has taken the slot over%s%s",
		       by[0] != '\0' ? ", but this one had it: " : "", by);
	g.how = how;
	g.who = "this process";
	g.when = "";
	say(p, &g, error);
}

static bool is_beyond_start(const struct wp_slot_progress *p, const struct wp_source_view *v)
{
	/* Nothing was confirmed on this stream yet: what the ledger says is not told. */
	return v->claimed > v->facts.slot_confirmed && v->claimed > p->highest_flush &&
	       !wp_fault(WP_FAULT_TRUST_SLOT);
}

bool wp_slot_identity_moved_at_start(const struct wp_slot_progress *p,
				     const struct wp_source_view *v, struct wp_error *error)
{
	const struct gap g = {
		.confirmed = wp_lsn_max(v->facts.slot_confirmed, p->highest_flush),
		.slot = v->claimed,
		.is_written = v->facts.slot_checkpoint_readable,
	};

	if (v->claimed_from_other || !is_beyond_start(p, v))
		return false;
	say_moved(p, "", &g, error);
	return true;
}

bool wp_slot_identity_tells_start(const struct wp_slot_progress *p, const struct wp_source_view *v,
				  struct wp_error *error)
{
	char slot[WP_LSN_TEXT_SIZE];
	char seen[WP_LSN_TEXT_SIZE];

	if (!v->claimed_from_other || !is_beyond_start(p, v))
		return false;
	(void)wp_error_set(error, WP_OK,
			   "slot %s was at %s as this stream began, %" PRIu64
			   " bytes beyond %s, where this relay had found it. Another relay wrote "
			   "its name into walpost.slot_checkpoint meanwhile, so it may have "
			   "confirmed the rest: a moved slot would look the same",
			   p->slot, wp_lsn_text(v->claimed, slot),
			   v->claimed - v->facts.slot_confirmed,
			   wp_lsn_text(v->facts.slot_confirmed, seen));
	return true;
}

/* -- what the slot checkpoint knows ----------------------------------------------------------- */

static bool is_believed(const struct wp_slot_progress *p, const struct wp_source_facts *f)
{
	/* A row that could not be kept true says nothing; a new epoch begins anew. */
	return f->slot_checkpoint_readable && f->slot_checkpoint_writable &&
	       f->slot_checkpoint_owner[0] != '\0' && f->slot_checkpoint_confirmed != 0 &&
	       p->epoch <= f->slot_checkpoint_epoch;
}

/* Returns NULL when it is not known. */
static const char *how_it_is_known(const struct wp_source_facts *f)
{
	if (f->slot_checkpoint_stopped && f->slot_confirmed > f->slot_checkpoint_confirmed)
		return "it stopped cleanly there";
	if (f->slot_checkpoint_transactions >= 0 && f->slot_transactions >= 0 &&
	    f->slot_transactions < f->slot_checkpoint_transactions)
		return "and the slot has now decoded fewer transactions than then";
	/* Was the byte before the slot's position written after the owner's timeline had ended? */
	if (f->timelines.count > 0 && f->slot_confirmed > f->slot_checkpoint_confirmed &&
	    wp_timelines_at(&f->timelines, f->slot_confirmed - 1) > f->slot_checkpoint_timeline)
		return "and the server was promoted or restored since, and no slot survives that "
		       "beyond the end of its timeline";
	return NULL;
}

static bool is_behind(const struct wp_source_facts *f, struct wp_error *error)
{
	char end[WP_LSN_TEXT_SIZE];
	char confirmed[WP_LSN_TEXT_SIZE];

	if (f->server_lsn >= f->slot_checkpoint_confirmed)
		return false;
	(void)wp_error_set(error, WP_CONFIG,
			   "the server's WAL ends at %s, before %s, which relay %s recorded as "
			   "confirmed at %s: the database is an older state or a copy, and its "
			   "positions repeat, so that consumers would mistake new events for "
			   "duplicates. If that is intended, set relay.epoch = %u and start again",
			   wp_lsn_text(f->server_lsn, end),
			   wp_lsn_text(f->slot_checkpoint_confirmed, confirmed),
			   f->slot_checkpoint_owner, f->slot_checkpoint_confirmed_at,
			   (unsigned)f->slot_checkpoint_epoch + 1);
	return true;
}

static bool was_moved_by_foreign_client(const struct wp_slot_identity *i,
					const struct wp_source_facts *f)
{
	return f->slot_checkpoint_owner[0] != '\0' && is_foreign_since(i, f) &&
	       f->slot_confirmed > i->foreign.slot &&
	       f->slot_confirmed > f->slot_checkpoint_taken_at;
}

static void say_moved_by_foreign_client(const struct wp_slot_identity *i,
					const struct wp_slot_progress *p,
					const struct wp_source_facts *f, struct wp_error *error)
{
	char how[WP_HOLDER_SIZE + 40];
	struct gap g = {
		.how = how,
		.who = "the relay that had it",
		.when = "",
		.confirmed = i->foreign.slot,
		.slot = f->slot_confirmed,
		.is_written = true,
	};

	(void)snprintf(how, sizeof(how), "this one moved it, which is no relay: %s",
		       i->foreign.client);
	say(p, &g, error);
}

bool wp_slot_identity_finds_gap(const struct wp_slot_identity *i, const struct wp_slot_progress *p,
				const struct wp_source_facts *f, struct wp_error *error)
{
	char who[WP_OWNER_SIZE + 8];

	/* Another may have had the slot, and nobody may be accused for want of a word. */
	if (f->slot_checkpoint_unsure || wp_fault(WP_FAULT_TRUST_SLOT))
		return false;
	if (is_ours(i, p, f)) {
		if (!is_beyond_us(p, f))
			return false;
		const struct gap g = {
			.confirmed = wp_lsn_max(p->confirmed_lsn, p->highest_flush),
			.slot = f->slot_confirmed,
			.is_written = f->slot_checkpoint_readable,
		};
		say_moved(p, i->foreign.client, &g, error);
		return true;
	}
	bool believed = is_believed(p, f);
	if (believed && is_behind(f, error))
		return true;
	/* It was confirmed by us, whatever the row says, which could not be written, perhaps. */
	if (i->started && f->slot_confirmed <= wp_lsn_max(p->confirmed_lsn, p->highest_flush))
		return false;
	const char *how = believed ? how_it_is_known(f) : NULL;
	if (how != NULL) {
		(void)snprintf(who, sizeof(who), "relay %s", f->slot_checkpoint_owner);
		const struct gap g = {
			.how = how,
			.who = who,
			.when = f->slot_checkpoint_confirmed_at,
			.confirmed = f->slot_checkpoint_confirmed,
			.slot = f->slot_confirmed,
			.is_written = true,
		};
		say(p, &g, error);
		return true;
	}
	if (was_moved_by_foreign_client(i, f))
		say_moved_by_foreign_client(i, p, f, error);
	return was_moved_by_foreign_client(i, f);
}

/* -- what is only told -------------------------------------------------------------- */

bool wp_slot_identity_may_resume(const struct wp_slot_identity *i, const struct wp_slot_progress *p,
				 const struct wp_source_facts *f)
{
	if (!i->started)
		return false;
	if (wp_fault(WP_FAULT_RESUME_AFTER_MOVE))
		return true;
	return !p->lost_ticket && f->timelines.current == i->timeline &&
	       f->slot_confirmed <= wp_lsn_max(p->highest_flush, p->confirmed_lsn);
}

/* No row tells whether it was a relay. */
static bool tells_distance_to_us(const struct wp_slot_identity *i, const struct wp_slot_progress *p,
				 const struct wp_source_facts *f, struct wp_error *error)
{
	wp_lsn ours = wp_lsn_max(p->confirmed_lsn, p->highest_flush);
	char slot[WP_LSN_TEXT_SIZE];
	char confirmed[WP_LSN_TEXT_SIZE];

	if (!i->started || f->slot_confirmed <= ours)
		return false;
	(void)wp_error_set(
		error, WP_OK,
		"slot %s is at %s, %" PRIu64
		" bytes beyond %s, which this process confirmed last; %s. Another process had the "
		"slot, and without the record of walpost.slot_checkpoint it is not known whether "
		"that was a relay: a moved slot would look the same",
		p->slot, wp_lsn_text(f->slot_confirmed, slot), f->slot_confirmed - ours,
		wp_lsn_text(ours, confirmed),
		f->slot_checkpoint_unsure ? "its row cannot be read just now"
					  : "there is no row that it could be told by");
	return true;
}

bool wp_slot_identity_tells_distance(const struct wp_slot_identity *i,
				     const struct wp_slot_progress *p,
				     const struct wp_source_facts *f, struct wp_error *error)
{
	char slot[WP_LSN_TEXT_SIZE];
	char confirmed[WP_LSN_TEXT_SIZE];

	if (f->slot_checkpoint_unsure || !is_believed(p, f))
		return tells_distance_to_us(i, p, f, error);
	if (is_ours(i, p, f) || f->slot_confirmed <= f->slot_checkpoint_confirmed)
		return false;
	(void)wp_error_set(
		error, WP_OK,
		"slot %s is at %s, %" PRIu64
		" bytes beyond %s, which relay %s recorded at %s; that relay did not stop cleanly, "
		"so it may have confirmed the rest as well: a moved slot would look the same",
		p->slot, wp_lsn_text(f->slot_confirmed, slot),
		f->slot_confirmed - f->slot_checkpoint_confirmed,
		wp_lsn_text(f->slot_checkpoint_confirmed, confirmed), f->slot_checkpoint_owner,
		f->slot_checkpoint_confirmed_at);
	return true;
}

bool wp_slot_identity_tells_timeline(const struct wp_slot_identity *i,
				     const struct wp_slot_progress *p,
				     const struct wp_source_facts *f, struct wp_error *error)
{
	if (i->started || !is_believed(p, f) || f->timelines.current == f->slot_checkpoint_timeline)
		return false;
	(void)wp_error_set(error, WP_OK,
			   "the server is on timeline %u, but was on %u at the last record of "
			   "relay %s: it was promoted or restored meanwhile",
			   (unsigned)f->timelines.current, (unsigned)f->slot_checkpoint_timeline,
			   f->slot_checkpoint_owner);
	return true;
}
