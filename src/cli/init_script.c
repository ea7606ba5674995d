/* Writes what `walpost init` does as SQL for psql. */
#include "init.h"

#include <stdio.h>
#include <string.h>

#include "walpost/cli/cli.h"
#include "walpost/cli/outbox.h"
#include "walpost/postgres_preflight/publication.h"
#include "walpost/postgres_preflight/slot_checkpoint.h"

/* A name ends our dollar quotes only when someone means it to. */
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
	return is_quotable(i->config.postgres.publication) && (!i->role || is_quotable(i->role));
}

/* Does in the script what the preflight does as table_case. */
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
	wp_publication_generated_sql(sql, postgres->publication, &i->outboxes.wanted);
}

/*
 * Creates the slot by a SELECT of its own: a function or DO block that makes a logical slot fails
 * with "snapshot reference ... is not owned by resource owner" when a change of the catalog is
 * decoded meanwhile (ReorderBufferImmediateInvalidation() leaves the resource owner of the
 * transaction behind, not that of the statement within). It needs psql's \if, because servers
 * before 17 cannot parse the call with failover.
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
	wp_slot_checkpoint_renew_sql(sql, slot, "walpost init");
	wp_sql_add(sql, ";\n\\endif\n");
}

static void add_grants(struct wp_sql *sql, const struct init *i, enum wp_grants which)
{
	if (i->role)
		wp_grants_sql(sql, which, i->role);
}

static void add_script(struct wp_sql *sql, const struct init *i)
{
	wp_sql_add(sql, "-- In the database of the outbox, by its owner or a superuser, with "
			"REPLICATION (or, at\n"
			"-- Amazon, rds_replication) for the slot, which is created last:\n"
			"--   psql -v ON_ERROR_STOP=1 -f THIS_FILE\n"
			"SET client_encoding = 'UTF8';\n\nBEGIN;\n");
	for (size_t at = 0; at < i->outboxes.wanted.count; at++) {
		if (i->outboxes.tables[at].is_pattern)
			continue; /* whoever makes a tenant makes its table */
		add_case_script(sql, &i->outboxes.names[at]);
		wp_outbox_create_sql(sql, &i->outboxes.tables[at]);
	}
	wp_sql_add(sql,
		   "\n"
		   "-- A relay records here that it has taken over the slot.\n"
		   "%s\n",
		   wp_slot_checkpoint_sql);
	add_publication_script(sql, i);
	add_grants(sql, i, WP_GRANTS_SLOT_CHECKPOINT);
	if (i->role)
		wp_init_add_replication(sql, i->role);
	wp_sql_add(sql, "\n-- What is inserted here is sent once more.\n%s", wp_reissue_sql);
	add_grants(sql, i, WP_GRANTS_REISSUE);
	add_grants(sql, i, WP_GRANTS_RETRIED);
	wp_sql_add(sql,
		   "\n-- Events that cannot be delivered wait here, with relay.poison = park.\n%s",
		   wp_parked_sql);
	add_grants(sql, i, WP_GRANTS_PARKED);
	wp_sql_add(sql, "\n-- Events that are sent later.\n%s", wp_schedule_sql);
	add_grants(sql, i, WP_GRANTS_SCHEDULE);
	wp_sql_add(sql, "\n-- Old rows are removed with these, with cleanup.mode.\n%s",
		   wp_cleanup_sql);
	add_grants(sql, i, WP_GRANTS_CLEANUP);
	wp_sql_add(
		sql,
		"COMMIT;\n\n"
		"-- After the publication, and outside its transaction. Waits until all "
		"transactions\n"
		"-- that run now have ended; pg_stat_activity and pg_prepared_xacts show them.\n");
	add_slot_script(sql, i->config.postgres.slot);
}

int wp_init_print_script(const struct init *i)
{
	struct wp_buffer text;
	struct wp_sql sql;
	struct wp_error error;
	if (!are_quotable(i))
		return wp_cli_fail(WP_EXIT_CONFIG,
				   "a name that holds $walpost$ cannot be written into a script");
	/* Quoting asks for a connection; one that fails before it begins will do. */
	PGconn *pg = PQconnectStart("hostaddr=none password=-");
	wp_buffer_init(&text, WP_SQL_SIZE_MAX);
	wp_sql_init(&sql, pg, &text);
	add_script(&sql, i);
	enum wp_rc rc = wp_sql_end(&sql, &error);
	if (rc == WP_OK)
		(void)fputs((const char *)text.data, stdout); /* wp_cli_done() notices a failure */
	wp_buffer_release(&text);
	PQfinish(pg);
	return rc == WP_OK ? wp_cli_done() : wp_cli_fail(WP_EXIT_CONFIG, "%s", error.text);
}
