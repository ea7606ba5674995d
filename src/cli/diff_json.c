/* Prints the result of `walpost diff` as JSON. */
#include <stdio.h>

#include "json_output.h"
#include "walpost/cli/diff.h"
#include "walpost/base/display.h"

/*
 * jansson's setters take ownership also when they fail, and a failed one is told by the object
 * being incomplete: `failed` remembers.
 */
struct writer {
	const struct wp_diff *diff;
	bool failed;
};

static void set(struct writer *w, json_t *object, const char *name, json_t *value)
{
	w->failed |= json_object_set_new(object, name, value) != 0;
}

static void set_count(struct writer *w, json_t *object, const char *name, uint64_t count)
{
	set(w, object, name, json_integer((json_int_t)count));
}

static void append(struct writer *w, json_t *array, json_t *value)
{
	w->failed |= json_array_append_new(array, value) != 0;
}

static json_t *tables(struct writer *w)
{
	json_t *array = json_array();

	for (size_t i = 0; i < w->diff->table_count; i++) {
		const struct wp_diff_table *table = &w->diff->tables[i];
		if (!wp_diff_lists(w->diff, table))
			continue;
		json_t *object = json_object();
		set(w, object, "table", json_string(table->name));
		set_count(w, object, "rows", table->rows);
		set_count(w, object, "dropped", table->dropped);
		set_count(w, object, "left_off", table->left_off);
		set(w, object, "newest", json_boolean(table->is_ordered));
		set(w, object, "timestamps_compared", json_boolean(table->timestamp_is_known));
		set(w, object, "values_compared", json_boolean(!table->value_is_unknown));
		append(w, array, object);
	}
	return array;
}

static json_t *topics(struct writer *w)
{
	json_t *array = json_array();

	for (size_t i = 0; i < w->diff->topic_count; i++) {
		const struct wp_diff_topic *topic = &w->diff->topics[i];
		json_t *object = json_object();
		set(w, object, "topic", json_string(topic->name));
		set(w, object, "partitions", json_integer(topic->partitions));
		set_count(w, object, "rows", topic->rows);
		append(w, array, object);
	}
	return array;
}

static json_t *parts(struct writer *w, const struct wp_matching_counts *c)
{
	json_t *object = json_object();
	json_t *headers = json_object();

	for (enum wp_difference_part part = 0; part < WP_PART_COUNT; part++)
		set_count(w, object, wp_part_name(part), c->parts[part]);
	for (size_t i = 0; i < c->header_count; i++) {
		struct wp_excerpt name;
		(void)wp_excerpt(&name, wp_span_of(c->headers[i].name));
		set_count(w, headers, name.text, c->headers[i].rows);
	}
	set(w, object, "headers", headers);
	return object;
}

static json_t *side(struct writer *w, const struct wp_window *window, bool hidden)
{
	static const char *const kinds[] = {
		[WP_TRACE_ABSENT] = "none",	 [WP_TRACE_NULL] = "null",
		[WP_TRACE_BYTES] = "bytes",	 [WP_TRACE_DIGEST] = "not kept",
		[WP_TRACE_UNKNOWN] = "anything",
	};
	bool has_size = window->kind == WP_TRACE_BYTES || window->kind == WP_TRACE_DIGEST;
	struct wp_span bytes = { .data = window->bytes, .size = window->count };
	json_t *object = json_object();

	set(w, object, "is", json_string(kinds[window->kind]));
	if (has_size)
		set_count(w, object, "size", window->size);
	if (window->kind == WP_TRACE_BYTES && !hidden) {
		set_count(w, object, "excerpt_at", window->from);
		set(w, object, "excerpt", wp_cli_json_text(bytes));
	}
	return object;
}

static json_t *difference(struct writer *w, const struct wp_shown_part *p)
{
	bool is_number = p->part == WP_PART_PARTITION || p->part == WP_PART_TIMESTAMP;
	bool hidden = w->diff->options.no_values && p->part != WP_PART_TOPIC &&
		      p->part != WP_PART_HEADER_ORDER;
	json_t *object = json_object();

	set(w, object, "part", json_string(wp_part_name(p->part)));
	if (p->part == WP_PART_HEADER)
		set(w, object, "header", wp_cli_json_text(wp_span_of(p->header)));
	if (p->at != WP_AT_UNKNOWN)
		set_count(w, object, "at", p->at);
	set(w, object, "walpost",
	    is_number ? json_integer(p->wanted_number) : side(w, &p->wanted, hidden));
	set(w, object, "kafka",
	    is_number ? json_integer(p->found_number) : side(w, &p->found, hidden));
	return object;
}

static json_t *named(struct writer *w, const struct wp_matching_row *row)
{
	json_t *object = json_object();

	set(w, object, "table", json_string(w->diff->tables[row->table].name));
	set(w, object, "id", wp_cli_json_text(row->id));
	return object;
}

static json_t *differences(struct writer *w)
{
	json_t *array = json_array();
	const struct wp_shown *shown;
	struct wp_matching_row row;

	for (size_t i = 0; (shown = wp_matching_shown(w->diff->matching, i)) != NULL; i++) {
		json_t *list = json_array();
		wp_matching_row(w->diff->matching, shown->row, &row);
		json_t *object = named(w, &row);
		set(w, object, "topic", json_string(shown->topic));
		set(w, object, "partition", json_integer(shown->partition));
		set(w, object, "offset", json_integer(shown->offset));
		for (size_t part = 0; part < shown->count; part++)
			append(w, list, difference(w, &shown->parts[part]));
		set(w, object, "parts", list);
		append(w, array, object);
	}
	return array;
}

static json_t *missing(struct writer *w, const struct wp_matching_counts *c)
{
	json_t *array = json_array();
	int64_t left = w->diff->options.shown_max;
	struct wp_matching_row row;

	for (size_t i = 0; i < c->rows && (left > 0 || w->diff->options.lists_missing); i++) {
		wp_matching_row(w->diff->matching, i, &row);
		if (row.verdict != WP_VERDICT_MISSING)
			continue;
		json_t *object = named(w, &row);
		set(w, object, "topic", wp_cli_json_text(row.topic));
		append(w, array, object);
		left--;
	}
	return array;
}

static uint64_t beyond(uint64_t count, size_t shown)
{
	return count > shown ? count - shown : 0;
}

static json_t *unmade(struct writer *w)
{
	const struct wp_diff *d = w->diff;
	json_t *array = json_array();

	for (uint64_t i = 0; i < d->unmade_count && i < (uint64_t)d->options.shown_max; i++) {
		const struct wp_diff_unmade *u = &d->unmade[i];
		json_t *object = json_object();
		set(w, object, "table", json_string(d->tables[u->table].name));
		set(w, object, "id", wp_cli_json_text(wp_span_of(u->id)));
		set(w, object, "reason", wp_cli_json_text(wp_span_of(u->error.text)));
		append(w, array, object);
	}
	return array;
}

static void set_counts(struct writer *w, json_t *object, const struct wp_matching_counts *c)
{
	set_count(w, object, "compared", c->rows);
	set_count(w, object, "equal", c->equal);
	set_count(w, object, "different", c->different);
	set(w, object, "different_in", parts(w, c));
	set_count(w, object, "missing", c->missing);
	set_count(w, object, "no_record", w->diff->unmade_count);
	set_count(w, object, "repeated", c->repeated);
	set_count(w, object, "repeated_unequal", c->repeated_unequal);
	set_count(w, object, "records_read", c->records);
	set_count(w, object, "records_without_id", c->nameless);
	set_count(w, object, "rows_kept_as_digests", c->digests);
	set_count(w, object, "rows_left_off", w->diff->left_off);
}

enum wp_rc wp_diff_report_json(const struct wp_diff *d, const struct wp_matching_counts *counts)
{
	struct writer w = { .diff = d };
	json_t *object = json_object();

	set_counts(&w, object, counts);
	set(&w, object, "tables", tables(&w));
	set(&w, object, "topics", topics(&w));
	json_t *different = differences(&w), *gone = missing(&w, counts), *without = unmade(&w);
	set_count(&w, object, "differences_left_out",
		  beyond(counts->different, json_array_size(different)));
	set_count(&w, object, "missing_rows_left_out",
		  beyond(counts->missing, json_array_size(gone)));
	set_count(&w, object, "rows_without_record_left_out",
		  beyond(d->unmade_count, json_array_size(without)));
	set(&w, object, "differences", different);
	set(&w, object, "missing_rows", gone);
	set(&w, object, "rows_without_record", without);
	if (!w.failed)
		w.failed = json_dumpf(object, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII) != 0;
	json_decref(object);
	(void)putchar('\n'); /* wp_cli_done() notices a failure */
	return w.failed ? WP_NOMEM : WP_OK;
}
