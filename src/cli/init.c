#include "init.h"
#include "like.h"

#include <stdio.h>
#include <string.h>

#include "walpost/cli/cli.h"
#include "walpost/cli/findings.h"
#include "walpost/cli/outbox.h"
#include "walpost/postgres_preflight/publication.h"
#include "walpost/postgres_preflight/slot_checkpoint.h"

/* Is the finding one that we are here to cure? A publication is not made for an older slot. */
static bool is_ours_to_cure(const struct wp_preflight *p, const struct wp_finding *f)
{
	const char *name = f->name;
	if (!strcmp(name, "table"))
		return !p->table_exists[f->table];
	if (!strcmp(name, "publication"))
		return !p->publication_exists && !p->slot_exists;
	if (!strcmp(name, "slot"))
		return !p->slot_exists;
	/* The role's attribute and its rights are needed only for the slot, which comes last. */
	return !strcmp(name, "role") || !strcmp(name, "rights");
}

enum round { BEFORE, AFTER };

/* The finding of the slot is not about us who may not create it, nor are those of the role. */
static bool was_said(const struct init *i, const struct wp_finding *f)
{
	bool is_about_another = i->role && (!strcmp(f->name, "role") || !strcmp(f->name, "rights"));

	return is_about_another ||
	       (i->lacks_slot && (!strcmp(f->name, "slot") || !strcmp(f->name, "role")));
}

/* Prints what stands in the way. Returns true if nothing does. */
static bool is_clear(const struct init *init, enum round round)
{
	const struct wp_preflight *p = &init->found;
	bool clear = round == BEFORE || (!init->lacks_replication && !init->lacks_slot);
	for (size_t i = 0; i < p->findings.count; i++) {
		const struct wp_finding *f = &p->findings.items[i];
		if (round == AFTER && was_said(init, f))
			continue;
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
		if (!i->found.table_exists[at] && !i->outboxes.tables[at].is_pattern)
			wp_outbox_create_sql(sql, &i->outboxes.tables[at]);
	if (!i->found.slot_checkpoint_ready || !i->skip_exists)
		wp_sql_add(sql, "%s", wp_slot_checkpoint_sql);
	if (!i->found.publication_exists) {
		wp_publication_create_sql(sql, i->config.postgres.publication, &i->outboxes.wanted);
		wp_publication_generated_sql(sql, i->config.postgres.publication,
					     &i->outboxes.wanted);
	}
	if (i->role)
		wp_grants_sql(sql, WP_GRANTS_SLOT_CHECKPOINT, i->role);
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
		if (!i->outboxes.tables[at].is_pattern)
			say("table",
			    wp_table_name_text(&i->outboxes.names[at], table, sizeof(table)),
			    i->found.table_exists[at]);
	say("checkpoint table", "walpost.slot_checkpoint", i->found.slot_checkpoint_ready);
	say("publication", i->config.postgres.publication, i->found.publication_exists);
	if (i->role)
		rc = wp_init_replication(i, error);
	if (i->role && rc == WP_OK)
		printf("role %s: %smay write walpost.slot_checkpoint and walpost.skip\n", i->role,
		       i->lacks_replication ? "" : "may replicate and ");
	return rc;
}

/* This is an object that all else works without. */
struct optional {
	const char *what;
	const char *name;
	const char *sql;
	enum wp_grants grants;
	const char *without; /* what cannot be done, and how to allow it */
};

/* They stand in the order in which they are made. */
static const struct optional optionals[WP_INIT_OPTIONALS] = {
	{
		.what = "reissue table",
		.name = "walpost.reissue",
		.sql = wp_reissue_sql,
		.grants = WP_GRANTS_REISSUE,
		.without = "events cannot be sent again through the log, or not to another topic. "
			   "To allow that, run init or sql/reissue.sql once as an administrator",
	},
	{
		/* The script of walpost.reissue makes them, but an older one may not have. */
		.what = "tables of retried dead letters and replays",
		.name = "walpost.dead_letters_retried",
		.sql = wp_reissue_sql,
		.grants = WP_GRANTS_RETRIED,
		.without = "walpost dead-letters retry and walpost replay cannot be used. To allow "
			   "that, run init or sql/reissue.sql once as an administrator",
	},
	{
		.what = "tables of parked events",
		.name = "walpost.parked",
		.sql = wp_parked_sql,
		.grants = WP_GRANTS_PARKED,
		.without = "relay.poison = park cannot be used. To allow that, run init or "
			   "sql/parked.sql once as an administrator",
	},
	{
		.what = "table of scheduled events",
		.name = "walpost.scheduled",
		.sql = wp_schedule_sql,
		.grants = WP_GRANTS_SCHEDULE,
		.without = "walpost.schedule() cannot be used. To allow that, run init or "
			   "sql/schedule.sql once as an administrator",
	},
	{
		.what = "functions of cleanup",
		.name = "walpost.cleanup_floor",
		.sql = wp_cleanup_sql,
		.grants = WP_GRANTS_CLEANUP,
		.without = "cleanup.mode cannot be used. To allow that, run init or "
			   "sql/cleanup.sql once as an administrator",
	}
};

static void add_optional(struct wp_sql *sql, const struct init *i, const struct optional *o,
			 bool exists)
{
	wp_sql_add(sql, "BEGIN;\n");
	if (!exists)
		wp_sql_add(sql, "%s", o->sql);
	if (i->role)
		wp_grants_sql(sql, o->grants, i->role);
	wp_sql_add(sql, "COMMIT;\n");
}

/*
 * Makes it by itself, so that a role that may not, and runs init in a database that an older
 * walpost prepared, is told so and no more.
 */
static enum wp_rc create_optional(struct init *i, const struct optional *o, bool exists,
				  struct wp_error *error)
{
	struct wp_buffer text;
	struct wp_sql sql;
	wp_buffer_init(&text, WP_SQL_SIZE_MAX);
	wp_sql_init(&sql, wp_session_pg(&i->session), &text);
	add_optional(&sql, i, o, exists);
	enum wp_rc rc = wp_sql_end(&sql, error);
	if (rc == WP_OK)
		rc = wp_session_do(&i->session, (const char *)text.data, error);
	wp_buffer_release(&text);
	if (rc == WP_OK) {
		say(o->what, o->name, exists);
		return WP_OK;
	}
	bool is_permission = !strcmp(i->session.failure.sqlstate, "42501");
	struct wp_error ignored;
	enum wp_rc ended = wp_session_do(&i->session, "ROLLBACK", &ignored);
	(void)ended; /* the error tells */
	if (!is_permission)
		return rc;
	fprintf(stderr, "walpost: %s was not created: %s; %s\n", o->name, error->text, o->without);
	return WP_OK;
}

/*
 * A relay that finds another slot than the row tells of refuses to start: this one is known to be
 * new. What lies between is for a human all the same.
 */
static void renew_slot_checkpoint(struct init *i)
{
	struct wp_error error;
	PGresult *renewed;
	const char *slot = i->config.postgres.slot;
	enum wp_rc rc =
		wp_cli_renew_slot_checkpoint(&i->session, slot, "walpost init", &renewed, &error);
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

/*
 * Objects are made by the role that ALTER ROLE ... SET role gives our sessions; the slot is the
 * login role's, which has the attribute.
 */
static enum wp_rc begin_as_owner(struct init *i, struct wp_error *error)
{
	return wp_session_do(&i->session,
			     "SELECT pg_catalog.set_config('role', "
			     "pg_catalog.current_setting('" WP_ROLE_BEFORE_SETTING "'), false)",
			     error);
}

static enum wp_rc end_as_owner(struct init *i, struct wp_error *error)
{
	return wp_session_do(&i->session, "SET ROLE NONE", error);
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
		return wp_init_may_not_create_slot(i, error) ? WP_OK : rc;
	printf("slot %s: created at %s\n", i->config.postgres.slot, lsn);
	rc = begin_as_owner(i, error);
	if (rc != WP_OK)
		return rc;
	renew_slot_checkpoint(i);
	return end_as_owner(i, error);
}

/* A role that runs a relay need not be able to make these, as Debezium's minimal roles are not. */
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

/* Asks the catalog, which all may read: names cannot be resolved without USAGE on the schema. */
static enum wp_rc look_for_tables(struct init *i, struct wp_error *error)
{
	static const char sql[] =
		"SELECT coalesce(bool_or(relname = 'skip'), false), 2 = count(*) FILTER (WHERE "
		"relname IN ('dead_letters_retried', 'replay')), 3 = count(*) FILTER (WHERE "
		"relname IN ('parked', 'parking', 'parked_acts')), coalesce(bool_or(relname = "
		"'scheduled'), false) AND EXISTS (SELECT FROM pg_proc p JOIN pg_namespace n ON "
		"n.oid = p.pronamespace WHERE n.nspname = 'walpost' AND p.proname = 'move_due'), "
		"coalesce(bool_or(relname = 'cleanup_floor'), false) AND 2 = (SELECT count(*) FROM "
		"pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = "
		"'walpost' AND (p.proname = 'cleanup_remove_partition' OR p.proname = "
		"'cleanup_forget' AND p.prosrc LIKE '%walpost.sent%')) FROM pg_class WHERE relkind "
		"IN ('r', 'p') AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = "
		"'walpost')";
	PGresult *found;
	enum wp_rc rc = wp_session_query(&i->session, sql, &found, error);
	if (rc != WP_OK)
		return rc;
	i->skip_exists = *PQgetvalue(found, 0, 0) == 't';
	i->optional_exists[0] = i->found.reissue_ready;
	for (int n = 1; n < WP_INIT_OPTIONALS; n++)
		i->optional_exists[n] = *PQgetvalue(found, 0, n) == 't';
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
		rc = look_for_tables(i, &error);
	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	if (!is_clear(i, BEFORE))
		return wp_cli_fail(WP_EXIT_FAILED,
				   "nothing was created: fix the problems above first");
	rc = begin_as_owner(i, &error);
	if (rc == WP_OK)
		rc = create_objects(i, &error);
	for (size_t n = 0; n < WP_INIT_OPTIONALS && rc == WP_OK; n++)
		rc = create_optional(i, &optionals[n], i->optional_exists[n], &error);
	if (rc == WP_OK)
		rc = end_as_owner(i, &error);
	if (rc == WP_OK)
		rc = create_slot(i, &error);
	if (rc != WP_OK)
		explain(i, &error);
	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	rc = wp_cli_preflight(&i->session, postgres, &i->outboxes.wanted, &i->found, &error);
	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	if (!is_clear(i, AFTER))
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

static const char about_text[] =
	"Creates missing objects in Postgres: the outbox table, the table in which relays\n"
	"record who has the slot, the publication of the outbox's inserts, walpost.reissue\n"
	"with its publication, the tables of parked events, that of scheduled events with its\n"
	"functions, those of cleanup, and then the slot. Slot creation waits for all running\n"
	"transactions, which are listed meanwhile.\n"
	"\n"
	"Names for --like:\n";

int wp_command_init(int argc, char **argv)
{
	static struct init i; /* static because it is large; there is only one */
	static char about[2048];
	char names[LIKE_NAMES_SIZE];
	bool print_sql = false;
	const char *like = NULL;
	const struct wp_cli_option options[] = {
		{ "--print-sql", NULL, "print SQL for psql instead of executing it", &print_sql,
		  NULL },
		{ "--like", "NAME",
		  "print a walpost.conf for the outbox table of a framework, and end", NULL,
		  &like },
		{ "--role", "NAME", "also grant this role the privileges of a relay", NULL,
		  &i.role },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost init",
		.about = about,
		WP_CLI_OPTIONS(options),
		.exits = {
			[WP_EXIT_OK] = "all objects exist",
			[WP_EXIT_FAILED] = "an obstacle was found and printed with its cure",
		},
	};
	struct wp_cli_line line;
	struct wp_error error;
	int exit_code;

	(void)snprintf(about, sizeof(about), "%s%s.", about_text, like_names(names));
	if (!wp_cli_parse(&usage, argc, argv, &line, &exit_code))
		return exit_code;
	if (like != NULL)
		return like_print(like);
	exit_code = wp_cli_config(&line, &i.config);
	if (exit_code == WP_EXIT_OK &&
	    wp_requirements_outboxes_init(&i.outboxes, &i.config.outboxes, &error) != WP_OK)
		exit_code = wp_cli_fail(WP_EXIT_CONFIG, "%s", error.text);
	if (exit_code == WP_EXIT_OK)
		exit_code = print_sql ? wp_init_print_script(&i) : connect_and_create(&i);
	wp_findings_release(&i.found.findings);
	wp_requirements_outboxes_release(&i.outboxes);
	wp_config_release(&i.config);
	return exit_code;
}
