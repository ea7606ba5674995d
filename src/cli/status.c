#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "walpost/cli/cli.h"
#include "walpost/cli/commands.h"
#include "walpost/cli/outbox.h"
#include "walpost/cli/status_local.h"
#include "walpost/postgres/sql.h"
#include "walpost/postgres/witness.h"

enum kind { TEXT, NUMBER, YES_NO };

/* One list for the SQL, the text and the JSON: name, kind, unit, expression over
 * slot (as JSON: a missing column is a missing key), pub, here and walsender. */
static const struct fact {
	const char *name;
	enum kind kind;
	const char *unit;
	const char *sql;
} facts[] = {
	{ "slot_exists", YES_NO, "", "EXISTS (SELECT FROM slot)" },
	{ "active_pid", NUMBER, "", "(SELECT j->>'active_pid' FROM slot)" },
	{ "walsender_state", TEXT, "", "(SELECT state FROM walsender)" },
	{ "confirmed_flush_lsn", TEXT, "", "(SELECT j->>'confirmed_flush_lsn' FROM slot)" },
	{ "restart_lsn", TEXT, "", "(SELECT j->>'restart_lsn' FROM slot)" },
	{ "server_lsn", TEXT, "", "(SELECT lsn FROM here)" },
	{ "lag_bytes", NUMBER, " bytes",
	  "(SELECT pg_wal_lsn_diff(lsn, (j->>'confirmed_flush_lsn')::pg_lsn) FROM slot, here)" },
	{ "lag_seconds", NUMBER, " s",
	  "(SELECT round(extract(epoch FROM flush_lag), 3) FROM walsender)" },
	{ "retained_wal_bytes", NUMBER, " bytes",
	  "(SELECT pg_wal_lsn_diff(lsn, (j->>'restart_lsn')::pg_lsn) FROM slot, here)" },
	{ "safe_wal_size", NUMBER, " bytes", "(SELECT j->>'safe_wal_size' FROM slot)" },
	{ "wal_status", TEXT, "", "(SELECT j->>'wal_status' FROM slot)" },
	{ "invalidation", TEXT, "",
	  "(SELECT coalesce(j->>'invalidation_reason', CASE WHEN j->>'wal_status' = 'lost' THEN "
	  "'wal_removed' "
	  "WHEN j->>'conflicting' = 'true' THEN 'conflicting' END) FROM slot)" },
	{ "publication_exists", YES_NO, "", "EXISTS (SELECT FROM pub)" },
};

#define FACT_COUNT (sizeof(facts) / sizeof(facts[0]))

/* What the relay wrote down in walpost.witness. */
static const struct fact witness_facts[] = {
	{ "owner", TEXT, "", "owner" },
	{ "owner_epoch", NUMBER, "", "epoch" },
	{ "taken_at_lsn", TEXT, "", "taken_at_lsn" },
	{ "seconds_since_taken", NUMBER, " s", "extract(epoch FROM now() - taken_at)::bigint" },
	{ "noted_lsn", TEXT, "", "confirmed_lsn" },
	{ "seconds_since_noted", NUMBER, " s", "extract(epoch FROM now() - confirmed_at)::bigint" },
	{ "stopped", YES_NO, "", "stopped" },
};

#define WITNESS_COUNT (sizeof(witness_facts) / sizeof(witness_facts[0]))

struct status {
	struct wp_config config;
	struct wp_console console;
	struct wp_session session;
	PGresult *slot;
	PGresult *witness; /* NULL: the table is not there, or not for us to read */
};

static void add_facts(struct wp_sql *sql, const struct fact *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		wp_sql_add(sql, "%s%s AS %I", i ? ", " : "SELECT ", list[i].sql, list[i].name);
}

static void add_slot_question(struct wp_sql *sql, const struct wp_postgres_options *options)
{
	wp_sql_add(sql,
		   "WITH slot AS (SELECT to_jsonb(s) AS j FROM pg_replication_slots s WHERE "
		   "slot_name = %L),\n"
		   "pub AS (SELECT FROM pg_publication WHERE pubname = %L),\n"
		   "here AS (SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()\n"
		   "  ELSE pg_current_wal_lsn() END AS lsn),\n"
		   "walsender AS (SELECT r.state, r.flush_lag FROM pg_stat_replication r, slot\n"
		   "  WHERE r.pid::text = j->>'active_pid')\n",
		   options->slot, options->publication);
	add_facts(sql, facts, FACT_COUNT);
	wp_sql_add(sql, ",\n  (SELECT has_schema_privilege(n.oid, 'USAGE') AND "
			"has_table_privilege(c.oid, 'SELECT')\n"
			"  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace\n"
			"  WHERE n.nspname = 'walpost' AND c.relname = 'witness'\n"
			"    AND " WP_WITNESS_IS_WHOLE("c.oid") ")");
}

static void add_witness_question(struct wp_sql *sql, const struct wp_postgres_options *options)
{
	add_facts(sql, witness_facts, WITNESS_COUNT);
	wp_sql_add(sql, " FROM walpost.witness WHERE slot = %L", options->slot);
}

static enum wp_rc ask(struct status *s,
		      void (*question)(struct wp_sql *, const struct wp_postgres_options *),
		      PGresult **ret, struct wp_why *why)
{
	struct wp_buffer text;
	struct wp_sql sql;
	wp_buffer_init(&text, WP_SQL_SIZE_MAX);
	wp_sql_init(&sql, wp_session_pg(&s->session), &text);
	question(&sql, &s->config.postgres);
	enum wp_rc rc = wp_sql_end(&sql, why);
	if (rc == WP_OK)
		rc = wp_session_query(&s->session, (const char *)text.data, ret, why);
	wp_buffer_release(&text);
	return rc;
}

static enum wp_rc ask_all(struct status *s, struct wp_why *why)
{
	enum wp_rc rc = ask(s, add_slot_question, &s->slot, why);
	if (rc == WP_OK && *PQgetvalue(s->slot, 0, FACT_COUNT) == 't')
		rc = ask(s, add_witness_question, &s->witness, why);
	return rc;
}

static void print_facts(const struct fact *list, size_t count, const PGresult *row)
{
	for (size_t i = 0; i < count; i++) {
		const char *value = PQgetvalue(row, 0, (int)i);
		if (PQgetisnull(row, 0, (int)i))
			continue;
		printf("%-20s %s%s\n", list[i].name,
		       list[i].kind == YES_NO ? (*value == 't' ? "yes" : "no") : value,
		       list[i].unit);
	}
}

static json_t *json_of(const struct fact *fact, const char *value)
{
	switch (fact->kind) {
	case YES_NO:
		return json_boolean(*value == 't');
	case NUMBER:
		return strchr(value, '.') ? json_real(strtod(value, NULL))
					  : json_integer(strtoll(value, NULL, 10));
	default:
		return json_string(value);
	}
}

static int add_json(json_t *object, const struct fact *list, size_t count, const PGresult *row)
{
	int failed = 0;
	for (size_t i = 0; i < count; i++) {
		bool null = !row || PQntuples(row) == 0 || PQgetisnull(row, 0, (int)i);
		json_t *value = null ? json_null() : json_of(&list[i], PQgetvalue(row, 0, (int)i));
		failed |= json_object_set_new(object, list[i].name, value);
	}
	return failed;
}

static int print_json(const struct status *s)
{
	json_t *object = json_object();
	int failed = json_object_set_new(object, "slot", json_string(s->config.postgres.slot)) |
		     json_object_set_new(object, "publication",
					 json_string(s->config.postgres.publication)) |
		     add_json(object, facts, FACT_COUNT, s->slot) |
		     add_json(object, witness_facts, WITNESS_COUNT, s->witness);
	failed |= json_dumpf(object, stdout, JSON_INDENT(2));
	json_decref(object);
	if (failed)
		return wp_cli_fail(WP_EXIT_FAILED, "the status cannot be written as JSON");
	printf("\n");
	return wp_cli_done();
}

static int print_text(const struct status *s)
{
	printf("%-20s %s\n%-20s %s\n", "slot", s->config.postgres.slot, "publication",
	       s->config.postgres.publication);
	print_facts(facts, FACT_COUNT, s->slot);
	if (!s->witness)
		printf("%-20s %s\n", "owner",
		       "unknown: walpost.witness is missing, or not for this role to read");
	else if (PQntuples(s->witness) == 0)
		printf("%-20s %s\n", "owner", "none yet");
	else
		print_facts(witness_facts, WITNESS_COUNT, s->witness);
	return wp_cli_done();
}

/* What is shown is one thing; whether a relay can go on from that slot is the exit code. */
static int judge(const struct status *s)
{
	int exists = PQfnumber(s->slot, "slot_exists");
	int published = PQfnumber(s->slot, "publication_exists");
	int invalidation = PQfnumber(s->slot, "invalidation");
	if (*PQgetvalue(s->slot, 0, exists) != 't')
		return wp_cli_fail(WP_EXIT_FAILED,
				   "there is no slot %s in this server; walpost check tells "
				   "what is missing and how to make it",
				   s->config.postgres.slot);
	if (!PQgetisnull(s->slot, 0, invalidation))
		return wp_cli_fail(WP_EXIT_FAILED,
				   "slot %s is lost (%s); walpost check tells the way on",
				   s->config.postgres.slot, PQgetvalue(s->slot, 0, invalidation));
	if (*PQgetvalue(s->slot, 0, published) != 't')
		return wp_cli_fail(WP_EXIT_FAILED,
				   "there is no publication %s in this database; walpost check "
				   "tells what is missing and how to make it",
				   s->config.postgres.publication);
	return WP_EXIT_OK;
}

static int show_all(struct status *s, bool json)
{
	int exit_code = json ? print_json(s) : print_text(s);
	return exit_code == WP_EXIT_OK ? judge(s) : exit_code;
}

static int show(struct status *s, bool json)
{
	struct wp_why why;
	enum wp_rc rc = wp_console_init(&s->console, &why);
	if (rc == WP_OK)
		rc = wp_session_open(&s->session, &s->console, &s->config.postgres,
				     WP_CONNECTION_SQL, &why);
	if (rc == WP_OK)
		rc = ask_all(s, &why);
	int exit_code = rc == WP_OK ? show_all(s, json)
				    : wp_cli_fail(rc == WP_CONFIG ? WP_EXIT_CONFIG : WP_EXIT_FAILED,
						  "%s", why.text);
	PQclear(s->witness);
	PQclear(s->slot);
	wp_session_release(&s->session);
	wp_console_release(&s->console);
	return exit_code;
}

int wp_command_status(int argc, char **argv)
{
	bool json = false;
	bool local = false;
	const struct wp_cli_option options[] = {
		{ "--local", NULL, "asks the relay at http.listen whether it lives, not Postgres",
		  &local, NULL },
		{ "--json", NULL, "as one JSON object", &json, NULL },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost status",
		.about = "Shows how far the relay is, as Postgres sees it: the slot, what is not yet\n"
			 "confirmed, the WAL that is kept for it, and who took it over when.",
		.options = options,
		.option_count = sizeof(options) / sizeof(options[0]),
		.exits = {
			[WP_EXIT_OK] = "shown; with --local: it lives",
			[WP_EXIT_FAILED] = "the server does not answer, or slot or publication is missing or lost; "
					   "with --local: it does not answer, or is stuck",
			[WP_EXIT_CONFIG] = "wrong usage or configuration",
		},
	};
	struct wp_cli_line line;
	struct status s = { 0 };
	int exit_code;

	if (!wp_cli_parse(&usage, argc, argv, &line, &exit_code))
		return exit_code;
	exit_code = wp_cli_config(&line, &s.config);
	if (exit_code == WP_EXIT_OK)
		exit_code = local ? wp_status_local(s.config.http.listen) : show(&s, json);
	wp_config_release(&s.config);
	return exit_code;
}
