#include <assert.h>
#include <stdlib.h>

#include "walpost/outbox/message.h"
#include "walpost/outbox/names.h"
#include "walpost/outbox/outboxes.h"
#include "walpost/outbox/shape.h"

struct entry {
	struct wp_outbox outbox; /* first: what callers hold */
	struct wp_table_name table;
	struct wp_patterns *leaves; /* owned */
};

struct wp_outbox_set {
	struct wp_patterns *ignore; /* owned */
	size_t count;
	struct entry entries[];
};

static enum wp_rc fill(struct entry *e, const struct wp_outbox_options *options, const char *run_id,
		       size_t record_max, struct wp_error *error)
{
	enum wp_rc rc = WP_OK;

	e->outbox.options = options;
	if (options->table[0] != '\0')
		rc = wp_table_name_parse(options->table, &e->table, error);
	if (rc == WP_OK)
		rc = wp_patterns_new(options->leaves, &e->leaves, error);
	if (rc == WP_OK)
		rc = wp_shape_new(options, record_max, &e->outbox.shape, error);
	if (rc == WP_OK && options->message_prefix[0] != '\0')
		rc = wp_message_reader_new(options, &e->outbox.messages, error);
	if (rc == WP_OK && run_id != NULL)
		wp_shape_name_run(e->outbox.shape, run_id);
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
		s->entries[i].outbox.table = tables;
		tables += options->table[0] != '\0' ? 1 : 0;
		rc = fill(&s->entries[i], options, outboxes->run_id, record_max, error);
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
	}
	wp_patterns_free(s->ignore);
	free(s);
}

const struct wp_outbox *wp_outbox_set_at(const struct wp_outbox_set *s, size_t index)
{
	assert(index < s->count);
	return &s->entries[index].outbox;
}

/* Without a table its parts are empty, as no relation's are. */
static bool is_table(const struct entry *e, struct wp_span schema, struct wp_span name)
{
	return wp_span_is(schema, e->table.schema) && wp_span_is(name, e->table.name);
}

const struct wp_outbox *wp_outbox_set_table(const struct wp_outbox_set *s, struct wp_span schema,
					    struct wp_span name)
{
	for (size_t i = 0; i < s->count; i++) {
		if (is_table(&s->entries[i], schema, name))
			return &s->entries[i].outbox;
	}
	return NULL;
}

const struct wp_outbox *wp_outbox_set_find(const struct wp_outbox_set *s, struct wp_span schema,
					   struct wp_span name)
{
	const struct wp_outbox *found = wp_outbox_set_table(s, schema, name);

	for (size_t i = 0; i < s->count && found == NULL; i++) {
		if (wp_patterns_match(s->entries[i].leaves, schema, name))
			found = &s->entries[i].outbox;
	}
	return found;
}

bool wp_outbox_set_ignores(const struct wp_outbox_set *s, struct wp_span schema,
			   struct wp_span name)
{
	return wp_patterns_match(s->ignore, schema, name);
}

/* A table of walpost itself; a publication FOR ALL TABLES brings its rows along. */
static bool is_our_own(struct wp_span schema, struct wp_span name)
{
	return wp_span_is(schema, "walpost") &&
	       (wp_span_is(name, "slot_checkpoint") || wp_span_is(name, "skip"));
}

struct wp_rows wp_outbox_set_rows(const struct wp_outbox_set *s, struct wp_span schema,
				  struct wp_span name)
{
	const struct wp_outbox *outbox = wp_outbox_set_table(s, schema, name);

	if (outbox != NULL)
		return (struct wp_rows){ WP_ROWS_EVENTS, outbox };
	return (struct wp_rows){ is_our_own(schema, name) ? WP_ROWS_OWN : WP_ROWS_UNKNOWN, NULL };
}

/* Its place among those that have one. */
static const struct wp_outbox *outbox_of_table(const struct wp_outbox_set *s, size_t table)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct wp_outbox *outbox = &s->entries[i].outbox;
		if (outbox->table == table && outbox->options->table[0] != '\0')
			return outbox;
	}
	return NULL;
}

struct wp_rows wp_outbox_set_rows_of_partition(const struct wp_outbox_set *s, struct wp_span schema,
					       struct wp_span name,
					       const struct wp_partition *partition)
{
	const struct wp_outbox *outbox = NULL;

	if (partition != NULL)
		outbox = outbox_of_table(s, partition->table);
	if (outbox == NULL)
		outbox = wp_outbox_set_find(s, schema, name);
	if (outbox != NULL)
		return (struct wp_rows){ WP_ROWS_EVENTS, outbox };
	return (struct wp_rows){ wp_outbox_set_ignores(s, schema, name) ? WP_ROWS_IGNORED
									: WP_ROWS_FOREIGN,
				 NULL };
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
