#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/outbox/binary.h"
#include "walpost/outbox/columns.h"
#include "walpost/outbox/excerpt.h"
#include "walpost/outbox/names.h"
#include "walpost/outbox/table.h"

#define NO_COLUMN SIZE_MAX
#define COLUMNS_SHOWN_SIZE 512 /* of the list in a sentence */

struct mapped {
	size_t index; /* in the row, or NO_COLUMN */
	enum wp_type type;
	enum wp_type element; /* of an array */
};

struct mapped_header {
	struct wp_span name; /* NUL-terminated */
	struct mapped column;
};

/* One allocation, for a partitioned table may have thousands of leaves: the
 * struct, its headers, then all texts. */
struct wp_mapping {
	size_t column_count; /* of the relation */
	enum wp_transfer transfer;
	struct mapped id;
	struct mapped key;
	struct mapped type; /* perhaps none */
	struct mapped payload;
	struct mapped route;
	enum wp_key_null key_null;
	struct wp_why *missing; /* owned: no row of this can be an event; NULL: none is missing */
	/* For messages. */
	const char *table;
	const char *id_name;
	const char *key_name;
	const char *route_name;
	size_t header_count;
	struct mapped_header headers[];
};

static void copy_name(char to[WP_NAME_SIZE], const char *from)
{
	(void)snprintf(to, WP_NAME_SIZE, "%s", from); /* cut: it is for messages only */
}

static void name_table(const struct wp_relation *relation, char text[WP_TABLE_NAME_TEXT_SIZE])
{
	struct wp_table_name name;

	copy_name(name.schema, (const char *)relation->schema.data);
	copy_name(name.name, (const char *)relation->name.data);
	(void)wp_table_name_text(&name, text, WP_TABLE_NAME_TEXT_SIZE);
}

/* "a, b, c" or, if there are too many, "a, b and 70 more". */
static void list_columns(const struct wp_relation *relation, char text[COLUMNS_SHOWN_SIZE])
{
	size_t at = 0;
	size_t room = COLUMNS_SHOWN_SIZE - sizeof(" and 1234 more");

	text[0] = '\0';
	for (size_t i = 0; i < relation->column_count; i++) {
		struct wp_excerpt name;
		const char *shown = wp_excerpt(&name, relation->columns[i].name);
		if (at + strlen(shown) + 2 > room) {
			(void)snprintf(text + at, COLUMNS_SHOWN_SIZE - at, " and %zu more",
				       relation->column_count - i);
			return;
		}
		at += (size_t)snprintf(text + at, room - at, "%s%s", i == 0 ? "" : ", ", shown);
	}
}

/* The first column that is missing or unfit, and the option that asked for it. */
struct lookup {
	const struct wp_relation *relation;
	const struct wp_relations *types;
	enum wp_transfer transfer;
	const char *column; /* NULL: all were found */
	const char *option;
	uint32_t unfit_type; /* 0: it is missing */
};

/* Without a missing column an event may still be set aside; not without knowing its types. */
static void complain(struct lookup *l, const char *column, const char *option, uint32_t type)
{
	if (l->column != NULL && (type == 0 || l->unfit_type != 0))
		return;
	l->column = column;
	l->option = option;
	l->unfit_type = type;
}

static struct mapped look_up(struct lookup *l, const char *column, const char *option)
{
	int index = wp_relation_column(l->relation, wp_span_of(column));

	if (index < 0) {
		complain(l, column, option, 0);
		return (struct mapped){ .index = NO_COLUMN };
	}
	uint32_t oid = l->relation->columns[index].type_oid;
	enum wp_type type = wp_relations_type(l->types, oid);
	if (l->transfer == WP_TRANSFER_BINARY && type == WP_TYPE_OTHER)
		complain(l, column, option, oid);
	return (struct mapped){
		.index = (size_t)index,
		.type = type,
		.element = wp_relations_element(l->types, oid),
	};
}

static enum wp_rc say_missing(const struct lookup *l, const char *table, struct wp_why *why)
{
	char columns[COLUMNS_SHOWN_SIZE];
	struct wp_excerpt name;

	list_columns(l->relation, columns);
	return wp_why_set(why, WP_CONFIG,
			  "table %s has no column \"%s\" (%s); it has: %s; set %s or restore the "
			  "column, in the publication too if that has a column list",
			  table, wp_excerpt(&name, wp_span_of(l->column)), l->option, columns,
			  l->option);
}

struct type_text {
	char text[32];
};

/* What people may have in a column has its name here; of others SQL tells it. */
static struct type_text type_text(uint32_t oid)
{
	static const struct {
		uint32_t oid;
		const char *name;
	} names[] = {
		{ 26, "oid" },	      { 142, "xml" },	     { 600, "point" },	 { 650, "cidr" },
		{ 774, "macaddr8" },  { 790, "money" },	     { 829, "macaddr" }, { 869, "inet" },
		{ 1186, "interval" }, { 1266, "timetz" },    { 1560, "bit" },	 { 1562, "varbit" },
		{ 3614, "tsvector" }, { 3910, "tstzrange" },
	};
	struct type_text t;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].oid == oid) {
			(void)snprintf(t.text, sizeof(t.text), "%s", names[i].name);
			return t;
		}
	}
	(void)snprintf(t.text, sizeof(t.text), "%" PRIu32 "::regtype", oid);
	return t;
}

static enum wp_rc say_unfit(const struct lookup *l, const char *table, struct wp_why *why)
{
	struct wp_excerpt name;

	return wp_why_set(why, WP_CONFIG,
			  "table %s: column \"%s\" (%s) is of type %s, which is not read in "
			  "binary; " WP_TYPES_KNOWN " are: set postgres.binary = off",
			  table, wp_excerpt(&name, wp_span_of(l->column)), l->option,
			  type_text(l->unfit_type).text);
}

static enum wp_rc map_columns(struct wp_mapping *m, const struct wp_outbox_options *options,
			      const struct wp_header_columns *headers, struct lookup *l,
			      struct wp_why *why)
{
	m->id = look_up(l, options->column_id, "outbox.column.id");
	m->key = look_up(l, options->column_key, "outbox.column.key");
	m->type = (struct mapped){ .index = NO_COLUMN };
	if (options->column_type[0] != '\0')
		m->type = look_up(l, options->column_type, "outbox.column.type");
	m->payload = look_up(l, options->column_payload, "outbox.column.payload");
	m->route = look_up(l, options->route_by, "outbox.route.by");
	for (size_t i = 0; i < headers->count; i++)
		m->headers[i].column = look_up(l, headers->items[i].column, "outbox.headers");
	if (l->column == NULL)
		return WP_OK;
	return l->unfit_type == 0 ? say_missing(l, m->table, why) : say_unfit(l, m->table, why);
}

static struct wp_span copy_text(char **room, const char *text)
{
	size_t size = strlen(text);
	char *copy = memcpy(*room, text, size + 1);

	*room += size + 1;
	return (struct wp_span){ .data = (const uint8_t *)copy, .size = size };
}

static struct wp_mapping *new_mapping(const struct wp_outbox_options *options,
				      const struct wp_header_columns *headers, const char *table)
{
	size_t headers_size = headers->count * sizeof(struct mapped_header);
	size_t texts_size = strlen(table) + strlen(options->column_id) +
			    strlen(options->column_key) + strlen(options->route_by) + 4;
	for (size_t i = 0; i < headers->count; i++)
		texts_size += strlen(headers->items[i].name) + 1;

	struct wp_mapping *m = calloc(1, sizeof(*m) + headers_size + texts_size);
	if (m == NULL)
		return NULL;
	char *room = (char *)m->headers + headers_size;
	m->table = (const char *)copy_text(&room, table).data;
	m->id_name = (const char *)copy_text(&room, options->column_id).data;
	m->key_name = (const char *)copy_text(&room, options->column_key).data;
	m->route_name = (const char *)copy_text(&room, options->route_by).data;
	m->header_count = headers->count;
	for (size_t i = 0; i < headers->count; i++)
		m->headers[i].name = copy_text(&room, headers->items[i].name);
	return m;
}

static enum wp_rc keep_missing(struct wp_mapping *m, const struct wp_why *missing,
			       struct wp_why *why)
{
	m->missing = malloc(sizeof(*m->missing));
	if (m->missing == NULL)
		return wp_why_set(why, WP_NOMEM, "no memory for the columns of table %s", m->table);
	*m->missing = *missing;
	return WP_OK;
}

enum wp_rc wp_mapping_new(const struct wp_outbox_options *options,
			  const struct wp_relation *relation, const struct wp_relations *types,
			  enum wp_columns columns, enum wp_transfer transfer,
			  struct wp_mapping **ret, struct wp_why *why)
{
	struct lookup l = { .relation = relation, .types = types, .transfer = transfer };
	struct wp_header_columns headers;
	char table[WP_TABLE_NAME_TEXT_SIZE];

	enum wp_rc rc = wp_header_columns_parse(options->headers, &headers, why);
	if (rc != WP_OK)
		return rc;
	name_table(relation, table);
	struct wp_mapping *m = new_mapping(options, &headers, table);
	if (m == NULL)
		return wp_why_set(why, WP_NOMEM, "no memory for the columns of table %s", table);
	struct wp_why missing;
	rc = map_columns(m, options, &headers, &l, &missing);
	if (rc != WP_OK && columns == WP_COLUMNS_KNOWN && l.unfit_type == 0)
		rc = keep_missing(m, &missing, why);
	else if (rc != WP_OK)
		rc = wp_why_set(why, rc, "%s", missing.text);
	if (rc != WP_OK) {
		free(m);
		return rc;
	}
	m->column_count = relation->column_count;
	m->transfer = transfer;
	m->key_null = options->key_null;
	*ret = m;
	return WP_OK;
}

void wp_mapping_free(struct wp_mapping *m)
{
	if (m == NULL)
		return;
	free(m->missing);
	free(m);
}

/* A row's values by meaning, with sticky marks for what cannot be read. */
struct picker {
	const struct wp_mapping *mapping;
	const struct wp_tuple *row;
	struct wp_buffer *texts;
	bool bad;     /* a value in a form that was not asked for */
	bool unknown; /* a binary form that we do not know */
};

static const struct wp_value *value_of(const struct wp_tuple *row, const struct mapped *column)
{
	static const struct wp_value none = { .kind = WP_VALUE_NULL };

	return column->index == NO_COLUMN ? &none : &row->values[column->index];
}

static bool is_binary(const struct wp_mapping *m, const struct wp_value *value)
{
	return value->kind == WP_VALUE_BINARY && m->transfer == WP_TRANSFER_BINARY;
}

static struct wp_span pick(struct picker *p, const struct mapped *column)
{
	const struct wp_value *value = value_of(p->row, column);
	struct wp_span text = { 0 };

	if (value->kind == WP_VALUE_TEXT)
		return value->bytes;
	if (is_binary(p->mapping, value))
		p->unknown |= wp_binary_text(column->type, column->element, value->bytes, p->texts,
					     &text) != WP_OK;
	else if (value->kind != WP_VALUE_NULL)
		p->bad = true;
	return text;
}

/* The one value whose bytes are wanted, not what Postgres prints for them. */
static struct wp_span pick_payload(struct picker *p)
{
	const struct mapped *column = &p->mapping->payload;
	const struct wp_value *value = value_of(p->row, column);

	if (column->type == WP_TYPE_BYTEA && is_binary(p->mapping, value))
		return value->bytes;
	return pick(p, column);
}

static size_t room_of(const struct wp_mapping *m, const struct wp_tuple *row,
		      const struct mapped *column)
{
	const struct wp_value *value = value_of(row, column);

	if (!is_binary(m, value))
		return 0;
	return wp_binary_room(column->type, column->element, value->bytes);
}

/* What is printed must not move while it grows: so all room is made before. */
static enum wp_rc make_room(const struct wp_mapping *m, const struct wp_tuple *row,
			    struct wp_buffer *texts, struct wp_why *why)
{
	size_t room = room_of(m, row, &m->id) + room_of(m, row, &m->key) +
		      room_of(m, row, &m->type) + room_of(m, row, &m->route);

	if (m->payload.type != WP_TYPE_BYTEA)
		room += room_of(m, row, &m->payload);
	for (size_t i = 0; i < m->header_count; i++)
		room += room_of(m, row, &m->headers[i].column);
	if (room == 0)
		return WP_OK;
	wp_buffer_empty(texts, room);
	enum wp_rc rc = wp_buffer_reserve(texts, room);
	if (rc == WP_FULL)
		return wp_why_set(why, WP_CONFIG,
				  "table %s: what Postgres prints of a row takes up to %zu bytes, "
				  "more than %zu: set postgres.binary = off, or take bytea columns "
				  "and arrays out of outbox.headers",
				  m->table, room, texts->size_max);
	if (rc != WP_OK)
		return wp_why_set(why, rc, "no memory for %zu bytes of a row's text", room);
	return WP_OK;
}

static enum wp_rc check_nulls(const struct wp_mapping *m, const struct wp_event *event,
			      struct wp_why *why)
{
	struct wp_excerpt id;

	if (wp_span_is_null(event->id))
		return wp_why_set(
			why, WP_DATA,
			"table %s: a row has NULL in column \"%s\" (outbox.column.id); an event "
			"needs an id: declare the column NOT NULL",
			m->table, m->id_name);
	if (wp_span_is_null(event->route))
		return wp_why_set(why, WP_DATA,
				  "table %s, id %s: column \"%s\" (outbox.route.by) is NULL, so "
				  "the event has "
				  "no topic: declare the column NOT NULL",
				  m->table, wp_excerpt(&id, event->id), m->route_name);
	if (wp_span_is_null(event->key) && m->key_null != WP_KEY_NULL_ALLOW)
		return wp_why_set(
			why, WP_DATA,
			"table %s, id %s: column \"%s\" (outbox.column.key) is NULL, so the event "
			"has no order among others: declare the column NOT NULL, or set "
			"outbox.key.null = allow",
			m->table, wp_excerpt(&id, event->id), m->key_name);
	return WP_OK;
}

static void fill_event(struct picker *p, struct wp_event *ret)
{
	const struct wp_mapping *m = p->mapping;

	ret->id = pick(p, &m->id);
	ret->key = pick(p, &m->key);
	ret->type = pick(p, &m->type);
	ret->route = pick(p, &m->route);
	ret->payload = pick_payload(p);
	ret->payload_is_bytea =
		m->payload.type == WP_TYPE_BYTEA && !is_binary(m, value_of(p->row, &m->payload));
	for (size_t i = 0; i < m->header_count; i++) {
		ret->headers[i].name = m->headers[i].name;
		ret->headers[i].value = pick(p, &m->headers[i].column);
	}
	ret->header_count = m->header_count;
	ret->table = m->table;
}

enum wp_rc wp_mapping_event(const struct wp_mapping *m, const struct wp_tuple *row,
			    struct wp_buffer *texts, struct wp_event *ret, struct wp_why *why)
{
	struct picker p = { .mapping = m, .row = row, .texts = texts };

	if (row->count != m->column_count)
		return wp_why_set(why, WP_PROTO,
				  "table %s: a row of %zu columns came for a relation of %zu",
				  m->table, row->count, m->column_count);
	enum wp_rc rc = make_room(m, row, texts, why);
	if (rc != WP_OK)
		return rc;
	fill_event(&p, ret);
	if (p.bad)
		return wp_why_set(why, WP_PROTO,
				  "table %s: a row came with %s value that was not asked for",
				  m->table,
				  m->transfer == WP_TRANSFER_BINARY ? "an unchanged"
								    : "a binary or an unchanged");
	if (p.unknown)
		return wp_why_set(why, WP_CONFIG,
				  "table %s: a row came with a value in a binary form that is not "
				  "known (such as a jsonb of another version than 1): set "
				  "postgres.binary = off",
				  m->table);
	if (m->missing != NULL)
		return wp_why_set(why, WP_DATA, "%s", m->missing->text);
	return check_nulls(m, ret, why);
}

static void need(struct wp_needed_columns *n, const char *name)
{
	for (size_t i = 0; i < n->count; i++) {
		if (strcmp(n->names[i], name) == 0)
			return;
	}
	assert(n->count < sizeof(n->names) / sizeof(n->names[0]));
	n->names[n->count++] = name;
}

/* One column may mean several things: the strictest of what they ask for. */
static const char *definition_of(const struct wp_outbox_options *options, const char *column)
{
	if (strcmp(column, options->column_id) == 0)
		return "uuid PRIMARY KEY";
	if (strcmp(column, options->column_payload) == 0)
		return "jsonb";
	if (strcmp(column, options->column_key) == 0 && options->key_null == WP_KEY_NULL_ALLOW)
		return "varchar(255)";
	if (strcmp(column, options->column_key) == 0 || strcmp(column, options->route_by) == 0 ||
	    strcmp(column, options->column_type) == 0)
		return "varchar(255) NOT NULL";
	return "text";
}

enum wp_rc wp_needed_columns(const struct wp_outbox_options *options, struct wp_needed_columns *ret,
			     struct wp_why *why)
{
	struct wp_header_columns headers;

	enum wp_rc rc = wp_header_columns_parse(options->headers, &headers, why);
	if (rc != WP_OK)
		return rc;
	ret->count = 0;
	/* In the order of Debezium's table, for who creates it from this list. */
	need(ret, options->column_id);
	need(ret, options->route_by);
	need(ret, options->column_key);
	if (options->column_type[0] != '\0')
		need(ret, options->column_type);
	need(ret, options->column_payload);
	/* The names of the list move along with their storage. */
	static_assert(sizeof(ret->storage) == sizeof(headers.storage), "one storage, two names");
	memcpy(ret->storage, headers.storage, sizeof(headers.storage));
	for (size_t i = 0; i < headers.count; i++)
		need(ret, ret->storage + (headers.items[i].column - headers.storage));
	for (size_t i = 0; i < ret->count; i++)
		ret->definitions[i] = definition_of(options, ret->names[i]);
	return WP_OK;
}
