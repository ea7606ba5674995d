/*
 * A session of pgoutput messages: each is Int16 size and so many bytes. What is
 * decoded is used as the relay uses it: relations and types go into the map, and
 * a row is looked at with the columns of its relation.
 */
#include <string.h>

#include "fuzz.h"
#include "walpost/wal/relations.h"

#define RELATIONS_MAX 8

/* The message that is decoded, in memory of just its size. */
static uint8_t *message;
static size_t message_size;
static size_t sum; /* of all bytes given, so that reading them is no dead code */

static void free_attached(void *attached)
{
	free(attached);
}

static void need_inside(struct wp_span s)
{
	NEED(!wp_span_is_null(s));
	NEED(s.data >= message);
	NEED(s.size <= message_size);
	NEED(s.data - message <= (ptrdiff_t)(message_size - s.size));
	for (size_t i = 0; i < s.size; i++)
		sum += s.data[i];
}

static void need_name(struct wp_span name)
{
	NEED(!wp_span_is_null(name));
	NEED(strlen((const char *)name.data) == name.size);
}

static void check_tuple(struct wp_tuple tuple, int unchanged_is_fine)
{
	NEED(tuple.count <= WP_COLUMNS_MAX);
	for (size_t i = 0; i < tuple.count; i++) {
		const struct wp_value *value = &tuple.values[i];
		if (value->kind == WP_VALUE_TEXT || value->kind == WP_VALUE_BINARY)
			need_inside(value->bytes);
		else
			NEED(wp_span_is_null(value->bytes));
		NEED(unchanged_is_fine || value->kind != WP_VALUE_UNCHANGED);
	}
}

static void check_insert(struct wp_relations *map, const struct wp_change *change)
{
	struct wp_relation *relation = wp_relations_find(map, change->as.insert.relation_oid);

	check_tuple(change->as.insert.tuple, 0);
	if (relation == NULL)
		return;
	NEED(relation->oid == change->as.insert.relation_oid);
	if (relation->attached == NULL)
		relation->attached = malloc(1);
	for (size_t i = 0; i < relation->column_count; i++)
		sum += wp_relations_type(map, relation->columns[i].type_oid);
}

static void check_relation(struct wp_relations *map, const struct wp_change *change)
{
	struct wp_relation *relation;

	NEED(change->as.relation.column_count <= WP_COLUMNS_MAX);
	need_name(change->as.relation.schema);
	NEED(change->as.relation.schema.size > 0);
	need_name(change->as.relation.name);
	enum wp_rc rc = wp_relations_put(map, change, &relation);
	NEED(rc == WP_OK || rc == WP_FULL);
	if (rc != WP_OK)
		return;
	NEED(wp_relations_find(map, change->as.relation.oid) == relation);
	NEED(wp_span_equal(relation->name, change->as.relation.name));
	for (size_t i = 0; i < relation->column_count; i++) {
		need_name(change->as.relation.columns[i].name);
		need_name(relation->columns[i].name);
		int index = wp_relation_column(relation, change->as.relation.columns[i].name);
		NEED(index >= 0 && (size_t)index <= i);
	}
}

static void check(struct wp_relations *map, const struct wp_change *change)
{
	switch (change->kind) {
	case WP_CHANGE_RELATION:
		check_relation(map, change);
		break;
	case WP_CHANGE_TYPE: {
		need_name(change->as.type.name);
		enum wp_rc rc = wp_relations_put_type(map, change);
		NEED(rc == WP_OK || rc == WP_FULL);
		break;
	}
	case WP_CHANGE_INSERT:
		check_insert(map, change);
		break;
	case WP_CHANGE_UPDATE:
		check_tuple(change->as.update.tuple, 1);
		break;
	case WP_CHANGE_DELETE:
		check_tuple(change->as.del.tuple, 1);
		break;
	case WP_CHANGE_MESSAGE:
		need_name(change->as.message.prefix);
		need_inside(change->as.message.content);
		break;
	case WP_CHANGE_ORIGIN:
		need_name(change->as.origin.name);
		break;
	case WP_CHANGE_BEGIN:
	case WP_CHANGE_COMMIT:
	case WP_CHANGE_TRUNCATE:
		break;
	}
}

/* As of a message that was cut there. */
static void check_beginning(const struct wp_change *change)
{
	switch (change->kind) {
	case WP_CHANGE_INSERT:
		NEED(change->as.insert.tuple.count > 0);
		check_tuple(change->as.insert.tuple, 0);
		break;
	case WP_CHANGE_MESSAGE:
		need_name(change->as.message.prefix);
		NEED(change->as.message.content.size == 0);
		break;
	case WP_CHANGE_UPDATE:
		NEED(change->as.update.relation_oid != 0);
		break;
	default:
		NEED(change->kind == WP_CHANGE_DELETE && change->as.del.relation_oid != 0);
	}
}

/* Takes the next message of the session into `message`. */
static void take_message(const uint8_t **data, size_t *size)
{
	message_size = (size_t)(*data)[0] << 8 | (*data)[1];
	*data += 2;
	*size -= 2;
	if (message_size > *size)
		message_size = *size;
	message = malloc(message_size > 0 ? message_size : 1);
	NEED(message != NULL);
	memcpy(message, *data, message_size);
	*data += message_size;
	*size -= message_size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct wp_pgoutput decoder;
	struct wp_relations *map;

	NEED(wp_relations_new(RELATIONS_MAX, free_attached, &map) == WP_OK);
	while (size >= 2) {
		struct wp_change change;
		struct wp_error error = { "" };
		take_message(&data, &size);
		struct wp_span bytes = { .data = message, .size = message_size };
		if (wp_pgoutput_read(&decoder, bytes, &change, &error) == WP_OK)
			check(map, &change);
		else
			NEED(error.text[0] != '\0');
		error.text[0] = '\0';
		if (wp_pgoutput_read_beginning(&decoder, bytes, &change, &error) == WP_OK)
			check_beginning(&change);
		else
			NEED(error.text[0] != '\0');
		free(message);
	}
	wp_relations_free(map);
	return 0;
}
