/*
 * Decides whether `walpost backfill` may make its slot, takes the snapshot with a temporary one,
 * and makes the slot when all rows are sent.
 */
#include "backfill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/cli/changes.h"
#include "walpost/cli/cli.h"
#include "walpost/postgres_preflight/slot.h"

static enum wp_rc ask(struct wp_session *s, const char *template, const char *a, const char *b,
		      PGresult **ret, struct wp_error *error)
{
	struct wp_statement statement;

	wp_statement_begin(&statement, s);
	wp_sql_add(&statement.sql, template, a, b);
	return wp_statement_ask(&statement, ret, error);
}

static enum wp_rc do_it(struct wp_session *s, const char *template, const char *a, const char *b,
			struct wp_error *error)
{
	PGresult *done;
	enum wp_rc rc = ask(s, template, a, b, &done, error);

	if (rc == WP_OK)
		PQclear(done);
	return rc;
}

/* -- whether one may be made ----------------------------------------------------------- */

static const char state_sql[] =
	"SELECT s.active_pid, coalesce(a.application_name, ''), "
	"coalesce(pg_catalog.host(a.client_addr), 'local'), s.slot_type, s.plugin, s.database = "
	"pg_catalog.current_database(), to_jsonb(s)->>'wal_status' = 'lost' OR "
	"to_jsonb(s)->>'invalidation_reason' IS NOT NULL, s.confirmed_flush_lsn FROM "
	"pg_catalog.pg_replication_slots s LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = "
	"s.active_pid WHERE s.slot_name = %L";

static enum wp_rc judge_state(struct wp_backfill *b, const PGresult *slot, struct wp_error *error)
{
	const char *name = b->postgres.slot;

	b->slot_exists = PQntuples(slot) > 0;
	if (!b->slot_exists)
		return WP_OK;
	(void)snprintf(b->slot_lsn, sizeof(b->slot_lsn), "%s", PQgetvalue(slot, 0, 7));
	if (!PQgetisnull(slot, 0, 0))
		return wp_error_set(error, WP_DATA,
				    "slot %s is in use by process %s (application %s, client %s): "
				    "backfill never sends beside a relay. Use walpost replay, or "
				    "stop the relay first",
				    name, PQgetvalue(slot, 0, 0), PQgetvalue(slot, 0, 1),
				    PQgetvalue(slot, 0, 2));
	if (strcmp(PQgetvalue(slot, 0, 3), "logical") != 0 ||
	    strcmp(PQgetvalue(slot, 0, 4), "pgoutput") != 0 || *PQgetvalue(slot, 0, 5) != 't')
		return wp_error_set(error, WP_DATA,
				    "slot %s is not walpost's: it is a %s slot%s; set "
				    "postgres.slot to another name",
				    name, PQgetvalue(slot, 0, 3),
				    *PQgetvalue(slot, 0, 5) == 't' ? "" : " in another database");
	bool is_lost = *PQgetvalue(slot, 0, 6) == 't';
	if (b->force || b->dry_run)
		return WP_OK;
	if (is_lost)
		return wp_error_set(error, WP_DATA,
				    "slot %s is lost: Postgres has removed WAL that it needed. To "
				    "put a new one in its place, use --force",
				    name);
	return wp_error_set(error, WP_DATA,
			    "slot %s exists and can be read: start walpost run, and resend rows "
			    "with walpost replay. To give up what the slot holds "
			    "and put a new one in its place, use --force",
			    name);
}

static enum wp_rc judge_publication(struct wp_backfill *b, struct wp_error *error)
{
	PGresult *found;
	enum wp_rc rc = ask(&b->session,
			    "SELECT EXISTS (SELECT FROM pg_catalog.pg_publication WHERE pubname = "
			    "%L), pg_catalog.pg_is_in_recovery(), EXISTS (SELECT FROM "
			    "pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = "
			    "c.relnamespace WHERE n.nspname = 'walpost' AND c.relname = "
			    "'slot_checkpoint')",
			    b->postgres.publication, NULL, &found, error);

	if (rc != WP_OK)
		return rc;
	bool exists = *PQgetvalue(found, 0, 0) == 't', is_standby = *PQgetvalue(found, 0, 1) == 't';
	b->has_slot_checkpoint = *PQgetvalue(found, 0, 2) == 't';
	PQclear(found);
	if (is_standby)
		return wp_error_set(error, WP_CONFIG,
				    "the server is a standby: run backfill on the primary");
	if (!exists)
		return wp_error_set(error, WP_CONFIG,
				    "there is no publication %s: the server cannot decode a slot "
				    "that is older than its publication; create it with walpost "
				    "init, and run backfill with --force, which replaces the slot "
				    "that init creates",
				    b->postgres.publication);
	return WP_OK;
}

/*
 * Refuses a restored database, whose slot checkpoint row is of a later state or of another system,
 * until relay.epoch is raised.
 */
static enum wp_rc judge_slot_checkpoint(struct wp_backfill *b, struct wp_error *error)
{
	PGresult *row;
	enum wp_rc rc =
		ask(&b->session,
		    "SELECT c.confirmed_lsn, c.epoch, c.epoch + 1, c.confirmed_lsn IS NOT NULL AND "
		    "(c.system_identifier <> (SELECT system_identifier::text FROM "
		    "pg_catalog.pg_control_system()) OR pg_catalog.pg_current_wal_lsn() < "
		    "c.confirmed_lsn), c.topics FROM walpost.slot_checkpoint c WHERE c.slot = %L",
		    b->postgres.slot, NULL, &row, error);

	if (rc != WP_OK) /* a role that may not read it knows nothing, and neither does a relay */
		return strncmp(b->session.failure.sqlstate, "42", 2) == 0 ? WP_OK : rc;
	if (PQntuples(row) == 1)
		wp_topic_list_merge(&b->delivered_to, PQgetvalue(row, 0, 4));
	if (PQntuples(row) == 1 && *PQgetvalue(row, 0, 3) == 't' &&
	    strtoul(PQgetvalue(row, 0, 1), NULL, 10) >= b->diff.config.relay.epoch)
		rc = wp_error_set(error, WP_CONFIG,
				  "this database is another one, or an older state, than the one "
				  "whose events were relayed up to %s: its positions repeat. Set "
				  "relay.epoch = %s, for walpost run too, and begin again",
				  PQgetvalue(row, 0, 0), PQgetvalue(row, 0, 2));
	else if (PQntuples(row) == 1 &&
		 strtoul(PQgetvalue(row, 0, 1), NULL, 10) > b->diff.config.relay.epoch)
		rc = wp_error_set(error, WP_CONFIG,
				  "relay.epoch is %u, but events of slot %s were sent with epoch "
				  "%s: set relay.epoch = %s, and begin again",
				  (unsigned)b->diff.config.relay.epoch, b->postgres.slot,
				  PQgetvalue(row, 0, 1), PQgetvalue(row, 0, 1));
	PQclear(row);
	return rc;
}

enum wp_rc wp_backfill_judge_slot(struct wp_backfill *b, struct wp_error *error)
{
	PGresult *slot;
	enum wp_rc rc = ask(&b->session, state_sql, b->postgres.slot, NULL, &slot, error);

	if (rc != WP_OK)
		return rc;
	rc = judge_state(b, slot, error);
	PQclear(slot);
	if (rc == WP_OK)
		rc = judge_publication(b, error);
	return rc == WP_OK && b->has_slot_checkpoint ? judge_slot_checkpoint(b, error) : rc;
}

#define BEGIN_AGAIN                                                                                \
	"; not all rows may be in Kafka, and some may come twice, after later ones of their key. " \
	"Stop all relays, and begin again with --missing --force"

static enum wp_rc judge_use(const struct wp_backfill *b, const PGresult *slot,
			    struct wp_error *error)
{
	const char *name = b->postgres.slot;
	bool exists = PQntuples(slot) > 0;

	if (exists && !PQgetisnull(slot, 0, 0))
		return wp_error_set(error, WP_IO,
				    "slot %s is in use by process %s (application %s, client %s): "
				    "a relay was started meanwhile" BEGIN_AGAIN,
				    name, PQgetvalue(slot, 0, 0), PQgetvalue(slot, 0, 1),
				    PQgetvalue(slot, 0, 2));
	if (exists != b->slot_exists)
		return wp_error_set(error, WP_IO, "slot %s was %s meanwhile" BEGIN_AGAIN, name,
				    exists ? "created" : "dropped");
	if (exists && strcmp(PQgetvalue(slot, 0, 7), b->slot_lsn) != 0)
		return wp_error_set(error, WP_IO,
				    "slot %s was moved meanwhile, from %s to %s" BEGIN_AGAIN, name,
				    b->slot_lsn, PQgetvalue(slot, 0, 7));
	return WP_OK;
}

enum wp_rc wp_backfill_judge_unused(struct wp_backfill *b, struct wp_error *error)
{
	PGresult *slot;
	enum wp_rc rc = ask(&b->session, state_sql, b->postgres.slot, NULL, &slot, error);

	if (rc != WP_OK)
		return rc;
	rc = judge_use(b, slot, error);
	PQclear(slot);
	return rc;
}

/* -- the two of them -------------------------------------------------------------------- */

enum wp_rc wp_backfill_begin_slot(struct wp_backfill *b, struct wp_error *error)
{
	enum wp_rc rc = wp_session_open(&b->replication, &b->diff.console, &b->postgres,
					WP_CONNECTION_REPLICATION, error);

	if (rc == WP_OK)
		rc = wp_cli_timelines(&b->replication, &b->facts.timelines, &b->facts.server_lsn,
				      error);
	if (rc != WP_OK)
		return rc;
	(void)snprintf(b->temporary, sizeof(b->temporary), "walpost_backfill_%d",
		       PQbackendPID(wp_session_pg(&b->replication)));
	return wp_cli_create_exported_slot(&b->replication, &b->postgres, b->temporary,
					   b->timeout_ms, b->lsn, b->snapshot, error);
}

/* A row of another system, or of a later state, makes a relay refuse the lower epoch by itself. */
void wp_backfill_note_epoch(struct wp_backfill *b)
{
	static const char epoch_sql[] =
		"SELECT pg_catalog.set_config('synchronous_commit', 'local', true), "
		"pg_catalog.set_config('lock_timeout', '5000', true);\n"
		"UPDATE walpost.slot_checkpoint c SET epoch = %L WHERE c.slot = %L AND "
		"c.system_identifier = (SELECT system_identifier::text FROM "
		"pg_catalog.pg_control_system()) AND NOT coalesce(pg_catalog.pg_current_wal_lsn() "
		"< c.confirmed_lsn, false)";
	char epoch[16];
	struct wp_error ignored; /* without the right to write it, a relay knows nothing either */

	if (!b->has_slot_checkpoint)
		return;
	(void)snprintf(epoch, sizeof(epoch), "%u", (unsigned)b->diff.config.relay.epoch);
	(void)!do_it(&b->session, epoch_sql, epoch, b->postgres.slot, &ignored);
}

/* -- the last step ------------------------------------------------------------------------- */

/* We wait no longer for the server, which may itself wait for a relay that has the slot by now. */
#define FLAG_WITHIN_S 5.

static void give_up(void *arg)
{
	char problem[256];
	struct wp_session *s = arg;

	PGcancel *request = PQgetCancel(wp_session_pg(s));
	if (request != NULL) /* if this fails, it is tried again */
		(void)PQcancel(request, problem, sizeof(problem));
	PQfreeCancel(request);
}

/*
 * Sets the flag as `slot create` does, because a copy does not take it over. If this fails, the
 * slot stays: it is right without the flag, and a relay may already use it.
 */
static void set_failover(struct wp_backfill *b)
{
	struct wp_session *s = &b->replication;
	struct wp_error error;

	if (wp_slot_failover(PQserverVersion(wp_session_pg(s))) == WP_SLOT_LOCAL)
		return;
	s->waiting = give_up;
	s->waiting_arg = s;
	s->waiting_every_s = FLAG_WITHIN_S;
	enum wp_rc rc = do_it(s, "ALTER_REPLICATION_SLOT %I (FAILOVER true)", b->postgres.slot,
			      NULL, &error);
	s->waiting = NULL;
	if (rc != WP_OK)
		wp_cli_say(stderr,
			   "walpost: slot %s was created, but without the failover flag: %s; set "
			   "it with slot_failover.sql\n",
			   b->postgres.slot, error.text);
}

/*
 * From here until the slot checkpoint is renewed a relay is to refuse the slot: it has no failover
 * flag yet, and if we end now, nobody sets it. This is what makes a relay refuse (slot_moved): the
 * recorded one had stopped, and the slot is further. Without a row it goes on from the slot, before
 * which everything is in Kafka. Without slot_transactions, cleanup takes no row for delivered by
 * this slot (sql/cleanup.sql).
 */
static void claim_slot_checkpoint(struct wp_backfill *b)
{
	static const char claim_sql[] =
		"SELECT pg_catalog.set_config('synchronous_commit', 'local', true), "
		"pg_catalog.set_config('lock_timeout', '5000', true);\n"
		"UPDATE walpost.slot_checkpoint c SET owner = 'walpost backfill', stopped = true, "
		"slot_transactions = NULL WHERE c.slot = %L AND c.confirmed_lsn IS NOT NULL";
	struct wp_error ignored; /* the same is said when it cannot be renewed */

	(void)!do_it(&b->session, claim_sql, b->postgres.slot, NULL, &ignored);
}

/* Without this, a relay would refuse the slot as one that was moved. */
static void renew_slot_checkpoint(struct wp_backfill *b)
{
	struct wp_error error;
	PGresult *renewed;
	enum wp_rc rc = wp_cli_renew_slot_checkpoint(&b->session, b->postgres.slot,
						     "walpost backfill", &renewed, &error);

	if (rc == WP_OK)
		PQclear(renewed);
	else
		wp_cli_say(stderr,
			   "walpost: slot %s was created, but this is not recorded in "
			   "walpost.slot_checkpoint: %s; run walpost slot accept before walpost "
			   "run\n",
			   b->postgres.slot, error.text);
}

/* A slot that a relay has taken in this moment is not dropped: the server refuses. */
static enum wp_rc replace(struct wp_backfill *b, struct wp_error *error)
{
	enum wp_rc rc = WP_OK;

	if (b->slot_exists)
		rc = do_it(&b->session, "SELECT pg_catalog.pg_drop_replication_slot(%L)",
			   b->postgres.slot, NULL, error);
	if (rc != WP_OK)
		return rc;
	if (b->has_slot_checkpoint)
		claim_slot_checkpoint(b);
	return do_it(&b->replication,
		     "SELECT pg_catalog.pg_copy_logical_replication_slot(%L, %L, false)",
		     b->temporary, b->postgres.slot, error);
}

enum wp_rc wp_backfill_make_slot(struct wp_backfill *b, struct wp_error *error)
{
	struct wp_error inner;

	enum wp_rc rc = wp_backfill_judge_unused(b, error);
	if (rc != WP_OK)
		return rc;
	rc = replace(b, &inner);
	if (rc != WP_OK)
		return wp_error_set(error, rc,
				    "all rows are in Kafka, but slot %s was not created: %s; begin "
				    "again with --missing --force",
				    b->postgres.slot, inner.text);
	set_failover(b);
	if (b->has_slot_checkpoint)
		renew_slot_checkpoint(b);
	return WP_OK;
}
