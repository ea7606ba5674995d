/* The slot as a doctor sees it: what keeps WAL, what loses it, what a failover does. */
#include <limits.h>
#include <stdio.h>

#include "doctor_answer.h"
#include "preflight_judge.h"

enum {
	TIGHT_S = 3600,	       /* as relay/guard warns */
	AMPLE_S = 2 * TIGHT_S, /* what is advised at least */
	DAY_S = 24 * 3600,
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

static long written_gb(const struct judge *j, long seconds)
{
	return answer_number(j, D_WAL_RATE) / 1024 * seconds / 1024 / 1024 + 1;
}

/* SQL does not tell how much the disk has free, so no more is advised than is needed. */
static void cure_retention(struct judge *j)
{
	long needed = written_gb(j, AMPLE_S);
	wp_sql_add(
		&j->cure,
		"-- less than the disk of pg_wal has free (df shows it), and the more the longer "
		"a relay may stand still; the server writes %sGB in a day:\n"
		"ALTER SYSTEM SET max_slot_wal_keep_size = '%sGB'; SELECT pg_reload_conf();",
		number_text(written_gb(j, DAY_S)).text,
		number_text(needed > AMPLE_MIN_GB ? needed : AMPLE_MIN_GB).text);
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

/* What calls for the flag; NULL: nothing that is seen here. */
static const char *copying_is_wanted(const struct judge *j, const char **ret_which)
{
	*ret_which = "";
	if (answer_yes(j, D_SYNC_WORKER))
		return "a standby copies slots";
	if (!answer_null(j, D_STANDBYS))
		return "synchronized_standby_slots is set";
	*ret_which = answer_text(j, D_OTHER_FAILOVER);
	if (!answer_null(j, D_OTHER_FAILOVER))
		return "there is one that has it: ";
	*ret_which = answer_text(j, D_STANDBYS_ACTIVE);
	return answer_null(j, D_STANDBYS_ACTIVE) ? NULL : "standbys read from here: ";
}

static void judge_not_copied(struct judge *j)
{
	const char *which, *reason = copying_is_wanted(j, &which);
	if (reason == NULL) {
		FOUND_OK(j, "slot_failover",
			 "no standby is seen that would need a copy of the slot; before one is to "
			 "take over, give the slot the failover flag, which it lacks");
		return;
	}
	cure_failover(j);
	FOUND_WARN(j, "slot_failover",
		   "a failover loses slot %s: it lacks the failover flag, while %s%s",
		   j->options->slot, reason, which);
}

/* What is to be done then stands in the README. */
static void judge_never_copied(struct judge *j)
{
	if (answer_null(j, D_STANDBYS_ACTIVE)) {
		FOUND_OK(j, "slot_failover",
			 "no standby is seen that would need a copy of the slot; PostgreSQL before "
			 "17 copies none");
		return;
	}
	wp_sql_add(&j->cure, "-- upgrade to PostgreSQL 17 or newer; until then run walpost init on "
			     "a promoted server before anything is written there");
	FOUND_WARN(j, "slot_failover",
		   "a failover loses slot %s: PostgreSQL before 17 copies none to standbys, and "
		   "some read from here: %s",
		   j->options->slot, answer_text(j, D_STANDBYS_ACTIVE));
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
		judge_never_copied(j);
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
