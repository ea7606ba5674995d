#include <assert.h>

#include "event.pb-c.h"
#include "packing.h"
#include "walpost/base/calendar.h"
#include "walpost/base/utf8.h"
#include "walpost/envelope/envelope.h"
#include "walpost/base/display.h"

/* Returns the time since 1970; one at the end of the range, which no clock tells, stays there. */
static int64_t unix_us(int64_t postgres_us)
{
	return postgres_us > INT64_MAX - WP_POSTGRES_EPOCH_US ? INT64_MAX
							      : postgres_us + WP_POSTGRES_EPOCH_US;
}

static enum wp_rc check_proto_string(const char *what, struct wp_span text, struct wp_error *error)
{
	struct wp_excerpt shown;

	if (!has_nul(text) && wp_utf8_is_valid(text))
		return WP_OK;
	return wp_error_set(error, WP_DATA,
			    "the %s \"%s\" is not UTF-8, as a protobuf string requires: correct "
			    "it, or set outbox.envelope = raw",
			    what, wp_excerpt(&shown, text));
}

static enum wp_rc check_texts(const struct wp_event *event, const struct wp_record *record,
			      struct wp_error *error)
{
	enum wp_rc rc = check_proto_string("id", event->id, error);
	if (rc == WP_OK)
		rc = check_proto_string("type", event->type, error);
	if (rc == WP_OK)
		rc = check_proto_string("raw topic", event->route, error);
	for (size_t i = 0; i < record->header_count && rc == WP_OK; i++)
		rc = check_proto_string("header name", record->headers[i].name, error);
	return rc;
}

static void fill_headers(const struct wp_record *record, Walpost__V1__Header *headers,
			 Walpost__V1__Header **pointers)
{
	for (size_t i = 0; i < record->header_count; i++) {
		const struct wp_header *from = &record->headers[i];
		headers[i] = (Walpost__V1__Header)WALPOST__V1__HEADER__INIT;
		headers[i].name = (char *)(uintptr_t)from->name.data;
		headers[i].has_value = !wp_span_is_null(from->value);
		headers[i].value = bytes_of(from->value);
		pointers[i] = &headers[i];
	}
}

static void fill_protobuf(Walpost__V1__Event *to, const struct wp_event *event,
			  const struct wp_record *record, struct wp_buffer *texts)
{
	to->id = copy(texts, event->id);
	to->type = copy(texts, event->type);
	to->aggregate = copy(texts, event->route);
	to->has_key = !wp_span_is_null(event->key);
	to->key = bytes_of(event->key);
	to->has_payload = !wp_span_is_null(record->value);
	to->payload = bytes_of(record->value);
	to->has_commit_time_us = true;
	to->commit_time_us = unix_us(event->commit_time_us);
	to->has_commit_lsn = true;
	to->commit_lsn = event->position.commit_lsn;
	to->has_timeline = true;
	to->timeline = event->position.timeline;
	to->has_epoch = true;
	to->epoch = event->position.epoch;
	to->has_ordinal = true;
	to->ordinal = event->position.ordinal;
}

enum wp_rc wp_envelope_protobuf(const struct wp_event *event, const struct wp_record *record,
				struct wp_buffer *texts, struct wp_buffer *into,
				struct wp_error *error)
{
	Walpost__V1__Event message = WALPOST__V1__EVENT__INIT;
	Walpost__V1__Header headers[WP_RECORD_HEADERS_MAX];
	Walpost__V1__Header *pointers[WP_RECORD_HEADERS_MAX];

	assert(record->header_count <= WP_RECORD_HEADERS_MAX);
	enum wp_rc rc = check_texts(event, record, error);
	if (rc != WP_OK)
		return rc;
	wp_buffer_reset(texts);
	rc = wp_buffer_reserve(texts, event->id.size + event->type.size + event->route.size + 3);
	if (rc != WP_OK)
		return rc;
	fill_protobuf(&message, event, record, texts);
	fill_headers(record, headers, pointers);
	message.n_headers = record->header_count;
	message.headers = pointers;

	size_t size = walpost__v1__event__get_packed_size(&message);
	wp_buffer_reset(into);
	rc = wp_buffer_reserve(into, size);
	if (rc != WP_OK)
		return rc;
	into->size = walpost__v1__event__pack(&message, into->data);
	assert(into->size == size);
	return WP_OK;
}
