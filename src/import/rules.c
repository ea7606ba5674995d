/*
 * Says what becomes of properties that no translator takes, by a table of those that mean nothing
 * here, or that cannot be had.
 */
#include <stdio.h>
#include <string.h>

#include "read.h"
#include "translate.h"

enum when {
	NEVER,	 /* it means nothing to walpost, whatever it is */
	DIFFERS, /* it matters when it is not Debezium's default */
	PLACED,	 /* and some column is placed in a header or in the value */
	TYPED,	 /* and it is about columns of a type, which `error` names */
	SCHEMAS, /* and schemas are sent */
	NAMED,	 /* and a schema is sent that has the name of a table in it */
	HOLDS,	 /* it matters when it is a list with anything else in it */
	ALWAYS,
	MAYBE, /* it may, when it is not that: the user has to judge */
};

struct rule {
	enum wp_import_kind kind;
	const char *key; /* with *: anything stands there */
	enum when when;
	const char *standard; /* several: divided by | */
	const char *error;
};

#define C WP_IMPORT_CONNECTOR

static const char worker[] = "it belongs to the Connect worker";
static const char snapshots[] = "walpost takes no snapshot: it continues from the slot's position "
				"and does not read earlier rows from the table";
static const char pace[] = "relay.in_flight.events and .bytes limit the data in flight";
static const char patience[] = "walpost retries by itself, without a limit";
static const char signals[] = "walpost supports neither signals nor notifications";
static const char beats[] =
	"walpost advances the slot by itself while the outbox is idle; it sends no heartbeats";
static const char metrics[] = "walpost reports its state in its log and by `walpost status`";
static const char selection[] = "walpost sends only rows of the tables named in this file";
static const char topics[] = "Kafka Connect creates topics with these settings, walpost with the "
			     "broker's: another number of partitions moves keys to other "
			     "partitions. Create missing topics beforehand, with this number";
static const char created[] =
	"it belongs to topics that Kafka Connect creates; walpost leaves that to the broker";
static const char progress[] = "only the slot records how far events have been sent";
static const char schemas[] = "schemas are written as with Debezium's default";
static const char named[] = "it does not affect topics, but it is part of the name of the value's "
			    "schema, which contains Debezium's topic for the table";
static const char exactly_once[] = "walpost sends at least once";
static const char profile[] =
	"it selects further settings, which are not in this file: add them here, without a profile";
static const char predicate[] = "it selects the tables whose rows reach the EventRouter";

static const struct rule rules[] = {
	{ C, "name", NEVER, NULL, "it is the connector's name in Kafka Connect" },
	{ C, "tasks.max*", NEVER, NULL, "the Postgres connector runs one task, like walpost" },
	{ C, "config.action.reload", NEVER, NULL, worker },
	{ C, "task.class", NEVER, NULL, worker },
	{ C, "producer.*", NEVER, NULL,
	  "in a connector's configuration Kafka Connect reads only the names that begin with "
	  "producer.override." },
	{ C, "exactly.once.support", DIFFERS, "requested", exactly_once },
	{ C, "transaction.boundary*", NEVER, NULL, exactly_once },
	{ C, "offsets.storage.topic", NEVER, NULL, progress },
	{ C, "offset.*", NEVER, NULL, progress },
	{ C, "slot.seek.to.known.offset.on.start", NEVER, NULL, progress },
	{ C, "topic.creation.enable", NEVER, NULL, worker },
	{ C, "topic.creation.*.partitions", MAYBE, "-1", topics },
	{ C, "topic.creation.groups", NEVER, NULL, created },
	{ C, "topic.creation.*.include", NEVER, NULL, created },
	{ C, "topic.creation.*.exclude", NEVER, NULL, created },
	{ C, "topic.creation.*.replication.factor", NEVER, NULL, created },
	{ C, "topic.creation.*", MAYBE, NULL,
	  "Kafka Connect creates topics with this setting, walpost with the broker's: create "
	  "missing topics beforehand, with it" },
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
	{ C, "errors.*", NEVER, NULL, "walpost logs events that it cannot send" },
	{ C, "event.processing.failure.handling.mode", NEVER, NULL,
	  "walpost stops at an event that it cannot send; see relay.poison" },
	{ C, "event.converting.failure.handling.mode", NEVER, NULL,
	  "walpost stops at an event that it cannot send; see relay.poison" },

	{ C, "snapshot.mode", DIFFERS,
	  "initial|no_data|never|schema_only|when_needed|recovery|exported|configuration_based",
	  snapshots },
	{ C, "snapshot.*", NEVER, NULL, snapshots },
	{ C, "incremental.snapshot.*", NEVER, NULL, snapshots },
	{ C, "legacy.snapshot.*", NEVER, NULL, snapshots },
	{ C, "read.only", NEVER, NULL, snapshots },
	{ C, "schema.history.internal*", NEVER, NULL, "Postgres requires no schema history" },
	{ C, "database.history*", NEVER, NULL, "Postgres requires no schema history" },
	{ C, "heartbeat.*", NEVER, NULL, beats },
	{ C, "topic.heartbeat.*", NEVER, NULL, beats },
	{ C, "signal.*", NEVER, NULL, signals },
	{ C, "notification.enabled.channels", HOLDS, "log|jmx",
	  "walpost sends no notifications to a topic" },
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
	{ C, "executor.shutdown.timeout.ms", NEVER, NULL, "relay.shutdown.timeout replaces it" },
	{ C, "database.query.timeout.ms", NEVER, NULL, patience },
	{ C, "lsn.flush.*", NEVER, NULL, "walpost confirms to Postgres what Kafka has confirmed" },
	{ C, "flush.lsn.source", NEVER, NULL,
	  "walpost confirms to Postgres what Kafka has confirmed" },
	{ C, "status.update.interval.ms", NEVER, NULL,
	  "walpost confirms to Postgres every relay.feedback.interval" },
	{ C, "xmin.fetch.interval.ms", NEVER, NULL, metrics },
	{ C, "custom.metric.tags", NEVER, NULL, metrics },
	{ C, "statistics.metrics.enabled", NEVER, NULL, metrics },
	{ C, "custom.sanitize.pattern", NEVER, NULL, metrics },
	{ C, "openlineage.*", NEVER, NULL, "walpost does not support OpenLineage" },
	{ C, "guardrail.*", NEVER, NULL, selection },

	{ C, "slot.failover", NEVER, NULL, "the slot is used unchanged" },
	{ C, "slot.drop.on.stop", NEVER, NULL, "walpost never drops its slot by itself" },
	{ C, "slot.stream.params", ALWAYS, NULL,
	  "walpost sets its own pgoutput parameters; these have no effect" },
	{ C, "replica.identity.autoset.values", NEVER, NULL,
	  "an INSERT contains the whole row with any replica identity" },
	{ C, "publish.via.partition.root", NEVER, NULL,
	  "the publication is used unchanged; without it a partitioned outbox needs outbox.leaves "
	  "beside a pattern in outbox.ignore" },
	{ C, "database.initial.statements", NEVER, NULL,
	  "they apply to Debezium's own connections" },
	{ C, "database.tcpKeepAlive", NEVER, NULL, "libpq does so" },
	{ C, "database.sslfactory", NEVER, NULL, "it applies to Java's driver" },
	{ C, "driver.*", NEVER, NULL, "it applies to Java's driver" },
	{ C, "schema.include.list", NEVER, NULL, selection },
	{ C, "schema.exclude.list", NEVER, NULL, selection },
	{ C, "table.exclude.list", NEVER, NULL, selection },
	{ C, "database.include.list", NEVER, NULL, selection },
	{ C, "database.exclude.list", NEVER, NULL, selection },
	{ C, "column.include.list", NEVER, NULL, "walpost reads the columns named here" },
	{ C, "column.exclude.list", NEVER, NULL, "walpost reads the columns named here" },
	{ C, "table.ignore.builtin", NEVER, NULL, selection },
	{ C, "schema.refresh.mode", NEVER, NULL,
	  "walpost reads the table's description from the stream" },
	{ C, "tombstones.on.delete", NEVER, NULL,
	  "like the EventRouter, walpost sends nothing for a deleted row" },
	{ C, "skipped.operations", HOLDS, "t|u|d|r|none", "walpost sends inserts only" },
	{ C, "skip.messages.without.change", NEVER, NULL, "walpost sends inserts only" },
	{ C, "include.schema.changes", NEVER, NULL, "walpost sends inserts only" },
	{ C, "include.schema.comments", NEVER, NULL, "walpost sends inserts only" },
	{ C, "provide.transaction.metadata", DIFFERS, "false",
	  "walpost publishes no transaction metadata" },
	{ C, "transaction.metadata.factory", NEVER, NULL,
	  "walpost publishes no transaction metadata" },
	{ C, "topic.transaction", NEVER, NULL, "walpost publishes no transaction metadata" },
	{ C, "topic.naming.strategy", NAMED, "io.debezium.schema.SchemaTopicNamingStrategy",
	  named },
	{ C, "topic.delimiter", NAMED, ".", named },
	{ C, "topic.cache.size", NEVER, NULL, "the EventRouter names the topics" },
	{ C, "message.key.columns", NEVER, NULL, "the EventRouter makes the key" },
	{ C, "unavailable.value.placeholder", NEVER, NULL, "an INSERT contains all values" },
	{ C, "sourceinfo.struct.maker", NEVER, NULL, "the EventRouter omits the source" },

	{ C, "column.mask.*", ALWAYS, NULL, "columns are sent unmasked" },
	{ C, "column.truncate.*", ALWAYS, NULL, "columns are sent untruncated" },
	{ C, "column.propagate.source.type", SCHEMAS, "", schemas },
	{ C, "datatype.propagate.source.type", SCHEMAS, "", schemas },
	{ C, "schema.name.adjustment.mode", SCHEMAS, "none", schemas },
	{ C, "time.precision.mode", TYPED, "adaptive", "a date, a time or a timestamp" },
	{ C, "decimal.handling.mode", TYPED, "precise", "a numeric or a money" },
	{ C, "interval.handling.mode", TYPED, "numeric", "an interval" },
	{ C, "hstore.handling.mode", TYPED, "json", "an hstore" },
	{ C, "money.fraction.digits", TYPED, "2", "a money" },
	{ C, "include.unknown.datatypes", TYPED, "false", "of a type unknown to Debezium" },
	{ C, "field.name.adjustment.mode", PLACED, "none", "columns and members keep their names" },
	{ C, "binary.handling.mode", DIFFERS, "bytes",
	  "a bytea payload is sent as its bytes, and a bytea key, which determines the partition, "
	  "in base64" },
	{ C, "converters", DIFFERS, "", "columns are written as without custom converters" },
	{ C, "post.processors", DIFFERS, "", "rows are sent as without post-processors" },

	{ C, "predicates*", NEVER, NULL, predicate },
	{ C, "key.converter.*", NEVER, NULL, "walpost does not need it" },
	{ C, "value.converter.*", NEVER, NULL, "walpost does not need it" },
	{ C, "header.converter.*", NEVER, NULL, "walpost does not need it" },
	{ WP_IMPORT_FORMAT, "key.*", NEVER, NULL, "walpost does not need it" },
	{ WP_IMPORT_FORMAT, "value.*", NEVER, NULL, "walpost does not need it" },
	{ WP_IMPORT_FORMAT, "header.*", NEVER, NULL, "walpost does not need it" },
	{ WP_IMPORT_SINK, "type", DIFFERS, "kafka", "walpost writes to Kafka" },
	{ WP_IMPORT_SINK, "kafka.wait.message.delivery.timeout.ms", NEVER, NULL,
	  "walpost never discards an event because of a timeout" },
	{ WP_IMPORT_OUTSIDE, "quarkus.profile", ALWAYS, NULL, profile },
	{ WP_IMPORT_OUTSIDE, "quarkus.config.*", ALWAYS, NULL, profile },
	{ WP_IMPORT_OUTSIDE, "QUARKUS_*", ALWAYS, NULL, profile },
	{ WP_IMPORT_OUTSIDE, "SMALLRYE_*", ALWAYS, NULL, profile },
	{ WP_IMPORT_OUTSIDE, "smallrye*", ALWAYS, NULL, profile },
	{ WP_IMPORT_OUTSIDE, "quarkus.*", NEVER, NULL, "it belongs to Quarkus" },
};

static bool matches(const struct rule *rule, const struct wp_import_item *item)
{
	const char *star = strchr(rule->key, '*');
	size_t size = star == NULL ? 0 : (size_t)(star - rule->key);

	if (rule->kind != item->kind)
		return false;
	if (star == NULL)
		return strcmp(item->key, rule->key) == 0;
	return strncmp(item->key, rule->key, size) == 0 &&
	       wp_import_ends(item->key + size, star + 1);
}

/* Is it one of those divided by |? An empty one is what is not set. */
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

static bool holds_others(const char *list, const char *standards)
{
	char word[WP_IMPORT_WORD_SIZE];

	while (wp_import_next(&list, word))
		if (!is_standard(word, standards))
			return true;
	return false;
}

static bool matters(const struct wp_translation *t, const struct rule *rule,
		    const struct wp_import_item *item)
{
	if (rule->when == NEVER || rule->when == MAYBE)
		return false;
	if (rule->when == ALWAYS)
		return item->value[0] != '\0';
	if (rule->when == HOLDS)
		return holds_others(item->value, rule->standard);
	if (is_standard(item->value, rule->standard))
		return false;
	if (rule->when == NAMED)
		return t->places_in_value && t->forms.value == WP_IMPORT_JSON_SCHEMA;
	return rule->when == DIFFERS || rule->when == TYPED ||
	       (rule->when == PLACED && t->places_columns) ||
	       (rule->when == SCHEMAS && t->has_schema);
}

/* Is it a property of transforms or of custom converters, whose names the user chose? */
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

/* Is `name`, alias.option, one of an EventRouter? All that it has are taken already. */
static bool is_routers(struct wp_translation *t, const char *name)
{
	char alias[WP_IMPORT_WORD_SIZE];
	const struct wp_import_item *type;

	(void)snprintf(alias, sizeof(alias), "%.*s", (int)strcspn(name, "."), name);
	type = wp_import_option(t, "transforms", alias, "type");
	return type != NULL && wp_import_is_class(type->value, WP_IMPORT_ROUTER);
}

static void say_option(struct wp_translation *t, struct wp_import_item *item)
{
	const char *name = item->key + strlen("transforms.");
	const struct wp_import_item *list = wp_import_find(t, C, "transforms");

	item->any_value = true;
	item->concealed = !wp_import_ends(item->key, ".type") &&
			  !wp_import_ends(item->key, ".predicate") &&
			  !wp_import_ends(item->key, ".negate");
	if (list != NULL && list->elsewhere)
		wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_DROPPED,
			      "it depends on transforms, whose value is defined elsewhere");
	else if (!is_named_in(t, "transforms", name))
		wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_DROPPED,
			      "no transform of this name is in use");
	else if (wp_import_ends(item->key, ".predicate") || wp_import_ends(item->key, ".negate"))
		wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_DROPPED, "%s", predicate);
	else if (is_routers(t, name) && strstr(name, "table.fields.additional.") == NULL)
		wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_DROPPED,
			      "the EventRouter has no such option, and ignores it");
	else
		wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_UNSUPPORTED,
			      "walpost does not support this option of a transform");
}

static bool is_of_profile(const char *name)
{
	return name[0] == '%' || name[0] == '_';
}

/*
 * Has it options of Java's, or of Debezium Server's start script? DEBEZIUM_OPTS is debezium.opts
 * here.
 */
static bool has_options(const struct wp_import_item *item)
{
	return strcmp(item->name, "debezium.opts") == 0 || wp_import_begins(item->name, "JAVA_") ||
	       wp_import_begins(item->name, "JDK_JAVA_") || wp_import_begins(item->name, "_JAVA_");
}

static void say_options(struct wp_translation *t, struct wp_import_item *item)
{
	if (wp_import_java_option(wp_span_of(item->value)) != NULL || item->elsewhere ||
	    item->has_default)
		wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_CHECK,
			      "options that begin with -Ddebezium. take precedence over this file, "
			      "and walpost does not read them: add them to the file as properties");
	else
		wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_DROPPED,
			      "it applies to Java only");
}

static void say_unknown(struct wp_translation *t, struct wp_import_item *item)
{
	item->concealed = true;
	item->any_value = true;
	if (t->is_server && has_options(item)) {
		say_options(t, item);
		return;
	}
	if (item->kind == WP_IMPORT_OUTSIDE && t->is_server && !is_of_profile(item->name)) {
		wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_DROPPED,
			      "Debezium Server does not read it: its names begin with "
			      "debezium.source., sink., format., transforms or predicates");
		return;
	}
	if (t->is_server && is_of_profile(item->name))
		wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_UNSUPPORTED,
			      "it applies to one Quarkus profile only, and walpost does not read "
			      "profiles: set it without a profile");
	else
		wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_UNSUPPORTED,
			      "it is unknown to walpost, and so is the effect of omitting it");
}

/* Nobody says here of which type the columns are. */
static void say_typed(struct wp_translation *t, const struct rule *rule,
		      struct wp_import_item *item)
{
	const char *keys = t->keys[0] == '\0' ? "aggregateid" : t->keys;

	if (!matters(t, rule, item))
		wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_DROPPED,
			      "it is Debezium's default");
	else if (t->typed != NULL)
		wp_import_say(t, WP_IMPORT_REST, item,
			      t->places_columns ? WP_IMPORT_UNSUPPORTED : WP_IMPORT_CHECK,
			      "the same as for %s applies to a value that is %s", t->typed,
			      rule->error);
	else if (t->places_columns)
		wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_UNSUPPORTED,
			      "a value that is %s is written as with Debezium's default: in "
			      "headers, in the value, and in the key (%s), whose events then move "
			      "to another partition",
			      rule->error, keys);
	else
		wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_CHECK,
			      "correct unless the key (%s) is %s: it is written as with Debezium's "
			      "default, so its events would move to another partition. The same "
			      "applies to id, payload and the columns that determine topics",
			      keys, rule->error);
	if (t->typed == NULL && matters(t, rule, item) && !item->elsewhere)
		t->typed = item->name;
}

static bool is_sink_type(const struct rule *rule)
{
	return rule->kind == WP_IMPORT_SINK && strcmp(rule->key, "type") == 0;
}

static void say_rule(struct wp_translation *t, const struct rule *rule, struct wp_import_item *item)
{
	bool may = rule->when == MAYBE &&
		   (rule->standard == NULL || !is_standard(item->value, rule->standard));
	enum wp_import_verdict verdict = may			  ? WP_IMPORT_CHECK
					 : matters(t, rule, item) ? WP_IMPORT_UNSUPPORTED
								  : WP_IMPORT_DROPPED;

	if (rule->error == predicate)
		item->concealed = !wp_import_ends(item->key, ".type") &&
				  !wp_import_ends(item->key, ".pattern") &&
				  strcmp(item->key, "predicates") != 0;
	else
		item->concealed = rule->key[strlen(rule->key) - 1] == '*';
	item->any_value = rule->when == ALWAYS;
	if (is_sink_type(rule) && item->elsewhere) {
		wp_import_say(t, "kafka", item, WP_IMPORT_TRANSLATED, NULL);
		return;
	}
	wp_import_say(t, WP_IMPORT_REST, item, verdict, "%s", rule->error);
	if (is_sink_type(rule) && verdict == WP_IMPORT_UNSUPPORTED)
		wp_import_end(t);
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
