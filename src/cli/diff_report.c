/* Prints the result of `walpost diff` for people: counts, and rows that differ or lack a record. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "walpost/base/display.h"
#include "walpost/cli/cli.h"
#include "walpost/cli/diff.h"

#define SIDE_WIDTH 16 /* "walpost" or "Kafka", and its size */
/* A line has room for a window all of whose bytes are escaped, and the dots. */
#define LINE_SIZE (WP_WINDOW_SIZE * 4 + 8)

static const char *ending(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* -- the summary -------------------------------------------------------------- */

/* These rows come first of all, because nothing below says anything about them. */
static void print_left_off(const struct wp_diff *d)
{
	if (d->left_off > 0)
		wp_cli_say(stdout,
			   "%" PRIu64 " row%s not compared (--limit %" PRId64
			   "; at most %d in all): restrict the rows with --where, or --outbox\n",
			   d->left_off, d->left_off == 1 ? " was" : "s were", d->options.limit,
			   WP_DIFF_LIMIT_MAX);
}

static void print_tables(const struct wp_diff *d)
{
	for (size_t i = 0; i < d->table_count; i++) {
		const struct wp_diff_table *table = &d->tables[i];
		if (!wp_diff_lists(d, table))
			continue;
		wp_cli_say(stdout, "%s: %" PRIu64 " row%s", table->name, table->rows,
			   ending(table->rows));
		if (table->left_off > 0)
			wp_cli_say(
				stdout, ", and %" PRIu64 " more (--limit): %s", table->left_off,
				table->is_ordered
					? "these are the newest"
					: "in arbitrary order, because no column holds their time");
		wp_cli_say(stdout, "\n");
	}
}

static void print_parts(const struct wp_matching_counts *c)
{
	const char *before = "   ";

	for (enum wp_difference_part part = 0; part < WP_PART_COUNT; part++) {
		if (part == WP_PART_HEADER || c->parts[part] == 0)
			continue;
		wp_cli_say(stdout, "%s%s %" PRIu64, before, wp_part_name(part), c->parts[part]);
		before = ", ";
	}
	for (size_t i = 0; i < c->header_count; i++) {
		struct wp_excerpt name;
		wp_cli_say(stdout, "%sheader %s %" PRIu64, before,
			   wp_excerpt(&name, wp_span_of(c->headers[i].name)), c->headers[i].rows);
		before = ", ";
	}
}

static void print_missing_topics(const struct wp_diff *d)
{
	const char *before = "   no such topic: ";

	for (size_t i = 0; i < d->topic_count; i++) {
		if (d->topics[i].partitions > 0)
			continue;
		wp_cli_say(stdout, "%s%s (%" PRIu64 ")", before, d->topics[i].name,
			   d->topics[i].rows);
		before = ", ";
	}
}

uint64_t wp_diff_dropped(const struct wp_diff *d)
{
	uint64_t dropped = 0;

	for (size_t i = 0; i < d->table_count; i++)
		dropped += d->tables[i].dropped;
	return dropped;
}

static void print_dropped(const struct wp_diff *d)
{
	const uint64_t dropped = wp_diff_dropped(d);

	if (dropped > 0)
		wp_cli_say(stdout,
			   "  dropped    %10" PRIu64
			   "   not compared: of a type under outbox.skip.types, or expired\n",
			   dropped);
}

static void print_counts(const struct wp_diff *d, const struct wp_matching_counts *c)
{
	wp_cli_say(stdout,
		   "\n  compared   %10" PRIu64 "   with %" PRIu64 " record%s of %zu topic%s\n",
		   c->rows, c->records, ending(c->records), d->topic_count, ending(d->topic_count));
	wp_cli_say(stdout, "  equal      %10" PRIu64 "\n", c->equal);
	wp_cli_say(stdout, "  different  %10" PRIu64, c->different);
	print_parts(c);
	wp_cli_say(stdout, "\n  missing    %10" PRIu64, c->missing);
	print_missing_topics(d);
	wp_cli_say(stdout, "\n  no record  %10" PRIu64 "%s\n", d->unmade_count,
		   d->unmade_count > 0 ? "   walpost cannot make one from these rows" : "");
	print_dropped(d);
	wp_cli_say(stdout, "  repeated   %10" PRIu64, c->repeated);
	if (c->repeated_unequal > 0)
		wp_cli_say(stdout,
			   "   rows with several records; of %" PRIu64 " not all are equal\n",
			   c->repeated_unequal);
	else
		wp_cli_say(stdout, "%s\n",
			   c->repeated > 0 ? "   rows with several records, all equal" : "");
}

static void print_unknown(const struct wp_diff *d)
{
	wp_cli_say(stdout, "\nNot compared: headers walpost-position and walpost-source, the value "
			   "of a runId");
	for (size_t i = 0; i < d->table_count; i++) {
		const struct wp_diff_table *table = &d->tables[i];
		if (table->rows > 0 && !table->timestamp_is_known)
			wp_cli_say(stdout, "; %s: timestamps, because no column holds them",
				   table->name);
		if (table->value_is_unknown)
			wp_cli_say(
				stdout,
				"; %s: values, because the envelope contains the commit position",
				table->name);
		if (table->time_is_unknown)
			wp_cli_say(stdout, "; %s: ce_time, because no column holds it",
				   table->name);
	}
	wp_cli_say(stdout, ".\n");
}

static void print_bounds(const struct wp_diff *d, const struct wp_matching_counts *c)
{
	if (c->digests > 0)
		wp_cli_say(stdout,
			   "For lack of memory only digests were kept of %" PRIu64
			   " row%s: a difference in one of these cannot be shown.\n",
			   c->digests, ending(c->digests));
	if (c->nameless > 0)
		wp_cli_say(stdout,
			   "%" PRIu64
			   " record%s without header %s: use --id-header to name another.\n",
			   c->nameless, ending(c->nameless), d->options.id_header);
}

/* -- a difference ------------------------------------------------------------- */

struct line {
	char text[LINE_SIZE];
	size_t size;
	int columns;
	int mark; /* the column of the byte that differs; -1: not in it */
};

static void add_text(struct line *l, const char *text, size_t size, int columns)
{
	memcpy(l->text + l->size, text, size);
	l->size += size;
	l->columns += columns;
}

/* Adds one character, or one byte that is none. Returns how many bytes it was. */
static size_t add_character(struct line *l, const uint8_t *at, size_t left)
{
	struct wp_display shown;
	size_t size = wp_display_next(at, left, &shown);

	add_text(l, shown.text, shown.size,
		 size > 1 && shown.text[0] != '\\' ? 1 : (int)shown.size);
	return size;
}

static void lay_out(struct line *l, const struct wp_window *w, size_t mark_at)
{
	*l = (struct line){ .mark = -1 };
	if (w->from > 0)
		add_text(l, "...", 3, 3);
	for (size_t i = 0; i < w->count;) {
		int column = l->columns;
		size_t size = add_character(l, w->bytes + i, w->count - i);
		if (mark_at >= w->from + i && mark_at < w->from + i + size)
			l->mark = column;
		i += size;
	}
	if (mark_at == w->from + w->count)
		l->mark = l->columns;
	if (w->from + w->count < w->size)
		add_text(l, "...", 3, 3);
}

static const char *word_for(const struct wp_window *w, bool no_values)
{
	switch (w->kind) {
	case WP_TRACE_ABSENT:
		return "none";
	case WP_TRACE_NULL:
		return "null";
	case WP_TRACE_DIGEST:
		return "its bytes were not kept";
	default:
		return no_values ? "not shown" : NULL;
	}
}

/* Returns where the mark goes, or -1. */
static int print_side(const char *who, const struct wp_window *w, size_t at, bool no_values)
{
	bool has_size = w->kind == WP_TRACE_BYTES || w->kind == WP_TRACE_DIGEST;
	const char *word = word_for(w, no_values);
	struct line line;
	char size[32] = "";

	if (has_size)
		(void)snprintf(size, sizeof(size), "%zu byte%s", w->size, ending(w->size));
	int before = wp_cli_say(stdout, "      %-*s %14s   ", SIDE_WIDTH / 2, who, size);
	if (word != NULL) {
		wp_cli_say(stdout, "(%s)\n", word);
		return -1;
	}
	lay_out(&line, w, at);
	wp_cli_say(stdout, "%.*s\n", (int)line.size, line.text);
	return line.mark < 0 ? -1 : before + line.mark;
}

static void print_part(const struct wp_shown_part *p, bool no_values)
{
	struct wp_excerpt name;

	wp_cli_say(stdout, "    %s", wp_part_name(p->part));
	if (p->part == WP_PART_HEADER)
		wp_cli_say(stdout, " %s", wp_excerpt(&name, wp_span_of(p->header)));
	if (p->part == WP_PART_PARTITION || p->part == WP_PART_TIMESTAMP) {
		wp_cli_say(stdout, ": walpost %" PRId64 ", Kafka %" PRId64 "\n", p->wanted_number,
			   p->found_number);
		return;
	}
	if (p->at != WP_AT_UNKNOWN)
		wp_cli_say(stdout, ", from byte %zu on", p->at);
	wp_cli_say(stdout, "\n");
	/* The name of a topic or of headers is no value. */
	bool hidden = no_values && p->part != WP_PART_TOPIC && p->part != WP_PART_HEADER_ORDER;
	int one = print_side("walpost", &p->wanted, p->at, hidden);
	int other = print_side("Kafka", &p->found, p->at, hidden);
	if (one >= 0 && other >= 0)
		wp_cli_say(stdout, "%*s^\n", one > other ? one : other, "");
}

static void print_row(const struct wp_diff *d, const struct wp_matching_row *row, const char *what)
{
	struct wp_excerpt id;

	wp_cli_say(stdout, "\n  %s  %s  id %s", what, d->tables[row->table].name,
		   wp_excerpt(&id, row->id));
}

static void print_differences(const struct wp_diff *d)
{
	const struct wp_shown *shown;
	struct wp_matching_row row;

	for (size_t i = 0; (shown = wp_matching_shown(d->matching, i)) != NULL; i++) {
		wp_matching_row(d->matching, shown->row, &row);
		print_row(d, &row, "different");
		wp_cli_say(stdout, "  in %s, partition %d, offset %" PRId64 "\n", shown->topic,
			   (int)shown->partition, shown->offset);
		for (size_t part = 0; part < shown->count; part++)
			print_part(&shown->parts[part], d->options.no_values);
		if (shown->left_off > 0)
			wp_cli_say(stdout, "    and %zu more\n", shown->left_off);
	}
}

static void print_missing(const struct wp_diff *d, const struct wp_matching_counts *c)
{
	int64_t left = d->options.shown_max;
	struct wp_matching_row row;

	for (size_t i = 0; i < c->rows && left > 0; i++) {
		wp_matching_row(d->matching, i, &row);
		if (row.verdict != WP_VERDICT_MISSING)
			continue;
		print_row(d, &row, "missing");
		wp_cli_say(stdout, "  not in %.*s\n", (int)row.topic.size,
			   (const char *)row.topic.data);
		left--;
	}
	if (c->missing > (uint64_t)d->options.shown_max)
		wp_cli_say(stdout,
			   "\n  and %" PRIu64
			   " more rows that are missing: --json lists all of them\n",
			   c->missing - (uint64_t)d->options.shown_max);
}

/* The reason names table and id. */
static void print_unmade(const struct wp_diff *d)
{
	for (uint64_t i = 0; i < d->unmade_count && i < (uint64_t)d->options.shown_max; i++)
		wp_cli_say(stdout, "\n  no record  %s\n", d->unmade[i].error.text);
}

void wp_diff_report(const struct wp_diff *d, const struct wp_matching_counts *counts)
{
	print_left_off(d);
	print_tables(d);
	print_counts(d, counts);
	print_unknown(d);
	print_bounds(d, counts);
	print_differences(d);
	print_missing(d, counts);
	print_unmade(d);
}
