/* Finds which tables Debezium captures, names their sections, and judges predicates. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "walpost/outbox/route.h"

#include "translate.h"

#define STRATEGY "io.debezium.schema.SchemaTopicNamingStrategy"
#define PREDICATES "org.apache.kafka.connect.transforms.predicates."

/* -- table.include.list ------------------------------------------------------------ */

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

static bool is_capital(char c)
{
	return c >= 'A' && c <= 'Z';
}

bool wp_import_table_name(const char *word, struct wp_table_name *ret)
{
	char *part = ret->schema;
	size_t size = 0;

	*ret = (struct wp_table_name){ .schema = "" };
	for (; *word != '\0'; word++) {
		bool dot = word[0] == '.' || (word[0] == '\\' && word[1] == '.');

		word += *word == '\\' && dot;
		if (dot && part == ret->schema && size > 0) {
			part = ret->name;
			size = 0;
		} else if (is_plain(*word) && size < WP_NAME_SIZE - 1) {
			part[size++] = *word;
		} else {
			return false;
		}
	}
	return ret->name[0] != '\0';
}

static bool has_capitals(const char *part)
{
	while (*part != '\0' && !is_capital(*part))
		part++;
	return *part != '\0';
}

/* Is it known to Debezium, which compares without regard to case? */
static bool is_known(const struct wp_import_tables *tables, const struct wp_table_name *name)
{
	for (size_t i = 0; i < tables->count; i++)
		if (strcasecmp(tables->items[i].name.schema, name->schema) == 0 &&
		    strcasecmp(tables->items[i].name.name, name->name) == 0)
			return true;
	return false;
}

static void add_table(struct wp_translation *t, struct wp_import_tables *tables,
		      const struct wp_table_name *name)
{
	struct wp_import_table *table = &tables->items[tables->count];

	if (is_known(tables, name))
		return;
	tables->count++;
	table->name = *name;
	(void)wp_table_name_text(name, table->text, sizeof(table->text));
	(void)snprintf(table->topic, sizeof(table->topic), "%.240s.%s.%s",
		       wp_import_value(t, "topic.prefix", ""), name->schema, name->name);
	(void)snprintf(table->section, sizeof(table->section), "outbox");
	table->capitals = has_capitals(name->schema) || has_capitals(name->name);
	table->routed = table->aside = false;
}

/* Debezium matches the whole name, so anchors change nothing. */
static void drop_anchors(char *word)
{
	size_t size = strlen(word);

	if (size > 0 && word[size - 1] == '$' && (size == 1 || word[size - 2] != '\\'))
		word[--size] = '\0';
	if (word[0] == '^')
		memmove(word, word + 1, size);
}

void wp_import_tables_find(struct wp_translation *t, struct wp_import_tables *ret)
{
	const char *at = wp_import_value(t, "table.include.list", "");
	char word[WP_IMPORT_WORD_SIZE];
	struct wp_table_name name;

	ret->count = 0;
	ret->listed = at[strspn(at, " \t")] == '\0' ? WP_IMPORT_NOT_LISTED : WP_IMPORT_LISTED;
	while (wp_import_next(&at, word)) {
		drop_anchors(word);
		if (ret->count < WP_IMPORT_TABLES_MAX && wp_import_table_name(word, &name))
			add_table(t, ret, &name);
		else
			ret->listed = WP_IMPORT_UNCLEAR;
	}
}

/* -- names of sections ------------------------------------------------------------- */

static bool is_taken(const struct wp_import_tables *tables, size_t before, const char *section)
{
	for (size_t i = 0; i < before; i++)
		if (strcmp(tables->items[i].section, section) == 0)
			return true;
	return false;
}

static bool try_name(struct wp_import_tables *tables, size_t index, const char *name)
{
	struct wp_import_table *table = &tables->items[index];
	char section[sizeof(table->section)];

	if (!wp_outbox_name_is_valid(name, strlen(name)))
		return false;
	(void)snprintf(section, sizeof(section), "outbox.%.*s", WP_OUTBOX_NAME_SIZE - 1, name);
	if (is_taken(tables, index, section))
		return false;
	memcpy(table->section, section, sizeof(section));
	return true;
}

static void lower(char *text)
{
	for (; *text != '\0'; text++)
		*text = (char)(is_capital(*text) ? *text - 'A' + 'a' : *text);
}

/* public.outbox becomes "outbox", a second one "sales_outbox", and what cannot be a name "t2". */
static void name_table(struct wp_import_tables *tables, size_t index)
{
	struct wp_import_table *table = &tables->items[index];
	char both[2 * WP_NAME_SIZE];

	(void)snprintf(both, sizeof(both), "%s_%s", table->name.schema, table->name.name);
	lower(both);
	if (try_name(tables, index, both + strlen(table->name.schema) + 1) ||
	    try_name(tables, index, both))
		return;
	(void)snprintf(table->section, sizeof(table->section), "outbox.t%zu", index + 1);
}

void wp_import_tables_name(struct wp_import_tables *tables)
{
	for (size_t i = 0; i < tables->count; i++)
		name_table(tables, i);
}

/* -- predicates -------------------------------------------------------------------- */

/* The text must match as a whole, as in TopicNameMatches; else a route gives the text back. */
static enum wp_import_match match(struct wp_translation *t, const char *pattern, const char *topic)
{
	struct wp_route *route = NULL;
	struct wp_span found;
	enum wp_rc rc = wp_route_new(pattern, "match", &route, NULL);

	if (rc == WP_OK)
		rc = wp_route_topic(route, wp_span_of(topic), NULL, &found, NULL);
	if (rc == WP_NOMEM)
		t->report->rc = WP_NOMEM;
	bool matches = rc == WP_OK && wp_span_is(found, "match");
	wp_route_free(route);
	if (rc != WP_OK)
		return WP_IMPORT_UNKNOWN;
	return matches ? WP_IMPORT_MATCH : WP_IMPORT_NO_MATCH;
}

enum wp_import_match wp_import_matches_name(struct wp_translation *t, const char *pattern,
					    const char *name)
{
	char whole[WP_IMPORT_WORD_SIZE + 16];

	if (wp_import_is_of_java(pattern))
		return WP_IMPORT_UNKNOWN;
	(void)snprintf(whole, sizeof(whole), "(?i)%s", pattern);
	return match(t, whole, name);
}

/* Is the topic of a table perhaps not the one that we take it for? */
static bool has_other_names(struct wp_translation *t)
{
	return !wp_import_is(wp_import_value(t, "topic.delimiter", "."), ".") ||
	       !wp_import_is_class(wp_import_value(t, "topic.naming.strategy", STRATEGY), STRATEGY);
}

/* If `is_table`, its topic is named by topic.delimiter and topic.naming.strategy. */
static enum wp_import_match judge(struct wp_translation *t, const char *predicate,
				  const char *topic, bool is_table)
{
	const struct wp_import_item *type = wp_import_option(t, "predicates", predicate, "type");
	const struct wp_import_item *pattern =
		wp_import_option(t, "predicates", predicate, "pattern");
	const struct wp_import_item *prefix =
		wp_import_find(t, WP_IMPORT_CONNECTOR, "topic.prefix");

	if (type == NULL)
		return WP_IMPORT_UNKNOWN;
	if (wp_import_is_class(type->value, PREDICATES "RecordIsTombstone"))
		return WP_IMPORT_NO_MATCH;
	if (pattern == NULL || !wp_import_is_class(type->value, PREDICATES "TopicNameMatches"))
		return WP_IMPORT_UNKNOWN;
	return (prefix != NULL && prefix->elsewhere) || (is_table && has_other_names(t)) ||
			       pattern->elsewhere || wp_import_is_of_java(pattern->value)
		       ? WP_IMPORT_UNKNOWN
		       : match(t, pattern->value, topic);
}

static enum wp_import_match judge_transform(struct wp_translation *t, const char *alias,
					    const char *topic, bool is_table)
{
	const struct wp_import_item *predicate =
		wp_import_option(t, "transforms", alias, "predicate");
	const struct wp_import_item *negate = wp_import_option(t, "transforms", alias, "negate");
	enum wp_import_match found;

	if (predicate == NULL)
		return WP_IMPORT_MATCH;
	if (negate != NULL && negate->elsewhere)
		return WP_IMPORT_UNKNOWN;
	found = judge(t, predicate->value, topic, is_table);
	if (found == WP_IMPORT_UNKNOWN || !wp_import_is_true(negate, false))
		return found;
	return found == WP_IMPORT_MATCH ? WP_IMPORT_NO_MATCH : WP_IMPORT_MATCH;
}

enum wp_import_match wp_import_predicate(struct wp_translation *t, const char *alias,
					 const struct wp_import_table *table)
{
	return judge_transform(t, alias, table->topic, true);
}

enum wp_import_match wp_import_message_predicate(struct wp_translation *t, const char *alias)
{
	char topic[WP_IMPORT_TOPIC_SIZE];

	(void)snprintf(topic, sizeof(topic), "%.240s.message",
		       wp_import_value(t, "topic.prefix", ""));
	return judge_transform(t, alias, topic, false);
}
