/* Chooses parked events by the options of `walpost parked`, and checks the rights to do so. */
#include "parked.h"

#include <string.h>

#include "walpost/base/display.h"
#include "walpost/cli/cli.h"
#include "walpost/outbox/names.h"
#include "walpost/wal/position.h"

bool wp_cli_parked_is_narrowed(const struct wp_cli_parked_filter *f)
{
	return f->key != NULL || f->outbox != NULL || f->position != NULL || f->code != NULL;
}

enum wp_rc wp_cli_parked_filter_check(const struct wp_cli_parked_filter *f, struct wp_error *error)
{
	struct wp_position position;

	if (f->position == NULL || wp_position_parse(wp_span_of(f->position), &position) == WP_OK)
		return WP_OK;
	return wp_error_set(error, WP_CONFIG,
			    "--position %.100s is not a position such as "
			    "0000-00000001-000000000194AB88-00000002",
			    f->position);
}

/*
 * Rows are found by an index, whatever the server's statistics are. The relay, which may be a
 * synchronous standby, is not waited for: what a failover forgets of what was asked for is to be
 * asked for again.
 */
static const char session_sql[] = "SELECT set_config('enable_hashjoin', 'off', false), "
				  "set_config('enable_mergejoin', 'off', false), "
				  "set_config('synchronous_commit', 'local', false)";

/* -- may it be looked at? -------------------------------------------------------------- */

static const char tables_sql[] =
	"SELECT pg_catalog.quote_ident(current_user), current_database(), pg_is_in_recovery(), "
	"p.oid IS NOT NULL AND a.oid IS NOT NULL, has_schema_privilege(n.oid, 'USAGE'), "
	"has_table_privilege(p.oid, 'SELECT'), has_any_column_privilege(p.oid, 'UPDATE'), "
	"has_table_privilege(a.oid, 'SELECT'), has_table_privilege(a.oid, 'INSERT') FROM (SELECT) "
	"one LEFT JOIN pg_namespace n ON n.nspname = 'walpost' LEFT JOIN pg_class p ON "
	"p.relnamespace = n.oid AND p.relname = 'parked' LEFT JOIN pg_class a ON a.relnamespace = "
	"n.oid AND a.relname = 'parked_acts'";

enum column { ROLE, DATABASE, STANDBY, TABLES, USAGE, SELECT, UPDATE, ACTS_SELECT, ACTS_INSERT };

static bool is(const PGresult *r, enum column column)
{
	return *PQgetvalue(r, 0, (int)column) == 't';
}

bool wp_cli_parked_changes(const struct wp_cli_parked *p)
{
	return (p->act == WP_CLI_PARKED_RETRY || p->force) && !p->dry_run;
}

static enum wp_rc judge(const PGresult *r, bool changes, struct wp_error *error)
{
	const char *role = PQgetvalue(r, 0, ROLE);

	if (!is(r, TABLES))
		return wp_error_set(error, WP_CONFIG,
				    "table walpost.parked or walpost.parked_acts does not exist "
				    "in database %s: create them with `walpost init` or "
				    "sql/parked.sql",
				    PQgetvalue(r, 0, DATABASE));
	if (changes && is(r, STANDBY))
		return wp_error_set(error, WP_CONFIG,
				    "the server is a standby; run this command on the primary");
	if (!is(r, USAGE))
		return wp_error_set(error, WP_CONFIG,
				    "role %s may not use schema walpost: GRANT USAGE ON SCHEMA "
				    "walpost TO %s",
				    role, role);
	if (!is(r, SELECT) || (changes && !is(r, UPDATE)))
		return wp_error_set(error, WP_CONFIG,
				    "role %s may not %s walpost.parked: GRANT SELECT%s ON "
				    "walpost.parked TO %s",
				    role, changes ? "read and update" : "read",
				    changes ? ", UPDATE (act)" : "", role);
	if (changes && (!is(r, ACTS_SELECT) || !is(r, ACTS_INSERT)))
		return wp_error_set(error, WP_CONFIG,
				    "role %s may not read and write walpost.parked_acts, in which "
				    "this is recorded: GRANT SELECT, INSERT ON walpost.parked_acts "
				    "TO %s",
				    role, role);
	return WP_OK;
}

enum wp_rc wp_cli_parked_check_tables(struct wp_cli_parked *p, struct wp_error *error)
{
	PGresult *r;
	enum wp_rc rc = wp_session_do(&p->session, session_sql, error);

	if (rc == WP_OK)
		rc = wp_session_query(&p->session, tables_sql, &r, error);

	if (rc != WP_OK)
		return rc;
	rc = judge(r, wp_cli_parked_changes(p), error);
	PQclear(r);
	return rc;
}

/* -- which are meant -------------------------------------------------------------------- */

/* Names the table as the relay does, quoted where SQL needs it; NULL if `table` names none. */
static const char *stored_name(const char *table, char text[WP_TABLE_NAME_TEXT_SIZE])
{
	struct wp_table_name name;

	if (wp_table_name_parse(table, &name, NULL) != WP_OK)
		return NULL;
	return wp_table_name_text(&name, text, WP_TABLE_NAME_TEXT_SIZE);
}

static const struct wp_outbox_options *section(const struct wp_outboxes *outboxes, const char *name)
{
	for (size_t i = 0; i < outboxes->count; i++) {
		if (*name != '\0' && strcmp(outboxes->items[i].name, name) == 0)
			return &outboxes->items[i];
	}
	return NULL;
}

static void add_outbox(struct wp_sql *sql, const struct wp_cli_parked *p)
{
	const char *given = p->filter.outbox;
	const struct wp_outbox_options *named = section(&p->config.outboxes, given);
	char text[WP_TABLE_NAME_TEXT_SIZE];

	if (named != NULL && named->table[0] == '\0') {
		wp_sql_add(sql, " AND outbox = %L", named->message_prefix);
		return;
	}
	const char *stored = stored_name(named != NULL ? named->table : given, text);
	if (named != NULL) {
		wp_sql_add(sql, " AND outbox = %L", stored != NULL ? stored : given);
		return;
	}
	/* "Sales"."Orders" is also found as Sales.Orders. */
	wp_sql_add(sql, " AND (outbox IN (%L, %L) OR replace(outbox, '\"', '') IN (%L, %L || %L))",
		   given, stored != NULL ? stored : given, given, "public.", given);
}

/* This is one pass without a join: the server knows nothing of a table that has just grown. */
void wp_cli_parked_seen_sql(struct wp_sql *sql, const struct wp_cli_parked *p)
{
	const struct wp_cli_parked_filter *f = &p->filter;

	wp_sql_add(sql,
		   "WITH seen AS (SELECT \"position\", outbox, key, id, code, attempts, "
		   "next_attempt_at, act, row_number() OVER in_order = 1 AS is_first, "
		   "first_value(code) OVER in_order AS first_code, count(*) OVER whole AS events, "
		   "count(*) FILTER (WHERE act = 'skip') OVER whole AS discarded, "
		   "min(parked_at) OVER whole AS since FROM walpost.parked WHERE slot = %L",
		   p->postgres.slot);
	if (f->key != NULL) /* the first condition is the index's */
		wp_sql_add(sql,
			   " AND hashtextextended(key, 0) = hashtextextended(%L, 0) AND key = %L",
			   f->key, f->key);
	if (f->outbox != NULL)
		add_outbox(sql, p);
	if (f->position != NULL)
		wp_sql_add(sql,
			   " AND (\"position\" = %L OR (outbox, key) IN (SELECT o.outbox, o.key "
			   "FROM walpost.parked o WHERE o.slot = %L AND o.\"position\" = %L))",
			   f->position, p->postgres.slot, f->position);
	wp_sql_add(sql, " WINDOW whole AS (PARTITION BY outbox COLLATE \"C\", key COLLATE \"C\", "
			"CASE WHEN key IS NULL THEN \"position\" END), in_order AS (whole ORDER BY "
			"act IS NOT DISTINCT FROM 'skip', \"position\")) ");
}

void wp_cli_parked_chosen_sql(struct wp_sql *sql, const struct wp_cli_parked *p)
{
	bool is_one = p->act == WP_CLI_PARKED_SHOW || p->act == WP_CLI_PARKED_SKIP;
	bool is_first = p->act == WP_CLI_PARKED_RETRY || p->act == WP_CLI_PARKED_SKIP;

	wp_sql_add(sql, "FROM seen WHERE ");
	wp_sql_add(sql, p->act == WP_CLI_PARKED_SHOW ? "true" : "act IS DISTINCT FROM 'skip'");
	if (p->filter.code != NULL)
		wp_sql_add(sql, " AND first_code = %L", p->filter.code);
	if (p->filter.position != NULL && is_one)
		wp_sql_add(sql, " AND \"position\" = %L", p->filter.position);
	else if (is_first)
		wp_sql_add(sql, " AND is_first");
}

/* -- nothing ------------------------------------------------------------------------------ */

static const char *option(struct wp_excerpt *e, const char *value)
{
	return value != NULL ? wp_excerpt(e, wp_span_of(value)) : "";
}

int wp_cli_parked_none(const struct wp_cli_parked *p)
{
	const struct wp_cli_parked_filter *f = &p->filter;
	struct wp_excerpt key, outbox, code;

	if (wp_cli_parked_is_narrowed(f))
		return wp_cli_fail(WP_EXIT_FAILED,
				   "slot %s: nothing is parked with%s%s%s%s%s%s%s%s; `walpost "
				   "parked list` shows all",
				   p->postgres.slot, f->key != NULL ? " --key " : "",
				   option(&key, f->key), f->outbox != NULL ? " --outbox " : "",
				   option(&outbox, f->outbox),
				   f->position != NULL ? " --position " : "",
				   f->position != NULL ? f->position : "",
				   f->code != NULL ? " --code " : "", option(&code, f->code));
	wp_cli_say(stdout, "slot %s: nothing is parked\n", p->postgres.slot);
	return wp_cli_done();
}
