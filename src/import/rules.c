/* What no translator takes: the table of properties that mean nothing here, or that cannot be had. */
#include <stdio.h>
#include <string.h>

#include "translate.h"

enum when {
	NEVER,	 /* it means nothing to walpost, whatever it is */
	DIFFERS, /* it matters when it is not Debezium's default */
	PLACED,	 /* and some column is placed in a header or in the value */
	TYPED,	 /* and it is about columns of a type, which `error` names */
	SCHEMAS, /* and schemas are sent */
	ALWAYS,
	MAYBE, /* it may: that is for the user to say */
};

struct rule {
	enum wp_import_kind kind;
	const char *key; /* ends with *: all that begin so */
	enum when when;
	const char *standard; /* several: divided by | */
	const char *error;
};

#define C WP_IMPORT_CONNECTOR

static const char worker[] = "it is the Connect worker's";
static const char snapshots[] =
	"walpost takes no snapshot: it goes on where the slot stands, and rows from before it are "
	"not read from the table";
static const char pace[] = "walpost bounds what is on its way by relay.in_flight.events and .bytes";
static const char patience[] = "walpost tries again by itself, for as long as it takes";
static const char signals[] = "walpost takes no signals and sends no notifications";
static const char beats[] =
	"while the outbox is idle walpost moves the slot by itself; no heartbeat is sent";
static const char metrics[] = "walpost says how it does in its log and `walpost status`";
static const char selection[] =
	"walpost sends rows of the tables that are named in this file, and no others";
static const char topics[] =
	"Kafka Connect makes topics with these settings, walpost with the broker's own: another "
	"number of partitions puts keys elsewhere. Create the topics that are not there yet before";
static const char progress[] = "the slot alone holds how far events have been sent";
static const char schemas[] = "schemas are written as with Debezium's default";
static const char exactly_once[] = "walpost sends at least once";
static const char predicate[] = "it chooses the tables whose rows the EventRouter gets";

static const struct rule rules[] = {
	{ C, "name", NEVER, NULL, "it is the connector's name in Kafka Connect" },
	{ C, "tasks.max*", NEVER, NULL, "the Postgres connector runs one task; walpost is one" },
	{ C, "config.action.reload", NEVER, NULL, worker },
	{ C, "exactly.once.support", DIFFERS, "requested", exactly_once },
	{ C, "transaction.boundary*", NEVER, NULL, exactly_once },
	{ C, "offsets.storage.topic", NEVER, NULL, progress },
	{ C, "offset.*", NEVER, NULL, progress },
	{ C, "slot.seek.to.known.offset.on.start", NEVER, NULL, progress },
	{ C, "topic.creation.enable", NEVER, NULL, worker },
	{ C, "topic.creation.*", MAYBE, NULL, topics },
	{ C, "group.id", NEVER, NULL, worker },
	{ C, "config.storage.*", NEVER, NULL, worker },
	{ C, "status.storage.*", NEVER, NULL, worker },
	{ C, "internal.key.converter*", NEVER, NULL, worker },
	{ C, "internal.value.converter*", NEVER, NULL, worker },
	{ C, "connector.client.config.override.policy", NEVER, NULL, worker },
	{ C, "plugin.path", NEVER, NULL, worker },
	{ C, "plugin.discovery", NEVER, NULL, worker },
	{ C, "rest.*", NEVER, NULL, worker },
	{ C, "listeners*", NEVER, NULL, worker },
	{ C, "consumer.*", NEVER, NULL, worker },
	{ C, "admin.*", NEVER, NULL, worker },
	{ C, "errors.*", NEVER, NULL, "walpost logs what it cannot send" },
	{ C, "event.processing.failure.handling.mode", NEVER, NULL,
	  "walpost stops at what it cannot send, see relay.poison" },
	{ C, "event.converting.failure.handling.mode", NEVER, NULL,
	  "walpost stops at what it cannot send, see relay.poison" },

	{ C, "snapshot.mode", DIFFERS,
	  "initial|no_data|never|schema_only|when_needed|recovery|exported|configuration_based",
	  snapshots },
	{ C, "snapshot.*", NEVER, NULL, snapshots },
	{ C, "incremental.snapshot.*", NEVER, NULL, snapshots },
	{ C, "legacy.snapshot.*", NEVER, NULL, snapshots },
	{ C, "read.only", NEVER, NULL, snapshots },
	{ C, "schema.history.internal*", NEVER, NULL, "Postgres needs no history of schemas" },
	{ C, "database.history*", NEVER, NULL, "Postgres needs no history of schemas" },
	{ C, "heartbeat.*", NEVER, NULL, beats },
	{ C, "topic.heartbeat.*", NEVER, NULL, beats },
	{ C, "signal.*", NEVER, NULL, signals },
	{ C, "notification.*", NEVER, NULL, signals },
	{ C, "poll.*", NEVER, NULL, pace },
	{ C, "max.batch.size", NEVER, NULL, pace },
	{ C, "max.queue.*", NEVER, NULL, pace },
	{ C, "queue.provider.*", NEVER, NULL, pace },
	{ C, "query.fetch.size", NEVER, NULL, pace },
	{ C, "streaming.delay.ms", NEVER, NULL, pace },
	{ C, "record.processing.*", NEVER, NULL, pace },
	{ C, "task.management.timeout.ms", NEVER, NULL, pace },
	{ C, "retriable.restart.*", NEVER, NULL, patience },
	{ C, "slot.max.retries", NEVER, NULL, patience },
	{ C, "slot.retry.delay.ms", NEVER, NULL, patience },
	{ C, "create.slot.command.timeout", NEVER, NULL, patience },
	{ C, "connection.validation.timeout.ms", NEVER, NULL, patience },
	{ C, "executor.shutdown.timeout.ms", NEVER, NULL, "relay.shutdown.timeout is walpost's" },
	{ C, "database.query.timeout.ms", NEVER, NULL, patience },
	{ C, "lsn.flush.*", NEVER, NULL, "walpost tells Postgres what Kafka has confirmed" },
	{ C, "flush.lsn.source", NEVER, NULL, "walpost tells Postgres what Kafka has confirmed" },
	{ C, "status.update.interval.ms", NEVER, NULL,
	  "walpost tells Postgres every relay.feedback.interval" },
	{ C, "xmin.fetch.interval.ms", NEVER, NULL, metrics },
	{ C, "custom.metric.tags", NEVER, NULL, metrics },
	{ C, "statistics.metrics.enabled", NEVER, NULL, metrics },
	{ C, "custom.sanitize.pattern", NEVER, NULL, metrics },
	{ C, "openlineage.*", NEVER, NULL, "walpost tells OpenLineage nothing" },
	{ C, "guardrail.*", NEVER, NULL, selection },

	{ C, "slot.failover", NEVER, NULL, "the slot is taken over as it is" },
	{ C, "slot.drop.on.stop", NEVER, NULL, "walpost never drops its slot by itself" },
	{ C, "slot.stream.params", ALWAYS, NULL,
	  "walpost gives pgoutput parameters of its own; what these did is not done" },
	{ C, "replica.identity.autoset.values", NEVER, NULL,
	  "an INSERT holds the whole row whatever the replica identity is" },
	{ C, "publish.via.partition.root", NEVER, NULL,
	  "the publication is taken over as it is; outbox.leaves is for one without it" },
	{ C, "database.initial.statements", NEVER, NULL, "they are of Debezium's own connections" },
	{ C, "database.tcpKeepAlive", NEVER, NULL, "libpq does so" },
	{ C, "database.sslfactory", NEVER, NULL, "it is of Java's driver" },
	{ C, "driver.*", NEVER, NULL, "it is of Java's driver" },
	{ C, "schema.include.list", NEVER, NULL, selection },
	{ C, "schema.exclude.list", NEVER, NULL, selection },
	{ C, "table.exclude.list", NEVER, NULL, selection },
	{ C, "database.include.list", NEVER, NULL, selection },
	{ C, "database.exclude.list", NEVER, NULL, selection },
	{ C, "column.include.list", NEVER, NULL, "walpost reads the columns that are named here" },
	{ C, "column.exclude.list", NEVER, NULL, "walpost reads the columns that are named here" },
	{ C, "table.ignore.builtin", NEVER, NULL, selection },
	{ C, "schema.refresh.mode", NEVER, NULL, "walpost reads what the stream says of a table" },
	{ C, "tombstones.on.delete", NEVER, NULL,
	  "an EventRouter sends nothing for a row that is deleted, and so does walpost" },
	{ C, "skipped.operations", DIFFERS,
	  "t|u|d|none|u,d|u,d,t|d,t|u,t|d,u|t,u|t,d|t,u,d|u,t,d|d,u,t",
	  "walpost sends what is inserted" },
	{ C, "skip.messages.without.change", NEVER, NULL, "walpost sends what is inserted" },
	{ C, "include.schema.changes", NEVER, NULL, "walpost sends what is inserted" },
	{ C, "include.schema.comments", NEVER, NULL, "walpost sends what is inserted" },
	{ C, "provide.transaction.metadata", DIFFERS, "false",
	  "no topic tells where transactions begin and end" },
	{ C, "transaction.metadata.factory", NEVER, NULL,
	  "no topic tells where transactions begin and end" },
	{ C, "topic.transaction", NEVER, NULL, "no topic tells where transactions begin and end" },
	{ C, "topic.naming.strategy", NEVER, NULL, "the EventRouter names the topics" },
	{ C, "topic.delimiter", NEVER, NULL, "the EventRouter names the topics" },
	{ C, "topic.cache.size", NEVER, NULL, "the EventRouter names the topics" },
	{ C, "message.key.columns", NEVER, NULL, "the EventRouter makes the key" },
	{ C, "unavailable.value.placeholder", NEVER, NULL, "an INSERT holds all values" },
	{ C, "sourceinfo.struct.maker", NEVER, NULL, "the EventRouter leaves the source out" },

	{ C, "column.mask.*", ALWAYS, NULL, "a column is sent as it is, not masked" },
	{ C, "column.truncate.*", ALWAYS, NULL, "a column is sent as it is, not cut" },
	{ C, "column.propagate.source.type", SCHEMAS, "", schemas },
	{ C, "datatype.propagate.source.type", SCHEMAS, "", schemas },
	{ C, "schema.name.adjustment.mode", SCHEMAS, "none", schemas },
	{ C, "time.precision.mode", TYPED, "adaptive", "a date, a time or a timestamp" },
	{ C, "decimal.handling.mode", TYPED, "precise", "a numeric or a money" },
	{ C, "interval.handling.mode", TYPED, "numeric", "an interval" },
	{ C, "hstore.handling.mode", TYPED, "json", "an hstore" },
	{ C, "money.fraction.digits", TYPED, "2", "a money" },
	{ C, "include.unknown.datatypes", TYPED, "false", "of a type that Debezium does not know" },
	{ C, "field.name.adjustment.mode", PLACED, "none", "columns and members keep their names" },
	{ C, "binary.handling.mode", DIFFERS, "bytes",
	  "a payload of type bytea is sent as its bytes, and a key of that type, by which the "
	  "partition is chosen, in base64" },
	{ C, "converters", DIFFERS, "", "columns are written as without custom converters" },
	{ C, "post.processors", DIFFERS, "", "rows are sent as without post-processors" },

	{ C, "predicates*", NEVER, NULL, predicate },
	{ C, "key.converter.*", NEVER, NULL, "walpost needs none of it for what it writes" },
	{ C, "value.converter.*", NEVER, NULL, "walpost needs none of it for what it writes" },
	{ C, "header.converter.*", NEVER, NULL, "walpost needs none of it for what it writes" },
	{ WP_IMPORT_FORMAT, "key.*", NEVER, NULL, "walpost needs none of it for what it writes" },
	{ WP_IMPORT_FORMAT, "value.*", NEVER, NULL, "walpost needs none of it for what it writes" },
	{ WP_IMPORT_FORMAT, "header.*", NEVER, NULL,
	  "walpost needs none of it for what it writes" },
	{ WP_IMPORT_SINK, "type", DIFFERS, "kafka", "walpost writes to Kafka" },
	{ WP_IMPORT_SINK, "kafka.wait.message.delivery.timeout.ms", NEVER, NULL,
	  "walpost gives no event up for having waited" },
	{ WP_IMPORT_OUTSIDE, "quarkus.*", NEVER, NULL, "it is Quarkus's" },
};

static bool matches(const struct rule *rule, const struct wp_import_item *item)
{
	size_t size = strlen(rule->key);

	if (rule->kind != item->kind)
		return false;
	if (rule->key[size - 1] == '*')
		return strncmp(item->key, rule->key, size - 1) == 0;
	return strcmp(item->key, rule->key) == 0;
}

/* One of those divided by |; an empty one is what is not set. */
static bool is_standard(const char *value, const char *standards)
{
	char word[WP_IMPORT_WORD_SIZE];

	for (const char *at = standards;;) {
		size_t size = strcspn(at, "|");

		(void)snprintf(word, sizeof(word), "%.*s", (int)size, at);
		if (wp_import_is(value, word))
			return true;
		if (at[size] == '\0')
			return false;
		at += size + 1;
	}
}

static bool matters(const struct wp_translation *t, const struct rule *rule,
		    const struct wp_import_item *item)
{
	if (rule->when == NEVER || rule->when == ALWAYS)
		return rule->when == ALWAYS;
	if (is_standard(item->value, rule->standard))
		return false;
	return rule->when == DIFFERS || rule->when == TYPED ||
	       (rule->when == PLACED && t->places_columns) ||
	       (rule->when == SCHEMAS && t->has_schema);
}

/* Of the properties of transforms and of custom converters, whose names the user chose. */
static bool is_named_in(struct wp_translation *t, const char *list_key, const char *name)
{
	const char *at = wp_import_value(t, list_key, "");
	char word[WP_IMPORT_WORD_SIZE];

	while (wp_import_next(&at, word)) {
		size_t size = strlen(word);

		if (size > 0 && strncmp(name, word, size) == 0 && name[size] == '.')
			return true;
	}
	return false;
}

static bool ends(const char *text, const char *end)
{
	size_t size = strlen(text);

	return size >= strlen(end) && strcmp(text + size - strlen(end), end) == 0;
}

static void say_option(struct wp_translation *t, struct wp_import_item *item)
{
	const char *name = item->key + strlen("transforms.");

	item->concealed = !ends(item->key, ".type") && !ends(item->key, ".predicate") &&
			  !ends(item->key, ".negate");
	if (!is_named_in(t, "transforms", name))
		wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_DROPPED,
			      "no transform of this name is in use");
	else if (ends(item->key, ".predicate") || ends(item->key, ".negate"))
		wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_DROPPED, "%s", predicate);
	else
		wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_UNSUPPORTED,
			      "walpost does not know this option of a transform");
}

static void say_unknown(struct wp_translation *t, struct wp_import_item *item)
{
	item->concealed = true;
	wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_UNSUPPORTED,
		      "walpost does not know it, so it cannot tell what changes without it");
}

static bool is_family(const struct rule *rule)
{
	return rule->key[strlen(rule->key) - 1] == '*' && rule->error != predicate;
}

/* Nobody says here of which type the columns are. */
static void say_typed(struct wp_translation *t, const struct rule *rule,
		      struct wp_import_item *item)
{
	const char *keys = t->keys[0] == '\0' ? "aggregateid" : t->keys;

	if (!matters(t, rule, item))
		wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_DROPPED,
			      "it is Debezium's default");
	else if (t->places_columns)
		wp_import_say(
			t, WP_IMPORT_REST, item, WP_IMPORT_UNSUPPORTED,
			"what is %s is written as with Debezium's default: where it is placed "
			"in a header or in the value, and where it is the key (%s), whose events "
			"then change their partition",
			rule->error, keys);
	else
		wp_import_say(
			t, WP_IMPORT_REST, item, WP_IMPORT_CHECK,
			"right unless the key (%s) is %s: it is written as with Debezium's "
			"default, so its events would change their partition. The same of id, "
			"payload and what topics are named after",
			keys, rule->error);
}

static void say_rule(struct wp_translation *t, const struct rule *rule, struct wp_import_item *item)
{
	enum wp_import_verdict verdict = rule->when == MAYBE	  ? WP_IMPORT_CHECK
					 : matters(t, rule, item) ? WP_IMPORT_UNSUPPORTED
								  : WP_IMPORT_DROPPED;

	item->concealed = is_family(rule);
	wp_import_say(t, WP_IMPORT_REST, item, verdict, "%s", rule->error);
}

static void say_custom(struct wp_translation *t, struct wp_import_item *item)
{
	item->concealed = true;
	wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_DROPPED,
		      "it belongs to a converter or post-processor that is not supported");
}

static void say_item(struct wp_translation *t, struct wp_import_item *item)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (!matches(&rules[i], item))
			continue;
		if (rules[i].when == TYPED)
			say_typed(t, &rules[i], item);
		else
			say_rule(t, &rules[i], item);
		return;
	}
	if (item->kind == WP_IMPORT_CONNECTOR && wp_import_begins(item->key, "transforms."))
		say_option(t, item);
	else if (item->kind == WP_IMPORT_CONNECTOR &&
		 (is_named_in(t, "converters", item->key) ||
		  is_named_in(t, "post.processors", item->key)))
		say_custom(t, item);
	else
		say_unknown(t, item);
}

void wp_import_rules(struct wp_translation *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (!t->items[i].taken)
			say_item(t, &t->items[i]);
}
