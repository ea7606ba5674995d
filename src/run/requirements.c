#include <stdlib.h>
#include <string.h>

#include "walpost/run/requirements.h"

/* Asked for on purpose: by default an UPDATE that happens to come is warned of. */
static const char *updates_of(const struct wp_outbox_options *options)
{
	switch (options->on_update) {
	case WP_ON_UPDATE_ERROR:
		return "outbox.on_update = error";
	case WP_ON_UPDATE_STOP:
		return "outbox.on_update = stop";
	default:
		return NULL;
	}
}

static enum wp_rc add(struct wp_requirements_outboxes *w, const struct wp_outbox_options *options,
		      struct wp_error *error)
{
	size_t index = w->wanted.count;
	struct wp_table_name *name = &w->names[index];
	struct wp_needed_columns *columns = calloc(1, sizeof(*columns));

	if (columns == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for a list of columns");
	w->columns[index] = columns;
	w->wanted.count++;
	bool is_pattern = wp_table_is_pattern(options->table);
	enum wp_rc rc = is_pattern ? wp_table_pattern_parse(options->table, name, error)
				   : wp_table_name_parse(options->table, name, error);
	if (rc == WP_OK)
		rc = wp_needed_columns(options, columns, error);
	w->tables[index] = (struct wp_requirements_table){
		.schema = name->schema,
		.name = name->name,
		.is_pattern = is_pattern,
		.written = options->table,
		.columns = columns->names,
		.definitions = columns->definitions,
		.column_count = columns->count,
		.all_count = columns->all_count,
		.updates = updates_of(options),
	};
	return rc;
}

enum wp_rc wp_requirements_outboxes_init(struct wp_requirements_outboxes *w,
					 const struct wp_outboxes *outboxes, struct wp_error *error)
{
	enum wp_rc rc = WP_OK;

	_Static_assert(WP_OUTBOXES_MAX <= WP_WANTED_MAX, "all fit");
	*w = (struct wp_requirements_outboxes){
		.wanted = { .ignore = outboxes->ignore },
		.names = calloc(outboxes->count, sizeof(w->names[0])),
		.tables = calloc(outboxes->count, sizeof(w->tables[0])),
		.columns = calloc(outboxes->count, sizeof(w->columns[0])),
	};
	w->wanted.tables = w->tables;
	if (w->names == NULL || w->tables == NULL || w->columns == NULL)
		rc = wp_error_set(error, WP_NOMEM, "out of memory for %zu outboxes",
				  outboxes->count);
	for (size_t i = 0; i < outboxes->count && rc == WP_OK; i++) {
		w->wanted.messages |= outboxes->items[i].message_prefix[0] != '\0';
		if (outboxes->items[i].table[0] != '\0')
			rc = add(w, &outboxes->items[i], error);
	}
	if (rc != WP_OK)
		wp_requirements_outboxes_release(w);
	return rc;
}

void wp_requirements_outboxes_release(struct wp_requirements_outboxes *w)
{
	for (size_t i = 0; i < w->wanted.count; i++)
		free(w->columns[i]);
	free(w->names);
	free(w->tables);
	free(w->columns);
	*w = (struct wp_requirements_outboxes){ .wanted = { .count = 0 } };
}

void wp_requirements_cleaned(const struct wp_outboxes *outboxes,
			     const struct wp_cleanup_options *options, struct wp_cleaned *ret)
{
	struct wp_error ignored;

	ret->count = 0;
	for (size_t i = 0; i < outboxes->count && ret->count < WP_CLEANUP_TABLES_MAX; i++) {
		const struct wp_outbox_options *o = &outboxes->items[i];
		struct wp_table_name *name = &ret->names[ret->count];
		if (o->table[0] == '\0' || o->column_inserted[0] == '\0' ||
		    wp_table_name_parse(o->table, name, &ignored) != WP_OK)
			continue;
		ret->outboxes[ret->count] = o;
		ret->tables[ret->count++] = (struct wp_cleanup_table){
			.outbox = o->table,
			.schema = name->schema,
			.name = name->name,
			.inserted = o->column_inserted,
			.id = o->column_id,
			.processed = options->mode == WP_CLEANUP_MARK ? o->column_processed : NULL,
		};
	}
}
