/*
 * Turns a letter back into the content of the message that it was made of. Where the letter does
 * not have that content itself, it is guessed, and the guess is right if it becomes the record that
 * the letter has.
 */
#include "dead_letters_parts.h"

#include "walpost/base/json.h"
#include "walpost/outbox/message.h"
#include "walpost/outbox/shape.h"

struct message {
	const struct wp_outbox *outbox;
	const struct wp_found_letter *letter;
	const struct wp_letter_content *content;
	const char *encoding; /* of the database */
	struct wp_letter_headers listed;
	struct wp_event event;
	struct wp_buffer texts; /* of the event */
};

/* Is this what the letter's event was read from? Its id and its topic say so. */
static bool names_the_event(struct message *m, struct wp_span content)
{
	struct wp_error error;
	enum wp_rc rc = wp_message_event(m->outbox->messages, content, m->encoding, &m->texts,
					 &m->event, &error);

	return (rc == WP_OK || rc == WP_DATA) && m->letter->id != NULL &&
	       wp_span_is(m->event.id, m->letter->id) && !wp_span_is_null(m->event.route) &&
	       wp_letter_gives_topic(m->outbox, m->event.route, m->letter->topic);
}

/* Some headers say where the event was, and which run of the relay sent it, not what it is. */
static bool is_of_content(struct wp_span name)
{
	return !wp_letter_begins(name, "walpost-") &&
	       !wp_letter_begins(name, "__debezium.context.");
}

static size_t next_header(const struct wp_header *headers, size_t count, size_t from)
{
	while (from < count && !is_of_content(headers[from].name))
		from++;
	return from;
}

static bool has_same_headers(const struct message *m, const struct wp_record *record)
{
	const struct wp_letter_content *c = m->content;
	size_t i = next_header(c->headers, c->header_count, 0);
	size_t k = next_header(record->headers, record->header_count, 0);

	while (i < c->header_count && k < record->header_count) {
		if (!wp_span_equal(c->headers[i].name, record->headers[k].name) ||
		    !wp_span_equal(c->headers[i].value, record->headers[k].value))
			return false;
		i = next_header(c->headers, c->header_count, i + 1);
		k = next_header(record->headers, record->header_count, k + 1);
	}
	return i >= c->header_count && k >= record->header_count;
}

/* Does the content become the record that the letter holds? */
static bool gives_the_letter(struct message *m, struct wp_span content)
{
	struct wp_record record;
	struct wp_error error;

	if (!names_the_event(m, content) || m->event.is_refused)
		return false;
	m->event.commit_time_us = 0;
	m->event.position = (struct wp_position){ 0 };
	return wp_shape_record(m->outbox->shape, &m->event, &record, &error) == WP_OK &&
	       wp_span_equal(record.key, m->content->key) &&
	       wp_span_equal(record.value, m->content->value) && has_same_headers(m, &record);
}

/* Writes a string, or JSON as it stands where a message may have that. */
static enum wp_rc write_member(struct wp_buffer *into, const char *name, struct wp_span value)
{
	struct wp_json json;
	enum wp_rc rc = WP_OK;

	if (into->data[into->size - 1] != '{')
		rc = wp_buffer_append_byte(into, ',');
	if (rc == WP_OK)
		rc = wp_json_write_string(into, wp_span_of(name), WP_JSON_NEEDED);
	if (rc == WP_OK)
		rc = wp_buffer_append_byte(into, ':');
	if (rc != WP_OK)
		return rc;
	if (wp_span_is_null(value))
		return wp_buffer_append_text(into, "null");
	if (wp_json_read(value, &json, NULL) == WP_OK &&
	    (json.kind == WP_JSON_OBJECT || json.kind == WP_JSON_ARRAY) &&
	    json.text.size == value.size)
		return wp_buffer_append(into, value);
	return wp_json_write_string(into, value, WP_JSON_NEEDED);
}

static enum wp_rc write_data_member(const struct message *m, struct wp_buffer *into)
{
	const struct wp_outbox_options *o = m->outbox->options;
	const char *name = wp_letter_is_set(o->headers_json) ? o->headers_json : "headers";
	struct wp_buffer json;
	size_t count;

	wp_buffer_init(&json, WP_LETTER_TEXT_MAX);
	enum wp_rc rc = wp_letter_data_headers(o, &m->listed, m->content, &json, &count);
	if (rc == WP_OK && count > 0)
		rc = write_member(into, name, wp_buffer_span(&json));
	wp_buffer_release(&json);
	return rc;
}

/* Writes the members that a raw record shows; making the record anew shows whether they are all. */
static enum wp_rc write_content(const struct message *m, struct wp_buffer *into)
{
	const struct wp_outbox_options *o = m->outbox->options;
	const struct wp_header *type = wp_letter_header(m->content, "type");
	const struct wp_header *ms = wp_letter_header(m->content, WP_LETTER_TIMESTAMP);
	struct wp_span route = wp_letter_route(m->outbox, m->letter->topic);
	enum wp_rc rc = wp_span_is_null(route) ? WP_DATA : WP_OK;

	if (rc == WP_OK && !wp_message_texts_are_utf8(m->encoding))
		rc = wp_buffer_append_text(into, WP_BYTE_ORDER_MARK);
	if (rc == WP_OK)
		rc = wp_buffer_append_byte(into, '{');
	if (rc == WP_OK)
		rc = write_member(into, o->column_id, wp_span_of(m->letter->id));
	if (rc == WP_OK)
		rc = write_member(into, o->route_by, route);
	if (rc == WP_OK && wp_letter_is_set(o->column_key) && !wp_span_is_null(m->content->key))
		rc = write_member(into, o->column_key, m->content->key);
	if (rc == WP_OK && m->listed.sends_type && type != NULL)
		rc = write_member(into, o->column_type, type->value);
	for (size_t i = 0; i < m->listed.list.count && rc == WP_OK; i++) {
		const struct wp_listed_column *listed = &m->listed.list.items[i];
		const struct wp_header *h = wp_letter_header(m->content, listed->name);
		if (h != NULL)
			rc = write_member(into, listed->column, h->value);
	}
	if (rc == WP_OK && wp_letter_is_set(o->column_timestamp) && ms != NULL)
		rc = write_member(into, o->column_timestamp, ms->value);
	if (rc == WP_OK)
		rc = write_data_member(m, into);
	if (rc == WP_OK)
		rc = write_member(into, o->column_payload, m->content->value);
	return rc == WP_OK ? wp_buffer_append_byte(into, '}') : rc;
}

/*
 * The value is the message's whole content when no record could be made of it, else what the record
 * had. The reason tells which: those of outbox/ begin with the name of what they are about, those
 * of the sink (kafka_send/, relay/relay_sink.c) do not. With another reason both are tried.
 */
enum value_kind { VALUE_IS_CONTENT, VALUE_IS_RECORDS, VALUE_IS_EITHER };

static enum value_kind value_kind_of(const struct wp_found_letter *letter)
{
	struct wp_span reason = wp_span_of(letter->reason);

	if (letter->topic == NULL || wp_letter_begins(reason, letter->table))
		return VALUE_IS_CONTENT;
	if (wp_letter_begins(reason, "an event of ") ||
	    wp_letter_begins(reason, "refused by Kafka with "))
		return VALUE_IS_RECORDS;
	return VALUE_IS_EITHER;
}

/* Returns WP_DATA if the content cannot be made, or WP_NOMEM. */
static enum wp_rc make_content(struct message *m, struct wp_buffer *ret)
{
	const struct wp_outbox_options *o = m->outbox->options;

	if (m->letter->topic == NULL || m->letter->id == NULL ||
	    o->message_format != WP_MESSAGE_JSON || wp_letter_is_set(o->column_partition))
		return WP_DATA;
	enum wp_rc rc = write_content(m, ret);
	if (rc != WP_OK)
		return rc == WP_NOMEM ? rc : WP_DATA;
	return gives_the_letter(m, wp_buffer_span(ret)) ? WP_OK : WP_DATA;
}

static enum wp_rc refuse_message(const struct message *m, struct wp_error *error)
{
	const struct wp_outbox_options *o = m->outbox->options;

	return wp_error_set(
		error, WP_DATA,
		"the letter holds the record of a message and not its content, and none is known "
		"that becomes this record by the present configuration (outbox.envelope = %s, "
		"outbox.value.format = %s, outbox.message.format = %s)",
		wp_letter_envelope(o->envelope), wp_letter_form(o->value_format),
		o->message_format == WP_MESSAGE_JSON ? "json" : "protobuf");
}

static enum wp_rc find_content(struct message *m, struct wp_buffer *ret, struct wp_error *error)
{
	enum value_kind kind = value_kind_of(m->letter);
	struct wp_span value = m->content->value;
	enum wp_rc rc = WP_DATA;

	if (kind != VALUE_IS_CONTENT)
		rc = make_content(m, ret);
	if (rc == WP_NOMEM)
		return wp_error_set(error, rc, "out of memory for a message");
	bool is_either =
		kind == VALUE_IS_EITHER && !wp_span_is_null(value) && names_the_event(m, value);
	if (rc == WP_OK && is_either)
		return wp_error_set(error, WP_DATA,
				    "its value may be the message's whole content or its payload "
				    "alone, and nothing tells which");
	if (rc == WP_OK)
		return WP_OK;
	if ((kind != VALUE_IS_CONTENT && !is_either) || wp_span_is_null(value))
		return refuse_message(m, error);
	wp_buffer_reset(ret);
	rc = wp_buffer_append(ret, value);
	return rc == WP_OK ? rc : wp_error_set(error, WP_NOMEM, "out of memory for a message");
}

enum wp_rc wp_letter_rebuild_message(const struct wp_outbox *outbox,
				     const struct wp_found_letter *letter,
				     const struct wp_letter_content *content, const char *encoding,
				     struct wp_buffer *ret, struct wp_error *error)
{
	static struct message m; /* static because it is large; there is one at a time */

	m.outbox = outbox;
	m.letter = letter;
	m.content = content;
	m.encoding = encoding;
	if (content->headers == NULL)
		return wp_error_set(error, WP_DATA,
				    "there is no room for the letter: more than %d MiB of letters "
				    "would have to be kept; run the command again for the rest",
				    WP_LETTERS_CONTENT_MAX >> 20);
	wp_buffer_init(&m.texts, WP_LETTER_TEXT_MAX);
	enum wp_rc rc = wp_letter_headers_init(outbox->options, &m.listed, error);
	if (rc == WP_OK)
		rc = find_content(&m, ret, error);
	wp_buffer_release(&m.texts);
	return rc;
}
