#include <stdlib.h>

#include "walpost/outbox/feed.h"
#include "walpost/outbox/message.h"
#include "walpost/outbox/outboxes.h"
#include "walpost/outbox/shape.h"
#include "walpost/outbox/table.h"
#include "walpost/wal/pgoutput.h"
#include "walpost/wal/relations.h"

#define RELATIONS_MAX 100000
#define TEXTS_SIZE_MAX ((size_t)INT32_MAX) /* a guard: Postgres sends no more in a row */

/* Attached to a relation. */
struct use {
	struct wp_rows rows;
	struct wp_mapping *mapping; /* owned; of events only, from the first row on */
	unsigned facts_age;	    /* of those that it was made with */
};

struct wp_feed {
	struct wp_feed_setup setup;
	struct wp_outbox_set *outboxes;
	struct wp_relations *relations;
	unsigned facts_age; /* counts up with each that are told */
	bool wants_facts;
	struct wp_buffer texts; /* of binary values, and of messages */
	struct wp_pgoutput decoder;
	bool in_transaction;
	wp_lsn commit_lsn;
	int64_t commit_time_us;
	uint32_t xid;
	uint32_t ordinal;
};

static void use_free(void *attached)
{
	struct use *use = attached;

	if (use == NULL)
		return;
	wp_mapping_free(use->mapping);
	free(use);
}

enum wp_rc wp_feed_new(const struct wp_feed_setup *setup, struct wp_feed **ret,
		       struct wp_error *error)
{
	struct wp_feed *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return wp_error_set(error, WP_NOMEM, "no memory for reading events");
	f->setup = *setup;
	wp_buffer_init(&f->texts, TEXTS_SIZE_MAX);
	enum wp_rc rc = wp_outbox_set_new(setup->outboxes, setup->record_max, &f->outboxes, error);
	if (rc == WP_OK)
		rc = wp_relations_new(RELATIONS_MAX, use_free, &f->relations);
	if (rc == WP_OK && setup->columns != NULL)
		rc = wp_relations_put_facts(f->relations, setup->columns);
	if (rc != WP_OK) {
		wp_feed_free(f);
		return rc;
	}
	*ret = f;
	return WP_OK;
}

enum wp_rc wp_feed_know(struct wp_feed *f, const struct wp_column_facts *columns)
{
	f->setup.columns = columns;
	f->facts_age++;
	return wp_relations_put_facts(f->relations, columns);
}

bool wp_feed_wants_facts(const struct wp_feed *f)
{
	return f->wants_facts;
}

void wp_feed_free(struct wp_feed *f)
{
	if (f == NULL)
		return;
	wp_relations_free(f->relations);
	wp_outbox_set_free(f->outboxes);
	wp_buffer_release(&f->texts);
	free(f);
}

/* -- relations ------------------------------------------------------------ */

static enum wp_rc say_too_many(enum wp_rc rc, struct wp_error *error)
{
	return rc != WP_FULL ? rc
			     : wp_error_set(error, WP_CONFIG,
					    "the publication has brought more than %d tables or "
					    "types; narrow it to the outbox",
					    RELATIONS_MAX);
}

static enum wp_rc take_relation(struct wp_feed *f, const struct wp_change *change,
				struct wp_error *error)
{
	struct wp_relation *r = NULL;
	enum wp_rc rc = wp_relations_put(f->relations, change, &r);

	if (rc != WP_OK)
		return say_too_many(rc, error);
	struct use *use = calloc(1, sizeof(*use));
	if (use == NULL)
		return wp_error_set(error, WP_NOMEM, "no memory for a table of the log");
	use->rows = wp_outbox_set_rows(f->outboxes, r->schema, r->name);
	r->attached = use;
	return WP_OK;
}

/* Whose rows are they, if the name did not tell? */
static enum wp_rc identify(struct wp_feed *f, const struct wp_relation *r, struct use *use)
{
	const struct wp_partitions *partitions = f->setup.partitions;

	if (use->rows.kind != WP_ROWS_UNKNOWN)
		return WP_OK;
	if (!wp_partitions_cover(partitions, f->xid))
		return WP_PAUSE;
	use->rows = wp_outbox_set_rows_of_partition(f->outboxes, r->schema, r->name,
						    wp_partitions_find(partitions, r->oid));
	return WP_OK;
}

/* -- events --------------------------------------------------------------- */

static enum wp_rc map(struct wp_feed *f, const struct wp_relation *r, struct use *use,
		      struct wp_error *error)
{
	const struct wp_mapping_setup setup = {
		.options = use->rows.outbox->options,
		.relation = r,
		.types = f->relations,
		.facts = f->setup.columns,
		.table = use->rows.outbox->table,
		.columns = WP_COLUMNS_KNOWN,
		.transfer = f->setup.transfer,
	};

	wp_mapping_free(use->mapping);
	use->mapping = NULL;
	use->facts_age = f->facts_age;
	enum wp_rc rc = wp_mapping_new(&setup, &use->mapping, error);
	f->wants_facts = rc == WP_CONFIG && wp_mapping_wants_facts(&setup);
	return rc;
}

/* `rc` is what reading it gave: WP_OK, or WP_DATA with the reason in `ret`. */
static enum wp_rc make_record(struct wp_feed *f, const struct wp_outbox *outbox,
			      struct wp_event *event, enum wp_rc rc, struct wp_fed *ret,
			      struct wp_error *error)
{
	event->commit_time_us = f->commit_time_us;
	event->position = (struct wp_position){
		.epoch = f->setup.epoch,
		.timeline = wp_timelines_at(f->setup.timelines, f->commit_lsn),
		.commit_lsn = f->commit_lsn,
		.ordinal = f->ordinal,
	};
	enum wp_rc shape_rc = wp_shape_record(outbox->shape, event, &ret->record,
					      rc == WP_OK ? &ret->error : NULL);
	if (shape_rc != WP_OK && shape_rc != WP_DATA)
		return wp_error_set(error, shape_rc, "no memory for a record");
	ret->kind = rc == WP_OK && shape_rc == WP_OK ? WP_FED_RECORD : WP_FED_POISON;
	return WP_OK;
}

static enum wp_rc take_event(struct wp_feed *f, const struct wp_relation *r, struct use *use,
			     const struct wp_tuple *row, struct wp_fed *ret, struct wp_error *error)
{
	struct wp_event event;
	bool is_mapped = use->mapping != NULL && use->facts_age == f->facts_age;
	enum wp_rc rc = is_mapped ? WP_OK : map(f, r, use, error);

	if (rc != WP_OK)
		return rc;
	rc = wp_mapping_event(use->mapping, row, &f->texts, &event, &ret->error);
	if (rc != WP_OK && rc != WP_DATA)
		return wp_error_set(error, rc, "%s", ret->error.text);
	return make_record(f, use->rows.outbox, &event, rc, ret, error);
}

static enum wp_rc take_message_event(struct wp_feed *f, const struct wp_outbox *outbox,
				     struct wp_span content, struct wp_fed *ret,
				     struct wp_error *error)
{
	struct wp_event event;
	enum wp_rc rc = wp_message_event(outbox->messages, content, &f->texts, &event, &ret->error);

	if (rc != WP_OK && rc != WP_DATA)
		return wp_error_set(error, rc, "no memory for a message");
	return make_record(f, outbox, &event, rc, ret, error);
}

/* -- messages of the plugin ----------------------------------------------- */

static void note(struct wp_fed *ret)
{
	ret->kind = WP_FED_NOTE;
}

static void note_foreign(const struct wp_relation *r, struct wp_fed *ret)
{
	note(ret);
	(void)wp_error_set(&ret->error, WP_OK,
			   "a row of %.*s.%.*s came, which is neither the outbox nor under "
			   "outbox.ignore: a relay stops there",
			   (int)r->schema.size, (const char *)r->schema.data, (int)r->name.size,
			   (const char *)r->name.data);
}

static enum wp_rc take_insert(struct wp_feed *f, const struct wp_change *change, struct wp_fed *ret,
			      struct wp_error *error)
{
	const struct wp_relation *r =
		wp_relations_find(f->relations, change->as.insert.relation_oid);
	struct use *use = r != NULL ? r->attached : NULL;
	enum wp_rc rc = WP_OK;

	if (!f->in_transaction)
		return wp_error_set(error, WP_PROTO, "a row came outside a transaction");
	if (use == NULL)
		return wp_error_set(error, WP_PROTO,
				    "a row of relation %u came before the relation",
				    (unsigned)change->as.insert.relation_oid);
	switch (use->rows.kind) {
	case WP_ROWS_EVENTS:
		rc = take_event(f, r, use, &change->as.insert.tuple, ret, error);
		break;
	case WP_ROWS_IGNORED:
	case WP_ROWS_OWN:
		break;
	case WP_ROWS_UNKNOWN:
		rc = identify(f, r, use);
		return rc == WP_OK ? take_insert(f, change, ret, error) : rc;
	case WP_ROWS_FOREIGN:
		note_foreign(r, ret);
		break;
	}
	f->ordinal++;
	return rc;
}

static enum wp_rc take_message(struct wp_feed *f, const struct wp_change *change,
			       struct wp_fed *ret, struct wp_error *error)
{
	const struct wp_span prefix = change->as.message.prefix;
	const struct wp_outbox *outbox = wp_outbox_set_prefix(f->outboxes, prefix);
	enum wp_rc rc = WP_OK;

	if (!change->as.message.transactional && outbox != NULL) {
		note(ret);
		(void)wp_error_set(
			&ret->error, WP_OK,
			"a message of prefix %.*s came that is not transactional: a relay "
			"passes it over; emit it with pg_logical_emit_message(true, ...)",
			(int)prefix.size, (const char *)prefix.data);
	}
	if (!change->as.message.transactional)
		return WP_OK;
	if (!f->in_transaction)
		return wp_error_set(error, WP_PROTO,
				    "a transactional message came outside a transaction");
	if (outbox != NULL)
		rc = take_message_event(f, outbox, change->as.message.content, ret, error);
	f->ordinal++;
	return rc;
}

/* WP_PAUSE: it may be of a partition of an outbox, which is asked first. */
static enum wp_rc take_update(struct wp_feed *f, const struct wp_change *change, struct wp_fed *ret)
{
	const struct wp_relation *r =
		wp_relations_find(f->relations, change->as.update.relation_oid);
	struct use *use = r != NULL ? r->attached : NULL;
	enum wp_rc rc = use != NULL ? identify(f, r, use) : WP_OK;

	if (rc != WP_OK)
		return rc;
	if (use == NULL || use->rows.kind != WP_ROWS_EVENTS)
		return WP_OK;
	note(ret);
	(void)wp_error_set(
		&ret->error, WP_OK,
		"a row of outbox table %s was updated, which makes no event: insert a new "
		"row for one",
		use->rows.outbox->options->table);
	return WP_OK;
}

static void begin(struct wp_feed *f, const struct wp_change *change)
{
	f->in_transaction = true;
	f->commit_lsn = change->as.begin.commit_lsn;
	f->commit_time_us = change->as.begin.commit_time_us;
	f->xid = change->as.begin.xid;
	f->ordinal = 0;
}

enum wp_rc wp_feed_take(struct wp_feed *f, struct wp_span message, struct wp_fed *ret,
			struct wp_error *error)
{
	struct wp_change change;
	enum wp_rc rc = wp_pgoutput_read(&f->decoder, message, &change, error);

	if (rc != WP_OK)
		return rc;
	ret->kind = WP_FED_NOTHING;
	ret->error.text[0] = '\0';
	switch (change.kind) {
	case WP_CHANGE_BEGIN:
		begin(f, &change);
		return WP_OK;
	case WP_CHANGE_COMMIT:
		f->in_transaction = false;
		return WP_OK;
	case WP_CHANGE_RELATION:
		return take_relation(f, &change, error);
	case WP_CHANGE_TYPE:
		return say_too_many(wp_relations_put_type(f->relations, &change), error);
	case WP_CHANGE_INSERT:
		return take_insert(f, &change, ret, error);
	case WP_CHANGE_MESSAGE:
		return take_message(f, &change, ret, error);
	case WP_CHANGE_UPDATE:
		return take_update(f, &change, ret);
	default:
		return WP_OK;
	}
}
