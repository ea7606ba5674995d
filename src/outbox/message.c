#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mapping.h"
#include "message_protobuf.h"
#include "walpost/base/json.h"
#include "walpost/outbox/columns.h"
#include "walpost/outbox/excerpt.h"
#include "walpost/outbox/message.h"

struct wp_message_reader {
	const struct wp_outbox_options *options; /* borrowed */
	struct wp_column_list lists[WP_LIST_COUNT];
	char table[sizeof("messages of prefix ") + 64]; /* what stands for one in sentences */
};

/* What a member can be; a column's type is known, a member's is seen. */
static const struct wp_column_type text_type = { .type = WP_TYPE_TEXT,
						 .modifier = -1,
						 .is_optional = true };
static const struct wp_column_type json_type = { .type = WP_TYPE_JSON,
						 .modifier = -1,
						 .is_optional = true };
static const struct wp_column_type bytes_type = { .type = WP_TYPE_BYTEA,
						  .modifier = -1,
						  .is_optional = true };
static const struct wp_column_type number_type = { .type = WP_TYPE_INT8, .modifier = -1 };

enum wp_rc wp_message_reader_new(const struct wp_outbox_options *options,
				 struct wp_message_reader **ret, struct wp_why *why)
{
	struct wp_message_reader *r = calloc(1, sizeof(*r));
	enum wp_rc rc = WP_OK;

	if (r == NULL)
		return wp_why_set(why, WP_NOMEM, "no memory for the names in logical messages");
	r->options = options;
	(void)snprintf(r->table, sizeof(r->table), "messages of prefix %s",
		       options->message_prefix);
	for (enum wp_list list = 0; list < WP_LIST_COUNT && rc == WP_OK; list++)
		rc = wp_column_list_parse(wp_list_columns(options, list), wp_list_option(list),
					  &r->lists[list], why);
	if (rc != WP_OK) {
		free(r);
		return rc;
	}
	*ret = r;
	return WP_OK;
}

void wp_message_reader_free(struct wp_message_reader *r)
{
	free(r);
}

/* -- JSON -------------------------------------------------------------------- */

/* A value of a member, and what it is. */
struct member {
	struct wp_span value;
	const struct wp_column_type *type;
};

/* Room for all that is unescaped is made before: it does not move. */
static enum wp_rc unescape(struct wp_span string, struct wp_buffer *texts, struct wp_span *ret)
{
	size_t start = texts->size;
	struct wp_span inner = { .data = string.data + 1, .size = string.size - 2 };

	if (memchr(inner.data, '\\', inner.size) == NULL) {
		*ret = inner;
		return WP_OK;
	}
	enum wp_rc rc = wp_json_unescape(string, texts);
	*ret = (struct wp_span){ .data = texts->data + start, .size = texts->size - start };
	return rc;
}

static enum wp_rc read_member(const struct wp_json *json, struct wp_buffer *texts,
			      struct member *ret)
{
	*ret = (struct member){ .value = json->text, .type = &text_type };
	switch (json->kind) {
	case WP_JSON_NULL:
		ret->value = (struct wp_span){ 0 };
		return WP_OK;
	case WP_JSON_STRING:
		return unescape(json->text, texts, &ret->value);
	case WP_JSON_OBJECT:
	case WP_JSON_ARRAY:
		ret->type = &json_type;
		return WP_OK;
	default:
		return WP_OK; /* a number or a truth: its text */
	}
}

static bool is_role(const struct wp_message_reader *r, enum wp_role role, struct wp_span name)
{
	const char *column = wp_role_column(r->options, role);

	/* The contract of Debezium's messages has them there. */
	if (role == WP_ROLE_JSON_HEADERS && column[0] == '\0')
		column = "headers";
	return column[0] != '\0' && wp_span_is(name, column);
}

static void put_role(struct wp_event *e, enum wp_role role, const struct member *m,
		     struct wp_span *fallback, const struct wp_column_type **fallback_type)
{
	struct wp_span *const places[WP_ROLE_COUNT] = {
		[WP_ROLE_ID] = &e->id,
		[WP_ROLE_KEY] = &e->key,
		[WP_ROLE_KEY_FALLBACK] = fallback,
		[WP_ROLE_TYPE] = &e->type,
		[WP_ROLE_ROUTE] = &e->route,
		[WP_ROLE_PAYLOAD] = &e->payload,
		[WP_ROLE_TIMESTAMP] = &e->timestamp,
		[WP_ROLE_PARTITION] = &e->partition,
		[WP_ROLE_JSON_HEADERS] = &e->json_headers,
		[WP_ROLE_PROPERTIES] = &e->properties,
		[WP_ROLE_CE_SOURCE] = &e->ce_source,
		[WP_ROLE_CE_SUBJECT] = &e->ce_subject,
		[WP_ROLE_SCHEMA_VERSION] = &e->schema_version,
	};

	*places[role] = m->value;
	if (role == WP_ROLE_ID)
		e->id_type = m->type;
	else if (role == WP_ROLE_KEY)
		e->key_type = m->type;
	else if (role == WP_ROLE_KEY_FALLBACK)
		*fallback_type = m->type;
	else if (role == WP_ROLE_TYPE)
		e->type_type = m->type;
	else if (role == WP_ROLE_PAYLOAD)
		e->payload_type = m->type;
}

static void put_fields(const struct wp_message_reader *r, struct wp_span name,
		       const struct member *m, struct wp_event *e)
{
	struct wp_event_fields *const fields[WP_LIST_COUNT] = {
		[WP_LIST_HEADERS] = &e->headers,
		[WP_LIST_MEMBERS] = &e->members,
		[WP_LIST_EXTENSIONS] = &e->extensions,
	};

	for (size_t list = 0; list < WP_LIST_COUNT; list++) {
		for (size_t i = 0; i < r->lists[list].count; i++) {
			if (!wp_span_is(name, r->lists[list].items[i].column))
				continue;
			fields[list]->items[i].value = m->value;
			fields[list]->items[i].type = m->type;
		}
	}
}

static void begin_fields(const struct wp_column_list *list, struct wp_event_fields *fields)
{
	fields->count = list->count;
	for (size_t i = 0; i < list->count; i++)
		fields->items[i] = (struct wp_event_field){
			.name = wp_span_of(list->items[i].name),
			.type = &text_type,
		};
}

static enum wp_rc say_not_json(const struct wp_message_reader *r, const char *what, size_t offset,
			       size_t size, struct wp_why *why)
{
	return wp_why_set(why, WP_DATA,
			  "%s: the content is no JSON object, at byte %zu of %zu: %s; see "
			  "outbox.message.format",
			  r->table, offset, size, what);
}

static enum wp_rc read_object(const struct wp_message_reader *r, const struct wp_json *object,
			      struct wp_buffer *texts, struct wp_event *e, struct wp_why *why)
{
	struct wp_json_walk walk;
	struct wp_json json;
	struct wp_span quoted;
	struct wp_span name;
	struct wp_span fallback = { 0 };
	const struct wp_column_type *fallback_type = &text_type;
	enum wp_rc bad = WP_OK;

	wp_json_walk_init(&walk, object);
	while (wp_json_walk_next(&walk, &quoted, &json)) {
		struct member member;
		enum wp_rc rc = unescape(quoted, texts, &name);
		if (rc == WP_OK)
			rc = read_member(&json, texts, &member);
		if (rc == WP_NOMEM)
			return wp_why_set(why, rc, "no memory for a logical message");
		if (rc != WP_OK) {
			bad = rc;
			continue;
		}
		for (enum wp_role role = 0; role < WP_ROLE_COUNT; role++) {
			if (is_role(r, role, name))
				put_role(e, role, &member, &fallback, &fallback_type);
		}
		put_fields(r, name, &member, e);
	}
	if (wp_span_is_null(e->key) && !wp_span_is_null(fallback)) {
		e->key = fallback;
		e->key_type = fallback_type;
	}
	if (bad != WP_OK)
		return wp_why_set(why, WP_DATA,
				  "%s: a string of the content holds half of a surrogate pair",
				  r->table);
	return WP_OK;
}

static enum wp_rc read_json(const struct wp_message_reader *r, struct wp_span content,
			    struct wp_buffer *texts, struct wp_event *e, struct wp_why *why)
{
	struct wp_json json;
	struct wp_json_fault fault;

	enum wp_rc rc = wp_json_read(content, &json, &fault);
	if (rc == WP_DATA)
		return say_not_json(r, fault.what, fault.offset, content.size, why);
	if (rc == WP_OK && json.kind != WP_JSON_OBJECT)
		return say_not_json(r, "it does not begin with {", 0, content.size, why);
	wp_buffer_empty(texts, content.size);
	if (rc == WP_OK)
		rc = wp_buffer_reserve(texts, content.size);
	if (rc != WP_OK)
		return wp_why_set(why, WP_NOMEM, "no memory for a logical message of %zu bytes",
				  content.size);
	return read_object(r, &json, texts, e, why);
}

/* -- both ---------------------------------------------------------------------- */

static void begin(const struct wp_message_reader *r, struct wp_event *e)
{
	e->id = e->key = e->type = e->route = e->payload = (struct wp_span){ 0 };
	e->timestamp = e->partition = e->json_headers = e->properties = (struct wp_span){ 0 };
	e->ce_source = e->ce_subject = e->schema_version = (struct wp_span){ 0 };
	e->schema = e->name = (struct wp_span){ 0 };
	e->payload_is_bytea = false;
	e->data_headers = 0;
	begin_fields(&r->lists[WP_LIST_HEADERS], &e->headers);
	begin_fields(&r->lists[WP_LIST_MEMBERS], &e->members);
	begin_fields(&r->lists[WP_LIST_EXTENSIONS], &e->extensions);
	e->id_type = e->key_type = e->type_type = e->payload_type = &text_type;
	/* A number of milliseconds: of a text nothing says in which form it is. */
	e->timestamp_type = &number_type;
	e->table = r->table;
}

static enum wp_rc say_absent(const struct wp_message_reader *r, const struct wp_event *e,
			     const char *what, const char *column, struct wp_why *why)
{
	struct wp_excerpt id;

	return wp_why_set(why, WP_DATA, "%s, id %s: the content has no %s (member \"%s\")",
			  r->table, wp_excerpt(&id, e->id), what, column);
}

static enum wp_rc check_nulls(const struct wp_message_reader *r, const struct wp_event *e,
			      struct wp_why *why)
{
	const struct wp_outbox_options *o = r->options;

	if (wp_span_is_null(e->id))
		return say_absent(r, e, "id", o->column_id, why);
	if (wp_span_is_null(e->route))
		return say_absent(r, e, "raw topic", o->route_by, why);
	if (wp_span_is_null(e->key) && o->key_null != WP_KEY_NULL_ALLOW)
		return say_absent(r, e, "key", o->column_key, why);
	return WP_OK;
}

static enum wp_rc read_protobuf(const struct wp_message_reader *r, struct wp_span content,
				struct wp_buffer *texts, struct wp_event *e, struct wp_why *why)
{
	enum wp_rc rc = wp_message_protobuf(content, texts, e);

	if (rc == WP_OK)
		return rc;
	if (rc == WP_NOMEM)
		return wp_why_set(why, rc, "no memory for a logical message of %zu bytes",
				  content.size);
	return wp_why_set(why, WP_DATA,
			  "%s: the content is no walpost.v1.Message: cut, of another form, or "
			  "with more than %d headers; see outbox.message.format",
			  r->table, WP_EVENT_FIELDS_MAX);
}

enum wp_rc wp_message_event(const struct wp_message_reader *r, struct wp_span content,
			    struct wp_buffer *texts, struct wp_event *ret, struct wp_why *why)
{
	enum wp_message_format format = r->options->message_format;
	enum wp_rc rc;

	begin(r, ret);
	ret->content = content; /* for its dead letter: no row has what it holds */
	if (format == WP_MESSAGE_PROTOBUF)
		ret->payload_type = &bytes_type;
	rc = format == WP_MESSAGE_JSON ? read_json(r, content, texts, ret, why)
				       : read_protobuf(r, content, texts, ret, why);
	if (rc == WP_OK)
		rc = check_nulls(r, ret, why);
	ret->is_refused = rc == WP_DATA;
	return rc;
}
