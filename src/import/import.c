#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/display.h"
#include "walpost/import/import.h"

#include "read.h"
#include "translate.h"

struct wp_import {
	struct wp_import_report report;
};

/* -- properties under Debezium's own names ----------------------------------------- */

struct prefix {
	const char *text;
	enum wp_import_kind kind;
	size_t kept; /* of the prefix, at its end, as part of the key */
};

static const struct prefix server_prefixes[] = {
	{ "debezium.source.", WP_IMPORT_CONNECTOR, 0 },
	{ "debezium.transforms", WP_IMPORT_CONNECTOR, sizeof("transforms") - 1 },
	{ "debezium.predicates", WP_IMPORT_CONNECTOR, sizeof("predicates") - 1 },
	{ "debezium.format.", WP_IMPORT_FORMAT, 0 },
	{ "debezium.sink.kafka.producer.", WP_IMPORT_PRODUCER, 0 },
	{ "debezium.sink.", WP_IMPORT_SINK, 0 },
	{ "", WP_IMPORT_OUTSIDE, 0 },
};

static const struct prefix connector_prefixes[] = {
	{ "producer.override.", WP_IMPORT_PRODUCER, 0 },
	{ "", WP_IMPORT_CONNECTOR, 0 },
};

/* A file of properties may be both, as Connect's standalone mode has two of them. */
static const struct prefix worker_prefixes[] = {
	{ "producer.override.", WP_IMPORT_PRODUCER, 0 },
	{ "producer.", WP_IMPORT_PRODUCER, 0 },
	{ "", WP_IMPORT_CONNECTOR, 0 },
};

/* Debezium had the old names before 1.3 and 2.0. */
static const struct {
	const char *old;
	const char *key;
} old_names[] = {
	{ "table.whitelist", "table.include.list" },
	{ "table.blacklist", "table.exclude.list" },
	{ "schema.whitelist", "schema.include.list" },
	{ "schema.blacklist", "schema.exclude.list" },
	{ "column.whitelist", "column.include.list" },
	{ "column.blacklist", "column.exclude.list" },
	{ "database.server.name", "topic.prefix" },
	{ "slot.drop_on_stop", "slot.drop.on.stop" },
};

static void name_item(struct wp_translation *t, struct wp_import_item *item, bool of_worker)
{
	const struct prefix *prefix = t->is_server ? server_prefixes
				      : of_worker  ? worker_prefixes
						   : connector_prefixes;

	while (!wp_import_begins(item->name, prefix->text))
		prefix++;
	item->kind = prefix->kind;
	item->key = item->name + strlen(prefix->text) - prefix->kept;
	for (size_t i = 0; i < sizeof(old_names) / sizeof(old_names[0]); i++)
		if (item->kind == WP_IMPORT_CONNECTOR && strcmp(item->key, old_names[i].old) == 0) {
			item->key = old_names[i].key;
			item->renamed = true;
		}
}

/* Is it one of Kafka Connect's providers, which are no variables with a default? */
static bool is_provider(struct wp_span name)
{
	static const char *const providers[] = { "env",	    "file",  "dir",	   "directory",
						 "secrets", "vault", "strimzienv", "configmaps" };

	for (size_t i = 0; i < sizeof(providers) / sizeof(providers[0]); i++)
		if (wp_span_is(name, providers[i]))
			return true;
	return false;
}

/*
 * Finds what stands for ${NAME:default} if nothing sets NAME; with a hyphen it is ${NAME:-default},
 * as shells have it. Returns false if there is no default, or it is not that simple.
 */
static bool find_default(const char *reference, bool needs_hyphen, struct wp_span *ret,
			 const char **ret_end)
{
	const char *name = reference + strlen("${");
	size_t size = strcspn(name, ":}$");
	const char *text = name + size + 1;

	if (size == 0 || name[size] != ':')
		return false;
	if (*text == '-')
		text++;
	else if (needs_hyphen || strchr(":?+", *text) != NULL ||
		 is_provider((struct wp_span){ (const uint8_t *)name, size }))
		return false;
	*ret = (struct wp_span){ (const uint8_t *)text, strcspn(text, "}${") };
	*ret_end = text + ret->size + 1;
	return ret->size > 0 && text[ret->size] == '}';
}

/* In a replacement everybody means the group of the standard expression by this. */
static bool is_group(const char *key, const char *value)
{
	return wp_import_ends(key, ".route.topic.replacement") &&
	       wp_import_begins(value, "${routedByValue}");
}

/*
 * Quarkus reads ${...} as a reference. SmallRye Config 3.16 does it so: a backslash before a dollar
 * sign is a dollar sign (ExpressionConfigSourceInterceptor), then two of these are one that stands
 * for itself. So $${a} and \${a} are ${a}; $$${a} is $ and a reference.
 */
static void expand(struct wp_import_item *item, char *value, bool is_server)
{
	char *to = value;

	for (char *at = strstr(value, "\\$"); is_server && at != NULL; at = strstr(at + 2, "\\$"))
		*at = '$';
	while (*value != '\0') {
		bool is_reference = wp_import_begins(value, "${");
		struct wp_span standard;
		const char *end;

		if (is_server && wp_import_begins(value, "$$")) {
			value++;
		} else if (is_reference && find_default(value, !is_server, &standard, &end)) {
			memmove(to, standard.data, standard.size);
			to += standard.size;
			value += end - value;
			item->has_default = true;
			continue;
		} else if (is_server && is_group(item->key, value)) {
			item->is_unescaped = true;
		} else if (is_reference && is_server) {
			item->elsewhere = true;
		}
		*to++ = *value++;
	}
	*to = '\0';
}

/* Looks for a reference of Kafka Connect's: ${provider:key}, ${provider:path:key}. */
static bool has_reference(const char *value)
{
	const char *start = strstr(value, "${");

	return start != NULL && strcspn(start, ":") < strcspn(start, "}");
}

/* Is all of the value one reference? */
static bool is_whole_reference(const char *value)
{
	if (!wp_import_begins(value, "${"))
		return false;
	const char *name = value + strlen("${");
	struct wp_span provider = { (const uint8_t *)name, strcspn(name, ":}") };
	const char *rest = name + provider.size;
	size_t colons = 0;

	/*
	 * A path and a key may follow, or of an environment a name only. Anything may stand behind
	 * one more colon.
	 */
	for (const char *at = rest; *at != '\0'; at++)
		colons += *at == ':';
	return strcspn(name, "}") + 1 == strlen(name) && is_provider(provider) &&
	       strstr(rest, ":-") == NULL &&
	       colons <= (wp_span_is(provider, "env") || wp_span_is(provider, "strimzienv") ? 1U
											    : 2U);
}

static void look_elsewhere(struct wp_translation *t, struct wp_import_item *item, char *value)
{
	expand(item, value, t->is_server);
	if (!t->is_server) {
		item->elsewhere = has_reference(value);
		item->is_reference = is_whole_reference(value);
	}
	item->elsewhere = item->elsewhere || wp_import_has_placeholder(item->key, value);
}

static bool is_server(const struct wp_import_properties *p)
{
	bool found = false;

	for (size_t i = 0; i < p->count; i++) {
		const char *name = p->items[i].name;

		if (strcmp(name, "connector.class") == 0 && !p->items[i].outside)
			return false;
		for (const struct prefix *at = server_prefixes; *at->text != '\0'; at++)
			found = found || wp_import_begins(name, at->text);
	}
	return found;
}

static enum wp_rc name_items(struct wp_translation *t, struct wp_import_properties *p)
{
	t->items = calloc(p->count, sizeof(t->items[0]));
	if (t->items == NULL)
		return WP_NOMEM;
	t->count = p->count;
	t->is_server = is_server(p);
	for (size_t i = 0; i < p->count; i++) {
		struct wp_import_item *item = &t->items[i];

		item->name = p->items[i].name;
		item->line = p->items[i].line;
		item->value = p->items[i].value;
		item->is_halved = p->items[i].is_halved;
		name_item(t, item, p->form == NULL || p->items[i].of_worker);
		if (p->items[i].value != NULL)
			look_elsewhere(t, item, p->items[i].value);
		item->beside = p->items[i].outside;
		if (item->beside)
			item->kind = WP_IMPORT_OUTSIDE;
	}
	return WP_OK;
}

/* -- what counts ------------------------------------------------------------------- */

/* The last of several counts, as in Java. */
static void say_repetitions(struct wp_translation *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct wp_import_item *item = &t->items[i];
		const struct wp_import_item *last = wp_import_find(t, item->kind, item->key);

		/* Nobody has looked at the values of such items. */
		item->concealed = item->beside || last != item;
		if (item->beside)
			wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_DROPPED,
				      "it is next to \"config\", so it belongs to Kafka Connect "
				      "and is not a property");
		else if (item->value == NULL)
			wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_DROPPED,
				      "it is null, which means unset");
		else if (last != item)
			wp_import_say(t, WP_IMPORT_REST, item, WP_IMPORT_DROPPED,
				      "it is set again in line %u, which takes precedence",
				      last->line);
	}
}

static void say_further(struct wp_translation *t, const struct wp_import_properties *p)
{
	char about[WP_IMPORT_WORD_SIZE];

	for (size_t i = 0; i < p->further_count; i++) {
		(void)snprintf(about, sizeof(about), "%s in line %u", p->further[i].what,
			       p->further[i].line);
		wp_import_note(t, WP_IMPORT_REST, about, WP_IMPORT_CHECK,
			       "its settings for Debezium Server are not read: add them to the "
			       "imported file. If the password is one of them, write it to a file "
			       "and set WALPOST__POSTGRES__PASSWORD_FILE to the file's name");
	}
}

static enum wp_rc translate(struct wp_import_properties *p, const struct wp_import_version *version,
			    struct wp_import_report *report)
{
	struct wp_translation t = { .report = report };
	enum wp_rc rc = name_items(&t, p);

	if (rc == WP_OK) {
		report->form = p->form != NULL ? p->form
			       : t.is_server   ? "Debezium Server's properties"
					       : "a Kafka Connect connector's properties";
		wp_import_find_version(&t, version);
		say_repetitions(&t);
		say_further(&t, p);
		wp_import_find_forms(&t);
		wp_import_postgres(&t);
		wp_import_outbox(&t);
		wp_import_say_forms(&t);
		wp_import_kafka(&t);
		wp_import_rules(&t);
		rc = wp_import_report_judge(report);
	}
	free(t.items);
	return rc;
}

/* Does it begin as a name of a connector, of Connect or of Debezium Server does? */
static bool is_known(const char *name)
{
	static const char *const starts[] = {
		"connector.",	   "database.", "debezium.",	"key.converter",
		"value.converter", "plugin.",	"publication.", "slot.",
		"table.",	   "topic.",	"transforms",	"snapshot.",
	};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (wp_import_begins(name, starts[i]))
			return true;
	return false;
}

/* Refuses a file that is not Debezium's, in place of a report about each of its lines. */
static enum wp_rc recognize(const struct wp_import_properties *p, struct wp_span text,
			    struct wp_error *error)
{
	for (size_t i = 0; i < p->count; i++)
		if (!p->items[i].outside && is_known(p->items[i].name))
			return WP_OK;
	return wp_error_set(error, WP_CONFIG,
			    "line %u: it is no configuration of Debezium: no name in it is known. "
			    "Pass JSON for Kafka Connect, a .properties file, a KafkaConnector of "
			    "Strimzi, or the environment of Debezium Server%s",
			    p->items[0].line, wp_import_hint(text));
}

enum wp_rc wp_import_new(struct wp_span text, const struct wp_import_version *version,
			 struct wp_import **ret, struct wp_error *error)
{
	struct wp_import_properties properties;
	struct wp_import *import;
	enum wp_rc rc = wp_import_read(text, &properties, error);

	if (rc != WP_OK)
		return rc;
	rc = recognize(&properties, text, error);
	if (rc != WP_OK) {
		wp_import_properties_release(&properties);
		return rc;
	}
	import = calloc(1, sizeof(*import));
	rc = import == NULL ? WP_NOMEM : translate(&properties, version, &import->report);
	wp_import_properties_release(&properties);
	if (rc != WP_OK) {
		wp_import_free(import);
		return wp_error_set(error, rc, "out of memory for the translation");
	}
	*ret = import;
	return WP_OK;
}

void wp_import_free(struct wp_import *import)
{
	if (import == NULL)
		return;
	wp_import_report_release(&import->report);
	free(import);
}

void wp_import_print(const struct wp_import *import, FILE *out)
{
	wp_import_report_print(&import->report, out);
}

static const char *mark_of(const struct wp_import_entry *entry)
{
	if ((entry->refused != NULL && entry->refused[0] != '\0') ||
	    entry->line.verdict == WP_IMPORT_UNSUPPORTED)
		return "NOT SUPPORTED";
	if (entry->line.verdict == WP_IMPORT_CHECK)
		return "CHECK";
	return entry->line.verdict == WP_IMPORT_FILL_IN ? "TO FILL IN" : NULL;
}

/* For another database or another sink nothing else matters; NULL if it is Postgres and Kafka. */
static const struct wp_import_entry *find_verdict(const struct wp_import *import)
{
	for (size_t i = 0; i < import->report.count; i++)
		if (import->report.entries[i].line.is_final)
			return &import->report.entries[i];
	return NULL;
}

size_t wp_import_changes(const struct wp_import *import)
{
	size_t changes = 0;

	if (find_verdict(import) != NULL)
		return 1;
	for (size_t i = 0; i < import->report.count; i++)
		changes += wp_import_is_change(&import->report.entries[i]);
	return changes;
}

static void say(const struct wp_import_entry *entry, const char *about, FILE *out)
{
	const char *error = entry->refused != NULL ? entry->refused : entry->line.error;

	(void)fprintf(out, "walpost: %s: ", mark_of(entry));
	wp_display_print(out, wp_span_of(about));
	(void)fputs(": ", out);
	wp_display_print(out, wp_span_of(error == NULL ? "" : error));
	(void)fputc('\n', out);
}

/* Says those that are a change, or the others. */
static void say_marked(const struct wp_import *import, bool changes, FILE *out)
{
	const char *about = "";

	for (size_t i = 0; i < import->report.count; i++) {
		const struct wp_import_entry *entry = &import->report.entries[i];

		about = entry->line.about == NULL ? about : entry->line.about;
		if (mark_of(entry) != NULL && wp_import_is_change(entry) == changes)
			say(entry, about, out);
	}
}

static void say_numbers(const struct wp_import *import, FILE *out)
{
	size_t changes = wp_import_changes(import);
	size_t others = 0;

	for (size_t i = 0; i < import->report.count; i++)
		others += mark_of(&import->report.entries[i]) != NULL &&
			  !wp_import_is_change(&import->report.entries[i]);
	if (changes > 0)
		(void)fprintf(out,
			      "walpost: %zu to judge, marked CHECK or NOT SUPPORTED, because "
			      "consumers may see a difference; %zu to fill in\n",
			      changes, others);
	else if (others > 0)
		(void)fprintf(out, "walpost: consumers see no difference; %zu to fill in\n",
			      others);
}

void wp_import_summary(const struct wp_import *import, FILE *out)
{
	const struct wp_import_entry *verdict = find_verdict(import);

	if (verdict != NULL) {
		say(verdict, verdict->line.about, out);
		return;
	}
	say_numbers(import, out);
	say_marked(import, true, out);
	say_marked(import, false, out);
}
