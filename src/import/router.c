/* Translates the options of an EventRouter: [outbox] or [outbox.NAME], all but the table. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "translate.h"

#define PLACEMENTS "table.fields.additional.placement"
/* walpost itself refuses a list that is too long: it is never cut. */
#define LIST_SIZE_MAX (4 * WP_IMPORT_SIZE_MAX)

struct word {
	const char *theirs;
	const char *ours;
};

/* These are translated one by one; without words the value is taken as it stands. */
static const struct plain {
	const char *option;
	const char *key;
	struct word words[4];
} plain_options[] = {
	{ "table.field.event.id", "column.id", { { NULL, NULL } } },
	{ "table.field.event.payload", "column.payload", { { NULL, NULL } } },
	{ "route.by.field", "route.by", { { NULL, NULL } } },
	{ "route.topic.replacement", "topic.replacement", { { NULL, NULL } } },
	{ "route.tombstone.on.empty.payload",
	  "payload.empty",
	  { { "true", "tombstone" }, { "false", "keep" }, { NULL, NULL } } },
	{ "table.op.invalid.behavior",
	  "on_update",
	  { { "warn", "warn" }, { "error", "error" }, { "fatal", "stop" }, { NULL, NULL } } },
};

#define PAYLOAD_ID "table.field.event.payload.id"

static void say_old_options(struct wp_translation *t, const char *alias)
{
	for (size_t i = 0; i < WP_IMPORT_OLD_OPTIONS; i++) {
		struct wp_import_item *item =
			wp_import_option(t, "transforms", alias, wp_import_old_options[i][1]);

		if (item == NULL || item->taken)
			continue;
		if (wp_import_router_option(t, alias, wp_import_old_options[i][0]) != NULL)
			wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_DROPPED,
				      "%s is its newer name, which takes precedence",
				      wp_import_old_options[i][0]);
		else
			wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_DROPPED,
				      "Debezium 2.0 and later have no such option");
	}
}

static void translate_plain(struct wp_translation *t, const char *alias, const char *section,
			    const struct plain *plain)
{
	struct wp_import_item *item = wp_import_router_option(t, alias, plain->option);
	const struct word *word = plain->words;

	if (item == NULL)
		return;
	if (word->theirs == NULL) {
		wp_import_say(t, section, item, WP_IMPORT_TRANSLATED, NULL);
		wp_import_set(t, section, plain->key, item->value);
		return;
	}
	while (word->theirs != NULL && !wp_import_is(item->value, word->theirs))
		word++;
	if (word->theirs == NULL) {
		wp_import_say(t, section, item, WP_IMPORT_UNSUPPORTED,
			      "the EventRouter has no such value");
		return;
	}
	wp_import_say(t, section, item, WP_IMPORT_TRANSLATED, NULL);
	wp_import_set(t, section, plain->key, word->ours);
}

/* Has the expression a group of this name? If none is set, it is Debezium's own. */
static bool has_group(const char *regex, const char *name, size_t size)
{
	char group[WP_IMPORT_WORD_SIZE];

	(void)snprintf(group, sizeof(group), "(?<%.*s>", (int)size, name);
	return strstr(regex, group) != NULL;
}

/* If ${NAME} is no group of the expression, somebody fills it in. */
static void look_at_replacement(struct wp_translation *t, const char *alias)
{
	struct wp_import_item *item = wp_import_router_option(t, alias, "route.topic.replacement");
	const struct wp_import_item *regex = wp_import_router_option(t, alias, "route.topic.regex");
	const char *expression = regex == NULL ? "(?<routedByValue>.*)" : regex->value;

	if (item == NULL)
		return;
	for (const char *at = strstr(item->value, "${"); at != NULL; at = strstr(at + 2, "${")) {
		size_t size = strcspn(at + 2, "}");

		if (isalpha((unsigned char)at[2]) && at[2 + size] == '}' &&
		    !has_group(expression, at + 2, size) && !item->is_unescaped)
			item->elsewhere = true;
	}
}

static void translate_regex(struct wp_translation *t, const char *alias, const char *section)
{
	struct wp_import_item *item = wp_import_router_option(t, alias, "route.topic.regex");

	if (item == NULL)
		return;
	if (wp_import_is_of_java(item->value)) {
		wp_import_say(t, section, item, WP_IMPORT_UNSUPPORTED,
			      "walpost uses PCRE2, where a class within a class ([a-z[A-Z]], which "
			      "is [a-zA-Z] to both), &&, (?U), (?d), (?x) with a class, \\p{Alpha} "
			      "and the like (in Java [A-Za-z]) and \\0 have another meaning than "
			      "in Java: rewrite it as topic.regex");
		return;
	}
	wp_import_say(t, section, item, WP_IMPORT_TRANSLATED, NULL);
	wp_import_set(t, section, "topic.regex", item->value);
}

/* -- placement --------------------------------------------------------------------- */

struct placement {
	char column[WP_IMPORT_WORD_SIZE];
	char place[WP_IMPORT_WORD_SIZE];
	char name[WP_IMPORT_WORD_SIZE]; /* "": the column's */
};

static void copy_trimmed(char *to, const char *from, size_t size)
{
	while (size > 0 && strchr(" \t", *from) != NULL) {
		from++;
		size--;
	}
	while (size > 0 && strchr(" \t", from[size - 1]) != NULL)
		size--;
	memcpy(to, from, size);
	to[size] = '\0';
}

/* Reads column:place[:name]. Returns false if it is something else. */
static bool read_placement(const char *word, struct placement *ret)
{
	const char *place = strchr(word, ':');
	const char *name = place == NULL ? NULL : strchr(place + 1, ':');

	if (place == NULL || (name != NULL && strchr(name + 1, ':') != NULL))
		return false;
	copy_trimmed(ret->column, word, (size_t)(place - word));
	copy_trimmed(ret->place, place + 1, strcspn(place + 1, ":"));
	copy_trimmed(ret->name, name == NULL ? "" : name + 1, name == NULL ? 0 : strlen(name + 1));
	return ret->column[0] != '\0';
}

/* Is the column among those of the list? */
static bool is_listed(const char *list, const char *column)
{
	char word[WP_IMPORT_WORD_SIZE];

	while (wp_import_next(&list, word))
		if (strcmp(word, column) == 0)
			return true;
	return false;
}

/*
 * Returns what names the key's column, or NULL if it is aggregateid. Before 2.0 payload.id named it
 * where nothing else did.
 */
static struct wp_import_item *find_key(struct wp_translation *t, const char *alias)
{
	struct wp_import_item *item = wp_import_router_option(t, alias, "table.field.event.key");

	if (item == NULL && wp_import_age(t, WP_IMPORT_VERSION(2, 0)) == WP_IMPORT_BEFORE)
		return wp_import_router_option(t, alias, PAYLOAD_ID);
	return item;
}

static void look_at_key(struct wp_translation *t, const char *alias)
{
	const struct wp_import_item *item = find_key(t, alias);
	const char *column = item == NULL ? "aggregateid" : wp_import_shown(item->value);
	size_t size = strlen(t->keys);

	if (!is_listed(t->keys, column))
		(void)snprintf(t->keys + size, sizeof(t->keys) - size, "%s%s",
			       size == 0 ? "" : ", ", column);
}

void wp_import_router_look(struct wp_translation *t, const char *alias)
{
	const struct wp_import_item *item = wp_import_router_option(t, alias, PLACEMENTS);
	const char *at = item == NULL ? "" : item->value;
	char word[WP_IMPORT_WORD_SIZE];
	struct placement p;

	look_at_key(t, alias);
	t->ignores_missing = t->ignores_missing || wp_import_ignores_missing(t, alias);
	while (wp_import_next(&at, word)) {
		bool good = read_placement(word, &p);

		t->places_in_value =
			t->places_in_value || (good && wp_import_is(p.place, "envelope"));
		t->places_columns =
			t->places_columns || (good && !wp_import_is(p.place, "partition"));
	}
}

struct lists {
	struct wp_buffer headers;
	struct wp_buffer value;
	char partition[WP_IMPORT_WORD_SIZE];
	bool wrong;    /* a placement that is none */
	enum wp_rc rc; /* WP_OK or WP_NOMEM; sticky */
};

static void append(struct lists *lists, struct wp_buffer *list, char c)
{
	if (lists->rc == WP_OK)
		lists->rc = wp_buffer_append_byte(list, (uint8_t)c);
}

/* Appends a name as lists of columns take it: in quotes where there is one in it. */
static void append_name(struct lists *lists, struct wp_buffer *list, const char *name)
{
	bool quoted = strchr(name, '"') != NULL;

	if (quoted)
		append(lists, list, '"');
	for (; *name != '\0'; name++) {
		if (*name == '"')
			append(lists, list, '"');
		append(lists, list, *name);
	}
	if (quoted)
		append(lists, list, '"');
}

static void append_column(struct lists *lists, struct wp_buffer *list, const struct placement *p)
{
	if (list->size > 0)
		append(lists, list, ',');
	append_name(lists, list, p->column);
	if (p->name[0] == '\0' || strcmp(p->name, p->column) == 0)
		return;
	append(lists, list, ':');
	append_name(lists, list, p->name);
}

static void read_lists(const char *value, struct lists *lists)
{
	char word[WP_IMPORT_WORD_SIZE];
	struct placement p;

	while (wp_import_next(&value, word)) {
		if (!read_placement(word, &p))
			lists->wrong = true;
		else if (wp_import_is(p.place, "header"))
			append_column(lists, &lists->headers, &p);
		else if (wp_import_is(p.place, "envelope"))
			append_column(lists, &lists->value, &p);
		else if (wp_import_is(p.place, "partition"))
			(void)snprintf(lists->partition, sizeof(lists->partition), "%s", p.column);
		else
			lists->wrong = true;
	}
}

static void set_list(struct wp_translation *t, const char *section, const char *key,
		     struct wp_buffer *list)
{
	if (list->size == 0)
		return;
	if (wp_buffer_append_byte(list, '\0') != WP_OK)
		t->report->rc = WP_NOMEM;
	else
		wp_import_set(t, section, key, (const char *)list->data);
}

static void say_placement(struct wp_translation *t, const char *section,
			  struct wp_import_item *item, const struct lists *lists)
{
	if (lists->wrong)
		wp_import_say(t, section, item, WP_IMPORT_UNSUPPORTED,
			      "not a list of column:place or column:place:name, where place is "
			      "header, envelope or partition; the rest of it is below");
	else if (lists->value.size > 0 && !wp_import_is_structured(t))
		wp_import_say(t, section, item, WP_IMPORT_UNSUPPORTED,
			      "columns next to the payload require JsonConverter for the value; "
			      "walpost does not support this converter's form of such a value. "
			      "Left out: envelope");
	else if (strpbrk(item->value, " \t") != NULL &&
		 wp_import_age(t, WP_IMPORT_VERSION(2, 5)) == WP_IMPORT_BEFORE)
		wp_import_say(t, section, item, WP_IMPORT_CHECK,
			      "before Debezium 2.5 spaces next to : and , are significant: a "
			      "header's name includes them, and a column with one is not found");
	else if (lists->partition[0] != '\0' && t->is_server)
		wp_import_say(t, section, item, WP_IMPORT_TRANSLATED,
			      "Debezium Server ignores the column for the partition, so it is left "
			      "out; to use it, set column.partition = %s",
			      wp_import_shown(lists->partition));
	else
		wp_import_say(t, section, item, WP_IMPORT_TRANSLATED, NULL);
}

static void translate_placement(struct wp_translation *t, const char *alias, const char *section)
{
	struct wp_import_item *item = wp_import_router_option(t, alias, PLACEMENTS);
	struct lists lists = { .wrong = false };

	if (item == NULL)
		return;
	wp_buffer_init(&lists.headers, LIST_SIZE_MAX);
	wp_buffer_init(&lists.value, LIST_SIZE_MAX);
	read_lists(item->value, &lists);
	if (lists.rc != WP_OK)
		t->report->rc = WP_NOMEM;
	say_placement(t, section, item, &lists);
	set_list(t, section, "headers", &lists.headers);
	if (wp_import_is_structured(t))
		set_list(t, section, "value.columns", &lists.value);
	if (lists.partition[0] != '\0' && !t->is_server)
		wp_import_set(t, section, "column.partition", lists.partition);
	wp_buffer_release(&lists.headers);
	wp_buffer_release(&lists.value);
}

/* -- the key ----------------------------------------------------------------------- */

/* Before 2.0 the column of payload.id, if the table had it, stood in for a NULL. */
static void translate_fallback(struct wp_translation *t, const char *alias, const char *section,
			       const struct wp_import_item *key)
{
	struct wp_import_item *item = wp_import_router_option(t, alias, PAYLOAD_ID);

	if (item != NULL && strcmp(item->value, key->value) == 0) {
		wp_import_say(t, section, item, WP_IMPORT_DROPPED, "it is the key's column");
	} else if (item != NULL) {
		wp_import_say(t, section, item, WP_IMPORT_TRANSLATED,
			      "before Debezium 2.0 this column replaces a NULL key");
		wp_import_set(t, section, "column.key.fallback", item->value);
	} else if (strcmp(key->value, "aggregateid") != 0) {
		wp_import_note(t, section, PAYLOAD_ID " is not set", WP_IMPORT_CHECK,
			       "before Debezium 2.0 the column aggregateid, if the table has it, "
			       "replaces a NULL key: then set column.key.fallback = aggregateid, "
			       "unless %s is never NULL",
			       wp_import_shown(key->value));
	}
}

static void translate_key(struct wp_translation *t, const char *alias, const char *section)
{
	struct wp_import_item *item = find_key(t, alias);
	struct wp_import_item *payload_id = wp_import_router_option(t, alias, PAYLOAD_ID);
	enum wp_import_age age = wp_import_age(t, WP_IMPORT_VERSION(2, 0));

	if (payload_id != NULL && age == WP_IMPORT_SINCE)
		wp_import_say(t, section, payload_id, WP_IMPORT_DROPPED,
			      "Debezium 2.0 and later have no such option");
	if (item == NULL)
		return;
	wp_import_say(t, section, item, WP_IMPORT_TRANSLATED, NULL);
	wp_import_set(t, section, "column.key", item->value);
	if (item != payload_id && age == WP_IMPORT_BEFORE)
		translate_fallback(t, alias, section, item);
}

/* -- what wants a sentence --------------------------------------------------------- */

static void translate_type(struct wp_translation *t, const char *alias, const char *section)
{
	struct wp_import_item *item = wp_import_router_option(t, alias, "table.field.event.type");

	if (wp_import_age(t, WP_IMPORT_VERSION(1, 2)) == WP_IMPORT_BEFORE)
		wp_import_note(t, section, "the value's eventType", WP_IMPORT_UNSUPPORTED,
			       "Debezium before 1.2 sends an envelope with eventType and payload "
			       "unless the type is placed in a header");
	if (item != NULL)
		wp_import_say(t, section, item, WP_IMPORT_DROPPED,
			      "the EventRouter ignores it: a type is sent only if it is placed in "
			      "a header");
	else
		wp_import_note(t, section, "the header type", WP_IMPORT_TRANSLATED,
			       "the EventRouter sends a type only if it is placed in a header");
	wp_import_set(t, section, "column.type", "");
}

static void translate_timestamp(struct wp_translation *t, const char *alias, const char *section)
{
	struct wp_import_item *item =
		wp_import_router_option(t, alias, "table.field.event.timestamp");

	if (item != NULL && t->is_server) {
		wp_import_say(t, section, item, WP_IMPORT_DROPPED,
			      "Debezium Server ignores it; to use it, set column.timestamp = %s. "
			      "The record's timestamp is now the time of the commit, instead of "
			      "the time of sending",
			      wp_import_shown(item->value));
	} else if (item != NULL) {
		wp_import_say(t, section, item, WP_IMPORT_TRANSLATED,
			      "if it is NULL, the record has the time of the commit, instead of "
			      "the time at which Debezium handled it");
		wp_import_set(t, section, "column.timestamp", item->value);
	} else {
		wp_import_note(t, section, "the record's timestamp", WP_IMPORT_TRANSLATED,
			       "it is the time of the commit, instead of the time at which %s",
			       t->is_server ? "it was sent" : "Debezium handled the row");
	}
}

/* 2.0 made none the default of schema.name.adjustment.mode, which was avro. */
static void say_schema_name(struct wp_translation *t, const char *section)
{
	if (t->places_in_value && t->forms.value == WP_IMPORT_JSON_SCHEMA &&
	    wp_import_age(t, WP_IMPORT_VERSION(2, 0)) == WP_IMPORT_BEFORE &&
	    wp_import_find(t, WP_IMPORT_CONNECTOR, "schema.name.adjustment.mode") == NULL)
		wp_import_note(
			t, section, "schema.name.adjustment.mode is not set", WP_IMPORT_CHECK,
			"before Debezium 2.0 characters that Avro does not allow in the name "
			"of the value's schema become _: walpost keeps them");
}

static void translate_version(struct wp_translation *t, const char *alias, const char *section)
{
	struct wp_import_item *item =
		wp_import_router_option(t, alias, "table.field.event.schema.version");

	if (item == NULL)
		return;
	if (t->places_in_value && t->forms.value == WP_IMPORT_JSON_SCHEMA) {
		wp_import_say(t, section, item, WP_IMPORT_TRANSLATED, NULL);
		wp_import_set(t, section, "debezium.schema.version", item->value);
	} else {
		wp_import_say(t, section, item, WP_IMPORT_DROPPED,
			      "it is the version of a schema, and no schema is sent");
	}
}

static void translate_tracing(struct wp_translation *t, const char *alias, const char *section)
{
	static const char *const rest[] = { "tracing.operation.name",
					    "tracing.with.context.field.only" };
	struct wp_import_item *item =
		wp_import_router_option(t, alias, "tracing.span.context.field");

	if (item != NULL) {
		wp_import_say(t, section, item, WP_IMPORT_TRANSLATED,
			      "the trace context is passed on as the application wrote it: walpost "
			      "creates no spans");
		wp_import_set(t, section, "headers.properties", item->value);
	}
	for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++) {
		struct wp_import_item *option = wp_import_router_option(t, alias, rest[i]);

		if (option != NULL)
			wp_import_say(t, section, option, WP_IMPORT_DROPPED,
				      "walpost creates no spans");
	}
}

/* The EventRouter has its own beside the connector's, for members of an expanded payload. */
static void translate_adjustment(struct wp_translation *t, const char *alias, const char *section)
{
	struct wp_import_item *item =
		wp_import_router_option(t, alias, "field.name.adjustment.mode");

	if (item == NULL)
		return;
	if (wp_import_is(item->value, "none") ||
	    !wp_import_is_true(wp_import_router_option(t, alias, "table.expand.json.payload"),
			       false))
		wp_import_say(t, section, item, WP_IMPORT_DROPPED, "it changes no name");
	else
		wp_import_say(t, section, item, WP_IMPORT_UNSUPPORTED,
			      "members of an expanded payload keep their names");
}

void wp_import_router(struct wp_translation *t, const char *alias, const char *section)
{
	look_at_replacement(t, alias);
	translate_key(t, alias, section);
	for (size_t i = 0; i < sizeof(plain_options) / sizeof(plain_options[0]); i++)
		translate_plain(t, alias, section, &plain_options[i]);
	translate_regex(t, alias, section);
	translate_type(t, alias, section);
	translate_timestamp(t, alias, section);
	translate_placement(t, alias, section);
	wp_import_missing(t, alias, section);
	translate_version(t, alias, section);
	say_schema_name(t, section);
	wp_import_expand(t, alias, section);
	translate_tracing(t, alias, section);
	translate_adjustment(t, alias, section);
	say_old_options(t, alias);
}
