/*
 * Asks Postgres for `walpost check`: what the last relay wrote down, what a stream does not ask,
 * and whether connections of each kind work.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/cli/outbox.h"
#include "walpost/postgres_preflight/preflight_later.h"
#include "walpost/postgres/provider.h"
#include "walpost/postgres_preflight/slot_checkpoint.h"
#include "walpost/source/slot_cure.h"

static void check_sslmode(struct wp_check *c)
{
	struct wp_connection_facts facts;
	if (wp_connection_facts(&c->config.postgres, &facts, NULL) == WP_OK)
		wp_preflight_connection(&c->found.findings, &facts); /* or connecting says why */
}

/* -- what the last relay wrote down -------------------------------------------------- */

/* These are the columns of the answer to the question below, in order. */
enum {
	BEYOND,
	DECODED_LESS,
	SLOT_AT,
	CONFIRMED,
	CONFIRMED_AT,
	EPOCH,
	TOPICS,
	TROUBLE,
	TROUBLE_S,
	IS_ACTIVE
};

static bool is_true(const PGresult *row, int column)
{
	return *PQgetvalue(row, 0, column) == 't'; /* NULL is "" */
}

static void judge_moved(struct wp_check *c, const PGresult *row)
{
	struct wp_error error;
	long epoch = strtol(PQgetvalue(row, 0, EPOCH), NULL, 10);
	/* A new epoch begins anew. */
	if ((!is_true(row, BEYOND) && !is_true(row, DECODED_LESS)) ||
	    (long)c->config.relay.epoch > epoch)
		return;
	(void)wp_error_set(&error, WP_CONFIG,
			   "slot %s is at %s, but its last relay had confirmed only %s at %s%s: "
			   "the slot was moved or recreated since, and walpost run will refuse "
			   "it. " WP_SLOT_MOVED,
			   c->config.postgres.slot, PQgetvalue(row, 0, SLOT_AT),
			   PQgetvalue(row, 0, CONFIRMED), PQgetvalue(row, 0, CONFIRMED_AT),
			   is_true(row, BEYOND)
				   ? ""
				   : ", and the slot has decoded fewer transactions than then");
	wp_findings_add(&c->found.findings, WP_FINDING_FAIL, WP_ROOM_SLOT, "slot_moved", error.text,
			"-- walpost backfill --missing --force\n"
			"-- or, if nothing is missing: walpost slot accept");
}

static void judge_epoch(struct wp_check *c, const PGresult *row)
{
	struct wp_error error;
	char cure[64];
	long epoch = strtol(PQgetvalue(row, 0, EPOCH), NULL, 10);
	if ((long)c->config.relay.epoch >= epoch)
		return;
	(void)wp_error_set(&error, WP_CONFIG,
			   "relay.epoch is %u, but events of slot %s were sent with epoch %ld: new "
			   "events would sort below them, and walpost run will refuse the slot",
			   (unsigned)c->config.relay.epoch, c->config.postgres.slot, epoch);
	(void)snprintf(cure, sizeof(cure), "-- set relay.epoch = %ld", epoch);
	wp_findings_add(&c->found.findings, WP_FINDING_FAIL, WP_ROOM_SLOT, "epoch", error.text,
			cure);
}

/* A restored database, or another cluster behind the same name, has positions that are not ours. */
static void judge_system(struct wp_check *c, const PGresult *row)
{
	enum { WAS, IS, SYSTEM_EPOCH };
	struct wp_error error;
	char cure[64];
	const char *was = PQgetvalue(row, 0, WAS), *is = PQgetvalue(row, 0, IS);
	long epoch = strtol(PQgetvalue(row, 0, SYSTEM_EPOCH), NULL, 10);
	if (!strcmp(was, is) || (long)c->config.relay.epoch > epoch)
		return;
	(void)wp_error_set(&error, WP_CONFIG,
			   "this is cluster %s, but events of slot %s were sent from cluster %s: "
			   "positions start over in a new cluster, and walpost run will refuse the "
			   "slot until relay.epoch is raised",
			   is, c->config.postgres.slot, was);
	(void)snprintf(cure, sizeof(cure), "-- set relay.epoch = %ld", epoch + 1);
	wp_findings_add(&c->found.findings, WP_FINDING_FAIL, WP_ROOM_SLOT, "system_identifier",
			error.text, cure);
}

static void write_system(struct wp_sql *sql, const struct wp_check *c)
{
	wp_sql_add(sql,
		   "SELECT w.system_identifier, k.system_identifier, w.epoch\n"
		   "FROM walpost.slot_checkpoint w CROSS JOIN pg_catalog.pg_control_system() k\n"
		   "WHERE w.slot = %L",
		   c->config.postgres.slot);
}

/*
 * Asks for what a start would refuse (relay/slot_identity, relay_source): a slot beyond where a
 * relay that stopped in good order left it, a slot that has decoded less than when one was killed,
 * or an epoch below that of events that were sent. Without the table, or the right to it, there is
 * nothing to compare.
 */
static void write_slot_checkpoint_question(struct wp_sql *sql, const struct wp_check *c)
{
	wp_sql_add(
		sql,
		"SELECT w.stopped AND NOT s.active AND s.confirmed_flush_lsn > w.confirmed_lsn,\n"
		"  NOT s.active AND " WP_SLOT_CHECKPOINT_IS_COMPARABLE
		" AND t.total_txns < w.slot_transactions,\n"
		"  s.confirmed_flush_lsn, w.confirmed_lsn, w.confirmed_at, w.epoch, w.topics,\n"
		"  w.trouble, extract(epoch FROM now() - w.trouble_at)::bigint, s.active\n"
		"FROM pg_catalog.pg_replication_slots s JOIN walpost.slot_checkpoint w ON w.slot = "
		"s.slot_name\n"
		"LEFT JOIN pg_catalog.pg_stat_replication_slots t ON t.slot_name = w.slot\n"
		"CROSS JOIN pg_catalog.pg_stat_bgwriter b\n"
		"WHERE s.slot_name = %L",
		c->config.postgres.slot);
}

/* Tells in the relay's own words why it halted, or what its delivery waits for. */
static void judge_trouble(struct wp_check *c, const PGresult *row)
{
	struct wp_error error;
	const char *trouble = PQgetvalue(row, 0, TROUBLE), *since = PQgetvalue(row, 0, TROUBLE_S);
	if (*trouble == '\0')
		return;
	if (is_true(row, IS_ACTIVE))
		(void)wp_error_set(
			&error, WP_OK,
			"the relay that reads slot %s has received no confirmation for %s s: %s",
			c->config.postgres.slot, since, trouble);
	else
		(void)wp_error_set(&error, WP_OK,
				   "the last relay of slot %s reported a problem %s s ago: %s",
				   c->config.postgres.slot, since, trouble);
	wp_findings_add(
		&c->found.findings, WP_FINDING_WARN, WP_ROOM_SLOT, "relay_trouble", error.text,
		"-- follow the instruction in the message; the next relay that streams clears it");
}

static void judge_slot_checkpoint(struct wp_check *c, const PGresult *row)
{
	judge_moved(c, row);
	judge_epoch(c, row);
	judge_trouble(c, row);
	wp_topic_list_merge(&c->topics, PQgetvalue(row, 0, TOPICS));
}

/* Judges nothing if there is no row, or no answer. */
static void judge_row(struct wp_check *c, struct wp_session *session,
		      void (*write)(struct wp_sql *, const struct wp_check *),
		      void (*judge)(struct wp_check *, const PGresult *row))
{
	struct wp_error error;
	PGresult *row;
	if (wp_check_ask(c, session, write, &row, &error) != WP_OK)
		return;
	if (PQntuples(row) == 1)
		judge(c, row);
	PQclear(row);
}

/*
 * Asks two questions, because a server may keep the second answer to itself. What is wrong with the
 * table is a finding of its own.
 */
static void check_slot_checkpoint(struct wp_check *c, struct wp_session *session)
{
	judge_row(c, session, write_slot_checkpoint_question, judge_slot_checkpoint);
	judge_row(c, session, write_system, judge_system);
}

/* -- what a stream does not ask ------------------------------------------------------ */

static enum wp_rc ask_later_preflight(struct wp_check *c, struct wp_session *session,
				      PGresult **ret, struct wp_error *error)
{
	struct wp_buffer text;
	wp_buffer_init(&text, WP_SQL_SIZE_MAX);
	enum wp_rc rc = wp_preflight_later_sql(wp_session_pg(session), &c->config.postgres,
					       &c->wanted.wanted, &text, error);
	if (rc == WP_OK)
		rc = wp_session_query(session, (const char *)text.data, ret, error);
	wp_buffer_release(&text);
	return rc;
}

static enum wp_rc check_later(struct wp_check *c, struct wp_session *session,
			      struct wp_error *error)
{
	enum wp_publication_age age = WP_PUBLICATION_OLDER;
	PGresult *answer;
	enum wp_rc rc = ask_later_preflight(c, session, &answer, error);
	if (rc != WP_OK)
		return rc;
	rc = wp_preflight_later_judge(wp_session_pg(session), answer, &c->config.postgres,
				      &c->wanted.wanted, &c->found, &age, error);
	PQclear(answer);
	if (rc == WP_OK && age == WP_PUBLICATION_YOUNGER && wp_check_is_fine(c, "slot"))
		wp_check_decoding(c, session);
	return rc;
}

/* Without this finding, all else that is missing looks like many faults. */
static void check_init(struct wp_check *c)
{
	struct wp_error error;

	if (c->found.slot_exists || c->found.publication_exists || c->found.slot_checkpoint_ready)
		return;
	(void)wp_error_set(&error, WP_CONFIG,
			   "slot %s, publication %s and a writable table walpost.slot_checkpoint "
			   "are all missing: walpost init has not been run in this database",
			   c->config.postgres.slot, c->config.postgres.publication);
	wp_findings_add(&c->found.findings, WP_FINDING_FAIL, WP_ROOM_CONNECTION, "init", error.text,
			"-- run walpost init first: it creates the objects that are missing below");
}

/* -- all ------------------------------------------------------------------------------- */

/* Prefers the cure for a host of which it is known why it is not reached from everywhere. */
static const char *connection_cure(const struct wp_check *c)
{
	struct wp_connection_facts facts;
	const char *cure = NULL;

	if (wp_connection_facts(&c->config.postgres, &facts, NULL) == WP_OK)
		cure = wp_provider_unreachable(facts.hosts);
	if (cure == NULL && c->config.postgres.login != NULL)
		cure = "-- see postgres.conninfo, and postgres.login or postgres.password_command";
	return cure != NULL ? cure : "-- see postgres.conninfo";
}

static enum wp_rc ask_pid(struct wp_session *session, char pid[16], struct wp_error *error)
{
	PGresult *answer;
	enum wp_rc rc =
		wp_session_query(session, "SELECT pg_catalog.pg_backend_pid()", &answer, error);
	if (rc != WP_OK)
		return rc;
	(void)snprintf(pid, 16, "%s", PQgetvalue(answer, 0, 0));
	PQclear(answer);
	return WP_OK;
}

/*
 * A pooler in transaction mode hands the same process out again while nobody else wants it: another
 * transaction of ours takes it meanwhile.
 */
static void check_pooler(struct wp_check *c, struct wp_session *session)
{
	struct wp_session other;
	struct wp_error error;
	char before[16] = "", after[16] = "";
	enum wp_rc rc = ask_pid(session, before, &error);
	enum wp_rc opened = wp_session_open(&other, &c->console, &c->config.postgres,
					    WP_CONNECTION_SQL, &error);
	if (opened == WP_OK)
		opened = wp_session_do(&other, "BEGIN; SELECT 1", &error);
	if (rc == WP_OK)
		rc = ask_pid(session, after, &error);
	wp_session_release(&other);
	if (rc != WP_OK || !strcmp(before, after))
		return; /* a connection that is lost is told of elsewhere */
	(void)wp_error_set(&error, WP_CONFIG,
			   "two statements of one session were run by two processes of the server "
			   "(%s and %s): a connection pooler in transaction mode is between, and "
			   "what is set for a session reaches others",
			   before, after);
	wp_findings_add(&c->found.findings, WP_FINDING_FAIL, WP_ROOM_CONNECTION, "pooled_session",
			error.text, "-- in postgres.conninfo: the address of the server itself");
}

static void check_server(struct wp_check *c)
{
	struct wp_session session;
	struct wp_error error;
	const struct wp_postgres_options *postgres = &c->config.postgres;
	enum wp_rc rc = wp_session_open(&session, &c->console, postgres, WP_CONNECTION_SQL, &error);
	if (rc == WP_OK)
		rc = wp_cli_preflight(&session, postgres, &c->wanted.wanted, &c->found, &error);
	if (rc == WP_OK)
		check_pooler(c, &session);
	if (rc == WP_OK)
		check_init(c);
	if (rc == WP_OK)
		wp_check_types(c, &session);
	if (rc == WP_OK && c->found.slot_checkpoint_ready)
		check_slot_checkpoint(c, &session);
	if (rc == WP_OK)
		wp_check_parked(c, &session);
	if (rc == WP_OK)
		wp_check_scheduled(c, &session);
	if (rc == WP_OK)
		wp_check_cleanup(c, &session);
	if (rc == WP_OK && *session.locked.text == '\0')
		rc = check_later(c, &session, &error);
	if (*session.locked.text != '\0')
		wp_findings_add(&c->found.findings, WP_FINDING_FAIL, WP_ROOM_CONNECTION, "lock",
				session.locked.text,
				"-- end the transaction that holds the lock, or wait for its end, "
				"and run walpost check again");
	else
		wp_check_add(c, rc, WP_ROOM_CONNECTION, "connection", "the server answers", &error,
			     connection_cure(c));
	wp_session_release(&session);
}

/* A pooler, or a limit of the role, may stand between us and a walsender. */
static void check_replication(struct wp_check *c)
{
	struct wp_session session;
	struct wp_error error;
	enum wp_rc rc = wp_session_open(&session, &c->console, &c->config.postgres,
					WP_CONNECTION_REPLICATION, &error);
	wp_check_add(c, rc, WP_ROOM_CONNECTION, "replication_connection",
		     "a replication connection works", &error,
		     "-- in postgres.conninfo name the server itself: a connection pooler does not "
		     "support replication=database (the cure of the finding pooler, if there is "
		     "one, names it)");
	wp_session_release(&session);
}

void wp_check_postgres(struct wp_check *c)
{
	check_server(c);
	if (wp_check_is_fine(c, "connection") && wp_check_is_fine(c, "slot") &&
	    wp_check_is_fine(c, "publication") && !c->found.slot_active)
		wp_check_holds(c);
	if (wp_check_is_fine(c, "connection") && wp_check_is_fine(c, "primary"))
		wp_check_servers(c);
	check_sslmode(c);
	/* Otherwise the connection would only fail for the same reason. */
	if (wp_check_is_fine(c, "connection") && wp_check_is_fine(c, "role") &&
	    wp_check_is_fine(c, "max_wal_senders"))
		check_replication(c);
}
