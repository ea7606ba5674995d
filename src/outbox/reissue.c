#include "reissue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/hex.h"
#include "walpost/base/json.h"
#include "walpost/outbox/message.h"
#include "walpost/outbox/names.h"
#include "walpost/outbox/route.h"

/* This is a few times as much as WP_COLUMNS_MAX columns take. */
enum { DESCRIPTION_SIZE_MAX = 1024 * 1024 };

/* This is the mapping of an outbox's last row, and of which columns that was. */
struct made {
	const struct wp_outbox *outbox;
	struct wp_mapping *mapping; /* owned */
	struct wp_buffer description;
	unsigned age; /* of the facts that it was made with */
};

struct wp_reissues {
	struct wp_column columns[WP_COLUMNS_MAX];
	struct wp_value values[WP_COLUMNS_MAX];
	size_t count;
	struct wp_buffer texts;	      /* names and values, unescaped */
	struct wp_buffer description; /* of the columns: names, types, modifiers */
	struct wp_buffer content;     /* a message's */
	struct wp_buffer header;
	struct wp_buffer target;		/* outbox and topic */
	char relation[WP_TABLE_NAME_TEXT_SIZE]; /* of the row; "": the outbox's table */
	struct wp_table_name table;	  /* the outbox's, or the one of a pattern that is named */
	struct wp_outbox_options lenient; /* of the fallback */
	struct wp_mapping *fallback;	  /* owned; of the last row that cannot become an event */
	size_t outbox_count;
	struct made made[];
};

/* -- what a row says ---------------------------------------------------------- */

/* A jsonb in binary is a version and the text; a later version is for a later walpost. */
static bool take_json(const struct wp_value *value, struct wp_span *ret)
{
	*ret = value->bytes;
	if (value->kind != WP_VALUE_BINARY)
		return true;
	if (value->bytes.size == 0 || value->bytes.data[0] != 1)
		return false;
	*ret = (struct wp_span){ .data = value->bytes.data + 1, .size = value->bytes.size - 1 };
	return true;
}

enum wp_rc wp_reissue_read(const struct wp_relation *relation, const struct wp_tuple *tuple,
			   struct wp_reissue *ret, struct wp_error *error)
{
	static const char *const names[] = { "slot",   "outbox",   "row", "content",
					     "reason", "position", "kind" };
	const struct wp_value *values[sizeof(names) / sizeof(names[0])];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int index = wp_relation_column(relation, wp_span_of(names[i]));
		if (index < 0 || (size_t)index >= tuple->count)
			return wp_error_set(error, WP_DATA,
					    "a row of walpost.reissue is not sent: the table has "
					    "no column \"%s\": restore it as in sql/reissue.sql",
					    names[i]);
		values[i] = &tuple->values[index];
	}
	*ret = (struct wp_reissue){
		.slot = values[0]->bytes,
		.outbox = values[1]->bytes,
		.content = values[3]->bytes,
		.is_hex = values[3]->kind == WP_VALUE_TEXT,
		.reason = values[4]->bytes,
		.position = values[5]->bytes,
		.is_mark = wp_span_is(values[6]->bytes, "mark"),
	};
	if (!take_json(values[2], &ret->row))
		return wp_error_set(error, WP_DATA,
				    "a row of walpost.reissue is not sent: its column \"row\" is "
				    "not a jsonb of version 1");
	return WP_OK;
}

static const struct wp_outbox *outbox_of_table(const struct wp_outbox_set *outboxes,
					       struct wp_span name)
{
	char text[WP_TABLE_NAME_TEXT_SIZE];
	struct wp_table_name table;

	if (name.size >= sizeof(text))
		return NULL;
	(void)snprintf(text, sizeof(text), "%.*s", (int)name.size, (const char *)name.data);
	if (wp_table_name_parse(text, &table, NULL) != WP_OK)
		return NULL;
	return wp_outbox_set_table(outboxes, wp_span_of(table.schema), wp_span_of(table.name));
}

static const struct wp_outbox *find_reissue_outbox(const struct wp_outbox_set *outboxes,
						   const struct wp_reissue *reissue)
{
	const struct wp_outbox *outbox = NULL;

	if (wp_span_is_null(reissue->outbox))
		return NULL;
	/* A row with neither is wrong, or was cut: its name tells what it is. */
	if (wp_span_is_null(reissue->content))
		outbox = outbox_of_table(outboxes, reissue->outbox);
	if (outbox == NULL && wp_span_is_null(reissue->row))
		outbox = wp_outbox_set_prefix(outboxes, reissue->outbox);
	return outbox;
}

static const struct wp_outbox *find_parked(const struct wp_outbox_set *outboxes,
					   const struct wp_reissue *reissue)
{
	const struct wp_outbox *outbox = wp_outbox_set_named(outboxes, reissue->outbox);

	return outbox != NULL ? outbox : outbox_of_table(outboxes, reissue->outbox);
}

/* Splits "OUTBOX -> TOPIC" into its parts. No name of a topic has an arrow in it. */
static bool split_destination(struct wp_reissue *reissue)
{
	static const char arrow[] = WP_REISSUE_ARROW;
	const size_t arrow_size = sizeof(arrow) - 1;
	const struct wp_span name = reissue->outbox;
	char topic[WP_TOPIC_SIZE];
	size_t at = name.size;

	while (at > arrow_size && memcmp(name.data + at - arrow_size, arrow, arrow_size) != 0)
		at--;
	if (at <= arrow_size || name.size - at >= sizeof(topic))
		return false;
	(void)snprintf(topic, sizeof(topic), "%.*s", (int)(name.size - at),
		       (const char *)name.data + at);
	reissue->topic = (struct wp_span){ .data = name.data + at, .size = name.size - at };
	reissue->outbox.size = at - arrow_size;
	return wp_topic_name_trouble(topic) == NULL;
}

/* A table or prefix of the whole name goes first. */
static const struct wp_outbox *find_or_split(
	const struct wp_outbox_set *outboxes, struct wp_reissue *reissue,
	const struct wp_outbox *(*find_it)(const struct wp_outbox_set *, const struct wp_reissue *))
{
	const struct wp_outbox *outbox = find_it(outboxes, reissue);
	struct wp_reissue parts = *reissue;

	if (outbox != NULL || wp_span_is_null(reissue->outbox) || !split_destination(&parts))
		return outbox;
	outbox = find_it(outboxes, &parts);
	if (outbox != NULL)
		*reissue = parts;
	return outbox;
}

const struct wp_outbox *wp_reissue_outbox(const struct wp_outbox_set *outboxes,
					  struct wp_reissue *reissue)
{
	return find_or_split(outboxes, reissue, find_reissue_outbox);
}

const struct wp_outbox *wp_reissue_parked_outbox(const struct wp_outbox_set *outboxes,
						 struct wp_reissue *reissue)
{
	return find_or_split(outboxes, reissue, find_parked);
}

/* -- life --------------------------------------------------------------------- */

enum wp_rc wp_reissues_new(size_t outboxes, size_t texts_max, struct wp_reissues **ret)
{
	struct wp_reissues *r = calloc(1, sizeof(*r) + outboxes * sizeof(r->made[0]));

	if (r == NULL)
		return WP_NOMEM;
	wp_buffer_init(&r->texts, texts_max);
	wp_buffer_init(&r->description, DESCRIPTION_SIZE_MAX);
	wp_buffer_init(&r->content, texts_max);
	wp_buffer_init(&r->header, texts_max);
	wp_buffer_init(&r->target, texts_max);
	r->outbox_count = outboxes;
	for (size_t i = 0; i < outboxes; i++)
		wp_buffer_init(&r->made[i].description, DESCRIPTION_SIZE_MAX);
	*ret = r;
	return WP_OK;
}

void wp_reissues_free(struct wp_reissues *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < r->outbox_count; i++) {
		wp_mapping_free(r->made[i].mapping);
		wp_buffer_release(&r->made[i].description);
	}
	wp_mapping_free(r->fallback);
	wp_buffer_release(&r->texts);
	wp_buffer_release(&r->description);
	wp_buffer_release(&r->content);
	wp_buffer_release(&r->header);
	wp_buffer_release(&r->target);
	free(r);
}

/* -- the columns of a row ------------------------------------------------------- */

/* Room for all that is unescaped was made before: it does not move. */
static enum wp_rc unescape_text(struct wp_reissues *r, struct wp_span string, struct wp_span *ret)
{
	size_t start = r->texts.size;
	enum wp_rc rc = wp_json_unescape(string, &r->texts);

	if (rc == WP_OK) /* the quotes leave room for it */
		rc = wp_buffer_append_byte(&r->texts, '\0');
	if (rc == WP_OK)
		*ret = (struct wp_span){ .data = r->texts.data + start,
					 .size = r->texts.size - start - 1 };
	return rc;
}

static bool read_bounded_number(const struct wp_json *json, int64_t min, int64_t max, int64_t *ret)
{
	char digits[16] = "";
	char *end = digits;

	if (json->kind != WP_JSON_NUMBER || json->text.size >= sizeof(digits))
		return false;
	memcpy(digits, json->text.data, json->text.size);
	*ret = strtoll(digits, &end, 10);
	return end == digits + json->text.size && *ret >= min && *ret <= max;
}

/* Takes one member of a column's description. WP_DATA: it is not what it should be. */
static enum wp_rc take_member(struct wp_reissues *r, struct wp_span quoted,
			      const struct wp_json *json, unsigned *seen)
{
	struct wp_column *column = &r->columns[r->count];
	struct wp_value *value = &r->values[r->count];
	int64_t number = 0;

	if (wp_span_is(quoted, "\"name\"")) {
		*seen |= 1;
		return json->kind == WP_JSON_STRING ? unescape_text(r, json->text, &column->name)
						    : WP_DATA;
	}
	if (wp_span_is(quoted, "\"type\"")) {
		*seen |= 2;
		bool is_oid = read_bounded_number(json, 1, UINT32_MAX, &number);
		column->type_oid = (uint32_t)number;
		return is_oid ? WP_OK : WP_DATA;
	}
	if (wp_span_is(quoted, "\"modifier\"")) {
		bool is_modifier = read_bounded_number(json, INT32_MIN, INT32_MAX, &number);
		column->type_modifier = (int32_t)number;
		return is_modifier ? WP_OK : WP_DATA;
	}
	if (!wp_span_is(quoted, "\"value\""))
		return WP_OK; /* what a later walpost adds */
	*seen |= 4;
	value->kind = json->kind == WP_JSON_NULL ? WP_VALUE_NULL : WP_VALUE_TEXT;
	if (json->kind == WP_JSON_NULL)
		return WP_OK;
	return json->kind == WP_JSON_STRING ? unescape_text(r, json->text, &value->bytes) : WP_DATA;
}

static enum wp_rc describe_column(struct wp_reissues *r, const struct wp_column *column)
{
	const struct {
		uint32_t type_oid;
		int32_t type_modifier;
	} type = { column->type_oid, column->type_modifier };
	const struct wp_span bytes = { .data = (const uint8_t *)&type, .size = sizeof(type) };
	enum wp_rc rc = wp_buffer_append(&r->description, column->name);

	if (rc == WP_OK)
		rc = wp_buffer_append_byte(&r->description, '\0');
	return rc == WP_OK ? wp_buffer_append(&r->description, bytes) : rc;
}

static enum wp_rc take_column(struct wp_reissues *r, const struct wp_json *object)
{
	struct wp_json_walk walk;
	struct wp_span quoted;
	struct wp_json json;
	unsigned seen = 0;
	enum wp_rc rc = WP_OK;

	if (object->kind != WP_JSON_OBJECT || r->count == WP_COLUMNS_MAX)
		return WP_DATA;
	r->columns[r->count] = (struct wp_column){ .type_modifier = -1 };
	r->values[r->count] = (struct wp_value){ .kind = WP_VALUE_NULL };
	wp_json_walk_init(&walk, object);
	while (rc == WP_OK && wp_json_walk_next(&walk, &quoted, &json))
		rc = take_member(r, quoted, &json, &seen);
	if (rc == WP_OK && seen != 7)
		rc = WP_DATA;
	if (rc == WP_OK)
		rc = describe_column(r, &r->columns[r->count]);
	r->count += rc == WP_OK ? 1 : 0;
	return rc;
}

static enum wp_rc take_columns(struct wp_reissues *r, struct wp_span text)
{

	struct wp_json_walk walk;
	struct wp_span none;
	struct wp_json array, element;

	r->count = 0;
	wp_buffer_reset(&r->description);
	wp_buffer_empty(&r->texts, text.size);
	enum wp_rc rc = wp_buffer_reserve(&r->texts, text.size);
	if (rc == WP_OK)
		rc = wp_buffer_append_text(&r->description, r->relation);
	if (rc == WP_OK)
		rc = wp_buffer_append_text(&r->description, r->table.schema);
	if (rc == WP_OK)
		rc = wp_buffer_append_byte(&r->description, '\0');
	if (rc == WP_OK)
		rc = wp_buffer_append_text(&r->description, r->table.name);
	if (rc == WP_OK)
		rc = wp_json_read(text, &array, NULL);
	if (rc == WP_OK && array.kind != WP_JSON_ARRAY)
		rc = WP_DATA;
	if (rc != WP_OK)
		return rc;
	wp_json_walk_init(&walk, &array);
	while (rc == WP_OK && wp_json_walk_next(&walk, &none, &element))
		rc = take_column(r, &element);
	return rc;
}

/* WP_DATA with the error: there are no columns then. */
static enum wp_rc read_columns(struct wp_reissues *r, struct wp_span text, struct wp_error *error)
{
	enum wp_rc rc = wp_span_is_null(text) ? WP_DATA : take_columns(r, text);

	if (rc == WP_OK || rc == WP_NOMEM)
		return rc;
	r->count = 0;
	return wp_error_set(error, WP_DATA,
			    "its column \"row\" is not an array of objects with name, type, "
			    "modifier and value: insert it by walpost.reissue()");
}

/* -- rows ------------------------------------------------------------------------ */

/* The relation is the one that its Relation message would have told, when the row was taken. */
static enum wp_rc map_reissued(const struct wp_reissues *r, const struct wp_outbox *outbox,
			       const struct wp_outbox_options *options,
			       const struct wp_reissue_facts *facts, struct wp_mapping **ret,
			       struct wp_error *error)
{
	struct wp_table_name table = r->table;
	enum wp_rc rc =
		r->relation[0] != '\0' ? wp_table_name_parse(r->relation, &table, error) : WP_OK;
	const struct wp_relation relation = {
		.schema = wp_span_of(table.schema),
		.name = wp_span_of(table.name),
		.columns = r->columns,
		.column_count = r->count,
	};
	const struct wp_mapping_setup setup = {
		.options = options,
		.relation = &relation,
		.types = facts->types,
		.facts = facts->columns,
		.table = outbox->table,
		.origin = { wp_span_of(r->table.schema), wp_span_of(r->table.name) },
		.columns = WP_COLUMNS_KNOWN,
		.transfer = WP_TRANSFER_TEXT,
	};

	return rc == WP_OK ? wp_mapping_new(&setup, ret, error) : rc;
}

static struct made *made_of(struct wp_reissues *r, const struct wp_outbox *outbox)
{
	size_t i = 0;

	while (i + 1 < r->outbox_count && r->made[i].outbox != NULL && r->made[i].outbox != outbox)
		i++;
	return &r->made[i];
}

/* WP_CONFIG with the error: a column is of a type that does not do. */
static enum wp_rc find_mapping(struct wp_reissues *r, const struct wp_outbox *outbox,
			       const struct wp_reissue_facts *facts, const struct wp_mapping **ret,
			       struct wp_error *error)
{
	struct made *made = made_of(r, outbox);
	struct wp_mapping *mapping = NULL;

	if (made->mapping == NULL || made->outbox != outbox || made->age != facts->age ||
	    !wp_span_equal(wp_buffer_span(&made->description), wp_buffer_span(&r->description))) {
		enum wp_rc rc = map_reissued(r, outbox, outbox->options, facts, &mapping, error);
		if (rc != WP_OK)
			return rc;
		struct wp_buffer before = made->description;
		wp_mapping_free(made->mapping);
		*made = (struct made){
			.outbox = outbox,
			.mapping = mapping,
			.description = r->description,
			.age = facts->age,
		};
		r->description = before;
	}
	*ret = made->mapping;
	return WP_OK;
}

/* A value whose type cannot be written is the text that it came as: a dead letter holds it. */
static void write_as_text(const struct wp_column_type **type)
{
	static const struct wp_column_type text = {
		.type = WP_TYPE_TEXT,
		.modifier = -1,
		.is_optional = true,
	};

	if (!wp_render_knows(*type))
		*type = &text;
}

static void write_fields_as_text(struct wp_event_fields *fields)
{
	for (size_t i = 0; i < fields->count; i++)
		write_as_text(&fields->items[i].type);
}

static void write_all_as_text(struct wp_event *event)
{
	write_as_text(&event->id_type);
	write_as_text(&event->key_type);
	write_as_text(&event->type_type);
	write_as_text(&event->payload_type);
	write_fields_as_text(&event->headers);
	write_fields_as_text(&event->members);
	write_fields_as_text(&event->extensions);
}

/* Names what can be named of it, whatever its types are. */
static enum wp_rc name_reissued_event(struct wp_reissues *r, const struct wp_outbox *outbox,
				      const struct wp_reissue_facts *facts,
				      const struct wp_tuple *row, struct wp_event *ret)
{
	struct wp_error error;

	r->lenient = *outbox->options;
	r->lenient.types = WP_RENDERING_POSTGRES;
	r->lenient.column_timestamp = r->lenient.column_partition = "";
	r->lenient.column_expires = "";
	r->lenient.debezium_schema_version = "";
	wp_mapping_free(r->fallback);
	r->fallback = NULL;
	enum wp_rc rc = map_reissued(r, outbox, &r->lenient, facts, &r->fallback, &error);
	if (rc == WP_OK)
		rc = wp_mapping_event(r->fallback, row, &r->texts, ret, &error);
	if (rc != WP_OK && rc != WP_DATA)
		return rc;
	write_all_as_text(ret);
	ret->is_refused = true;
	return WP_DATA;
}

/* A name that is none is taken for the outbox's own. */
static void take_relation_name(struct wp_reissues *r, struct wp_span name)
{
	struct wp_table_name table;

	(void)snprintf(r->relation, sizeof(r->relation), "%.*s",
		       wp_span_is_null(name) ? 0 : (int)name.size,
		       wp_span_is_null(name) ? "" : (const char *)name.data);
	if (name.size >= sizeof(r->relation) ||
	    wp_table_name_parse(r->relation, &table, NULL) != WP_OK)
		r->relation[0] = '\0';
}

/* Takes the outbox's table, or of a pattern's tables the one that the row names. */
static enum wp_rc take_table_name(struct wp_reissues *r, const struct wp_outbox *outbox,
				  struct wp_span name, struct wp_error *error)
{
	char text[WP_TABLE_NAME_TEXT_SIZE];

	if (!outbox->is_pattern)
		return wp_table_name_parse(outbox->options->table, &r->table, error);
	(void)snprintf(text, sizeof(text), "%.*s", (int)name.size, (const char *)name.data);
	return wp_table_name_parse(text, &r->table, error);
}

static enum wp_rc row_event(struct wp_reissues *r, const struct wp_reissue *reissue,
			    const struct wp_outbox *outbox, const struct wp_reissue_facts *facts,
			    struct wp_event *ret, struct wp_error *error)
{
	const struct wp_mapping *mapping;
	struct wp_error inner;

	take_relation_name(r, reissue->relation);
	enum wp_rc rc = take_table_name(r, outbox, reissue->outbox, error);
	if (rc != WP_OK)
		return rc;
	rc = read_columns(r, reissue->row, &inner);
	const struct wp_tuple row = { .values = r->values, .count = r->count };
	if (rc == WP_OK)
		rc = find_mapping(r, outbox, facts, &mapping, &inner);
	if (rc == WP_OK)
		return wp_mapping_event(mapping, &row, &r->texts, ret, error);
	if (rc == WP_NOMEM)
		return rc;
	rc = name_reissued_event(r, outbox, facts, &row, ret);
	if (rc != WP_DATA)
		return wp_error_set(error, rc, "%s", inner.text);
	ret->key_is_unknown = wp_span_is_null(ret->key);
	return wp_error_set(error, rc, "a row of walpost.reissue for table %.*s: %s",
			    (int)reissue->outbox.size, (const char *)reissue->outbox.data,
			    inner.text);
}

/* -- messages ---------------------------------------------------------------------- */

/* Decodes \x and pairs of digits, which are the server's own. */
static enum wp_rc decode_content(struct wp_reissues *r, struct wp_span text, struct wp_span *ret)
{
	wp_buffer_empty(&r->content, text.size / 2);
	enum wp_rc rc = wp_buffer_reserve(&r->content, text.size / 2);

	for (size_t i = 2; i + 1 < text.size && rc == WP_OK; i += 2) {
		int high = wp_hex_value(text.data[i]), low = wp_hex_value(text.data[i + 1]);
		rc = wp_buffer_append_byte(&r->content, (uint8_t)((high << 4 | low) & 0xff));
	}
	*ret = wp_buffer_span(&r->content);
	return rc;
}

static enum wp_rc message_event(struct wp_reissues *r, const struct wp_reissue *reissue,
				const struct wp_outbox *outbox, const char *encoding,
				struct wp_event *ret, struct wp_error *error)
{
	struct wp_span content = reissue->content;
	enum wp_rc rc = WP_OK;

	if (wp_span_is_null(content))
		content = wp_span_of(""); /* which is refused as no content */
	else if (reissue->is_hex)
		rc = decode_content(r, content, &content);
	return rc == WP_OK ? wp_message_event(outbox->messages, content, encoding, &r->texts, ret,
					      error)
			   : rc;
}

/* -- both --------------------------------------------------------------------------- */

/* Writes "reason; position". */
static enum wp_rc write_header(struct wp_reissues *r, const struct wp_reissue *reissue)
{
	wp_buffer_empty(&r->header, 0);
	enum wp_rc rc = wp_buffer_append(&r->header, reissue->reason);

	if (rc == WP_OK && !wp_span_is_null(reissue->position))
		rc = wp_buffer_append_text(&r->header, "; ");
	if (rc == WP_OK && !wp_span_is_null(reissue->position))
		rc = wp_buffer_append(&r->header, reissue->position);
	return rc;
}

/* Writes "OUTBOX -> TOPIC", the outbox by the one name that it has. */
static enum wp_rc write_target(struct wp_reissues *r, const struct wp_outbox *outbox,
			       struct wp_span name, struct wp_span topic)
{
	if (wp_span_is_null(topic))
		return WP_OK;
	wp_buffer_empty(&r->target, 0);
	enum wp_rc rc =
		wp_buffer_append(&r->target, outbox->is_pattern ? name : wp_span_of(outbox->name));
	if (rc == WP_OK)
		rc = wp_buffer_append_text(&r->target, WP_REISSUE_ARROW);
	if (rc == WP_OK)
		rc = wp_buffer_append(&r->target, topic);
	return rc == WP_OK ? wp_buffer_append_byte(&r->target, '\0') : rc;
}

static void set_target(const struct wp_reissues *r, struct wp_span topic, struct wp_event *ret)
{
	ret->topic = topic;
	if (wp_span_is_null(topic))
		return;
	ret->target = (const char *)r->target.data;
	ret->topic.data = r->target.data + r->target.size - 1 - topic.size;
}

enum wp_rc wp_reissues_event(struct wp_reissues *r, const struct wp_reissue *reissue,
			     const struct wp_outbox *outbox, const struct wp_reissue_facts *facts,
			     struct wp_event *ret, struct wp_error *error)
{
	bool is_row = outbox->messages == NULL || !wp_span_is_null(reissue->row) ||
		      (wp_span_is_null(reissue->content) &&
		       !wp_span_is(reissue->outbox, outbox->options->message_prefix));
	enum wp_rc rc = write_header(r, reissue);

	if (rc == WP_OK)
		rc = write_target(r, outbox, reissue->outbox, reissue->topic);
	if (rc == WP_OK)
		rc = is_row ? row_event(r, reissue, outbox, facts, ret, error)
			    : message_event(r, reissue, outbox, facts->encoding, ret, error);
	ret->reissued = wp_buffer_span(&r->header);
	if (rc != WP_NOMEM) /* then there may be no target */
		set_target(r, reissue->topic, ret);
	return rc == WP_NOMEM
		       ? wp_error_set(error, rc, "out of memory for a row of walpost.reissue")
		       : rc;
}
