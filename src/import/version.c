/* Finds which Debezium is imitated: the one that --debezium names, or that the properties tell. */
#include <stdio.h>
#include <string.h>

#include "translate.h"

/* walpost is compared with the records of this one. */
#define COMPARED WP_IMPORT_VERSION(3, 6)
#define COMPARED_TEXT "3.6"
#define IMITATES "This file imitates Debezium "
#define CHOOSES "`--debezium VERSION` chooses another."
/*
 * Since then the router writes the same of a configuration that works, but for what a CHECK names.
 */
#define SETTLED WP_IMPORT_VERSION(2, 1)
#define LATEST WP_IMPORT_VERSION(9, 99)

static const char digits[] = "0123456789";

/* Reads a number of few digits, and moves `at` behind it. Returns false if there is none. */
static bool read_number(const char **at, size_t size_max, unsigned *ret)
{
	size_t size = strspn(*at, digits);

	*ret = 0;
	for (size_t i = 0; i < size && size <= size_max; i++)
		*ret = 10 * *ret + (unsigned)((*at)[i] - '0');
	*at += size;
	return size > 0 && size <= size_max;
}

/* Is it .Final, -SNAPSHOT, .Final-redhat-00001? */
static bool is_qualifier(const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-";

	return (text[0] == '.' || text[0] == '-') && text[1] != '\0' &&
	       text[1 + strspn(text + 1, allowed)] == '\0';
}

static bool read_version(const char *at, struct wp_import_version *ret)
{
	unsigned major;
	unsigned minor;
	unsigned patch;

	if (!read_number(&at, 1, &major))
		return false;
	*ret = (struct wp_import_version){ WP_IMPORT_VERSION(major, 0),
					   WP_IMPORT_VERSION(major, 99) };
	if (*at == '\0')
		return true;
	if (*at++ != '.' || !read_number(&at, 2, &minor))
		return false;
	ret->lowest = ret->highest = WP_IMPORT_VERSION(major, minor);
	if (*at == '.' && strspn(at + 1, digits) > 0) {
		at++;
		if (!read_number(&at, 3, &patch))
			return false;
	}
	return *at == '\0' || is_qualifier(at);
}

enum wp_rc wp_import_version_parse(const char *text, struct wp_import_version *ret,
				   struct wp_error *error)
{
	struct wp_import_version version;

	if (!read_version(text, &version))
		return wp_error_set(error, WP_CONFIG,
				    "%s is not a Debezium version: write it as 3, 2.7 or "
				    "2.0.1.Final",
				    text[0] == '\0' ? "an empty text" : text);
	*ret = version;
	return WP_OK;
}

enum wp_import_age wp_import_age(const struct wp_translation *t, unsigned version)
{
	if (t->version.highest < version)
		return WP_IMPORT_BEFORE;
	return t->version.lowest >= version ? WP_IMPORT_SINCE : WP_IMPORT_EITHER;
}

const char *const wp_import_old_options[WP_IMPORT_OLD_OPTIONS][2] = {
	{ "table.op.invalid.behavior", "debezium.op.invalid.behavior" },
	{ "table.expand.json.payload", "debezium.expand.json.payload" },
};

struct wp_import_item *wp_import_router_option(struct wp_translation *t, const char *alias,
					       const char *option)
{
	struct wp_import_item *item = wp_import_option(t, "transforms", alias, option);

	if (item != NULL || wp_import_age(t, WP_IMPORT_VERSION(2, 0)) != WP_IMPORT_BEFORE)
		return item;
	for (size_t i = 0; i < WP_IMPORT_OLD_OPTIONS; i++)
		if (strcmp(option, wp_import_old_options[i][0]) == 0)
			return wp_import_option(t, "transforms", alias,
						wp_import_old_options[i][1]);
	return NULL;
}

/* -- what the properties tell -------------------------------------------------------- */

/* Debezium 2.0 removed or replaced these names. The first tells most. */
static const char *const old_names[] = {
	"database.server.name", "table.whitelist",  "table.blacklist",	"schema.whitelist",
	"schema.blacklist",	"column.whitelist", "column.blacklist", "slot.drop_on_stop",
};

/* Since 2.0 the EventRouter has these options no more. */
static const char *const old_options[] = {
	".table.field.event.payload.id",
	".debezium.op.invalid.behavior",
	".debezium.expand.json.payload",
};

#define OLD_CONVERTER "io.debezium.converters.ByteBufferConverter"

static const char *own_name(const struct wp_import_item *item)
{
	static const char server[] = "debezium.source.";

	return wp_import_begins(item->name, server) ? item->name + strlen(server) : item->name;
}

/* Tells what about it is old; NULL if nothing is. */
static const char *old_sign(const struct wp_import_item *item)
{
	const char *name = own_name(item);

	for (size_t i = 0; i < sizeof(old_names) / sizeof(old_names[0]); i++)
		if (strcmp(name, old_names[i]) == 0)
			return old_names[i];
	if (wp_import_begins(name, "database.history."))
		return "database.history";
	for (size_t i = 0; i < sizeof(old_options) / sizeof(old_options[0]); i++)
		if (wp_import_begins(item->key, "transforms.") &&
		    wp_import_ends(item->key, old_options[i]))
			return old_options[i] + 1;
	return wp_import_ends(item->key, ".converter") && wp_import_is(item->value, OLD_CONVERTER)
		       ? OLD_CONVERTER
		       : NULL;
}

/* A sign counts only without topic.prefix, which 2.0 and later require; NULL if nothing tells. */
static const char *find_old_sign(struct wp_translation *t)
{
	const char *found = NULL;

	for (size_t i = t->count; i > 0; i--) {
		const struct wp_import_item *item = &t->items[i - 1];

		if (item->kind != WP_IMPORT_CONNECTOR || item->value == NULL)
			continue;
		if (strcmp(own_name(item), "topic.prefix") == 0)
			return NULL;
		if (found != old_names[0] && old_sign(item) != NULL)
			found = old_sign(item);
	}
	return found;
}

/* Describes it as 1.9, or a whole generation as 1.x. */
static void describe_given(const struct wp_import_version *given, char *text, size_t size)
{
	char name[16];

	if (given->lowest == given->highest)
		(void)snprintf(name, sizeof(name), "%u.%u", given->lowest / 100,
			       given->lowest % 100);
	else
		(void)snprintf(name, sizeof(name), "%u.x", given->lowest / 100);
	if (given->highest == COMPARED)
		(void)snprintf(text, size, IMITATES COMPARED_TEXT ".");
	else if (given->lowest <= COMPARED)
		(void)snprintf(text, size, IMITATES "%s where it is known to differ from %s.", name,
			       COMPARED_TEXT);
	else
		(void)snprintf(text, size, IMITATES "%s: walpost has not been compared with %s.",
			       COMPARED_TEXT, name);
}

void wp_import_find_version(struct wp_translation *t, const struct wp_import_version *given)
{
	static const struct wp_import_version old = { 0, WP_IMPORT_VERSION(1, 99) };
	static const struct wp_import_version standard = { SETTLED, LATEST };
	const char *sign = find_old_sign(t);
	char *text = t->report->about_version;
	size_t size = sizeof(t->report->about_version);

	t->report->old_sign = sign;
	t->version = given != NULL ? *given : (sign != NULL ? old : standard);
	if (given != NULL)
		describe_given(given, text, size);
	else if (sign != NULL)
		(void)snprintf(text, size,
			       IMITATES "1.x where it is known to differ from " COMPARED_TEXT
					"; " CHOOSES);
	else
		(void)snprintf(text, size, IMITATES COMPARED_TEXT "; " CHOOSES);
}
