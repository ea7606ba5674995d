/*
 * Reads the rows of the outboxes' tables for `walpost diff` and `walpost backfill`, and makes the
 * records that would be sent for them.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/cli/cli.h"
#include "walpost/cli/diff.h"
#include "walpost/cli/outbox.h"
#include "walpost/base/display.h"
#include "walpost/outbox/drop.h"
#include "walpost/outbox/outboxes.h"
#include "walpost/outbox/shape.h"
#include "walpost/outbox/table.h"
#include "walpost/postgres/sql.h"
#include "walpost/run/requirements.h"

enum {
	FETCH_FIRST = 16,
	FETCH_MAX = 1024,
	FETCH_SMALL = 512 * 1024, /* bytes of a batch: then the next may be larger */
	FETCH_LARGE = 4 * 1024 * 1024,
	COLUMNS_MAX = 1600, /* Postgres's own limit */
};

/* This is all that is needed while rows are read. It is large, and there is one. */
struct rows {
	struct wp_diff *diff;
	struct wp_session session;
	struct wp_requirements_outboxes wanted;
	struct wp_column_facts facts;
	struct wp_outbox_set *outboxes;
	struct wp_buffer texts; /* of binary values, of which there are none here */
	struct wp_diff_topic *last_topic;

	/* These belong to the table that is read: */
	size_t outbox;
	size_t table; /* of diff->tables */
	struct wp_relations *relations;
	struct wp_mapping *mapping;
	struct wp_column columns[COLUMNS_MAX];
	size_t column_count;
	int result_column[COLUMNS_MAX]; /* of each of the table's; -1: not asked for */
	int place_column;		/* with a snapshot: the first of three, behind all others */
	struct wp_value values[COLUMNS_MAX];
	PGresult *catalog; /* owned: what it says of the columns */
};

/* The catalog answers with a row for each column; what is the table's is in each row. */
enum catalog_column {
	CATALOG_NAME,
	CATALOG_TYPE,
	CATALOG_TYPE_NAME,
	CATALOG_TYPE_SCHEMA,
	CATALOG_IDENTITY_IS_FULL,
	CATALOG_SCHEMA, /* quoted */
	CATALOG_MAY_USE_SCHEMA,
};

static enum wp_rc finish_and_ask(struct rows *r, struct wp_sql *sql, struct wp_buffer *text,
				 PGresult **ret, struct wp_error *error)
{
	enum wp_rc rc = wp_sql_end(sql, error);
	if (rc == WP_OK)
		rc = wp_session_query(&r->session, (const char *)text->data, ret, error);
	wp_buffer_release(text);
	return rc;
}

static void begin_sql(struct rows *r, struct wp_sql *sql, struct wp_buffer *text)
{
	wp_buffer_init(text, WP_SQL_SIZE_MAX * 4);
	wp_sql_init(sql, wp_session_pg(&r->session), text);
}

static const struct wp_outbox_options *options_of(const struct rows *r)
{
	return &r->diff->outboxes.items[r->outbox];
}

static struct wp_diff_table *table_of(const struct rows *r)
{
	return &r->diff->tables[r->table];
}

/* The set has all outboxes that are configured. */
static const struct wp_outbox *outbox_of(const struct rows *r)
{
	return wp_outbox_set_at(r->outboxes,
				(size_t)(options_of(r) - r->diff->config.outboxes.items));
}

/* -- the table's columns ------------------------------------------------------ */

static enum wp_rc ask_columns(struct rows *r, const struct wp_requirements_table *table,
			      struct wp_error *error)
{
	static const char question[] =
		"SELECT a.attname, a.atttypid, t.typname, s.nspname, c.relreplident = 'f',\n"
		"  pg_catalog.quote_ident(n.nspname),\n"
		"  pg_catalog.has_schema_privilege(n.oid, 'USAGE')\n"
		"FROM pg_catalog.pg_class c\n"
		"JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace\n"
		"JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid\n"
		"JOIN pg_catalog.pg_type t ON t.oid = a.atttypid\n"
		"JOIN pg_catalog.pg_namespace s ON s.oid = t.typnamespace\n"
		/* A planner that knows nothing of many tables of that name would look at each. */
		"WHERE c.relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = "
		"%L)\n"
		"  AND c.relname = %L AND a.attnum > 0 AND NOT a.attisdropped\n"
		"ORDER BY a.attnum";
	struct wp_buffer text;
	struct wp_sql sql;

	begin_sql(r, &sql, &text);
	wp_sql_add(&sql, question, table->schema, table->name);
	PQclear(r->catalog);
	r->catalog = NULL;
	enum wp_rc rc = finish_and_ask(r, &sql, &text, &r->catalog, error);
	if (rc != WP_OK)
		return rc;
	if (PQntuples(r->catalog) == 0)
		return wp_error_set(error, WP_CONFIG, "there is no table %s (outbox.table)",
				    table_of(r)->name);
	assert(PQntuples(r->catalog) <= COLUMNS_MAX);
	r->column_count = (size_t)PQntuples(r->catalog);
	return WP_OK;
}

static const char *catalog_value(const struct rows *r, size_t column, enum catalog_column which)
{
	return PQgetvalue(r->catalog, (int)column, (int)which);
}

static const char *column_name(const struct rows *r, size_t column)
{
	return catalog_value(r, column, CATALOG_NAME);
}

/* Columns that need not be there are read if they are. */
static bool is_named(const struct wp_requirements_table *table, const char *column)
{
	for (size_t i = 0; i < table->all_count; i++) {
		if (strcmp(table->columns[i], column) == 0)
			return true;
	}
	return false;
}

static bool has_column(const struct rows *r, const char *column)
{
	for (size_t i = 0; i < r->column_count; i++) {
		if (strcmp(column_name(r, i), column) == 0)
			return true;
	}
	return false;
}

/* -- the cursor --------------------------------------------------------------- */

/* A question that is wrong, or not allowed, is a matter of configuration. */
static enum wp_rc explain(const struct rows *r, enum wp_rc rc, const struct wp_error *inner,
			  struct wp_error *error)
{
	const char *state = r->session.failure.sqlstate;
	const char *table = table_of(r)->name;
	const char *schema = catalog_value(r, 0, CATALOG_SCHEMA);
	/* The session says it, too, where the server's messages are in English. */
	bool may_use_schema = *catalog_value(r, 0, CATALOG_MAY_USE_SCHEMA) == 't' ||
			      strstr(inner->text, "GRANT USAGE") != NULL;

	bool is_backfill = r->diff->reading.snapshot != NULL;
	if (strcmp(state, "42501") == 0 && r->session.failure.row_security)
		return wp_error_set(error, WP_CONFIG, "table %s: %s", table, inner->text);
	if (strcmp(state, "42501") == 0)
		return wp_error_set(error, WP_CONFIG,
				    "table %s: %s; walpost %s reads the table, unlike a relay: "
				    "GRANT %s%s%sSELECT ON %s TO its role",
				    table, inner->text, is_backfill ? "backfill" : "diff",
				    may_use_schema ? "" : "USAGE ON SCHEMA ",
				    may_use_schema ? "" : schema,
				    may_use_schema ? "" : " TO its role, and GRANT ", table);
	if (strncmp(state, "42", 2) == 0 && r->diff->options.where != NULL)
		return wp_error_set(error, WP_CONFIG, "table %s, --where: %s", table, inner->text);
	return wp_error_set(error, rc, "table %s: %s", table, inner->text);
}

/* The id stands outside the subquery, where it could be taken for a column of walpost.parked. */
static void add_not_parked(struct rows *r, struct wp_sql *sql)
{
	const char *id = options_of(r)->column_id;

	wp_sql_add(sql,
		   " AND (%I IS NULL OR (%I)::text NOT IN (SELECT p.id FROM walpost.parked p WHERE "
		   "p.slot = %L AND p.outbox = %L AND p.id IS NOT NULL))",
		   id, id, r->diff->reading.parked,
		   outbox_of(r)->is_pattern ? table_of(r)->name : outbox_of(r)->name);
}

/* No column of a table can have such names. */
static void add_place(struct rows *r, struct wp_sql *sql)
{
	const char *column = table_of(r)->order.column;

	if (column[0] != '\0')
		wp_sql_add(sql, ", %I::text AS cmax", column);
	else
		wp_sql_add(sql, ", '' AS cmax");
	/* A DELETE that was rolled back has left its own number in cmin. */
	wp_sql_add(sql, ", xmin::text AS xmin, CASE WHEN xmax::text = '0' THEN cmin::text ELSE '' "
			"END AS cmin");
}

/*
 * Rows of one key and one value follow one another, so that each can be compared with the one
 * before. A snapshot has one version of each row: ctid tells the rest apart, the same in each
 * reading.
 */
static void add_order(struct rows *r, struct wp_sql *sql)
{
	const struct wp_row_order *order = &table_of(r)->order;

	wp_sql_add(sql, " ORDER BY ");
	if (order->column[0] != '\0')
		wp_sql_add(sql, "%I, ", order->column);
	if (!order->is_given_up) {
		wp_row_order_add_key(sql, options_of(r), "");
		wp_sql_add(sql, " COLLATE \"C\", ");
	}
	if (order->column[0] != '\0')
		wp_sql_add(sql, WP_ROW_ORDER_STATEMENT ", ");
	wp_sql_add(sql, "tableoid, ctid");
}

static void add_rows(struct rows *r, struct wp_sql *sql, const struct wp_requirements_table *table)
{
	wp_sql_add(sql, " FROM %I.%I", table->schema, table->name);
	if (r->diff->options.where != NULL) /* on a line of its own: it may end with a comment */
		wp_sql_add(sql, " WHERE (%s\n)", r->diff->options.where);
	else
		wp_sql_add(sql, " WHERE true");
	if (r->diff->reading.parked != NULL)
		add_not_parked(r, sql);
}

/* Asks for one row more than the limit, to tell whether there are more. */
static enum wp_rc declare(struct rows *r, const struct wp_requirements_table *table,
			  struct wp_error *error)
{
	const struct wp_diff_options *options = &r->diff->options;
	const char *by = options_of(r)->column_timestamp;
	const char *comma = "";
	struct wp_buffer text;
	struct wp_sql sql;
	struct wp_error inner;
	PGresult *result;
	char limit[24];

	r->place_column = 0;
	begin_sql(r, &sql, &text);
	wp_sql_add(&sql, "DECLARE compared NO SCROLL CURSOR FOR SELECT ");
	for (size_t i = 0; i < r->column_count; i++) {
		r->result_column[i] = -1;
		if (!is_named(table, column_name(r, i)))
			continue;
		wp_sql_add(&sql, "%s%I", comma, column_name(r, i));
		comma = ", ";
		r->place_column++;
	}
	if (r->diff->reading.snapshot != NULL)
		add_place(r, &sql);
	add_rows(r, &sql, table);
	if (r->diff->reading.snapshot != NULL) {
		add_order(r, &sql);
	} else {
		table_of(r)->is_ordered = by[0] != '\0' && has_column(r, by);
		if (table_of(r)->is_ordered)
			wp_sql_add(&sql, " ORDER BY %I DESC NULLS LAST", by);
	}
	(void)snprintf(limit, sizeof(limit), "%lld", (long long)options->limit + 1);
	wp_sql_add(&sql, " LIMIT %s", limit);
	enum wp_rc rc = finish_and_ask(r, &sql, &text, &result, &inner);
	if (rc != WP_OK)
		return explain(r, rc, &inner, error);
	PQclear(result);
	return WP_OK;
}

/* A result tells a domain's base type: so do the facts, then. */
static void look_through_domains(struct wp_column_facts *facts)
{
	for (size_t i = 0; i < facts->count; i++) {
		struct wp_column_fact *column = &facts->items[i];
		const struct wp_type_fact *type = wp_column_facts_type(facts, column->type_oid);
		if (type == NULL)
			continue;
		column->type_oid = type->base_oid;
		column->is_not_null |= type->is_not_null;
	}
}

static enum wp_rc know_columns(struct rows *r, const struct wp_requirements_table *table,
			       struct wp_error *error)
{
	const struct wp_requirements wanted = { .tables = table, .count = 1 };
	enum wp_transfer text; /* as ever in SQL */

	enum wp_rc rc =
		wp_cli_find_columns(&r->session, &wanted, WP_BINARY_OFF, &r->facts, &text, error);
	if (rc != WP_OK)
		return rc;
	look_through_domains(&r->facts);
	wp_relations_free(r->relations);
	r->relations = NULL;
	rc = wp_relations_new(WP_COLUMN_FACTS_MAX, NULL, &r->relations);
	if (rc == WP_OK)
		rc = wp_relations_put_facts(r->relations, &r->facts);
	return rc == WP_OK ? rc : wp_error_set(error, rc, "out of memory for the columns' types");
}

/* -- from a row to what is expected ------------------------------------------- */

/* Names types for people, as the stream does; a domain is looked through, and its name with it. */
static enum wp_rc name_types(struct rows *r)
{
	enum wp_rc rc = WP_OK;

	for (size_t i = 0; i < r->column_count && rc == WP_OK; i++) {
		const uint32_t oid = r->columns[i].type_oid;
		const struct wp_change change = {
			.kind = WP_CHANGE_TYPE,
			.as.type = {
				.oid = oid,
				.schema = wp_span_of(catalog_value(r, i, CATALOG_TYPE_SCHEMA)),
				.name = wp_span_of(catalog_value(r, i, CATALOG_TYPE_NAME)),
			},
		};
		if (oid >= WP_USER_OID_MIN &&
		    oid == strtoul(catalog_value(r, i, CATALOG_TYPE), NULL, 10))
			rc = wp_relations_put_type(r->relations, &change);
	}
	return rc;
}

/* Maps the table as the stream would have announced it; domains go by what lies under them. */
static enum wp_rc make_mapping(struct rows *r, const PGresult *result,
			       const struct wp_requirements_table *table, struct wp_error *error)
{
	struct wp_relation *relation = NULL;

	for (size_t i = 0; i < r->column_count; i++) {
		int at = -1;
		for (int field = 0; field < PQnfields(result) && at < 0; field++)
			at = strcmp(PQfname(result, field), column_name(r, i)) == 0 ? field : -1;
		r->result_column[i] = at;
		r->columns[i] = (struct wp_column){
			.name = wp_span_of(column_name(r, i)),
			.type_oid = at < 0 ? 0 : PQftype(result, at),
			.type_modifier = at < 0 ? -1 : PQfmod(result, at),
			.is_key = *catalog_value(r, i, CATALOG_IDENTITY_IS_FULL) == 't',
		};
	}
	enum wp_rc rc = know_columns(r, table, error);
	if (rc != WP_OK)
		return rc;
	rc = name_types(r);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "out of memory for the names of types");
	const struct wp_change change = {
		.kind = WP_CHANGE_RELATION,
		.as.relation = {
			.oid = 1,
			.schema = wp_span_of(table->schema),
			.name = wp_span_of(table->name),
			.columns = r->columns,
			.column_count = r->column_count,
		},
	};
	rc = wp_relations_put(r->relations, &change, &relation);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "out of memory for the columns of a table");
	const struct wp_mapping_setup setup = {
		.options = options_of(r),
		.relation = relation,
		.types = r->relations,
		.facts = &r->facts,
		.table = 0, /* as know_columns() asked */
		.origin = { wp_span_of(table->schema), wp_span_of(table->name) },
		.columns = WP_COLUMNS_ALL,
		.transfer = WP_TRANSFER_TEXT,
	};
	return wp_mapping_new(&setup, &r->mapping, error);
}

static void note_unmade(struct rows *r, const struct wp_event *event, const struct wp_error *error)
{
	struct wp_diff *d = r->diff;
	struct wp_excerpt id;

	if (d->unmade_count < (uint64_t)d->options.shown_max) {
		struct wp_diff_unmade *unmade = &d->unmade[d->unmade_count];
		unmade->table = r->table;
		unmade->error = *error;
		(void)snprintf(unmade->id, sizeof(unmade->id), "%s", wp_excerpt(&id, event->id));
	}
	d->unmade_count++;
}

static enum wp_rc add_topic(struct rows *r, struct wp_span name, struct wp_error *error)
{
	struct wp_diff *d = r->diff;

	if (d->topic_count == WP_DIFF_TOPICS_MAX)
		return wp_error_set(error, WP_FULL,
				    "the rows go to more than %d topics: compare fewer, with "
				    "--outbox, --where or --limit",
				    WP_DIFF_TOPICS_MAX);
	struct wp_diff_topic *topic = &d->topics[d->topic_count];
	enum wp_rc rc = wp_topic_reader_add(d->reader, name, &topic->partitions, error);
	if (rc != WP_OK)
		return rc;
	(void)snprintf(topic->name, sizeof(topic->name), "%s", (const char *)name.data);
	d->topic_count++;
	r->last_topic = topic;
	return WP_OK;
}

static enum wp_rc find_topic(struct rows *r, struct wp_span name, struct wp_error *error)
{
	if (r->last_topic != NULL && wp_span_is(name, r->last_topic->name))
		return WP_OK;
	for (size_t i = 0; i < r->diff->topic_count; i++) {
		r->last_topic = &r->diff->topics[i];
		if (wp_span_is(name, r->last_topic->name))
			return WP_OK;
	}
	return add_topic(r, name, error);
}

static void place(const struct wp_diff *d, int32_t partitions, struct wp_record *record)
{
	if (record->partition != WP_PARTITION_BY_KEY || partitions == 0 ||
	    !wp_placement_is_by_key(d->placement, record->key))
		return;
	record->partition = wp_placement_of(d->placement, record->key, partitions, 0);
}

/* Returns what of the record follows from the commit, of which a table knows nothing. */
static unsigned unknown_of(struct rows *r, const struct wp_event *event)
{
	struct wp_diff_table *table = table_of(r);
	enum wp_envelope envelope = options_of(r)->envelope;

	if (envelope == WP_ENVELOPE_PROTOBUF) {
		table->value_is_unknown = true;
		return WP_UNKNOWN_VALUE;
	}
	if (envelope == WP_ENVELOPE_RAW || !wp_span_is_null(event->timestamp))
		return 0;
	if (envelope == WP_ENVELOPE_CLOUDEVENTS_BINARY) {
		table->time_is_unknown = true;
		return WP_UNKNOWN_TIME;
	}
	table->value_is_unknown = true;
	return WP_UNKNOWN_VALUE;
}

static enum wp_rc expect(struct rows *r, const struct wp_event *event, struct wp_record *record,
			 struct wp_error *error)
{
	enum wp_rc rc = find_topic(r, record->topic, error);
	if (rc != WP_OK)
		return rc;
	if (wp_span_is_null(event->timestamp))
		record->timestamp_ms = WP_TIMESTAMP_NOW;
	else
		table_of(r)->timestamp_is_known = true;
	place(r->diff, r->last_topic->partitions, record);
	rc = wp_matching_expect(r->diff->matching, r->table, record, unknown_of(r, event));
	if (rc == WP_FULL) {
		r->diff->is_full = true;
		return WP_OK;
	}
	if (rc != WP_OK)
		return wp_error_set(error, rc, "out of memory for the comparison");
	r->last_topic->rows++;
	return WP_OK;
}

static void read_values(struct rows *r, const PGresult *result, int row)
{
	for (size_t i = 0; i < r->column_count; i++) {
		int column = r->result_column[i];
		r->values[i] = (struct wp_value){ .kind = WP_VALUE_NULL };
		if (column < 0 || PQgetisnull(result, row, column))
			continue;
		r->values[i].kind = WP_VALUE_TEXT;
		r->values[i].bytes = (struct wp_span){
			.data = (const uint8_t *)PQgetvalue(result, row, column),
			.size = (size_t)PQgetlength(result, row, column),
		};
	}
}

/* Is the event one that the relay does not send, or may not have sent? */
static bool is_dropped(const struct rows *r, const struct wp_event *event, enum wp_rc rc)
{
	enum wp_drop drop = WP_DROP_NOT;
	struct wp_error unread;
	/* A row that is read more than once is judged alike each time. */
	int64_t now_us = r->diff->reading.commit_time_us;

	if (now_us == 0)
		now_us = wp_cli_now_us();
	if (rc == WP_OK || rc == WP_DATA)
		(void)!wp_drop_judge(options_of(r), event, rc != WP_OK, now_us, &drop, &unread);
	return drop != WP_DROP_NOT;
}

/* `rc` is what reading the row gave; if that failed, as much of the record is made as can be. */
static enum wp_rc make_record(struct rows *r, enum wp_rc rc, const struct wp_event *event,
			      struct wp_record *ret, struct wp_error *reason)
{
	enum wp_rc made =
		wp_shape_record(outbox_of(r)->shape, event, ret, rc == WP_OK ? reason : NULL);

	return made != WP_OK && (rc == WP_OK || made != WP_DATA) ? made : rc;
}

static enum wp_rc take_row(struct rows *r, const PGresult *result, int row, struct wp_error *error)
{
	struct wp_tuple tuple = { .values = r->values, .count = r->column_count };
	struct wp_event event = { .table = "" };
	struct wp_record record;
	struct wp_error reason;

	read_values(r, result, row);
	enum wp_rc rc = wp_mapping_event(r->mapping, &tuple, &r->texts, &event, &reason);
	if (is_dropped(r, &event, rc)) {
		table_of(r)->dropped++;
		return WP_OK;
	}
	event.position = r->diff->reading.position;
	event.commit_time_us = r->diff->reading.commit_time_us;
	if (rc == WP_OK || (rc == WP_DATA && r->diff->reading.take != NULL))
		rc = make_record(r, rc, &event, &record, &reason);
	if (r->diff->reading.take != NULL && (rc == WP_OK || rc == WP_DATA)) {
		r->diff->reading.position.ordinal++;
		r->diff->reading.table = r->table;
		r->diff->reading.outbox = r->outbox;
		r->diff->reading.place = (struct wp_diff_place){
			.value = PQgetisnull(result, row, r->place_column)
					 ? NULL
					 : PQgetvalue(result, row, r->place_column),
			.transaction = PQgetvalue(result, row, r->place_column + 1),
			.statement = PQgetvalue(result, row, r->place_column + 2),
		};
		wp_shape_leftover(outbox_of(r)->shape, &event, &record);
		return r->diff->reading.take(r->diff->reading.arg, &event, &record, rc, &reason,
					     error);
	}
	if (rc == WP_DATA) {
		note_unmade(r, &event, &reason);
		return WP_OK;
	}
	if (rc != WP_OK)
		return wp_error_set(error, rc, "%s", reason.text);
	return expect(r, &event, &record, error);
}

/* -- all rows ----------------------------------------------------------------- */

static size_t size_of(const PGresult *result)
{
	size_t size = 0;

	for (int row = 0; row < PQntuples(result); row++) {
		for (int column = 0; column < PQnfields(result); column++)
			size += (size_t)PQgetlength(result, row, column);
	}
	return size;
}

static int next_count(int count, size_t size)
{
	if (size < FETCH_SMALL && count < FETCH_MAX)
		return count * 2;
	return size > FETCH_LARGE && count > 1 ? count / 2 : count;
}

static enum wp_rc take_rows(struct rows *r, const PGresult *result, struct wp_error *error)
{
	struct wp_diff *d = r->diff;
	struct wp_diff_table *table = table_of(r);
	enum wp_rc rc = WP_OK;

	for (int row = 0; row < PQntuples(result) && rc == WP_OK && !d->is_full; row++) {
		if (table->rows == (uint64_t)d->options.limit) {
			table->is_limited = true;
			return WP_OK;
		}
		rc = take_row(r, result, row, error);
		table->rows += d->is_full ? 0 : 1;
	}
	wp_cli_say_progress("%s: %llu rows read", table->name, (unsigned long long)table->rows);
	return rc;
}

/* The first batch also tells of which types the columns are. */
static enum wp_rc fetch_all(struct rows *r, const struct wp_requirements_table *table,
			    struct wp_error *error)
{
	int count = FETCH_FIRST;
	bool more = true;
	enum wp_rc rc = WP_OK;

	while (rc == WP_OK && more && !r->diff->is_full) {
		char sql[48];
		PGresult *result;
		struct wp_error inner;
		(void)snprintf(sql, sizeof(sql), "FETCH %d FROM compared", count);
		rc = wp_session_query(&r->session, sql, &result, &inner);
		if (rc != WP_OK)
			return explain(r, rc, &inner, error);
		if (r->mapping == NULL && (PQntuples(result) > 0 || !outbox_of(r)->is_pattern))
			rc = make_mapping(r, result, table, error);
		if (rc == WP_OK)
			rc = take_rows(r, result, error);
		more = PQntuples(result) == count;
		count = next_count(count, size_of(result));
		PQclear(result);
	}
	return rc;
}

/* Returns what the outbox asks of its table, or of each that fits its pattern. */
static struct wp_requirements_table requirements_of(const struct rows *r)
{
	struct wp_requirements_table table = r->wanted.tables[table_of(r)->wanted];

	table.schema = table_of(r)->table.schema;
	table.name = table_of(r)->table.name;
	table.is_pattern = false;
	return table;
}

static enum wp_rc read_table(struct rows *r, struct wp_error *error)
{
	r->outbox = table_of(r)->outbox;
	const struct wp_requirements_table table = requirements_of(r);

	wp_mapping_free(r->mapping);
	r->mapping = NULL;
	enum wp_rc rc = ask_columns(r, &table, error);
	if (rc == WP_OK && r->diff->reading.snapshot != NULL)
		rc = wp_row_order_find(&r->session, &table_of(r)->table, r->diff->reading.order_by,
				       options_of(r), &table_of(r)->order, error);
	if (rc == WP_OK)
		rc = declare(r, &table, error);
	if (rc == WP_OK)
		rc = fetch_all(r, &table, error);
	if (rc == WP_OK)
		rc = wp_session_do(&r->session, "CLOSE compared", error);
	return rc;
}

/* Counts the rows of a table that were not read. */
static enum wp_rc count_left_off(struct rows *r, struct wp_error *error)
{
	r->outbox = table_of(r)->outbox;
	const struct wp_requirements_table table = requirements_of(r);
	struct wp_buffer text;
	struct wp_sql sql;
	PGresult *result;

	begin_sql(r, &sql, &text);
	wp_sql_add(&sql, "SELECT pg_catalog.count(*)");
	add_rows(r, &sql, &table);
	enum wp_rc rc = finish_and_ask(r, &sql, &text, &result, error);
	if (rc != WP_OK)
		return rc;
	uint64_t count = strtoull(PQgetvalue(result, 0, 0), NULL, 10);
	table_of(r)->left_off = count > table_of(r)->rows ? count - table_of(r)->rows : 0;
	r->diff->left_off += table_of(r)->left_off;
	PQclear(result);
	return WP_OK;
}

static enum wp_rc count_all_left_off(struct rows *r, struct wp_error *error)
{
	struct wp_diff *d = r->diff;
	enum wp_rc rc = WP_OK;

	for (size_t i = 0; i < d->table_count && rc == WP_OK; i++) {
		r->table = i;
		if (d->tables[i].is_limited || d->is_full)
			rc = count_left_off(r, error);
	}
	return rc;
}

static enum wp_rc read_tables(struct rows *r, struct wp_error *error)
{
	struct wp_diff *d = r->diff;

	enum wp_rc rc = wp_diff_find_tables(d, &r->session, &r->wanted.wanted, r->outboxes, error);
	for (size_t i = 0; i < d->table_count && rc == WP_OK && !d->is_full; i++) {
		r->table = i;
		rc = read_table(r, error);
	}
	return rc == WP_OK && d->reading.take == NULL ? count_all_left_off(r, error) : rc;
}

static enum wp_rc prepare(struct rows *r, struct wp_error *error)
{
	struct wp_outboxes all = r->diff->outboxes; /* with what they share */

	all.items = r->diff->config.outboxes.items;
	all.count = r->diff->config.outboxes.count;
	wp_buffer_init(&r->texts, 0);
	enum wp_rc rc = wp_requirements_outboxes_init(&r->wanted, &r->diff->outboxes, error);
	if (rc == WP_OK && r->wanted.wanted.count == 0)
		rc = wp_error_set(error, WP_CONFIG,
				  "no outbox has a table: logical messages exist only in the WAL "
				  "and cannot be compared");
	if (rc == WP_OK)
		rc = wp_outbox_set_new(&all, wp_cli_record_max(&r->diff->config), &r->outboxes,
				       error);
	return rc;
}

static enum wp_rc take_snapshot(struct rows *r, struct wp_error *error)
{
	struct wp_statement statement;
	PGresult *done;

	wp_statement_begin(&statement, &r->session);
	wp_sql_add(&statement.sql, "SET TRANSACTION SNAPSHOT %L", r->diff->reading.snapshot);
	enum wp_rc rc = wp_statement_ask(&statement, &done, error);
	if (rc == WP_OK)
		PQclear(done);
	return rc;
}

/* The rows are those of one moment of the database, and nothing can be written. */
static enum wp_rc read_all(struct rows *r, struct wp_error *error)
{
	enum wp_rc rc = wp_session_open(&r->session, &r->diff->console, &r->diff->config.postgres,
					WP_CONNECTION_SQL, error);
	if (rc == WP_OK)
		rc = wp_session_do(&r->session,
				   "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", error);
	if (rc == WP_OK)
		rc = wp_session_do(&r->session,
				   "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",
				   error);
	if (rc == WP_OK && r->diff->reading.snapshot != NULL)
		rc = take_snapshot(r, error);
	return rc == WP_OK ? read_tables(r, error) : rc;
}

static void release(struct rows *r)
{
	PQclear(r->catalog);
	wp_session_release(&r->session);
	wp_mapping_free(r->mapping);
	wp_relations_free(r->relations);
	wp_outbox_set_free(r->outboxes);
	wp_requirements_outboxes_release(&r->wanted);
	wp_buffer_release(&r->texts);
	free(r);
}

enum wp_rc wp_diff_read_rows(struct wp_diff *d, struct wp_error *error)
{
	struct rows *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for reading rows");
	r->diff = d;
	enum wp_rc rc = prepare(r, error);
	if (rc == WP_OK)
		rc = read_all(r, error);
	release(r);
	return rc;
}
