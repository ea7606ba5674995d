#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/cli/changes.h"
#include "walpost/cli/outbox.h"
#include "walpost/postgres_preflight/publication.h"
#include "walpost/postgres_preflight/slot.h"

enum {
	/*
	 * Each reading begins where the oldest transaction began that ran at its start. A large
	 * batch does that rarely, a small one shows the first events soon.
	 */
	BATCH_FIRST = 1000,
	BATCH_MAX = 100000,
	/* So many messages are fetched at once; one larger than SMALL_MAX is fetched alone. */
	FETCH_MAX = 256,
	SMALL_MAX = 16 * 1024,
};

/* -- the slot -------------------------------------------------------------- */

static const char whether_sql[] = "SELECT EXISTS (SELECT FROM pg_publication WHERE pubname = %L), "
				  "s.slot_name, coalesce(s.plugin, s.slot_type), s.database = "
				  "current_database(), coalesce(to_jsonb(s)->>'wal_status', ''), ";
static const char slot_sql[] =
	" FROM (SELECT) one LEFT JOIN pg_replication_slots s ON s.slot_name = %L";

enum column { C_PUBLICATION, C_SLOT, C_PLUGIN, C_OUR_DATABASE, C_WAL_STATUS, C_PUBLICATIONS };

static const char *value(const PGresult *r, enum column column)
{
	return PQgetvalue(r, 0, (int)column);
}

static enum wp_rc judge(const struct wp_changes *c, const PGresult *r, struct wp_error *error)
{
	const char *slot = c->setup.options->slot;
	if (*value(r, C_PUBLICATION) != 't')
		return wp_error_set(error, WP_DATA,
				    "there is no publication %s in this database; run walpost "
				    "check for the cure",
				    c->setup.options->publication);
	if (c->setup.from == WP_CHANGES_FROM_NOW)
		return WP_OK;
	if (PQgetisnull(r, 0, C_SLOT))
		return wp_error_set(error, WP_DATA,
				    "slot %s does not exist, so there is no backlog to show; "
				    "`walpost slot list` lists the slots",
				    slot);
	if (strcmp(value(r, C_PLUGIN), "pgoutput") != 0 || *value(r, C_OUR_DATABASE) != 't')
		return wp_error_set(
			error, WP_DATA,
			"slot %s is not walpost's: it belongs to %s or to another database", slot,
			value(r, C_PLUGIN));
	if (strcmp(value(r, C_WAL_STATUS), "lost") == 0)
		return wp_error_set(error, WP_DATA,
				    "slot %s is lost: the server has removed WAL that it needs; "
				    "run `walpost check` for the cure",
				    slot);
	return WP_OK;
}

static enum wp_rc look(struct wp_changes *c, struct wp_error *error)
{
	struct wp_statement statement;
	PGresult *r;
	const char *publication = c->setup.options->publication, *slot = c->setup.options->slot;
	wp_statement_begin(&statement, c->setup.session);
	wp_sql_add(&statement.sql, whether_sql, publication);
	if (c->setup.from == WP_CHANGES_FROM_SLOT)
		wp_sql_add(&statement.sql, WP_PUBLICATION_NAMES_SQL("%L", "%L"), publication, slot);
	else
		wp_sql_add(&statement.sql, WP_PUBLICATION_NAMES_NOW_SQL("%L"), publication);
	wp_sql_add(&statement.sql, slot_sql, slot);
	enum wp_rc rc = wp_statement_ask(&statement, &r, error);
	if (rc == WP_OK) {
		rc = judge(c, r, error);
		(void)snprintf(c->publications, sizeof(c->publications), "%s",
			       value(r, C_PUBLICATIONS));
		PQclear(r);
	}
	return rc;
}

static enum wp_rc copy(struct wp_changes *c, struct wp_error *error)
{
	struct wp_statement statement;
	PGresult *r;
	wp_statement_begin(&statement, c->setup.session);
	wp_slot_copy_temporary_sql(&statement.sql, c->slot, c->setup.options->slot);
	enum wp_rc rc = wp_statement_ask(&statement, &r, error);
	if (rc == WP_OK) {
		(void)snprintf(c->from, sizeof(c->from), "%s", PQgetvalue(r, 0, 1));
		PQclear(r);
	}
	return rc;
}

static enum wp_rc say_no_slot(const struct wp_changes *c, enum wp_rc rc, struct wp_error *error)
{
	const struct wp_error said = *error;
	if (strcmp(c->setup.session->failure.sqlstate, "53400") == 0)
		return wp_error_set(error, WP_CONFIG,
				    "all replication slots of the server are in use: raise "
				    "max_replication_slots (requires a restart), or drop a slot "
				    "that is no longer needed (`walpost slot list` lists them)");
	return wp_error_set(error, rc, "cannot create a temporary slot: %.900s", said.text);
}

enum wp_rc wp_changes_begin(struct wp_changes *c, const struct wp_changes_setup *setup,
			    struct wp_error *error)
{
	PGconn *pg = wp_session_pg(setup->session);
	*c = (struct wp_changes){ .setup = *setup,
				  .batch_count = BATCH_FIRST,
				  .fetch_count = FETCH_MAX };
	/* A server has one process of this number, and the slot ends with it. */
	(void)snprintf(c->slot, sizeof(c->slot), "walpost_tail_%d", PQbackendPID(pg));
	enum wp_rc rc = look(c, error);
	if (rc != WP_OK)
		return rc;
	if (setup->from == WP_CHANGES_FROM_SLOT)
		rc = copy(c, error);
	else
		rc = wp_cli_create_temporary_slot(setup->session, setup->options, c->slot, c->from,
						  error);
	return rc == WP_OK ? WP_OK : say_no_slot(c, rc, error);
}

/* -- what it says ---------------------------------------------------------- */

/* The server gathers the whole batch, and so confirms it, before it returns the first message. */
static enum wp_rc declare(struct wp_changes *c, struct wp_error *error)
{
	char until[WP_LSN_TEXT_SIZE + 2] = "NULL", lsn[WP_LSN_TEXT_SIZE], batch[16];
	struct wp_statement statement;
	PGresult *nothing;
	if (c->setup.until != 0)
		(void)snprintf(until, sizeof(until), "'%s'", wp_lsn_text(c->setup.until, lsn));
	(void)snprintf(batch, sizeof(batch), "%d", c->batch_count);
	wp_statement_begin(&statement, c->setup.session);
	wp_sql_add(&statement.sql,
		   "BEGIN ISOLATION LEVEL READ COMMITTED; "
		   "DECLARE changes BINARY SCROLL CURSOR FOR SELECT CASE "
		   "WHEN length(data) <= current_setting('walpost.whole')::int THEN data END "
		   "FROM pg_logical_slot_get_binary_changes(%L, %s, %s, 'proto_version', '1', "
		   "'publication_names', %L, 'messages', 'true'%s)",
		   c->slot, until, batch, c->publications,
		   c->setup.transfer == WP_TRANSFER_BINARY ? ", 'binary', 'true'" : "");
	enum wp_rc rc = wp_statement_ask(&statement, &nothing, error);
	if (rc == WP_OK)
		PQclear(nothing);
	return rc;
}

/* A message that is larger than `whole_max` comes as a NULL. */
static enum wp_rc fetch(struct wp_changes *c, int whole_max, const char *direction, int number,
			PGresult **ret, struct wp_error *error)
{
	char sql[120];
	(void)snprintf(sql, sizeof(sql), "SET LOCAL walpost.whole = %d; FETCH %s %d FROM changes",
		       whole_max, direction, number);
	return wp_session_query(c->setup.session, sql, ret, error);
}

static enum wp_rc hand_over(const PGresult *rows, int row, wp_changes_take take, void *arg,
			    struct wp_error *error)
{
	const struct wp_span message = { (const uint8_t *)PQgetvalue(rows, row, 0),
					 (size_t)PQgetlength(rows, row, 0) };
	return take(arg, message, error);
}

/* Takes the `number`th message of the batch, whatever its size. The cursor then stands on it. */
static enum wp_rc take_large(struct wp_changes *c, int number, wp_changes_take take, void *arg,
			     struct wp_error *error)
{
	PGresult *rows;
	enum wp_rc rc = fetch(c, INT_MAX, "ABSOLUTE", number, &rows, error);
	if (rc != WP_OK)
		return rc;
	rc = PQntuples(rows) == 1 ? hand_over(rows, 0, take, arg, error)
				  : wp_error_set(error, WP_PROTO,
						 "a change that was read before has disappeared");
	PQclear(rows);
	return rc;
}

/* Takes some more messages; `taken` counts those of the batch. */
static enum wp_rc take_some(struct wp_changes *c, int *taken, bool *ret_more, wp_changes_take take,
			    void *arg, struct wp_error *error)
{
	PGresult *rows;
	int wanted = c->fetch_count;
	bool cut = false;
	/* A message that is fetched alone is fetched whole at once. */
	enum wp_rc rc =
		fetch(c, wanted == 1 ? INT_MAX : SMALL_MAX, "FORWARD", wanted, &rows, error);
	if (rc != WP_OK)
		return rc;
	int count = PQntuples(rows);
	for (int row = 0; rc == WP_OK && row < count && !cut; row++) {
		++*taken;
		cut = PQgetisnull(rows, row, 0);
		rc = cut ? take_large(c, *taken, take, arg, error)
			 : hand_over(rows, row, take, arg, error);
	}
	/* Others may follow a large message: what is behind it is not read in vain each time. */
	if (cut || (wanted == 1 && count == 1 && PQgetlength(rows, 0, 0) > SMALL_MAX))
		c->fetch_count = 1;
	else if (c->fetch_count < FETCH_MAX)
		c->fetch_count *= 2;
	*ret_more = cut || count == wanted;
	PQclear(rows);
	return rc;
}

enum wp_rc wp_changes_read(struct wp_changes *c, wp_changes_take take, void *arg,
			   enum wp_changes_left *ret, struct wp_error *error)
{
	bool more = true;
	int taken = 0;
	enum wp_rc rc = declare(c, error);
	while (rc == WP_OK && more)
		rc = take_some(c, &taken, &more, take, arg, error);
	if (rc == WP_OK)
		rc = wp_session_do(c->setup.session, "COMMIT", error);
	if (rc != WP_OK)
		return rc;
	*ret = taken < c->batch_count ? WP_CHANGES_NONE : WP_CHANGES_MORE;
	if (*ret == WP_CHANGES_MORE && c->batch_count < BATCH_MAX)
		c->batch_count *= 10;
	return WP_OK;
}

static enum wp_rc read_system(const PGresult *r, uint32_t *ret_current, wp_lsn *ret_log_end,
			      struct wp_error *error)
{
	/* The columns are systemid, timeline, xlogpos and dbname. */
	if (PQntuples(r) != 1 || PQnfields(r) < 4 ||
	    wp_lsn_parse(wp_span_of(PQgetvalue(r, 0, 2)), ret_log_end) != WP_OK)
		return wp_error_set(error, WP_PROTO, "unexpected result of IDENTIFY_SYSTEM");
	*ret_current = (uint32_t)strtoul(PQgetvalue(r, 0, 1), NULL, 10);
	return WP_OK;
}

/* Where the file of the history is gone, a relay does without it as well. */
static enum wp_rc find_history(struct wp_session *s, uint32_t current, struct wp_timelines *ret,
			       struct wp_error *error)
{
	struct wp_span history = { 0 };
	PGresult *r = NULL;
	char command[64];
	enum wp_rc rc = WP_OK;
	(void)snprintf(command, sizeof(command), "TIMELINE_HISTORY %" PRIu32, current);
	if (current > 1)
		rc = wp_session_query(s, command, &r, error);
	if (rc != WP_OK && strcmp(s->failure.sqlstate, "58P01") != 0)
		return rc;
	if (r != NULL && PQntuples(r) == 1 && PQnfields(r) == 2)
		history = (struct wp_span){ (const uint8_t *)PQgetvalue(r, 0, 1),
					    (size_t)PQgetlength(r, 0, 1) };
	rc = wp_timelines_read(ret, current, history, error);
	PQclear(r);
	return rc;
}

enum wp_rc wp_cli_timelines(struct wp_session *s, struct wp_timelines *ret, wp_lsn *ret_log_end,
			    struct wp_error *error)
{
	PGresult *r;
	uint32_t current = 0;
	enum wp_rc rc = wp_session_query(s, "IDENTIFY_SYSTEM", &r, error);
	if (rc != WP_OK)
		return rc;
	rc = read_system(r, &current, ret_log_end, error);
	PQclear(r);
	return rc == WP_OK ? find_history(s, current, ret, error) : rc;
}
