/* Finds which tables are outboxes, and by which EventRouter: [outbox], [outbox.NAME]. */
#include <stdio.h>
#include <string.h>

#include "translate.h"

#define OUTBOX "outbox"
#define ROUTERS_MAX 16

struct routers {
	char aliases[ROUTERS_MAX][WP_IMPORT_WORD_SIZE];
	size_t count;
	char decoder[WP_IMPORT_WORD_SIZE]; /* alias of the one that decodes messages; "": none */
	size_t before_decoder;		   /* routers that stand before it */
	bool unclear;			   /* a transform's name or class stands elsewhere */
};

struct plan {
	struct wp_import_tables tables;
	struct routers routers;
	struct wp_import_asides asides;
	size_t routable_count; /* tables that are not aside */
	size_t outbox_count;   /* tables that some router gets */
	bool unknown;	       /* a predicate that cannot be judged */
};

static struct wp_import_item *find(struct wp_translation *t, const char *key)
{
	return wp_import_find(t, WP_IMPORT_CONNECTOR, key);
}

/* -- the chain of transforms --------------------------------------------------------- */

#define RENAMER "org.apache.kafka.connect.transforms.RegexRouter"
#define DECODER                                        \
	"io.debezium.connector.postgresql.transforms." \
	"DecodeLogicalDecodingMessageContent"

static const char unknown_change[] = "it changes records in a way that walpost does not support";

/* Transforms other than the EventRouter do this; they are told by the last part of their class. */
static const struct {
	const char *class;
	const char *what;
} other_transforms[] = {
	{ "ByLogicalTableRouter", "it chooses other topics" },
	{ "RegexRouter", "it renames topics" },
	{ "TimestampRouter", "it puts the date into the topic" },
	{ "ContentBasedRouter", "it chooses topics with a script" },
	{ "ComputePartition", "it chooses partitions" },
	{ "PartitionRouting", "it chooses partitions" },
	{ "Filter", "it drops records" },
	{ "ExtractNewRecordState",
	  "it extracts rows from change events, as an EventRouter does too" },
	{ "InsertField$Value", "it adds a field to the value" },
	{ "InsertField$Key", "it adds a field to the key" },
	{ "InsertHeader", "it adds a header" },
	{ "DropHeaders", "it removes headers" },
	{ "HeaderFrom$Value", "it moves fields of the value into headers" },
	{ "HeaderFrom$Key", "it moves fields of the key into headers" },
	{ "HeaderToValue", "it moves headers into the value" },
	{ "ReplaceField$Value", "it renames or drops fields of the value" },
	{ "ReplaceField$Key", "it renames or drops fields of the key" },
	{ "MaskField$Value", "it masks fields of the value" },
	{ "ValueToKey", "it builds the key from fields of the value" },
	{ "ExtractField$Value", "it replaces the value by one of its fields" },
	{ "ExtractField$Key", "it replaces the key by one of its fields" },
	{ "HoistField$Value", "it wraps the value" },
	{ "HoistField$Key", "it wraps the key" },
	{ "Flatten$Value", "it flattens the value" },
	{ "Cast$Value", "it changes types in the value" },
	{ "Cast$Key", "it changes the type of the key" },
	{ "TimestampConverter$Value", "it rewrites times in the value" },
	{ "TimezoneConverter", "it moves times to another time zone" },
	{ "SetSchemaMetadata$Value", "it renames the schema of the value" },
	{ "SetSchemaMetadata$Key", "it renames the schema of the key" },
	{ "ActivateTracingSpan", "it adds tracing headers" },
	{ "MongoEventRouter", "it reads MongoDB" },
};

/* The name says nothing of a class that is in none of these packages. */
static const char *what_of(const char *type)
{
	static const char *const packages[] = { "io.debezium.", "org.apache.kafka.connect.",
						"io.confluent.connect." };
	const char *class = wp_import_class(type);
	bool known = class == type;

	for (size_t i = 0; i < sizeof(packages) / sizeof(packages[0]); i++)
		known = known || wp_import_begins(type, packages[i]);
	if (!known)
		return unknown_change;
	for (size_t i = 0; i < sizeof(other_transforms) / sizeof(other_transforms[0]); i++)
		if (strcmp(class, other_transforms[i].class) == 0)
			return other_transforms[i].what;
	return unknown_change;
}

static void say_other_transform(struct wp_translation *t, const char *alias,
				struct wp_import_item *type, bool has_router)
{
	char prefix[WP_IMPORT_WORD_SIZE + 16];
	const char *namesake = wp_import_is_namesake(type->value, WP_IMPORT_ROUTER)
				       ? WP_IMPORT_ROUTER
			       : wp_import_is_namesake(type->value, DECODER) ? DECODER
									     : NULL;

	if (namesake != NULL)
		wp_import_say(t, OUTBOX, type, WP_IMPORT_UNSUPPORTED,
			      "it is not %s, and walpost does not support other classes of that "
			      "name: topics, keys or headers may differ",
			      namesake);
	else if (wp_import_is_class(type->value, RENAMER) && has_router)
		wp_import_say(t, OUTBOX, type, WP_IMPORT_UNSUPPORTED,
			      "it renames topics: set topic.replacement to the names that it "
			      "makes, for example events.${routedByValue}");
	else
		wp_import_say(t, OUTBOX, type, WP_IMPORT_UNSUPPORTED,
			      "%s; walpost has no such transform", what_of(type->value));
	(void)snprintf(prefix, sizeof(prefix), "transforms.%s.", alias);
	for (size_t i = 0; i < t->count; i++)
		if (!t->items[i].taken && t->items[i].kind == WP_IMPORT_CONNECTOR &&
		    wp_import_begins(t->items[i].key, prefix)) {
			t->items[i].concealed = true;
			wp_import_say(t, WP_IMPORT_REST, &t->items[i], WP_IMPORT_DROPPED,
				      "it belongs to a transform that is not supported");
		}
}

static bool is_router(const struct routers *routers, const char *alias)
{
	for (size_t i = 0; i < routers->count; i++)
		if (strcmp(routers->aliases[i], alias) == 0)
			return true;
	return false;
}

static void say_transform(struct wp_translation *t, const char *alias, struct routers *ret)
{
	struct wp_import_item *type = wp_import_option(t, "transforms", alias, "type");

	if (is_router(ret, alias)) {
		wp_import_note(t, OUTBOX, "transforms", WP_IMPORT_CHECK,
			       "%s is listed twice, which Kafka Connect rejects; it is used once",
			       alias);
	} else if (type == NULL) {
		wp_import_note(t, OUTBOX, "transforms", WP_IMPORT_UNSUPPORTED,
			       "one of them has no type, so its effect is unknown");
	} else if (wp_import_is_class(type->value, WP_IMPORT_ROUTER) && ret->count < ROUTERS_MAX) {
		memcpy(ret->aliases[ret->count++], alias, WP_IMPORT_WORD_SIZE);
		wp_import_say(t, OUTBOX, type, WP_IMPORT_TRANSLATED, "walpost does the same");
	} else if (wp_import_is_class(type->value, DECODER)) {
		if (ret->decoder[0] != '\0') {
			wp_import_say(t, OUTBOX, type, WP_IMPORT_CHECK,
				      "only the first of several such transforms is taken into "
				      "account");
		} else {
			memcpy(ret->decoder, alias, WP_IMPORT_WORD_SIZE);
			ret->before_decoder = ret->count;
		}
	} else {
		ret->unclear = ret->unclear || type->elsewhere;
		say_other_transform(t, alias, type, ret->count > 0);
	}
}

/* Do logical messages get to an EventRouter behind the transform that decodes them? */
static enum wp_import_match find_routed_messages(struct wp_translation *t,
						 const struct routers *routers)
{
	enum wp_import_match decoded = wp_import_message_predicate(t, routers->decoder);
	enum wp_import_match routed = WP_IMPORT_NO_MATCH;

	/* Another mark says what is wrong with these. */
	if (routers->count == 0 || routers->unclear)
		return WP_IMPORT_MATCH;
	for (size_t i = routers->before_decoder; i < routers->count; i++) {
		enum wp_import_match found = wp_import_message_predicate(t, routers->aliases[i]);

		if (found == WP_IMPORT_MATCH || routed == WP_IMPORT_NO_MATCH)
			routed = found;
	}
	return decoded == WP_IMPORT_MATCH     ? routed
	       : routed == WP_IMPORT_NO_MATCH ? routed
					      : decoded;
}

static void say_decoder(struct wp_translation *t, const struct routers *routers)
{
	struct wp_import_item *type;

	t->has_decoder = routers->decoder[0] != '\0';
	if (!t->has_decoder)
		return;
	type = wp_import_option(t, "transforms", routers->decoder, "type");
	switch (find_routed_messages(t, routers)) {
	case WP_IMPORT_MATCH:
		wp_import_say(t, OUTBOX, type, WP_IMPORT_TRANSLATED,
			      "message.format = json has the same effect");
		break;
	case WP_IMPORT_UNKNOWN:
		wp_import_say(t, OUTBOX, type, WP_IMPORT_CHECK,
			      "walpost cannot evaluate the predicate, and treats the messages as "
			      "events");
		break;
	case WP_IMPORT_NO_MATCH:
		wp_import_say(t, OUTBOX, type, WP_IMPORT_UNSUPPORTED,
			      "because of the order of the transforms, or of a predicate, no "
			      "message reaches an EventRouter after it: Debezium sends the "
			      "messages to a separate topic, and walpost does not send them");
		return;
	}
	t->decodes_messages = true;
	wp_import_set(t, OUTBOX, "message.format", "json");
}

static void say_transforms(struct wp_translation *t, struct routers *ret)
{
	struct wp_import_item *item = find(t, "transforms");
	const char *at = item == NULL ? "" : item->value;
	char alias[WP_IMPORT_WORD_SIZE];

	if (item != NULL)
		wp_import_say(t, OUTBOX, item,
			      item->elsewhere ? WP_IMPORT_UNSUPPORTED : WP_IMPORT_TRANSLATED, NULL);
	ret->unclear = item != NULL && item->elsewhere;
	at = ret->unclear ? "" : at;
	while (wp_import_next(&at, alias))
		say_transform(t, alias, ret);
	say_decoder(t, ret);
	if (ret->count == 0 && !ret->unclear)
		wp_import_note(t, OUTBOX, "transforms", WP_IMPORT_UNSUPPORTED,
			       "there is no EventRouter (" WP_IMPORT_ROUTER
			       ") among them: walpost sends outbox events, not table changes");
}

/* -- tables -------------------------------------------------------------------------- */

static enum wp_import_match routes(struct wp_translation *t, const struct routers *routers,
				   size_t index, struct wp_import_table *table)
{
	enum wp_import_match found = wp_import_predicate(t, routers->aliases[index], table);

	table->routed = table->routed || found != WP_IMPORT_NO_MATCH;
	return found;
}

/* Is an outbox captured whose name may be another? */
static bool has_capitals(const struct wp_import_tables *tables)
{
	for (size_t i = 0; i < tables->count; i++)
		if (tables->items[i].routed && tables->items[i].capitals)
			return true;
	return false;
}

static void say_tables(struct wp_translation *t, const struct wp_import_tables *tables,
		       bool unrouted, bool unknown)
{
	struct wp_import_item *item = find(t, "table.include.list");

	if (item == NULL)
		wp_import_note(t, OUTBOX, "table.include.list is not set", WP_IMPORT_CHECK,
			       "Debezium captures all tables, so the outbox table is unknown: name "
			       "it here");
	else if (item->elsewhere)
		wp_import_say(t, OUTBOX, item, WP_IMPORT_TRANSLATED, NULL);
	else if (tables->listed != WP_IMPORT_LISTED)
		wp_import_say(
			t, OUTBOX, item, WP_IMPORT_CHECK,
			"a regular expression in it may match any number of tables, or there are "
			"too many: name the table here, or use one [outbox.NAME] per table");
	else if (unrouted)
		wp_import_say(t, OUTBOX, item, WP_IMPORT_UNSUPPORTED,
			      "some of these tables are not routed to an EventRouter, so Debezium "
			      "sends their changes as they are; walpost sends none of them");
	else if (unknown)
		wp_import_say(t, OUTBOX, item, WP_IMPORT_CHECK,
			      "walpost cannot evaluate the predicate, and treats all of them as "
			      "outboxes");
	else if (has_capitals(tables))
		wp_import_say(t, OUTBOX, item, WP_IMPORT_CHECK,
			      "Debezium ignores case in names, and walpost does not: a table "
			      "created without double quotes has a lower-case name; use that");
	else
		wp_import_say(t, OUTBOX, item, WP_IMPORT_TRANSLATED, NULL);
}

static void append_text(struct wp_translation *t, struct wp_buffer *b, const char *text)
{
	if (wp_buffer_append_text(b, text) != WP_OK)
		t->report->rc = WP_NOMEM;
}

static void append_ignored(struct wp_translation *t, struct wp_buffer *list, const char *table)
{
	append_text(t, list, list->size == 0 ? "" : ", ");
	append_text(t, list, table);
}

/*
 * Gathers the other tables of the publication; "" if none are known. A pattern may not cover those
 * that look like an outbox, so heartbeats' and signals' stand beside it.
 */
static void gather_ignored(struct wp_translation *t, const struct plan *plan, bool others,
			   struct wp_buffer *list)
{
	char text[WP_TABLE_NAME_TEXT_SIZE];

	if (others)
		append_ignored(t, list, "*");
	for (size_t i = 0; i < plan->tables.count && !others; i++)
		if (!plan->tables.items[i].routed && !plan->tables.items[i].aside)
			append_ignored(t, list, plan->tables.items[i].text);
	for (size_t i = 0; i < plan->asides.count; i++)
		append_ignored(t, list,
			       wp_table_name_text(&plan->asides.names[i], text, sizeof(text)));
	if (wp_buffer_append_byte(list, '\0') != WP_OK)
		t->report->rc = WP_NOMEM;
}

/* Whoever drops the rows of all other tables must know those of the outbox, letter for letter. */
static bool is_certain(const struct wp_import_tables *tables)
{
	bool routed = false;

	for (size_t i = 0; i < tables->count; i++)
		routed = routed || tables->items[i].routed;
	return tables->listed == WP_IMPORT_LISTED && !has_capitals(tables) && routed;
}

static void say_all_tables(struct wp_translation *t, struct wp_import_item *mode, bool certain)
{
	static const char drops[] = "the publication covers all tables: rows of others are "
				    "ignored; otherwise walpost would stop at one. If an outbox is "
				    "partitioned, set publish_via_partition_root in the "
				    "publication, or outbox.leaves";
	static const char waits[] =
		"the publication covers all tables: once outbox.table is certain, set ignore = * "
		"to ignore rows of others. Until then walpost stops at a row of another table, "
		"because it may be the outbox";
	enum wp_import_verdict verdict = certain ? WP_IMPORT_TRANSLATED : WP_IMPORT_FILL_IN;

	if (mode == NULL)
		wp_import_note(t, OUTBOX, "publication.autocreate.mode is not set", verdict, "%s",
			       certain ? drops : waits);
	else
		wp_import_say(t, OUTBOX, mode, verdict, "%s", certain ? drops : waits);
}

static void say_publication(struct wp_translation *t, const struct plan *plan)
{
	struct wp_import_item *mode = find(t, "publication.autocreate.mode");
	bool all = mode == NULL || wp_import_is(mode->value, "all_tables");
	struct wp_buffer list;

	bool certain = is_certain(&plan->tables);

	if (all)
		say_all_tables(t, mode, certain);
	else
		wp_import_say(t, OUTBOX, mode, WP_IMPORT_TRANSLATED,
			      "the publication is used unchanged; walpost stops at a row of a "
			      "table that is neither an outbox nor listed in outbox.ignore");
	wp_buffer_init(&list,
		       (WP_IMPORT_TABLES_MAX + WP_IMPORT_ASIDES_MAX) * WP_TABLE_NAME_TEXT_SIZE);
	gather_ignored(t, plan, all && certain, &list);
	if (list.size > 1)
		wp_import_set(t, OUTBOX, "ignore", (const char *)list.data);
	wp_buffer_release(&list);
}

/* -- what is an outbox, and where it stands ------------------------------------------ */

static void make_plan(struct wp_translation *t, struct plan *plan)
{
	wp_import_tables_find(t, &plan->tables);
	wp_import_asides_find(t, plan->routers.aliases[0], &plan->tables, &plan->asides);
	for (size_t i = 0; i < plan->tables.count; i++) {
		struct wp_import_table *table = &plan->tables.items[i];

		if (table->aside)
			continue;
		plan->routable_count++;
		for (size_t j = 0; j < plan->routers.count; j++)
			plan->unknown = routes(t, &plan->routers, j, table) == WP_IMPORT_UNKNOWN ||
					plan->unknown;
		table->routed = table->routed || plan->routers.count == 0;
		plan->outbox_count += table->routed;
	}
	for (size_t j = 0; j < plan->routers.count; j++)
		wp_import_router_look(t, plan->routers.aliases[j]);
	t->has_sections = plan->routers.count > 1 || plan->outbox_count > 1;
	if (t->has_sections)
		wp_import_tables_name(&plan->tables);
}

static void set_tables(struct wp_translation *t, const struct plan *plan)
{
	for (size_t i = 0; i < plan->tables.count; i++) {
		const struct wp_import_table *table = &plan->tables.items[i];

		if (table->routed)
			wp_import_set(t, t->has_sections ? table->section : OUTBOX, "table",
				      table->text);
	}
}

/* The first router that lets the table through counts: to others it is an outbox's row no more. */
static bool is_first(struct wp_translation *t, const struct routers *routers, size_t index,
		     struct wp_import_table *table)
{
	for (size_t j = 0; j < index; j++)
		if (routes(t, routers, j, table) != WP_IMPORT_NO_MATCH)
			return false;
	return routes(t, routers, index, table) != WP_IMPORT_NO_MATCH;
}

/* An EventRouter without a table has no section where its options could stand. */
static void say_idle_router(struct wp_translation *t, const char *alias)
{
	char prefix[WP_IMPORT_WORD_SIZE + 16];

	(void)snprintf(prefix, sizeof(prefix), "transforms.%s.", alias);
	for (size_t i = 0; i < t->count; i++)
		if (!t->items[i].taken && t->items[i].kind == WP_IMPORT_CONNECTOR &&
		    wp_import_begins(t->items[i].key, prefix))
			wp_import_say(t, WP_IMPORT_REST, &t->items[i], WP_IMPORT_CHECK,
				      "no table is known for this EventRouter: if there is one, "
				      "add an [outbox.NAME] for it");
}

/* One EventRouter's options stand in [outbox], which others inherit; those of several with each. */
static void set_routers(struct wp_translation *t, struct plan *plan)
{
	if (plan->routers.count == 1)
		wp_import_router(t, plan->routers.aliases[0], OUTBOX);
	for (size_t j = 0; j < plan->routers.count && plan->routers.count > 1; j++) {
		bool said = false;

		for (size_t i = 0; i < plan->tables.count; i++) {
			struct wp_import_table *table = &plan->tables.items[i];

			if (!is_first(t, &plan->routers, j, table))
				continue;
			wp_import_router(t, plan->routers.aliases[j], table->section);
			said = true;
		}
		if (!said)
			say_idle_router(t, plan->routers.aliases[j]);
	}
}

/* -- all of it ----------------------------------------------------------------------- */

/* Sets what a router's records are made of whatever it is told, beside what the router sets. */
static void set_ways(struct wp_translation *t)
{
	struct wp_import_item *prefix = find(t, "topic.prefix");
	struct wp_import_item *extended = find(t, "extended.headers.enabled");
	enum wp_import_age age = wp_import_age(t, WP_IMPORT_VERSION(3, 2));
	bool context = wp_import_is_true(extended, age != WP_IMPORT_BEFORE) && prefix != NULL;

	wp_import_note(t, OUTBOX, "the EventRouter's fixed behavior", WP_IMPORT_TRANSLATED,
		       "NULL keys are sent, numbers and times are written as Debezium writes them, "
		       "a NULL in a column with a constant DEFAULT becomes that constant (with a "
		       "computed DEFAULT, such as now(), it stays NULL), and id is the only "
		       "standard header. To add walpost-position, by which a consumer can drop "
		       "duplicates: headers.standard = id,walpost-position");
	wp_import_set(t, OUTBOX, "key.null", "allow");
	wp_import_set(t, OUTBOX, "types", "debezium");
	wp_import_set(t, OUTBOX, "headers.standard", "id");
	if (prefix != NULL) {
		wp_import_say(t, OUTBOX, prefix, WP_IMPORT_TRANSLATED,
			      "it is not part of topic names, but of schema names and the context "
			      "headers");
		wp_import_set(t, OUTBOX, "debezium.name", prefix->value);
	}
	if (extended != NULL)
		wp_import_say(t, OUTBOX, extended, WP_IMPORT_TRANSLATED, NULL);
	else if (context && age == WP_IMPORT_SINCE)
		wp_import_note(t, OUTBOX, "extended.headers.enabled is not set",
			       WP_IMPORT_TRANSLATED, "Debezium's default is true since 3.2");
	else if (context)
		wp_import_note(t, OUTBOX, "extended.headers.enabled is not set", WP_IMPORT_CHECK,
			       "Debezium 3.2 and later send four context headers by default, of "
			       "which runId changes at each start; older versions send none: for "
			       "these set debezium.context.headers = no, or pass the version as "
			       "--debezium");
	if (extended != NULL || context)
		wp_import_set(t, OUTBOX, "debezium.context.headers", context ? "yes" : "no");
}

void wp_import_outbox(struct wp_translation *t)
{
	struct plan plan = { .outbox_count = 0 };

	say_transforms(t, &plan.routers);
	make_plan(t, &plan);
	say_tables(t, &plan.tables, plan.outbox_count < plan.routable_count, plan.unknown);
	wp_import_selection(t, &plan.tables);
	set_tables(t, &plan);
	say_publication(t, &plan);
	set_routers(t, &plan);
	wp_import_messages(t);
	set_ways(t);
}
