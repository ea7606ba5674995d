/* Finds what will hurt later about the slot: what keeps WAL, what loses it, what a failover
 * does. */
#include <limits.h>
#include <stdio.h>

#include "preflight_later_answer.h"
#include "preflight_judge.h"
#include "walpost/postgres_preflight/slot.h"

enum {
	TIGHT_S = 3600,	       /* as relay/wal_guard warns */
	AMPLE_S = 2 * TIGHT_S, /* what is advised at least */
	DAY_S = 24 * 3600,
	RATE_KNOWN_S = 3600,
	AMPLE_MIN_GB = 10,
};

struct text {
	char text[40];
};

static struct text number_text(long number)
{
	struct text t;
	(void)snprintf(t.text, sizeof(t.text), "%ld", number);
	return t;
}

static struct text span_text(long seconds)
{
	struct text t;
	if (seconds < 120)
		(void)snprintf(t.text, sizeof(t.text), "%ld s", seconds);
	else if (seconds < 2 * 3600)
		(void)snprintf(t.text, sizeof(t.text), "%ld min", seconds / 60);
	else if (seconds < 2 * 86400)
		(void)snprintf(t.text, sizeof(t.text), "%ld h", seconds / 3600);
	else
		(void)snprintf(t.text, sizeof(t.text), "%ld days", seconds / 86400);
	return t;
}

/* -- how much WAL may be kept ------------------------------------------------------ */

/* The rate is in bytes a second; 0 when there are none, or they were counted for too short a
 * time to be told, as after initdb or a reset. */
static long wal_rate(const struct judge *j)
{
	return answer_number(j, D_WAL_RATE_SINCE) >= RATE_KNOWN_S ? answer_number(j, D_WAL_RATE)
								  : 0;
}

static long written_gb(const struct judge *j, long seconds)
{
	return wal_rate(j) / 1024 * seconds / 1024 / 1024 + 1;
}

/* SQL does not tell how much the disk has free, so no more is advised than is needed. */
static void cure_retention(struct judge *j)
{
	long needed = written_gb(j, AMPLE_S);
	char value[48];

	if (needed < AMPLE_MIN_GB)
		needed = AMPLE_MIN_GB;
	wp_sql_add(&j->cure,
		   "-- use less than the free space of pg_wal's disk (see df); a larger value "
		   "tolerates a longer outage of the relay");
	if (wal_rate(j) > 0)
		wp_sql_add(&j->cure, "; the server writes %sGB a day",
			   number_text(written_gb(j, DAY_S)).text);
	wp_sql_add(&j->cure, ":\n");
	(void)snprintf(value, sizeof(value), "%ldGB", needed);
	wp_judge_cure_setting(j, "max_slot_wal_keep_size", value, number_text(needed * 1024).text,
			      WP_APPLY_RELOAD);
}

static void judge_retention(struct judge *j)
{
	long mb = answer_number(j, D_KEEP_MB), rate = wal_rate(j);
	long lasts_s = rate > 0 ? mb * 1024 / (rate / 1024 > 0 ? rate / 1024 : 1) : LONG_MAX;
	struct text since = span_text(answer_number(j, D_WAL_RATE_SINCE));
	if (mb < 0) {
		cure_retention(j);
		FOUND_WARN(j, "slot_retention",
			   "max_slot_wal_keep_size is unlimited: while the relay is down, the "
			   "server keeps WAL until the disk is full and the database stops. With a "
			   "limit, the server invalidates the slot instead, and events are lost");
	} else if (lasts_s < TIGHT_S) {
		cure_retention(j);
		FOUND_WARN(j, "slot_retention",
			   "max_slot_wal_keep_size is %ld MB, and the server writes %ld kB of WAL "
			   "a second (average of the last %s): a relay that is down for %s loses "
			   "its slot",
			   mb, rate / 1024, since.text, span_text(lasts_s).text);
	} else if (rate == 0) {
		FOUND_OK(j, "slot_retention",
			 "a relay that falls more than %ld MB of WAL behind loses its slot", mb);
	} else {
		FOUND_OK(j, "slot_retention",
			 "a relay that falls more than %ld MB of WAL behind loses its slot; the "
			 "server writes %ld kB a second (average of the last %s)",
			 mb, rate / 1024, since.text);
	}
}

/* -- what is kept now ---------------------------------------------------------------- */

/*
 * Cures whoever holds restart_lsn back while the relay confirms. If it is gone, the server notes so
 * with its next checkpoint.
 */
static void cure_old_transaction(struct judge *j)
{
	if (!answer_null(j, D_OLD_PREPARED))
		wp_sql_add(&j->cure, "ROLLBACK PREPARED %L;", answer_text(j, D_OLD_PREPARED));
	else if (!answer_null(j, D_OLD_PID))
		wp_sql_add(&j->cure, "SELECT pg_terminate_backend(%s);", answer_text(j, D_OLD_PID));
	else
		wp_sql_add(&j->cure, "CHECKPOINT;");
}

static void say_held_back(struct judge *j)
{
	char who[80] = "none visible";
	if (!answer_null(j, D_OLD_PREPARED))
		(void)snprintf(who, sizeof(who), "a prepared transaction of %s",
			       span_text(answer_number(j, D_OLD_PREPARED_S)).text);
	else if (!answer_null(j, D_OLD_PID))
		(void)snprintf(who, sizeof(who), "process %s", answer_text(j, D_OLD_PID));
	cure_old_transaction(j);
	FOUND_WARN(j, "slot_wal",
		   "slot %s keeps %s of WAL, more than max_wal_size, although its relay is not far "
		   "behind: an open transaction holds it back (the oldest with writes: %s)",
		   j->options->slot, answer_text(j, D_SLOT_RETAINED), who);
}

static void cure_far_behind(struct judge *j, bool is_read)
{
	wp_sql_add(&j->cure, is_read ? "-- see the relay's log for the cause; walpost status "
				       "--watch shows whether it catches up"
				     : "-- start the relay: walpost run");
}

/*
 * Less than a quarter of max_slot_wal_keep_size is left. The average rate does not count: a burst may
 * use it up within a second. Of a slot that is beyond the limit preflight has said more.
 */
static bool is_nearly_lost(const struct judge *j)
{
	long keep = answer_number(j, D_KEEP_MB);

	return keep > 0 && !answer_null(j, D_SLOT_SAFE_MB) &&
	       !answer_is(j, D_SLOT_WAL_STATUS, "unreserved") &&
	       answer_number(j, D_SLOT_SAFE_MB) < keep / 4;
}

static void judge_kept(struct judge *j)
{
	bool is_read = !answer_null(j, D_SLOT_ACTIVE_PID);

	if (is_nearly_lost(j)) {
		bool lags = answer_yes(j, D_SLOT_LAGS);
		if (lags)
			cure_far_behind(j, is_read);
		else
			cure_old_transaction(j);
		wp_sql_add(&j->cure, "\n-- and raise max_slot_wal_keep_size, if the disk has room");
		FOUND_WARN(j, "slot_wal",
			   "slot %s keeps %s of WAL, and is lost with its events after %ld MB more "
			   "(max_slot_wal_keep_size is %ld MB): %s",
			   j->options->slot, answer_text(j, D_SLOT_RETAINED),
			   answer_number(j, D_SLOT_SAFE_MB), answer_number(j, D_KEEP_MB),
			   !lags     ? "an open transaction holds it back"
			   : is_read ? "its relay is far behind"
				     : "no relay reads it");
		return;
	}
	if (!answer_is(j, D_SLOT_WAL_STATUS, "extended"))
		return; /* within max_wal_size; or preflight has said more */
	if (!answer_yes(j, D_SLOT_LAGS)) {
		say_held_back(j);
		return;
	}
	cure_far_behind(j, is_read);
	FOUND_WARN(
		j, "slot_wal",
		"slot %s keeps %s of WAL, more than max_wal_size: %s, and the disk is filling up",
		j->options->slot, answer_text(j, D_SLOT_RETAINED),
		is_read ? "its relay is far behind" : "no relay reads it");
}

static void judge_orphans(struct judge *j)
{
	if (answer_null(j, D_ORPHANS)) {
		FOUND_OK(j, "other_slots", "no unused slot keeps WAL");
		return;
	}
	wp_sql_add(&j->cure,
		   "-- if they are no longer needed:\n"
		   "%s",
		   answer_text(j, D_ORPHANS_DROP));
	FOUND_WARN(j, "other_slots",
		   "unused slots keep WAL (the disk fills up) and dead rows of the catalog: %s",
		   answer_text(j, D_ORPHANS));
}

/* -- failover ------------------------------------------------------------------------ */

/* psql takes it as it is: only a replication connection knows the command. */
static void cure_failover(struct judge *j)
{
	wp_sql_add(&j->cure,
		   "-- in psql, while no relay runs:\n"
		   "\\connect -reuse-previous=on \"replication=database\"\n"
		   "ALTER_REPLICATION_SLOT %I (FAILOVER true);\n"
		   "\\connect -reuse-previous=on \"replication=false\"",
		   j->options->slot);
}

/* Says what calls for the flag; NULL when nothing that is seen here does. */
static const char *copying_is_wanted(const struct judge *j, const char **ret_which)
{
	*ret_which = "";
	if (answer_yes(j, D_SYNC_WORKER))
		return "a standby copies slots";
	if (!answer_null(j, D_STANDBYS))
		return "synchronized_standby_slots is set";
	*ret_which = answer_text(j, D_OTHER_FAILOVER);
	if (!answer_null(j, D_OTHER_FAILOVER))
		return "a slot with the flag exists: ";
	*ret_which = answer_text(j, D_STANDBYS_ACTIVE);
	return answer_null(j, D_STANDBYS_ACTIVE) ? NULL : "standbys replicate from this server: ";
}

static void judge_not_copied(struct judge *j)
{
	const char *which, *reason = copying_is_wanted(j, &which);
	if (reason == NULL) {
		FOUND_OK(j, "slot_failover",
			 "no standby that needs a copy of the slot is visible; before one is to "
			 "take over, set the slot's failover flag");
		return;
	}
	cure_failover(j);
	FOUND_WARN(j, "slot_failover",
		   "a failover loses slot %s: it lacks the failover flag, although %s%s",
		   j->options->slot, reason, which);
}

/* The README says what is to be done then. */
static void judge_never_copied(struct judge *j)
{
	if (answer_null(j, D_STANDBYS_ACTIVE)) {
		FOUND_OK(j, "slot_failover",
			 "no standby that needs a copy of the slot is visible; PostgreSQL before "
			 "17 does not copy slots");
		return;
	}
	wp_sql_add(&j->cure, "-- upgrade to PostgreSQL 17 or newer; until then run walpost init on "
			     "a promoted server before anything is written to it");
	FOUND_WARN(j, "slot_failover",
		   "a failover loses slot %s: PostgreSQL before 17 does not copy slots to "
		   "standbys, and some replicate from this server: %s",
		   j->options->slot, answer_text(j, D_STANDBYS_ACTIVE));
}

/* The slot of a former primary is older than the new primary's, and nobody reads it. */
static void judge_in_the_way(struct judge *j)
{
	wp_sql_add(&j->cure, "-- on this standby; its copy of the primary's slot then follows:\n");
	wp_slot_drop_sql(&j->cure, j->options->slot);
	FOUND_WARN(j, "slot_failover",
		   "slot %s of this standby is not a copy of the primary's slot, but was created "
		   "here when this server was the primary: the server cannot copy slots while it "
		   "exists (\"exiting from slot synchronization because same name slot\" in its "
		   "log), and a failover to it loses events",
		   j->options->slot);
}

static void judge_not_copied_again(struct judge *j)
{
	const char *standbys = answer_text(j, D_STANDBYS_ACTIVE);

	wp_sql_add(&j->cure,
		   "-- on each of the standbys, not here:\n"
		   "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
		   "WHERE slot_name = %L AND NOT synced;\n"
		   "-- and set sync_replication_slots = on there",
		   j->options->slot);
	FOUND_WARN(j, "slot_failover",
		   "this server was promoted, and no standby copies slot %s from it, although some "
		   "replicate (%s). A former primary that came back as a standby has a slot of the "
		   "same name, which stops the copying of slots (\"exiting from slot "
		   "synchronization because same name slot\" in its log): the next failover loses "
		   "events",
		   j->options->slot, standbys);
}

static void judge_copied(struct judge *j)
{
	const char *standbys = answer_text(j, D_STANDBYS_ACTIVE);

	if (answer_is(j, D_SLOT_SYNC, "not_copied")) {
		judge_not_copied_again(j);
		return;
	}
	if (!answer_yes(j, D_SYNC_WORKER) || !answer_null(j, D_STANDBYS) || !*standbys) {
		FOUND_OK(j, "slot_failover",
			 "the slot is copied to standbys that have sync_replication_slots%s",
			 answer_yes(j, D_SLOT_SYNCED) ? "; it was itself copied to this server"
						      : "");
		return;
	}
	wp_sql_add(&j->cure, "-- list only the standbys that may be promoted:\n");
	wp_judge_cure_list(j, "synchronized_standby_slots", standbys);
	FOUND_WARN(j, "slot_failover",
		   "a standby copies the slot, but synchronized_standby_slots is empty: an event "
		   "may reach Kafka before its transaction reaches the standby, and a failover "
		   "then loses the transaction. Set it to make events wait for the standby");
}

static void cure_standbys(struct judge *j)
{
	const char *rest = answer_text(j, D_STANDBYS_REST);
	wp_judge_cure_list(j, "synchronized_standby_slots", *rest ? rest : "''");
}

/* The walsender of a slot with the flag waits for each of them. */
static void judge_standbys(struct judge *j)
{
	if (!answer_yes(j, D_SLOT_FAILOVER) || answer_null(j, D_STANDBYS))
		return;
	if (!answer_null(j, D_STANDBYS_MISSING)) {
		cure_standbys(j);
		FOUND_LATER(j, "standby_slots",
			    "synchronized_standby_slots names entries that are not physical slots "
			    "of this server: %s; no event is sent until they are",
			    answer_text(j, D_STANDBYS_MISSING));
	} else if (!answer_null(j, D_STANDBYS_IDLE)) {
		wp_sql_add(&j->cure, "-- start the standby; or, if it does not come back:\n");
		cure_standbys(j);
		FOUND_LATER(j, "standby_slots",
			    "synchronized_standby_slots names slots that no standby is reading: "
			    "%s; no event is sent until one does",
			    answer_text(j, D_STANDBYS_IDLE));
	} else {
		FOUND_OK(j, "standby_slots",
			 "events wait for the standbys of %s, which are connected",
			 answer_text(j, D_STANDBYS));
	}
}

static void judge_incomplete(struct judge *j)
{
	wp_sql_add(&j->cure,
		   "-- wait until the relay has confirmed newer events and the standby has "
		   "copied the slot; then check again");
	FOUND_WARN(j, "slot_failover",
		   "this standby's copy of slot %s is not complete yet: a promotion now loses it, "
		   "with its events",
		   j->options->slot);
}

static void judge_failover(struct judge *j)
{
	if (j->version < 170000)
		judge_never_copied(j);
	else if (answer_is(j, D_SLOT_SYNC, "incomplete"))
		judge_incomplete(j);
	else if (answer_is(j, D_SLOT_SYNC, "in_the_way"))
		judge_in_the_way(j);
	else if (j->in_recovery)
		FOUND_OK(j, "slot_failover", "%s",
			 answer_yes(j, D_SLOT_SYNCED)
				 ? "the slot is a copy of the primary's slot, for a promotion"
				 : "the slot belongs to this standby itself");
	else if (answer_yes(j, D_SLOT_FAILOVER))
		judge_copied(j);
	else
		judge_not_copied(j);
	judge_standbys(j);
}

/* -- younger than the slot ------------------------------------------------------------ */

static void judge_tables_added(struct judge *j)
{
	if (answer_null(j, D_PUB_TABLES_YOUNGER))
		return;
	wp_sql_add(&j->cure, "-- when the relay has caught up, send the rows that are missing in "
			     "Kafka: walpost diff lists them, walpost replay --id sends them");
	FOUND_WARN(j, "publication_since",
		   "publication %s received %s after slot %s began to decode: rows committed "
		   "before that are not relayed",
		   j->options->publication, answer_text(j, D_PUB_TABLES_YOUNGER), j->options->slot);
}

/* A relay waits for its end, so it is no precondition of one. */
static void judge_holder(struct judge *j)
{
	/* A standby's own process has the copy while it is not complete. */
	if (answer_null(j, D_SLOT_HOLDER) || answer_yes(j, D_SLOT_HOLDER_IS_WALPOST) ||
	    answer_is(j, D_SLOT_SYNC, "incomplete"))
		return;
	wp_sql_add(&j->cure, "-- if it may be ended:\nSELECT pg_terminate_backend(%s);",
		   answer_text(j, D_SLOT_ACTIVE_PID));
	FOUND_WARN(j, "slot_foreign",
		   "slot %s is held by %s, which by its application_name is no walpost relay: then "
		   "no relay delivers events while it is, and what it confirms is lost",
		   j->options->slot, answer_text(j, D_SLOT_HOLDER));
}

void wp_judge_slot_kept(struct judge *j)
{
	judge_retention(j);
	judge_orphans(j);
	if (answer_null(j, D_SLOT))
		return;
	judge_holder(j);
	judge_kept(j);
	judge_failover(j);
	judge_tables_added(j);
}
