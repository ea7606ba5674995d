#include "reissue_slot.h"

#include <stdio.h>

#include "walpost/base/clock.h"
#include "walpost/postgres_preflight/publication.h"

#define ASK_EVERY_S 0.2
#define READS_WITHIN_MS 10000 /* a relay finds a publication that was just made within seconds */
#define CAUGHT_UP_WITHIN_MS 10000 /* with more of a backlog than that nobody is to wait for it */

enum slot_column {
	SLOT_IN_RECOVERY,
	SLOT_TABLE,
	SLOT_PUBLICATION,
	SLOT_ALSO,
	SLOT_DATABASE,
	SLOT_EXISTS,
	SLOT_PROCESS,
	SLOT_STARTED,
	SLOT_READS,
	SLOT_YOUNG,
	SLOT_CONFIRMED,
	SLOT_REACHED,
};

static const char facts_sql[] =
	"WITH ours AS (SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n "
	"ON n.oid = c.relnamespace WHERE n.nspname = 'walpost') SELECT "
	"pg_catalog.pg_is_in_recovery(), EXISTS (SELECT FROM ours WHERE relname = 'reissue'), "
	"EXISTS (SELECT FROM pg_catalog.pg_publication WHERE pubname = '" WP_REISSUE_PUBLICATION
	"'), EXISTS (SELECT FROM ours WHERE relname = %L), pg_catalog.current_database(), "
	"mine.slot_name IS NOT NULL, mine.active_pid, a.backend_start, CASE WHEN a.query IS NULL "
	"OR a.query LIKE '<%%' THEN '?' WHEN a.query LIKE '%%\"" WP_REISSUE_PUBLICATION
	"\"%%' THEN 't' ELSE 'f' END, ";

/* If it is young, a new reader may have to read without it, up to where the log ends then. */
static const char young_sql[] =
	WP_PUBLICATION_NAMES_SQL("''", "mine.slot_name") " NOT LIKE '%%" WP_REISSUE_PUBLICATION
							 "', ";

/* The two %L are the LSN that is waited for, and the slot. */
static const char from_sql[] =
	"mine.confirmed_flush_lsn, mine.confirmed_flush_lsn >= asked.lsn::pg_lsn FROM (SELECT "
	"%L::text) asked (lsn) LEFT JOIN pg_catalog.pg_replication_slots mine ON mine.slot_name = "
	"%L LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = mine.active_pid";

static bool is_true(const PGresult *answer, enum slot_column column)
{
	return *PQgetvalue(answer, 0, (int)column) == 't';
}

static enum wp_slot_reads reads_of(const PGresult *answer)
{
	if (PQgetisnull(answer, 0, SLOT_PROCESS))
		return WP_READS_NOBODY;
	switch (*PQgetvalue(answer, 0, SLOT_READS)) {
	case 't':
		return WP_READS_IT;
	case 'f':
		return WP_READS_NOT;
	default:
		return WP_READS_UNKNOWN;
	}
}

static enum wp_rc judge(const struct wp_reissue_slot *s, const PGresult *answer,
			struct wp_error *error)
{
	const char *database = PQgetvalue(answer, 0, SLOT_DATABASE);

	if (is_true(answer, SLOT_IN_RECOVERY))
		return wp_error_set(error, WP_CONFIG,
				    "the server is a standby: run this command on the primary");
	if (!is_true(answer, SLOT_TABLE) || !is_true(answer, SLOT_ALSO))
		return wp_error_set(error, WP_CONFIG,
				    "table walpost.%s is missing in database %s: create it with "
				    "walpost init, or run %s",
				    is_true(answer, SLOT_TABLE) ? s->also : "reissue", database,
				    is_true(answer, SLOT_TABLE) ? s->also_sql : "sql/reissue.sql");
	if (!is_true(answer, SLOT_PUBLICATION))
		return wp_error_set(error, WP_CONFIG,
				    "publication " WP_REISSUE_PUBLICATION
				    " is missing in database %s: create it with walpost init, or "
				    "run sql/reissue.sql",
				    database);
	if (!is_true(answer, SLOT_EXISTS))
		return wp_error_set(error, WP_CONFIG,
				    "there is no slot %s (postgres.slot): create it with walpost "
				    "init",
				    s->slot);
	return WP_OK;
}

enum wp_rc wp_reissue_slot_ask(struct wp_reissue_slot *s, const char *lsn, struct wp_error *error)
{
	struct wp_statement statement;
	PGresult *answer;

	wp_statement_begin(&statement, s->session);
	wp_sql_add(&statement.sql, facts_sql, s->also != NULL ? s->also : "reissue");
	wp_sql_add(&statement.sql, young_sql);
	wp_sql_add(&statement.sql, from_sql, lsn, s->slot);
	enum wp_rc rc = wp_statement_ask(&statement, &answer, error);
	if (rc != WP_OK)
		return rc;
	s->reads = reads_of(answer);
	s->is_young = is_true(answer, SLOT_YOUNG);
	s->is_reached = is_true(answer, SLOT_REACHED);
	(void)snprintf(s->process, sizeof(s->process), "%s", PQgetvalue(answer, 0, SLOT_PROCESS));
	(void)snprintf(s->reader, sizeof(s->reader), "%s %s", s->process,
		       PQgetvalue(answer, 0, SLOT_STARTED));
	(void)snprintf(s->confirmed, sizeof(s->confirmed), "%s",
		       PQgetvalue(answer, 0, SLOT_CONFIRMED));
	rc = judge(s, answer, error);
	PQclear(answer);
	return rc;
}

/*
 * Rows of walpost.reissue are passed over where the publication did not exist yet, and by a relay
 * that has found that out up to the end of the log as it was then. So either the publication is
 * older than all that the slot holds, or there is a relay that reads it, and goes on doing so.
 */
static bool is_safe(const struct wp_reissue_slot *s)
{
	if (s->reads == WP_READS_IT)
		return true;
	return !s->is_young && s->reads != WP_READS_NOT;
}

static enum wp_rc say_unsafe(const struct wp_reissue_slot *s, struct wp_error *error)
{
	if (s->reads == WP_READS_NOT)
		return wp_error_set(
			error, WP_IO,
			"process %s reads slot %s without publication " WP_REISSUE_PUBLICATION
			": it would not send the events. Upgrade that relay, or wait until it has "
			"logged reissue_found",
			s->process, s->slot);
	if (s->reads == WP_READS_NOBODY)
		return wp_error_set(error, WP_IO,
				    "no relay reads slot %s, which may hold changes from before "
				    "publication " WP_REISSUE_PUBLICATION
				    " was created: a relay that begins there may pass the events "
				    "over. Start the relay first",
				    s->slot);
	return wp_error_set(
		error, WP_IO,
		"cannot determine whether process %s, which reads slot %s, reads "
		"publication " WP_REISSUE_PUBLICATION
		": GRANT pg_read_all_stats to the role, or run the command as the relay's",
		s->process, s->slot);
}

enum wp_rc wp_reissue_slot_log_end(struct wp_session *session, char lsn[WP_LSN_TEXT_SIZE],
				   struct wp_error *error)
{
	PGresult *end;
	enum wp_rc rc = wp_session_query(session, "SELECT pg_catalog.pg_current_wal_flush_lsn()",
					 &end, error);

	if (rc != WP_OK)
		return rc;
	(void)snprintf(lsn, WP_LSN_TEXT_SIZE, "%s", PQgetvalue(end, 0, 0));
	PQclear(end);
	return WP_OK;
}

static enum wp_rc pause(const struct wp_reissue_slot *s, struct wp_error *error)
{
	wp_console_wait(s->session->console, ASK_EVERY_S);
	return s->session->console->interrupted ? wp_error_set(error, WP_IO, "interrupted") : WP_OK;
}

enum wp_rc wp_reissue_slot_await_reader(struct wp_reissue_slot *s, struct wp_error *error)
{
	int64_t until_ms = wp_clock_us() / 1000 + READS_WITHIN_MS;

	for (;;) {
		enum wp_rc rc = wp_reissue_slot_ask(s, "0/0", error);
		if (rc != WP_OK || is_safe(s))
			return rc;
		if (wp_clock_us() / 1000 > until_ms)
			return say_unsafe(s, error);
		rc = pause(s, error);
		if (rc != WP_OK)
			return rc;
	}
}

enum wp_rc wp_reissue_slot_await_caught_up(struct wp_reissue_slot *s, struct wp_error *error)
{
	int64_t until_ms = wp_clock_us() / 1000 + CAUGHT_UP_WITHIN_MS;
	char log_end[WP_LSN_TEXT_SIZE];

	if (!s->is_young)
		return WP_OK;
	enum wp_rc rc = wp_reissue_slot_log_end(s->session, log_end, error);
	if (rc == WP_OK)
		rc = wp_reissue_slot_ask(s, log_end, error);
	while (rc == WP_OK && !s->is_reached && s->reads == WP_READS_IT &&
	       wp_clock_us() / 1000 <= until_ms) {
		rc = pause(s, error);
		if (rc == WP_OK)
			rc = wp_reissue_slot_ask(s, log_end, error);
	}
	return rc == WP_OK && !is_safe(s) ? wp_reissue_slot_await_reader(s, error) : rc;
}
