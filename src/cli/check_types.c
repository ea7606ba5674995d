/*
 * Finds columns whose types do not do for what they mean. The tables are taken as the catalog has
 * them, and judged by the code that judges the stream's Relation messages (outbox/table).
 */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "walpost/outbox/columns.h"
#include "walpost/outbox/table.h"
#include "walpost/postgres_preflight/columns.h"
#include "walpost/postgres_preflight/preflight.h"

#define RELATIONS_MAX 10000 /* and types */

struct types {
	struct wp_check *check;
	struct wp_session *session;
	PGresult *described;
	struct wp_relations *relations;
	struct wp_column_facts facts;
	enum wp_transfer transfer;
};

/* -- what there is --------------------------------------------------------------- */

static void write_described(struct wp_sql *sql, const struct wp_check *c)
{
	wp_described_sql(sql, &c->wanted.wanted);
}

static void write_facts(struct wp_sql *sql, const struct wp_check *c)
{
	wp_columns_sql(sql, &c->wanted.wanted);
}

static enum wp_rc read_facts(struct types *t, struct wp_error *error)
{
	PGresult *answer;
	enum wp_rc rc = wp_check_ask(t->check, t->session, write_facts, &answer, error);
	if (rc != WP_OK)
		return rc;
	t->transfer = wp_columns_read(answer, t->check->config.postgres.binary, &t->facts);
	PQclear(answer);
	rc = wp_relations_put_facts(t->relations, &t->facts);
	return rc == WP_OK ? rc : wp_error_set(error, rc, "out of memory for column types");
}

static enum wp_rc look(struct types *t, struct wp_error *error)
{
	enum wp_rc rc = wp_relations_new(RELATIONS_MAX, NULL, &t->relations);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "out of memory for column types");
	rc = wp_check_ask(t->check, t->session, write_described, &t->described, error);
	return rc == WP_OK ? read_facts(t, error) : rc;
}

/* -- what is wrong with it --------------------------------------------------------- */

/* Names the key as it stands in the file's section. */
static void cure_setting(const struct wp_outbox_options *options, const char *key,
			 const char *value, char *ret, size_t size)
{
	if (*options->name)
		(void)snprintf(ret, size, "-- in [outbox.%s]: %s = %s", options->name, key, value);
	else
		(void)snprintf(ret, size, "-- set outbox.%s = %s", key, value);
}

/* Converts the column by way of its text, which the new type must be able to read. */
static void cure_type(const struct types *t, const struct wp_relation *relation, const char *column,
		      const char *type, char *ret, size_t size)
{
	struct wp_buffer text;
	struct wp_sql sql;
	struct wp_error error;
	wp_buffer_init(&text, size);
	wp_sql_init(&sql, wp_session_pg(t->session), &text);
	wp_sql_add(&sql, "ALTER TABLE %I.%I ALTER COLUMN %I TYPE %s USING %I::text::%s;",
		   (const char *)relation->schema.data, (const char *)relation->name.data, column,
		   type, column, type);
	if (wp_sql_end(&sql, &error) == WP_OK)
		(void)snprintf(ret, size, "%s", (const char *)text.data);
	wp_buffer_release(&text);
}

static void cure(const struct types *t, const struct wp_relation *relation,
		 const struct wp_outbox_options *options, const struct wp_mapping_fault *fault,
		 char *ret, size_t size)
{
	if (wp_column_is_member(fault->column))
		return;
	switch (fault->kind) {
	case WP_COLUMN_NOT_RENDERED:
	case WP_COLUMN_NO_MODIFIER:
		cure_setting(options, "types", "postgres", ret, size);
		break;
	case WP_COLUMN_NOT_A_TIME:
		cure_type(t, relation, fault->column, "timestamptz", ret, size);
		break;
	case WP_COLUMN_NOT_A_NUMBER:
		cure_type(t, relation, fault->column, "integer", ret, size);
		break;
	case WP_COLUMN_NOT_JSON:
		cure_type(t, relation, fault->column, "jsonb", ret, size);
		break;
	case WP_COLUMN_NONE:
	case WP_COLUMN_MISSING:
	case WP_COLUMN_NOT_BINARY:
		break; /* these are findings of their own */
	}
}

static void found(const struct types *t, size_t table, const struct wp_relation *relation,
		  const struct wp_outbox_options *options, const struct wp_mapping_fault *fault,
		  const struct wp_error *error)
{
	char text[2048] = "";
	const struct wp_requirements_table *wanted = &t->check->wanted.wanted.tables[table];
	if (fault->kind == WP_COLUMN_NONE && wp_check_is_brief(t->check))
		return;
	if (fault->kind != WP_COLUMN_NONE)
		cure(t, relation, options, fault, text, sizeof(text));
	struct wp_finding *f = wp_findings_add(
		&t->check->found.findings,
		fault->kind == WP_COLUMN_NONE ? WP_FINDING_OK : WP_FINDING_FAIL, WP_ROOM_OUTBOX,
		"table_types",
		fault->kind == WP_COLUMN_NONE ? "the type of each column suits its role"
					      : error->text,
		text);
	f->table = table;
	wp_finding_is_about(f, wanted);
}

/* A table that is missing has been told; the others are judged all the same. */
static void judge(struct types *t, size_t table, const struct wp_outbox_options *options)
{
	struct wp_relation *relation;
	struct wp_mapping *mapping = NULL;
	struct wp_mapping_fault fault = { .kind = WP_COLUMN_NONE };
	struct wp_error error;
	if (wp_described_put(t->described, table, t->relations, &relation) != WP_OK ||
	    relation == NULL)
		return;
	const struct wp_mapping_setup setup = {
		.options = options,
		.relation = relation,
		.types = t->relations,
		.facts = &t->facts,
		.table = table,
		.columns = WP_COLUMNS_KNOWN,
		.transfer = t->transfer,
		.fault = &fault,
	};
	enum wp_rc rc = wp_mapping_new(&setup, &mapping, &error);
	if (rc == WP_OK || (fault.kind != WP_COLUMN_NONE && fault.kind != WP_COLUMN_NOT_BINARY))
		found(t, table, relation, options, &fault, &error);
	wp_mapping_free(mapping);
}

void wp_check_types(struct wp_check *c, struct wp_session *session)
{
	static struct types t; /* static because it is large; there is only one */
	struct wp_error error;
	size_t table = 0;
	t = (struct types){ .check = c, .session = session };
	if (c->wanted.wanted.count == 0)
		return;
	if (look(&t, &error) == WP_OK) {
		for (size_t i = 0; i < c->config.outboxes.count; i++)
			if (c->config.outboxes.items[i].table[0] != '\0')
				judge(&t, table++, &c->config.outboxes.items[i]);
	}
	PQclear(t.described);
	wp_relations_free(t.relations);
}
