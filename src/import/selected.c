/*
 * Judges lists by which Debezium captures less than the tables that are named: schema.include.list,
 * and columns that are left out, masked or cut. Each item of a list is an expression, in any case
 * of letters.
 */
#include <string.h>
#include <strings.h>

#include "translate.h"

#define OUTBOX "outbox"

static struct wp_import_item *find(struct wp_translation *t, const char *key)
{
	return wp_import_find(t, WP_IMPORT_CONNECTOR, key);
}

/* -- schemas ------------------------------------------------------------------------- */

static enum wp_import_match match_list(struct wp_translation *t, const char *list,
				       const char *schema)
{
	enum wp_import_match found = WP_IMPORT_NO_MATCH;
	bool may_be_cut = strlen(list) >= WP_IMPORT_WORD_SIZE;
	char word[WP_IMPORT_WORD_SIZE];

	while (found != WP_IMPORT_MATCH && wp_import_next(&list, word)) {
		enum wp_import_match one = word[0] == '\0' && may_be_cut
						   ? WP_IMPORT_UNKNOWN
						   : wp_import_matches_name(t, word, schema);

		found = one == WP_IMPORT_NO_MATCH ? found : one;
	}
	return found;
}

/* Says which outboxes Debezium does not capture, or may not. */
static void say_schemas(struct wp_translation *t, const struct wp_import_tables *tables,
			struct wp_import_item *item, enum wp_import_match wanted)
{
	if (item->elsewhere)
		wp_import_say(t, OUTBOX, item, WP_IMPORT_UNSUPPORTED, NULL);
	for (size_t i = 0; i < tables->count && !item->taken; i++) {
		const struct wp_import_table *table = &tables->items[i];
		enum wp_import_match found =
			table->routed ? match_list(t, item->value, table->name.schema) : wanted;

		if (found == WP_IMPORT_UNKNOWN)
			wp_import_say(t, OUTBOX, item, WP_IMPORT_CHECK,
				      "walpost cannot evaluate it, and sends the rows of all "
				      "tables named in this file");
		else if (found != wanted)
			wp_import_say(t, OUTBOX, item, WP_IMPORT_UNSUPPORTED,
				      "it excludes %s, so Debezium does not capture the rows of "
				      "this table; walpost sends them",
				      table->text);
	}
}

/* The list of those that are left out counts only without the other one. */
static void judge_schemas(struct wp_translation *t, const struct wp_import_tables *tables)
{
	struct wp_import_item *include = find(t, "schema.include.list");
	struct wp_import_item *exclude = find(t, "schema.exclude.list");

	if (include != NULL && include->value[0] != '\0')
		say_schemas(t, tables, include, WP_IMPORT_MATCH);
	else if (exclude != NULL && exclude->value[0] != '\0')
		say_schemas(t, tables, exclude, WP_IMPORT_NO_MATCH);
}

/* -- columns ------------------------------------------------------------------------- */

/* Reads the first two of schema.table.column, the dots escaped or not, if they mean one table. */
static bool read_table(const char *word, struct wp_table_name *ret)
{
	char table[WP_IMPORT_WORD_SIZE];
	size_t size = 0;
	size_t dots = 0;

	word += *word == '^';
	for (; word[size] != '\0' && dots < 2; size++)
		dots += word[size] == '.';
	/* A repetition may stand behind a dot that means any character. */
	if (dots < 2 || strchr(word, '|') != NULL ||
	    (word[size] != '\0' && strchr("*+?{", word[size]) != NULL))
		return false;
	size -= size >= 2 && word[size - 2] == '\\' ? 2 : 1;
	memcpy(table, word, size);
	table[size] = '\0';
	return wp_import_table_name(table, ret);
}

static bool is_outbox(const struct wp_import_tables *tables, const struct wp_table_name *name)
{
	for (size_t i = 0; i < tables->count; i++)
		if (tables->items[i].routed &&
		    strcasecmp(tables->items[i].name.schema, name->schema) == 0 &&
		    strcasecmp(tables->items[i].name.name, name->name) == 0)
			return true;
	return false;
}

static bool is_of_others(const struct wp_import_tables *tables, const char *list)
{
	char word[WP_IMPORT_WORD_SIZE];
	struct wp_table_name name;

	if (tables->listed != WP_IMPORT_LISTED)
		return false;
	while (wp_import_next(&list, word))
		if (!read_table(word, &name) || is_outbox(tables, &name))
			return false;
	return true;
}

static void judge_columns(struct wp_translation *t, const struct wp_import_tables *tables)
{
	for (size_t i = 0; i < t->count; i++) {
		struct wp_import_item *item = &t->items[i];
		bool selects = item->kind == WP_IMPORT_CONNECTOR &&
			       (strcmp(item->key, "column.include.list") == 0 ||
				strcmp(item->key, "column.exclude.list") == 0);
		bool changes = wp_import_begins(item->key, "column.mask.") ||
			       wp_import_begins(item->key, "column.truncate.");

		if (item->taken || item->kind != WP_IMPORT_CONNECTOR)
			continue;
		if (changes && is_of_others(tables, item->value))
			wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_DROPPED,
				      "it is about columns of other tables");
		else if (selects && t->ignores_missing && item->value[0] != '\0' &&
			 !is_of_others(tables, item->value))
			wp_import_say(t, OUTBOX, item, WP_IMPORT_CHECK,
				      "if it excludes a column that is placed in a header or in "
				      "the value, Debezium leaves that out: remove the column from "
				      "headers and value.columns");
	}
}

void wp_import_selection(struct wp_translation *t, const struct wp_import_tables *tables)
{
	judge_schemas(t, tables);
	judge_columns(t, tables);
}
