/*
 * Chooses the outbox, the rows and their order for `walpost replay`, and keeps the row of
 * walpost.replay that says how far it is.
 */
#include "replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/cli/cli.h"
#include "walpost/cli/outbox.h"
#include "walpost/outbox/columns.h"
#include "walpost/outbox/outboxes.h"
#include "walpost/postgres_preflight/publication.h"

#define COMMIT_TIME "pg_catalog.pg_xact_commit_timestamp(o.xmin)"
#define STATEMENT "o." WP_ROW_ORDER_STATEMENT
#define STATEMENT_MAX "4294967295"

/* -- the outbox and its order ------------------------------------------------------------------ */

static bool is_named(const struct wp_outbox_options *o, const char *given)
{
	struct wp_table_name a, b;

	if (given == NULL || strcmp(o->name, given) == 0)
		return given == NULL || given[0] != '\0';
	return wp_table_name_parse(o->table, &a, NULL) == WP_OK &&
	       wp_table_name_parse(given, &b, NULL) == WP_OK && strcmp(a.schema, b.schema) == 0 &&
	       strcmp(a.name, b.name) == 0;
}

/* Finds the outbox whose pattern the table fits. */
static bool find_in_pattern(struct wp_replay *r, const char *given)
{
	struct wp_outbox_set *set;
	struct wp_table_name name;

	if (wp_table_name_parse(given, &name, NULL) != WP_OK ||
	    wp_outbox_set_new(&r->config.outboxes, 0, &set, NULL) != WP_OK)
		return false;
	const struct wp_outbox *found =
		wp_outbox_set_table(set, wp_span_of(name.schema), wp_span_of(name.name));
	if (found != NULL) {
		r->named = *found->options;
		r->named.table = given;
		r->outbox = &r->named;
	}
	wp_outbox_set_free(set);
	return found != NULL;
}

/* Names their tables, as many as fit. */
static enum wp_rc refuse_several(const struct wp_outboxes *all, struct wp_error *error)
{
	char tables[400] = "";
	size_t size = 0;

	for (size_t i = 0; i < all->count; i++) {
		const char *table = all->items[i].table;

		if (table[0] == '\0')
			continue;
		if (size + strlen(table) + sizeof(", , ...") > sizeof(tables)) {
			(void)snprintf(tables + size, sizeof(tables) - size, ", ...");
			break;
		}
		size += (size_t)snprintf(tables + size, sizeof(tables) - size, "%s%s",
					 size == 0 ? "" : ", ", table);
	}
	return wp_error_set(error, WP_CONFIG,
			    "several outboxes are configured: choose one by --outbox (%s)", tables);
}

static enum wp_rc choose_outbox(struct wp_replay *r, struct wp_error *error)
{
	const struct wp_outboxes *all = &r->config.outboxes;
	const char *given = r->choice.outbox;
	size_t found = 0;

	for (size_t i = 0; i < all->count; i++) {
		if (all->items[i].table[0] == '\0' || !is_named(&all->items[i], given))
			continue;
		r->outbox = &all->items[i];
		found++;
	}
	if (found == 1 && wp_table_is_pattern(r->outbox->table))
		return wp_error_set(error, WP_CONFIG,
				    "outbox.table = %.200s stands for many tables: choose one "
				    "by --outbox SCHEMA.TABLE",
				    r->outbox->table);
	if (found == 0 && given != NULL && find_in_pattern(r, given))
		return wp_table_name_parse(given, &r->table, error);
	if (found == 1)
		return wp_table_name_parse(r->outbox->table, &r->table, error);
	if (found > 1)
		return given == NULL ? refuse_several(all, error)
				     : wp_error_set(error, WP_CONFIG,
						    "--outbox %.200s: several outboxes have that "
						    "table or name",
						    given);
	return given != NULL
		       ? wp_error_set(error, WP_CONFIG,
				      "--outbox %.200s: no outbox with that table or name is "
				      "configured",
				      given)
		       : wp_error_set(error, WP_CONFIG,
				      "no outbox with a table is configured: events without a "
				      "table are not kept, and cannot be replayed");
}

static enum wp_rc add_key(struct wp_replay *r, char *key, struct wp_error *error)
{
	if (key == NULL || r->key_count == WP_REPLAY_KEYS_MAX) {
		free(key);
		return wp_error_set(error, WP_NOMEM, "out of memory for the order of the rows");
	}
	for (size_t i = 0; i < r->key_count; i++) {
		if (strcmp(r->keys[i], key) == 0) {
			free(key);
			return WP_OK;
		}
	}
	r->keys[r->key_count++] = key;
	return WP_OK;
}

/* Returns the quoted column as one of `o`. */
static char *column_of(const char *quoted)
{
	size_t size = strlen(quoted) + 3;
	char *text = malloc(size);

	if (text != NULL)
		(void)snprintf(text, size, "o.%s", quoted);
	return text;
}

/*
 * Rows of kind 'time' name the column of the order, those of kind 'key' the columns of the primary
 * key, or of the smallest unique index over columns that are NOT NULL.
 */
static const char keys_sql[] =
	"WITH t AS (SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON "
	"n.oid = c.relnamespace WHERE n.nspname = %L AND c.relname = %L), k AS (SELECT "
	"i.indexrelid, i.indkey FROM pg_catalog.pg_index i, t WHERE i.indrelid = t.oid AND "
	"i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS "
	"NULL AND NOT EXISTS (SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = t.oid AND "
	"a.attnum = ANY (i.indkey::int2[]) AND NOT a.attnotnull) ORDER BY i.indisprimary DESC, "
	"i.indnkeyatts, i.indexrelid LIMIT 1) SELECT 'time', pg_catalog.quote_ident(a.attname), "
	"a.attnotnull, 0 FROM pg_catalog.pg_attribute a, t WHERE a.attrelid = t.oid AND a.attname "
	"= %L AND a.attnum > 0 AND NOT a.attisdropped UNION ALL SELECT 'key', "
	"pg_catalog.quote_ident(a.attname), true, u.at FROM k, unnest(k.indkey::int2[]) WITH "
	"ORDINALITY u (attnum, at), pg_catalog.pg_attribute a, t WHERE a.attrelid = t.oid AND "
	"a.attnum = u.attnum ORDER BY 4";

/* Adds the keys of the table behind what orders the rows. */
static enum wp_rc add_keys(struct wp_replay *r, const PGresult *found, bool has_column,
			   struct wp_error *error)
{
	enum wp_rc rc = WP_OK;
	int row = 0;

	if (r->choice.by_commit_time)
		rc = add_key(r, strdup(COMMIT_TIME), error);
	else if (has_column)
		rc = add_key(r, column_of(PQgetvalue(found, row++, 1)), error);
	r->has_order = r->key_count > 0;
	if (rc == WP_OK && r->choice.by_statement)
		rc = add_key(r, strdup(STATEMENT), error);
	if (rc == WP_OK && r->choice.by_statement)
		rc = add_key(r, strdup("o.ctid"), error);
	for (; row < PQntuples(found) && rc == WP_OK; row++)
		rc = add_key(r, column_of(PQgetvalue(found, row, 1)), error);
	return rc;
}

static enum wp_rc take_keys(struct wp_replay *r, const PGresult *found, struct wp_error *error)
{
	const struct wp_replay_choice *c = &r->choice;
	const char *column = r->order.column;
	int rows = PQntuples(found);
	bool has_column = rows > 0 && strcmp(PQgetvalue(found, 0, 0), "time") == 0;
	bool is_bounded = c->time_column != NULL && strcmp(column, c->time_column) == 0 &&
			  (c->since != NULL || c->until != NULL);

	if (rows == (has_column ? 1 : 0))
		return wp_error_set(
			error, WP_CONFIG,
			"table %s has no primary key, nor a unique index over columns that are NOT "
			"NULL: a replay that was interrupted could not be continued. Create one",
			r->outbox->table);
	if (has_column && r->order.may_be_null && !is_bounded)
		return wp_error_set(error, WP_CONFIG,
				    "column %.100s of table %s may be NULL, and such rows have no "
				    "place in an order by it: set it NOT NULL, or order by another "
				    "column",
				    column, r->outbox->table);
	return add_keys(r, found, has_column, error);
}

static enum wp_rc check_commit_times(struct wp_replay *r, struct wp_error *error)
{
	PGresult *answer;
	enum wp_rc rc = wp_session_query(
		&r->session, "SELECT pg_catalog.current_setting('track_commit_timestamp')", &answer,
		error);

	if (rc != WP_OK)
		return rc;
	if (strcmp(PQgetvalue(answer, 0, 0), "on") != 0)
		rc = wp_error_set(error, WP_CONFIG,
				  "--by-commit-time: the server keeps no times of commits "
				  "(track_commit_timestamp is off), and once it is on keeps those "
				  "of later commits only. Use --time-column");
	PQclear(answer);
	return rc;
}

static enum wp_rc refuse_member(const char *choice, const char *option, const char *member,
				struct wp_error *error)
{
	return wp_error_set(error, WP_CONFIG,
			    "%s: %s = %.200s is a member of a column. Use --where", choice, option,
			    member);
}

static enum wp_rc find_keys(struct wp_replay *r, struct wp_error *error)
{
	struct wp_statement statement;
	PGresult *found;

	wp_statement_begin(&statement, &r->session);
	wp_sql_add(&statement.sql, keys_sql, r->table.schema, r->table.name, r->order.column);
	enum wp_rc rc = wp_statement_ask(&statement, &found, error);
	if (rc != WP_OK)
		return rc;
	rc = take_keys(r, found, error);
	PQclear(found);
	return rc;
}

enum wp_rc wp_replay_find_outbox(struct wp_replay *r, struct wp_error *error)
{
	const struct wp_replay_choice *c = &r->choice;

	enum wp_rc rc = choose_outbox(r, error);
	if (rc == WP_OK && c->types != NULL && r->outbox->column_type[0] == '\0')
		rc = wp_error_set(error, WP_CONFIG,
				  "--type: outbox %s has no column of types (outbox.column.type)",
				  r->outbox->table);
	if (rc == WP_OK && c->types != NULL && wp_column_is_member(r->outbox->column_type))
		rc = refuse_member("--type", "outbox.column.type", r->outbox->column_type, error);
	if (rc == WP_OK && c->keys != NULL && wp_column_is_member(r->outbox->column_key))
		rc = refuse_member("--key", "outbox.column.key", r->outbox->column_key, error);
	if (rc == WP_OK && c->by_commit_time)
		rc = check_commit_times(r, error);
	if (rc == WP_OK && !c->by_commit_time)
		rc = wp_row_order_find(&r->session, &r->table,
				       c->order_by != NULL ? c->order_by : c->time_column,
				       r->outbox, &r->order, error);
	return rc == WP_OK ? find_keys(r, error) : rc;
}

/* -- the rows ------------------------------------------------------------------------------------ */

/* `list` has commas between its items. */
static void add_list(struct wp_sql *sql, const char *column, const char *list)
{
	const char *at = list;
	bool more = true;

	wp_sql_add(sql, " AND o.%I IN (", column);
	while (more) {
		size_t size = strcspn(at, ",");
		char *item = strndup(at, size);
		if (item == NULL)
			sql->rc = WP_NOMEM;
		else
			wp_sql_add(sql, "%s%L", at == list ? "" : ", ", item);
		free(item);
		more = at[size] == ',';
		at += size + 1;
	}
	wp_sql_add(sql, ")");
}

static void add_time(struct wp_sql *sql, const struct wp_replay *r, const char *comparison,
		     const char *time)
{
	if (time == NULL)
		return;
	if (r->choice.by_commit_time)
		wp_sql_add(sql, " AND " COMMIT_TIME " %s %L::timestamptz", comparison, time);
	else
		wp_sql_add(sql, " AND o.%I %s %L", r->choice.time_column, comparison, time);
}

void wp_replay_chosen_sql(struct wp_sql *sql, const struct wp_replay *r)
{
	const struct wp_replay_choice *c = &r->choice;

	wp_sql_add(sql, "FROM %I.%I o WHERE true", r->table.schema, r->table.name);
	add_time(sql, r, ">=", c->since);
	add_time(sql, r, "<", c->until);
	if (c->by_commit_time) /* nothing is known of a commit that is too old */
		wp_sql_add(sql, " AND " COMMIT_TIME " IS NOT NULL");
	if (c->ids != NULL)
		add_list(sql, r->outbox->column_id, c->ids);
	if (c->keys != NULL)
		add_list(sql, r->outbox->column_key, c->keys);
	if (c->types != NULL)
		add_list(sql, r->outbox->column_type, c->types);
	/* The condition has lines of its own, so that a comment ends there. */
	if (c->where != NULL)
		wp_sql_add(sql, " AND (\n%s\n)", c->where);
}

void wp_replay_keys_sql(struct wp_sql *sql, const struct wp_replay *r, const char *between)
{
	for (size_t i = 0; i < r->key_count; i++)
		wp_sql_add(sql, "%s%s", i > 0 ? between : "", r->keys[i]);
}

static char *copy_of(const PGresult *from, int column)
{
	return strdup(PQntuples(from) > 0 ? PQgetvalue(from, 0, column) : "");
}

/*
 * Asks for rows of one key and one value: whether there are any, how many of them have no known
 * place among the others, and one such key. Statements of one transaction are numbered in their
 * order.
 */
static void add_ties_sql(struct wp_sql *sql, const struct wp_replay *r)
{
	wp_sql_add(sql, "SELECT count(*), coalesce(sum(t.rows) FILTER (WHERE NOT t.is_known), 0), "
			"min(t.key COLLATE \"C\") FROM (SELECT ");
	wp_row_order_add_key(sql, r->outbox, "o.");
	wp_sql_add(sql, " AS key, count(*) AS rows, count(DISTINCT o.xmin::text) = 1 AND "
			"count(DISTINCT o.cmin::text) = count(*) "
			/* A DELETE that was rolled back has left its own number there. */
			"AND bool_and(o.xmax::text = '0') AS is_known ");
	wp_replay_chosen_sql(sql, r);
	wp_sql_add(sql, " AND ");
	wp_row_order_add_key(sql, r->outbox, "o.");
	wp_sql_add(sql, " IS NOT NULL GROUP BY 1");
	if (r->has_order)
		wp_sql_add(sql, ", %s", r->keys[0]);
	wp_sql_add(sql, " HAVING count(*) > 1) t");
}

const char *wp_replay_order_name(const struct wp_replay *r)
{
	return r->choice.by_commit_time ? "time of the commit" : r->order.column;
}

static enum wp_rc judge_ties(struct wp_replay *r, const PGresult *ties, struct wp_error *error)
{
	bool has_any = strcmp(PQgetvalue(ties, 0, 0), "0") != 0;

	if (has_any && !r->has_order)
		return wp_row_order_refuse(
			&r->order, r->outbox->table,
			wp_row_order_knows_key(r->outbox) ? PQgetvalue(ties, 0, 2) : NULL, error);
	wp_row_order_say_ties(wp_replay_order_name(r), r->outbox->table,
			      strtoull(PQgetvalue(ties, 0, 1), NULL, 10));
	r->choice.by_statement = has_any;
	return WP_OK;
}

enum wp_rc wp_replay_judge_order(struct wp_replay *r, struct wp_error *error)
{
	bool is_unique = r->has_order && r->key_count == 1;
	struct wp_statement statement;
	PGresult *ties;
	enum wp_rc rc = WP_OK;

	if (!r->order.is_given_up && !is_unique) {
		wp_statement_begin(&statement, &r->session);
		add_ties_sql(&statement.sql, r);
		rc = wp_statement_ask(&statement, &ties, error);
		if (rc != WP_OK)
			return rc;
		rc = judge_ties(r, ties, error);
		PQclear(ties);
	}
	/* A job keeps the order that was found for it, whatever the configuration becomes. */
	if (!r->choice.by_commit_time)
		r->choice.order_by = r->has_order ? r->order.column : WP_ROW_ORDER_NONE;
	if (rc != WP_OK || !r->choice.by_statement)
		return rc;
	while (r->key_count > 0)
		free(r->keys[--r->key_count]);
	return find_keys(r, error);
}

enum wp_rc wp_replay_count(struct wp_replay *r, struct wp_error *error)
{
	struct wp_statement statement;
	PGresult *answer;

	wp_statement_begin(&statement, &r->session);
	wp_sql_add(&statement.sql, "SELECT (SELECT count(*) ");
	wp_replay_chosen_sql(&statement.sql, r);
	wp_sql_add(&statement.sql, "), ARRAY[");
	/* The last row keeps its place as the last one when it is updated meanwhile. */
	for (size_t i = 0; i < r->key_count; i++)
		wp_sql_add(&statement.sql, "%s(%s)::text", i > 0 ? ", " : "",
			   strcmp(r->keys[i], STATEMENT) == 0 ? STATEMENT_MAX : r->keys[i]);
	wp_sql_add(&statement.sql, "] ");
	wp_replay_chosen_sql(&statement.sql, r);
	wp_sql_add(&statement.sql, " ORDER BY ");
	wp_replay_keys_sql(&statement.sql, r, " DESC, ");
	wp_sql_add(&statement.sql, " DESC LIMIT 1");
	enum wp_rc rc = wp_statement_ask(&statement, &answer, error);
	if (rc != WP_OK)
		return rc;
	r->total = PQntuples(answer) > 0 ? strtoll(PQgetvalue(answer, 0, 0), NULL, 10) : 0;
	free(r->until);
	r->until = copy_of(answer, 1);
	PQclear(answer);
	return r->until != NULL ? WP_OK : wp_error_set(error, WP_NOMEM, "out of memory");
}

/* -- the row of walpost.replay --------------------------------------------------------------------- */

static const struct {
	const char *name;
	size_t at;
} members[] = {
#define MEMBER(name_)                                            \
	{                                                        \
#name_, offsetof(struct wp_replay_choice, name_) \
	}
	MEMBER(since), MEMBER(until), MEMBER(time_column), MEMBER(order_by), MEMBER(ids),
	MEMBER(keys),  MEMBER(types), MEMBER(where),	   MEMBER(to_topic),
#undef MEMBER
};

static const char **member(struct wp_replay_choice *c, size_t i)
{
	return (const char **)(void *)((char *)c + members[i].at);
}

static json_t *choice_json(struct wp_replay_choice *c)
{
	json_t *object = json_object();

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const char *value = *member(c, i);
		if (value != NULL)
			(void)json_object_set_new(object, members[i].name, json_string(value));
	}
	if (c->by_commit_time)
		(void)json_object_set_new(object, "by_commit_time", json_true());
	if (c->by_statement)
		(void)json_object_set_new(object, "by_statement", json_true());
	return object;
}

static enum wp_rc say_rights(const struct wp_replay *r, enum wp_rc rc, struct wp_error *error)
{
	if (rc == WP_OK || strcmp(r->session.failure.sqlstate, "42501") != 0)
		return rc;
	struct wp_error inner = *error;
	return wp_error_set(
		error, WP_CONFIG,
		"%s; GRANT SELECT, INSERT, UPDATE ON walpost.replay and SELECT, INSERT, DELETE ON "
		"walpost.reissue TO the role, as sql/grants.sql does, and SELECT on the outbox",
		inner.text);
}

enum wp_rc wp_replay_create_job(struct wp_replay *r, struct wp_error *error)
{
	struct wp_statement statement;
	char total[24], name[WP_TABLE_NAME_TEXT_SIZE];
	PGresult *made;

	r->said = choice_json(&r->choice);
	char *text = r->said != NULL ? json_dumps(r->said, 0) : NULL;
	if (text == NULL)
		return wp_error_set(error, WP_CONFIG,
				    "the options cannot be recorded: they must be UTF-8");
	(void)snprintf(total, sizeof(total), "%" PRId64, r->total);
	wp_statement_begin(&statement, &r->session);
	wp_sql_add(&statement.sql,
		   "INSERT INTO walpost.replay (slot, outbox, chosen, total, until_key) VALUES "
		   "(%L, %L, %L, %s, %L) RETURNING id",
		   r->postgres.slot, wp_table_name_text(&r->table, name, sizeof(name)), text, total,
		   r->until);
	free(text);
	enum wp_rc rc = say_rights(r, wp_statement_ask(&statement, &made, error), error);
	if (rc != WP_OK)
		return rc;
	r->job = strtoll(PQgetvalue(made, 0, 0), NULL, 10);
	PQclear(made);
	r->last = strdup("");
	return r->last != NULL ? WP_OK : wp_error_set(error, WP_NOMEM, "out of memory");
}

/* --where is SQL, and perhaps another's: it is not executed unless it is given again. */
static enum wp_rc take_choice(struct wp_replay *r, struct wp_error *error)
{
	const char *given = r->choice.where;

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		*member(&r->choice, i) =
			json_string_value(json_object_get(r->said, members[i].name));
	r->choice.by_commit_time = json_is_true(json_object_get(r->said, "by_commit_time"));
	r->choice.by_statement = json_is_true(json_object_get(r->said, "by_statement"));
	const char *where = r->choice.where;
	if ((given == NULL) == (where == NULL) && (given == NULL || strcmp(given, where) == 0))
		return WP_OK;
	return where == NULL
		       ? wp_error_set(error, WP_CONFIG, "replay %" PRId64 " has no --where", r->job)
		       : wp_error_set(error, WP_CONFIG,
				      "replay %" PRId64
				      " has a condition, which is not executed unless it is given "
				      "again: --where '%.500s'",
				      r->job, where);
}

static enum wp_rc find_job(struct wp_replay *r, PGresult **ret, struct wp_error *error)
{
	struct wp_statement statement;
	char job[24];

	(void)snprintf(job, sizeof(job), "%" PRId64, r->job);
	wp_statement_begin(&statement, &r->session);
	wp_sql_add(&statement.sql,
		   "SELECT outbox, chosen, total, sent, coalesce(last_key::text, ''), "
		   "coalesce(until_key::text, ''), state, slot FROM walpost.replay WHERE id = %s",
		   job);
	enum wp_rc rc = say_rights(r, wp_statement_ask(&statement, ret, error), error);
	if (rc != WP_OK || PQntuples(*ret) == 1)
		return rc;
	PQclear(*ret);
	return wp_error_set(error, WP_CONFIG,
			    "there is no replay %" PRId64 ": `walpost replay list` shows them",
			    r->job);
}

enum wp_rc wp_replay_load_job(struct wp_replay *r, struct wp_error *error)
{
	static char outbox[WP_TABLE_NAME_TEXT_SIZE];
	PGresult *found;
	enum wp_rc rc = find_job(r, &found, error);

	if (rc != WP_OK)
		return rc;
	const char *state = PQgetvalue(found, 0, 6), *slot = PQgetvalue(found, 0, 7);
	if (strcmp(state, "running") != 0)
		rc = wp_error_set(error, WP_CONFIG, "replay %" PRId64 " is over: it is %s", r->job,
				  state);
	else if (strcmp(slot, r->postgres.slot) != 0)
		rc = wp_error_set(error, WP_CONFIG,
				  "replay %" PRId64 " is for slot %s, and not for %s", r->job, slot,
				  r->postgres.slot);
	(void)snprintf(outbox, sizeof(outbox), "%s", PQgetvalue(found, 0, 0));
	r->choice.outbox = outbox;
	r->said = json_loads(PQgetvalue(found, 0, 1), 0, NULL);
	r->total = strtoll(PQgetvalue(found, 0, 2), NULL, 10);
	r->sent = strtoll(PQgetvalue(found, 0, 3), NULL, 10);
	r->last = copy_of(found, 4);
	r->until = copy_of(found, 5);
	PQclear(found);
	if (rc == WP_OK && (r->said == NULL || r->last == NULL || r->until == NULL))
		rc = wp_error_set(error, WP_NOMEM, "out of memory for the replay");
	return rc == WP_OK ? take_choice(r, error) : rc;
}

enum wp_rc wp_replay_cancel_job(struct wp_replay *r, struct wp_error *error)
{
	struct wp_statement statement;
	char job[24];
	PGresult *found;
	enum wp_rc rc = find_job(r, &found, error);

	if (rc != WP_OK)
		return rc;
	if (strcmp(PQgetvalue(found, 0, 6), "running") != 0)
		rc = wp_error_set(error, WP_CONFIG, "replay %" PRId64 " is over: it is %s", r->job,
				  PQgetvalue(found, 0, 6));
	r->sent = strtoll(PQgetvalue(found, 0, 3), NULL, 10);
	r->total = strtoll(PQgetvalue(found, 0, 2), NULL, 10);
	PQclear(found);
	if (rc != WP_OK)
		return rc;
	(void)snprintf(job, sizeof(job), "%" PRId64, r->job);
	wp_statement_begin(&statement, &r->session);
	wp_sql_add(&statement.sql,
		   "UPDATE walpost.replay SET state = 'cancelled', updated_at = "
		   "pg_catalog.clock_timestamp() WHERE id = %s AND state = 'running'",
		   job);
	rc = say_rights(r, wp_statement_ask(&statement, &found, error), error);
	if (rc == WP_OK)
		PQclear(found);
	return rc;
}

/* -- all of them ------------------------------------------------------------------------------------ */

static const char list_sql[] =
	"SELECT id, state, slot, outbox, sent, total, chosen, to_char(created_at AT TIME ZONE "
	"'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), to_char(updated_at AT TIME ZONE 'UTC', "
	"'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), by_role, by_client FROM walpost.replay WHERE slot = %L "
	"ORDER BY id";

static json_t *job_json(const PGresult *jobs, int row)
{
	static const char *const names[] = { "id",	   "state",   "slot",	  "outbox",
					     "sent",	   "total",   "chosen",	  "created_at",
					     "updated_at", "by_role", "by_client" };
	json_t *object = json_object();

	for (int i = 0; i < (int)(sizeof(names) / sizeof(names[0])); i++) {
		const char *text = PQgetvalue(jobs, row, i);
		json_t *value = i == 0 || i == 4 || i == 5 ? json_integer(strtoll(text, NULL, 10))
				: i == 6		   ? json_loads(text, 0, NULL)
							   : json_string(text);
		(void)json_object_set_new(object, names[i], value);
	}
	return object;
}

int wp_replay_list_jobs(struct wp_replay *r)
{
	struct wp_statement statement;
	struct wp_error error;
	PGresult *jobs;

	wp_statement_begin(&statement, &r->session);
	wp_sql_add(&statement.sql, list_sql, r->postgres.slot);
	enum wp_rc rc = say_rights(r, wp_statement_ask(&statement, &jobs, &error), &error);
	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	json_t *all = json_array();
	for (int row = 0; row < PQntuples(jobs); row++) {
		if (r->json)
			(void)json_array_append_new(all, job_json(jobs, row));
		else
			wp_cli_say(stdout, "replay %s  %s  %s of %s rows of %s  %s  %s by %s\n",
				   PQgetvalue(jobs, row, 0), PQgetvalue(jobs, row, 1),
				   PQgetvalue(jobs, row, 4), PQgetvalue(jobs, row, 5),
				   PQgetvalue(jobs, row, 3), PQgetvalue(jobs, row, 6),
				   PQgetvalue(jobs, row, 7), PQgetvalue(jobs, row, 9));
	}
	char *text = r->json ? json_dumps(all, JSON_INDENT(2)) : NULL;
	if (text != NULL)
		wp_cli_say(stdout, "%s\n", text);
	else if (PQntuples(jobs) == 0)
		wp_cli_say(stdout, "slot %s: no replay is recorded\n", r->postgres.slot);
	free(text);
	json_decref(all);
	PQclear(jobs);
	return wp_cli_done();
}
