/* Makes an event of a row, by the mapping of its relation (table.h). */
#include <string.h>

#include "mapping.h"
#include "walpost/values/binary.h"
#include "walpost/base/display.h"

/* Picks a row's values by meaning, with sticky marks for what cannot be read. */
struct picker {
	const struct wp_mapping *mapping;
	const struct wp_tuple *row;
	struct wp_buffer *texts;
	bool bad;     /* a value in a form that was not asked for */
	bool unknown; /* a binary form that we do not know */
};

static const struct wp_value *mapped_value(const struct wp_tuple *row,
					   const struct wp_mapped *column)
{
	static const struct wp_value none = { .kind = WP_VALUE_NULL };

	return column->index == WP_NO_COLUMN ? &none : &row->values[column->index];
}

static bool is_binary(const struct wp_mapping *m, const struct wp_value *value)
{
	return value->kind == WP_VALUE_BINARY && m->transfer == WP_TRANSFER_BINARY;
}

static struct wp_span pick_other(struct picker *p, const struct wp_mapped *column,
				 const struct wp_value *value)
{
	struct wp_span text = { 0 };

	if (is_binary(p->mapping, value))
		p->unknown |= wp_binary_text(column->type.type, column->type.element, value->bytes,
					     p->texts, &text) != WP_OK;
	else if (value->kind == WP_VALUE_NULL)
		return column->standard;
	else
		p->bad = true;
	return text;
}

/* This runs for each column of each row: what is not mapped costs a comparison. */
static inline struct wp_span pick(struct picker *p, const struct wp_mapped *column)
{
	if (column->index == WP_NO_COLUMN)
		return column->standard;
	const struct wp_value *value = &p->row->values[column->index];
	if (value->kind == WP_VALUE_TEXT)
		return value->bytes;
	return pick_other(p, column, value);
}

/* This is the one value whose bytes are wanted, not what Postgres prints for them. */
static struct wp_span pick_payload(struct picker *p)
{
	const struct wp_mapped *column = &p->mapping->roles[WP_ROLE_PAYLOAD];
	const struct wp_value *value = mapped_value(p->row, column);

	if (column->type.type == WP_TYPE_BYTEA && is_binary(p->mapping, value))
		return value->bytes;
	return pick(p, column);
}

static size_t printed_size_max(const struct wp_mapping *m, const struct wp_tuple *row,
			       const struct wp_mapped *column)
{
	const struct wp_value *value = mapped_value(row, column);

	if (!is_binary(m, value))
		return 0;
	return wp_binary_room(column->type.type, column->type.element, value->bytes);
}

/* What is printed must not move while it grows: so all room is made before. */
static enum wp_rc reserve_texts(const struct wp_mapping *m, const struct wp_tuple *row, size_t room,
				struct wp_buffer *texts, struct wp_error *error)
{
	if (m->transfer == WP_TRANSFER_TEXT && room == 0)
		return WP_OK;
	for (enum wp_role role = 0; role < WP_ROLE_COUNT; role++) {
		if (role != WP_ROLE_PAYLOAD || m->roles[role].type.type != WP_TYPE_BYTEA)
			room += printed_size_max(m, row, &m->roles[role]);
	}
	size_t field_count = 0;
	for (size_t list = 0; list < WP_LIST_COUNT; list++)
		field_count += m->list_counts[list];
	for (size_t i = 0; i < field_count; i++)
		room += printed_size_max(m, row, &m->fields[i].column);
	if (room == 0)
		return WP_OK;
	wp_buffer_empty(texts, room);
	enum wp_rc rc = wp_buffer_reserve(texts, room);
	if (rc == WP_FULL)
		return wp_error_set(error, WP_CONFIG,
				    "table %s: a row as text takes up to %zu bytes, more than %zu: "
				    "set postgres.binary = off, or remove bytea columns and arrays "
				    "from outbox.headers",
				    m->table, room, texts->size_max);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "out of memory for %zu bytes of a row's text", room);
	return WP_OK;
}

static const char *null_cure(const char *column)
{
	return wp_column_is_member(column) ? "correct the row" : "declare the column NOT NULL";
}

static enum wp_rc check_nulls(const struct wp_mapping *m, const struct wp_event *event,
			      struct wp_error *error)
{
	const struct wp_outbox_options *o = m->options;
	struct wp_excerpt id;

	if (wp_span_is_null(event->id))
		return wp_error_set(error, WP_DATA,
				    "table %s: a row has NULL in column \"%s\" (outbox.column.id), "
				    "but an event requires an id: declare the column NOT NULL",
				    m->table, o->column_id);
	if (wp_span_is_null(event->route))
		return wp_error_set(error, WP_DATA,
				    "table %s, id %s: column \"%s\" (outbox.route.by) is NULL, so "
				    "the event has "
				    "no topic: %s",
				    m->table, wp_excerpt(&id, event->id), o->route_by,
				    null_cure(o->route_by));
	if (wp_span_is_null(event->key) && o->key_null != WP_KEY_NULL_ALLOW)
		return wp_error_set(error, WP_DATA,
				    "table %s, id %s: column \"%s\" (outbox.column.key) is NULL, "
				    "so the event has no order among others: %s, or set "
				    "outbox.column.key.fallback or outbox.key.null = allow",
				    m->table, wp_excerpt(&id, event->id), o->column_key,
				    null_cure(o->column_key));
	return WP_OK;
}

static enum wp_rc check_json_members(const struct wp_mapping *m, const struct wp_event *event,
				     struct wp_error *error)
{
	const struct wp_member_fault *f = &m->members->fault;
	struct wp_excerpt id;
	struct wp_excerpt column;

	/* An event without an id is refused for that. */
	if (f->kind == WP_MEMBER_FINE || wp_span_is_null(event->id))
		return WP_OK;
	(void)wp_excerpt(&id, event->id);
	(void)wp_excerpt(&column, f->member->path.column);
	if (f->kind == WP_MEMBER_NOT_JSON)
		return wp_error_set(error, WP_DATA,
				    "table %s, id %s: column \"%s\" (%s) is not JSON at byte %zu "
				    "of %zu: %s: correct the row",
				    m->table, id.text, column.text, f->member->option,
				    f->json.offset, f->size, f->json.what);
	if (f->kind == WP_MEMBER_HALF_PAIR)
		return wp_error_set(error, WP_DATA,
				    "table %s, id %s: %.200s (%s) contains half of a surrogate "
				    "pair: correct the row",
				    m->table, id.text, f->member->text, f->member->option);
	return wp_error_set(error, WP_DATA,
			    "table %s, id %s: column \"%s\" has no member %.200s (%s): correct the "
			    "row, or set %s",
			    m->table, id.text, column.text, f->member->text, f->member->option,
			    f->member->option);
}

static inline const struct wp_mapped_field *fill_fields(struct picker *p, enum wp_list list,
							const struct wp_mapped_field *from,
							struct wp_event_fields *ret)
{
	ret->count = p->mapping->list_counts[list];
	for (size_t i = 0; i < ret->count; i++)
		ret->items[i] = (struct wp_event_field){
			.name = from[i].name,
			.value = pick(p, &from[i].column),
			.type = &from[i].column.type,
		};
	return from + ret->count;
}

/* Does the table lack a column that the key is in? */
static bool lacks_key(const struct wp_mapping *m)
{
	return m->roles[WP_ROLE_KEY].index == WP_NO_COLUMN ||
	       (m->options->column_key_fallback[0] != '\0' &&
		m->roles[WP_ROLE_KEY_FALLBACK].index == WP_NO_COLUMN);
}

static bool is_unread(const struct wp_mapping *m, enum wp_role role)
{
	size_t index = m->roles[role].index;

	return index != WP_NO_COLUMN && index >= m->column_count &&
	       m->members->items[index - m->column_count].is_unread;
}

/* No other column may stand for one that cannot be read. */
static void fill_key(struct picker *p, struct wp_event *ret)
{
	const struct wp_mapped *column = &p->mapping->roles[WP_ROLE_KEY];
	bool unread = is_unread(p->mapping, WP_ROLE_KEY);

	ret->key = pick(p, column);
	if (!unread && wp_span_is_null(ret->key) &&
	    p->mapping->roles[WP_ROLE_KEY_FALLBACK].index != WP_NO_COLUMN) {
		column = &p->mapping->roles[WP_ROLE_KEY_FALLBACK];
		ret->key = pick(p, column);
		unread = is_unread(p->mapping, WP_ROLE_KEY_FALLBACK);
	}
	ret->key_type = &column->type;
	ret->key_is_unknown = wp_span_is_null(ret->key) && (unread || lacks_key(p->mapping));
}

static void fill_event(struct picker *p, struct wp_event *ret)
{
	const struct wp_mapping *m = p->mapping;
	const struct wp_mapped *roles = m->roles;
	const struct wp_mapped_field *fields = m->fields;

	ret->id = pick(p, &roles[WP_ROLE_ID]);
	fill_key(p, ret);
	ret->type = pick(p, &roles[WP_ROLE_TYPE]);
	ret->route = pick(p, &roles[WP_ROLE_ROUTE]);
	ret->payload = pick_payload(p);
	ret->payload_is_bytea = roles[WP_ROLE_PAYLOAD].type.type == WP_TYPE_BYTEA &&
				!is_binary(m, mapped_value(p->row, &roles[WP_ROLE_PAYLOAD]));
	ret->timestamp = pick(p, &roles[WP_ROLE_TIMESTAMP]);
	ret->expires = pick(p, &roles[WP_ROLE_EXPIRES]);
	ret->partition = pick(p, &roles[WP_ROLE_PARTITION]);
	ret->json_headers = pick(p, &roles[WP_ROLE_JSON_HEADERS]);
	ret->properties = pick(p, &roles[WP_ROLE_PROPERTIES]);
	ret->ce_source = pick(p, &roles[WP_ROLE_CE_SOURCE]);
	ret->ce_subject = pick(p, &roles[WP_ROLE_CE_SUBJECT]);
	ret->schema_version = pick(p, &roles[WP_ROLE_SCHEMA_VERSION]);
	fields = fill_fields(p, WP_LIST_HEADERS, fields, &ret->headers);
	fields = fill_fields(p, WP_LIST_MEMBERS, fields, &ret->members);
	(void)fill_fields(p, WP_LIST_EXTENSIONS, fields, &ret->extensions);
	ret->id_type = &roles[WP_ROLE_ID].type;
	ret->type_type = &roles[WP_ROLE_TYPE].type;
	ret->payload_type = &roles[WP_ROLE_PAYLOAD].type;
	ret->timestamp_type = &roles[WP_ROLE_TIMESTAMP].type;
	ret->expires_type = &roles[WP_ROLE_EXPIRES].type;
	ret->content = (struct wp_span){ 0 };
	ret->reissued = ret->topic = (struct wp_span){ 0 };
	ret->is_refused = false;
	ret->data_headers = 0;
	ret->table = m->table;
	ret->schema = m->schema;
	ret->name = m->name;
	ret->origin = m->origin;
	ret->outbox = m->outbox;
}

enum wp_rc wp_mapping_event(const struct wp_mapping *m, const struct wp_tuple *row,
			    struct wp_buffer *texts, struct wp_event *ret, struct wp_error *error)
{
	struct picker p = { .mapping = m, .row = row, .texts = texts };
	struct wp_tuple extended;
	size_t room = 0;
	enum wp_rc rc = WP_OK;

	if (row->count != m->column_count)
		return wp_error_set(error, WP_PROTO,
				    "table %s: a row of %zu columns arrived for a relation of %zu",
				    m->table, row->count, m->column_count);
	if (m->members != NULL) {
		rc = wp_members_find(m->members, row, &extended, &room);
		p.row = &extended;
	}
	if (rc == WP_OK)
		rc = reserve_texts(m, p.row, room, texts, error);
	if (rc == WP_OK && m->members != NULL)
		rc = wp_members_take(m->members, texts);
	if (rc != WP_OK)
		return rc;
	fill_event(&p, ret);
	if (p.bad)
		return wp_error_set(error, WP_PROTO,
				    "table %s: a row contains %s value that was not requested",
				    m->table,
				    m->transfer == WP_TRANSFER_BINARY ? "an unchanged"
								      : "a binary or an unchanged");
	if (p.unknown)
		return wp_error_set(
			error, WP_CONFIG,
			"table %s: a row contains a value in an unknown binary format (such as a "
			"jsonb of a version other than 1): set postgres.binary = off",
			m->table);
	if (m->missing != NULL)
		rc = wp_error_set(error, WP_DATA, "%s", m->missing->text);
	else if (m->members != NULL)
		rc = check_json_members(m, ret, error);
	if (rc == WP_OK)
		rc = check_nulls(m, ret, error);
	ret->is_refused = rc == WP_DATA;
	return rc;
}
