#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/wire.h"
#include "walpost/outbox/message.h"
#include "walpost/outbox/outboxes.h"
#include "walpost/outbox/route.h"
#include "walpost/outbox/shape.h"
#include "walpost/outbox/survey.h"
#include "walpost/outbox/table.h"
#include "walpost/wal/pgoutput.h"

#define RELATIONS_MAX 100000

enum use_kind { USE_EVENTS, USE_IGNORED, USE_FOREIGN };

/* Attached to a relation. */
struct use {
	enum use_kind kind;
	const struct wp_outbox *outbox; /* events only */
	struct wp_mapping *mapping;	/* owned; events only */
};

struct wp_survey {
	struct wp_survey_setup setup;
	struct wp_outbox_options *options; /* owned; of all outboxes */
	struct wp_outbox_set *outboxes;
	struct wp_relations *relations;
	struct wp_buffer texts; /* of what is unescaped; of binary values there are none here */
	struct wp_pgoutput decoder;
	struct wp_value values[WP_COLUMNS_MAX]; /* of a cut row */
	wp_lsn commit_lsn;
	int64_t commit_time_us;
	uint32_t ordinal;
	bool counted; /* the current transaction */
	char topic[WP_TOPIC_SIZE];
	struct wp_survey_counts counts;
};

static void use_free(void *attached)
{
	struct use *use = attached;

	if (use == NULL)
		return;
	wp_mapping_free(use->mapping);
	free(use);
}

/* Without what only a record needs: an event is to be named whether or not it can be sent. */
static enum wp_rc new_outboxes(struct wp_survey *s, struct wp_error *error)
{
	struct wp_outboxes outboxes = *s->setup.outboxes;

	s->options = calloc(outboxes.count, sizeof(s->options[0]));
	if (s->options == NULL)
		return wp_error_set(error, WP_NOMEM, "no memory for %zu outboxes", outboxes.count);
	for (size_t i = 0; i < outboxes.count; i++) {
		s->options[i] = outboxes.items[i];
		s->options[i].types = WP_RENDERING_POSTGRES;
		s->options[i].column_timestamp = "";
		s->options[i].column_partition = "";
		s->options[i].debezium_schema_version = "";
	}
	outboxes.items = s->options;
	/* Of a record only its topic is made. */
	return wp_outbox_set_new(&outboxes, 0, &s->outboxes, error);
}

enum wp_rc wp_survey_new(const struct wp_survey_setup *setup, struct wp_survey **ret,
			 struct wp_error *error)
{
	struct wp_survey *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return wp_error_set(error, WP_NOMEM, "no memory for a list of events");
	s->setup = *setup;
	wp_buffer_init(&s->texts, (size_t)INT32_MAX);
	enum wp_rc rc = new_outboxes(s, error);
	if (rc == WP_OK)
		rc = wp_relations_new(RELATIONS_MAX, use_free, &s->relations);
	if (rc != WP_OK) {
		wp_survey_free(s);
		return rc;
	}
	*ret = s;
	return WP_OK;
}

void wp_survey_free(struct wp_survey *s)
{
	if (s == NULL)
		return;
	wp_relations_free(s->relations);
	wp_outbox_set_free(s->outboxes);
	free(s->options);
	wp_buffer_release(&s->texts);
	free(s);
}

const struct wp_survey_counts *wp_survey_counts(const struct wp_survey *s)
{
	return &s->counts;
}

/* -- relations ------------------------------------------------------------ */

static struct use use_of(const struct wp_survey *s, const struct wp_relation *r)
{
	const struct wp_partition *partition =
		s->setup.partitions != NULL ? wp_partitions_find(s->setup.partitions, r->oid)
					    : NULL;
	struct wp_rows rows =
		wp_outbox_set_rows_of_partition(s->outboxes, r->schema, r->name, partition);

	if (rows.kind == WP_ROWS_EVENTS)
		return (struct use){ .kind = USE_EVENTS, .outbox = rows.outbox };
	/* Ours: the slot checkpoint, and what was skipped. */
	if (wp_span_is(r->schema, "walpost") || rows.kind == WP_ROWS_IGNORED)
		return (struct use){ .kind = USE_IGNORED };
	return (struct use){ .kind = USE_FOREIGN };
}

static enum wp_rc take_relation(struct wp_survey *s, const struct wp_change *change,
				struct wp_error *error)
{
	struct wp_relation *r = NULL;
	enum wp_rc rc = wp_relations_put(s->relations, change, &r);

	if (rc != WP_OK)
		return wp_error_set(error, rc, "no room for a relation of the log");
	struct use *use = calloc(1, sizeof(*use));
	if (use == NULL)
		return wp_error_set(error, WP_NOMEM, "no memory for a relation of the log");
	r->attached = use;
	*use = use_of(s, r);
	if (use->kind != USE_EVENTS)
		return WP_OK;
	const struct wp_mapping_setup setup = {
		.options = use->outbox->options,
		.relation = r,
		.types = s->relations,
		.columns = WP_COLUMNS_KNOWN,
		.transfer = WP_TRANSFER_TEXT,
	};
	return wp_mapping_new(&setup, &use->mapping, error);
}

/* -- rows ----------------------------------------------------------------- */

static void count_transaction(struct wp_survey *s)
{
	s->counts.transactions += s->counted ? 0 : 1;
	s->counted = true;
}

/* The topic only: the value may have been cut. */
static void find_topic(struct wp_survey *s, const struct wp_outbox *outbox,
		       const struct wp_event *event, struct wp_survey_event *ret)
{
	struct wp_span topic;

	if (wp_shape_topic(outbox->shape, event, &topic, &ret->error) != WP_OK)
		return;
	(void)snprintf(s->topic, sizeof(s->topic), "%.*s", (int)topic.size,
		       (const char *)topic.data);
}

static void begin_event(struct wp_survey *s, size_t size, struct wp_survey_event *ret)
{
	s->topic[0] = '\0';
	*ret = (struct wp_survey_event){ .topic = s->topic, .size = size };
}

/* `rc` is what reading it gave. */
static enum wp_rc place_event(struct wp_survey *s, const struct wp_outbox *outbox,
			      struct wp_event *event, enum wp_rc rc, struct wp_survey_event *ret,
			      struct wp_error *error)
{
	if (rc != WP_OK && rc != WP_DATA)
		return wp_error_set(error, rc, "%s", ret->error.text);
	event->commit_time_us = s->commit_time_us;
	event->position = (struct wp_position){
		.epoch = s->setup.epoch,
		.timeline = wp_timelines_at(s->setup.timelines, s->commit_lsn),
		.commit_lsn = s->commit_lsn,
		.ordinal = s->ordinal,
	};
	ret->table = event->table;
	ret->is_message = wp_span_is_null(event->schema);
	ret->id = event->id;
	ret->key = event->key;
	ret->position = event->position;
	if (rc == WP_OK)
		find_topic(s, outbox, event, ret);
	s->counts.unmapped += rc == WP_DATA ? 1 : 0;
	return WP_OK;
}

static enum wp_rc take_event(struct wp_survey *s, const struct use *use, const struct wp_tuple *row,
			     size_t size, struct wp_survey_event *ret, struct wp_error *error)
{
	struct wp_event event;

	begin_event(s, size, ret);
	enum wp_rc rc = wp_mapping_event(use->mapping, row, &s->texts, &event, &ret->error);
	return place_event(s, use->outbox, &event, rc, ret, error);
}

static enum wp_rc take_message(struct wp_survey *s, const struct wp_change *change, size_t size,
			       struct wp_survey_event *ret, bool *ret_is_event,
			       struct wp_error *error)
{
	const struct wp_outbox *outbox =
		wp_outbox_set_prefix(s->outboxes, change->as.message.prefix);
	struct wp_event event;
	enum wp_rc rc = WP_OK;

	if (!change->as.message.transactional)
		return WP_OK;
	if (outbox != NULL && s->commit_lsn < s->setup.until) {
		count_transaction(s);
		begin_event(s, size, ret);
		rc = wp_message_event(outbox->messages, change->as.message.content, &s->texts,
				      &event, &ret->error);
		rc = place_event(s, outbox, &event, rc, ret, error);
		*ret_is_event = rc == WP_OK;
		s->counts.events += *ret_is_event ? 1 : 0;
	}
	s->ordinal++;
	return rc;
}

static void count_foreign(struct wp_survey *s, const struct wp_relation *r)
{
	struct wp_survey_counts *c = &s->counts;
	struct wp_table_name name;
	size_t i = 0;

	(void)snprintf(name.schema, sizeof(name.schema), "%.*s", (int)r->schema.size,
		       (const char *)r->schema.data);
	(void)snprintf(name.name, sizeof(name.name), "%.*s", (int)r->name.size,
		       (const char *)r->name.data);
	c->foreign++;
	c->foreign_until = s->commit_lsn + 1;
	while (i < c->foreign_tables &&
	       (strcmp(c->foreign_by_table[i].name.schema, name.schema) != 0 ||
		strcmp(c->foreign_by_table[i].name.name, name.name) != 0))
		i++;
	if (i == WP_SURVEY_FOREIGN_MAX) {
		c->foreign_more = true;
		return;
	}
	if (i == c->foreign_tables)
		c->foreign_by_table[c->foreign_tables++] = (struct wp_survey_foreign){ name, 0 };
	c->foreign_by_table[i].rows++;
}

static enum wp_rc take_row(struct wp_survey *s, uint32_t oid, const struct wp_tuple *row,
			   size_t size, struct wp_survey_event *ret, bool *ret_is_event,
			   struct wp_error *error)
{
	const struct wp_relation *r = wp_relations_find(s->relations, oid);
	const struct use *use = r != NULL ? r->attached : NULL;
	enum wp_rc rc = WP_OK;

	if (use == NULL)
		return wp_error_set(error, WP_PROTO,
				    "a row of relation %u came before the relation", (unsigned)oid);
	if (s->commit_lsn < s->setup.until && use->kind != USE_IGNORED) {
		count_transaction(s);
		if (use->kind == USE_FOREIGN) {
			count_foreign(s, r);
		} else {
			rc = take_event(s, use, row, size, ret, error);
			*ret_is_event = rc == WP_OK;
			s->counts.events += *ret_is_event ? 1 : 0;
		}
	}
	s->ordinal++;
	return rc;
}

/*
 * Insert (beginning only): Byte1('I') Int32 oid Byte1('N') Int16 columns, then for each
 * Byte1 kind and, for 't' and 'b', Int32 size and the bytes.
 */
static enum wp_rc read_cut(struct wp_survey *s, struct wp_span message, uint32_t *ret_oid,
			   struct wp_tuple *ret, struct wp_error *error)
{
	struct wp_wire w;

	wp_wire_init(&w, message);
	bool is_insert = wp_wire_u8(&w) == 'I';
	*ret_oid = wp_wire_u32(&w);
	bool is_new = wp_wire_u8(&w) == 'N';
	size_t count = wp_wire_u16(&w);
	if (w.bad || !is_insert || !is_new || count > WP_COLUMNS_MAX)
		return wp_error_set(error, WP_PROTO, "a row that was cut is no insert");
	for (size_t i = 0; i < count; i++) {
		uint8_t kind = wp_wire_u8(&w);
		s->values[i] = (struct wp_value){ .kind = WP_VALUE_NULL };
		if (kind != 't' && kind != 'b')
			continue;
		struct wp_span bytes = wp_wire_bytes(&w, wp_wire_u32(&w));
		if (w.bad)
			continue;
		s->values[i].kind = kind == 't' ? WP_VALUE_TEXT : WP_VALUE_BINARY;
		s->values[i].bytes = bytes;
	}
	*ret = (struct wp_tuple){ .values = s->values, .count = count };
	return WP_OK;
}

/* Message (beginning only): Byte1('M') Int8 flags Int64 LSN String prefix, then the content. */
static enum wp_rc take_cut_message(struct wp_survey *s, struct wp_span message, size_t size,
				   struct wp_survey_event *ret, bool *ret_is_event,
				   struct wp_error *error)
{
	struct wp_change change = { .kind = WP_CHANGE_MESSAGE };
	struct wp_wire w;

	wp_wire_init(&w, message);
	(void)wp_wire_u8(&w);
	change.as.message.transactional = wp_wire_u8(&w) == 1;
	change.as.message.lsn = wp_wire_u64(&w);
	change.as.message.prefix = wp_wire_cstr(&w);
	if (w.bad)
		return wp_error_set(error, WP_PROTO,
				    "a logical message that was cut has no prefix");
	change.as.message.content = wp_span_of("");
	enum wp_rc rc = take_message(s, &change, size, ret, ret_is_event, error);
	if (rc == WP_OK && *ret_is_event)
		(void)wp_error_set(&ret->error, WP_OK, "only the first %zu of %zu bytes were read",
				   message.size, size);
	return rc;
}

static enum wp_rc take_change(struct wp_survey *s, const struct wp_change *change, size_t size,
			      struct wp_survey_event *ret, bool *ret_is_event,
			      struct wp_error *error)
{
	switch (change->kind) {
	case WP_CHANGE_BEGIN:
		s->commit_lsn = change->as.begin.commit_lsn;
		s->commit_time_us = change->as.begin.commit_time_us;
		s->ordinal = 0;
		s->counted = false;
		return WP_OK;
	case WP_CHANGE_RELATION:
		return take_relation(s, change, error);
	case WP_CHANGE_TYPE:
		return wp_relations_put_type(s->relations, change);
	case WP_CHANGE_INSERT:
		return take_row(s, change->as.insert.relation_oid, &change->as.insert.tuple, size,
				ret, ret_is_event, error);
	case WP_CHANGE_MESSAGE:
		return take_message(s, change, size, ret, ret_is_event, error);
	default:
		return WP_OK;
	}
}

enum wp_rc wp_survey_take(struct wp_survey *s, struct wp_span message, size_t size,
			  struct wp_survey_event *ret, bool *ret_is_event, struct wp_error *error)
{
	struct wp_change change;
	struct wp_tuple row;
	uint32_t oid;

	*ret_is_event = false;
	if (message.size < size) {
		if (message.size > 0 && message.data[0] == 'M')
			return take_cut_message(s, message, size, ret, ret_is_event, error);
		/* Other kinds are of no interest when they are so large. */
		if (message.size == 0 || message.data[0] != 'I')
			return WP_OK;
		enum wp_rc rc = read_cut(s, message, &oid, &row, error);
		if (rc == WP_OK)
			rc = take_row(s, oid, &row, size, ret, ret_is_event, error);
		/* What is NULL there need not be. */
		if (rc == WP_OK && *ret_is_event && ret->error.text[0] != '\0')
			(void)wp_error_set(&ret->error, WP_OK,
					   "only the first %zu of %zu bytes were read",
					   message.size, size);
		return rc;
	}
	enum wp_rc rc = wp_pgoutput_read(&s->decoder, message, &change, error);
	return rc == WP_OK ? take_change(s, &change, size, ret, ret_is_event, error) : rc;
}
