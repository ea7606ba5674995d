/*
 * Gives a role the right to read slots. A superuser gives the attribute REPLICATION; at a provider
 * nobody is superuser, and it is given by a role of the provider's, by its administrator only, or
 * elsewhere.
 */
#include "init.h"

#include <stdio.h>
#include <string.h>

#include "walpost/cli/findings.h"
#include "walpost/postgres/provider.h"

/* A role may replicate as superuser, by the attribute, or by a provider's role that gives it. */
#define MAY_REPLICATE                                                                           \
	"r.rolsuper OR r.rolreplication OR coalesce((SELECT bool_or(pg_has_role(r.oid, g.oid, " \
	"'MEMBER')) FROM pg_catalog.pg_roles g WHERE g.rolname IN ('rds_replication', "         \
	"'neon_superuser')), false)"

static void write_cure(const struct init *i, const char *role, char *cure, size_t size)
{
	struct wp_buffer text;
	struct wp_sql sql;
	struct wp_error ignored;

	wp_buffer_init(&text, WP_SQL_SIZE_MAX);
	wp_sql_init(&sql, wp_session_pg(&i->session), &text);
	wp_sql_add(&sql, wp_provider_facts(i->found.provider)->role, role);
	if (wp_sql_end(&sql, &ignored) == WP_OK)
		(void)snprintf(cure, size, "%s", (const char *)text.data);
	else
		cure[0] = '\0';
	wp_buffer_release(&text);
}

static void print(const char *name, const char *what, const char *cure)
{
	struct wp_finding f = { .level = WP_FINDING_FAIL, .room = WP_ROOM_SERVER, .name = name };

	(void)snprintf(f.what, sizeof(f.what), "%s", what);
	(void)snprintf(f.cure, sizeof(f.cure), "%s", cure);
	wp_cli_print_finding(stderr, &f);
}

static enum wp_rc has_replication(struct init *i, bool *ret, struct wp_error *error)
{
	struct wp_statement statement;
	PGresult *answer;

	wp_statement_begin(&statement, &i->session);
	wp_sql_add(&statement.sql,
		   "SELECT " MAY_REPLICATE " FROM pg_catalog.pg_roles r WHERE r.rolname = %L",
		   i->role);
	enum wp_rc rc = wp_statement_ask(&statement, &answer, error);
	if (rc != WP_OK)
		return rc;
	*ret = PQntuples(answer) == 1 && *PQgetvalue(answer, 0, 0) == 't';
	PQclear(answer);
	return WP_OK;
}

enum wp_rc wp_init_replication(struct init *i, struct wp_error *error)
{
	bool has = false;
	char cure[sizeof(((struct wp_finding *)0)->cure)];
	struct wp_error what;

	enum wp_rc rc = has_replication(i, &has, error);
	if (rc != WP_OK || has)
		return rc;
	write_cure(i, i->role, cure, sizeof(cure));
	rc = wp_session_do(&i->session, cure, error);
	if (rc == WP_OK || strcmp(i->session.failure.sqlstate, "42501") != 0)
		return rc;
	i->lacks_replication = true;
	(void)wp_error_set(&what, WP_OK,
			   "role %s may not replicate yet, which is required to read a slot, and "
			   "role %s may not give it that right: %s",
			   i->role, PQuser(wp_session_pg(&i->session)), error->text);
	print("role", what.text, cure);
	return WP_OK;
}

bool wp_init_may_not_create_slot(struct init *i, const struct wp_error *why)
{
	char role_cure[sizeof(((struct wp_finding *)0)->cure)], cure[sizeof(role_cure)];
	const char *us = PQuser(wp_session_pg(&i->session));
	struct wp_error what;

	if (strcmp(i->session.failure.sqlstate, "42501") != 0)
		return false;
	i->lacks_slot = true;
	(void)wp_error_set(&what, WP_OK, "slot %s was not created: %s", i->config.postgres.slot,
			   why->text);
	write_cure(i, us, role_cure, sizeof(role_cure));
	if (i->role && strcmp(i->role, us) != 0)
		(void)snprintf(cure, sizeof(cure),
			       "-- %swith the relay's own conninfo (role %s): walpost slot create",
			       i->lacks_replication ? "then, " : "", i->role);
	else
		(void)snprintf(cure, sizeof(cure), "%.1800s\n-- then run walpost init again",
			       role_cure);
	print("slot", what.text, cure);
	return true;
}

/* Nobody is asked who runs the server: it says whether there is a role that gives the right. */
void wp_init_add_replication(struct wp_sql *sql, const char *role)
{
	wp_sql_add(sql,
		   "DO $walpost$ BEGIN\n"
		   "IF NOT (SELECT " MAY_REPLICATE "\n"
		   "    FROM pg_catalog.pg_roles r WHERE r.rolname = %L) THEN\n",
		   role);
	wp_sql_add(sql,
		   "  IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = "
		   "'rds_replication') THEN\n"
		   "    GRANT rds_replication TO %I;\n",
		   role);
	wp_sql_add(sql, "  ELSE\n    ALTER ROLE %I REPLICATION;\n  END IF;\nEND IF;\n", role);
	wp_sql_add(sql,
		   "EXCEPTION WHEN insufficient_privilege THEN\n"
		   "  RAISE WARNING USING MESSAGE = 'the role may not replicate yet: ' || SQLERRM, "
		   "HINT = 'walpost check prints how this server''s provider gives it.';\n"
		   "END $walpost$;\n");
}
