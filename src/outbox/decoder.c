#include <stdlib.h>

#include "walpost/outbox/decoder.h"
#include "walpost/outbox/message.h"
#include "walpost/wal/relations.h"

/* Attached to a relation: whose rows are its, and what is made of them. */
struct use {
	struct wp_rows rows;
	struct wp_mapping *mapping; /* owned; of events only */
	unsigned facts_age;	    /* of those that it was made with */
};

struct wp_decoder {
	struct wp_decoder_setup setup;
	struct wp_outbox_set *outboxes; /* owned */
	struct wp_relations *relations; /* owned */
	struct wp_column_facts facts;
	unsigned facts_age; /* counts up with each that are told */
	enum wp_transfer transfer;
	struct wp_timelines timelines;
	struct wp_pgoutput plugin;
	struct wp_buffer texts; /* of binary values, and of messages */
	struct wp_event event;
	struct wp_transaction transaction;
	uint32_t ordinal; /* the next one's before the last message was taken */
	bool asked;	  /* about partitions, since the current transaction came */
	bool wants_facts;
	bool wants_text;
};

static enum wp_rc say_no_memory(struct wp_error *error)
{
	return wp_error_set(error, WP_NOMEM, "out of memory for decoding the WAL");
}

static void use_free(void *attached)
{
	struct use *use = attached;

	if (use == NULL)
		return;
	wp_mapping_free(use->mapping);
	free(use);
}

enum wp_rc wp_decoder_new(const struct wp_decoder_setup *setup, struct wp_decoder **ret,
			  struct wp_error *error)
{
	struct wp_decoder *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return say_no_memory(error);
	d->setup = *setup;
	d->timelines.current = 1;
	wp_buffer_init(&d->texts, setup->texts_max);
	wp_column_facts_begin(&d->facts);
	enum wp_rc rc = wp_outbox_set_new(setup->outboxes, setup->record_max, &d->outboxes, error);
	if (rc == WP_OK &&
	    wp_relations_new(WP_DECODER_RELATIONS_MAX, use_free, &d->relations) != WP_OK)
		rc = say_no_memory(error);
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
	wp_outbox_set_free(d->outboxes);
	wp_buffer_release(&d->texts);
	free(d);
}

void wp_decoder_begin(struct wp_decoder *d, const struct wp_timelines *timelines)
{
	wp_relations_clear(d->relations);
	wp_column_facts_begin(&d->facts);
	d->transfer = WP_TRANSFER_TEXT;
	d->wants_text = false;
	d->wants_facts = false;
	d->timelines = *timelines;
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

static enum wp_rc map(struct wp_decoder *d, const struct wp_relation *r, struct use *use,
		      struct wp_error *error)
{
	const struct wp_mapping_setup setup = {
		.options = use->rows.outbox->options,
		.relation = r,
		.types = d->relations,
		.facts = &d->facts,
		.table = use->rows.outbox->table,
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

/* WP_FULL or WP_NOMEM: what the map of relations answered. */
static enum wp_rc say_no_room(enum wp_rc rc, const char *what, struct wp_error *error)
{
	if (rc != WP_FULL)
		return say_no_memory(error);
	return wp_error_set(error, WP_CONFIG,
			    "the publication has more than %d %s; narrow it to the outbox",
			    WP_DECODER_RELATIONS_MAX, what);
}

static enum wp_rc take_type(struct wp_decoder *d, const struct wp_change *change,
			    struct wp_error *error)
{
	enum wp_rc rc = wp_relations_put_type(d->relations, change);

	return rc == WP_OK ? rc : say_no_room(rc, "types", error);
}

static enum wp_rc take_relation(struct wp_decoder *d, const struct wp_change *change,
				struct wp_error *error)
{
	struct wp_relation *r = NULL;
	enum wp_rc rc = wp_relations_put(d->relations, change, &r);

	if (rc != WP_OK)
		return say_no_room(rc, "relations", error);
	struct use *use = calloc(1, sizeof(*use));
	if (use == NULL)
		return say_no_memory(error);
	r->attached = use;
	use->rows = wp_outbox_set_rows(d->outboxes, r->schema, r->name);
	return use->rows.kind == WP_ROWS_EVENTS ? map(d, r, use, error) : WP_OK;
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
	use->rows = wp_outbox_set_rows_of_partition(d->outboxes, r->schema, r->name,
						    wp_partitions_find(partitions, r->oid));
	return WP_OK;
}

/* -- rows and messages ------------------------------------------------------ */

/* `rc` is what reading it gave. */
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
	return WP_OK;
}

static enum wp_rc take_event(struct wp_decoder *d, const struct wp_relation *r, struct use *use,
			     const struct wp_tuple *row, struct wp_decoded *ret,
			     struct wp_error *error)
{
	enum wp_rc rc = WP_OK;

	if (use->mapping == NULL || use->facts_age != d->facts_age)
		rc = map(d, r, use, error);
	if (rc == WP_OK)
		rc = wp_mapping_event(use->mapping, row, &d->texts, &d->event, error);
	return place_event(d, use->rows.outbox, rc, ret);
}

/* To pass it over would lose it if it is an outbox under another name. */
static void refuse_foreign(const struct wp_relation *r, struct wp_decoded *ret,
			   struct wp_error *error)
{
	ret->kind = WP_DECODED_FOREIGN;
	ret->relation = r;
	ret->verdict = wp_error_set(
		error, WP_CONFIG,
		"a row of %.*s.%.*s, neither the outbox nor listed in outbox.ignore, arrived; "
		"ignoring it could lose an event. If it is an outbox, set outbox.table (or "
		"outbox.leaves, if it is a detached or dropped partition of a configured table); "
		"else add it to outbox.ignore, and start again. Removing it from the publication "
		"helps with later rows only, because this one is already in the WAL",
		(int)r->schema.size, (const char *)r->schema.data, (int)r->name.size,
		(const char *)r->name.data);
}

static enum wp_rc take_insert(struct wp_decoder *d, const struct wp_change *change,
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
	if (rc == WP_OK && use->rows.kind == WP_ROWS_EVENTS)
		rc = take_event(d, r, use, &change->as.insert.tuple, ret, error);
	if (rc != WP_OK)
		return rc;
	if (use->rows.kind == WP_ROWS_IGNORED)
		ret->kind = WP_DECODED_IGNORED;
	else if (use->rows.kind == WP_ROWS_FOREIGN)
		refuse_foreign(r, ret, error);
	d->transaction.next.ordinal++;
	return WP_OK;
}

/* Between Begin and Commit, as a row. */
static enum wp_rc take_message_event(struct wp_decoder *d, const struct wp_outbox *outbox,
				     struct wp_span content, struct wp_decoded *ret,
				     struct wp_error *error)
{
	if (!d->transaction.open)
		return wp_error_set(
			error, WP_PROTO,
			"the server sent a transactional message outside a transaction");
	enum wp_rc rc = wp_message_event(outbox->messages, content, &d->texts, &d->event, error);
	return place_event(d, outbox, rc, ret);
}

static enum wp_rc take_message(struct wp_decoder *d, const struct wp_change *change,
			       struct wp_decoded *ret, struct wp_error *error)
{
	bool transactional = change->as.message.transactional;
	enum wp_rc rc = WP_OK;

	ret->outbox = wp_outbox_set_prefix(d->outboxes, change->as.message.prefix);
	if (ret->outbox == NULL)
		ret->kind = WP_DECODED_MESSAGE;
	else if (!transactional)
		ret->kind = WP_DECODED_MESSAGE_REFUSED;
	else
		rc = take_message_event(d, ret->outbox, change->as.message.content, ret, error);
	d->transaction.next.ordinal += rc == WP_OK && transactional ? 1 : 0;
	return rc;
}

/*
 * Whose row was changed or deleted: `ret` is NULL when it is of no outbox. WP_PAUSE: it may be
 * of a partition of one, which is asked first.
 */
static enum wp_rc find_outbox(struct wp_decoder *d, uint32_t oid, const struct wp_outbox **ret)
{
	const struct wp_relation *r = wp_relations_find(d->relations, oid);
	struct use *use = r != NULL ? r->attached : NULL;
	enum wp_rc rc = use != NULL ? identify(d, r, use) : WP_OK;

	*ret = rc == WP_OK && use != NULL ? use->rows.outbox : NULL;
	return rc;
}

/* An event does not change: what is to be told again is a new row. */
static enum wp_rc take_update(struct wp_decoder *d, const struct wp_change *change,
			      struct wp_decoded *ret, struct wp_error *error)
{
	enum wp_rc rc = find_outbox(d, change->as.update.relation_oid, &ret->outbox);

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

static enum wp_rc take_delete(struct wp_decoder *d, const struct wp_change *change,
			      struct wp_decoded *ret)
{
	enum wp_rc rc = find_outbox(d, change->as.del.relation_oid, &ret->outbox);

	if (rc == WP_OK && ret->outbox != NULL)
		ret->kind = WP_DECODED_DELETE;
	return rc;
}

/* -- transactions --------------------------------------------------------- */

static enum wp_rc take_begin(struct wp_decoder *d, const struct wp_change *change,
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
			/* That of the commit: after a promotion not the server's present one. */
			.timeline = wp_timelines_at(&d->timelines, commit_lsn),
			.commit_lsn = commit_lsn,
		},
	};
	d->asked = false;
	ret->kind = WP_DECODED_BEGIN;
	return WP_OK;
}

static enum wp_rc take_commit(struct wp_decoder *d, const struct wp_change *change,
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

static enum wp_rc take_change(struct wp_decoder *d, const struct wp_change *change,
			      struct wp_decoded *ret, struct wp_error *error)
{
	ret->kind = WP_DECODED_NOTHING;
	ret->verdict = WP_OK;
	d->ordinal = d->transaction.next.ordinal;
	switch (change->kind) {
	case WP_CHANGE_BEGIN:
		return take_begin(d, change, ret, error);
	case WP_CHANGE_COMMIT:
		return take_commit(d, change, ret, error);
	case WP_CHANGE_RELATION:
		return take_relation(d, change, error);
	case WP_CHANGE_TYPE:
		return take_type(d, change, error);
	case WP_CHANGE_INSERT:
		return take_insert(d, change, ret, error);
	case WP_CHANGE_UPDATE:
		return take_update(d, change, ret, error);
	case WP_CHANGE_DELETE:
		return take_delete(d, change, ret);
	case WP_CHANGE_MESSAGE:
		return take_message(d, change, ret, error);
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

	return rc == WP_OK ? take_change(d, &change, ret, error) : rc;
}

enum wp_rc wp_decoder_take_beginning(struct wp_decoder *d, struct wp_span beginning,
				     struct wp_decoded *ret, struct wp_error *error)
{
	struct wp_change change;
	enum wp_rc rc = wp_pgoutput_read_beginning(&d->plugin, beginning, &change, error);

	return rc == WP_OK ? take_change(d, &change, ret, error) : rc;
}
