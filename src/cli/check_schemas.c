/*
 * `walpost check`: which schema does the registry have for the events of each topic that is known
 * beforehand? Where no subject is known, does the registry answer and let us in?
 */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "walpost/outbox/route.h"
#include "walpost/outbox/shape.h"
#include "walpost/registry/registry.h"

struct schemas {
	struct wp_check *check;
	const struct wp_outbox_options *options; /* of the outbox that is looked at */
	struct wp_registry_session registry;
};

static const char *kind_name(enum wp_schema_kind kind)
{
	static const char *const names[] = {
		[WP_SCHEMA_AVRO] = "Avro",
		[WP_SCHEMA_PROTOBUF] = "Protobuf",
		[WP_SCHEMA_JSON] = "JSON Schema",
	};

	return names[kind];
}

static void say(const struct wp_subject *s, const char *url, struct wp_error *ret)
{
	struct wp_http_place place = wp_http_place_of(url);

	if (s->name[0] == '\0') {
		(void)wp_error_set(ret, WP_OK,
				   "the schema registry at %s answers; subjects are looked up as "
				   "events arrive",
				   place.text);
		return;
	}
	(void)wp_error_set(ret, WP_OK, "subject %s has id %lu: version %lu (%s), %s", s->name,
			   (unsigned long)s->schema.id, (unsigned long)s->schema.version,
			   s->version != 0 ? "pinned" : "the latest", kind_name(s->schema.kind));
}

static void check_topic(struct schemas *s, struct wp_shape *shape, const char *topic)
{
	const struct wp_subject *subject = NULL;
	struct wp_error error, fine;
	enum wp_finding_room room = topic != NULL ? WP_ROOM_TOPIC : WP_ROOM_KAFKA;
	struct wp_span name = wp_span_of(topic);

	enum wp_rc rc = wp_shape_find_subject(shape, name, (struct wp_span){ 0 }, &subject, &error);
	if (rc == WP_OK)
		say(subject, s->options->registry.url, &fine);
	struct wp_finding *f = wp_findings_add(&s->check->found.findings,
					       rc == WP_OK ? WP_FINDING_OK : WP_FINDING_FAIL, room,
					       "schema", rc == WP_OK ? fine.text : error.text, "");
	(void)snprintf(f->about, sizeof(f->about), "%s", topic != NULL ? topic : "");
}

static bool is_of(const struct wp_outbox_options *o, const struct wp_topic_wanted *topic)
{
	return topic->use == WP_TOPIC_ROUTED ? strcmp(o->topic_replacement, topic->name) == 0
					     : topic->use != WP_TOPIC_DEAD_LETTERS &&
						       !wp_topic_is_fixed(o->topic_replacement);
}

static void check_outbox(struct schemas *s, const struct wp_topic_wanted *topics, size_t count)
{
	struct wp_shape *shape;
	struct wp_error error;
	bool any = false;

	if (wp_shape_new(s->options, 0, &shape, &error) != WP_OK)
		return; /* there is no memory: the configuration was judged before */
	wp_shape_use_subjects(shape, &s->registry.subjects);
	for (size_t i = 0; i < count && !s->check->console.interrupted; i++) {
		if (!is_of(s->options, &topics[i]))
			continue;
		check_topic(s, shape, topics[i].name);
		any = true;
	}
	if (!any)
		check_topic(s, shape, NULL);
	wp_shape_free(shape);
}

void wp_check_schemas(struct wp_check *c, const struct wp_topic_wanted *topics, size_t count)
{
	struct schemas s = { .check = c };

	wp_registry_session_init(&s.registry);
	for (size_t i = 0; i < c->config.outboxes.count; i++) {
		s.options = &c->config.outboxes.items[i];
		if (s.options->registry.url[0] != '\0')
			check_outbox(&s, topics, count);
	}
	wp_registry_session_release(&s.registry);
}
