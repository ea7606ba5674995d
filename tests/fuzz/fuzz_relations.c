/*
 * Tables and rows as no server would send them: a program of Type, Relation and
 * Insert messages through relations, mapping and shape. A binary row must give the
 * record that the same row gives when it is sent as text; the text is made here, by
 * another hand, for the types whose text is easily made.
 *
 *   Byte1 options   then steps: Byte1 kind (mod 4) and
 *     type      Byte1 name (0x40: an enum)  Byte1 oid
 *     relation  Byte1 oid  Byte1 count  { Byte1 name  Byte1 type } ...
 *     insert    Byte1 oid  { Byte1 kind  [Byte1 size (15: Int16 follows)  bytes] } ...
 */
#include <string.h>

#include "fuzz.h"
#include "support/rows.h"
#include "walpost/outbox/shape.h"
#include "walpost/outbox/table.h"

#define RELATIONS_MAX 4
#define COLUMNS_MAX 12
#define ROOM 65536
#define VALUE_SIZE_MAX 20000

static const char *const names[] = { "id",	"aggregatetype", "aggregateid", "type",
				     "payload", "tenant",	 "we,ird",	"" };
static const uint32_t oids[] = { 25,   17, 2950,  3802,	 114,	1043, 1042, 19,
				 1184, 23, 16400, 16401, 16402, 1009, 0,    UINT32_MAX };
static const char *const types[] = { "text", "bytea", "uuid",	 "jsonb", "json",
				     "name", "int4",  "varchar", "mood",  "_text" };

struct input {
	const uint8_t *at;
	size_t left;
};

struct row {
	struct wp_value binary[COLUMNS_MAX];
	struct wp_value text[COLUMNS_MAX];
	bool known; /* every value that is mapped has a form that we know */
};

static uint8_t room[ROOM]; /* of the texts made here */
static size_t room_used;
static size_t sum; /* so that reading is no dead code */

static void drop(void *attached)
{
	free(attached);
}

static uint8_t take(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

static struct wp_span take_bytes(struct input *in)
{
	size_t size = take(in) % 24;

	if (size == 15)
		size = (size_t)take(in) << 8 | take(in);
	if (size > in->left)
		size = in->left;
	struct wp_span bytes = { .data = in->at, .size = size };
	in->at += size;
	in->left -= size;
	return bytes;
}

/* -- the naive printer ---------------------------------------------------- */

static struct wp_span hex(struct wp_span bytes, const char *before, const char *dashes_behind)
{
	char *to = (char *)room + room_used;
	size_t size = strlen(before);

	if (room_used + size + 3 * bytes.size + 1 > ROOM)
		return (struct wp_span){ 0 };
	memcpy(to, before, size);
	for (size_t i = 0; i < bytes.size; i++) {
		size += (size_t)snprintf(to + size, 3, "%02x", bytes.data[i]);
		if (dashes_behind[0] != '\0' && strchr(dashes_behind, 'a' + (int)i) != NULL)
			to[size++] = '-';
	}
	room_used += size;
	return (struct wp_span){ .data = (uint8_t *)to, .size = size };
}

/* Null: it has no text. */
static struct wp_span printed(enum wp_type type, struct wp_span bytes)
{
	switch (type) {
	case WP_TYPE_BYTEA:
		return hex(bytes, "\\x", "");
	case WP_TYPE_UUID:
		return bytes.size == 16 ? hex(bytes, "", "dfhj") : (struct wp_span){ 0 };
	case WP_TYPE_JSONB:
		if (bytes.size == 0 || bytes.data[0] != 1)
			return (struct wp_span){ 0 };
		return (struct wp_span){ .data = bytes.data + 1, .size = bytes.size - 1 };
	case WP_TYPE_TEXT:
	case WP_TYPE_ENUM:
	case WP_TYPE_JSON:
		return bytes;
	default:
		return (struct wp_span){ 0 };
	}
}

/* -- messages ------------------------------------------------------------- */

static void tell_type(struct input *in, struct wp_relations *map)
{
	struct wp_change change = { .kind = WP_CHANGE_TYPE };
	uint8_t name = take(in);

	change.as.type.oid = oids[take(in) % 16];
	change.as.type.schema = wp_span_of(name & 0x80 ? "public" : "pg_catalog");
	change.as.type.name = wp_span_of(types[name % 10]);
	enum wp_rc rc = name & 0x40 ? wp_relations_put_enum(map, change.as.type.oid)
				    : wp_relations_put_type(map, &change);
	NEED(rc == WP_OK || rc == WP_FULL);
}

static void tell_relation(struct input *in, struct wp_relations *map)
{
	struct wp_column columns[COLUMNS_MAX];
	struct wp_change change = { .kind = WP_CHANGE_RELATION };
	struct wp_relation *relation;

	change.as.relation.oid = take(in) % 6;
	change.as.relation.schema = wp_span_of("public");
	change.as.relation.name = wp_span_of("out \"box");
	change.as.relation.columns = columns;
	size_t count = change.as.relation.column_count = take(in) % (COLUMNS_MAX + 1);
	for (size_t i = 0; i < count; i++) {
		uint8_t name = take(in);
		columns[i] = (struct wp_column){
			.name = wp_span_of(names[name % 8]),
			.type_oid = oids[take(in) % 16],
		};
	}
	enum wp_rc rc = wp_relations_put(map, &change, &relation);
	NEED(rc == WP_OK || rc == WP_FULL);
}

static void read_row(struct input *in, const struct wp_relations *map,
		     const struct wp_relation *relation, struct row *row)
{
	room_used = 0;
	row->known = true;
	for (size_t i = 0; i < relation->column_count; i++) {
		enum wp_type type = wp_relations_type(map, relation->columns[i].type_oid);
		uint8_t kind = take(in) % 8;
		row->binary[i] = row->text[i] = (struct wp_value){ .kind = WP_VALUE_NULL };
		if (kind == 0)
			continue;
		struct wp_span bytes = take_bytes(in);
		row->binary[i].bytes = row->text[i].bytes = bytes;
		row->binary[i].kind = row->text[i].kind = WP_VALUE_TEXT;
		if (kind == 1 ||
		    !wp_type_is_read_in_binary(
			    type, wp_relations_element(map, relation->columns[i].type_oid)))
			continue;
		row->binary[i].kind = WP_VALUE_BINARY;
		row->text[i].bytes = printed(type, bytes);
		row->known = row->known && !wp_span_is_null(row->text[i].bytes);
	}
}

/* -- what must hold ------------------------------------------------------- */

static void read_all(struct wp_span s)
{
	for (size_t i = 0; i < s.size; i++)
		sum += s.data[i];
}

static void check_record(const struct wp_record *record)
{
	NEED(record->topic.size > 0 && record->topic.size < 250);
	NEED(strlen((const char *)record->topic.data) == record->topic.size);
	read_all(record->key);
	read_all(record->value);
	for (size_t i = 0; i < record->header_count; i++) {
		NEED(strlen((const char *)record->headers[i].name.data) ==
		     record->headers[i].name.size);
		read_all(record->headers[i].value);
	}
	sum += wp_record_size(record);
}

static void need_same(struct wp_span a, struct wp_span b)
{
	NEED(wp_span_is_null(a) == wp_span_is_null(b));
	NEED(wp_span_equal(a, b));
}

static void need_same_records(const struct wp_record *a, const struct wp_record *b)
{
	need_same(a->topic, b->topic);
	need_same(a->key, b->key);
	need_same(a->value, b->value);
	NEED(a->header_count == b->header_count);
	for (size_t i = 0; i < a->header_count; i++)
		need_same(a->headers[i].value, b->headers[i].value);
}

/* One way of a row: its mapping, what it prints, its shape. */
struct way {
	struct wp_outbox_options options;
	struct wp_shape *shape;
	struct wp_buffer texts;
	struct wp_record record;
};

static enum wp_rc go(struct way *way, const struct wp_relations *map,
		     const struct wp_relation *relation, enum wp_transfer transfer,
		     const struct wp_value *values)
{
	struct wp_mapping *mapping = NULL;
	struct wp_event event;
	struct wp_error error = { "" };
	const struct wp_tuple row = { .values = values, .count = relation->column_count };

	const struct wp_mapping_setup setup = {
		.options = &way->options,
		.relation = relation,
		.types = map,
		.columns = WP_COLUMNS_ALL,
		.transfer = transfer,
	};

	enum wp_rc rc = wp_mapping_new(&setup, &mapping, &error);
	if (rc == WP_OK) {
		rc = wp_mapping_event(mapping, &row, &way->texts, &event, &error);
		event.commit_time_us = 1;
		event.position = (struct wp_position){ .commit_lsn = 1 };
		if (rc == WP_OK || rc == WP_DATA)
			read_all(event.id);
	}
	if (rc == WP_OK)
		rc = wp_shape_record(way->shape, &event, &way->record, &error);
	if (rc == WP_OK)
		check_record(&way->record);
	else
		NEED(error.text[0] != '\0');
	NEED(rc == WP_OK || rc == WP_CONFIG || rc == WP_DATA || rc == WP_PROTO);
	wp_mapping_free(mapping);
	return rc;
}

static void take_row(struct input *in, struct wp_relations *map, struct way ways[2])
{
	struct wp_relation *relation = wp_relations_find(map, take(in) % 6);
	struct row row;

	if (relation == NULL)
		return;
	if (relation->attached == NULL)
		relation->attached = malloc(1);
	read_row(in, map, relation, &row);
	enum wp_rc text = go(&ways[0], map, relation, WP_TRANSFER_TEXT, row.text);
	enum wp_rc binary = go(&ways[1], map, relation, WP_TRANSFER_BINARY, row.binary);
	if (binary == WP_OK && row.known)
		NEED(text == WP_OK);
	if (binary == WP_OK && text == WP_OK && row.known)
		need_same_records(&ways[1].record, &ways[0].record);
}

/* -- the program ---------------------------------------------------------- */

static void open_way(struct way *way, uint8_t choice)
{
	way->options = default_options();
	if (choice & 1)
		way->options.column_type = "";
	if (choice & 2)
		way->options.topic_regex = "(?<routedByValue>[a-z]+)-(\\d+)";
	if (choice & 4)
		way->options.headers_standard = "id";
	if (choice & 8)
		way->options.headers = "tenant:x,\"we,ird\",payload:p,id";
	if (choice & 16)
		way->options.headers_source = "here";
	if (choice & 32)
		way->options.envelope = WP_ENVELOPE_PROTOBUF;
	if (choice & 64)
		way->options.key_null = WP_KEY_NULL_ALLOW;
	NEED(wp_shape_new(&way->options, VALUE_SIZE_MAX, &way->shape, NULL) == WP_OK);
	wp_buffer_init(&way->texts, VALUE_SIZE_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct way ways[128][2]; /* kept from run to run, as a relay keeps them */
	struct input in = { .at = data, .left = size };
	uint8_t choice = take(&in) % 128;
	struct wp_relations *map;

	for (size_t i = 0; i < 2; i++) {
		if (ways[choice][i].shape == NULL)
			open_way(&ways[choice][i], choice);
	}
	NEED(wp_relations_new(RELATIONS_MAX, drop, &map) == WP_OK);
	while (in.left > 0) {
		switch (take(&in) % 4) {
		case 0:
			tell_type(&in, map);
			break;
		case 1:
			tell_relation(&in, map);
			break;
		default:
			take_row(&in, map, ways[choice]);
		}
	}
	wp_relations_free(map);
	return 0;
}
