/* Keeps what is said of each property, and prints it as a walpost.conf with comments. */
#include <stdlib.h>
#include <string.h>

#include "walpost/base/display.h"

#include "translate.h"

#define WIDTH 100

void wp_import_report_release(struct wp_import_report *r)
{
	for (size_t i = 0; i < r->text_count; i++)
		free(r->texts[i]);
	free(r->texts);
	free(r->entries);
	*r = (struct wp_import_report){ .count = 0 };
}

/* Returns NULL without memory, and `rc` says so. */
static void *grown(struct wp_import_report *r, void *items, size_t *capacity, size_t size)
{
	size_t wanted = *capacity == 0 ? 64 : *capacity * 2;
	void *ret = realloc(items, wanted * size);

	if (ret == NULL)
		r->rc = WP_NOMEM;
	else
		*capacity = wanted;
	return ret;
}

const char *wp_import_keep(struct wp_import_report *r, const char *text)
{
	char *copy;

	if (r->rc == WP_OK && r->text_count == r->text_capacity) {
		char **texts = grown(r, r->texts, &r->text_capacity, sizeof(texts[0]));
		if (texts != NULL)
			r->texts = texts;
	}
	if (r->rc != WP_OK)
		return "";
	copy = strdup(text);
	if (copy == NULL) {
		r->rc = WP_NOMEM;
		return "";
	}
	r->texts[r->text_count++] = copy;
	return copy;
}

static const char *kept(struct wp_import_report *r, const char *text)
{
	return text == NULL ? NULL : wp_import_keep(r, text);
}

void wp_import_report_add(struct wp_import_report *r, const struct wp_import_line *line)
{
	struct wp_import_entry entry = { .line = *line };

	if (r->rc == WP_OK && r->count == r->capacity) {
		struct wp_import_entry *entries =
			grown(r, r->entries, &r->capacity, sizeof(entries[0]));
		if (entries != NULL)
			r->entries = entries;
	}
	entry.line.section = kept(r, line->section);
	entry.line.about = kept(r, line->about);
	entry.line.shown = kept(r, line->shown);
	entry.line.error = kept(r, line->error);
	entry.line.key = kept(r, line->key);
	entry.line.value = kept(r, line->value);
	if (r->rc == WP_OK)
		r->entries[r->count++] = entry;
}

bool wp_import_is_change(const struct wp_import_entry *entry)
{
	return entry->line.verdict == WP_IMPORT_CHECK ||
	       entry->line.verdict == WP_IMPORT_UNSUPPORTED ||
	       (entry->refused != NULL && entry->refused[0] != '\0');
}

/* -- printing ------------------------------------------------------------------ */

static const char *verdict_name(enum wp_import_verdict verdict)
{
	switch (verdict) {
	case WP_IMPORT_TRANSLATED:
		return "";
	case WP_IMPORT_DROPPED:
		return "dropped: ";
	case WP_IMPORT_FILL_IN:
		return "TO FILL IN: ";
	case WP_IMPORT_CHECK:
		return "CHECK: ";
	case WP_IMPORT_UNSUPPORTED:
		return "NOT SUPPORTED: ";
	}
	return "";
}

/* Prints a text as comments, broken at spaces. */
static void print_comment(const char *indent, const char *head, const char *text, FILE *out)
{
	size_t at = 0;

	at = (size_t)fprintf(out, "#%s%s", indent, head);
	while (*text != '\0') {
		size_t size = strcspn(text, " ");

		if (at + size > WIDTH && at > 1 + strlen(indent))
			at = (size_t)fprintf(out, "\n#%s", indent);
		wp_display_print(out, (struct wp_span){ (const uint8_t *)text, size });
		at += size;
		text += size;
		if (*text == ' ' && at + 1 + strcspn(text + 1, " ") <= WIDTH)
			at += (size_t)fprintf(out, " ");
		else if (*text == ' ')
			at = WIDTH + 1;
		text += strspn(text, " ");
	}
	(void)fputc('\n', out);
}

static void print_about(const struct wp_import_line *line, FILE *out)
{
	(void)fputs("# ", out);
	wp_display_print(out, wp_span_of(line->about));
	if (line->shown != NULL) {
		(void)fputs(line->shown[0] == '\0' ? " =" : " = ", out);
		wp_display_print(out, wp_span_of(line->shown));
	}
	(void)fputc('\n', out);
}

static void print_setting(const struct wp_import_entry *entry, FILE *out)
{
	const struct wp_import_line *line = &entry->line;

	if (entry->refused != NULL && entry->refused[0] != '\0')
		print_comment("   ", verdict_name(WP_IMPORT_UNSUPPORTED), entry->refused, out);
	(void)fprintf(out, "%s%s =%s%s\n", entry->refused != NULL ? "#" : "", line->key,
		      line->value[0] == '\0' ? "" : " ", line->value);
}

/* The last of several in a row that have the same to be said says it. */
static bool says_the_same(const struct wp_import_line *line, const struct wp_import_entry *next)
{
	return next != NULL && line->key == NULL && line->error != NULL &&
	       next->line.error != NULL && next->line.about != NULL &&
	       line->verdict == next->line.verdict && strcmp(line->error, next->line.error) == 0;
}

/* `open` means that lines stand above it that belong to what comes. */
static void print_entry(const struct wp_import_entry *entry, const struct wp_import_entry *next,
			bool *open, FILE *out)
{
	const struct wp_import_line *line = &entry->line;

	if (line->about != NULL && !*open)
		(void)fputc('\n', out);
	if (line->about != NULL)
		print_about(line, out);
	*open = line->key == NULL && (line->error == NULL || says_the_same(line, next));
	if (*open)
		return;
	if (line->error != NULL)
		print_comment("   ", verdict_name(line->verdict), line->error, out);
	if (line->key != NULL)
		print_setting(entry, out);
}

static const struct wp_import_entry *next_in(const struct wp_import_report *r, const char *section,
					     size_t from)
{
	for (size_t i = from; i < r->count; i++)
		if (strcmp(r->entries[i].line.section, section) == 0)
			return &r->entries[i];
	return NULL;
}

static void print_section(const struct wp_import_report *r, const char *section, FILE *out)
{
	const struct wp_import_entry *entry = next_in(r, section, 0);
	bool open = false;

	if (entry == NULL)
		return;
	if (strcmp(section, WP_IMPORT_REST) == 0)
		(void)fputs("\n"
			    "# ---- properties without a counterpart\n",
			    out);
	else
		(void)fprintf(out, "\n[%s]\n", section);
	while (entry != NULL) {
		const struct wp_import_entry *next =
			next_in(r, section, (size_t)(entry - r->entries) + 1);

		print_entry(entry, next, &open, out);
		entry = next;
	}
}

static void print_named_outboxes(const struct wp_import_report *r, FILE *out)
{
	for (size_t i = 0; i < r->count; i++) {
		const char *section = r->entries[i].line.section;

		if (strncmp(section, "outbox.", strlen("outbox.")) == 0 &&
		    next_in(r, section, 0) == &r->entries[i])
			print_section(r, section, out);
	}
}

static const char head[] = "# To switch: edit the settings marked TO FILL IN, CHECK or NOT "
			   "SUPPORTED. While the connector still\n"
			   "# runs: `walpost init`, which creates missing tables, `walpost check` "
			   "and `walpost diff`. Then stop\n"
			   "# the connector, and start walpost. It continues from the slot's "
			   "position and resends events that\n"
			   "# Debezium sent but did not confirm. Leave the connector stopped: both "
			   "would read the same slot.\n"
			   "# Each step and the way back: deploy/docs/pages/debezium/moving.md\n";

static void print_head(const struct wp_import_report *r, FILE *out)
{
	const char *last = NULL;
	const char *said = NULL;
	bool changes = false;

	(void)fprintf(out,
		      "# walpost.conf, printed by `walpost config import-debezium` from %s.\n"
		      "#\n"
		      "%s#\n",
		      r->form, head);
	if (r->old_sign != NULL)
		(void)fprintf(out,
			      "# The configuration is of Debezium 1.x: it has %s and no "
			      "topic.prefix.\n",
			      r->old_sign);
	print_comment(" ", "", r->about_version, out);
	(void)fputs("#\n", out);
	for (size_t i = 0; i < r->count; i++)
		changes = changes || wp_import_is_change(&r->entries[i]);
	if (!changes) {
		(void)fputs("# Nothing is marked CHECK or NOT SUPPORTED: consumers see the same "
			    "topics, keys, values and\n"
			    "# headers as before.\n",
			    out);
		return;
	}
	(void)fputs("# Marked CHECK or NOT SUPPORTED, because consumers may see a difference:\n",
		    out);
	for (size_t i = 0; i < r->count; i++) {
		last = r->entries[i].line.about == NULL ? last : r->entries[i].line.about;
		if (!wp_import_is_change(&r->entries[i]) || last == NULL || last == said)
			continue;
		said = last;
		(void)fputs("#   ", out);
		wp_display_print(out, wp_span_of(last));
		(void)fputc('\n', out);
	}
}

void wp_import_report_print(const struct wp_import_report *r, FILE *out)
{
	print_head(r, out);
	print_section(r, "postgres", out);
	print_section(r, "outbox", out);
	print_named_outboxes(r, out);
	print_section(r, "kafka", out);
	print_section(r, "relay", out);
	print_section(r, WP_IMPORT_REST, out);
}
