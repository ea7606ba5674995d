/*
 * walpost.conf by libini_config. The library takes lines of any length and keeps line
 * numbers, but it is lenient where we must not be: it drops keys before the first
 * section, joins [kafka] and [Kafka], takes an indented line for the rest of the one
 * before, ends a value at a NUL, and refuses a whole file without a line number for one
 * letter outside ASCII in a key. So the shape of each line is checked first; values,
 * and which of them belong together, are the library's.
 *
 *   # comment            also ;   in the first column only: no comments behind a value
 *   [section]
 *   key = value          spaces around both are dropped, all else is kept as it stands
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <ini_configobj.h>

#include "walpost/base/file_text.h"
#include "walpost/base/utf8.h"
#include "walpost/config/option.h"
#include "walpost/config/setting.h"
#include "walpost/config/storage.h"

#define KEY_SIZE 512
#define SECTIONS_SIZE 256
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define KEY_LETTERS LETTERS "._-"

struct file {
	const char *path;
	struct wp_config *config;
	struct wp_config_notes *notes;
	struct ini_cfgobj *ini;
};

static const char *section_like(const char *name)
{
	struct wp_suggestion s;

	wp_suggestion_init(&s, name);
	for (size_t i = 0; wp_option_section(i) != NULL; i++)
		wp_suggestion_offer(&s, wp_option_section(i));
	return s.best;
}

/* [postgres], [outbox], ... */
static const char *all_sections(char text[SECTIONS_SIZE])
{
	size_t size = 0;

	for (size_t i = 0; wp_option_section(i) != NULL && size < SECTIONS_SIZE; i++)
		size += (size_t)snprintf(text + size, SECTIONS_SIZE - size, "%s[%s]",
					 i == 0 ? "" : ", ", wp_option_section(i));
	return text;
}

static void check_section(const struct file *f, unsigned number, const char *line, size_t size)
{
	size_t start = 1 + strspn(line + 1, " \t");
	size_t end = size;
	char name[128];
	char all[SECTIONS_SIZE] = "";

	if (line[size - 1] != ']') {
		wp_config_error(f->notes,
				"%s:%u: a section is written [name], with nothing after it",
				f->path, number);
		return;
	}
	end--;
	while (end > start && (line[end - 1] == ' ' || line[end - 1] == '\t'))
		end--;
	(void)snprintf(name, sizeof(name), "%.*s", (int)(end - start), line + start);
	for (size_t i = 0; wp_option_section(i) != NULL; i++)
		if (strcmp(wp_option_section(i), name) == 0)
			return;
	const char *outbox = strncmp(name, "outbox.", 7) == 0 ? name + 7 : NULL;
	if (outbox != NULL && wp_outbox_name_is_valid(outbox, strlen(outbox)))
		return;
	if (outbox != NULL)
		wp_config_error(f->notes,
				"%s:%u: [%s]: the name of an outbox consists of lower-case "
				"letters, digits and single underscores, begins with a letter, and "
				"must not begin like a key of [outbox]",
				f->path, number, name);
	else if (section_like(name) != NULL)
		wp_config_error(f->notes,
				"%s:%u: [%s]: there is no such section; did you mean [%s]?",
				f->path, number, name, section_like(name));
	else
		wp_config_error(f->notes, "%s:%u: [%s]: there is no such section; there are %s",
				f->path, number, name, all_sections(all));
}

static void check_key(const struct file *f, unsigned number, const char *line, size_t size,
		      bool in_section)
{
	const char *equal = memchr(line, '=', size);
	size_t key_size = equal == NULL ? 0 : (size_t)(equal - line);

	while (key_size > 0 && (line[key_size - 1] == ' ' || line[key_size - 1] == '\t'))
		key_size--;
	/* What stands there is not quoted: it could be the second half of a secret. */
	if (equal == NULL)
		wp_config_error(f->notes,
				"%s:%u: neither `key = value` nor [section] nor # comment", f->path,
				number);
	else if (key_size == 0)
		wp_config_error(f->notes, "%s:%u: there is no key before the =", f->path, number);
	else if (strspn(line, KEY_LETTERS) != key_size || key_size >= KEY_SIZE / 2)
		wp_config_error(
			f->notes,
			"%s:%u: a key consists of letters, digits, dots, underscores and dashes",
			f->path, number);
	else if (!in_section)
		wp_config_error(f->notes, "%s:%u: %.*s appears before the first [section]", f->path,
				number, (int)key_size, line);
}

/* `line` ends behind `size` with a newline or NUL. */
static void check_line(const struct file *f, unsigned number, const char *line, size_t size,
		       bool *in_section)
{
	while (size > 0 && strchr(" \t\r", line[size - 1]) != NULL)
		size--;
	if (size == 0)
		return;
	if (!wp_utf8_is_valid((struct wp_span){ (const uint8_t *)line, size })) {
		wp_config_error(f->notes, "%s:%u: not UTF-8", f->path, number);
	} else if (line[0] == '#' || line[0] == ';') {
		return;
	} else if (line[0] == ' ' || line[0] == '\t') {
		wp_config_error(f->notes,
				"%s:%u: a line must not begin with a space: write a value on one "
				"line, however long, and begin a comment in the first column",
				f->path, number);
	} else if (line[0] == '[') {
		*in_section = true;
		check_section(f, number, line, size);
	} else {
		check_key(f, number, line, size, *in_section);
	}
}

static void check_lines(const struct file *f, const char *text)
{
	bool in_section = false;
	unsigned number = 0;

	if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3; /* a byte order mark; the library skips it too */
	while (*text != '\0') {
		size_t size = strcspn(text, "\n");

		check_line(f, ++number, text, size, &in_section);
		text += size;
		if (*text == '\n')
			text++;
	}
}

/* Of the values under one name (the library ignores case), the one with this ordinal. */
static struct value_obj *find_value(const struct file *f, const char *section, const char *key,
				    size_t ordinal)
{
	struct value_obj *value = NULL;
	int mode = INI_GET_FIRST_VALUE;

	for (size_t i = 0; i <= ordinal; i++) {
		if (ini_get_config_valueobj(section, key, f->ini, mode, &value) != EOK)
			return NULL;
		mode = INI_GET_NEXT_VALUE;
	}
	return value;
}

static enum wp_rc put_value(const struct file *f, const char *section, char **keys, size_t index)
{
	char key[KEY_SIZE];
	char where[PATH_MAX + 16];
	struct wp_setting setting = { .key = key, .where = where };
	struct value_obj *value;
	uint32_t line = 0;
	uint32_t first_line = 0;
	size_t ordinal = 0;

	for (size_t i = 0; i < index; i++)
		ordinal += strcasecmp(keys[i], keys[index]) == 0 ? 1 : 0;
	value = find_value(f, section, keys[index], ordinal);
	if (value == NULL || value_get_line(value, &line) != EOK ||
	    value_get_concatenated(value, &setting.value) != EOK || setting.value == NULL) {
		wp_config_error(f->notes, "%s: %s.%s cannot be read", f->path, section,
				keys[index]);
		return WP_OK;
	}
	(void)snprintf(key, sizeof(key), "%s.%s", section, keys[index]);
	(void)snprintf(where, sizeof(where), "%s:%u", f->path, (unsigned)line);
	if (ordinal > 0) {
		(void)value_get_line(find_value(f, section, keys[index], 0), &first_line);
		wp_config_error(f->notes, "%s: %s is already set in line %u; keep one of them",
				where, key, (unsigned)first_line);
		return WP_OK;
	}
	return wp_config_put(f->config, &setting, f->notes);
}

static enum wp_rc put_section(const struct file *f, const char *section)
{
	enum wp_rc rc = WP_OK;
	int count = 0;
	char **keys = ini_get_attribute_list(f->ini, section, &count, NULL);

	if (keys == NULL)
		return WP_NOMEM;
	for (int i = 0; i < count && rc == WP_OK; i++)
		rc = put_value(f, section, keys, (size_t)i);
	ini_free_attribute_list(keys);
	return rc;
}

static enum wp_rc put_all(const struct file *f)
{
	enum wp_rc rc = WP_OK;
	int count = 0;
	char **sections = ini_get_section_list(f->ini, &count, NULL);

	if (sections == NULL)
		return WP_NOMEM;
	for (int i = 0; i < count && rc == WP_OK; i++)
		rc = put_section(f, sections[i]);
	ini_free_section_list(sections);
	return rc;
}

static void note_errors(const struct file *f)
{
	char **errors = NULL;

	if (ini_config_get_errors(f->ini, &errors) != EOK || errors == NULL || errors[0] == NULL)
		wp_config_error(f->notes, "%s: not a valid configuration file", f->path);
	for (char **e = errors; e != NULL && *e != NULL; e++)
		wp_config_error(f->notes, "%s: %s", f->path, *e);
	ini_config_free_errors(errors);
}

static enum wp_rc parse(struct file *f, char *text)
{
	struct ini_cfgfile *source = NULL;
	int code = ini_config_create(&f->ini);
	enum wp_rc rc = WP_NOMEM;

	if (code != EOK)
		return WP_NOMEM;
	if (text[0] != '\0')
		code = ini_config_file_from_mem(text, (uint32_t)strlen(text), &source);
	if (code != EOK)
		goto out;
	if (source != NULL)
		code = ini_config_parse(source, INI_STOP_ON_ANY,
					INI_MS_MERGE | INI_MV1S_ALLOW | INI_MV2S_ALLOW,
					INI_PARSE_NOWRAP | INI_PARSE_NOSPACE | INI_PARSE_NOTAB |
						INI_PARSE_NO_C_COMMENTS,
					f->ini);
	rc = code == ENOMEM ? WP_NOMEM : WP_OK;
	if (code != EOK && code != ENOMEM)
		note_errors(f);
	else if (code == EOK)
		rc = put_all(f);
out:
	ini_config_file_destroy(source);
	ini_config_destroy(f->ini);
	return rc;
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
	if (rc != WP_OK)
		return rc;
	check_lines(&f, text);
	config->storage->file_unread = notes->error_count != errors_before;
	if (!config->storage->file_unread)
		rc = parse(&f, text);
	free(text);
	return rc;
}
