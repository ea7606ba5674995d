#include <stdlib.h>
#include <string.h>

#include "walpost/base/json.h"
#include "walpost/run/requirements.h"

enum { TEXT_MAX = 1 << 20 };

struct wp_requirements_texts {
	struct wp_buffer patterns;
	struct wp_buffer lasting;
};

static enum wp_rc write_item(struct wp_buffer *into, const char *before, struct wp_span text)
{
	enum wp_rc rc = wp_buffer_append_text(into, before);

	return rc == WP_OK ? wp_json_write_string(into, text, WP_JSON_NEEDED) : rc;
}

static enum wp_rc write_like(struct wp_buffer *into, const struct wp_pattern_like *pattern)
{
	enum wp_rc rc =
		write_item(into, into->size > 1 ? ",[" : "[", wp_span_of(pattern->like.schema));

	if (rc == WP_OK)
		rc = write_item(into, ",", wp_span_of(pattern->like.name));
	return rc == WP_OK ? wp_buffer_append_byte(into, ']') : rc;
}

static enum wp_rc end_list(struct wp_buffer *into)
{
	enum wp_rc rc = wp_buffer_append_byte(into, ']');

	return rc == WP_OK ? wp_buffer_append_byte(into, '\0') : rc;
}

enum which_patterns { PATTERNS_ALL, PATTERNS_EXACT };

/* `ret_wide`: one of them stands for many. In walpost's own schema there is no outbox. */
static enum wp_rc write_patterns(struct wp_buffer *into, const char *list,
				 enum which_patterns which, bool *ret_wide, struct wp_error *error)
{
	struct wp_pattern_like pattern;
	struct wp_patterns *patterns;
	enum wp_rc rc = wp_patterns_new(list, &patterns, error);

	if (rc != WP_OK)
		return rc;
	*ret_wide = false;
	rc = wp_buffer_append_byte(into, '[');
	for (size_t i = 0; i < wp_patterns_count(patterns) && rc == WP_OK; i++) {
		bool fits = wp_patterns_like(patterns, i, &pattern);
		*ret_wide |= !pattern.is_exact && strcmp(pattern.like.schema, "walpost") != 0;
		if (fits && (which == PATTERNS_ALL || pattern.is_exact))
			rc = write_like(into, &pattern);
	}
	wp_patterns_free(patterns);
	if (rc == WP_OK)
		rc = end_list(into);
	return rc == WP_OK ? rc : wp_error_set(error, rc, "out of memory for table patterns");
}

static enum wp_rc write_lasting(struct wp_buffer *into, const struct wp_outbox_options *options,
				struct wp_error *error)
{
	const struct wp_lasting_columns lasting = wp_lasting_columns(options);
	enum wp_rc rc = WP_OK;

	for (size_t i = 0; i < WP_LASTING_COLUMNS && rc == WP_OK; i++)
		rc = write_item(into, i == 0 ? "[" : ",", lasting.names[i]);
	if (rc == WP_OK)
		rc = end_list(into);
	return rc == WP_OK ? rc : wp_error_set(error, rc, "out of memory for a list of columns");
}

static enum wp_rc add_texts(struct wp_requirements_outboxes *w, size_t index,
			    const struct wp_outbox_options *options, struct wp_error *error)
{
	struct wp_requirements_texts *texts = &w->texts[index];
	bool is_wide;

	enum wp_rc rc =
		write_patterns(&texts->patterns, options->leaves, PATTERNS_ALL, &is_wide, error);
	if (rc == WP_OK)
		rc = write_lasting(&texts->lasting, options, error);
	w->tables[index].leaves = (const char *)texts->patterns.data;
	w->tables[index].lasting = (const char *)texts->lasting.data;
	return rc;
}

static enum wp_rc add_ignored(struct wp_requirements_outboxes *w,
			      const struct wp_outboxes *outboxes, struct wp_error *error)
{
	struct wp_buffer *into = &w->texts[outboxes->count].patterns;
	enum wp_rc rc = write_patterns(into, outboxes->ignore, PATTERNS_EXACT,
				       &w->wanted.ignores_by_pattern, error);

	w->wanted.ignored = (const char *)into->data;
	return rc;
}

/* It is asked for on purpose: by default an UPDATE that happens to come is warned of. */
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
		.leaves_written = options->leaves,
		.section = options->name,
		.drops = wp_dropping_option(options) != NULL,
		.is_timed = options->column_inserted[0] != '\0',
	};
	return rc == WP_OK ? add_texts(w, index, options, error) : rc;
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
		.texts = calloc(outboxes->count + 1, sizeof(w->texts[0])),
		.text_count = outboxes->count + 1,
	};
	w->wanted.tables = w->tables;
	if (w->names == NULL || w->tables == NULL || w->columns == NULL || w->texts == NULL)
		rc = wp_error_set(error, WP_NOMEM, "out of memory for %zu outboxes",
				  outboxes->count);
	for (size_t i = 0; i < w->text_count && w->texts != NULL; i++) {
		wp_buffer_init(&w->texts[i].patterns, TEXT_MAX);
		wp_buffer_init(&w->texts[i].lasting, TEXT_MAX);
	}
	if (rc == WP_OK)
		rc = add_ignored(w, outboxes, error);
	for (size_t i = 0; i < outboxes->count && rc == WP_OK; i++) {
		const struct wp_outbox_options *o = &outboxes->items[i];
		bool has_messages = o->message_prefix[0] != '\0';
		w->wanted.messages |= has_messages;
		w->wanted.text_messages |= has_messages && o->message_format == WP_MESSAGE_JSON;
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
	for (size_t i = 0; i < w->text_count && w->texts != NULL; i++) {
		wp_buffer_release(&w->texts[i].patterns);
		wp_buffer_release(&w->texts[i].lasting);
	}
	free(w->texts);
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
