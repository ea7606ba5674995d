#include "dead_letters_parts.h"

#include <string.h>

#include "walpost/base/json.h"
#include "walpost/outbox/shape.h"

const struct wp_header *wp_letter_header(const struct wp_letter_content *content, const char *name)
{
	for (size_t i = 0; i < content->header_count; i++) {
		if (wp_span_is(content->headers[i].name, name))
			return &content->headers[i];
	}
	return NULL;
}

/* -- which headers come from where ---------------------------------------------- */

static bool has_word(const char *list, const char *word)
{
	size_t size = strlen(word);

	for (const char *at = list; *at != '\0'; at += strcspn(at, ",")) {
		at += strspn(at, ", \t\r\n");
		if (strncmp(at, word, size) == 0 && strchr(", \t\r\n", at[size]) != NULL)
			return true;
	}
	return false;
}

enum wp_rc wp_letter_headers_init(const struct wp_outbox_options *o, struct wp_letter_headers *ret,
				  struct wp_error *error)
{
	ret->sends_id = has_word(o->headers_standard, "id");
	ret->sends_type = has_word(o->headers_standard, "type") && wp_letter_is_set(o->column_type);
	return wp_column_list_parse(o->headers, "outbox.headers", &ret->list, error);
}

/* Was the header named by the application's data, in a JSON object or properties? */
static bool is_of_data(const struct wp_outbox_options *o, const struct wp_letter_headers *listed,
		       struct wp_span name)
{
	if (wp_letter_begins(name, "walpost-") || (listed->sends_id && wp_span_is(name, "id")) ||
	    (listed->sends_type && wp_span_is(name, "type")))
		return false;
	if (o->debezium_context_headers && wp_letter_begins(name, "__debezium.context."))
		return false;
	for (size_t i = 0; i < listed->list.count; i++) {
		if (wp_span_is(name, listed->list.items[i].name))
			return false;
	}
	return true;
}

enum wp_rc wp_letter_data_headers(const struct wp_outbox_options *o,
				  const struct wp_letter_headers *listed,
				  const struct wp_letter_content *content, struct wp_buffer *into,
				  size_t *ret_count)
{
	enum wp_rc rc = wp_buffer_append_byte(into, '{');

	*ret_count = 0;
	for (size_t i = 0; i < content->header_count && rc == WP_OK; i++) {
		const struct wp_header *h = &content->headers[i];
		if (!is_of_data(o, listed, h->name))
			continue;
		if ((*ret_count)++ > 0)
			rc = wp_buffer_append_byte(into, ',');
		if (rc == WP_OK)
			rc = wp_json_write_string(into, h->name, WP_JSON_NEEDED);
		if (rc == WP_OK)
			rc = wp_buffer_append_byte(into, ':');
		if (rc == WP_OK && wp_span_is_null(h->value))
			rc = wp_buffer_append_text(into, "null");
		else if (rc == WP_OK)
			rc = wp_json_write_string(into, h->value, WP_JSON_NEEDED);
	}
	return rc == WP_OK ? wp_buffer_append_byte(into, '}') : rc;
}

/* -- the raw topic --------------------------------------------------------------- */

bool wp_letter_gives_topic(const struct wp_outbox *outbox, struct wp_span route, const char *topic)
{
	const struct wp_event event = { .route = route, .table = "" };
	struct wp_span made;
	struct wp_error error;

	return wp_shape_topic(outbox->shape, &event, &made, &error) == WP_OK &&
	       wp_span_is(made, topic);
}

/* Returns what the replacement's only group is in the topic, or null if it has none or several. */
static struct wp_span group_in(const char *replacement, const char *topic)
{
	const char *group = strchr(replacement, '$');
	const struct wp_span none = { 0 };
	size_t topic_size = strlen(topic);

	if (group == NULL || strchr(replacement, '\\') != NULL)
		return none;
	size_t before = (size_t)(group - replacement);
	const char *behind = group[1] == '{' ? strchr(group, '}') : group + 1;
	if (behind == NULL || *behind == '\0' || strchr(behind, '$') != NULL)
		return none;
	size_t after = strlen(++behind);
	if (topic_size <= before + after || strncmp(topic, replacement, before) != 0 ||
	    strcmp(topic + topic_size - after, behind) != 0)
		return none;
	return (struct wp_span){ .data = (const uint8_t *)topic + before,
				 .size = topic_size - before - after };
}

struct wp_span wp_letter_route(const struct wp_outbox *outbox, const char *topic)
{
	struct wp_span group = group_in(outbox->options->topic_replacement, topic);
	struct wp_span whole = wp_span_of(topic);
	const struct wp_span none = { 0 };

	if (!wp_span_is_null(group) && wp_letter_gives_topic(outbox, group, topic))
		return group;
	return wp_letter_gives_topic(outbox, whole, topic) ? whole : none;
}

/* -- words of options ----------------------------------------------------------------- */

const char *wp_letter_envelope(enum wp_envelope envelope)
{
	static const char *const names[] = {
		[WP_ENVELOPE_RAW] = "raw",
		[WP_ENVELOPE_PROTOBUF] = "protobuf",
		[WP_ENVELOPE_CLOUDEVENTS_BINARY] = "cloudevents-binary",
		[WP_ENVELOPE_CLOUDEVENTS_JSON] = "cloudevents-json",
		[WP_ENVELOPE_CLOUDEVENTS_PROTOBUF] = "cloudevents-protobuf",
	};

	return names[envelope];
}

const char *wp_letter_form(enum wp_form form)
{
	static const char *const names[] = {
		[WP_FORM_RAW] = "raw",
		[WP_FORM_JSON] = "json",
		[WP_FORM_JSON_SCHEMA] = "json-schema",
		[WP_FORM_STRING] = "string",
	};

	return names[form];
}
