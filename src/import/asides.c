/*
 * Finds the tables that Debezium captures beside the outboxes: those of heartbeats, which
 * heartbeat.action.query writes, and of signals. Their rows are no events.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "walpost/base/secret.h"

#include "translate.h"

#define OUTBOX "outbox"

struct search {
	struct wp_translation *t;
	const char *router;
	struct wp_import_tables *tables;
	struct wp_import_asides *asides;
};

static struct wp_import_item *find(struct wp_translation *t, const char *key)
{
	return wp_import_find(t, WP_IMPORT_CONNECTOR, key);
}

/* Debezium captures the name in any case of letters; without a schema, wherever it is listed. */
static bool is_listed_as(const struct wp_import_table *table, const struct wp_table_name *name)
{
	return strcasecmp(table->name.name, name->name) == 0 &&
	       (name->schema[0] == '\0' || strcasecmp(table->name.schema, name->schema) == 0);
}

static void add_aside(struct wp_import_asides *asides, const struct wp_table_name *name,
		      const char *schema)
{
	struct wp_table_name *aside = &asides->names[asides->count];

	if (asides->count == WP_IMPORT_ASIDES_MAX)
		return;
	*aside = *name;
	if (name->schema[0] == '\0')
		(void)snprintf(aside->schema, sizeof(aside->schema), "%s", schema);
	for (size_t i = 0; i < asides->count; i++)
		if (strcmp(asides->names[i].schema, aside->schema) == 0 &&
		    strcmp(asides->names[i].name, aside->name) == 0)
			return;
	asides->count++;
}

static bool is_last_outbox(const struct wp_import_tables *tables, const struct wp_table_name *name)
{
	size_t others = 0;

	for (size_t i = 0; i < tables->count; i++)
		others += !tables->items[i].aside && !is_listed_as(&tables->items[i], name);
	return tables->listed == WP_IMPORT_LISTED && others == 0;
}

static bool is_listed(const struct wp_import_tables *tables, const struct wp_table_name *name)
{
	for (size_t i = 0; i < tables->count; i++)
		if (is_listed_as(&tables->items[i], name))
			return true;
	return false;
}

/* Returns false if it is the only table that is left, so it is the outbox. */
static bool put_aside(struct search *s, const struct wp_table_name *name)
{
	if (is_listed(s->tables, name) && is_last_outbox(s->tables, name))
		return false;
	for (size_t i = 0; i < s->tables->count; i++) {
		struct wp_import_table *table = &s->tables->items[i];
		const char *schema = table->name.schema;

		if (!is_listed_as(table, name))
			continue;
		table->aside = true;
		/*
		 * A name without a schema gets the table's. Nobody creates one that differs from
		 * public in case.
		 */
		add_aside(s->asides, name, strcasecmp(schema, "public") == 0 ? "public" : schema);
	}
	if (!is_listed(s->tables, name))
		add_aside(s->asides, name, "public");
	return true;
}

static void find_signals(struct search *s)
{
	struct wp_import_item *item = find(s->t, "signal.data.collection");
	struct wp_table_name name;

	if (item == NULL)
		return;
	if (item->elsewhere ||
	    (!wp_import_table_name(item->value, &name) && !wp_import_read_name(item->value, &name)))
		wp_import_say(s->t, OUTBOX, item, WP_IMPORT_CHECK,
			      "not schema.table: walpost stops at a row of this table unless "
			      "outbox.ignore lists it");
	else if (!put_aside(s, &name))
		wp_import_say(s->t, OUTBOX, item, WP_IMPORT_CHECK,
			      "it is the only table that is listed, so it is treated as an outbox");
	else if (name.schema[0] == '\0')
		wp_import_say(s->t, OUTBOX, item, WP_IMPORT_CHECK,
			      "not schema.table, so the schema is assumed: walpost stops at a row "
			      "of this table unless outbox.ignore lists it");
	else
		wp_import_say(s->t, OUTBOX, item, WP_IMPORT_TRANSLATED,
			      "walpost does not support signals: rows of this table are ignored");
}

struct beats {
	size_t ignored;
	bool unclear; /* what it writes cannot be read */
	bool events;  /* it writes a table that is an outbox */
	bool unsure;  /* it inserts into one that is listed, and names no columns */
};

static const char *column_of(struct search *s, const char *option, const char *standard)
{
	const struct wp_import_item *item = wp_import_option(s->t, "transforms", s->router, option);

	return item == NULL ? standard : item->value;
}

static struct beats read_beats(struct search *s, const char *query)
{
	/* No event is without the former; a row of heartbeats has neither. */
	const char *const columns[WP_IMPORT_COLUMNS] = {
		column_of(s, "route.by.field", "aggregatetype"),
		column_of(s, "table.field.event.payload", "payload"),
	};
	struct wp_import_written w;
	struct beats beats = { .ignored = 0 };

	while (wp_import_next_written(&query, columns, &w)) {
		beats.unclear = beats.unclear || w.unclear;
		if (w.unclear)
			continue;
		if (w.names_column || !put_aside(s, &w.name)) {
			beats.events = true;
			continue;
		}
		beats.ignored++;
		beats.unsure =
			beats.unsure || (w.inserts && !w.has_list && is_listed(s->tables, &w.name));
	}
	return beats;
}

/* Debezium runs the query from time to time, so that its slot advances. */
static void find_heartbeats(struct search *s)
{
	struct wp_import_item *item = find(s->t, "heartbeat.action.query");
	struct beats beats = { .ignored = 0 };

	if (item == NULL)
		return;
	beats = read_beats(s, item->value);
	if (beats.events)
		wp_import_say(
			s->t, OUTBOX, item, WP_IMPORT_CHECK,
			"it writes to a table that is treated as an outbox: if these rows are "
			"not events, add the table's exact name to outbox.ignore instead");
	else if (beats.unclear || (item->elsewhere && beats.ignored == 0))
		wp_import_say(s->t, OUTBOX, item, WP_IMPORT_CHECK,
			      "the name of its table cannot be read: add the exact name to "
			      "outbox.ignore, and remove the section that has it as an outbox");
	else if (beats.unsure)
		wp_import_say(s->t, OUTBOX, item, WP_IMPORT_CHECK,
			      "rows of its table are ignored. The EventRouter treats what it "
			      "inserts as an event: if the table has events, make it an outbox");
	else if (beats.ignored > 0)
		wp_import_say(s->t, OUTBOX, item, WP_IMPORT_DROPPED,
			      "walpost advances the slot by itself while the outbox is idle: rows "
			      "of the query's table are ignored");
	else if (wp_text_has(item->value, "pg_logical_emit_message"))
		wp_import_say(s->t, OUTBOX, item, WP_IMPORT_DROPPED,
			      "walpost advances the slot by itself while the outbox is idle; it "
			      "sends no such message");
}

void wp_import_asides_find(struct wp_translation *t, const char *router,
			   struct wp_import_tables *tables, struct wp_import_asides *ret)
{
	struct search search = { t, router, tables, ret };

	ret->count = 0;
	find_signals(&search);
	find_heartbeats(&search);
}
