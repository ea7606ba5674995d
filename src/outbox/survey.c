#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/outbox/decoder.h"
#include "walpost/outbox/drop.h"
#include "walpost/outbox/route.h"
#include "walpost/outbox/shape.h"
#include "walpost/outbox/survey.h"

struct wp_survey {
	wp_lsn until;
	size_t record_max;
	struct wp_outbox_options *options; /* owned; of all outboxes */
	struct wp_outboxes outboxes;
	struct wp_decoder *decoder; /* owned */
	bool counted;		    /* the current transaction */
	struct wp_decoded last;	    /* the event taken last; borrowed from the decoder */
	bool is_sent;		    /* it becomes a record, as far as can be told here */
	char topic[WP_TOPIC_SIZE];
	struct wp_survey_counts counts;
};

/* It lacks what only a record needs: an event is to be named whether or not it can be sent. */
static enum wp_rc new_decoder(struct wp_survey *s, const struct wp_survey_setup *setup,
			      struct wp_error *error)
{
	size_t count = setup->outboxes->count;

	s->options = calloc(count, sizeof(s->options[0]));
	if (s->options == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for %zu outboxes", count);
	for (size_t i = 0; i < count; i++) {
		s->options[i] = setup->outboxes->items[i];
		s->options[i].types = WP_RENDERING_POSTGRES;
		s->options[i].column_timestamp = "";
		s->options[i].column_expires = "";
		s->options[i].column_partition = "";
		s->options[i].debezium_schema_version = "";
	}
	s->outboxes = *setup->outboxes;
	s->outboxes.items = s->options;
	const struct wp_decoder_setup decoder = {
		.outboxes = &s->outboxes,
		.epoch = setup->epoch,
		.record_max = setup->record_max,
		.texts_max = (size_t)INT32_MAX,
		.columns = WP_COLUMNS_KNOWN,
		.partitions = setup->partitions,
	};
	enum wp_rc rc = wp_decoder_new(&decoder, &s->decoder, error);
	if (rc == WP_OK)
		wp_decoder_begin(s->decoder, setup->timelines, setup->encoding);
	return rc;
}

enum wp_rc wp_survey_new(const struct wp_survey_setup *setup, struct wp_survey **ret,
			 struct wp_error *error)
{
	struct wp_survey *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return wp_error_set(error, WP_NOMEM, "out of memory for a list of events");
	s->until = setup->until;
	s->record_max = setup->record_max;
	enum wp_rc rc = new_decoder(s, setup, error);
	if (rc != WP_OK) {
		wp_survey_free(s);
		return rc;
	}
	*ret = s;
	return WP_OK;
}

void wp_survey_free(struct wp_survey *s)
{
	if (s == NULL)
		return;
	wp_decoder_free(s->decoder);
	free(s->options);
	free(s);
}

const struct wp_survey_counts *wp_survey_counts(const struct wp_survey *s)
{
	return &s->counts;
}

/* Finds the topic only, for the value may have been cut. */
static void find_topic(struct wp_survey *s, const struct wp_decoded *decoded,
		       struct wp_survey_event *ret)
{
	struct wp_span topic;

	if (wp_shape_topic(decoded->outbox->shape, decoded->event, &topic, &ret->error) != WP_OK)
		return;
	(void)snprintf(s->topic, sizeof(s->topic), "%.*s", (int)topic.size,
		       (const char *)topic.data);
}

/* Only a row above the limit is likely to become such a record. */
static void judge_size(struct wp_survey *s, const struct wp_decoded *decoded,
		       struct wp_survey_event *ret)
{
	struct wp_record record;
	struct wp_error ignored;

	if (s->record_max == 0 || ret->size <= s->record_max || ret->error.text[0] != '\0' ||
	    wp_shape_record(decoded->outbox->shape, decoded->event, &record, &ignored) != WP_OK ||
	    wp_record_size(&record) <= s->record_max)
		return;
	(void)wp_error_set(&ret->error, WP_DATA,
			   "it has %zu bytes for topic %s, more than message.max.bytes = %zu; "
			   "raise message.max.bytes in [kafka], and max.message.bytes of the topic",
			   wp_record_size(&record), s->topic, s->record_max);
}

/* Does its type have it skipped? Then it need not be sendable. Times are not looked at. */
static bool is_skipped(const struct wp_decoded *decoded)
{
	enum wp_drop drop;

	return wp_drop_judge(decoded->outbox->options, decoded->event, true, 0, &drop, NULL) ==
		       WP_OK &&
	       drop == WP_DROP_TYPE;
}

/* The reason of a verdict is in `ret` already. In a row that was cut what is NULL need not be. */
static void take_event(struct wp_survey *s, const struct wp_decoded *decoded, size_t read,
		       struct wp_survey_event *ret)
{
	const struct wp_event *event = decoded->event;

	s->topic[0] = '\0';
	ret->table = event->table;
	ret->is_message = wp_span_is_null(event->schema);
	ret->id = event->id;
	ret->key = event->key;
	ret->topic = s->topic;
	ret->position = event->position;
	if (decoded->verdict == WP_OK)
		find_topic(s, decoded, ret);
	if (decoded->verdict == WP_OK && read == ret->size)
		judge_size(s, decoded, ret);
	s->last = *decoded;
	s->is_sent = read == ret->size && ret->error.text[0] == '\0' && !is_skipped(decoded);
	if (is_skipped(decoded))
		ret->error.text[0] = '\0';
	ret->is_refused = ret->error.text[0] != '\0' && read == ret->size;
	if (read < ret->size && (ret->is_message || ret->error.text[0] != '\0'))
		(void)wp_error_set(&ret->error, WP_OK, "only the first %zu of %zu bytes were read",
				   read, ret->size);
	s->counts.events++;
	s->counts.refused += ret->is_refused ? 1 : 0;
}

static void count_foreign(struct wp_survey *s, const struct wp_relation *r)
{
	struct wp_survey_counts *c = &s->counts;
	struct wp_table_name name;
	size_t i = 0;

	(void)snprintf(name.schema, sizeof(name.schema), "%.*s", (int)r->schema.size,
		       (const char *)r->schema.data);
	(void)snprintf(name.name, sizeof(name.name), "%.*s", (int)r->name.size,
		       (const char *)r->name.data);
	c->foreign++;
	c->foreign_until = wp_decoder_transaction(s->decoder)->next.commit_lsn + 1;
	while (i < c->foreign_tables &&
	       (strcmp(c->foreign_by_table[i].name.schema, name.schema) != 0 ||
		strcmp(c->foreign_by_table[i].name.name, name.name) != 0))
		i++;
	if (i == WP_SURVEY_FOREIGN_MAX) {
		c->foreign_more = true;
		return;
	}
	if (i == c->foreign_tables)
		c->foreign_by_table[c->foreign_tables++] = (struct wp_survey_foreign){ name, 0 };
	c->foreign_by_table[i].rows++;
}

enum wp_rc wp_survey_take(struct wp_survey *s, struct wp_span message, size_t size,
			  struct wp_survey_event *ret, bool *ret_is_event, struct wp_error *error)
{
	struct wp_decoded decoded;
	bool is_cut = message.size < size;

	ret->size = size;
	ret->error.text[0] = '\0';
	*ret_is_event = false;
	s->is_sent = false;
	enum wp_rc rc =
		is_cut ? wp_decoder_take_beginning(s->decoder, message, &decoded, &ret->error)
		       : wp_decoder_take(s->decoder, message, &decoded, &ret->error);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "%s", ret->error.text);
	if (decoded.kind == WP_DECODED_BEGIN)
		s->counted = false;
	if (wp_decoder_transaction(s->decoder)->next.commit_lsn >= s->until)
		return WP_OK;
	*ret_is_event = decoded.kind == WP_DECODED_EVENT;
	if (*ret_is_event)
		take_event(s, &decoded, message.size, ret);
	else if (decoded.kind == WP_DECODED_FOREIGN)
		count_foreign(s, decoded.relation);
	if (*ret_is_event || decoded.kind == WP_DECODED_FOREIGN) {
		s->counts.transactions += s->counted ? 0 : 1;
		s->counted = true;
	}
	return WP_OK;
}

bool wp_survey_record(struct wp_survey *s, struct wp_record *ret)
{
	struct wp_error ignored;

	return s->is_sent &&
	       wp_shape_record(s->last.outbox->shape, s->last.event, ret, &ignored) == WP_OK;
}
