/* Finds where the event of a dead letter comes from, and sends it again through walpost.reissue. */
#include "dead_letters_retry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/display.h"
#include "walpost/outbox/origin.h"

#define REASON "dead letter"

static bool is_state(const struct wp_letters_retry *r, const char *sqlstate)
{
	return strcmp(r->session.failure.sqlstate, sqlstate) == 0;
}

static enum wp_rc ask(struct wp_letters_retry *r, PGresult **ret, struct wp_error *error,
		      const char *template, const char *a, const char *b)
{
	struct wp_statement statement;

	wp_statement_begin(&statement, &r->session);
	wp_sql_add(&statement.sql, template, a, b);
	return wp_statement_ask(&statement, ret, error);
}

/* -- whose event it was -------------------------------------------------------------- */

static const char columns_sql[] =
	"SELECT a.attname, a.attnotnull, a.atttypid = 'bytea'::regtype, a.atttypid IN "
	"('text'::regtype, 'varchar'::regtype, 'uuid'::regtype, 'int2'::regtype, 'int4'::regtype, "
	"'int8'::regtype, 'json'::regtype, 'jsonb'::regtype) OR (SELECT t.typtype = 'e' FROM "
	"pg_catalog.pg_type t WHERE t.oid = a.atttypid) FROM pg_catalog.pg_attribute a WHERE "
	"a.attrelid = %L::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum";

static enum wp_rc know_name(struct wp_letter_outbox *known, const char *name,
			    struct wp_error *error)
{
	const char *prefix = known->outbox->options->key_prefix;
	struct wp_table_name parts;

	(void)snprintf(known->name, sizeof(known->name), "%s", name);
	PQclear(known->columns);
	known->columns = NULL;
	wp_buffer_release(&known->key_prefix);
	wp_buffer_init(&known->key_prefix, WP_SQL_SIZE_MAX);
	if (prefix[0] == '\0' || wp_table_name_parse(name, &parts, NULL) != WP_OK)
		return WP_OK; /* messages have none */
	const struct wp_origin origin = { wp_span_of(parts.schema), wp_span_of(parts.name) };
	if (wp_origin_write(&known->key_prefix, prefix, &origin) != WP_OK)
		return wp_error_set(error, WP_NOMEM, "out of memory for outbox.key.prefix");
	return WP_OK;
}

/* Returns WP_DATA if there is no such table. */
static enum wp_rc find_columns(struct wp_letters_retry *r, const struct wp_outbox *outbox,
			       const char *name, struct wp_letter_outbox **ret,
			       struct wp_error *error)
{
	struct wp_letter_outbox *known = &r->known[outbox->number];

	*ret = known;
	known->outbox = outbox;
	/* For a pattern, the table of the last letter is known. */
	if (strcmp(known->name, name) != 0 && know_name(known, name, error) != WP_OK)
		return WP_NOMEM;
	if (known->columns != NULL || outbox->options->table[0] == '\0' || name[0] == '\0')
		return WP_OK;
	enum wp_rc rc = ask(r, &known->columns, error, columns_sql, name, NULL);
	if (rc != WP_OK && (is_state(r, "42P01") || is_state(r, "3F000")))
		return WP_DATA;
	return rc;
}

/* Asks for a table and those above it that it is a partition of, the nearest first. */
static const char above_sql[] =
	"WITH RECURSIVE up (oid, depth) AS (SELECT pg_catalog.to_regclass(%L)::oid, 0 UNION ALL "
	"SELECT i.inhparent, up.depth + 1 FROM up JOIN pg_catalog.pg_inherits i ON i.inhrelid = "
	"up.oid) SELECT n.nspname, c.relname FROM up JOIN pg_catalog.pg_class c ON c.oid = up.oid "
	"JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace ORDER BY up.depth";

static enum wp_rc find_above(struct wp_letters_retry *r, const char *table,
			     const struct wp_outbox **ret, char ret_name[WP_TABLE_NAME_TEXT_SIZE],
			     struct wp_error *error)
{
	PGresult *above;
	enum wp_rc rc = ask(r, &above, error, above_sql, table, NULL);

	if (rc != WP_OK)
		return rc;
	for (int row = 0; row < PQntuples(above) && (*ret == NULL || (*ret)->is_pattern); row++) {
		struct wp_table_name name;
		(void)snprintf(name.schema, sizeof(name.schema), "%s", PQgetvalue(above, row, 0));
		(void)snprintf(name.name, sizeof(name.name), "%s", PQgetvalue(above, row, 1));
		const struct wp_outbox *found = wp_outbox_set_table(
			r->outboxes, wp_span_of(name.schema), wp_span_of(name.name));
		if (found == NULL)
			continue;
		*ret = found;
		(void)wp_table_name_text(&name, ret_name, WP_TABLE_NAME_TEXT_SIZE);
	}
	PQclear(above);
	return WP_OK;
}

/*
 * For rows of a partition, a pattern has the topmost table. Returns WP_DATA with the error if the
 * letter is of none of our outboxes.
 */
static enum wp_rc find_outbox(struct wp_letters_retry *r, const struct wp_found_letter *letter,
			      const struct wp_outbox **ret, char ret_name[WP_TABLE_NAME_TEXT_SIZE],
			      struct wp_error *error)
{
	const char *prefix = wp_letter_prefix(letter);
	struct wp_table_name name;
	enum wp_rc rc = WP_OK;

	*ret = NULL;
	ret_name[0] = '\0'; /* a message is in no table */
	if (prefix != NULL) {
		*ret = wp_outbox_set_prefix(r->outboxes, wp_span_of(prefix));
	} else if (wp_table_name_parse(letter->table, &name, NULL) == WP_OK) {
		*ret = wp_outbox_set_find(r->outboxes, wp_span_of(name.schema),
					  wp_span_of(name.name));
		(void)wp_table_name_text(&name, ret_name, WP_TABLE_NAME_TEXT_SIZE);
		if (*ret == NULL || (*ret)->is_pattern)
			rc = find_above(r, letter->table, ret, ret_name, error);
	}
	if (rc == WP_OK && *ret != NULL && !(*ret)->is_pattern)
		(void)snprintf(ret_name, WP_TABLE_NAME_TEXT_SIZE, "%s", (*ret)->name);
	if (rc != WP_OK || *ret != NULL)
		return rc;
	if (strstr(letter->table, " -> ") != NULL)
		return wp_error_set(error, WP_DATA,
				    "it is of a replay to another topic (%s): replay its row "
				    "again, with walpost replay --id and --to-topic",
				    letter->table);
	return wp_error_set(error, WP_DATA,
			    "%s%s is not of an outbox of this configuration: retry it with the "
			    "configuration of its relay",
			    prefix == NULL ? "table " : "", letter->table);
}

/* A topic may hold the letters of several relays, and a table the same ids. */
static enum wp_rc check_relay(const struct wp_outbox *outbox, const struct wp_found_letter *letter,
			      struct wp_error *error)
{
	const char *ours = outbox->options->headers_source;

	if (ours[0] == '\0' || letter->source == NULL || strcmp(ours, letter->source) == 0)
		return WP_OK;
	return wp_error_set(error, WP_DATA,
			    "its header walpost-source is %s, and outbox.headers.source is %s: it "
			    "is the letter of another relay",
			    letter->source, ours);
}

/* -- its row -------------------------------------------------------------------------- */

/* Is the key that the letter has the text of the column? */
static bool knows_key(const struct wp_letter_outbox *outbox, const struct wp_found_letter *letter)
{
	const struct wp_outbox_options *o = outbox->outbox->options;
	int column = wp_letter_column(outbox, o->column_key);

	return o->key_format == WP_FORM_RAW && column >= 0 && !letter->is_bare &&
	       letter->key != NULL && !letter->key_is_cut && wp_letter_is_text(outbox, column) &&
	       strstr(letter->reason, " has no column \"") == NULL;
}

static enum wp_rc explain_lookup(const struct wp_letters_retry *r, const char *table, enum wp_rc rc,
				 const struct wp_error *inner, struct wp_error *error)
{
	if (is_state(r, "42501"))
		return wp_error_set(error, WP_CONFIG,
				    "table %s: %s; retry reads the table, unlike a relay: GRANT "
				    "SELECT ON %s TO its role",
				    table, inner->text, table);
	/* These are errors of syntax, of names, and of values that are not of the column's type. */
	if (strncmp(r->session.failure.sqlstate, "42", 2) == 0 ||
	    strncmp(r->session.failure.sqlstate, "22", 2) == 0)
		return wp_error_set(error, WP_DATA, "table %s: %s", table, inner->text);
	return wp_error_set(error, rc, "table %s: %s", table, inner->text);
}

static enum wp_rc ask_rows(struct wp_letters_retry *r, const struct wp_letter_outbox *outbox,
			   const char *table, const struct wp_found_letter *letter, PGresult **ret,
			   struct wp_error *error)
{
	const struct wp_outbox_options *o = outbox->outbox->options;
	bool has_fallback = wp_letter_column(outbox, o->column_key_fallback) >= 0;
	struct wp_statement statement;
	struct wp_error inner;

	wp_statement_begin(&statement, &r->session);
	wp_sql_add(&statement.sql, "SELECT ");
	if (knows_key(outbox, letter) && has_fallback)
		wp_sql_add(&statement.sql,
			   "CASE WHEN %I IS NULL THEN pg_catalog.format('%%s', %I) ELSE "
			   "pg_catalog.format('%%s', %I) END",
			   o->column_key, o->column_key_fallback, o->column_key);
	else if (knows_key(outbox, letter))
		wp_sql_add(&statement.sql, "pg_catalog.format('%%s', %I)", o->column_key);
	else
		wp_sql_add(&statement.sql, "NULL");
	wp_sql_add(&statement.sql, " FROM %s WHERE %I = %L LIMIT 2", table, o->column_id,
		   letter->id);
	enum wp_rc rc = wp_statement_ask(&statement, ret, &inner);
	return rc == WP_OK ? rc : explain_lookup(r, table, rc, &inner, error);
}

/* Is the letter's row in the table? Returns WP_DATA with the error if that is in doubt. */
static enum wp_rc look_in(struct wp_letters_retry *r, const struct wp_letter_outbox *outbox,
			  const char *table, const struct wp_found_letter *letter, bool *ret,
			  struct wp_error *error)
{
	PGresult *rows;
	struct wp_excerpt one, other;
	enum wp_rc rc = ask_rows(r, outbox, table, letter, &rows, error);

	if (rc != WP_OK)
		return rc;
	int count = PQntuples(rows);
	*ret = count == 1;
	if (count > 1)
		rc = wp_error_set(error, WP_DATA, "table %s has more than one row with this id",
				  table);
	else if (count == 1 && knows_key(outbox, letter) &&
		 !wp_span_is(wp_letter_key(outbox, wp_span_of(letter->key)),
			     PQgetvalue(rows, 0, 0)))
		rc = wp_error_set(error, WP_DATA,
				  "the row of table %s with this id has key \"%s\", and the letter "
				  "\"%s\": it is another event, or was changed",
				  table, wp_excerpt(&one, wp_span_of(PQgetvalue(rows, 0, 0))),
				  wp_excerpt(&other, wp_span_of(letter->key)));
	PQclear(rows);
	return rc;
}

static enum wp_rc exists(struct wp_letters_retry *r, const char *table, bool *ret,
			 struct wp_error *error)
{
	PGresult *found;
	enum wp_rc rc =
		ask(r, &found, error, "SELECT pg_catalog.to_regclass(%L) IS NOT NULL", table, NULL);

	if (rc != WP_OK)
		return rc;
	*ret = *PQgetvalue(found, 0, 0) == 't';
	PQclear(found);
	return WP_OK;
}

/* Writes the table that the row is in, or "" if it is gone. A leaf may stand alone by now. */
static enum wp_rc look_for_row(struct wp_letters_retry *r, const struct wp_letter_outbox *outbox,
			       const struct wp_found_letter *letter,
			       char ret[WP_TABLE_NAME_TEXT_SIZE], struct wp_error *error)
{
	const char *const tables[] = { outbox->name, letter->table };
	bool is_there = false;

	ret[0] = '\0';
	if (letter->id == NULL)
		return wp_error_set(error, WP_DATA,
				    "it has no id: its row cannot be found, and would be refused");
	if (letter->id_is_cut)
		return wp_error_set(error, WP_DATA,
				    "its id is longer than what is kept of it: its row cannot be "
				    "found");
	for (size_t i = 0; i < 2 && !is_there; i++) {
		bool found = false;
		if (i == 1 && strcmp(tables[0], tables[1]) == 0)
			break;
		enum wp_rc rc = exists(r, tables[i], &found, error);
		if (rc == WP_OK && found)
			rc = look_in(r, outbox, tables[i], letter, &is_there, error);
		if (rc != WP_OK)
			return rc;
		if (is_there)
			(void)snprintf(ret, WP_TABLE_NAME_TEXT_SIZE, "%s", tables[i]);
	}
	return WP_OK;
}

/* -- one letter ----------------------------------------------------------------------- */

static enum wp_rc make_text(struct wp_letters_retry *r, const struct wp_letter_outbox *outbox,
			    const struct wp_found_letter *letter,
			    const struct wp_letter_content *content, struct wp_error *error)
{
	struct wp_sql sql;
	struct wp_error inner;

	wp_buffer_empty(&r->text, 0);
	if (wp_letter_prefix(letter) != NULL)
		return wp_letter_rebuild_message(outbox->outbox, letter, content,
						 wp_server_encoding(wp_session_pg(&r->session)),
						 &r->text, error);
	wp_sql_init(&sql, wp_session_pg(&r->session), &r->text);
	enum wp_rc rc = wp_letter_rebuild_row(outbox, letter, content, &sql, &inner);
	if (rc == WP_OK)
		rc = wp_sql_end(&sql, &inner);
	if (rc == WP_OK)
		return rc;
	if (rc == WP_CONFIG) /* a text is not in the connection's encoding */
		rc = WP_DATA;
	return wp_error_set(error, rc, "its row is gone from %s, and %s", outbox->name, inner.text);
}

enum wp_rc wp_retry_plan(struct wp_letters_retry *r, size_t index,
			 const struct wp_letter_outbox **ret_outbox,
			 struct wp_retry_outcome *outcome, struct wp_error *error)
{
	const struct wp_found_letter *letter = &r->letters->items[index];
	struct wp_letter_outbox *outbox = NULL;
	char name[WP_TABLE_NAME_TEXT_SIZE];
	const struct wp_outbox *found;

	enum wp_rc rc = find_outbox(r, letter, &found, name, error);
	if (rc == WP_OK)
		rc = check_relay(found, letter, error);
	if (rc == WP_OK)
		rc = find_columns(r, found, name, &outbox, error);
	if (rc == WP_OK && wp_letter_prefix(letter) == NULL)
		rc = look_for_row(r, outbox, letter, outcome->table, error);
	if (rc != WP_OK)
		return rc;
	*ret_outbox = outbox;
	outcome->source = outcome->table[0] != '\0' ? WP_FROM_ROW : WP_FROM_LETTER;
	if (outcome->source == WP_FROM_ROW || r->contents == NULL)
		return WP_OK;
	return make_text(r, outbox, letter, &r->contents[index], error);
}

static enum wp_rc do_it(struct wp_letters_retry *r, struct wp_sql *sql, struct wp_buffer *text,
			int *ret_rows, struct wp_error *error)
{
	PGresult *result;
	enum wp_rc rc = wp_sql_end(sql, error);

	if (rc == WP_OK)
		rc = wp_session_query(&r->session, (const char *)text->data, &result, error);
	wp_buffer_release(text);
	if (rc != WP_OK)
		return rc;
	*ret_rows = PQntuples(result);
	PQclear(result);
	return WP_OK;
}

/* If no row comes back, another has sent the event meanwhile. */
static enum wp_rc mark(struct wp_letters_retry *r, const struct wp_letter_outbox *outbox,
		       const struct wp_found_letter *letter, int *ret_rows, struct wp_error *error)
{
	static const char again[] =
		"DO UPDATE SET times = r.times + 1, at = pg_catalog.clock_timestamp(), by_role = "
		"session_user, by_client = "
		"coalesce(pg_catalog.host(pg_catalog.inet_client_addr()), 'local'), partition = "
		"excluded.partition, \"offset\" = excluded.\"offset\"";
	struct wp_buffer text;
	struct wp_sql sql;
	char partition[16], offset[24];

	(void)snprintf(partition, sizeof(partition), "%d", (int)letter->partition);
	(void)snprintf(offset, sizeof(offset), "%lld", (long long)letter->offset);
	wp_buffer_init(&text, WP_SQL_SIZE_MAX);
	wp_sql_init(&sql, wp_session_pg(&r->session), &text);
	wp_sql_add(&sql,
		   "INSERT INTO walpost.dead_letters_retried AS r (slot, topic, position, "
		   "partition, \"offset\", outbox, id) VALUES (%L, %L, %L, %s, %s, %L, ",
		   wp_retry_slot(r), r->letters->topic, letter->position, partition, offset,
		   wp_letter_prefix(letter) != NULL ? wp_letter_prefix(letter) : outbox->name);
	wp_sql_add(&sql, letter->id == NULL ? "NULL" : "%L", letter->id);
	wp_sql_add(&sql, ") ON CONFLICT (slot, topic, position) %s RETURNING true",
		   r->options->again ? again : "DO NOTHING");
	return do_it(r, &sql, &text, ret_rows, error);
}

static enum wp_rc add_content(struct wp_sql *sql, struct wp_span content, struct wp_error *error)
{
	size_t size;
	unsigned char *escaped = PQescapeByteaConn(sql->pg, content.data, content.size, &size);

	if (escaped == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for a message");
	wp_sql_add(sql, "'%s'::bytea", (const char *)escaped);
	PQfreemem(escaped);
	return WP_OK;
}

/* The answer has one row for each event that was sent. */
static enum wp_rc reissue(struct wp_letters_retry *r, const struct wp_letter_outbox *outbox,
			  const struct wp_found_letter *letter,
			  const struct wp_retry_outcome *outcome, int *ret_rows,
			  struct wp_error *error)
{
	const char *prefix = wp_letter_prefix(letter);
	enum wp_rc rc = WP_OK;
	struct wp_buffer text;
	struct wp_sql sql;

	wp_buffer_init(&text, WP_RETRY_SQL_MAX);
	wp_sql_init(&sql, wp_session_pg(&r->session), &text);
	if (prefix != NULL) {
		wp_sql_add(&sql, "SELECT walpost.reissue_message(%L, %L, ", wp_retry_slot(r),
			   prefix);
		rc = add_content(&sql, wp_buffer_span(&r->text), error);
	} else {
		wp_sql_add(&sql, "SELECT walpost.reissue(%L, %L::regclass, ", wp_retry_slot(r),
			   outbox->name);
		wp_sql_add(&sql, "%s",
			   outcome->source == WP_FROM_ROW ? "o" : (const char *)r->text.data);
	}
	wp_sql_add(&sql, ", '" REASON "', %L)", letter->position);
	if (outcome->source == WP_FROM_ROW)
		wp_sql_add(&sql, " FROM %s o WHERE o.%I = %L", outcome->table,
			   outbox->outbox->options->column_id, letter->id);
	if (rc == WP_OK)
		return do_it(r, &sql, &text, ret_rows, error);
	wp_buffer_release(&text);
	return rc;
}

/* A failure that holds for all letters ends the command; any other refuses this letter. */
static enum wp_rc judge_failure(const struct wp_letters_retry *r, enum wp_rc rc,
				struct wp_error *error)
{
	const char *state = r->session.failure.sqlstate;
	struct wp_error inner = *error;

	if (strcmp(state, "42501") == 0)
		return wp_error_set(error, WP_CONFIG,
				    "%s; GRANT SELECT, INSERT, DELETE ON walpost.reissue TO its "
				    "role, and SELECT, INSERT, UPDATE ON "
				    "walpost.dead_letters_retried, as sql/grants.sql does",
				    inner.text);
	if (strcmp(state, "42883") == 0 || strcmp(state, "42P01") == 0 ||
	    strcmp(state, "42703") == 0)
		return wp_error_set(error, WP_CONFIG,
				    "%s: create what is missing with walpost init, or run "
				    "sql/reissue.sql",
				    inner.text);
	/* These are errors of values, constraints and limits. */
	bool is_its_own = strncmp(state, "22", 2) == 0 || strncmp(state, "23", 2) == 0 ||
			  strncmp(state, "42", 2) == 0 || strncmp(state, "54", 2) == 0;
	return is_its_own ? WP_DATA : rc;
}

/* Sends in one transaction, and waits for no synchronous standby, because the relay may be one. */
enum wp_rc wp_retry_send(struct wp_letters_retry *r, const struct wp_letter_outbox *outbox,
			 const struct wp_found_letter *letter, struct wp_retry_outcome *outcome,
			 struct wp_error *error)
{
	struct wp_error ignored;
	int marked = 0, sent = 0;

	enum wp_rc rc =
		wp_session_do(&r->session, "BEGIN; SET LOCAL synchronous_commit = 'local'", error);
	if (rc == WP_OK)
		rc = mark(r, outbox, letter, &marked, error);
	if (rc == WP_OK && marked == 1)
		rc = reissue(r, outbox, letter, outcome, &sent, error);
	if (rc == WP_OK && sent == 1)
		return wp_session_do(&r->session, "COMMIT", error);
	if (rc != WP_OK)
		rc = judge_failure(r, rc, error);
	enum wp_rc ended = wp_session_do(&r->session, "ROLLBACK", &ignored);
	if (rc == WP_OK && ended != WP_OK)
		return wp_error_set(error, ended, "%s", ignored.text);
	if (rc != WP_OK)
		return rc;
	if (marked == 1)
		return wp_error_set(error, WP_DATA,
				    "its row was deleted meanwhile: run the command again");
	outcome->result = WP_RETRY_PASSED_OVER;
	(void)wp_error_set(&outcome->why, WP_OK, "it was sent again meanwhile, by another");
	return WP_OK;
}
