#include <string.h>

#include "check.h"
#include "walpost/kafka/preflight.h"

enum { KAFKA_TIMEOUT_MS = 10000, TOPICS_MAX = 256 };

struct topics {
	struct wp_topic_wanted items[TOPICS_MAX];
	size_t count;
	char names[WP_TOPIC_LIST_SIZE]; /* of those that were seen */
};

/* Once each: the first says most. What has no room is left out. */
static void add_topic(struct topics *t, const struct wp_topic_wanted *topic)
{
	for (size_t i = 0; i < t->count; i++)
		if (strcmp(t->items[i].name, topic->name) == 0)
			return;
	if (t->count < TOPICS_MAX)
		t->items[t->count++] = *topic;
}

/* Without groups and escapes the replacement is the topic, whatever the row says. */
static void add_outbox(struct topics *t, const struct wp_outbox_options *options)
{
	if (strpbrk(options->topic_replacement, "$\\") != NULL)
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

void wp_check_kafka(struct wp_check *c)
{
	static struct topics topics; /* large, and there is one */
	const struct wp_relay_options *relay = &c->config.relay;

	if (relay->sink != WP_SINK_KIND_KAFKA)
		return;
	for (size_t i = 0; i < c->config.outboxes.count; i++)
		add_outbox(&topics, &c->config.outboxes.items[i]);
	if (relay->poison == WP_POISON_DEAD_LETTER)
		add_topic(&topics, &(struct wp_topic_wanted){ .name = relay->dead_letter_topic,
							      .use = WP_TOPIC_DEAD_LETTERS });
	add_seen(&topics, &c->topics);
	wp_kafka_check(&c->config.kafka, topics.items, topics.count, KAFKA_TIMEOUT_MS,
		       &c->found.findings);
}
