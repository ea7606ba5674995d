#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/outbox/message.h"
#include "walpost/outbox/outboxes.h"
#include "walpost/outbox/shape.h"
#include "walpost/outbox/table.h"
#include "walpost/relay/diversions.h"
#include "walpost/relay/faults.h"
#include "walpost/relay/pipeline.h"
#include "walpost/wal/pgoutput.h"
#include "walpost/wal/relations.h"

enum {
	RELATIONS_MAX = 100000,
	/*
	 * What librdkafka keeps for a message besides its bytes, and our own rings: 510, measured
	 * with three headers and librdkafka 2.0.
	 */
	EVENT_OVERHEAD = 512,
};

/* What we make of a relation; attached to it in the map. */
struct use {
	struct wp_rows rows;
	struct wp_mapping *mapping; /* owned; of events only */
};

struct wp_pipeline {
	struct wp_pipeline_setup setup;
	struct wp_outbox_set *outboxes;
	struct wp_relations *relations;
	struct wp_buffer texts; /* of binary values */
	struct wp_column_facts facts;
	enum wp_transfer transfer;
	bool wants_text;
	bool wants_facts;
	struct wp_timelines timelines;
	struct wp_pgoutput decoder;
	bool in_transaction;
	bool has_events; /* the current transaction */
	wp_lsn commit_lsn;
	int64_t commit_time_us;
	uint32_t xid;
	bool asked; /* about partitions, since the current transaction came */
	uint32_t ordinal;
	struct wp_pipeline_counts counts;
	uint64_t written;
	struct wp_event_name last;
	size_t last_id_size;
	struct wp_diversions diversions;
	struct wp_dead_letter dead_letter;
	struct wp_error reason; /* of the last dead letter */
};

static void use_free(void *attached)
{
	struct use *use = attached;

	if (use == NULL)
		return;
	wp_mapping_free(use->mapping);
	free(use);
}

enum wp_rc wp_pipeline_new(const struct wp_pipeline_setup *setup, struct wp_pipeline **ret,
			   struct wp_error *error)
{
	struct wp_pipeline *p = calloc(1, sizeof(*p));
	enum wp_rc rc = WP_NOMEM;

	if (p == NULL)
		return WP_NOMEM;
	p->setup = *setup;
	wp_buffer_init(&p->texts, setup->value_size_max);
	p->timelines.current = 1;
	wp_column_facts_begin(&p->facts);
	rc = wp_outbox_set_new(setup->outboxes, setup->record_max, &p->outboxes, error);
	if (rc != WP_OK)
		goto fail;
	rc = wp_relations_new(RELATIONS_MAX, use_free, &p->relations);
	if (rc != WP_OK)
		goto fail;
	*ret = p;
	return WP_OK;
fail:
	wp_pipeline_free(p);
	return rc;
}

void wp_pipeline_free(struct wp_pipeline *p)
{
	if (p == NULL)
		return;
	wp_diversions_release(&p->diversions);
	wp_relations_free(p->relations);
	wp_outbox_set_free(p->outboxes);
	wp_buffer_release(&p->texts);
	free(p);
}

enum wp_rc wp_pipeline_change(struct wp_pipeline *p, const struct wp_outboxes *outboxes,
			      struct wp_error *error)
{
	struct wp_outbox_set *set = NULL;
	enum wp_rc rc = wp_outbox_set_new(outboxes, p->setup.record_max, &set, error);

	if (rc != WP_OK)
		return rc;
	wp_relations_clear(p->relations); /* they point to the old one */
	wp_outbox_set_free(p->outboxes);
	p->outboxes = set;
	p->setup.outboxes = outboxes;
	wp_buffer_release(&p->texts);
	wp_buffer_init(&p->texts, p->setup.value_size_max);
	return WP_OK;
}

void wp_pipeline_begin(struct wp_pipeline *p, const struct wp_timelines *timelines)
{
	wp_relations_clear(p->relations);
	wp_column_facts_begin(&p->facts);
	p->transfer = WP_TRANSFER_TEXT;
	p->wants_text = false;
	p->wants_facts = false;
	p->timelines = *timelines;
	p->in_transaction = false;
	p->has_events = false;
}

void wp_pipeline_know(struct wp_pipeline *p, const struct wp_column_facts *facts,
		      enum wp_transfer transfer)
{
	wp_column_facts_copy(&p->facts, facts);
	p->transfer = transfer;
	(void)!wp_relations_put_facts(p->relations, facts);
}

/* -- relations ------------------------------------------------------------ */

static bool would_do_in_text(struct wp_mapping_setup setup)
{
	struct wp_mapping *mapping = NULL;

	if (setup.transfer == WP_TRANSFER_TEXT)
		return false;
	setup.transfer = WP_TRANSFER_TEXT;
	enum wp_rc rc = wp_mapping_new(&setup, &mapping, NULL);
	wp_mapping_free(mapping);
	return rc == WP_OK;
}

static enum wp_rc map_outbox(struct wp_pipeline *p, const struct wp_relation *r, struct use *use,
			     struct wp_error *error)
{
	bool diverts = p->setup.poison == WP_POISON_DEAD_LETTER;

	struct wp_mapping_setup setup = {
		.options = use->rows.outbox->options,
		.relation = r,
		.types = p->relations,
		.facts = &p->facts,
		.table = use->rows.outbox->table,
		.columns = diverts ? WP_COLUMNS_KNOWN : WP_COLUMNS_ALL,
		.transfer = p->transfer,
	};

	enum wp_rc rc = wp_mapping_new(&setup, &use->mapping, error);
	p->wants_text = rc == WP_CONFIG && would_do_in_text(setup);
	p->wants_facts = rc == WP_CONFIG && wp_mapping_wants_facts(&setup);
	return rc;
}

bool wp_pipeline_wants_facts(const struct wp_pipeline *p)
{
	return p->wants_facts;
}

bool wp_pipeline_wants_text(const struct wp_pipeline *p)
{
	return p->wants_text;
}

static enum wp_rc say_too_many(const char *what, struct wp_error *error)
{
	return wp_error_set(error, WP_CONFIG,
			    "the publication has brought more than %d %s; narrow it to the outbox",
			    RELATIONS_MAX, what);
}

static enum wp_rc take_type(struct wp_pipeline *p, const struct wp_change *change,
			    struct wp_error *error)
{
	enum wp_rc rc = wp_relations_put_type(p->relations, change);

	return rc == WP_FULL ? say_too_many("types", error) : rc;
}

static enum wp_rc take_relation(struct wp_pipeline *p, const struct wp_change *change,
				struct wp_error *error)
{
	struct wp_relation *r = NULL;
	enum wp_rc rc = wp_relations_put(p->relations, change, &r);

	if (rc == WP_FULL)
		return say_too_many("relations", error);
	if (rc != WP_OK)
		return rc;
	struct use *use = calloc(1, sizeof(*use));
	if (use == NULL)
		return WP_NOMEM;
	r->attached = use;
	use->rows = wp_outbox_set_rows(p->outboxes, r->schema, r->name);
	return use->rows.kind == WP_ROWS_EVENTS ? map_outbox(p, r, use, error) : WP_OK;
}

uint32_t wp_pipeline_question(const struct wp_pipeline *p)
{
	return p->xid;
}

/*
 * Whose rows are they, if the name did not tell? That a table is a partition is not in the
 * log. But the server tells of a relation anew, before its next row, when it was attached or
 * detached; so what the catalog says holds until then, if it is not older than this row.
 */
static enum wp_rc identify(struct wp_pipeline *p, const struct wp_relation *r, struct use *use)
{
	const struct wp_partitions *partitions = p->setup.partitions;

	if (use->rows.kind != WP_ROWS_UNKNOWN)
		return WP_OK;
	if (!(p->asked ? wp_partitions_cover_committed(partitions, p->xid)
		       : wp_partitions_cover(partitions, p->xid))) {
		p->asked = true;
		return WP_PAUSE;
	}
	/* A mapping follows at the row. */
	use->rows = wp_outbox_set_rows_of_partition(p->outboxes, r->schema, r->name,
						    wp_partitions_find(partitions, r->oid));
	return WP_OK;
}

/* -- rows ----------------------------------------------------------------- */

/* For every event: as few instructions as it takes. `to` has room for `room` bytes. */
static void copy_name(char *to, size_t room, struct wp_span name)
{
	size_t size = name.size < room ? name.size : room - 1;

	if (size > 0)
		memcpy(to, name.data, size);
	to[size] = '\0';
}

static void name_event(struct wp_pipeline *p, const struct wp_event *event)
{
	copy_name(p->last.table, sizeof(p->last.table), wp_span_of(event->table));
	copy_name(p->last.id, sizeof(p->last.id), event->id);
	p->last.is_message = wp_span_is_null(event->schema);
	p->last_id_size =
		event->id.size < sizeof(p->last.id) ? event->id.size : sizeof(p->last.id) - 1;
}

/* Of no event, or of one that is not known yet. */
static void forget_name(struct wp_pipeline *p)
{
	p->last.table[0] = p->last.id[0] = p->last.topic[0] = '\0';
	p->last_id_size = 0;
	p->last.size = 0;
	p->last.position = (struct wp_position){ 0 };
	p->last.is_dead_letter = false;
	p->last.letter = WP_LETTER_WHOLE;
	p->last.is_message = false;
}

static void name_record(struct wp_pipeline *p, const struct wp_record *record)
{
	p->last.size = wp_record_size(record);
	if (!wp_span_is_null(record->topic))
		copy_name(p->last.topic, sizeof(p->last.topic), record->topic);
}

static enum wp_rc send_record(struct wp_pipeline *p, const struct wp_record *record,
			      struct wp_error *error)
{
	size_t bytes = wp_record_size(record);
	size_t size = bytes + EVENT_OVERHEAD;

	if (!wp_ledger_has_room(p->setup.ledger, size))
		return WP_FULL;
	enum wp_rc rc = p->setup.sink->ops->send(p->setup.sink, wp_ledger_next(p->setup.ledger),
						 record, error);
	if (rc != WP_OK)
		return rc;
	if (p->setup.meter != NULL)
		wp_meter_sent(p->setup.meter, wp_ledger_next(p->setup.ledger), record->topic,
			      p->commit_time_us);
	wp_ledger_add(p->setup.ledger, size);
	p->counts.events++;
	p->counts.bytes += bytes;
	p->has_events = true;
	return WP_OK;
}

/* As much of the event as the dead-letter topic takes. */
static enum wp_rc send_dead_letter(struct wp_pipeline *p, const struct wp_outbox *outbox,
				   const struct wp_record *record, enum wp_letter most,
				   const struct wp_error *reason, struct wp_error *error)
{
	const unsigned least = wp_dead_letter_least(record->is_message);
	enum wp_rc rc = WP_DATA;
	struct wp_record letter;
	struct wp_error said;

	for (unsigned i = most; i <= least && rc == WP_DATA; i++) {
		wp_dead_letter_record(&p->dead_letter, record, p->setup.dead_letter_topic,
				      outbox->options->column_payload, reason, (enum wp_letter)i,
				      &letter);
		p->last.letter = (enum wp_letter)i;
		rc = send_record(p, &letter, &said);
	}
	if (rc == WP_DATA)
		return wp_error_set(error, rc, "%s; and its dead letter can not be delivered: %s",
				    reason->text, said.text);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "%s", said.text);
	if (wp_fault(WP_FAULT_LETTER_SETTLES))
		(void)wp_ledger_settle(p->setup.ledger, wp_ledger_next(p->setup.ledger) - 1);
	p->last.is_dead_letter = true;
	p->reason = *reason;
	p->counts.dead_letters++;
	return WP_OK;
}

/* Refused before, when it was sent alone. */
static enum wp_rc send_diverted(struct wp_pipeline *p, const struct wp_outbox *outbox,
				const struct wp_record *record,
				const struct wp_diversion *diversion, struct wp_error *error)
{
	struct wp_error reason;

	(void)wp_error_set(&reason, WP_DATA, "%s", diversion->reason);
	return send_dead_letter(p, outbox, record, diversion->letter, &reason, error);
}

/* `rc` is the answer so far. */
static enum wp_rc send_event(struct wp_pipeline *p, const struct wp_outbox *outbox,
			     const struct wp_event *event, enum wp_rc rc, struct wp_error *error)
{
	struct wp_record record;
	const struct wp_diversion *diversion =
		p->diversions.count == 0 ? NULL
					 : wp_diversions_find(&p->diversions, &event->position);

	enum wp_rc shape_rc =
		wp_shape_record(outbox->shape, event, &record, rc == WP_OK ? error : NULL);
	p->written += wp_shape_written(outbox->shape);
	if (shape_rc != WP_OK && (rc == WP_OK || shape_rc != WP_DATA))
		rc = shape_rc;
	if (rc == WP_OK || rc == WP_DATA)
		name_record(p, &record);
	if (rc == WP_OK && diversion != NULL) {
		wp_shape_leftover(outbox->shape, event, &record);
		return send_diverted(p, outbox, &record, diversion, error);
	}
	if (rc == WP_OK)
		rc = send_record(p, &record, error);
	if (rc != WP_DATA || p->setup.poison != WP_POISON_DEAD_LETTER)
		return rc;
	struct wp_error reason = *error;
	wp_shape_leftover(outbox->shape, event, &record);
	return send_dead_letter(p, outbox, &record,
				diversion != NULL ? diversion->letter : WP_LETTER_WHOLE, &reason,
				error);
}

/* `rc` is what reading it gave: WP_OK or WP_DATA. */
static enum wp_rc place_event(struct wp_pipeline *p, const struct wp_outbox *outbox,
			      struct wp_event *event, enum wp_rc rc, struct wp_error *error)
{
	name_event(p, event);
	event->commit_time_us = p->commit_time_us;
	event->position = (struct wp_position){
		.epoch = p->setup.epoch,
		.timeline = wp_timelines_at(&p->timelines, p->commit_lsn),
		.commit_lsn = p->commit_lsn,
		.ordinal = p->ordinal,
	};
	p->last.position = event->position;
	return send_event(p, outbox, event, rc, error);
}

static enum wp_rc take_event(struct wp_pipeline *p, struct use *use, const struct wp_relation *r,
			     const struct wp_tuple *row, struct wp_error *error)
{
	struct wp_event event;
	enum wp_rc rc = WP_OK;

	if (use->mapping == NULL)
		rc = map_outbox(p, r, use, error);
	if (rc != WP_OK)
		return rc;
	forget_name(p);
	rc = wp_mapping_event(use->mapping, row, &p->texts, &event, error);
	if (rc != WP_OK && rc != WP_DATA)
		return rc;
	return place_event(p, use->rows.outbox, &event, rc, error);
}

/* Between Begin and Commit, as a row. */
static enum wp_rc take_message_event(struct wp_pipeline *p, const struct wp_outbox *outbox,
				     struct wp_span content, struct wp_error *error)
{
	struct wp_event event;

	if (!p->in_transaction)
		return wp_error_set(
			error, WP_PROTO,
			"the server sent a transactional message outside a transaction");
	forget_name(p);
	enum wp_rc rc = wp_message_event(outbox->messages, content, &p->texts, &event, error);
	if (rc != WP_OK && rc != WP_DATA)
		return rc;
	return place_event(p, outbox, &event, rc, error);
}

static enum wp_rc take_message(struct wp_pipeline *p, const struct wp_change *change,
			       struct wp_taken *taken, struct wp_error *error)
{
	const struct wp_outbox *outbox =
		wp_outbox_set_prefix(p->outboxes, change->as.message.prefix);
	enum wp_rc rc = WP_OK;

	if (outbox == NULL) {
		p->counts.messages++;
	} else if (!change->as.message.transactional) {
		p->counts.messages_refused++;
		taken->refused_message = true;
	} else {
		rc = take_message_event(p, outbox, change->as.message.content, error);
		taken->event = rc == WP_OK;
		taken->dead_letter = rc == WP_OK && p->last.is_dead_letter;
	}
	if (rc == WP_OK && change->as.message.transactional)
		p->ordinal++;
	return rc;
}

static enum wp_rc refuse_foreign(const struct wp_relation *r, struct wp_error *error)
{
	return wp_error_set(
		error, WP_CONFIG,
		"a row of %.*s.%.*s came, which is neither the outbox nor under outbox.ignore; "
		"passing it over would lose it if it is an outbox under another name. If it is "
		"one, set outbox.table (or outbox.leaves, where its table is named, for a "
		"partition "
		"that is gone); else add it to outbox.ignore, and start again. To take it out of "
		"the publication helps with later rows only: this one is in the log already",
		(int)r->schema.size, (const char *)r->schema.data, (int)r->name.size,
		(const char *)r->name.data);
}

static enum wp_rc take_insert(struct wp_pipeline *p, const struct wp_change *change,
			      struct wp_taken *taken, struct wp_error *error)
{
	const struct wp_relation *r =
		wp_relations_find(p->relations, change->as.insert.relation_oid);
	enum wp_rc rc = WP_OK;

	if (!p->in_transaction)
		return wp_error_set(error, WP_PROTO,
				    "the server sent an insert outside a transaction");
	if (r == NULL || r->attached == NULL)
		return wp_error_set(error, WP_PROTO,
				    "the server sent a row of relation %u before telling about it",
				    (unsigned)change->as.insert.relation_oid);
	struct use *use = r->attached;
	switch (use->rows.kind) {
	case WP_ROWS_EVENTS:
		rc = take_event(p, use, r, &change->as.insert.tuple, error);
		taken->event = rc == WP_OK;
		taken->dead_letter = rc == WP_OK && p->last.is_dead_letter;
		break;
	case WP_ROWS_IGNORED:
		p->counts.ignored++;
		break;
	case WP_ROWS_OWN:
		break;
	case WP_ROWS_UNKNOWN:
		rc = identify(p, r, use);
		return rc == WP_OK ? take_insert(p, change, taken, error) : rc;
	case WP_ROWS_FOREIGN:
		return refuse_foreign(r, error);
	}
	if (rc == WP_OK)
		p->ordinal++;
	return rc;
}

/*
 * Whose row was changed or deleted: `ret` is NULL when it is of no outbox. WP_PAUSE: it may be
 * of a partition of one, which is asked first.
 */
static enum wp_rc find_outbox(struct wp_pipeline *p, uint32_t oid, const struct wp_outbox **ret)
{
	const struct wp_relation *r = wp_relations_find(p->relations, oid);
	struct use *use = r ? r->attached : NULL;
	enum wp_rc rc = use != NULL ? identify(p, r, use) : WP_OK;

	*ret = rc == WP_OK && use != NULL ? use->rows.outbox : NULL;
	return rc;
}

/* An event does not change: what is to be told again is a new row. */
static enum wp_rc take_update(struct wp_pipeline *p, const struct wp_change *change,
			      struct wp_taken *taken, struct wp_error *error)
{
	enum wp_rc rc = find_outbox(p, change->as.update.relation_oid, &taken->updated);

	if (rc != WP_OK || taken->updated == NULL)
		return rc;
	if (taken->updated->options->on_update == WP_ON_UPDATE_STOP)
		return wp_error_set(error, WP_CONFIG,
				    "a row of outbox table %s was updated, and outbox.on_update = "
				    "stop: insert a new row for a new event; to go on, set "
				    "outbox.on_update = warn",
				    taken->updated->options->table);
	p->counts.updates++;
	return WP_OK;
}

static enum wp_rc take_delete(struct wp_pipeline *p, const struct wp_change *change)
{
	const struct wp_outbox *outbox;
	enum wp_rc rc = find_outbox(p, change->as.del.relation_oid, &outbox);

	p->counts.deletes += rc == WP_OK && outbox != NULL ? 1 : 0;
	return rc;
}

/* -- transactions --------------------------------------------------------- */

static enum wp_rc take_begin(struct wp_pipeline *p, const struct wp_change *change,
			     struct wp_error *error)
{
	if (p->in_transaction)
		return wp_error_set(error, WP_PROTO,
				    "the server began a transaction within another");
	p->in_transaction = true;
	p->has_events = false;
	p->commit_lsn = change->as.begin.commit_lsn;
	p->commit_time_us = change->as.begin.commit_time_us;
	p->xid = change->as.begin.xid;
	p->asked = false;
	p->ordinal = 0;
	if (p->diversions.count > 0)
		wp_diversions_forget(&p->diversions, wp_ledger_confirmed_lsn(p->setup.ledger));
	return WP_OK;
}

static enum wp_rc take_commit(struct wp_pipeline *p, const struct wp_change *change,
			      struct wp_error *error)
{
	if (!p->in_transaction)
		return wp_error_set(error, WP_PROTO,
				    "the server committed a transaction it did not begin");
	if (change->as.commit.commit_lsn != p->commit_lsn ||
	    change->as.commit.end_lsn <= change->as.commit.commit_lsn)
		return wp_error_set(error, WP_PROTO,
				    "the server's commit does not fit its begin: begin at %llX, "
				    "commit at %llX, end %llX",
				    (unsigned long long)p->commit_lsn,
				    (unsigned long long)change->as.commit.commit_lsn,
				    (unsigned long long)change->as.commit.end_lsn);
	p->in_transaction = false;
	p->counts.transactions += p->has_events ? 1 : 0;
	wp_ledger_commit(p->setup.ledger, change->as.commit.end_lsn);
	return WP_OK;
}

static enum wp_rc take_change(struct wp_pipeline *p, const struct wp_change *change,
			      struct wp_taken *taken, struct wp_error *error)
{
	switch (change->kind) {
	case WP_CHANGE_BEGIN:
		return take_begin(p, change, error);
	case WP_CHANGE_COMMIT:
		return take_commit(p, change, error);
	case WP_CHANGE_RELATION:
		return take_relation(p, change, error);
	case WP_CHANGE_TYPE:
		return take_type(p, change, error);
	case WP_CHANGE_INSERT:
		return take_insert(p, change, taken, error);
	case WP_CHANGE_UPDATE:
		return take_update(p, change, taken, error);
	case WP_CHANGE_DELETE:
		return take_delete(p, change);
	case WP_CHANGE_TRUNCATE:
		p->counts.truncates++;
		return WP_OK;
	case WP_CHANGE_MESSAGE:
		return take_message(p, change, taken, error);
	case WP_CHANGE_ORIGIN:
		return WP_OK;
	}
	return wp_error_set(error, WP_PROTO, "a change of a kind that does not exist");
}

enum wp_rc wp_pipeline_take(struct wp_pipeline *p, struct wp_span copy_data, struct wp_taken *ret,
			    struct wp_error *error)
{
	struct wp_frame frame;
	struct wp_change change;
	enum wp_rc rc = wp_frame_read(copy_data, &frame, error);

	if (rc != WP_OK)
		return rc;
	*ret = (struct wp_taken){
		.keepalive = frame.kind == WP_FRAME_KEEPALIVE,
		.reply_requested = frame.reply_requested,
		.wal_end = frame.end,
	};
	if (frame.kind == WP_FRAME_KEEPALIVE) {
		wp_ledger_keepalive(p->setup.ledger, frame.end);
		return WP_OK;
	}
	rc = wp_pgoutput_read(&p->decoder, frame.body, &change, error);
	if (rc != WP_OK)
		return rc;
	return take_change(p, &change, ret, error);
}

int64_t wp_pipeline_commit_time(const struct wp_pipeline *p)
{
	return p->commit_time_us;
}

bool wp_pipeline_in_transaction(const struct wp_pipeline *p)
{
	return p->in_transaction;
}

bool wp_pipeline_has_sent(const struct wp_pipeline *p)
{
	return p->in_transaction && p->has_events;
}

const struct wp_pipeline_counts *wp_pipeline_counts(const struct wp_pipeline *p)
{
	return &p->counts;
}

static void make_printable(char *id, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if ((unsigned char)id[i] < 0x20 || id[i] == 0x7f)
			id[i] = '?';
	}
}

const struct wp_event_name *wp_pipeline_last_event(struct wp_pipeline *p)
{
	make_printable(p->last.id, p->last_id_size);
	return &p->last;
}

void wp_event_name_of(const struct wp_record *record, struct wp_event_name *ret)
{
	*ret = (struct wp_event_name){
		.size = wp_record_size(record),
		.position = record->position,
		.is_message = record->is_message,
	};
	copy_name(ret->table, sizeof(ret->table), wp_span_of(record->table));
	copy_name(ret->id, sizeof(ret->id), record->id);
	copy_name(ret->topic, sizeof(ret->topic), record->topic);
	make_printable(ret->id, strlen(ret->id));
}

const struct wp_position *wp_pipeline_last_position(const struct wp_pipeline *p)
{
	return &p->last.position;
}

size_t wp_pipeline_last_size(const struct wp_pipeline *p)
{
	return p->last.size;
}

uint64_t wp_pipeline_written(const struct wp_pipeline *p)
{
	return p->written;
}

const struct wp_error *wp_pipeline_reason(const struct wp_pipeline *p)
{
	return &p->reason;
}

enum wp_rc wp_pipeline_divert(struct wp_pipeline *p, const char *reason)
{
	struct wp_diversion diversion = { .position = p->last.position };

	if (p->last.is_dead_letter && p->last.letter == wp_dead_letter_least(p->last.is_message))
		return WP_DATA;
	if (p->last.is_dead_letter)
		diversion.letter = p->last.letter + 1;
	(void)snprintf(diversion.reason, sizeof(diversion.reason), "%s", reason);
	return wp_diversions_add(&p->diversions, &diversion);
}
