/* The slot as a doctor sees it: what keeps WAL, what loses it, what a failover does. */
#include <limits.h>
#include <stdio.h>

#include "doctor_answer.h"
#include "preflight_judge.h"

enum {
	TIGHT_S = 3600,	     /* as relay/guard warns */
	AMPLE_S = 24 * 3600, /* what is advised */
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

/* What the server writes in a day, and 10 GB at least. */
static void cure_retention(struct judge *j)
{
	long day = answer_number(j, D_WAL_RATE) / 1024 * AMPLE_S / 1024 / 1024;
	long gb = day + 1 > AMPLE_MIN_GB ? day + 1 : AMPLE_MIN_GB;
	wp_sql_add(&j->cure,
		   "-- as much as the disk of the WAL can spare; what is written in a day, and "
		   "10GB at least:\n"
		   "ALTER SYSTEM SET max_slot_wal_keep_size = '%sGB'; SELECT pg_reload_conf();",
		   number_text(gb).text);
}

static void judge_retention(struct judge *j)
{
	long mb = answer_number(j, D_KEEP_MB), rate = answer_number(j, D_WAL_RATE);
	long lasts_s = rate > 0 ? mb * 1024 / (rate / 1024 > 0 ? rate / 1024 : 1) : LONG_MAX;
	struct text since = span_text(answer_number(j, D_WAL_RATE_SINCE));
	if (mb < 0) {
		cure_retention(j);
		FOUND_WARN(j, "slot_retention",
			   "max_slot_wal_keep_size is unlimited: while the relay stands still, WAL "
			   "is kept until the disk is full, and then the database stops. Limited, "
			   "the slot is given up instead, and events with it");
	} else if (lasts_s < TIGHT_S) {
		cure_retention(j);
		FOUND_WARN(
			j, "slot_retention",
			"max_slot_wal_keep_size is %ld MB, and the server writes %ld kB of WAL a "
			"second (average of the last %s): a relay that stands still for %s "
			"loses its slot",
			mb, rate / 1024, since.text, span_text(lasts_s).text);
	} else {
		FOUND_OK(j, "slot_retention",
			 "a relay that falls more than %ld MB of WAL behind loses its slot; the "
			 "server writes %ld kB a second (average of the last %s)",
			 mb, rate / 1024, since.text);
	}
}

/* -- what is kept now ---------------------------------------------------------------- */

/*
 * Whoever holds restart_lsn back while the relay confirms. If it is gone, the server notes so
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
	char who[80] = "nobody who can be seen";
	if (!answer_null(j, D_OLD_PREPARED))
		(void)snprintf(who, sizeof(who), "a prepared transaction of %s",
			       span_text(answer_number(j, D_OLD_PREPARED_S)).text);
	else if (!answer_null(j, D_OLD_PID))
		(void)snprintf(who, sizeof(who), "process %s", answer_text(j, D_OLD_PID));
	cure_old_transaction(j);
	FOUND_WARN(j, "slot_wal",
		   "slot %s keeps %s of WAL, more than max_wal_size, though its relay is not far "
		   "behind: a transaction that is open holds it back (the oldest that writes: %s)",
		   j->options->slot, answer_text(j, D_SLOT_RETAINED), who);
}

static void judge_kept(struct judge *j)
{
	if (!answer_is(j, D_SLOT_WAL_STATUS, "extended"))
		return; /* within max_wal_size; or preflight has said more */
	if (!answer_yes(j, D_SLOT_LAGS)) {
		say_held_back(j);
		return;
	}
	bool is_read = !answer_null(j, D_SLOT_ACTIVE_PID);
	wp_sql_add(&j->cure, is_read ? "-- its log says what it waits for; walpost status --watch "
				       "shows whether it catches up"
				     : "-- start the relay: walpost run");
	FOUND_WARN(j, "slot_wal",
		   "slot %s keeps %s of WAL, more than max_wal_size: %s, and the disk fills",
		   j->options->slot, answer_text(j, D_SLOT_RETAINED),
		   is_read ? "its relay is far behind" : "no relay reads it");
}

static void judge_orphans(struct judge *j)
{
	if (answer_null(j, D_ORPHANS)) {
		FOUND_OK(j, "other_slots", "none of the server's other slots keeps WAL for nobody");
		return;
	}
	wp_sql_add(&j->cure, "-- if nobody comes back for them:\n%s",
		   answer_text(j, D_ORPHANS_DROP));
	FOUND_WARN(j, "other_slots",
		   "slots that nobody reads keep WAL (the disk fills, for us too) and dead rows of "
		   "the catalog: %s",
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

static bool is_copying_wanted(const struct judge *j)
{
	return answer_yes(j, D_SYNC_WORKER) || !answer_null(j, D_OTHER_FAILOVER) ||
	       !answer_null(j, D_STANDBYS);
}

static void judge_not_copied(struct judge *j)
{
	const char *slot = j->options->slot;
	if (!is_copying_wanted(j)) {
		FOUND_OK(j, "slot_failover",
			 "a failover loses the slot: it was made without the failover flag of "
			 "PostgreSQL 17");
		return;
	}
	cure_failover(j);
	FOUND_WARN(j, "slot_failover",
		   "a failover loses slot %s: it lacks the failover flag, while %s%s", slot,
		   answer_yes(j, D_SYNC_WORKER)
			   ? "a standby copies slots"
			   : (answer_null(j, D_STANDBYS) ? "there is one that has it: "
							 : "synchronized_standby_slots is set"),
		   answer_yes(j, D_SYNC_WORKER) || !answer_null(j, D_STANDBYS)
			   ? ""
			   : answer_text(j, D_OTHER_FAILOVER));
}

static void judge_copied(struct judge *j)
{
	const char *standbys = answer_text(j, D_STANDBYS_ACTIVE);
	if (!answer_yes(j, D_SYNC_WORKER) || !answer_null(j, D_STANDBYS) || !*standbys) {
		FOUND_OK(j, "slot_failover",
			 "the slot is copied to standbys that have sync_replication_slots%s",
			 answer_yes(j, D_SLOT_SYNCED) ? "; it came here so itself" : "");
		return;
	}
	wp_sql_add(&j->cure,
		   "-- only those that are to be promoted:\n"
		   "ALTER SYSTEM SET synchronized_standby_slots = %s; SELECT pg_reload_conf();",
		   standbys);
	FOUND_WARN(j, "slot_failover",
		   "a standby copies the slot, but synchronized_standby_slots is empty: an event "
		   "may be in Kafka before the standby has its transaction, which a failover then "
		   "loses. With it events wait for the standby");
}

static void cure_standbys(struct judge *j)
{
	const char *rest = answer_text(j, D_STANDBYS_REST);
	wp_sql_add(&j->cure, "ALTER SYSTEM SET synchronized_standby_slots = ");
	wp_sql_add(&j->cure, *rest ? "%s" : "''", rest);
	wp_sql_add(&j->cure, "; SELECT pg_reload_conf();");
}

/* The walsender of a slot with the flag waits for each of them. */
static void judge_standbys(struct judge *j)
{
	if (!answer_yes(j, D_SLOT_FAILOVER) || answer_null(j, D_STANDBYS))
		return;
	if (!answer_null(j, D_STANDBYS_MISSING)) {
		cure_standbys(j);
		FOUND_LATER(j, "standby_slots",
			    "synchronized_standby_slots names what is no physical slot here: %s; "
			    "no event is sent until it is",
			    answer_text(j, D_STANDBYS_MISSING));
	} else if (!answer_null(j, D_STANDBYS_IDLE)) {
		wp_sql_add(&j->cure, "-- start the standby; or, if it does not come back:\n");
		cure_standbys(j);
		FOUND_WARN(j, "standby_slots",
			   "synchronized_standby_slots names slots that no standby reads now: %s; "
			   "no event is sent until one does",
			   answer_text(j, D_STANDBYS_IDLE));
	} else {
		FOUND_OK(j, "standby_slots", "events wait for the standbys of %s, which are there",
			 answer_text(j, D_STANDBYS));
	}
}

static void judge_failover(struct judge *j)
{
	if (j->version < 170000)
		FOUND_OK(j, "slot_failover",
			 "a failover loses the slot: PostgreSQL before 17 does not copy it to "
			 "standbys");
	else if (j->in_recovery)
		FOUND_OK(j, "slot_failover", "%s",
			 answer_yes(j, D_SLOT_SYNCED)
				 ? "the slot is the copy of the primary's, for a promotion"
				 : "the slot is this standby's own");
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
	wp_sql_add(&j->cure,
		   "-- when the relay has caught up: walpost diff shows what is missing in Kafka; "
		   "insert it again");
	FOUND_WARN(j, "publication_since",
		   "publication %s was given %s after the point that slot %s begins to decode at: "
		   "rows committed before that are not relayed",
		   j->options->publication, answer_text(j, D_PUB_TABLES_YOUNGER), j->options->slot);
}

void wp_judge_slot_kept(struct judge *j)
{
	judge_retention(j);
	judge_orphans(j);
	if (answer_null(j, D_SLOT))
		return;
	judge_kept(j);
	judge_failover(j);
	judge_tables_added(j);
}
