/* `walpost slot` creates, drops and lists slots, and accepts one that was moved. */
#include "walpost/postgres_preflight/slot.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "walpost/cli/cli.h"
#include "walpost/cli/outbox.h"
#include "walpost/postgres_preflight/publication.h"

struct slot {
	struct wp_config config;
	struct wp_postgres_options postgres; /* with the slot that is meant */
	bool force;
	bool json;
	struct wp_console console;
	struct wp_session session;
};

/* Asks what `write` writes. */
static enum wp_rc ask(struct slot *s, void (*write)(struct wp_sql *, const struct slot *),
		      PGresult **ret, struct wp_error *error)
{
	struct wp_statement statement;
	wp_statement_begin(&statement, &s->session);
	write(&statement.sql, s);
	return wp_statement_ask(&statement, ret, error);
}

/* -- create ------------------------------------------------------------------------ */

static void write_whether_both(struct wp_sql *sql, const struct slot *s)
{
	wp_sql_add(sql,
		   "SELECT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = %L), "
		   "EXISTS (SELECT FROM pg_publication WHERE pubname = %L)",
		   s->postgres.slot, s->postgres.publication);
}

static int create(struct slot *s)
{
	struct wp_error error;
	PGresult *both;
	char lsn[WP_LSN_TEXT_SIZE];
	const char *slot = s->postgres.slot, *publication = s->postgres.publication;
	enum wp_rc rc = ask(s, write_whether_both, &both, &error);
	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	bool slot_exists = *PQgetvalue(both, 0, 0) == 't',
	     publication_exists = *PQgetvalue(both, 0, 1) == 't';
	PQclear(both);
	if (slot_exists)
		return wp_cli_fail(WP_EXIT_FAILED,
				   "slot %s already exists; `walpost slot list` shows it", slot);
	if (!publication_exists)
		return wp_cli_fail(
			WP_EXIT_FAILED,
			"there is no publication %s: the server cannot decode a slot that is older "
			"than its publication; create both in order with `walpost init`",
			publication);
	rc = wp_cli_create_slot(&s->session, &s->postgres, lsn, &error);
	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "slot %s was not created: %s", slot,
				   error.text);
	printf("slot %s: created at %s\n", slot, lsn);
	return wp_cli_done();
}

/* -- drop -------------------------------------------------------------------------- */

static void write_whether_used(struct wp_sql *sql, const struct slot *s)
{
	wp_sql_add(sql,
		   "SELECT active_pid, slot_type, plugin, database = current_database(), "
		   "confirmed_flush_lsn, to_jsonb(s)->>'wal_status' = 'lost', "
		   "(SELECT count(*) FROM pg_publication p WHERE p.pubname = pub) "
		   "FROM pg_replication_slots s, (SELECT %L::text AS slot, %L::text AS pub) our "
		   "WHERE slot_name = our.slot",
		   s->postgres.slot, s->postgres.publication);
}

/* A message is 'M', 1 if transactional, an LSN of eight bytes, the prefix and a zero byte. */
static void write_is_our_message(struct wp_sql *sql, const struct wp_outboxes *outboxes)
{
	wp_sql_add(sql, " OR get_byte(data, 0) = ascii('M') AND get_byte(data, 1) = 1 AND EXISTS "
			"(SELECT FROM (VALUES (NULL)");
	for (size_t i = 0; i < outboxes->count; i++) {
		if (outboxes->items[i].message_prefix[0] != '\0')
			wp_sql_add(sql, ", (%L)", outboxes->items[i].message_prefix);
	}
	wp_sql_add(sql, ") v (prefix), LATERAL (SELECT convert_to(prefix, pg_client_encoding()) || "
			"'\\x00'::bytea) p (bytes) WHERE substr(data, 11, length(bytes)) = bytes)");
}

/*
 * Reads without consuming, up to the end of the first transaction that has something. PostgreSQL 14
 * sends BEGIN, ORIGIN and COMMIT also of those that have nothing, and messages of others come as
 * well: there it must read on.
 */
static void write_whether_unconfirmed(struct wp_sql *sql, const struct slot *s)
{
	const struct wp_outboxes *outboxes = &s->config.outboxes;
	bool messages = false;

	for (size_t i = 0; i < outboxes->count; i++)
		messages |= outboxes->items[i].message_prefix[0] != '\0';
	wp_sql_add(sql,
		   "SELECT xid FROM pg_logical_slot_peek_binary_changes(%L, NULL, %s, "
		   "'proto_version', '1', 'publication_names', " WP_PUBLICATION_NAMES_SQL(
			   "%L", "%L") "%s) "
				       "WHERE get_byte(data, 0) NOT IN (ascii('B'), ascii('O'), "
				       "ascii('C'), ascii('M'))",
		   s->postgres.slot,
		   messages ? "NULL"
			    : "CASE WHEN current_setting('server_version_num')::int >= 150000 "
			      "THEN 1 END",
		   s->postgres.publication, s->postgres.slot,
		   messages ? ", 'messages', 'true'" : "");
	if (messages)
		write_is_our_message(sql, outboxes);
	wp_sql_add(sql, " LIMIT 1");
}

static void write_drop(struct wp_sql *sql, const struct slot *s)
{
	wp_sql_add(sql, "SELECT pg_drop_replication_slot(%L)", s->postgres.slot);
}

/* Returns true if events would be lost with the slot, or if that cannot be told. */
static bool holds_events(struct slot *s, struct wp_error *error)
{
	PGresult *changes;
	struct wp_error problem;
	enum wp_rc rc = ask(s, write_whether_unconfirmed, &changes, &problem);
	if (rc != WP_OK) {
		(void)wp_error_set(error, rc,
				   "cannot determine whether it holds unconfirmed events: %s",
				   problem.text);
		return true;
	}
	bool some = PQntuples(changes) > 0;
	if (some)
		(void)wp_error_set(error, WP_DATA,
				   "it holds unconfirmed events, the first in transaction %s; they "
				   "would never be relayed",
				   PQgetvalue(changes, 0, 0));
	PQclear(changes);
	return some;
}

static void write_whether_parking(struct wp_sql *sql, const struct slot *s)
{
	(void)s; /* this asks the catalog: names cannot be resolved without USAGE on the schema */
	wp_sql_add(sql,
		   "SELECT count(*) = 2 FROM pg_class WHERE relname IN ('parked', 'parking') "
		   "AND relkind IN ('r', 'p') AND relnamespace = (SELECT oid FROM pg_namespace "
		   "WHERE nspname = 'walpost')");
}

static void write_parked(struct wp_sql *sql, const struct slot *s)
{
	wp_sql_add(sql,
		   "SELECT count(*), count(DISTINCT (outbox, coalesce(key, \"position\"))) FROM "
		   "walpost.parked WHERE slot = %L",
		   s->postgres.slot);
}

static void write_forget_parked(struct wp_sql *sql, const struct slot *s)
{
	wp_sql_add(sql,
		   "WITH d AS (DELETE FROM walpost.parked WHERE slot = %L RETURNING 1), "
		   "g AS (DELETE FROM walpost.parking WHERE slot = %L) SELECT count(*) FROM d",
		   s->postgres.slot, s->postgres.slot);
}

/* *ret_exist tells whether the tables of parked events exist. */
static enum wp_rc look_for_parking(struct slot *s, bool *ret_exist, struct wp_error *error)
{
	PGresult *found;
	enum wp_rc rc = ask(s, write_whether_parking, &found, error);
	if (rc != WP_OK)
		return rc;
	*ret_exist = *PQgetvalue(found, 0, 0) == 't';
	PQclear(found);
	return WP_OK;
}

/* Returns true with the error if events are parked for the slot, or if that cannot be told. */
static bool has_parked(struct slot *s, struct wp_error *error)
{
	bool exist = false;
	PGresult *parked;
	struct wp_error problem;
	enum wp_rc rc = look_for_parking(s, &exist, &problem);
	if (rc == WP_OK && !exist)
		return false;
	if (rc == WP_OK)
		rc = ask(s, write_parked, &parked, &problem);
	if (rc != WP_OK) {
		(void)wp_error_set(error, rc,
				   "cannot determine whether events are parked for it: %s",
				   problem.text);
		return true;
	}
	bool some = strcmp(PQgetvalue(parked, 0, 0), "0") != 0;
	if (some)
		(void)wp_error_set(error, WP_DATA,
				   "%s events of %s aggregates are parked for it (walpost parked "
				   "list), which would never be delivered",
				   PQgetvalue(parked, 0, 0), PQgetvalue(parked, 0, 1));
	PQclear(parked);
	return some;
}

static bool is_lost(const PGresult *used)
{
	return *PQgetvalue(used, 0, 5) == 't';
}

/* Returns true with the error if the slot is not to be dropped without --force. */
static bool is_in_the_way(struct slot *s, const PGresult *used, struct wp_error *error)
{
	bool ours = !strcmp(PQgetvalue(used, 0, 2), "pgoutput") && *PQgetvalue(used, 0, 3) == 't';
	if (!ours) {
		(void)wp_error_set(error, WP_CONFIG, "it is not walpost's, but a %s slot%s%s%s",
				   PQgetvalue(used, 0, 1),
				   PQgetisnull(used, 0, 2) ? "" : " of plugin ",
				   PQgetvalue(used, 0, 2),
				   PQgetisnull(used, 0, 2) || *PQgetvalue(used, 0, 3) == 't'
					   ? ""
					   : " in another database");
		return true;
	}
	/* What a lost slot held cannot be read any more, dropped or not. */
	if (is_lost(used))
		return false;
	/* PostgreSQL 18 would read nothing, and say so in a warning only. */
	if (*PQgetvalue(used, 0, 6) == '0') {
		(void)wp_error_set(error, WP_CONFIG,
				   "cannot determine whether it holds unconfirmed events, because "
				   "publication %s does not exist",
				   s->postgres.publication);
		return true;
	}
	return holds_events(s, error) || has_parked(s, error);
}

/*
 * A slot of that name that is made later is another. But a lost one is dropped to be made anew, and
 * then what is parked goes on.
 */
static void forget_parked(struct slot *s, const PGresult *used)
{
	bool exist = false;
	if (is_lost(used) && !s->force)
		return;
	PGresult *deleted;
	struct wp_error error;
	enum wp_rc rc = look_for_parking(s, &exist, &error);
	if (rc == WP_OK && !exist)
		return;
	if (rc == WP_OK)
		rc = ask(s, write_forget_parked, &deleted, &error);
	if (rc != WP_OK) {
		fprintf(stderr,
			"walpost: rows of slot %s in walpost.parking and walpost.parked were not "
			"deleted: %s; delete them, or a new slot of this name has them\n",
			s->postgres.slot, error.text);
		return;
	}
	if (strcmp(PQgetvalue(deleted, 0, 0), "0") != 0)
		printf("slot %s: %s parked events deleted\n", s->postgres.slot,
		       PQgetvalue(deleted, 0, 0));
	PQclear(deleted);
}

static int drop_it(struct slot *s, const PGresult *used)
{
	struct wp_error error;
	PGresult *dropped;
	enum wp_rc rc = ask(s, write_drop, &dropped, &error);
	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "slot %s was not dropped: %s",
				   s->postgres.slot, error.text);
	PQclear(dropped);
	printf("slot %s: dropped\n", s->postgres.slot);
	forget_parked(s, used);
	return wp_cli_done();
}

static int drop(struct slot *s)
{
	struct wp_error error;
	PGresult *used;
	const char *slot = s->postgres.slot;
	enum wp_rc rc = ask(s, write_whether_used, &used, &error);
	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	int exit_code;
	if (PQntuples(used) == 0)
		exit_code = wp_cli_fail(WP_EXIT_FAILED, "there is no slot %s", slot);
	else if (!PQgetisnull(used, 0, 0))
		exit_code = wp_cli_fail(WP_EXIT_FAILED,
					"slot %s is in use by process %s: stop its relay first",
					slot, PQgetvalue(used, 0, 0));
	else if (!s->force && is_in_the_way(s, used, &error))
		exit_code = wp_cli_fail(
			WP_EXIT_FAILED,
			"slot %s was not dropped: %s. To drop it regardless, use --force", slot,
			error.text);
	else
		exit_code = drop_it(s, used);
	PQclear(used);
	return exit_code;
}

/* -- list -------------------------------------------------------------------------- */

static const char all_slots[] =
	"SELECT slot_name, coalesce(plugin, slot_type) AS plugin, coalesce(database, '') AS "
	"database, coalesce(active_pid::text, '') AS active_pid, "
	"coalesce(confirmed_flush_lsn::text, '') AS confirmed, coalesce(pg_wal_lsn_diff(CASE WHEN "
	"pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, "
	"restart_lsn)::text, '') AS retained_wal_bytes, coalesce(wal_status, '') AS wal_status, "
	"coalesce(slot_sync, '') AS slot_sync FROM pg_replication_slots s, LATERAL (WITH slot AS "
	"(SELECT to_jsonb(s) AS j) SELECT " WP_SLOT_SYNC_SQL " AS slot_sync) sync ORDER BY 1";

static void print_row(const PGresult *slots, int row)
{
	static const int widths[] = { 24, 12, 16, 12, 18, 20, 12, 0 };
	for (int column = 0; column < PQnfields(slots); column++) {
		const char *text =
			row < 0 ? PQfname(slots, column) : PQgetvalue(slots, row, column);
		if (column == PQnfields(slots) - 1)
			wp_cli_say(stdout, "%s\n", *text ? text : "-");
		else
			wp_cli_say(stdout, "%-*s ", widths[column], *text ? text : "-");
	}
}

/* This goes to standard error, because the list is for programs as well. */
static void say_slot_sync(const PGresult *slots)
{
	for (int row = 0; row < PQntuples(slots); row++) {
		const char *slot = PQgetvalue(slots, row, 0);
		const char *sync = PQgetvalue(slots, row, PQfnumber(slots, "slot_sync"));
		if (!strcmp(sync, "incomplete"))
			wp_cli_say(stderr,
				   "walpost: this standby's copy of slot %s is not complete yet, "
				   "and a promotion now loses it: it is complete once the slot has "
				   "moved further\n",
				   slot);
		else if (!strcmp(sync, "in_the_way"))
			wp_cli_say(stderr,
				   "walpost: slot %s of this standby is not a copy, was created "
				   "here when the server was the primary, and stops the copying of "
				   "slots: drop it on this standby, SELECT "
				   "pg_drop_replication_slot('%s')\n",
				   slot, slot);
		else if (!strcmp(sync, "not_copied"))
			wp_cli_say(stderr,
				   "walpost: this server was promoted, and no standby copies slot "
				   "%s from it: walpost check has the cure\n",
				   slot);
	}
}

static int print_json(const PGresult *slots)
{
	json_t *array = json_array();
	int failed = 0;
	for (int row = 0; row < PQntuples(slots); row++) {
		json_t *object = json_object();
		for (int column = 0; column < PQnfields(slots); column++)
			failed |= json_object_set_new(object, PQfname(slots, column),
						      json_string(PQgetvalue(slots, row, column)));
		failed |= json_array_append_new(array, object);
	}
	failed |= json_dumpf(array, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	json_decref(array);
	if (failed)
		return wp_cli_fail(WP_EXIT_FAILED, "the slots cannot be written as JSON");
	printf("\n");
	return wp_cli_done();
}

static int list(struct slot *s)
{
	struct wp_error error;
	PGresult *slots;
	enum wp_rc rc = wp_session_query(&s->session, all_slots, &slots, &error);
	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	int exit_code;
	if (s->json) {
		exit_code = print_json(slots);
	} else {
		for (int row = -1; row < PQntuples(slots); row++)
			print_row(slots, row);
		exit_code = wp_cli_done();
	}
	say_slot_sync(slots);
	PQclear(slots);
	return exit_code;
}

/* -- accept -------------------------------------------------------------------------- */

static int accept_slot(struct slot *s)
{
	return wp_cli_slot_accept(&s->session, &s->postgres);
}

/* -- what they share --------------------------------------------------------------- */

static int connect_and(struct slot *s, int (*act)(struct slot *))
{
	struct wp_error error;
	enum wp_rc rc = wp_session_begin(&s->session, &s->console, &s->postgres, &error);
	int exit_code = rc == WP_OK ? act(s) : wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	wp_session_release(&s->session);
	wp_console_release(&s->console);
	return exit_code;
}

static int run(const struct wp_cli_usage *usage, struct slot *s, int argc, char **argv,
	       int (*act)(struct slot *))
{
	struct wp_cli_line line;
	int exit_code;
	if (!wp_cli_parse(usage, argc, argv, &line, &exit_code))
		return exit_code;
	exit_code = wp_cli_config(&line, &s->config);
	if (exit_code == WP_EXIT_OK) {
		s->postgres = s->config.postgres;
		if (line.argument_count > 0)
			s->postgres.slot = line.arguments[0];
		exit_code = connect_and(s, act);
	}
	wp_config_release(&s->config);
	return exit_code;
}

static int run_create(int argc, char **argv)
{
	static const struct wp_cli_usage usage = {
		.command = "walpost slot create",
		.arguments = "[NAME]",
		.about = "Creates the slot of the configuration, or NAME. Waits for all running transactions\n"
"and lists them. Requires the publication to exist. Events committed before the slot\n"
"exists are not relayed.",
		.argument_max = 1,
		.exits = {
			[WP_EXIT_OK] = "created",
			[WP_EXIT_FAILED] = "refused",
		},
	};
	struct slot s = { 0 };
	return run(&usage, &s, argc, argv, create);
}

static int run_drop(int argc, char **argv)
{
	struct slot s = { 0 };
	const struct wp_cli_option options[] = {
		{ "--force", NULL, "even if unconfirmed or parked events are lost", &s.force,
		  NULL },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost slot drop",
		.arguments = "[NAME]",
		.about = "Drops the slot of the configuration, or NAME. Refuses a slot that is in use, that\n"
"holds unconfirmed events or has parked ones, or that is not walpost's.",
		WP_CLI_OPTIONS(options),
		.argument_max = 1,
		.exits = {
			[WP_EXIT_OK] = "dropped",
			[WP_EXIT_FAILED] = "refused",
		},
	};
	return run(&usage, &s, argc, argv, drop);
}

static int run_list(int argc, char **argv)
{
	struct slot s = { 0 };
	const struct wp_cli_option options[] = {
		{ "--json", NULL, "as a JSON array", &s.json, NULL },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost slot list",
		.about = "Lists all slots of the server. slot_sync: in_the_way, this standby has a slot of its own that keeps\n"
"the primary's slot of the same name from being copied; incomplete, this standby's copy is not\n"
"complete, and a promotion now loses it; not_copied, this server was promoted, and no standby\n"
"copies the slot from it.",
		WP_CLI_OPTIONS(options),
		.exits = {
			[WP_EXIT_OK] = "listed",
			[WP_EXIT_FAILED] = "the server does not answer",
		},
	};
	return run(&usage, &s, argc, argv, list);
}

static int run_accept(int argc, char **argv)
{
	static const struct wp_cli_usage usage = {
		.command = "walpost slot accept",
		.arguments = "[NAME]",
		.about = "Acknowledges that the slot of the configuration, or NAME, was recreated or moved:\n"
"records its present position in walpost.slot_checkpoint. A relay that refused to start then\n"
"continues from there; sending earlier events again is up to you.",
		.argument_max = 1,
		.exits = {
			[WP_EXIT_OK] = "accepted, or nothing to accept",
			[WP_EXIT_FAILED] = "refused",
		},
	};
	struct slot s = { 0 };
	return run(&usage, &s, argc, argv, accept_slot);
}

int wp_command_slot(int argc, char **argv)
{
	static const struct wp_command commands[] = {
		{ "create", run_create, "creates the slot" },
		{ "drop", run_drop, "drops the slot if no event is lost" },
		{ "list", run_list, "all slots of the server" },
		{ "skip", wp_command_slot_skip, "discards events that can never be delivered" },
		{ "accept", run_accept, "acknowledges that the slot was recreated or moved" },
	};
	return wp_cli_dispatch("walpost slot", WP_CLI_COMMANDS(commands), argc, argv);
}
