#include "walpost/cli/findings.h"

#include <string.h>

#include <jansson.h>

#include "walpost/cli/cli.h"
#include "walpost/cli/output.h"

enum {
	INDENT = 2,
	WHAT_AT = 8, /* where sentences and cures begin: behind the indent and a level */
	WIDTH_MIN = 40,
};

/* Says how findings are printed; without a terminal they are plain, one a line. */
struct page {
	FILE *to;
	bool is_coloured;
	int width; /* 0: lines are not wrapped */
};

static const char *const levels[] = { "ok", "warn", "FAIL" };
static const char *const colours[] = { "\033[32m", "\033[33m", "\033[1;31m" };

/* -- one ------------------------------------------------------------------------- */

/* Counts characters, none of them twice: what is not ASCII here are people's names. */
static int width_of(const char *text, size_t size)
{
	int width = 0;

	for (size_t i = 0; i < size; i++)
		width += ((unsigned char)text[i] & 0xC0) != 0x80;
	return width;
}

/* Prints words from a column on, and breaks lines where they do not fit or the text says so. */
static void print_words(const struct page *page, const char *text, int column)
{
	while (*text) {
		size_t gap = strspn(text, " \n"), size = strcspn(text + gap, " \n");
		int width = width_of(text + gap, size);
		bool fits = page->width == 0 || column + (int)gap + width <= page->width;
		bool breaks = memchr(text, '\n', gap) != NULL;
		bool goes_on = !breaks && (fits || column <= WHAT_AT);
		if (goes_on)
			wp_cli_say(page->to, "%.*s", (int)(gap + size), text);
		else
			wp_cli_say(page->to, "\n%*s%.*s", WHAT_AT, "", (int)size, text + gap);
		column = goes_on ? column + (int)gap + width : WHAT_AT + width;
		text += gap + size;
	}
	(void)fprintf(page->to, "\n");
}

/* A cure is never wrapped, because it is pasted. */
static void print_cure(const struct page *page, const char *cure)
{
	while (*cure) {
		size_t size = strcspn(cure, "\n");
		wp_cli_say(page->to, "%*s%.*s\n", WHAT_AT, "", (int)size, cure);
		cure += size + (cure[size] == '\n');
	}
}

static void print_one(const struct page *page, const struct wp_finding *finding)
{
	(void)fprintf(page->to, "%*s", INDENT, "");
	(void)fprintf(page->to, "%s%-4s%s", page->is_coloured ? colours[finding->level] : "",
		      levels[finding->level], page->is_coloured ? "\033[0m" : "");
	int at = WHAT_AT + fprintf(page->to, "  %s: ", finding->name) - INDENT;
	print_words(page, finding->what, at);
	print_cure(page, finding->cure);
}

static struct page page_of(FILE *to)
{
	int columns = wp_terminal_is(to) ? wp_terminal_size(to).columns : 0;

	return (struct page){
		.to = to,
		.is_coloured = wp_terminal_is_coloured(to),
		.width = columns == 0 || columns > WIDTH_MIN ? columns : WIDTH_MIN,
	};
}

void wp_cli_print_finding(FILE *to, const struct wp_finding *finding)
{
	struct page page = page_of(to);

	print_one(&page, finding);
}

/* -- all ------------------------------------------------------------------------- */

/* Each table and each topic has a group of its own. */
static bool is_of_group(const struct wp_finding *finding, const struct wp_finding *first)
{
	bool has_own = first->room == WP_ROOM_OUTBOX || first->room == WP_ROOM_TOPIC;

	return finding->room == first->room &&
	       (!has_own || strcmp(finding->about, first->about) == 0);
}

/* None of the findings before it is of its group. */
static bool begins_group(const struct wp_findings *findings, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (is_of_group(&findings->items[i], &findings->items[index]))
			return false;
	return true;
}

static void print_heading(const struct page *page, const struct wp_finding *first)
{
	static const char *const headings[] = {
		[WP_ROOM_CONNECTION] = "Connection to Postgres",
		[WP_ROOM_SERVER] = "Postgres server",
		[WP_ROOM_OUTBOX] = "Outbox ",
		[WP_ROOM_PUBLICATION] = "Publication",
		[WP_ROOM_SLOT] = "Slot",
		[WP_ROOM_KAFKA] = "Kafka",
		[WP_ROOM_TOPIC] = "Topic ",
	};
	bool has_own = first->room == WP_ROOM_OUTBOX || first->room == WP_ROOM_TOPIC;

	(void)fprintf(page->to, "%s%s", page->is_coloured ? "\033[1m" : "", headings[first->room]);
	wp_cli_say(page->to, "%s", has_own ? first->about : "");
	(void)fprintf(page->to, "%s\n", page->is_coloured ? "\033[0m" : "");
}

static void print_group(const struct page *page, const struct wp_findings *findings, size_t index)
{
	const struct wp_finding *first = &findings->items[index];

	print_heading(page, first);
	for (size_t i = index; i < findings->count; i++)
		if (is_of_group(&findings->items[i], first))
			print_one(page, &findings->items[i]);
	(void)fprintf(page->to, "\n");
}

static void print_counts(const struct page *page, const struct wp_findings *findings)
{
	size_t counts[] = { 0, 0, 0 };

	for (size_t i = 0; i < findings->count; i++)
		counts[findings->items[i].level]++;
	(void)fprintf(page->to, "%zu ok, %zu warning%s, %zu failure%s\n", counts[WP_FINDING_OK],
		      counts[WP_FINDING_WARN], counts[WP_FINDING_WARN] == 1 ? "" : "s",
		      counts[WP_FINDING_FAIL], counts[WP_FINDING_FAIL] == 1 ? "" : "s");
}

void wp_cli_print_findings(FILE *to, const struct wp_findings *findings)
{
	struct page page = page_of(to);

	for (int room = 0; room < WP_ROOM_COUNT; room++)
		for (size_t i = 0; i < findings->count; i++)
			if (findings->items[i].room == (enum wp_finding_room)room &&
			    begins_group(findings, i))
				print_group(&page, findings, i);
	print_counts(&page, findings);
}

/* -- for machines ------------------------------------------------------------------ */

bool wp_cli_print_findings_json(FILE *to, const struct wp_findings *findings)
{
	json_t *array = json_array();
	int failed = 0;

	for (size_t i = 0; i < findings->count; i++) {
		const struct wp_finding *f = &findings->items[i];
		failed |= json_array_append_new(
			array,
			json_pack("{ss ss ss ss ss ss}", "level", wp_finding_level_name(f->level),
				  "room", wp_finding_room_name(f->room), "about", f->about, "name",
				  f->name, "what", f->what, "cure", f->cure));
	}
	failed |= json_dumpf(array, to, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	json_decref(array);
	(void)fprintf(to, "\n");
	return failed == 0;
}
