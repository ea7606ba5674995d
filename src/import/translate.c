#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "walpost/base/ascii.h"
#include "walpost/base/secret.h"
#include "walpost/config/setting.h"

#include "translate.h"

/* -- asking ---------------------------------------------------------------------- */

/* The last one counts, as in Java, and a newer name before an older one. */
struct wp_import_item *wp_import_find(struct wp_translation *t, enum wp_import_kind kind,
				      const char *key)
{
	struct wp_import_item *renamed = NULL;

	for (size_t i = t->count; i > 0; i--) {
		struct wp_import_item *item = &t->items[i - 1];

		if (item->kind != kind || item->value == NULL || strcmp(item->key, key) != 0)
			continue;
		if (!item->renamed)
			return item;
		if (renamed == NULL)
			renamed = item;
	}
	return renamed;
}

const char *wp_import_value(struct wp_translation *t, const char *key, const char *standard)
{
	const struct wp_import_item *item = wp_import_find(t, WP_IMPORT_CONNECTOR, key);

	return item == NULL ? standard : item->value;
}

struct wp_import_item *wp_import_option(struct wp_translation *t, const char *family,
					const char *alias, const char *option)
{
	char key[2 * WP_IMPORT_WORD_SIZE];
	int size = snprintf(key, sizeof(key), "%s.%s.%s", family, alias, option);

	if (size < 0 || (size_t)size >= sizeof(key))
		return NULL;
	return wp_import_find(t, WP_IMPORT_CONNECTOR, key);
}

static const char space[] = " \t\r\n\f";

bool wp_import_is(const char *value, const char *word)
{
	size_t size = strlen(word);

	value += strspn(value, space);
	return strncasecmp(value, word, size) == 0 &&
	       value[size + strspn(value + size, space)] == '\0';
}

bool wp_import_is_true(const struct wp_import_item *item, bool standard)
{
	return item == NULL ? standard : wp_import_is(item->value, "true");
}

bool wp_import_next(const char **at, char word[WP_IMPORT_WORD_SIZE])
{
	const char *start = *at + strspn(*at, space);
	size_t size = strcspn(start, ",");

	if (*start == '\0')
		return false;
	*at = start[size] == ',' ? start + size + 1 : start + size;
	while (size > 0 && strchr(space, start[size - 1]) != NULL)
		size--;
	if (size >= WP_IMPORT_WORD_SIZE)
		size = 0;
	memcpy(word, start, size);
	word[size] = '\0';
	return true;
}

bool wp_import_begins(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

bool wp_import_ends(const char *text, const char *end)
{
	return wp_span_ends(wp_span_of(text), end);
}

/* Within a class Java takes a [ for a further class, joined to it; PCRE2 takes it for itself. */
static bool has_class_within(const char *regex)
{
	bool within = false;

	for (const char *at = regex; *at != '\0'; at++) {
		if (at[0] == '\\' && at[1] == 'Q') {
			at = strstr(at, "\\E");
			if (at == NULL)
				return false;
		}
		if (*at == '\\' && at[1] != '\0')
			at++;
		else if (*at == '[' && within)
			return true;
		else if (*at == '[' || *at == ']')
			within = *at == '[';
	}
	return false;
}

/* Looks for (?U), (?d) and, beside a class, whose blanks Java leaves out as well, (?x). */
static bool has_flags(const char *regex)
{
	const char *unlike = strchr(regex, '[') == NULL ? "Ud" : "Udx";

	for (const char *at = strstr(regex, "(?"); at != NULL; at = strstr(at + 2, "(?")) {
		size_t size = strspn(at + 2, "iumsxUd-");

		if (strcspn(at + 2, unlike) < size)
			return true;
	}
	return false;
}

/*
 * \p{Alpha} is ASCII's to Java, and any alphabet's to PCRE2. One or two letters are the same to
 * both.
 */
static bool has_property(const char *regex)
{
	for (const char *at = strchr(regex, '\\'); at != NULL && at[1] != '\0';
	     at = strchr(at + 2, '\\'))
		if (at[1] == '0' ||
		    ((at[1] == 'p' || at[1] == 'P') && at[2] == '{' && strcspn(at + 3, "}") > 2))
			return true;
	return false;
}

bool wp_import_is_of_java(const char *regex)
{
	return strstr(regex, "&&") != NULL || has_flags(regex) || has_property(regex) ||
	       has_class_within(regex);
}

const char *wp_import_class(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot == NULL ? name : dot + 1;
}

static struct wp_span trimmed(const char *value)
{
	size_t size;

	value += strspn(value, space);
	size = strlen(value);
	while (size > 0 && strchr(space, value[size - 1]) != NULL)
		size--;
	return (struct wp_span){ (const uint8_t *)value, size };
}

static bool is_short(struct wp_span name, const char *class)
{
	static const char *const ends[] = { "", "Converter", "HeaderConverter", "Connector" };
	const char *last = wp_import_class(class);

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (name.size > 0 && name.size + strlen(ends[i]) == strlen(last) &&
		    memcmp(name.data, last, name.size) == 0 &&
		    strcmp(last + name.size, ends[i]) == 0)
			return true;
	return false;
}

bool wp_import_is_class(const char *value, const char *class)
{
	struct wp_span name = trimmed(value);

	return wp_span_is(name, class) || is_short(name, class);
}

bool wp_import_is_namesake(const char *value, const char *class)
{
	return !wp_import_is_class(value, class) &&
	       wp_import_is(wp_import_class(value), wp_import_class(class));
}

const char *wp_import_shown(const char *value)
{
	return wp_import_may_be_secret(value) ? "********" : value;
}

#define UNESCAPED                                                                               \
	"Debezium Server looks for a variable of this name, and does not start without it. It " \
	"was "                                                                                  \
	"read as the group: write "

/* -- saying ---------------------------------------------------------------------- */

/* A property's name may be anybody's text; the salt of a mask stands in it. */
static const char *name_shown(const struct wp_import_item *item, char text[WP_SHOWN_SIZE])
{
	if (wp_text_has(item->name, "with.salt") || wp_text_has(item->name, "with_salt"))
		return "column.mask.hash.(...).with.salt.********";
	if (wp_import_may_be_secret(item->name))
		return "(a property whose name may contain a secret)";
	if (item->name[0] == '\0')
		return "(a property without a name)";
	return wp_value_shown("kafka.", item->name, text);
}

/* Looks for password = ..., as connection strings and addresses have it. */
static bool has_password(const char *value)
{
	static const char start[] = "passw";

	for (; *value != '\0'; value++) {
		const char *end = value;

		if (strncasecmp(value, start, strlen(start)) != 0)
			continue;
		while (wp_is_letter(*end))
			end++;
		if (end[strspn(end, space)] == '=')
			return true;
	}
	return false;
}

/* Does a login stand before this @? Behind :// anything is one, else a word with a colon. */
static bool ends_login(const char *value, const char *at)
{
	const char *address = strstr(value, "://");

	if (address != NULL && address < at)
		return true;
	for (const char *begin = at; begin > value; begin--) {
		if (strchr(" \t,;\"'", begin[-1]) != NULL)
			return false;
		if (begin[-1] == ':' && begin < at)
			return true;
	}
	return false;
}

/* Looks for user:password@host, behind :// or without it. */
static bool has_login(const char *value)
{
	for (const char *at = strchr(value, '@'); at != NULL; at = strchr(at + 1, '@'))
		if (ends_login(value, at))
			return true;
	return false;
}

/* Looks for scheme://host/path?name=value, but not for an expression's (?<name>...). */
static bool has_parameters(const char *value)
{
	const char *at = strstr(value, "://");

	for (at = at == NULL ? NULL : strchr(at, '?'); at != NULL; at = strchr(at + 1, '?'))
		if (at[-1] != '(' && strchr(at, '=') != NULL)
			return true;
	return false;
}

bool wp_import_may_be_secret(const char *value)
{
	return has_login(value) || has_parameters(value) || has_password(value) ||
	       strstr(value, "-----BEGIN") != NULL;
}

/* In doubt the value is a secret. */
static bool is_secret(const struct wp_import_item *item)
{
	return wp_property_is_secret(item->name) || wp_text_has(item->name, "passw") ||
	       wp_text_has(item->name, "token") || wp_text_has(item->name, "keystore.key") ||
	       wp_text_has(item->name, "user.info") ||
	       wp_text_has(item->name, "initial.statements") ||
	       wp_import_may_be_secret(item->value);
}

static void add(struct wp_translation *t, struct wp_import_line *line, const char *error,
		va_list arguments) WP_PRINTF(3, 0);
static void add(struct wp_translation *t, struct wp_import_line *line, const char *error,
		va_list arguments)
{
	char text[4096];
	struct wp_error cut;

	if (error != NULL) {
		(void)vsnprintf(text, sizeof(text), error, arguments);
		(void)wp_error_set(&cut, WP_OK, "%s", text);
		line->error = cut.text;
	}
	wp_import_report_add(t->report, line);
}

void wp_import_say(struct wp_translation *t, const char *section, struct wp_import_item *item,
		   enum wp_import_verdict verdict, const char *error, ...)
{
	char name[WP_SHOWN_SIZE];
	char value[WP_SHOWN_SIZE];
	struct wp_import_line line = {
		.section = section,
		.about = name_shown(item, name),
		.verdict = verdict,
	};
	va_list arguments;

	if (item->value != NULL && !item->concealed) {
		bool is_hidden = is_secret(item) && !item->is_reference;

		line.shown =
			wp_value_shown(is_hidden ? "kafka.password" : "kafka.", item->value, value);
	}
	if (item->elsewhere && !item->any_value && verdict == WP_IMPORT_UNSUPPORTED) {
		line.verdict = WP_IMPORT_CHECK;
		error = "its value is defined elsewhere, so its effect is unknown: replace the "
			"placeholder and import the file again";
	} else if (item->is_unescaped && !item->elsewhere && verdict == WP_IMPORT_TRANSLATED) {
		line.verdict = WP_IMPORT_CHECK;
		error = item->is_halved ? UNESCAPED
				"$$$${routedByValue}, because two dollar signs are one in this file"
					: UNESCAPED "$${routedByValue}";
	} else if ((item->elsewhere || item->has_default) && verdict == WP_IMPORT_TRANSLATED) {
		line.verdict =
			wp_import_begins(section, "outbox") ? WP_IMPORT_CHECK : WP_IMPORT_FILL_IN;
		line.is_placeholder = item->elsewhere;
		error = item->elsewhere ? "its value is defined elsewhere, entirely or in part: "
					  "replace the placeholder"
					: "the default that the file has for it was taken: correct "
					  "unless the environment sets another";
	}
	va_start(arguments, error);
	add(t, &line, error, arguments);
	va_end(arguments);
	item->taken = true;
}

void wp_import_note(struct wp_translation *t, const char *section, const char *about,
		    enum wp_import_verdict verdict, const char *error, ...)
{
	struct wp_import_line line = { .section = section, .about = about, .verdict = verdict };
	va_list arguments;

	va_start(arguments, error);
	add(t, &line, error, arguments);
	va_end(arguments);
}

void wp_import_end(struct wp_translation *t)
{
	if (t->report->count > 0)
		t->report->entries[t->report->count - 1].line.is_final = true;
}

/* A line of the file drops outer spaces, and ends at a line's end. */
static bool fits_a_line(const char *value)
{
	size_t size = strlen(value);

	for (const char *at = value; *at != '\0'; at++)
		if (((unsigned char)*at < 0x20 && *at != '\t') || *at == 0x7f)
			return false;
	return size == 0 ||
	       (strchr(space, value[0]) == NULL && strchr(space, value[size - 1]) == NULL);
}

/* Returns the value that a setting has already, or NULL if it has none. */
static const char *find_set(const struct wp_translation *t, const char *section, const char *key)
{
	for (size_t i = 0; i < t->report->count; i++) {
		const struct wp_import_line *line = &t->report->entries[i].line;

		if (line->key != NULL && strcmp(line->section, section) == 0 &&
		    strcmp(line->key, key) == 0)
			return line->value;
	}
	return NULL;
}

bool wp_import_is_set(const struct wp_translation *t, const char *section, const char *key)
{
	return find_set(t, section, key) != NULL;
}

void wp_import_set(struct wp_translation *t, const char *section, const char *key,
		   const char *value)
{
	struct wp_import_line line = { .section = section, .key = key, .value = value };
	const char *before = find_set(t, section, key);
	char secret[WP_IMPORT_WORD_SIZE];

	if (before != NULL) {
		line = (struct wp_import_line){
			.section = section,
			.verdict = strcmp(before, value) == 0 ? WP_IMPORT_TRANSLATED
							      : WP_IMPORT_UNSUPPORTED,
			.error = strcmp(before, value) == 0 ? "it is already set"
							    : "it is already set to another value",
		};
	}
	if (wp_import_may_be_secret(value)) {
		(void)snprintf(secret, sizeof(secret),
			       "the value is not copied, because it may contain a secret: set %s "
			       "by hand",
			       key);
		line = (struct wp_import_line){
			.section = section,
			.verdict = wp_import_begins(section, "outbox") ? WP_IMPORT_CHECK
								       : WP_IMPORT_FILL_IN,
			.error = secret,
		};
	} else if (!fits_a_line(value)) {
		line = (struct wp_import_line){
			.section = section,
			.verdict = WP_IMPORT_UNSUPPORTED,
			.error = "the value begins or ends with a space or contains control "
				 "characters, which walpost.conf does not allow",
		};
	}
	wp_import_report_add(t->report, &line);
}
