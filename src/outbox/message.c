#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mapping.h"
#include "walpost/base/json.h"
#include "walpost/outbox/columns.h"
#include "walpost/base/display.h"
#include "walpost/outbox/message.h"

/* Members are looked for by name, and have a meaning; of one name there may be several. */
struct wanted {
	struct wp_span name; /* borrowed from the options, or from a list */
	enum wp_role role;   /* WP_ROLE_COUNT: it is the field `index` of `list` */
	enum wp_list list;
	size_t index;
};

struct wp_message_reader {
	const struct wp_outbox_options *options; /* borrowed */
	struct wanted wanted[WP_ROLE_COUNT + WP_LIST_COUNT * WP_EVENT_FIELDS_MAX];
	size_t wanted_count;
	struct wp_column_list lists[WP_LIST_COUNT];
	char table[sizeof("messages of prefix ") + 64]; /* what stands for one in sentences */
};

/* A member can be of these types; a column's is known, a member's is seen. */
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

static void want_roles(struct wp_message_reader *r)
{
	for (enum wp_role role = 0; role < WP_ROLE_COUNT; role++) {
		const char *column = wp_role_column(r->options, role);
		/* The contract of Debezium's messages has them there. */
		if (role == WP_ROLE_JSON_HEADERS && column[0] == '\0')
			column = "headers";
		if (column[0] != '\0')
			r->wanted[r->wanted_count++] =
				(struct wanted){ .name = wp_span_of(column), .role = role };
	}
}

static void want_fields(struct wp_message_reader *r)
{
	for (enum wp_list list = 0; list < WP_LIST_COUNT; list++) {
		for (size_t i = 0; i < r->lists[list].count; i++)
			r->wanted[r->wanted_count++] = (struct wanted){
				.name = wp_span_of(r->lists[list].items[i].column),
				.role = WP_ROLE_COUNT,
				.list = list,
				.index = i,
			};
	}
}

enum wp_rc wp_message_reader_new(const struct wp_outbox_options *options,
				 struct wp_message_reader **ret, struct wp_error *error)
{
	struct wp_message_reader *r = calloc(1, sizeof(*r));
	enum wp_rc rc = WP_OK;

	if (r == NULL)
		return wp_error_set(error, WP_NOMEM,
				    "out of memory for the names in logical messages");
	r->options = options;
	want_roles(r);
	(void)snprintf(r->table, sizeof(r->table), "messages of prefix %s",
		       options->message_prefix);
	for (enum wp_list list = 0; list < WP_LIST_COUNT && rc == WP_OK; list++)
		rc = wp_column_list_parse(wp_list_columns(options, list), wp_list_option(list),
					  &r->lists[list], error);
	if (rc != WP_OK) {
		free(r);
		return rc;
	}
	want_fields(r);
	*ret = r;
	return WP_OK;
}

void wp_message_reader_free(struct wp_message_reader *r)
{
	free(r);
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

static void clear_event(const struct wp_message_reader *r, struct wp_event *e)
{
	e->id = e->key = e->type = e->route = e->payload = (struct wp_span){ 0 };
	e->timestamp = e->expires = e->partition = e->json_headers = e->properties =
		(struct wp_span){ 0 };
	e->ce_source = e->ce_subject = e->schema_version = (struct wp_span){ 0 };
	e->schema = e->name = e->reissued = e->topic = (struct wp_span){ 0 };
	e->origin = (struct wp_origin){ { 0 }, { 0 } };
	e->outbox = NULL;
	e->payload_is_bytea = e->key_is_unknown = false;
	e->data_headers = 0;
	begin_fields(&r->lists[WP_LIST_HEADERS], &e->headers);
	begin_fields(&r->lists[WP_LIST_MEMBERS], &e->members);
	begin_fields(&r->lists[WP_LIST_EXTENSIONS], &e->extensions);
	e->id_type = e->key_type = e->type_type = e->payload_type = &text_type;
	/* It is a number of milliseconds: of a text nothing says in which form it is. */
	e->timestamp_type = e->expires_type = &number_type;
	e->table = r->table;
}

/* -- JSON -------------------------------------------------------------------- */

/* This is a value of a member, and what it is. */
struct member {
	struct wp_span value;
	const struct wp_column_type *type;
};

/* Room for all that is unescaped is made before: it does not move. */
static enum wp_rc unescape_member(struct wp_span string, struct wp_buffer *texts,
				  struct wp_span *ret)
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

static enum wp_rc read_json_member(const struct wp_json *json, struct wp_buffer *texts,
				   struct member *ret)
{
	*ret = (struct member){ .value = json->text, .type = &text_type };
	switch (json->kind) {
	case WP_JSON_NULL:
		ret->value = (struct wp_span){ 0 };
		return WP_OK;
	case WP_JSON_STRING:
		return unescape_member(json->text, texts, &ret->value);
	case WP_JSON_OBJECT:
	case WP_JSON_ARRAY:
		ret->type = &json_type;
		return WP_OK;
	default:
		return WP_OK; /* a number or a truth: its text */
	}
}

/* This is the event, and what stands in for its key. */
struct reading {
	struct wp_event *event; /* borrowed */
	struct member fallback;
};

static void set_role(struct reading *to, enum wp_role role, const struct member *m)
{
	struct wp_event *e = to->event;

	switch (role) {
	case WP_ROLE_ID:
		e->id = m->value;
		e->id_type = m->type;
		break;
	case WP_ROLE_KEY:
		e->key = m->value;
		e->key_type = m->type;
		break;
	case WP_ROLE_KEY_FALLBACK:
		to->fallback = *m;
		break;
	case WP_ROLE_TYPE:
		e->type = m->value;
		e->type_type = m->type;
		break;
	case WP_ROLE_ROUTE:
		e->route = m->value;
		break;
	case WP_ROLE_PAYLOAD:
		e->payload = m->value;
		e->payload_type = m->type;
		break;
	case WP_ROLE_TIMESTAMP:
		e->timestamp = m->value;
		break;
	case WP_ROLE_EXPIRES:
		e->expires = m->value;
		break;
	case WP_ROLE_PARTITION:
		e->partition = m->value;
		break;
	case WP_ROLE_JSON_HEADERS:
		e->json_headers = m->value;
		break;
	case WP_ROLE_PROPERTIES:
		e->properties = m->value;
		break;
	case WP_ROLE_CE_SOURCE:
		e->ce_source = m->value;
		break;
	case WP_ROLE_CE_SUBJECT:
		e->ce_subject = m->value;
		break;
	case WP_ROLE_SCHEMA_VERSION:
		e->schema_version = m->value;
		break;
	case WP_ROLE_COUNT:
		break;
	}
}

static void set_field(struct wp_event *e, enum wp_list list, size_t index, const struct member *m)
{
	struct wp_event_fields *const fields[WP_LIST_COUNT] = {
		[WP_LIST_HEADERS] = &e->headers,
		[WP_LIST_MEMBERS] = &e->members,
		[WP_LIST_EXTENSIONS] = &e->extensions,
	};

	fields[list]->items[index].value = m->value;
	fields[list]->items[index].type = m->type;
}

static void set_member(const struct wp_message_reader *r, struct wp_span name,
		       const struct member *m, struct reading *to)
{
	for (size_t i = 0; i < r->wanted_count; i++) {
		const struct wanted *w = &r->wanted[i];
		if (name.size != w->name.size || memcmp(name.data, w->name.data, name.size) != 0)
			continue;
		if (w->role == WP_ROLE_COUNT)
			set_field(to->event, w->list, w->index, m);
		else
			set_role(to, w->role, m);
	}
}

/* Reads it once more, for the walk only knows that something is wrong. */
static enum wp_rc say_not_json(const struct wp_message_reader *r, struct wp_span content,
			       struct wp_error *error)
{
	struct wp_json json;
	struct wp_json_fault fault = { .what = "it does not begin with {" };
	enum wp_rc rc = wp_json_read(content, &json, &fault);

	(void)rc; /* what is JSON, but no object, leaves the fault as it is */
	return wp_error_set(error, WP_DATA,
			    "%s: the content is not a JSON object, at byte %zu of %zu: %s; see "
			    "outbox.message.format",
			    r->table, fault.offset, content.size, fault.what);
}

static enum wp_rc say_half_pair(const struct wp_message_reader *r, struct wp_error *error)
{
	return wp_error_set(error, WP_DATA,
			    "%s: a string of the content contains half of a surrogate pair",
			    r->table);
}

/* WP_DATA: a string holds half of a surrogate pair; the members behind it are read all the same. */
static enum wp_rc read_members(const struct wp_message_reader *r, struct wp_json_walk *walk,
			       struct wp_buffer *texts, struct reading *to)
{
	struct wp_json json;
	struct wp_span quoted;
	struct wp_span name;
	enum wp_rc bad = WP_OK;

	while (wp_json_walk_next(walk, &quoted, &json)) {
		struct member member;
		enum wp_rc rc = unescape_member(quoted, texts, &name);
		if (rc == WP_OK)
			rc = read_json_member(&json, texts, &member);
		if (rc == WP_NOMEM)
			return rc;
		if (rc == WP_OK)
			set_member(r, name, &member, to);
		else
			bad = rc;
	}
	return bad;
}

static enum wp_rc read_json_content(const struct wp_message_reader *r, struct wp_span content,
				    struct wp_buffer *texts, struct wp_event *e,
				    struct wp_error *error)
{
	struct reading to = { .event = e, .fallback = { .type = &text_type } };
	struct wp_json_walk walk;

	wp_buffer_empty(texts, content.size);
	enum wp_rc rc = wp_buffer_reserve(texts, content.size);
	wp_json_walk_text(&walk, content);
	if (rc == WP_OK)
		rc = read_members(r, &walk, texts, &to);
	if (rc != WP_OK && rc != WP_DATA)
		return wp_error_set(error, WP_NOMEM,
				    "out of memory for a logical message of %zu bytes",
				    content.size);
	if (walk.state != WP_JSON_WALK_ENDED) {
		clear_event(r, e); /* of what is no JSON nothing is known */
		return say_not_json(r, content, error);
	}
	if (wp_span_is_null(e->key) && !wp_span_is_null(to.fallback.value)) {
		e->key = to.fallback.value;
		e->key_type = to.fallback.type;
	}
	return rc == WP_OK ? WP_OK : say_half_pair(r, error);
}

/* -- encodings -------------------------------------------------------------------- */

bool wp_message_texts_are_utf8(const char *encoding)
{
	return strcmp(encoding, "UTF8") == 0;
}

static bool is_ascii(struct wp_span text)
{
	for (size_t i = 0; i < text.size; i++) {
		if (text.data[i] > 0x7f)
			return false;
	}
	return true;
}

static enum wp_rc say_other_encoding(const struct wp_message_reader *r, const char *encoding,
				     struct wp_error *error)
{
	return wp_error_set(error, WP_DATA,
			    "%s: the content is not ASCII, and nothing says that it is UTF-8: the "
			    "encoding of the database is %s. Send it with walpost.emit() as this "
			    "version's sql/outbox_emit.sql creates it, or with "
			    "outbox.message.format = protobuf",
			    r->table, encoding);
}

static enum wp_rc read_text_content(const struct wp_message_reader *r, struct wp_span content,
				    const char *encoding, struct wp_buffer *texts,
				    struct wp_event *e, struct wp_error *error)
{
	const struct wp_span mark = wp_span_of(WP_BYTE_ORDER_MARK);

	if (content.size >= mark.size && memcmp(content.data, mark.data, mark.size) == 0) {
		content.data += mark.size;
		content.size -= mark.size;
	} else if (!wp_message_texts_are_utf8(encoding) && !is_ascii(content)) {
		return say_other_encoding(r, encoding, error);
	}
	return read_json_content(r, content, texts, e, error);
}

/* -- both ---------------------------------------------------------------------- */

static enum wp_rc say_absent(const struct wp_message_reader *r, const struct wp_event *e,
			     const char *what, const char *column, struct wp_error *error)
{
	struct wp_excerpt id;

	return wp_error_set(error, WP_DATA, "%s, id %s: the content has no %s (member \"%s\")",
			    r->table, wp_excerpt(&id, e->id), what, column);
}

static enum wp_rc check_message_nulls(const struct wp_message_reader *r, const struct wp_event *e,
				      struct wp_error *error)
{
	const struct wp_outbox_options *o = r->options;

	if (wp_span_is_null(e->id))
		return say_absent(r, e, "id", o->column_id, error);
	if (wp_span_is_null(e->route))
		return say_absent(r, e, "raw topic", o->route_by, error);
	if (wp_span_is_null(e->key) && o->key_null != WP_KEY_NULL_ALLOW)
		return say_absent(r, e, "key", o->column_key, error);
	return WP_OK;
}

static enum wp_rc read_protobuf(const struct wp_message_reader *r, struct wp_span content,
				struct wp_buffer *texts, struct wp_event *e, struct wp_error *error)
{
	enum wp_rc rc = wp_message_protobuf(content, texts, e);

	if (rc == WP_OK)
		return rc;
	if (rc == WP_NOMEM)
		return wp_error_set(error, rc, "out of memory for a logical message of %zu bytes",
				    content.size);
	return wp_error_set(error, WP_DATA,
			    "%s: the content is not a walpost.v1.Message: truncated, of another "
			    "format, or with more than %d headers; see outbox.message.format",
			    r->table, WP_EVENT_FIELDS_MAX);
}

enum wp_rc wp_message_event(const struct wp_message_reader *r, struct wp_span content,
			    const char *encoding, struct wp_buffer *texts, struct wp_event *ret,
			    struct wp_error *error)
{
	enum wp_message_format format = r->options->message_format;
	enum wp_rc rc;

	clear_event(r, ret);
	ret->content = content; /* for its dead letter: no row has what it holds */
	if (format == WP_MESSAGE_PROTOBUF)
		ret->payload_type = &bytes_type;
	rc = format == WP_MESSAGE_JSON ? read_text_content(r, content, encoding, texts, ret, error)
				       : read_protobuf(r, content, texts, ret, error);
	/* What could not be read to its end has no key that one may rely on. */
	ret->key_is_unknown = rc == WP_DATA;
	if (rc == WP_OK)
		rc = check_message_nulls(r, ret, error);
	ret->is_refused = rc == WP_DATA;
	return rc;
}
