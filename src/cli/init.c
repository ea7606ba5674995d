#include <stdio.h>
#include <string.h>

#include "walpost/cli/cli.h"
#include "walpost/cli/findings.h"
#include "walpost/cli/outbox.h"
#include "walpost/postgres/publication.h"
#include "walpost/postgres/checkpoint.h"
#include "walpost/run/requirements.h"

struct init {
	struct wp_config config;
	struct wp_requirements_outboxes outboxes;
	const char *role; /* NULL: grants are not asked for */
	struct wp_console console;
	struct wp_session session;
	struct wp_preflight found;
	bool skip_exists; /* walpost.skip, which the preflight does not ask for */
};

static void add_grants(struct wp_sql *sql, const char *role)
{
	if (!role)
		return;
	wp_checkpoint_grant_sql(sql, role);
	wp_sql_add(sql, "ALTER ROLE %I REPLICATION;\n", role);
}

/* -- the same as SQL ----------------------------------------------------------- */

/* Ends our dollar quotes only when someone means to. */
static bool is_quotable(const char *name)
{
	return !strstr(name, "$walpost$");
}

static bool are_quotable(const struct init *i)
{
	for (size_t at = 0; at < i->outboxes.wanted.count; at++) {
		const struct wp_table_name *name = &i->outboxes.names[at];
		if (!is_quotable(name->schema) || !is_quotable(name->name))
			return false;
	}
	return is_quotable(i->config.postgres.publication);
}

/* The preflight's table_case. */
static void add_case_script(struct wp_sql *sql, const struct wp_table_name *name)
{
	wp_sql_add(sql,
		   "DO $walpost$ DECLARE found text;\nBEGIN\n"
		   "SELECT min(quote_ident(schemaname) || '.' || quote_ident(tablename)) INTO "
		   "found FROM pg_tables "
		   "WHERE lower(schemaname) = lower(%L) AND lower(tablename) = lower(%L);\n",
		   name->schema, name->name);
	wp_sql_add(sql,
		   "IF found IS NOT NULL AND NOT EXISTS (SELECT FROM pg_tables WHERE schemaname = "
		   "%L AND tablename = %L) THEN\n"
		   "  RAISE EXCEPTION USING MESSAGE = 'there is ' || found || ', whose name "
		   "differs only in case: correct outbox.table';\n"
		   "END IF;\n"
		   "END $walpost$;\n",
		   name->schema, name->name);
}

static void add_publication_script(struct wp_sql *sql, const struct init *i)
{
	const struct wp_postgres_options *postgres = &i->config.postgres;
	wp_sql_add(sql,
		   "DO $walpost$ BEGIN\nIF NOT EXISTS (SELECT FROM pg_publication WHERE pubname = "
		   "%L) THEN\n",
		   postgres->publication);
	wp_sql_add(sql, "IF EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = %L) THEN\n",
		   postgres->slot);
	wp_sql_add(
		sql,
		"  RAISE EXCEPTION 'the slot exists but the publication does not: the server "
		"cannot decode a slot that is older than its publication; drop the slot first';\n"
		"END IF;\n");
	wp_publication_create_sql(sql, postgres->publication, &i->outboxes.wanted);
	wp_sql_add(sql, "END IF;\nEND $walpost$;\n");
}

/*
 * By a SELECT of its own: a function or DO block that makes a logical slot fails with
 * "snapshot reference ... is not owned by resource owner" when a change of the catalog is decoded
 * meanwhile (ReorderBufferImmediateInvalidation() leaves the resource owner of the transaction
 * behind, not that of the statement within). psql's \if, because servers before 17 cannot parse
 * the call with failover.
 */
static void add_slot_script(struct wp_sql *sql, const char *slot)
{
	wp_sql_add(sql,
		   "SELECT NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = %L) AS "
		   "walpost_slot_new \\gset\n",
		   slot);
	static const char absent[] =
		" WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = ";
	wp_sql_add(sql, "SELECT current_setting('server_version_num')::int >= 170000 AS "
			"walpost_slot_failover \\gset\n"
			"\\if :walpost_slot_failover\n");
	wp_sql_add(sql,
		   "SELECT pg_create_logical_replication_slot(%L, 'pgoutput', false, false, "
		   "true)\n%s%L);\n",
		   slot, absent, slot);
	wp_sql_add(sql,
		   "\\else\nSELECT pg_create_logical_replication_slot(%L, 'pgoutput')\n%s%L);\n"
		   "\\endif\n",
		   slot, absent, slot);
	wp_sql_add(sql, "\\if :walpost_slot_new\n");
	wp_checkpoint_renew_sql(sql, slot, "walpost init");
	wp_sql_add(sql, ";\n\\endif\n");
}

static void add_script(struct wp_sql *sql, const struct init *i)
{
	wp_sql_add(
		sql,
		"-- In the database of the outbox, by its owner or a superuser, with REPLICATION:\n"
		"--   psql -v ON_ERROR_STOP=1 -f THIS_FILE\n"
		"SET client_encoding = 'UTF8';\n\nBEGIN;\n");
	for (size_t at = 0; at < i->outboxes.wanted.count; at++) {
		add_case_script(sql, &i->outboxes.names[at]);
		wp_outbox_create_sql(sql, &i->outboxes.tables[at]);
	}
	wp_sql_add(sql,
		   "\n"
		   "-- A relay records here that it has taken over the slot.\n"
		   "%s\n",
		   wp_checkpoint_sql);
	add_publication_script(sql, i);
	add_grants(sql, i->role);
	wp_sql_add(
		sql,
		"COMMIT;\n\n"
		"-- After the publication, and outside its transaction. Waits until all "
		"transactions\n"
		"-- that run now have ended; pg_stat_activity and pg_prepared_xacts show them.\n");
	add_slot_script(sql, i->config.postgres.slot);
}

static int print_script(const struct init *i)
{
	struct wp_buffer text;
	struct wp_sql sql;
	struct wp_error error;
	if (!are_quotable(i))
		return wp_cli_fail(WP_EXIT_CONFIG,
				   "a name that holds $walpost$ cannot be written into a script");
	/* Quoting asks for a connection; one that fails before it begins will do. */
	PGconn *pg = PQconnectStart("hostaddr=none");
	wp_buffer_init(&text, WP_SQL_SIZE_MAX);
	wp_sql_init(&sql, pg, &text);
	add_script(&sql, i);
	enum wp_rc rc = wp_sql_end(&sql, &error);
	if (rc == WP_OK)
		(void)fputs((const char *)text.data, stdout); /* wp_cli_done() looks */
	wp_buffer_release(&text);
	PQfinish(pg);
	return rc == WP_OK ? wp_cli_done() : wp_cli_fail(WP_EXIT_CONFIG, "%s", error.text);
}

/* -- doing it -------------------------------------------------------------------- */

/* Findings that we are here to cure. A publication is not made for a slot that is older. */
static bool is_ours_to_cure(const struct wp_preflight *p, const struct wp_finding *f)
{
	const char *name = f->name;
	if (!strcmp(name, "table"))
		return !p->table_exists[f->table];
	if (!strcmp(name, "publication"))
		return !p->publication_exists && !p->slot_exists;
	if (!strcmp(name, "slot"))
		return !p->slot_exists;
	return false;
}

enum round { BEFORE, AFTER };

/* Prints what stands in the way; true when nothing does. */
static bool is_clear(const struct wp_preflight *p, enum round round)
{
	bool clear = true;
	for (size_t i = 0; i < p->findings.count; i++) {
		const struct wp_finding *f = &p->findings.items[i];
		bool fails =
			f->level == WP_FINDING_FAIL && (round == AFTER || !is_ours_to_cure(p, f));
		if (fails || (f->level == WP_FINDING_WARN && round == AFTER))
			wp_cli_print_finding(stderr, f);
		clear = clear && !fails;
	}
	return clear;
}

static void add_objects(struct wp_sql *sql, const struct init *i)
{
	wp_sql_add(sql, "BEGIN;\n");
	for (size_t at = 0; at < i->outboxes.wanted.count; at++)
		if (!i->found.table_exists[at])
			wp_outbox_create_sql(sql, &i->outboxes.tables[at]);
	if (!i->found.checkpoint_ready || !i->skip_exists)
		wp_sql_add(sql, "%s", wp_checkpoint_sql);
	if (!i->found.publication_exists)
		wp_publication_create_sql(sql, i->config.postgres.publication, &i->outboxes.wanted);
	add_grants(sql, i->role);
	wp_sql_add(sql, "COMMIT;\n");
}

static void say(const char *what, const char *name, bool existed)
{
	printf("%s %s: %s\n", what, name, existed ? "already exists" : "created");
}

static enum wp_rc create_objects(struct init *i, struct wp_error *error)
{
	struct wp_buffer text;
	struct wp_sql sql;
	char table[WP_TABLE_NAME_TEXT_SIZE];
	wp_buffer_init(&text, WP_SQL_SIZE_MAX);
	wp_sql_init(&sql, wp_session_pg(&i->session), &text);
	add_objects(&sql, i);
	enum wp_rc rc = wp_sql_end(&sql, error);
	if (rc == WP_OK)
		rc = wp_session_do(&i->session, (const char *)text.data, error);
	wp_buffer_release(&text);
	if (rc != WP_OK)
		return rc;
	for (size_t at = 0; at < i->outboxes.wanted.count; at++)
		say("table", wp_table_name_text(&i->outboxes.names[at], table, sizeof(table)),
		    i->found.table_exists[at]);
	say("checkpoint table", "walpost.slot_checkpoint", i->found.checkpoint_ready);
	say("publication", i->config.postgres.publication, i->found.publication_exists);
	if (i->role)
		printf("role %s: has REPLICATION and may write walpost.slot_checkpoint and "
		       "walpost.skip\n",
		       i->role);
	return WP_OK;
}

/*
 * A relay that finds another slot than the row tells of refuses to start: this one is known to be
 * new. What lies between is for a human all the same.
 */
static void renew_checkpoint(struct init *i)
{
	struct wp_error error;
	PGresult *renewed;
	const char *slot = i->config.postgres.slot;
	enum wp_rc rc =
		wp_cli_renew_checkpoint(&i->session, slot, "walpost init", &renewed, &error);
	if (rc != WP_OK) {
		fprintf(stderr,
			"walpost: slot %s was created, but this is not recorded in "
			"walpost.slot_checkpoint: %s; run walpost slot accept before walpost run\n",
			slot, error.text);
		return;
	}
	if (PQntuples(renewed) == 1)
		printf("slot %s: events committed between %s, confirmed by relay %s at %s, and %s "
		       "may be missing in Kafka: compare with walpost diff\n",
		       slot, PQgetvalue(renewed, 0, 2), PQgetvalue(renewed, 0, 1),
		       PQgetvalue(renewed, 0, 3), PQgetvalue(renewed, 0, 0));
	PQclear(renewed);
}

static enum wp_rc create_slot(struct init *i, struct wp_error *error)
{
	char lsn[WP_LSN_TEXT_SIZE];
	if (i->found.slot_exists) {
		say("slot", i->config.postgres.slot, true);
		return WP_OK;
	}
	enum wp_rc rc = wp_cli_create_slot(&i->session, &i->config.postgres, lsn, error);
	if (rc != WP_OK)
		return rc;
	printf("slot %s: created at %s\n", i->config.postgres.slot, lsn);
	renew_checkpoint(i);
	return WP_OK;
}

/* Who runs a relay need not be able to make what it works with; minimal roles of Debezium are not. */
static void add_permission_cure(struct wp_sql *sql, const struct init *i)
{
	PGconn *pg = wp_session_pg(&i->session);
	const char *role = i->role ? i->role : PQuser(pg);
	wp_sql_add(
		sql,
		"; role %s may not create it. Run init once as an administrator, whose conninfo "
		"replaces the relay's: add --role %L --set 'postgres.conninfo=host=... dbname=... "
		"user=ADMINISTRATOR'; or pass the output of --role %L --print-sql to a DBA",
		PQuser(pg), role, role);
}

static void add_schema_cure(struct wp_sql *sql, const struct init *i, const char *said)
{
	for (size_t at = 0; at < i->outboxes.wanted.count; at++) {
		const char *schema = i->outboxes.names[at].schema;
		if (i->found.table_exists[at] || !strstr(said, schema))
			continue;
		wp_sql_add(sql, "; create it first: CREATE SCHEMA %I", schema);
		return;
	}
}

/* Adds to what the server said what is to be done about it. */
static void explain(struct init *i, struct wp_error *error)
{
	const char *state = i->session.failure.sqlstate;
	struct wp_buffer text;
	struct wp_sql sql;
	struct wp_error inner;
	wp_buffer_init(&text, WP_SQL_SIZE_MAX);
	wp_sql_init(&sql, wp_session_pg(&i->session), &text);
	wp_sql_add(&sql, "%s", error->text);
	if (!strcmp(state, "42501"))
		add_permission_cure(&sql, i);
	else if (!strcmp(state, "3F000"))
		add_schema_cure(&sql, i, error->text);
	if (wp_sql_end(&sql, &inner) == WP_OK)
		(void)wp_error_set(error, WP_OK, "%s", (const char *)text.data);
	wp_buffer_release(&text);
}

static enum wp_rc look_for_skip(struct init *i, struct wp_error *error)
{
	PGresult *found;
	enum wp_rc rc = wp_session_query(&i->session, "SELECT to_regclass('walpost.skip') IS NULL",
					 &found, error);
	if (rc != WP_OK)
		return rc;
	i->skip_exists = *PQgetvalue(found, 0, 0) == 'f';
	PQclear(found);
	return WP_OK;
}

static int create(struct init *i)
{
	struct wp_error error;
	const struct wp_postgres_options *postgres = &i->config.postgres;
	enum wp_rc rc =
		wp_cli_preflight(&i->session, postgres, &i->outboxes.wanted, &i->found, &error);
	if (rc == WP_OK)
		rc = look_for_skip(i, &error);
	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	if (!is_clear(&i->found, BEFORE))
		return wp_cli_fail(WP_EXIT_FAILED,
				   "nothing was created: fix the problems above first");
	rc = create_objects(i, &error);
	if (rc == WP_OK)
		rc = create_slot(i, &error);
	if (rc != WP_OK)
		explain(i, &error);
	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	rc = wp_cli_preflight(&i->session, postgres, &i->outboxes.wanted, &i->found, &error);
	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	if (!is_clear(&i->found, AFTER))
		return wp_cli_fail(WP_EXIT_FAILED, "not ready: fix the problems above");
	return wp_cli_done();
}

static int connect_and_create(struct init *i)
{
	struct wp_error error;
	enum wp_rc rc = wp_session_begin(&i->session, &i->console, &i->config.postgres, &error);
	int exit_code = rc == WP_OK ? create(i) : wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	wp_session_release(&i->session);
	wp_console_release(&i->console);
	return exit_code;
}

int wp_command_init(int argc, char **argv)
{
	static struct init i; /* large, and there is one */
	bool print_sql = false;
	const struct wp_cli_option options[] = {
		{ "--print-sql", NULL, "print SQL for psql instead of executing it", &print_sql,
		  NULL },
		{ "--role", "NAME", "also grant this role the privileges of a relay", NULL,
		  &i.role },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost init",
		.about = "Creates missing objects in Postgres: the outbox table, the table in which relays\n"
"record who has the slot, the publication of the outbox's inserts, and then the\n"
"slot. Slot creation waits for all running transactions, which are listed meanwhile.",
		.options = options,
		.option_count = sizeof(options) / sizeof(options[0]),
		.exits = {
			[WP_EXIT_OK] = "all objects exist",
			[WP_EXIT_FAILED] = "an obstacle was found and printed with its cure",
		},
	};
	struct wp_cli_line line;
	struct wp_error error;
	int exit_code;

	if (!wp_cli_parse(&usage, argc, argv, &line, &exit_code))
		return exit_code;
	exit_code = wp_cli_config(&line, &i.config);
	if (exit_code == WP_EXIT_OK &&
	    wp_requirements_outboxes_init(&i.outboxes, &i.config.outboxes, &error) != WP_OK)
		exit_code = wp_cli_fail(WP_EXIT_CONFIG, "%s", error.text);
	if (exit_code == WP_EXIT_OK)
		exit_code = print_sql ? print_script(&i) : connect_and_create(&i);
	wp_findings_release(&i.found.findings);
	wp_requirements_outboxes_release(&i.outboxes);
	wp_config_release(&i.config);
	return exit_code;
}
