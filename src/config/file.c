/*
 * Reads walpost.conf. Each line is checked first; values are put only when no line is wrong.
 *
 *   # comment            also ;   in the first column only: no comments behind a value
 *   [section]            may come in parts
 *   key = value          spaces around both are dropped, all else is kept as it stands
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "walpost/base/file_text.h"
#include "walpost/base/utf8.h"
#include "walpost/config/option.h"
#include "walpost/config/setting.h"
#include "walpost/config/storage.h"

#define KEY_SIZE 512
#define SECTIONS_SIZE 256
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define KEY_LETTERS LETTERS "._-"

/* A line's texts are the file's, ended there by NULs. */
struct line {
	const char *section;
	const char *key;
	const char *value;
	unsigned number;
};

struct file {
	const char *path;
	struct wp_config *config;
	struct wp_config_notes *notes;
	const char *section; /* NULL: none has begun */
	struct line *lines;  /* owned; those with a key and a value */
	size_t count;
};

static const char *section_like(const char *name)
{
	struct wp_suggestion s;

	wp_suggestion_init(&s, name);
	for (size_t i = 0; wp_option_section(i) != NULL; i++)
		wp_suggestion_offer(&s, wp_option_section(i));
	return s.best;
}

/* Writes "[postgres], [outbox], ...". */
static const char *all_sections(char text[SECTIONS_SIZE])
{
	size_t size = 0;

	for (size_t i = 0; wp_option_section(i) != NULL && size < SECTIONS_SIZE; i++)
		size += (size_t)snprintf(text + size, SECTIONS_SIZE - size, "%s[%s]",
					 i == 0 ? "" : ", ", wp_option_section(i));
	return text;
}

/* Cuts off the spaces behind `text`; returns what follows those before it. */
static char *trim(char *text, const char *spaces)
{
	size_t size = strlen(text);

	while (size > 0 && strchr(spaces, text[size - 1]) != NULL)
		size--;
	text[size] = '\0';
	return text + strspn(text, spaces);
}

static void read_section(struct file *f, unsigned number, char *line)
{
	char *last = line + strlen(line) - 1;
	char all[SECTIONS_SIZE] = "";

	f->section = line;
	if (*last != ']') {
		wp_config_error(f->notes,
				"%s:%u: a section is written [name], with nothing after it",
				f->path, number);
		return;
	}
	*last = '\0';
	const char *name = f->section = trim(line + 1, " \t");
	for (size_t i = 0; wp_option_section(i) != NULL; i++)
		if (strcmp(wp_option_section(i), name) == 0)
			return;
	const char *outbox = strncmp(name, "outbox.", 7) == 0 ? name + 7 : NULL;
	if (outbox != NULL && wp_outbox_name_is_valid(outbox, strlen(outbox)))
		return;
	if (outbox != NULL)
		wp_config_error(f->notes,
				"%s:%u: [%.127s]: the name of an outbox consists of lower-case "
				"letters, digits and single underscores, begins with a letter, and "
				"must not begin like a key of [outbox]",
				f->path, number, name);
	else if (section_like(name) != NULL)
		wp_config_error(f->notes,
				"%s:%u: [%.127s]: there is no such section; did you mean [%s]?",
				f->path, number, name, section_like(name));
	else
		wp_config_error(f->notes, "%s:%u: [%.127s]: there is no such section; there are %s",
				f->path, number, name, all_sections(all));
}

static void read_key(struct file *f, unsigned number, char *line)
{
	char *value = line;
	const char *key = trim(strsep(&value, "="), " \t");

	/* What stands there is not quoted: it could be the second half of a secret. */
	if (value == NULL)
		wp_config_error(f->notes,
				"%s:%u: neither `key = value` nor [section] nor # comment", f->path,
				number);
	else if (key[0] == '\0')
		wp_config_error(f->notes, "%s:%u: there is no key before the =", f->path, number);
	else if (key[strspn(key, KEY_LETTERS)] != '\0' || strlen(key) >= KEY_SIZE / 2)
		wp_config_error(
			f->notes,
			"%s:%u: a key consists of letters, digits, dots, underscores and dashes",
			f->path, number);
	else if (f->section == NULL)
		wp_config_error(f->notes, "%s:%u: %s appears before the first [section]", f->path,
				number, key);
	else
		f->lines[f->count++] =
			(struct line){ f->section, key, trim(value, " \t\r\v\f"), number };
}

static void read_line(struct file *f, unsigned number, char *line)
{
	(void)trim(line, " \t\r"); /* what is left of CR LF, too */
	if (line[0] == '\0')
		return;
	if (!wp_utf8_is_valid(wp_span_of(line)))
		wp_config_error(f->notes, "%s:%u: not UTF-8", f->path, number);
	else if (line[0] == '#' || line[0] == ';')
		return;
	else if (line[0] == ' ' || line[0] == '\t')
		wp_config_error(f->notes,
				"%s:%u: a line must not begin with a space: write a value on one "
				"line, however long, and begin a comment in the first column",
				f->path, number);
	else if (line[0] == '[')
		read_section(f, number, line);
	else
		read_key(f, number, line);
}

static enum wp_rc read_lines(struct file *f, char *text)
{
	size_t most = 1;
	unsigned number = 0;
	char *line;

	for (const char *at = strchr(text, '\n'); at != NULL; at = strchr(at + 1, '\n'))
		most++;
	f->lines = calloc(most, sizeof(f->lines[0]));
	if (f->lines == NULL)
		return WP_NOMEM;
	if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3; /* a byte order mark, which some editors write */
	while ((line = strsep(&text, "\n")) != NULL)
		read_line(f, ++number, line);
	return WP_OK;
}

static enum wp_rc put_line(const struct file *f, const struct line *line)
{
	const struct line *first = f->lines;
	char key[KEY_SIZE];
	char where[PATH_MAX + 16];
	const struct wp_setting setting = { .key = key, .value = line->value, .where = where };

	(void)snprintf(key, sizeof(key), "%s.%s", line->section, line->key);
	(void)snprintf(where, sizeof(where), "%s:%u", f->path, line->number);
	/* [kafka] acks and ACKS are one. */
	while (strcmp(first->section, line->section) != 0 || strcasecmp(first->key, line->key) != 0)
		first++;
	if (first == line)
		return wp_config_put(f->config, &setting, f->notes);
	wp_config_error(f->notes, "%s: %s is already set in line %u; keep one of them", where, key,
			first->number);
	return WP_OK;
}

enum wp_rc wp_config_read_file(struct wp_config *config, const char *path,
			       struct wp_config_notes *notes)
{
	struct file f = { .path = path, .config = config, .notes = notes };
	size_t errors_before = notes->error_count;
	struct wp_error error;
	char *text = NULL;
	enum wp_rc rc = wp_file_text(path, &text, &error);

	if (rc == WP_CONFIG) {
		wp_config_error(notes, "%s", error.text);
		config->storage->file_unread = true;
		return WP_OK;
	}
	if (rc == WP_OK)
		rc = read_lines(&f, text);
	config->storage->file_unread = notes->error_count != errors_before;
	for (size_t i = 0; i < f.count && !config->storage->file_unread && rc == WP_OK; i++)
		rc = put_line(&f, &f.lines[i]);
	free(f.lines);
	free(text);
	return rc;
}
