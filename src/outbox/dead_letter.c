#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "walpost/outbox/dead_letter.h"
#include "walpost/base/display.h"

enum { BARE_ID_MAX = 1024 };

#define COLUMN "walpost-dead-letter-column-"

struct headers {
	struct wp_header *items;
	size_t count;
};

static void add_letter_header(struct headers *h, const char *name, struct wp_span value)
{
	assert(h->count < WP_LETTER_HEADERS_MAX);
	h->items[h->count++] = (struct wp_header){ .name = wp_span_of(name), .value = value };
}

static struct wp_span beginning_of(struct wp_span text)
{
	return (struct wp_span){ text.data, text.size < BARE_ID_MAX ? text.size : BARE_ID_MAX };
}

/* What is left out can be read where it came from while the row is there: of a message nowhere. */
static const char *note_omitted(struct wp_dead_letter *d, const struct wp_record *record,
				const char *payload_column, enum wp_letter letter)
{
	struct wp_excerpt id;
	const char *shown = wp_excerpt(&id, record->id);

	(void)snprintf(d->omitted, sizeof(d->omitted),
		       "%s%sthe value of %zu bytes: column \"%s\" of table %s, row with id %s",
		       letter == WP_LETTER_BARE ? "key, headers, " : "",
		       letter != WP_LETTER_BARE	   ? ""
		       : record->column_count == 0 ? "and "
						   : "other columns, and ",
		       record->value.size, payload_column, record->table,
		       shown != NULL ? shown : "NULL");
	return d->omitted;
}

/* Columns within the value are added only where that is left out. */
static void add_column_headers(struct wp_dead_letter *d, struct headers *h,
			       const struct wp_record *record, enum wp_letter letter)
{
	size_t count = letter == WP_LETTER_WHOLE ? record->beside_value : record->column_count;
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		const struct wp_header *column = &record->columns[i];
		char *name = d->names + used;
		int size = snprintf(name, sizeof(d->names) - used, COLUMN "%.*s",
				    (int)column->name.size, (const char *)column->name.data);
		used += (size_t)size + 1;
		assert(used <= sizeof(d->names)); /* the configuration bounds them */
		add_letter_header(h, name, column->value);
	}
}

enum wp_letter wp_dead_letter_least(bool is_message)
{
	return is_message ? WP_LETTER_WHOLE : WP_LETTER_BARE;
}

void wp_dead_letter_record(struct wp_dead_letter *d, const struct wp_record *record,
			   const char *topic, const char *payload_column,
			   const struct wp_error *reason, enum wp_letter letter,
			   const struct wp_letter_attempts *attempts, struct wp_record *ret)
{
	struct headers h = { .items = d->headers };

	assert(letter <= wp_dead_letter_least(record->is_message));

	(void)snprintf(d->size, sizeof(d->size), "%zu", wp_record_size(record));
	(void)snprintf(d->timestamp, sizeof(d->timestamp), "%" PRId64, record->timestamp_ms);
	if (letter != WP_LETTER_BARE) {
		assert(record->header_count <= WP_RECORD_HEADERS_KEPT_MAX);
		memcpy(d->headers, record->headers, record->header_count * sizeof(d->headers[0]));
		h.count = record->header_count;
	}
	add_letter_header(&h, "walpost-dead-letter-reason", wp_span_of(reason->text));
	add_letter_header(&h, "walpost-dead-letter-table", wp_span_of(record->table));
	add_letter_header(&h, "walpost-dead-letter-id",
			  letter == WP_LETTER_BARE ? beginning_of(record->id) : record->id);
	add_letter_header(&h, "walpost-dead-letter-topic", record->topic);
	add_letter_header(&h, "walpost-dead-letter-size", wp_span_of(d->size));
	add_letter_header(&h, "walpost-dead-letter-position",
			  wp_span_of(wp_position_text(&record->position, d->position)));
	add_letter_header(&h, "walpost-dead-letter-timestamp", wp_span_of(d->timestamp));
	if (attempts != NULL) {
		(void)snprintf(d->attempts, sizeof(d->attempts), "%" PRIu32, attempts->failed);
		add_letter_header(&h, "walpost-dead-letter-attempts", wp_span_of(d->attempts));
		add_letter_header(&h, "walpost-dead-letter-first-reason", attempts->first_reason);
	}
	if (letter != WP_LETTER_BARE)
		add_column_headers(d, &h, record, letter);
	if (letter != WP_LETTER_WHOLE)
		add_letter_header(&h, "walpost-dead-letter-omitted",
				  wp_span_of(note_omitted(d, record, payload_column, letter)));
	*ret = (struct wp_record){
		.topic = wp_span_of(topic),
		.headers = d->headers,
		.header_count = h.count,
		.timestamp_ms = WP_TIMESTAMP_NOW,
		.partition = WP_PARTITION_BY_KEY,
		.position = record->position,
		.table = record->table,
		.id = record->id,
	};
	if (letter == WP_LETTER_BARE)
		return;
	ret->key = record->key;
	if (letter == WP_LETTER_WHOLE)
		ret->value = record->value;
}
