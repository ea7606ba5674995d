/*
 * Turns a letter back into the row that it was made of, column by column, and only for shapes in
 * which each column that is used stands in the record as Postgres prints it.
 */
#include "dead_letters_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/outbox/route.h"
#include "walpost/values/moment.h"

#define COLUMN "walpost-dead-letter-column-"

/* -- the table's columns ---------------------------------------------------------------------- */

int wp_letter_column(const struct wp_letter_outbox *outbox, const char *name)
{
	int count = outbox->columns == NULL ? 0 : PQntuples(outbox->columns);

	for (int i = 0; i < count; i++) {
		if (strcmp(PQgetvalue(outbox->columns, i, WP_COLUMN_NAME), name) == 0)
			return i;
	}
	return -1;
}

/* A key without the prefix was sent by another configuration. */
struct wp_span wp_letter_key(const struct wp_letter_outbox *outbox, struct wp_span key)
{
	struct wp_span prefix = wp_buffer_span(&outbox->key_prefix);

	if (prefix.size == 0 || key.size < prefix.size ||
	    memcmp(key.data, prefix.data, prefix.size) != 0)
		return key;
	return (struct wp_span){ key.data + prefix.size, key.size - prefix.size };
}

static bool is(const struct wp_letter_outbox *outbox, int column, enum wp_letter_column what)
{
	return *PQgetvalue(outbox->columns, column, (int)what) == 't';
}

bool wp_letter_is_text(const struct wp_letter_outbox *outbox, int column)
{
	return outbox->outbox->options->types == WP_RENDERING_POSTGRES ||
	       is(outbox, column, WP_COLUMN_IS_PLAIN);
}

static bool names_repeat(const struct wp_letter_content *content)
{
	for (size_t i = 0; i < content->header_count; i++) {
		for (size_t k = 0; k < i; k++) {
			if (wp_span_equal(content->headers[i].name, content->headers[k].name))
				return true;
		}
	}
	return false;
}

/* -- rows ---------------------------------------------------------------------------- */

struct cell {
	bool is_known;
	struct wp_span value; /* with a NUL behind its end */
};

struct row {
	const struct wp_letter_outbox *outbox;
	const struct wp_outbox_options *options;
	const struct wp_found_letter *letter;
	const struct wp_letter_content *content;
	struct wp_letter_headers listed;
	struct cell *cells; /* owned; of each column */
	char timestamp[48];
	char route[WP_TOPIC_SIZE];
	struct wp_buffer json; /* of headers */
	struct wp_error *error;
};

static enum wp_rc refuse(struct row *r, const char *option, const char *value)
{
	return wp_error_set(r->error, WP_DATA,
			    "the letter does not hold the row whole: %s = %.200s", option, value);
}

/* A column that the table does not have is passed over. */
static enum wp_rc set_cell(struct row *r, const char *column, struct wp_span value)
{
	int index = wp_letter_is_set(column) ? wp_letter_column(r->outbox, column) : -1;

	if (index < 0)
		return WP_OK;
	struct cell *cell = &r->cells[index];
	if (cell->is_known && !wp_span_equal(cell->value, value))
		return wp_error_set(r->error, WP_DATA,
				    "two parts of the letter give different values for column "
				    "\"%s\"",
				    column);
	if (wp_span_is_null(value) && is(r->outbox, index, WP_COLUMN_NOT_NULL))
		return wp_error_set(r->error, WP_DATA,
				    "the letter has no value for column \"%s\", which is NOT NULL",
				    column);
	*cell = (struct cell){ .is_known = true, .value = value };
	return WP_OK;
}

/* Sets a column that was rendered as the record wants it. */
static enum wp_rc set_text(struct row *r, const char *column, struct wp_span value)
{
	int index = wp_letter_is_set(column) ? wp_letter_column(r->outbox, column) : -1;

	if (index >= 0 && !wp_letter_is_text(r->outbox, index))
		return wp_error_set(r->error, WP_DATA,
				    "the letter does not hold the row whole: outbox.types = "
				    "debezium, and column \"%s\" is not written as Postgres prints "
				    "it",
				    column);
	return set_cell(r, column, value);
}

/* If the record has only a member of a column, the rest of that column is nowhere. */
static enum wp_rc check_members(struct row *r)
{
	const struct wp_outbox_options *o = r->options;
	const struct {
		const char *option;
		const char *value;
	} columns[] = {
		{ "outbox.column.payload", o->column_payload },
		{ "outbox.column.key", o->column_key },
		{ "outbox.column.key.fallback", o->column_key_fallback },
		{ "outbox.column.type", o->column_type },
		{ "outbox.route.by", o->route_by },
		{ "outbox.headers.json", o->headers_json },
		{ "outbox.headers", o->headers },
	};

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		if (wp_column_is_member(columns[i].value))
			return refuse(r, columns[i].option, columns[i].value);
	}
	return WP_OK;
}

static enum wp_rc check_shape(struct row *r)
{
	const struct wp_outbox_options *o = r->options;

	enum wp_rc rc = check_members(r);
	if (rc != WP_OK)
		return rc;
	if (o->envelope != WP_ENVELOPE_RAW)
		return refuse(r, "outbox.envelope", wp_letter_envelope(o->envelope));
	if (o->value_format != WP_FORM_RAW)
		return refuse(r, "outbox.value.format", wp_letter_form(o->value_format));
	if (o->key_format != WP_FORM_RAW)
		return refuse(r, "outbox.key.format", wp_letter_form(o->key_format));
	if (o->headers_format != WP_FORM_RAW && o->headers_format != WP_FORM_STRING)
		return refuse(r, "outbox.headers.format", wp_letter_form(o->headers_format));
	if (wp_letter_is_set(o->confluent_schemas))
		return refuse(r, "outbox.confluent.schemas", o->confluent_schemas);
	if (wp_letter_is_set(o->registry.url))
		return refuse(r, "outbox.schema.registry", o->registry.url);
	if (wp_letter_is_set(o->debezium_schema_version))
		return refuse(r, "outbox.debezium.schema.version", o->debezium_schema_version);
	return WP_OK;
}

static enum wp_rc check_letter(struct row *r)
{
	if (r->content->headers == NULL)
		return wp_error_set(r->error, WP_DATA,
				    "there is no room for the letter: more than %d MiB of letters "
				    "would have to be kept; run the command again for the rest",
				    WP_LETTERS_CONTENT_MAX >> 20);
	if (r->letter->omitted != NULL)
		return wp_error_set(r->error, WP_DATA,
				    "the letter does not hold the row whole: omitted is %s",
				    r->letter->omitted);
	/* A null part of the letter may be the column that was not there (outbox/table.c). */
	if (strstr(r->letter->reason, " has no column \"") != NULL)
		return wp_error_set(r->error, WP_DATA,
				    "the letter does not hold the row whole: its table lacked a "
				    "column");
	if (names_repeat(r->content))
		return wp_error_set(r->error, WP_DATA,
				    "two headers of the letter have the same name");
	return WP_OK;
}

/* A column that could not be made part of the record stands in the letter as it was in the row. */
static enum wp_rc set_leftover(struct row *r)
{
	const struct wp_outbox_options *o = r->options;
	const char *const roles[] = { o->route_by, o->column_timestamp, o->column_partition,
				      o->headers_properties, o->headers_json };
	enum wp_rc rc = WP_OK;

	for (size_t i = 0; i < r->content->header_count && rc == WP_OK; i++) {
		const struct wp_header *h = &r->content->headers[i];
		bool is_role = false;
		if (!wp_letter_begins(h->name, COLUMN))
			continue;
		const char *column = (const char *)h->name.data + strlen(COLUMN);
		for (size_t role = 0; role < sizeof(roles) / sizeof(roles[0]); role++)
			is_role |= strcmp(roles[role], column) == 0;
		if (!is_role || wp_letter_column(r->outbox, column) < 0)
			return wp_error_set(r->error, WP_DATA,
					    "the configuration has changed: the letter has column "
					    "\"%s\"",
					    column);
		rc = set_cell(r, column, h->value);
	}
	return rc;
}

static bool is_known(const struct row *r, const char *column)
{
	int index = wp_letter_is_set(column) ? wp_letter_column(r->outbox, column) : -1;

	return index >= 0 && r->cells[index].is_known;
}

static bool is_there(const struct row *r, const char *column)
{
	return wp_letter_is_set(column) && wp_letter_column(r->outbox, column) >= 0;
}

static enum wp_rc set_route(struct row *r)
{
	const char *topic = r->letter->topic;
	const struct wp_outbox_options *o = r->options;

	if (!is_there(r, o->route_by) || is_known(r, o->route_by))
		return WP_OK;
	if (topic == NULL)
		return wp_error_set(r->error, WP_DATA,
				    "the letter names no topic, and has no value for column \"%s\" "
				    "(outbox.route.by)",
				    o->route_by);
	struct wp_span route = wp_letter_route(r->outbox->outbox, topic);
	if (wp_span_is_null(route))
		return wp_error_set(r->error, WP_DATA,
				    "the value of column \"%s\" (outbox.route.by) cannot be "
				    "derived from topic %s: outbox.topic.replacement = %.200s",
				    o->route_by, topic, o->topic_replacement);
	(void)snprintf(r->route, sizeof(r->route), "%.*s", (int)route.size,
		       (const char *)route.data);
	return set_cell(r, o->route_by, wp_span_of(r->route));
}

static enum wp_rc set_headers(struct row *r)
{
	const struct wp_header *type = wp_letter_header(r->content, "type");
	enum wp_rc rc = WP_OK;

	if (r->listed.sends_type && is_there(r, r->options->column_type)) {
		if (type == NULL)
			return wp_error_set(r->error, WP_DATA, "the letter has no header type");
		rc = set_text(r, r->options->column_type, type->value);
	}
	for (size_t i = 0; i < r->listed.list.count && rc == WP_OK; i++) {
		const struct wp_listed_column *listed = &r->listed.list.items[i];
		const struct wp_header *h = wp_letter_header(r->content, listed->name);
		if (!is_there(r, listed->column))
			continue;
		if (h == NULL)
			return wp_error_set(r->error, WP_DATA,
					    "the letter has no header %s, which outbox.headers "
					    "takes from column \"%s\"",
					    listed->name, listed->column);
		rc = set_text(r, listed->column, h->value);
	}
	return rc;
}

/* Strings give the same headers as numbers and booleans did. */
static enum wp_rc set_data_headers(struct row *r)
{
	const struct wp_outbox_options *o = r->options;
	size_t count;

	if (is_known(r, o->headers_json) || is_known(r, o->headers_properties))
		return WP_OK;
	enum wp_rc rc = wp_letter_data_headers(o, &r->listed, r->content, &r->json, &count);
	if (rc == WP_OK)
		rc = wp_buffer_append_byte(&r->json, '\0');
	if (rc != WP_OK)
		return wp_error_set(r->error, WP_NOMEM,
				    "out of memory for the headers of a letter");
	if (count == 0)
		return WP_OK;
	if (wp_letter_is_set(o->headers_properties))
		return refuse(r, "outbox.headers.properties", o->headers_properties);
	if (!is_there(r, o->headers_json))
		return wp_error_set(r->error, WP_DATA,
				    "the configuration has changed: the letter has headers of "
				    "which it says nothing");
	struct wp_span json = wp_buffer_span(&r->json);
	json.size--;
	return set_cell(r, o->headers_json, json);
}

/* Writes the time as an integer of milliseconds, or as a time that Postgres reads. */
static enum wp_rc write_timestamp(struct row *r, int64_t ms)
{
	struct wp_buffer text;
	int index = wp_letter_column(r->outbox, r->options->column_timestamp);

	if (is(r->outbox, index, WP_COLUMN_IS_PLAIN)) {
		(void)snprintf(r->timestamp, sizeof(r->timestamp), "%lld", (long long)ms);
		return WP_OK;
	}
	wp_buffer_init(&text, sizeof(r->timestamp) - 1);
	enum wp_rc rc = wp_moment_write_iso(&text, ms * 1000, 3);
	if (rc == WP_OK)
		(void)snprintf(r->timestamp, sizeof(r->timestamp), "%.*s", (int)text.size,
			       (const char *)text.data);
	wp_buffer_release(&text);
	return rc == WP_OK ? rc : wp_error_set(r->error, rc, "a timestamp is too long");
}

static enum wp_rc set_timestamp(struct row *r)
{
	const char *column = r->options->column_timestamp;
	const struct wp_header *h = wp_letter_header(r->content, WP_LETTER_TIMESTAMP);
	char *end = NULL;

	if (!is_there(r, column) || is_known(r, column))
		return WP_OK;
	if (h == NULL || wp_span_is_null(h->value))
		return wp_error_set(r->error, WP_DATA,
				    "the letter has no header " WP_LETTER_TIMESTAMP);
	int64_t ms = strtoll((const char *)h->value.data, &end, 10);
	enum wp_rc rc = write_timestamp(r, ms);
	return rc == WP_OK ? set_cell(r, column, wp_span_of(r->timestamp)) : rc;
}

/* The letter has the bytes of a bytea. */
static enum wp_rc set_payload(struct row *r)
{
	const char *column = r->options->column_payload;
	int index = wp_letter_column(r->outbox, column);

	if (index >= 0 && is(r->outbox, index, WP_COLUMN_IS_BYTEA))
		return set_cell(r, column, r->content->value);
	return set_text(r, column, r->content->value);
}

static enum wp_rc set_all(struct row *r)
{
	const struct wp_outbox_options *o = r->options;
	enum wp_rc rc = set_leftover(r);

	if (rc == WP_OK && is_there(r, o->column_partition) && !is_known(r, o->column_partition))
		rc = refuse(r, "outbox.column.partition", o->column_partition);
	if (rc == WP_OK)
		rc = set_cell(r, o->column_id, wp_span_of(r->letter->id));
	if (rc == WP_OK)
		rc = set_text(r, o->column_key, wp_letter_key(r->outbox, r->content->key));
	if (rc == WP_OK)
		rc = set_payload(r);
	if (rc == WP_OK)
		rc = set_route(r);
	if (rc == WP_OK)
		rc = set_headers(r);
	if (rc == WP_OK)
		rc = set_data_headers(r);
	return rc == WP_OK ? set_timestamp(r) : rc;
}

static enum wp_rc add_hex(struct wp_sql *sql, struct wp_span bytes, struct wp_error *error)
{
	static const char digits[] = "0123456789abcdef";
	char *hex = malloc(bytes.size * 2 + 1);

	if (hex == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for a payload");
	for (size_t i = 0; i < bytes.size; i++) {
		hex[2 * i] = digits[bytes.data[i] >> 4];
		hex[2 * i + 1] = digits[bytes.data[i] & 15];
	}
	hex[2 * bytes.size] = '\0';
	wp_sql_add(sql, "pg_catalog.decode('%s', 'hex')", hex);
	free(hex);
	return WP_OK;
}

static enum wp_rc write_row(struct row *r, struct wp_sql *sql)
{
	enum wp_rc rc = WP_OK;

	wp_sql_add(sql, "ROW(");
	for (int i = 0; i < PQntuples(r->outbox->columns) && rc == WP_OK; i++) {
		struct wp_span value = r->cells[i].value;
		bool is_payload = strcmp(PQgetvalue(r->outbox->columns, i, WP_COLUMN_NAME),
					 r->options->column_payload) == 0;
		wp_sql_add(sql, "%s", i > 0 ? ", " : "");
		if (wp_span_is_null(value))
			wp_sql_add(sql, "NULL");
		else if (is_payload && is(r->outbox, i, WP_COLUMN_IS_BYTEA))
			rc = add_hex(sql, value, r->error);
		else if (memchr(value.data, '\0', value.size) != NULL)
			rc = wp_error_set(r->error, WP_DATA,
					  "the letter has a zero byte in a text");
		else
			wp_sql_add(sql, "%L", (const char *)value.data);
	}
	wp_sql_add(sql, ")::%s", r->outbox->name);
	return rc;
}

enum wp_rc wp_letter_rebuild_row(const struct wp_letter_outbox *outbox,
				 const struct wp_found_letter *letter,
				 const struct wp_letter_content *content, struct wp_sql *sql,
				 struct wp_error *error)
{
	static struct row r; /* static because it is large; there is one at a time */
	size_t columns = (size_t)PQntuples(outbox->columns);

	r.outbox = outbox;
	r.options = outbox->outbox->options;
	r.letter = letter;
	r.content = content;
	r.error = error;
	r.cells = calloc(columns + 1, sizeof(*r.cells));
	if (r.cells == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for a row");
	wp_buffer_init(&r.json, WP_LETTER_TEXT_MAX);
	enum wp_rc rc = wp_letter_headers_init(r.options, &r.listed, error);
	if (rc == WP_OK)
		rc = check_letter(&r);
	if (rc == WP_OK)
		rc = check_shape(&r);
	if (rc == WP_OK)
		rc = set_all(&r);
	if (rc == WP_OK)
		rc = write_row(&r, sql);
	wp_buffer_release(&r.json);
	free(r.cells);
	return rc;
}
