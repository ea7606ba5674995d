/* `walpost slot skip` lists the events that are given up, and moves the slot past them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_output.h"
#include "walpost/cli/cli.h"
#include "walpost/cli/outbox.h"
#include "walpost/cli/changes.h"
#include "walpost/base/display.h"
#include "walpost/outbox/names.h"
#include "walpost/outbox/survey.h"
#include "walpost/postgres_preflight/publication.h"
#include "walpost/postgres_preflight/slot_checkpoint.h"
#include "walpost/run/requirements.h"

enum {
	SHOWN_MAX = 20, /* events, without --all */
	FETCH_COUNT = 8,
	WHOLE_MAX = 2 * 1024 * 1024, /* a larger row is read in part: ids come first */
	PART_SIZE = 64 * 1024,
	PATIENCE_MS = 10000, /* until a transaction that was committed is visible */
};

struct skip {
	struct wp_config config;
	struct wp_postgres_options postgres; /* with the slot that is meant */
	const char *to_text;
	wp_lsn to;
	bool force;
	bool all;
	bool json;
	struct wp_console console;
	struct wp_session session;

	/* This is what the server says. */
	wp_lsn from;
	struct wp_timelines timelines;
	bool publication_exists;
	struct wp_requirements_outboxes wanted; /* owned */
	struct wp_partitions partitions;	/* owned */
	struct wp_cli_catalog catalog;

	struct wp_survey *survey; /* owned */
	size_t size;		  /* of the message that is read, whole */
	struct wp_survey_event event;
	bool is_event;
	uint64_t shown;
	bool listed;		    /* to its end */
	bool cursor;		    /* its transaction is open */
	struct wp_error incomplete; /* the server left something out: "" no */
	bool recorded;
};

/* Asks `template` with three texts. */
static enum wp_rc ask(struct skip *s, PGresult **ret, struct wp_error *error, const char *template,
		      const char *a, const char *b, const char *c)
{
	struct wp_statement statement;
	wp_statement_begin(&statement, &s->session);
	wp_sql_add(&statement.sql, template, a, b, c);
	return wp_statement_ask(&statement, ret, error);
}

static enum wp_rc do_it(struct skip *s, struct wp_error *error, const char *template, const char *a,
			const char *b, const char *c)
{
	PGresult *result;
	enum wp_rc rc = ask(s, &result, error, template, a, b, c);
	if (rc == WP_OK)
		PQclear(result);
	return rc;
}

/* -- may it be moved? ------------------------------------------------------ */

static const char slot_sql[] =
	"SELECT coalesce(s.plugin, s.slot_type), s.database = current_database(), s.active_pid, "
	"s.confirmed_flush_lsn, coalesce(to_jsonb(s)->>'wal_status', ''), pg_is_in_recovery(), "
	"CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_flush_lsn() END, CASE WHEN NOT "
	"pg_is_in_recovery() THEN ('x' || left(pg_walfile_name(pg_current_wal_lsn()), "
	"8))::bit(32)::bigint END, EXISTS (SELECT FROM pg_publication p WHERE p.pubname = %L) FROM "
	"pg_replication_slots s WHERE s.slot_name = %L";

enum column {
	C_PLUGIN,
	C_OUR_DATABASE,
	C_ACTIVE_PID,
	C_CONFIRMED,
	C_WAL_STATUS,
	C_IN_RECOVERY,
	C_FLUSHED,
	C_TIMELINE,
	C_PUBLICATION,
};

static const char *value(const PGresult *r, enum column column)
{
	return PQgetvalue(r, 0, (int)column);
}

static bool is(const PGresult *r, enum column column)
{
	return *value(r, column) == 't';
}

static enum wp_rc judge_place(struct skip *s, wp_lsn flushed, struct wp_error *error)
{
	char to[WP_LSN_TEXT_SIZE], from[WP_LSN_TEXT_SIZE], end[WP_LSN_TEXT_SIZE];
	(void)wp_lsn_text(s->to, to);
	(void)wp_lsn_text(s->from, from);
	(void)wp_lsn_text(flushed, end);
	if (s->to < s->from)
		return wp_error_set(error, WP_DATA,
				    "slot %s is already at %s, beyond --to %s: a slot cannot move "
				    "backward, and earlier events were confirmed",
				    s->postgres.slot, from, to);
	if (s->to > flushed)
		return wp_error_set(error, WP_DATA,
				    "--to %s is beyond the end of the server's WAL, %s: events "
				    "that are not yet written would be discarded",
				    to, end);
	return WP_OK;
}

static enum wp_rc judge(struct skip *s, const PGresult *r, struct wp_error *error)
{
	const char *slot = s->postgres.slot;
	wp_lsn flushed = 0;
	if (PQntuples(r) == 0)
		return wp_error_set(error, WP_DATA, "there is no slot %s", slot);
	if (!PQgetisnull(r, 0, C_ACTIVE_PID))
		return wp_error_set(error, WP_DATA,
				    "slot %s is in use by process %s: stop its relay first", slot,
				    value(r, C_ACTIVE_PID));
	if (strcmp(value(r, C_PLUGIN), "pgoutput") != 0 || !is(r, C_OUR_DATABASE))
		return wp_error_set(
			error, WP_DATA,
			"slot %s is not walpost's: it belongs to %s or to another database", slot,
			value(r, C_PLUGIN));
	if (is(r, C_IN_RECOVERY))
		return wp_error_set(error, WP_DATA,
				    "the server is a standby; run this command on the primary");
	if (strcmp(value(r, C_WAL_STATUS), "lost") == 0)
		return wp_error_set(error, WP_DATA,
				    "slot %s is lost: the server has removed WAL that it needs; "
				    "run `walpost check` for the cure",
				    slot);
	if (wp_lsn_parse(wp_span_of(value(r, C_CONFIRMED)), &s->from) != WP_OK ||
	    wp_lsn_parse(wp_span_of(value(r, C_FLUSHED)), &flushed) != WP_OK)
		return wp_error_set(error, WP_PROTO, "the server reports no position for slot %s",
				    slot);
	s->timelines.current = (uint32_t)strtoul(value(r, C_TIMELINE), NULL, 10);
	s->publication_exists = is(r, C_PUBLICATION);
	return judge_place(s, flushed, error);
}

static enum wp_rc look(struct skip *s, struct wp_error *error)
{
	PGresult *r;
	enum wp_rc rc =
		ask(s, &r, error, slot_sql, s->postgres.publication, s->postgres.slot, NULL);
	if (rc != WP_OK)
		return rc;
	rc = judge(s, r, error);
	PQclear(r);
	return rc;
}

/* Only the replication protocol tells them, for which there may be no connection left. */
static void find_timelines(struct skip *s)
{
	struct wp_session session = { 0 };
	struct wp_error error;
	wp_lsn log_end;
	if (s->timelines.current <= 1)
		return;
	enum wp_rc rc = wp_session_open(&session, &s->console, &s->postgres,
					WP_CONNECTION_REPLICATION, &error);
	if (rc == WP_OK)
		rc = wp_cli_timelines(&session, &s->timelines, &log_end, &error);
	if (rc != WP_OK)
		(void)wp_cli_fail(
			0,
			"cannot read the server's timeline history, so the positions of events "
			"from before its promotion may differ from those that a relay sends: %s",
			error.text);
	wp_session_release(&session);
}

/* -- what is given up ------------------------------------------------------ */

static void print_json(json_t *object)
{
	(void)json_dumpf(object, stdout,
			 JSON_COMPACT | JSON_ENSURE_ASCII); /* wp_cli_done() notices a failure */
	(void)putchar('\n');
	json_decref(object);
}

static void print_event_json(const struct wp_survey_event *e, const char *position)
{
	json_t *object = json_object();
	(void)json_object_set_new(object, "table", wp_cli_json_text(wp_span_of(e->table)));
	(void)json_object_set_new(object, "id", wp_cli_json_text(e->id));
	(void)json_object_set_new(object, "key", wp_cli_json_text(e->key));
	(void)json_object_set_new(object, "topic", *e->topic ? json_string(e->topic) : json_null());
	(void)json_object_set_new(object, "position", json_string(position));
	(void)json_object_set_new(object, "size", json_integer((json_int_t)e->size));
	if (*e->error.text)
		(void)json_object_set_new(object, "reason",
					  wp_cli_json_text(wp_span_of(e->error.text)));
	print_json(object);
}

static void print_event_text(const struct wp_survey_event *e, const char *position)
{
	struct wp_excerpt id, key;
	wp_cli_say(stdout, "  %s  %s%s  id %s  key %s  topic %s  %zu bytes%s%s\n", position,
		   e->is_message ? "" : "table ", e->table, wp_excerpt(&id, e->id),
		   wp_excerpt(&key, e->key), *e->topic ? e->topic : "none", e->size,
		   *e->error.text ? ": " : "", e->error.text);
}

static void print_event(struct skip *s, const struct wp_survey_event *e)
{
	char position[WP_POSITION_TEXT_SIZE];
	(void)wp_position_text(&e->position, position);
	if (s->json)
		print_event_json(e, position);
	else if (s->all || s->shown < SHOWN_MAX)
		print_event_text(e, position);
	else
		return;
	s->shown++;
}

static enum wp_rc survey_once(void *arg, struct wp_span message, struct wp_error *error)
{
	struct skip *s = arg;
	return wp_survey_take(s->survey, message, s->size, &s->event, &s->is_event, error);
}

static enum wp_rc take_row(struct skip *s, const PGresult *rows, int row, struct wp_error *error)
{
	size_t size;
	unsigned char *bytes =
		PQunescapeBytea((const unsigned char *)PQgetvalue(rows, row, 0), &size);
	const struct wp_span message = { bytes, size };
	s->size = strtoul(PQgetvalue(rows, row, 1), NULL, 10);
	if (bytes == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for a row of %zu bytes",
				    s->size);
	enum wp_rc rc = wp_cli_offer(&s->catalog, survey_once, s, message, error);
	if (rc == WP_OK && s->is_event)
		print_event(s, &s->event);
	PQfreemem(bytes);
	return rc;
}

static enum wp_rc fetch(struct skip *s, bool *ret_more, struct wp_error *error)
{
	char sql[40];
	PGresult *rows;
	(void)snprintf(sql, sizeof(sql), "FETCH %d FROM given_up", FETCH_COUNT);
	enum wp_rc rc = wp_session_query(&s->session, sql, &rows, error);
	if (rc != WP_OK)
		return rc;
	*ret_more = PQntuples(rows) == FETCH_COUNT;
	for (int row = 0; rc == WP_OK && row < PQntuples(rows); row++)
		rc = take_row(s, rows, row, error);
	PQclear(rows);
	return rc;
}

/* Reads without consuming. What comes through the cursor is bounded; the server keeps the rest. */
static enum wp_rc declare(struct skip *s, struct wp_error *error)
{
	char to[WP_LSN_TEXT_SIZE], template[1024];
	(void)snprintf(
		template, sizeof(template),
		"BEGIN ISOLATION LEVEL READ COMMITTED; DECLARE given_up NO SCROLL CURSOR FOR "
		"SELECT CASE WHEN length(data) <= %d THEN data ELSE substr(data, 1, %d) END, "
		"length(data) FROM (SELECT %%L::name, %%L::pg_lsn, %%L::text) v (slot, until, "
		"publication), LATERAL pg_logical_slot_peek_binary_changes(v.slot, v.until, NULL, "
		"'proto_version', '1', 'publication_names', " WP_PUBLICATION_NAMES_SQL(
			"v.publication", "v.slot") ", 'messages', 'true')",
		WHOLE_MAX, PART_SIZE);
	return do_it(s, error, template, s->postgres.slot, wp_lsn_text(s->to, to),
		     s->postgres.publication);
}

/* Since PostgreSQL 18 rows from before the publication was made are left out with a warning. */
static void on_notice(void *arg, const PGresult *notice)
{
	struct skip *s = arg;
	const char *detail = PQresultErrorField(notice, PG_DIAG_MESSAGE_DETAIL);
	const char *text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
	if (text != NULL && wp_publication_was_skipped(notice))
		(void)wp_error_set(&s->incomplete, WP_DATA, "%.400s; %.400s", text,
				   detail != NULL ? detail : "");
	else if (text != NULL)
		(void)wp_cli_fail(0, "message from the server: %s", text);
}

static enum wp_rc survey(struct skip *s, struct wp_error *error)
{
	bool more = true;
	(void)PQsetNoticeReceiver(wp_session_pg(&s->session), on_notice, s);
	/* PostgreSQL 18 would read nothing, and say so in a warning only. */
	if (!s->publication_exists)
		return wp_error_set(error, WP_CONFIG, "publication %s is not there",
				    s->postgres.publication);
	enum wp_rc rc = wp_requirements_outboxes_init(&s->wanted, &s->config.outboxes, error);
	if (rc != WP_OK)
		return rc;
	find_timelines(s);
	s->catalog = (struct wp_cli_catalog){
		.session = &s->session,
		.options = &s->postgres,
		.wanted = &s->wanted.wanted,
		.partitions = &s->partitions,
		.patience_ms = PATIENCE_MS,
	};
	const struct wp_survey_setup setup = {
		.outboxes = &s->config.outboxes,
		.epoch = s->config.relay.epoch,
		.timelines = &s->timelines,
		.encoding = wp_server_encoding(wp_session_pg(&s->session)),
		.until = s->to,
		.partitions = &s->partitions,
		.record_max = wp_cli_record_max(&s->config),
	};
	rc = wp_survey_new(&setup, &s->survey, error);
	s->cursor = rc == WP_OK;
	if (rc == WP_OK)
		rc = declare(s, error);
	while (rc == WP_OK && more)
		rc = fetch(s, &more, error);
	if (rc == WP_OK && *s->incomplete.text)
		rc = wp_error_set(error, WP_DATA, "%s", s->incomplete.text);
	s->listed = rc == WP_OK;
	return rc;
}

/* -- giving up ------------------------------------------------------------- */

/* Tries it in the transaction that is open; if it fails, it is undone alone. */
static bool try_to(struct skip *s, const char *what, const char *template, const char *a,
		   const char *b, const char *c)
{
	struct wp_error error, ignored;
	enum wp_rc rc = do_it(s, &error, "SAVEPOINT before", NULL, NULL, NULL);
	if (rc == WP_OK)
		rc = do_it(s, &error, template, a, b, c);
	if (rc == WP_OK)
		rc = do_it(s, &error, "RELEASE before", NULL, NULL, NULL);
	if (rc == WP_OK)
		return true;
	(void)wp_cli_fail(0, "%s: %s", what, error.text);
	rc = do_it(s, &ignored, "ROLLBACK TO before; RELEASE before", NULL, NULL, NULL);
	(void)rc; /* then the next statement fails too, and says so */
	return false;
}

static void record(struct skip *s)
{
	char from[WP_LSN_TEXT_SIZE], to[WP_LSN_TEXT_SIZE], template[256], events[24] = "NULL";
	if (s->listed)
		(void)snprintf(events, sizeof(events), "%" PRIu64,
			       wp_survey_counts(s->survey)->events);
	(void)snprintf(template, sizeof(template),
		       "INSERT INTO walpost.skip (slot, from_lsn, to_lsn, events) "
		       "VALUES (%%L, %%L, %%L, %s)",
		       events);
	s->recorded = try_to(s,
			     "not recorded in walpost.skip: keep this output instead (create the "
			     "table with `walpost init`)",
			     template, s->postgres.slot, wp_lsn_text(s->from, from),
			     wp_lsn_text(s->to, to));
}

static const char slot_checkpoint_sql[] =
	"SELECT true FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname "
	"= 'walpost' AND c.relname = 'slot_checkpoint' AND " WP_SLOT_CHECKPOINT_IS_WHOLE("c.oid");

/* Notes the move in the slot checkpoint, so that no relay takes it for a stranger's. */
static void explain(struct skip *s)
{
	static const char confirmed[] =
		"UPDATE walpost.slot_checkpoint SET taken_at_lsn = greatest(taken_at_lsn, %L), "
		"confirmed_lsn = %L, confirmed_at = now(), slot_transactions = NULL WHERE slot = "
		"%L";
	char to[WP_LSN_TEXT_SIZE];
	struct wp_error error;
	PGresult *r;
	(void)wp_lsn_text(s->to, to);
	if (ask(s, &r, &error, slot_checkpoint_sql, NULL, NULL, NULL) != WP_OK)
		return; /* the next statement says it */
	bool is_whole = PQntuples(r) == 1;
	PQclear(r);
	static const char trouble[] = "cannot update walpost.slot_checkpoint; a relay may report "
				      "that the slot was moved by someone else";
	if (is_whole)
		(void)try_to(s, trouble, confirmed, to, to, s->postgres.slot);
}

/* This waits for no synchronous standby, because the relay, which is stopped, may be one. */
static enum wp_rc advance(struct skip *s, struct wp_error *error)
{
	static const char begin[] = "BEGIN; SET LOCAL synchronous_commit = 'local'";
	char to[WP_LSN_TEXT_SIZE];
	struct wp_error ignored;
	(void)wp_lsn_text(s->to, to);
	enum wp_rc rc = do_it(s, error, begin, NULL, NULL, NULL);
	if (rc != WP_OK)
		return rc;
	record(s);
	explain(s);
	/* This comes last, because a ROLLBACK does not bring the slot back. */
	rc = do_it(s, error, "SELECT pg_replication_slot_advance(%L, %L)", s->postgres.slot, to,
		   NULL);
	if (rc == WP_OK)
		return wp_session_do(&s->session, "COMMIT", error);
	enum wp_rc undone = wp_session_do(&s->session, "ROLLBACK", &ignored);
	(void)undone; /* without it the server rolls back as we leave */
	return rc;
}

/* -- the command ----------------------------------------------------------- */

static void summarise_json(const struct skip *s, bool skipped)
{
	static const struct wp_survey_counts none;
	const struct wp_survey_counts *c =
		s->listed && s->survey != NULL ? wp_survey_counts(s->survey) : &none;
	char from[WP_LSN_TEXT_SIZE], to[WP_LSN_TEXT_SIZE];
	json_t *object = json_object();
	(void)json_object_set_new(object, "slot", json_string(s->postgres.slot));
	(void)json_object_set_new(object, "from_lsn", json_string(wp_lsn_text(s->from, from)));
	(void)json_object_set_new(object, "to_lsn", json_string(wp_lsn_text(s->to, to)));
	(void)json_object_set_new(object, "events",
				  s->listed ? json_integer((json_int_t)c->events) : json_null());
	(void)json_object_set_new(object, "transactions",
				  json_integer((json_int_t)c->transactions));
	(void)json_object_set_new(object, "unmapped_rows", json_integer((json_int_t)c->refused));
	(void)json_object_set_new(object, "foreign_rows", json_integer((json_int_t)c->foreign));
	(void)json_object_set_new(object, "skipped", json_boolean(skipped));
	(void)json_object_set_new(object, "recorded", json_boolean(s->recorded));
	print_json(object);
}

static void summarise_list(const struct skip *s)
{
	const struct wp_survey_counts *c = wp_survey_counts(s->survey);
	if (c->events > s->shown)
		wp_cli_say(stdout, "  and %" PRIu64 " more (--all lists them)\n",
			   c->events - s->shown);
	wp_cli_say(stdout, "%" PRIu64 " event%s in %" PRIu64 " transaction%s\n", c->events,
		   c->events == 1 ? "" : "s", c->transactions, c->transactions == 1 ? "" : "s");
	if (c->refused > 0)
		wp_cli_say(stdout,
			   "%" PRIu64 " of them can never be delivered: see their reasons\n",
			   c->refused);
	for (size_t i = 0; i < c->foreign_tables; i++) {
		char table[WP_TABLE_NAME_TEXT_SIZE];
		wp_cli_say(stdout, "%" PRIu64 " rows of %s, which is not configured\n",
			   c->foreign_by_table[i].rows,
			   wp_table_name_text(&c->foreign_by_table[i].name, table, sizeof(table)));
	}
	if (c->foreign_more)
		wp_cli_say(stdout, "and rows of more tables that are not configured\n");
	if (c->events > 0)
		wp_cli_say(stdout,
			   "Part of the first of these transactions may already be in Kafka.\n");
}

/* When the list failed, the transaction that it was read in is over with its error. */
static int list(struct skip *s)
{
	struct wp_error error, ignored;
	char from[WP_LSN_TEXT_SIZE], to[WP_LSN_TEXT_SIZE];
	if (!s->json)
		wp_cli_say(stdout, "slot %s, from %s to %s:\n", s->postgres.slot,
			   wp_lsn_text(s->from, from), wp_lsn_text(s->to, to));
	enum wp_rc rc = survey(s, &error);
	enum wp_rc ended = s->cursor ? wp_session_do(&s->session, "ROLLBACK", &ignored) : WP_OK;
	(void)ended; /* nothing was written */
	if (s->listed && !s->json)
		summarise_list(s);
	if (s->listed)
		return WP_EXIT_OK;
	if (s->console.interrupted)
		return wp_cli_fail(WP_EXIT_FAILED, "interrupted; nothing was changed");
	(void)rc; /* the error tells */
	return wp_cli_fail(WP_EXIT_FAILED, "cannot list the events that would be discarded: %s",
			   error.text);
}

static int nothing_to_skip(struct skip *s)
{
	char to[WP_LSN_TEXT_SIZE];
	s->listed = true;
	if (s->json)
		summarise_json(s, false);
	else
		wp_cli_say(stdout, "slot %s is already at %s: there is nothing to discard\n",
			   s->postgres.slot, wp_lsn_text(s->to, to));
	return wp_cli_done();
}

static int skip(struct skip *s)
{
	struct wp_error error;
	char to[WP_LSN_TEXT_SIZE];
	enum wp_rc rc = look(s, &error);
	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	if (s->from == s->to)
		return nothing_to_skip(s);
	int exit_code = list(s);
	if (s->console.interrupted)
		return exit_code;
	if (!s->force) {
		if (s->json)
			summarise_json(s, false);
		return wp_cli_fail(WP_EXIT_FAILED,
				   "nothing was changed; to discard %s, use --force",
				   s->listed ? "these events" : "everything before --to");
	}
	rc = advance(s, &error);
	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "slot %s was not moved: %s",
				   s->postgres.slot, error.text);
	if (s->json)
		summarise_json(s, true);
	else
		wp_cli_say(stdout,
			   "slot %s: now at %s; %sevents discarded%s; start walpost again, even if "
			   "it is held\n",
			   s->postgres.slot, wp_lsn_text(s->to, to),
			   s->listed && wp_survey_counts(s->survey)->events == 0 ? "no " : "",
			   s->recorded ? ", and recorded in walpost.skip" : "");
	return wp_cli_done();
}

static int connect_and_skip(struct skip *s)
{
	struct wp_error error;
	enum wp_rc rc = wp_session_begin(&s->session, &s->console, &s->postgres, &error);
	int exit_code = rc == WP_OK ? skip(s) : wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	wp_survey_free(s->survey);
	wp_partitions_release(&s->partitions);
	wp_requirements_outboxes_release(&s->wanted);
	wp_session_release(&s->session);
	wp_console_release(&s->console);
	return exit_code;
}

static int read_place(struct skip *s)
{
	if (s->to_text == NULL)
		return wp_cli_fail(WP_EXIT_CONFIG, "walpost slot skip requires --to LSN; see "
						   "event_undeliverable in the relay's log");
	if (wp_lsn_parse(wp_span_of(s->to_text), &s->to) != WP_OK || s->to == 0)
		return wp_cli_fail(WP_EXIT_CONFIG, "--to %.100s is not an LSN such as 16/B374D848",
				   s->to_text);
	return WP_EXIT_OK;
}

int wp_command_slot_skip(int argc, char **argv)
{
	struct skip s = { 0 };
	const struct wp_cli_option options[] = {
		{ "--to", "LSN", "discard the transactions that commit before this LSN", NULL,
		  &s.to_text },
		{ "--force", NULL, "discard them; otherwise they are only listed", &s.force, NULL },
		{ "--all", NULL, "list all events, not the first 20", &s.all, NULL },
		{ "--json", NULL, "all events and the result as JSON, one object a line", &s.json,
		  NULL },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost slot skip",
		.about = "Moves the slot of the configuration past events that can never be delivered.\n"
"Lists the discarded events: table, id, key, topic, position and size of each. With\n"
"--force moves the slot and records the move in walpost.skip.",
		WP_CLI_OPTIONS(options),
		.exits = {
			[WP_EXIT_OK] = "discarded",
			[WP_EXIT_FAILED] = "refused, or only listed",
		},
	};
	struct wp_cli_line line;
	int exit_code;
	if (!wp_cli_parse(&usage, argc, argv, &line, &exit_code))
		return exit_code;
	exit_code = read_place(&s);
	if (exit_code == WP_EXIT_OK)
		exit_code = wp_cli_config(&line, &s.config);
	if (exit_code == WP_EXIT_OK) {
		s.postgres = s.config.postgres;
		exit_code = connect_and_skip(&s);
	}
	wp_config_release(&s.config);
	return exit_code;
}
