/* Lists the columns that the options of an outbox name, and what each is in a CREATE TABLE. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "mapping.h"
#include "walpost/outbox/origin.h"
#include "walpost/outbox/columns.h"

/* `definition`: NULL if that follows from the name. */
static void need(struct wp_needed_columns *n, const char *name, const char *definition)
{
	for (size_t i = 0; i < n->all_count; i++) {
		if (strcmp(n->names[i], name) == 0)
			return;
	}
	assert(n->all_count < sizeof(n->names) / sizeof(n->names[0]));
	n->definitions[n->all_count] = definition;
	n->names[n->all_count++] = name;
}

/* A member needs the column that has it. A longer name than is possible is cut, and not there. */
static void need_role(struct wp_needed_columns *n, const char *name, enum wp_role role)
{
	struct wp_member_path path;
	char *column = n->columns[role];

	if (!wp_member_path_parse(name, &path)) {
		need(n, name, NULL);
		return;
	}
	(void)snprintf(column, sizeof(n->columns[role]), "%.*s", (int)path.column.size,
		       (const char *)path.column.data);
	need(n, column, "jsonb");
}

/* Likewise, with the name in a storage of its own, which is cut there. */
static void need_listed(struct wp_needed_columns *n, char *name)
{
	struct wp_member_path path;

	if (!wp_member_path_parse(name, &path)) {
		need(n, name, NULL);
		return;
	}
	char *column = name + (path.column.data - (const uint8_t *)name);
	column[path.column.size] = '\0';
	need(n, column, "jsonb");
}

static bool is_role(const struct wp_outbox_options *options, enum wp_role role, const char *column)
{
	return strcmp(column, wp_role_column(options, role)) == 0;
}

struct wp_lasting_columns wp_lasting_columns(const struct wp_outbox_options *options)
{
	static const enum wp_role roles[WP_LASTING_COLUMNS] = { WP_ROLE_ID, WP_ROLE_KEY,
								WP_ROLE_PAYLOAD };
	struct wp_lasting_columns lasting;
	struct wp_member_path path;

	for (size_t i = 0; i < WP_LASTING_COLUMNS; i++) {
		const char *name = wp_role_column(options, roles[i]);
		bool is_member = wp_member_path_parse(name, &path);
		lasting.names[i] = is_member ? path.column : wp_span_of(name);
	}
	return lasting;
}

/* One column may mean several things: the strictest of what they ask for is taken. */
static const char *definition_of(const struct wp_outbox_options *options, const char *column)
{
	if (is_role(options, WP_ROLE_ID, column))
		return "uuid PRIMARY KEY";
	if (is_role(options, WP_ROLE_PAYLOAD, column) ||
	    is_role(options, WP_ROLE_JSON_HEADERS, column))
		return "jsonb";
	if (is_role(options, WP_ROLE_TIMESTAMP, column) ||
	    is_role(options, WP_ROLE_EXPIRES, column))
		return "timestamptz";
	if (is_role(options, WP_ROLE_PARTITION, column) ||
	    is_role(options, WP_ROLE_SCHEMA_VERSION, column))
		return "int";
	bool may_be_null =
		options->key_null == WP_KEY_NULL_ALLOW || options->column_key_fallback[0] != '\0';
	if (is_role(options, WP_ROLE_KEY, column) && may_be_null)
		return "varchar(255)";
	if (is_role(options, WP_ROLE_KEY, column) || is_role(options, WP_ROLE_ROUTE, column) ||
	    is_role(options, WP_ROLE_TYPE, column))
		return "varchar(255) NOT NULL";
	return "text";
}

/* May a table be without them? */
static bool role_may_lack(const struct wp_outbox_options *options, enum wp_role role)
{
	return options->columns_missing == WP_MISSING_IGNORE && wp_role_is_further(role);
}

static bool list_may_lack(const struct wp_outbox_options *options, enum wp_list list)
{
	return options->columns_missing == WP_MISSING_IGNORE && list != WP_LIST_EXTENSIONS;
}

/* The names of the list move along with their storage. */
static enum wp_rc need_list(struct wp_needed_columns *n, const struct wp_outbox_options *options,
			    enum wp_list list, struct wp_error *error)
{
	struct wp_column_list columns;
	char *storage = n->storage[list];

	enum wp_rc rc = wp_column_list_parse(wp_list_columns(options, list), wp_list_option(list),
					     &columns, error);
	if (rc != WP_OK || columns.count == 0)
		return rc;
	static_assert(sizeof(n->storage[0]) == sizeof(columns.storage), "one storage, two names");
	memcpy(storage, columns.storage, sizeof(columns.storage));
	for (size_t i = 0; i < columns.count; i++)
		if (wp_origin_variable(columns.items[i].column) == WP_ORIGIN_NONE)
			need_listed(n, storage + (columns.items[i].column - columns.storage));
	return WP_OK;
}

enum wp_rc wp_needed_columns(const struct wp_outbox_options *options, struct wp_needed_columns *ret,
			     struct wp_error *error)
{
	/* This is the order of Debezium's table, for who creates it from this list. */
	static const enum wp_role order[] = {
		WP_ROLE_ID,	    WP_ROLE_ROUTE,	    WP_ROLE_KEY,	WP_ROLE_TYPE,
		WP_ROLE_PAYLOAD,    WP_ROLE_KEY_FALLBACK,   WP_ROLE_TIMESTAMP,	WP_ROLE_EXPIRES,
		WP_ROLE_PARTITION,  WP_ROLE_JSON_HEADERS,   WP_ROLE_PROPERTIES, WP_ROLE_CE_SOURCE,
		WP_ROLE_CE_SUBJECT, WP_ROLE_SCHEMA_VERSION,
	};
	enum wp_rc rc = WP_OK;

	static_assert(sizeof(order) / sizeof(order[0]) == WP_ROLE_COUNT, "each role once");
	static_assert(WP_NEEDED_COLUMNS_MAX >= WP_ROLE_COUNT + WP_LIST_COUNT * WP_COLUMN_LIST_MAX,
		      "room for all");
	static_assert((int)WP_NEEDED_LISTS == (int)WP_LIST_COUNT, "a storage for each list");
	static_assert((int)WP_NEEDED_ROLES == (int)WP_ROLE_COUNT, "and for each role");
	ret->count = ret->all_count = 0;
	/* Those that must be there come first. */
	for (int may_lack = 0; may_lack <= 1 && rc == WP_OK; may_lack++) {
		for (size_t i = 0; i < WP_ROLE_COUNT; i++) {
			const char *column = wp_role_column(options, order[i]);
			if (column[0] != '\0' && role_may_lack(options, order[i]) == may_lack)
				need_role(ret, column, order[i]);
		}
		for (enum wp_list list = 0; list < WP_LIST_COUNT && rc == WP_OK; list++) {
			if (list_may_lack(options, list) == may_lack)
				rc = need_list(ret, options, list, error);
		}
		if (may_lack == 0)
			ret->count = ret->all_count;
	}
	if (rc != WP_OK)
		return rc;
	for (size_t i = 0; i < ret->all_count; i++)
		if (ret->definitions[i] == NULL)
			ret->definitions[i] = definition_of(options, ret->names[i]);
	return WP_OK;
}
