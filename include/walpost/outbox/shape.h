/*
 * Makes records of events: topic, key, headers and the bytes of the value.
 *
 * Owns: the route, the buffers a record points to. Pure. Bounded: record_max for whatever can
 * outgrow the event that it is made of; what is only decoded or unescaped is as long as that.
 */
#ifndef WALPOST_OUTBOX_SHAPE_H
#define WALPOST_OUTBOX_SHAPE_H

#include <stdbool.h>

#include "walpost/base/error.h"
#include "walpost/envelope/event.h"
#include "walpost/outbox/options.h"
#include "walpost/sink/record.h"

struct wp_shape;
struct wp_subject;
struct wp_subjects;

/*
 * WP_CONFIG with the error: regex, replacement or a list of headers is wrong. `options` is borrowed for the life.
 * `record_max`: bytes of the largest record that can be sent, so that none larger is written; 0: no bound.
 */
enum wp_rc wp_shape_new(const struct wp_outbox_options *options, size_t record_max,
			struct wp_shape **ret, struct wp_error *error) WP_MUST_CHECK;
void wp_shape_free(struct wp_shape *s);
/* Tells the runId of Debezium's context headers: a UUID, new with each start. */
void wp_shape_name_run(struct wp_shape *s, const char *run_id);
/* Tells who knows the subjects of outbox.schema.registry; without, no payload of its can be framed. */
void wp_shape_use_subjects(struct wp_shape *s, struct wp_subjects *subjects);
/*
 * Finds the subject of events of that topic and type, either null when it is not known: then perhaps it is that without
 * a name, which asks whether the registry lets us in. Answers as wp_subjects_find(); WP_DATA: its name is too long.
 */
enum wp_rc wp_shape_find_subject(struct wp_shape *s, struct wp_span topic, struct wp_span type,
				 const struct wp_subject **ret,
				 struct wp_error *error) WP_MUST_CHECK;
/* Returns the subject whose id the record made last waits for (WP_AGAIN); NULL: none. */
const struct wp_subject *wp_shape_awaited(const struct wp_shape *s);
/* Does outbox.headers.standard name walpost-position? */
bool wp_shape_sends_position(const struct wp_outbox_options *options);
/* Makes the topic alone; valid until the next call. WP_DATA with the error, WP_NOMEM. */
enum wp_rc wp_shape_topic(struct wp_shape *s, const struct wp_event *event, struct wp_span *ret,
			  struct wp_error *error) WP_MUST_CHECK;
/*
 * Makes a record, with headers in this order: Debezium's context, those out of properties, id, type, walpost-position
 * (those of headers.standard), walpost-source, walpost-reissued, the configured columns, those out of JSON, those of a
 * CloudEvent. WP_AGAIN with the error: the schema's id is not known yet. `ret` is valid until the next call. WP_DATA
 * with the error: topic name, a value that has not the form that is asked for, no UTF-8, too large; then `ret` holds
 * what could be made: a null topic if it is that, the payload (a bytea's bytes) in place of the value; of a message,
 * also of one that was refused before, all its content. WP_NOMEM.
 *
 * Data does not name headers as walpost does: of JSON, properties and messages those are left out whose names begin
 * with "walpost-", and those that the record has from us already.
 */
enum wp_rc wp_shape_record(struct wp_shape *s, const struct wp_event *event, struct wp_record *ret,
			   struct wp_error *error) WP_MUST_CHECK;
/* Returns the bytes written for the record made last, even if it could not be made: roughly how long it took. */
size_t wp_shape_written(const struct wp_shape *s);
/* Gives the columns that the record made last holds nowhere, for its dead letter. */
void wp_shape_leftover(struct wp_shape *s, const struct wp_event *event, struct wp_record *ret);

#endif
