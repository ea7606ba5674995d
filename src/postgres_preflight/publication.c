#include "walpost/postgres_preflight/publication.h"

#include <string.h>

static const char *const grants[][3] = {
	[WP_GRANTS_SLOT_CHECKPOINT] = { "SELECT, INSERT, UPDATE ON walpost.slot_checkpoint",
					"SELECT, INSERT ON walpost.skip" },
	[WP_GRANTS_REISSUE] = { "SELECT, INSERT, DELETE ON walpost.reissue" },
	[WP_GRANTS_RETRIED] = { "SELECT, INSERT, UPDATE ON walpost.dead_letters_retried, "
				"walpost.replay" },
	[WP_GRANTS_PARKED] = { "SELECT, INSERT, UPDATE, DELETE ON walpost.parked, walpost.parking",
			       "SELECT, INSERT ON walpost.parked_acts" },
	[WP_GRANTS_SCHEDULE] = { "EXECUTE ON FUNCTION walpost.move_due(integer), "
				 "walpost.scheduled_state()" },
	[WP_GRANTS_CLEANUP] = { "SELECT, INSERT, UPDATE, DELETE ON walpost.cleanup_floor",
				"SELECT ON walpost.cleanup_detached",
				"EXECUTE ON FUNCTION walpost.cleanup_look_partition, "
				"walpost.cleanup_remove_partition" },
};

void wp_grants_sql(struct wp_sql *sql, enum wp_grants which, const char *role)
{
	wp_sql_add(sql, "GRANT USAGE ON SCHEMA walpost TO %I;\n", role);
	for (size_t i = 0; i < 3 && grants[which][i] != NULL; i++)
		wp_sql_add(sql, "GRANT %s TO %I;\n", grants[which][i], role);
}

static bool is_of_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$';
}

bool wp_publication_is_reissue(const char *said)
{
	const size_t size = strlen(WP_REISSUE_PUBLICATION);

	for (const char *at = strstr(said, WP_REISSUE_PUBLICATION); at != NULL;
	     at = strstr(at + size, WP_REISSUE_PUBLICATION)) {
		if ((at == said || !is_of_name(at[-1])) && !is_of_name(at[size]))
			return true;
	}
	return false;
}

static bool has_column(const struct wp_requirements_table *table, const char *name)
{
	for (size_t i = 0; i < table->column_count; i++) {
		if (strcmp(table->columns[i], name) == 0)
			return true;
	}
	return false;
}

/* No event needs the last column, but rows that are sent again have no order without it. */
void wp_outbox_create_sql(struct wp_sql *sql, const struct wp_requirements_table *table)
{
	wp_sql_add(sql, "CREATE TABLE IF NOT EXISTS %I.%I (", table->schema, table->name);
	for (size_t i = 0; i < table->column_count; i++)
		wp_sql_add(sql, "%s\n  %I %s", i ? "," : "", table->columns[i],
			   table->definitions[i]);
	if (!has_column(table, WP_OUTBOX_CREATED_AT))
		wp_sql_add(sql, ",\n  %I timestamptz NOT NULL DEFAULT clock_timestamp()",
			   WP_OUTBOX_CREATED_AT);
	wp_sql_add(sql, "\n);\n");
}

void wp_publication_create_sql(struct wp_sql *sql, const char *publication,
			       const struct wp_requirements *wanted)
{
	bool has_pattern = false;

	for (size_t i = 0; i < wanted->count; i++)
		has_pattern = has_pattern || wanted->tables[i].is_pattern;
	wp_sql_add(sql, "CREATE PUBLICATION %I%s", publication,
		   has_pattern ? " FOR ALL TABLES" : "");
	for (size_t i = 0; i < wanted->count && !has_pattern; i++)
		wp_sql_add(sql, "%s ONLY %I.%I", i ? "," : " FOR TABLE", wanted->tables[i].schema,
			   wanted->tables[i].name);
	wp_sql_add(sql, "\n  WITH (publish = 'insert', publish_via_partition_root = true);\n");
}

/*
 * Generated columns are not in the log unless the publication has them, from PostgreSQL 18 on and
 * stored ones only: a publication without them would be found out by the first row. That an earlier
 * publication, which others may read too, lacks them, `check` tells.
 */
void wp_publication_generated_sql(struct wp_sql *sql, const char *publication,
				  const struct wp_requirements *wanted)
{
	wp_sql_add(sql, "DO $walpost$ DECLARE found record;\nBEGIN\n"
			"FOR found IN SELECT a.attname, c.oid::regclass AS tab, to_jsonb(a)->>"
			"'attgenerated' = 's' AND\n"
			"    current_setting('server_version_num')::int >= 180000 AS may\n"
			"  FROM (VALUES (NULL::text, NULL::text, NULL::text, false)");
	for (size_t i = 0; i < wanted->count; i++) {
		const struct wp_requirements_table *table = &wanted->tables[i];
		for (size_t j = 0; j < table->all_count; j++)
			if (!strstr(table->columns[j], "$walpost$"))
				wp_sql_add(sql, ",\n    (%L, %L, %L, %s)", table->schema,
					   table->name, table->columns[j],
					   table->is_pattern ? "true" : "false");
	}
	wp_sql_add(sql,
		   ") w (schema, name, col, is_pattern)\n"
		   "  JOIN pg_namespace n ON CASE WHEN w.is_pattern THEN n.nspname LIKE w.schema "
		   "ELSE n.nspname = w.schema END\n"
		   "  JOIN pg_class c ON c.relnamespace = n.oid AND CASE WHEN w.is_pattern THEN "
		   "c.relname LIKE w.name ELSE c.relname = w.name END\n"
		   "  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = w.col AND "
		   "a.attnum > 0 AND a.attgenerated <> ''\n"
		   "  JOIN pg_publication p ON p.pubname = %L AND p.xmin = "
		   "pg_current_xact_id()::xid LOOP\n",
		   publication);
	wp_sql_add(sql,
		   "  IF NOT found.may THEN\n"
		   "    RAISE EXCEPTION USING MESSAGE = format('column %%I of table %%s is "
		   "generated, and "
		   "this server does not publish it (PostgreSQL 18 publishes stored ones): make it "
		   "a plain column, which the application fills: ALTER TABLE %%s ALTER COLUMN %%I "
		   "DROP EXPRESSION; or name another column', found.attname, found.tab, found.tab, "
		   "found.attname);\n"
		   "  END IF;\n"
		   "  ALTER PUBLICATION %I SET (publish_generated_columns = stored);\n"
		   "END LOOP;\nEND $walpost$;\n",
		   publication);
}

static bool field_is(const PGresult *notice, int code, const char *text)
{
	const char *field = PQresultErrorField(notice, code);
	return field && !strcmp(field, text);
}

/*
 * The warning is from pgoutput.c, LoadPublications. The text may be translated, so it is told by
 * its SQLSTATE, as which the server also warns of a standby that synchronized_standby_slots names
 * and that is away (slot.c, StandbySlotsHaveCaughtup): then it waits, and leaves nothing out.
 * Whatever else should come as 55000 is taken for the worse.
 */
bool wp_publication_was_skipped(const PGresult *notice)
{
	return field_is(notice, PG_DIAG_SQLSTATE, "55000") &&
	       field_is(notice, PG_DIAG_SEVERITY_NONLOCALIZED, "WARNING") &&
	       !field_is(notice, PG_DIAG_SOURCE_FUNCTION, "StandbySlotsHaveCaughtup");
}
