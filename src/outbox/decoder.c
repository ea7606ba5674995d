#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parked_row.h"
#include "reissue.h"
#include "walpost/base/display.h"
#include "walpost/outbox/decoder.h"
#include "walpost/outbox/message.h"
#include "walpost/outbox/shape.h"
#include "walpost/wal/relations.h"
#include "walpost/source/source.h"

/* This is attached to a relation: whose rows are its, and what is made of them? */
struct use {
	struct wp_rows rows;
	char *root; /* owned: names that `rows` has of the partitions known then; NULL: none */
	struct wp_mapping *mapping; /* owned; of events only */
	unsigned facts_age;	    /* of those that it was made with */
};

struct wp_decoder {
	struct wp_decoder_setup setup;
	struct wp_outbox_set *outboxes; /* owned */
	struct wp_relations *relations; /* owned */
	struct wp_reissues *reissues;	/* owned */
	struct wp_column_facts facts;
	unsigned facts_age; /* counts up with each that are told */
	enum wp_transfer transfer;
	struct wp_timelines timelines;
	char encoding[WP_ENCODING_SIZE]; /* of the database */
	struct wp_pgoutput plugin;
	struct wp_buffer texts;	 /* of binary values, and of messages */
	struct wp_buffer values; /* of a row that is parked */
	struct wp_tuple row;	 /* of the event taken last */
	struct wp_event event;
	struct wp_transaction transaction;
	uint32_t ordinal; /* the next one's before the last message was taken */
	bool asked;	  /* about partitions, since the current transaction came */
	bool wants_facts;
	bool wants_text;
};

static enum wp_rc say_out_of_memory(struct wp_error *error)
{
	return wp_error_set(error, WP_NOMEM, "out of memory for decoding the WAL");
}

static void use_free(void *attached)
{
	struct use *use = attached;

	if (use == NULL)
		return;
	wp_mapping_free(use->mapping);
	free(use->root);
	free(use);
}

enum wp_rc wp_decoder_new(const struct wp_decoder_setup *setup, struct wp_decoder **ret,
			  struct wp_error *error)
{
	struct wp_decoder *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return say_out_of_memory(error);
	d->setup = *setup;
	d->timelines.current = 1;
	wp_buffer_init(&d->texts, setup->texts_max);
	wp_buffer_init(&d->values, setup->texts_max);
	wp_column_facts_begin(&d->facts);
	enum wp_rc rc = wp_outbox_set_new(setup->outboxes, setup->record_max, &d->outboxes, error);
	if (rc == WP_OK &&
	    (wp_relations_new(WP_DECODER_RELATIONS_MAX, use_free, &d->relations) != WP_OK ||
	     wp_reissues_new(setup->outboxes->count, setup->texts_max, &d->reissues) != WP_OK))
		rc = say_out_of_memory(error);
	if (rc != WP_OK) {
		wp_decoder_free(d);
		return rc;
	}
	*ret = d;
	return WP_OK;
}

void wp_decoder_free(struct wp_decoder *d)
{
	if (d == NULL)
		return;
	wp_relations_free(d->relations);
	wp_reissues_free(d->reissues);
	wp_outbox_set_free(d->outboxes);
	wp_buffer_release(&d->texts);
	wp_buffer_release(&d->values);
	free(d);
}

void wp_decoder_begin(struct wp_decoder *d, const struct wp_timelines *timelines,
		      const char *encoding)
{
	wp_relations_clear(d->relations);
	wp_column_facts_begin(&d->facts);
	d->facts_age++;
	d->transfer = WP_TRANSFER_TEXT;
	d->wants_text = false;
	d->wants_facts = false;
	d->timelines = *timelines;
	(void)snprintf(d->encoding, sizeof(d->encoding), "%s", encoding);
	d->transaction.open = false;
}

enum wp_rc wp_decoder_know(struct wp_decoder *d, const struct wp_column_facts *facts,
			   enum wp_transfer transfer)
{
	wp_column_facts_copy(&d->facts, facts);
	d->facts_age++; /* what was mapped points into the old ones */
	d->transfer = transfer;
	return wp_relations_put_facts(d->relations, &d->facts);
}

bool wp_decoder_wants_facts(const struct wp_decoder *d)
{
	return d->wants_facts;
}

bool wp_decoder_wants_text(const struct wp_decoder *d)
{
	return d->wants_text;
}

const struct wp_transaction *wp_decoder_transaction(const struct wp_decoder *d)
{
	return &d->transaction;
}

void wp_decoder_unread(struct wp_decoder *d)
{
	d->transaction.next.ordinal = d->ordinal;
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

static enum wp_rc map_relation(struct wp_decoder *d, const struct wp_relation *r, struct use *use,
			       struct wp_error *error)
{
	const struct wp_mapping_setup setup = {
		.options = use->rows.outbox->options,
		.relation = r,
		.types = d->relations,
		.facts = &d->facts,
		.table = use->rows.outbox->table,
		.origin = use->rows.origin,
		.columns = d->setup.columns,
		.transfer = d->transfer,
	};

	wp_mapping_free(use->mapping);
	use->mapping = NULL;
	use->facts_age = d->facts_age;
	enum wp_rc rc = wp_mapping_new(&setup, &use->mapping, error);
	d->wants_text = rc == WP_CONFIG && would_do_in_text(setup);
	d->wants_facts = rc == WP_CONFIG && wp_mapping_wants_facts(&setup);
	return rc;
}

/* `rc` is what the map of relations answered: WP_FULL or WP_NOMEM. */
static enum wp_rc say_no_room(enum wp_rc rc, const char *what, struct wp_error *error)
{
	if (rc != WP_FULL)
		return say_out_of_memory(error);
	return wp_error_set(error, WP_CONFIG,
			    "the publication has more than %d %s; narrow it to the outbox",
			    WP_DECODER_RELATIONS_MAX, what);
}

static enum wp_rc decode_type(struct wp_decoder *d, const struct wp_change *change,
			      struct wp_error *error)
{
	enum wp_rc rc = wp_relations_put_type(d->relations, change);

	return rc == WP_OK ? rc : say_no_room(rc, "types", error);
}

static enum wp_rc decode_relation(struct wp_decoder *d, const struct wp_change *change,
				  struct wp_error *error)
{
	struct wp_relation *r = NULL;
	enum wp_rc rc = wp_relations_put(d->relations, change, &r);

	if (rc != WP_OK)
		return say_no_room(rc, "relations", error);
	struct use *use = calloc(1, sizeof(*use));
	if (use == NULL)
		return say_out_of_memory(error);
	r->attached = use;
	use->rows = wp_outbox_set_rows(d->outboxes, r->schema, r->name);
	return use->rows.kind == WP_ROWS_EVENTS ? map_relation(d, r, use, error) : WP_OK;
}

/* The names of a root live as long as the partitions that are known now. */
static enum wp_rc keep_root(const struct wp_relation *r, struct use *use)
{
	struct wp_origin *origin = &use->rows.origin;
	size_t size = origin->schema.size + origin->table.size + 2;

	if (use->rows.kind != WP_ROWS_EVENTS || !use->rows.outbox->is_pattern ||
	    origin->table.data == r->name.data)
		return WP_OK;
	char *names = malloc(size);
	if (names == NULL)
		return WP_NOMEM;
	char *name = (char *)memcpy(names, origin->schema.data, origin->schema.size + 1) +
		     origin->schema.size + 1;
	memcpy(name, origin->table.data, origin->table.size + 1);
	origin->schema.data = (const uint8_t *)names;
	origin->table.data = (const uint8_t *)name;
	use->root = names;
	return WP_OK;
}

/*
 * Whose rows are they, if the name did not tell? That a table is a partition is not in the
 * log. But the server tells of a relation anew, before its next row, when it was attached or
 * detached; so what the catalog says holds until then, if it is not older than this row.
 */
static enum wp_rc identify(struct wp_decoder *d, const struct wp_relation *r, struct use *use)
{
	const struct wp_partitions *partitions = d->setup.partitions;
	uint32_t xid = d->transaction.xid;

	if (use->rows.kind != WP_ROWS_UNKNOWN)
		return WP_OK;
	if (!(d->asked ? wp_partitions_cover_committed(partitions, xid)
		       : wp_partitions_cover(partitions, xid))) {
		d->asked = true;
		return WP_PAUSE;
	}
	/* A mapping follows at the row. */
	use->rows = wp_outbox_set_rows_of_partition(d->outboxes, r,
						    wp_partitions_find(partitions, r->oid));
	return keep_root(r, use);
}

/* -- rows and messages ------------------------------------------------------ */

/* `rc` is what reading the event gave. */
static enum wp_rc place_event(struct wp_decoder *d, const struct wp_outbox *outbox, enum wp_rc rc,
			      struct wp_decoded *ret)
{
	if (rc != WP_OK && rc != WP_DATA)
		return rc;
	d->event.commit_time_us = d->transaction.commit_time_us;
	d->event.position = d->transaction.next;
	ret->kind = WP_DECODED_EVENT;
	ret->verdict = rc;
	ret->event = &d->event;
	ret->outbox = outbox;
	ret->row = NULL;
	ret->again = (struct wp_span){ 0 };
	return WP_OK;
}

static enum wp_rc decode_row(struct wp_decoder *d, const struct wp_relation *r, struct use *use,
			     const struct wp_tuple *row, struct wp_decoded *ret,
			     struct wp_error *error)
{
	enum wp_rc rc = WP_OK;

	if (use->mapping == NULL || use->facts_age != d->facts_age)
		rc = map_relation(d, r, use, error);
	if (rc == WP_OK)
		rc = wp_mapping_event(use->mapping, row, &d->texts, &d->event, error);
	rc = place_event(d, use->rows.outbox, rc, ret);
	d->row = *row;
	ret->relation = r;
	ret->row = &d->row;
	return rc;
}

static struct wp_reissue_facts reissue_facts(const struct wp_decoder *d)
{
	return (struct wp_reissue_facts){
		.types = d->relations,
		.columns = &d->facts,
		.age = d->facts_age,
		.encoding = d->encoding,
	};
}

/* An event that is sent to the topic where it goes anyway has its place among the outbox's own. */
static void forget_own_topic(const struct wp_outbox *outbox, struct wp_event *event)
{
	const struct wp_span topic = event->topic;
	struct wp_span own;

	event->topic = (struct wp_span){ 0 };
	if (wp_shape_topic(outbox->shape, event, &own, NULL) != WP_OK || !wp_span_equal(own, topic))
		event->topic = topic;
}

/* The relay of that slot sends it, if there is one. */
static void leave_elsewhere(const struct wp_reissue *reissue, struct wp_decoded *ret,
			    struct wp_error *error)
{
	struct wp_excerpt slot;

	ret->kind = WP_DECODED_REISSUE_ELSEWHERE;
	(void)wp_error_set(error, WP_OK,
			   "rows of walpost.reissue for slot \"%s\" are left to the relay of that "
			   "slot; if there is none, nobody sends them",
			   wp_excerpt(&slot, reissue->slot));
}

/*
 * It is nobody's loss when it cannot be told whose a row is: who had it inserted keeps what is to
 * be sent until its event is confirmed.
 */
static enum wp_rc decode_reissue(struct wp_decoder *d, const struct wp_relation *r,
				 const struct wp_tuple *row, struct wp_decoded *ret,
				 struct wp_error *error)
{
	const struct wp_reissue_facts facts = reissue_facts(d);
	const char *slot = d->setup.outboxes->slot;
	struct wp_reissue reissue;

	if (wp_reissue_read(r, row, &reissue, error) != WP_OK) {
		ret->kind = WP_DECODED_REISSUE_REFUSED;
		return WP_OK;
	}
	if (slot == NULL || !wp_span_is(reissue.slot, slot)) {
		if (!reissue.is_mark)
			leave_elsewhere(&reissue, ret, error);
		return WP_OK;
	}
	if (reissue.is_mark) {
		ret->kind = WP_DECODED_MARK;
		ret->drain = wp_span_is(reissue.reason, WP_REISSUE_DRAIN) ? reissue.position
									  : (struct wp_span){ 0 };
		return WP_OK;
	}
	const struct wp_outbox *outbox = wp_reissue_outbox(d->outboxes, &reissue);
	if (outbox == NULL) {
		ret->kind = WP_DECODED_REISSUE_REFUSED;
		(void)wp_error_set(error, WP_OK,
				   "a row of walpost.reissue for \"%.*s\" is not sent: that is "
				   "neither outbox.table nor outbox.message.prefix of an outbox",
				   reissue.outbox.size < 1000 ? (int)reissue.outbox.size : 1000,
				   (const char *)reissue.outbox.data);
		return WP_OK;
	}
	enum wp_rc rc = wp_reissues_event(d->reissues, &reissue, outbox, &facts, &d->event, error);
	rc = place_event(d, outbox, rc, ret);
	if (rc == WP_OK && !wp_span_is_null(reissue.topic))
		forget_own_topic(outbox, &d->event);
	ret->again = reissue.row;
	return rc;
}

/* To pass it over would lose it if it is an outbox under another name. */
static const char *why_foreign(enum wp_rows_kind kind)
{
	switch (kind) {
	case WP_ROWS_LOOKALIKE:
		return "which outbox.ignore covers by a pattern only though it has the id, key and "
		       "payload columns of an outbox";
	case WP_ROWS_CHILD:
		return "which inherits from an outbox, and which neither a section [outbox.NAME] "
		       "nor outbox.leaves covers";
	default:
		return "neither the outbox nor listed in outbox.ignore";
	}
}

static void refuse_foreign_row(const struct wp_decoder *d, const struct wp_relation *r,
			       enum wp_rows_kind kind, struct wp_decoded *ret,
			       struct wp_error *error)
{
	char lsn[WP_LSN_TEXT_SIZE];

	ret->kind = WP_DECODED_FOREIGN;
	ret->relation = r;
	ret->verdict = wp_error_set(
		error, WP_CONFIG,
		"a row of %.*s.%.*s, %s, arrived, committed at %s; ignoring it could lose an "
		"event. If it is an outbox, set outbox.table (or outbox.leaves, if it is a "
		"detached or dropped partition of a configured table, or inherits from one); else "
		"add it to outbox.ignore%s, and start again. Removing it from the publication "
		"helps with later rows only, because this one is already in the WAL",
		(int)r->schema.size, (const char *)r->schema.data, (int)r->name.size,
		(const char *)r->name.data, why_foreign(kind),
		wp_lsn_text(d->transaction.next.commit_lsn, lsn),
		kind == WP_ROWS_FOREIGN ? "" : " by its exact name");
}

static enum wp_rc decode_insert(struct wp_decoder *d, const struct wp_change *change,
				struct wp_decoded *ret, struct wp_error *error)
{
	const struct wp_relation *r =
		wp_relations_find(d->relations, change->as.insert.relation_oid);

	if (!d->transaction.open)
		return wp_error_set(error, WP_PROTO,
				    "the server sent an insert outside a transaction");
	if (r == NULL || r->attached == NULL)
		return wp_error_set(error, WP_PROTO,
				    "the server sent a row of relation %u before describing it",
				    (unsigned)change->as.insert.relation_oid);
	struct use *use = r->attached;
	enum wp_rc rc = identify(d, r, use);
	if (rc == WP_NOMEM)
		return say_out_of_memory(error);
	if (rc == WP_OK && use->rows.kind == WP_ROWS_EVENTS)
		rc = decode_row(d, r, use, &change->as.insert.tuple, ret, error);
	else if (rc == WP_OK && use->rows.kind == WP_ROWS_REISSUE)
		rc = decode_reissue(d, r, &change->as.insert.tuple, ret, error);
	if (rc != WP_OK)
		return rc;
	if (use->rows.kind == WP_ROWS_IGNORED)
		ret->kind = WP_DECODED_IGNORED;
	else if (use->rows.kind == WP_ROWS_FOREIGN || use->rows.kind == WP_ROWS_LOOKALIKE ||
		 use->rows.kind == WP_ROWS_CHILD)
		refuse_foreign_row(d, r, use->rows.kind, ret, error);
	d->transaction.next.ordinal++;
	return WP_OK;
}

/* The message stands between Begin and Commit, as a row does. */
static enum wp_rc decode_message_event(struct wp_decoder *d, const struct wp_outbox *outbox,
				       struct wp_span content, struct wp_decoded *ret,
				       struct wp_error *error)
{
	if (!d->transaction.open)
		return wp_error_set(
			error, WP_PROTO,
			"the server sent a transactional message outside a transaction");
	enum wp_rc rc = wp_message_event(outbox->messages, content, d->encoding, &d->texts,
					 &d->event, error);
	return place_event(d, outbox, rc, ret);
}

static enum wp_rc decode_message(struct wp_decoder *d, const struct wp_change *change,
				 struct wp_decoded *ret, struct wp_error *error)
{
	bool transactional = change->as.message.transactional;
	enum wp_rc rc = WP_OK;

	ret->outbox = wp_outbox_set_prefix(d->outboxes, change->as.message.prefix);
	if (ret->outbox == NULL) {
		ret->kind = WP_DECODED_MESSAGE;
		ret->prefix = change->as.message.prefix;
	} else if (!transactional)
		ret->kind = WP_DECODED_MESSAGE_REFUSED;
	else
		rc = decode_message_event(d, ret->outbox, change->as.message.content, ret, error);
	d->transaction.next.ordinal += rc == WP_OK && transactional ? 1 : 0;
	return rc;
}

/*
 * Finds whose row was changed or deleted: `ret` is NULL when it is of no outbox. WP_PAUSE: it may
 * be of a partition of one, which is asked first.
 */
static enum wp_rc find_outbox_of_row(struct wp_decoder *d, uint32_t oid,
				     const struct wp_outbox **ret)
{
	const struct wp_relation *r = wp_relations_find(d->relations, oid);
	struct use *use = r != NULL ? r->attached : NULL;
	enum wp_rc rc = use != NULL ? identify(d, r, use) : WP_OK;

	*ret = rc == WP_OK && use != NULL ? use->rows.outbox : NULL;
	return rc;
}

/* An event does not change: what is to be told again is a new row. */
static enum wp_rc decode_update(struct wp_decoder *d, const struct wp_change *change,
				struct wp_decoded *ret, struct wp_error *error)
{
	enum wp_rc rc = find_outbox_of_row(d, change->as.update.relation_oid, &ret->outbox);

	if (rc != WP_OK || ret->outbox == NULL)
		return rc;
	ret->kind = WP_DECODED_UPDATE;
	if (ret->outbox->options->on_update == WP_ON_UPDATE_STOP)
		ret->verdict = wp_error_set(
			error, WP_CONFIG,
			"a row of outbox table %s was updated, and outbox.on_update = stop: insert "
			"a new row instead; to continue, set outbox.on_update = warn",
			ret->outbox->options->table);
	return WP_OK;
}

static enum wp_rc decode_delete(struct wp_decoder *d, const struct wp_change *change,
				struct wp_decoded *ret)
{
	enum wp_rc rc = find_outbox_of_row(d, change->as.del.relation_oid, &ret->outbox);

	if (rc == WP_OK && ret->outbox != NULL)
		ret->kind = WP_DECODED_DELETE;
	return rc;
}

/* -- transactions --------------------------------------------------------- */

static enum wp_rc decode_begin(struct wp_decoder *d, const struct wp_change *change,
			       struct wp_decoded *ret, struct wp_error *error)
{
	wp_lsn commit_lsn = change->as.begin.commit_lsn;

	if (d->transaction.open)
		return wp_error_set(error, WP_PROTO,
				    "the server began a transaction within another");
	d->transaction = (struct wp_transaction){
		.open = true,
		.xid = change->as.begin.xid,
		.commit_time_us = change->as.begin.commit_time_us,
		.next = {
			.epoch = d->setup.epoch,
			/* It is the commit's: after a promotion not the server's present one. */
			.timeline = wp_timelines_at(&d->timelines, commit_lsn),
			.commit_lsn = commit_lsn,
		},
	};
	d->asked = false;
	ret->kind = WP_DECODED_BEGIN;
	return WP_OK;
}

static enum wp_rc decode_commit(struct wp_decoder *d, const struct wp_change *change,
				struct wp_decoded *ret, struct wp_error *error)
{
	wp_lsn begun = d->transaction.next.commit_lsn;
	wp_lsn commit_lsn = change->as.commit.commit_lsn, end_lsn = change->as.commit.end_lsn;

	if (!d->transaction.open)
		return wp_error_set(error, WP_PROTO,
				    "the server committed a transaction that it did not begin");
	if (commit_lsn != begun || end_lsn <= commit_lsn)
		return wp_error_set(error, WP_PROTO,
				    "the server's commit does not match its begin: begin at %llX, "
				    "commit at %llX, end %llX",
				    (unsigned long long)begun, (unsigned long long)commit_lsn,
				    (unsigned long long)end_lsn);
	d->transaction.open = false;
	ret->kind = WP_DECODED_COMMIT;
	ret->end_lsn = end_lsn;
	return WP_OK;
}

static enum wp_rc decode_change(struct wp_decoder *d, const struct wp_change *change,
				struct wp_decoded *ret, struct wp_error *error)
{
	ret->kind = WP_DECODED_NOTHING;
	ret->verdict = WP_OK;
	d->ordinal = d->transaction.next.ordinal;
	switch (change->kind) {
	case WP_CHANGE_BEGIN:
		return decode_begin(d, change, ret, error);
	case WP_CHANGE_COMMIT:
		return decode_commit(d, change, ret, error);
	case WP_CHANGE_RELATION:
		return decode_relation(d, change, error);
	case WP_CHANGE_TYPE:
		return decode_type(d, change, error);
	case WP_CHANGE_INSERT:
		return decode_insert(d, change, ret, error);
	case WP_CHANGE_UPDATE:
		return decode_update(d, change, ret, error);
	case WP_CHANGE_DELETE:
		return decode_delete(d, change, ret);
	case WP_CHANGE_MESSAGE:
		return decode_message(d, change, ret, error);
	case WP_CHANGE_TRUNCATE:
		ret->kind = WP_DECODED_TRUNCATE;
		return WP_OK;
	case WP_CHANGE_ORIGIN:
		return WP_OK;
	}
	return wp_error_set(error, WP_PROTO, "a change of a kind that does not exist");
}

enum wp_rc wp_decoder_take(struct wp_decoder *d, struct wp_span message, struct wp_decoded *ret,
			   struct wp_error *error)
{
	struct wp_change change;
	enum wp_rc rc = wp_pgoutput_read(&d->plugin, message, &change, error);

	return rc == WP_OK ? decode_change(d, &change, ret, error) : rc;
}

enum wp_rc wp_decoder_take_beginning(struct wp_decoder *d, struct wp_span beginning,
				     struct wp_decoded *ret, struct wp_error *error)
{
	struct wp_change change;
	enum wp_rc rc = wp_pgoutput_read_beginning(&d->plugin, beginning, &change, error);

	return rc == WP_OK ? decode_change(d, &change, ret, error) : rc;
}

/* -- parked events ---------------------------------------------------------- */

static enum wp_rc write_source(struct wp_decoder *d, const struct wp_decoded *decoded,
			       struct wp_buffer *into)
{
	const struct wp_event *e = decoded->event;
	enum wp_rc rc = WP_OK;

	if (!wp_span_is_null(e->content))
		return wp_parked_bytes(into, "content", e->content);
	rc = wp_parked_text(into, "relation", wp_span_of(e->table));
	if (rc == WP_OK)
		rc = wp_buffer_append_text(into, ",\"row\":");
	if (rc == WP_OK && decoded->row != NULL)
		return wp_parked_row_write(into, d->relations, decoded->relation, decoded->row,
					   &d->values);
	return rc == WP_OK ? wp_buffer_append(into, decoded->again) : rc;
}

enum wp_rc wp_decoder_write_parked(struct wp_decoder *d, const struct wp_decoded *event,
				   struct wp_buffer *into, struct wp_error *error)
{
	const struct wp_event *e = event->event;
	const struct {
		const char *name;
		struct wp_span text;
	} texts[] = {
		{ "outbox", wp_span_of(wp_decoded_order(event)) },
		{ "key", e->key },
		{ "id", e->id },
		{ "type", e->type },
		{ "reissued", e->reissued },
	};
	char position[WP_POSITION_TEXT_SIZE];

	enum wp_rc rc = wp_buffer_printf(into, "\"position\":\"%s\",\"committed_at_us\":%lld",
					 wp_position_text(&e->position, position),
					 (long long)e->commit_time_us);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && rc == WP_OK; i++)
		rc = wp_parked_text(into, texts[i].name, texts[i].text);
	if (rc == WP_OK)
		rc = write_source(d, event, into);
	if (rc == WP_DATA)
		return wp_error_set(error, rc,
				    "table %s: the event at %s cannot be parked, because it has a "
				    "NUL character or text that is not UTF-8",
				    e->table, position);
	return rc == WP_OK ? rc : say_out_of_memory(error);
}

const struct wp_outbox *wp_decoder_outbox(const struct wp_decoder *d, struct wp_span name)
{
	struct wp_reissue parked = { .outbox = name };

	return wp_reissue_parked_outbox(d->outboxes, &parked);
}

const char *wp_decoded_order(const struct wp_decoded *event)
{
	if (!wp_span_is_null(event->event->topic))
		return event->event->target;
	return event->event->outbox != NULL ? event->event->outbox : event->outbox->name;
}

enum wp_rc wp_decoder_read_parked(struct wp_decoder *d, const struct wp_parked_row *row,
				  struct wp_decoded *ret, struct wp_error *error)
{
	const struct wp_reissue_facts facts = reissue_facts(d);
	struct wp_reissue reissue = {
		.outbox = row->outbox,
		.relation = row->relation,
		.row = row->row,
		.content = row->content,
		.is_hex = true,
	};

	*ret = (struct wp_decoded){ .kind = WP_DECODED_NOTHING };
	const struct wp_outbox *outbox = wp_reissue_parked_outbox(d->outboxes, &reissue);
	if (outbox == NULL)
		return wp_error_set(error, WP_CONFIG,
				    "an event of outbox %.*s is parked, which is not configured",
				    (int)row->outbox.size, (const char *)row->outbox.data);
	enum wp_rc rc = wp_reissues_event(d->reissues, &reissue, outbox, &facts, &d->event, error);
	rc = place_event(d, outbox, rc, ret);
	d->event.reissued = row->reissued;
	d->event.commit_time_us = row->commit_time_us;
	d->event.position = row->position;
	return rc;
}
