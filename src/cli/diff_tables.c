/* Finds the tables of the outboxes for `walpost diff`, those that fit a pattern included. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/cli/diff.h"
#include "walpost/outbox/outboxes.h"
#include "walpost/outbox/names.h"
#include "walpost/postgres_preflight/preflight.h"

/* -- which they are ------------------------------------------------------------------------ */

/* A table that fits a pattern may be that of another outbox, or be ignored. */
static bool is_of(const struct wp_outbox_set *all, const struct wp_outbox_options *outbox,
		  const struct wp_table_name *table)
{
	const struct wp_relation relation = { .schema = wp_span_of(table->schema),
					      .name = wp_span_of(table->name) };
	struct wp_rows rows = wp_outbox_set_rows(all, relation.schema, relation.name);

	if (rows.kind == WP_ROWS_UNKNOWN)
		rows = wp_outbox_set_rows_of_partition(all, &relation, NULL);
	return rows.kind == WP_ROWS_EVENTS && strcmp(rows.outbox->options->name, outbox->name) == 0;
}

/* Returns the outbox that wanted that table; those of messages want none. */
static size_t outbox_of(const struct wp_diff *d, size_t wanted)
{
	size_t left = wanted + 1;
	size_t i = 0;

	for (; i < d->outboxes.count; i++) {
		left -= d->outboxes.items[i].table[0] != '\0' ? 1 : 0;
		if (left == 0)
			break;
	}
	return i;
}

static enum wp_rc add(struct wp_diff *d, const PGresult *found, int row,
		      const struct wp_outbox_set *all, struct wp_error *error)
{
	struct wp_diff_table table = {
		.wanted = strtoul(PQgetvalue(found, row, WP_TABLES_WANTED), NULL, 10),
	};
	char name[WP_TABLE_NAME_TEXT_SIZE];

	table.outbox = outbox_of(d, table.wanted);
	const struct wp_outbox_options *o = &d->outboxes.items[table.outbox];
	(void)snprintf(table.table.schema, sizeof(table.table.schema), "%s",
		       PQgetvalue(found, row, WP_TABLES_SCHEMA));
	(void)snprintf(table.table.name, sizeof(table.table.name), "%s",
		       PQgetvalue(found, row, WP_TABLES_NAME));
	if (wp_table_is_pattern(o->table) && !is_of(all, o, &table.table))
		return WP_OK;
	table.name = strdup(wp_table_is_pattern(o->table)
				    ? wp_table_name_text(&table.table, name, sizeof(name))
				    : o->table);
	if (table.name == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for the names of tables");
	d->tables[d->table_count++] = table;
	return WP_OK;
}

static enum wp_rc add_all(struct wp_diff *d, const PGresult *found, const struct wp_outbox_set *all,
			  struct wp_error *error)
{
	const int count = PQntuples(found);
	enum wp_rc rc = WP_OK;

	if (count > WP_DIFF_TABLES_MAX)
		return wp_error_set(error, WP_FULL,
				    "%d tables fit outbox.table, more than can be read in one run "
				    "(%d): choose fewer with a narrower pattern",
				    count, WP_DIFF_TABLES_MAX);
	d->tables = calloc((size_t)count + 1, sizeof(*d->tables));
	if (d->tables == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for %d tables", count);
	for (int row = 0; row < count && rc == WP_OK; row++)
		rc = add(d, found, row, all, error);
	return rc;
}

enum wp_rc wp_diff_find_tables(struct wp_diff *d, struct wp_session *s,
			       const struct wp_requirements *wanted,
			       const struct wp_outbox_set *all, struct wp_error *error)
{
	struct wp_statement statement;
	PGresult *found;

	wp_diff_forget_tables(d);
	wp_statement_begin(&statement, s);
	wp_tables_sql(&statement.sql, wanted);
	enum wp_rc rc = wp_statement_ask(&statement, &found, error);
	if (rc != WP_OK)
		return rc;
	rc = add_all(d, found, all, error);
	PQclear(found);
	return rc;
}

void wp_diff_forget_tables(struct wp_diff *d)
{
	for (size_t i = 0; i < d->table_count; i++)
		free(d->tables[i].name);
	free(d->tables);
	d->tables = NULL;
	d->table_count = 0;
}

bool wp_diff_lists(const struct wp_diff *d, const struct wp_diff_table *table)
{
	return table->rows > 0 || !wp_table_is_pattern(d->outboxes.items[table->outbox].table);
}
