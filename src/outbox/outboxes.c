#include <assert.h>
#include <stdlib.h>

#include "walpost/outbox/message.h"
#include "walpost/outbox/names.h"
#include "walpost/outbox/outboxes.h"
#include "walpost/outbox/shape.h"
#include "walpost/outbox/table.h"

struct entry {
	struct wp_outbox outbox; /* first: what callers hold */
	struct wp_table_name table;
	char *name;		     /* owned; NULL: the prefix is it */
	struct wp_patterns *leaves;  /* owned */
	struct wp_patterns *pattern; /* owned; NULL: it has one table, or none */
};

struct wp_outbox_set {
	struct wp_patterns *ignore; /* owned */
	size_t count;
	struct entry entries[];
};

static enum wp_rc name_pattern(struct entry *e, struct wp_error *error)
{
	struct wp_table_name like;
	enum wp_rc rc = wp_table_pattern_parse(e->outbox.options->table, &like, error);

	e->outbox.is_pattern = true;
	e->outbox.name = e->outbox.options->table;
	return rc == WP_OK ? wp_patterns_new(e->outbox.options->table, &e->pattern, error) : rc;
}

static enum wp_rc name_outbox_table(struct entry *e, struct wp_error *error)
{
	if (wp_table_is_pattern(e->outbox.options->table))
		return name_pattern(e, error);
	enum wp_rc rc = wp_table_name_parse(e->outbox.options->table, &e->table, error);

	if (rc != WP_OK)
		return rc;
	e->outbox.name = e->name = malloc(WP_TABLE_NAME_TEXT_SIZE);
	if (e->name == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for the name of an outbox");
	(void)wp_table_name_text(&e->table, e->name, WP_TABLE_NAME_TEXT_SIZE);
	return WP_OK;
}

static enum wp_rc fill_entry(struct entry *e, const struct wp_outbox_options *options,
			     const struct wp_outboxes *all, size_t record_max,
			     struct wp_error *error)
{
	enum wp_rc rc = WP_OK;

	e->outbox.options = options;
	e->outbox.name = options->message_prefix;
	if (options->table[0] != '\0')
		rc = name_outbox_table(e, error);
	if (rc == WP_OK)
		rc = wp_patterns_new(options->leaves, &e->leaves, error);
	if (rc == WP_OK)
		rc = wp_shape_new(options, record_max, &e->outbox.shape, error);
	if (rc == WP_OK && options->message_prefix[0] != '\0')
		rc = wp_message_reader_new(options, &e->outbox.messages, error);
	if (rc == WP_OK && all->run_id != NULL)
		wp_shape_name_run(e->outbox.shape, all->run_id);
	if (rc == WP_OK)
		wp_shape_use_subjects(e->outbox.shape, all->subjects);
	return rc;
}

enum wp_rc wp_outbox_set_new(const struct wp_outboxes *outboxes, size_t record_max,
			     struct wp_outbox_set **ret, struct wp_error *error)
{
	struct wp_outbox_set *s = calloc(1, sizeof(*s) + outboxes->count * sizeof(s->entries[0]));
	if (s == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for %zu outboxes",
				    outboxes->count);

	s->count = outboxes->count;
	size_t tables = 0;
	enum wp_rc rc = wp_patterns_new(outboxes->ignore, &s->ignore, error);
	for (size_t i = 0; i < s->count && rc == WP_OK; i++) {
		const struct wp_outbox_options *options = &outboxes->items[i];
		s->entries[i].outbox.number = i;
		s->entries[i].outbox.table = tables;
		tables += options->table[0] != '\0' ? 1 : 0;
		rc = fill_entry(&s->entries[i], options, outboxes, record_max, error);
	}
	if (rc != WP_OK) {
		wp_outbox_set_free(s);
		return rc;
	}
	*ret = s;
	return WP_OK;
}

void wp_outbox_set_free(struct wp_outbox_set *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->count; i++) {
		wp_shape_free(s->entries[i].outbox.shape);
		wp_message_reader_free(s->entries[i].outbox.messages);
		wp_patterns_free(s->entries[i].leaves);
		wp_patterns_free(s->entries[i].pattern);
		free(s->entries[i].name);
	}
	wp_patterns_free(s->ignore);
	free(s);
}

const struct wp_outbox *wp_outbox_set_at(const struct wp_outbox_set *s, size_t index)
{
	assert(index < s->count);
	return &s->entries[index].outbox;
}

static const struct entry *entry_of_table(const struct wp_outbox_set *s, struct wp_span schema,
					  struct wp_span name)
{
	for (size_t i = 0; i < s->count; i++) {
		/* Without a table its parts are empty, as no relation's are. */
		const struct wp_table_name *table = &s->entries[i].table;
		if (wp_span_is(schema, table->schema) && wp_span_is(name, table->name))
			return &s->entries[i];
	}
	return NULL;
}

/* What is walpost's own fits none. */
static const struct entry *entry_of_pattern(const struct wp_outbox_set *s, struct wp_span schema,
					    struct wp_span name)
{
	if (wp_span_is(schema, "walpost"))
		return NULL;
	for (size_t i = 0; i < s->count; i++) {
		const struct wp_patterns *pattern = s->entries[i].pattern;
		if (pattern != NULL && wp_patterns_match(pattern, schema, name))
			return &s->entries[i];
	}
	return NULL;
}

const struct wp_outbox *wp_outbox_set_table(const struct wp_outbox_set *s, struct wp_span schema,
					    struct wp_span name)
{
	const struct entry *e = entry_of_table(s, schema, name);

	if (e == NULL)
		e = entry_of_pattern(s, schema, name);
	return e == NULL ? NULL : &e->outbox;
}

static const struct entry *entry_of_leaf(const struct wp_outbox_set *s, struct wp_span schema,
					 struct wp_span name)
{
	for (size_t i = 0; i < s->count; i++) {
		if (wp_patterns_match(s->entries[i].leaves, schema, name))
			return &s->entries[i];
	}
	return NULL;
}

/* The table itself goes first, and a pattern of tables last. */
static const struct entry *find_entry(const struct wp_outbox_set *s, struct wp_span schema,
				      struct wp_span name)
{
	const struct entry *e = entry_of_table(s, schema, name);

	if (e == NULL)
		e = entry_of_leaf(s, schema, name);
	return e != NULL ? e : entry_of_pattern(s, schema, name);
}

const struct wp_outbox *wp_outbox_set_find(const struct wp_outbox_set *s, struct wp_span schema,
					   struct wp_span name)
{
	const struct entry *e = find_entry(s, schema, name);

	return e == NULL ? NULL : &e->outbox;
}

bool wp_outbox_set_ignores(const struct wp_outbox_set *s, struct wp_span schema,
			   struct wp_span name)
{
	return wp_patterns_match(s->ignore, schema, name);
}

/* These tables are walpost's own; a publication FOR ALL TABLES brings their rows along. */
static enum wp_rows_kind kind_by_name(struct wp_span schema, struct wp_span name)
{
	if (!wp_span_is(schema, "walpost"))
		return WP_ROWS_UNKNOWN;
	if (wp_span_is(name, "slot_checkpoint") || wp_span_is(name, "skip"))
		return WP_ROWS_OWN;
	return wp_span_is(name, "reissue") ? WP_ROWS_REISSUE : WP_ROWS_UNKNOWN;
}

/* A pattern's rows come from the table of that name, which a partition may be of. */
static struct wp_rows event_rows(const struct entry *e, struct wp_span schema, struct wp_span name)
{
	struct wp_origin origin = { schema, name };

	if (e->pattern == NULL)
		origin = (struct wp_origin){ wp_span_of(e->table.schema),
					     wp_span_of(e->table.name) };
	return (struct wp_rows){ WP_ROWS_EVENTS, &e->outbox, origin };
}

struct wp_rows wp_outbox_set_rows(const struct wp_outbox_set *s, struct wp_span schema,
				  struct wp_span name)
{
	const struct entry *e = entry_of_table(s, schema, name);

	if (e != NULL)
		return event_rows(e, schema, name);
	return (struct wp_rows){ .kind = kind_by_name(schema, name) };
}

/* `table` is its place among those that have one. */
static const struct entry *entry_at_table(const struct wp_outbox_set *s, size_t table)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct wp_outbox *outbox = &s->entries[i].outbox;
		if (outbox->table == table && outbox->options->table[0] != '\0')
			return &s->entries[i];
	}
	return NULL;
}

static bool has_columns(const struct wp_relation *r, const struct wp_outbox_options *options)
{
	const struct wp_lasting_columns lasting = wp_lasting_columns(options);

	for (size_t i = 0; i < WP_LASTING_COLUMNS; i++) {
		if (wp_relation_column(r, lasting.names[i]) < 0)
			return false;
	}
	return true;
}

static bool is_like_an_outbox(const struct wp_outbox_set *s, const struct wp_relation *r)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct wp_outbox_options *options = s->entries[i].outbox.options;
		if (options->table[0] != '\0' && has_columns(r, options))
			return true;
	}
	return false;
}

static bool has_outbox_in_schema(const struct wp_outbox_set *s, struct wp_span schema)
{
	for (size_t i = 0; i < s->count; i++) {
		if (wp_span_is(schema, s->entries[i].table.schema))
			return true;
	}
	return false;
}

/* Whatever else a later walpost may keep in its schema is not an outbox. */
static bool is_own(const struct wp_outbox_set *s, const struct wp_relation *r)
{
	return wp_span_is(r->schema, "walpost") &&
	       !(has_outbox_in_schema(s, r->schema) && is_like_an_outbox(s, r));
}

/* The rows are nobody's, as far as the names tell. */
static enum wp_rows_kind kind_of_others(const struct wp_outbox_set *s, const struct wp_relation *r)
{
	bool is_ignored = wp_outbox_set_ignores(s, r->schema, r->name);

	if (is_own(s, r) || wp_patterns_name(s->ignore, r->schema, r->name))
		return is_ignored ? WP_ROWS_IGNORED : WP_ROWS_OWN;
	if (!is_ignored)
		return WP_ROWS_FOREIGN;
	return is_like_an_outbox(s, r) ? WP_ROWS_LOOKALIKE : WP_ROWS_IGNORED;
}

struct wp_rows wp_outbox_set_rows_of_partition(const struct wp_outbox_set *s,
					       const struct wp_relation *relation,
					       const struct wp_partition *partition)
{
	const struct wp_span schema = relation->schema, name = relation->name;
	bool inherits = partition != NULL && partition->inherits;
	const struct entry *e =
		partition == NULL || inherits ? NULL : entry_at_table(s, partition->table);

	if (e != NULL && e->pattern == NULL)
		return event_rows(e, schema, name);
	if (e != NULL && partition->root != NULL)
		return event_rows(e, wp_span_of(partition->root->schema),
				  wp_span_of(partition->root->name));
	e = find_entry(s, schema, name);
	if (e != NULL)
		return event_rows(e, schema, name);
	if (inherits && !wp_patterns_name(s->ignore, schema, name))
		return (struct wp_rows){ .kind = WP_ROWS_CHILD };
	return (struct wp_rows){ .kind = kind_of_others(s, relation) };
}

const struct wp_outbox *wp_outbox_set_named(const struct wp_outbox_set *s, struct wp_span name)
{
	for (size_t i = 0; i < s->count; i++) {
		if (wp_span_is(name, s->entries[i].outbox.name))
			return &s->entries[i].outbox;
	}
	return NULL;
}

const struct wp_outbox *wp_outbox_set_prefix(const struct wp_outbox_set *s, struct wp_span prefix)
{
	for (size_t i = 0; i < s->count; i++) {
		const char *mine = s->entries[i].outbox.options->message_prefix;
		if (mine[0] != '\0' && wp_span_is(prefix, mine))
			return &s->entries[i].outbox;
	}
	return NULL;
}
