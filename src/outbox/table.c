#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/outbox/columns.h"
#include "walpost/outbox/excerpt.h"
#include "walpost/outbox/names.h"
#include "walpost/outbox/table.h"

#define NO_COLUMN SIZE_MAX
#define COLUMNS_SHOWN_SIZE 512 /* of the list in a sentence */

struct mapped_header {
	struct wp_span name; /* NUL-terminated */
	size_t index;
};

/* One allocation, for a partitioned table may have thousands of leaves: the
 * struct, its headers, then all texts. */
struct wp_mapping {
	size_t column_count; /* of the relation */
	size_t id;
	size_t key;
	size_t type; /* or NO_COLUMN */
	size_t payload;
	size_t route;
	bool payload_is_bytea;
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

/* The first column that is missing, and the option that asked for it. */
struct lookup {
	const struct wp_relation *relation;
	const char *column; /* NULL: all were found */
	const char *option;
};

static size_t look_up(struct lookup *l, const char *column, const char *option)
{
	int index = wp_relation_column(l->relation, wp_span_of(column));

	if (index >= 0)
		return (size_t)index;
	if (l->column == NULL) {
		l->column = column;
		l->option = option;
	}
	return NO_COLUMN;
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

static enum wp_rc map_columns(struct wp_mapping *m, const struct wp_outbox_options *options,
			      const struct wp_header_columns *headers,
			      const struct wp_relation *relation, struct wp_why *why)
{
	struct lookup l = { .relation = relation };

	m->id = look_up(&l, options->column_id, "outbox.column.id");
	m->key = look_up(&l, options->column_key, "outbox.column.key");
	m->type = NO_COLUMN;
	if (options->column_type[0] != '\0')
		m->type = look_up(&l, options->column_type, "outbox.column.type");
	m->payload = look_up(&l, options->column_payload, "outbox.column.payload");
	m->route = look_up(&l, options->route_by, "outbox.route.by");
	for (size_t i = 0; i < headers->count; i++)
		m->headers[i].index = look_up(&l, headers->items[i].column, "outbox.headers");
	return l.column == NULL ? WP_OK : say_missing(&l, m->table, why);
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
			  enum wp_columns columns, struct wp_mapping **ret, struct wp_why *why)
{
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
	rc = map_columns(m, options, &headers, relation, &missing);
	if (rc != WP_OK && columns == WP_COLUMNS_KNOWN)
		rc = keep_missing(m, &missing, why);
	else if (rc != WP_OK)
		rc = wp_why_set(why, rc, "%s", missing.text);
	if (rc != WP_OK) {
		free(m);
		return rc;
	}
	m->column_count = relation->column_count;
	m->payload_is_bytea = m->payload != NO_COLUMN &&
			      wp_relations_is_bytea(types, relation->columns[m->payload].type_oid);
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

/* A row's values by meaning, with a sticky mark for one that is not text. */
struct picker {
	const struct wp_tuple *row;
	bool bad;
};

static struct wp_span pick(struct picker *p, size_t index)
{
	if (index == NO_COLUMN)
		return (struct wp_span){ 0 };
	const struct wp_value *value = &p->row->values[index];
	if (value->kind == WP_VALUE_TEXT)
		return value->bytes;
	if (value->kind != WP_VALUE_NULL)
		p->bad = true;
	return (struct wp_span){ 0 };
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

enum wp_rc wp_mapping_event(const struct wp_mapping *m, const struct wp_tuple *row,
			    struct wp_event *ret, struct wp_why *why)
{
	struct picker p = { .row = row };

	if (row->count != m->column_count)
		return wp_why_set(why, WP_PROTO,
				  "table %s: a row of %zu columns came for a relation of %zu",
				  m->table, row->count, m->column_count);
	ret->id = pick(&p, m->id);
	ret->key = pick(&p, m->key);
	ret->type = pick(&p, m->type);
	ret->route = pick(&p, m->route);
	ret->payload = pick(&p, m->payload);
	ret->payload_is_bytea = m->payload_is_bytea;
	for (size_t i = 0; i < m->header_count; i++) {
		ret->headers[i].name = m->headers[i].name;
		ret->headers[i].value = pick(&p, m->headers[i].index);
	}
	ret->header_count = m->header_count;
	ret->table = m->table;
	if (p.bad)
		return wp_why_set(
			why, WP_PROTO,
			"table %s: a row came with a binary or an unchanged value, where only "
			"text was asked for",
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
