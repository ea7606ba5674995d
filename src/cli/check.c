#include <stdio.h>
#include <string.h>

#include "check.h"
#include "walpost/cli/cli.h"
#include "walpost/cli/findings.h"
#include "walpost/kafka_inspect/preflight.h"
#include "walpost/postgres_preflight/slot.h"

enum { KAFKA_TIMEOUT_MS = 10000 };

struct topics {
	struct wp_topic_wanted items[WP_CHECK_TOPICS_MAX];
	size_t count;
	char names[WP_TOPIC_LIST_SIZE]; /* of those that were seen */
};

/* Adds each topic once, for the first says most. A topic that has no room is left out. */
static void add_topic(struct topics *t, const struct wp_topic_wanted *topic)
{
	for (size_t i = 0; i < t->count; i++)
		if (strcmp(t->items[i].name, topic->name) == 0)
			return;
	if (t->count < WP_CHECK_TOPICS_MAX)
		t->items[t->count++] = *topic;
}

static void add_outbox(struct topics *t, const struct wp_outbox_options *options)
{
	if (!wp_topic_is_fixed(options->topic_replacement))
		return;
	add_topic(t, &(struct wp_topic_wanted){
			     .name = options->topic_replacement,
			     .use = WP_TOPIC_ROUTED,
			     .may_lack_key = options->key_null == WP_KEY_NULL_ALLOW,
			     .has_timestamps = options->column_timestamp[0] != '\0',
		     });
}

static void add_seen(struct topics *t, const struct wp_topic_list *list)
{
	char *rest = t->names, *name;

	memcpy(t->names, list->text, sizeof(t->names));
	while ((name = strsep(&rest, ",")) != NULL)
		if (name[0] != '\0')
			add_topic(t,
				  &(struct wp_topic_wanted){ .name = name, .use = WP_TOPIC_SEEN });
}

/* With dead-letter or park, an event that a topic refuses is set aside, and stops no relay. */
static void add_largest(struct topics *t, const struct wp_check *c)
{
	if (c->config.relay.poison != WP_POISON_STOP)
		return;
	for (size_t i = 0; i < t->count; i++)
		for (size_t j = 0; j < c->held_count; j++)
			if (strcmp(t->items[i].name, c->held[j].topic) == 0)
				t->items[i].largest = c->held[j].largest;
}

/* Checks all that Kafka can tell. */
static void check_kafka(struct wp_check *c)
{
	static struct topics topics; /* static because it is large; there is only one */
	const struct wp_relay_options *relay = &c->config.relay;

	if (relay->sink != WP_SINK_KIND_KAFKA)
		return;
	for (size_t i = 0; i < c->config.outboxes.count; i++)
		add_outbox(&topics, &c->config.outboxes.items[i]);
	bool parks = relay->poison == WP_POISON_PARK && relay->park.retry_attempts > 0 &&
		     relay->dead_letter_topic[0] != '\0';
	if (relay->poison == WP_POISON_DEAD_LETTER || parks)
		add_topic(&topics, &(struct wp_topic_wanted){ .name = relay->dead_letter_topic,
							      .use = WP_TOPIC_DEAD_LETTERS });
	for (size_t i = 0; i < c->held_count; i++)
		add_topic(&topics, &(struct wp_topic_wanted){ .name = c->held[i].topic,
							      .use = WP_TOPIC_AHEAD });
	add_seen(&topics, &c->topics);
	add_largest(&topics, c);
	wp_kafka_check(&c->config.kafka, topics.items, topics.count, KAFKA_TIMEOUT_MS,
		       &c->found.findings);
	wp_check_login(c, c->config.kafka.login, WP_ROOM_KAFKA);
	wp_check_schemas(c, topics.items, topics.count);
}

static int print(const struct wp_findings *findings, bool json)
{
	if (!json)
		wp_cli_print_findings(stdout, findings);
	else if (!wp_cli_print_findings_json(stdout, findings))
		return wp_cli_fail(WP_EXIT_FAILED, "the findings cannot be written as JSON");
	return wp_cli_done();
}

static int check(struct wp_check *c, bool json)
{
	struct wp_error error;
	enum wp_rc rc = wp_console_init(&c->console, &error);
	if (rc != WP_OK)
		return wp_cli_fail(WP_EXIT_FAILED, "%s", error.text);
	wp_check_postgres(c);
	wp_check_login(c, c->config.postgres.login, WP_ROOM_CONNECTION);
	if (!c->console.interrupted)
		check_kafka(c);
	bool interrupted = c->console.interrupted;
	wp_console_release(&c->console);
	int exit_code = print(&c->found.findings, json);
	if (c->found.findings.no_memory.name)
		return wp_cli_fail(WP_EXIT_FAILED, "%s", c->found.findings.no_memory.what);
	if (exit_code != WP_EXIT_OK)
		return exit_code;
	if (interrupted)
		return wp_cli_fail(WP_EXIT_FAILED, "interrupted");
	return wp_findings_failure(&c->found.findings) ? WP_EXIT_FAILED : WP_EXIT_OK;
}

int wp_command_check(int argc, char **argv)
{
	static struct wp_check c; /* static because it is large; there is only one */
	bool json = false;
	const struct wp_cli_option options[] = {
		{ "--json", NULL, "as a JSON array of level, room, about, name, what and cure",
		  &json, NULL },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost check",
		.about = "Checks everything that the relay needs in Postgres and in Kafka. For each problem\n"
"it prints the cure: SQL for psql, or a comment that names a setting. Changes\n"
"nothing.",
		WP_CLI_OPTIONS(options),
		.exits = {
			[WP_EXIT_OK] = "the relay can run; there may be warnings",
			[WP_EXIT_FAILED] = "a precondition is not met",
		},
	};
	struct wp_cli_line line;
	struct wp_error error;
	int exit_code;

	if (!wp_cli_parse(&usage, argc, argv, &line, &exit_code))
		return exit_code;
	exit_code = wp_cli_config(&line, &c.config);
	if (exit_code == WP_EXIT_OK && wp_slot_name_check(c.config.postgres.slot, &error) != WP_OK)
		exit_code = wp_cli_fail(WP_EXIT_CONFIG, "%s", error.text);
	if (exit_code == WP_EXIT_OK &&
	    wp_requirements_outboxes_init(&c.wanted, &c.config.outboxes, &error) != WP_OK)
		exit_code = wp_cli_fail(WP_EXIT_CONFIG, "%s", error.text);
	if (exit_code == WP_EXIT_OK)
		exit_code = check(&c, json);
	wp_findings_release(&c.found.findings);
	wp_requirements_outboxes_release(&c.wanted);
	wp_config_release(&c.config);
	return exit_code;
}
