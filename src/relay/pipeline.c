#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/outbox/decoder.h"
#include "walpost/outbox/shape.h"
#include "walpost/relay/faults.h"
#include "walpost/relay/pending_dead_letters.h"
#include "walpost/relay/pipeline.h"

enum {
	/*
	 * What librdkafka keeps for a message besides its bytes, and our own rings: 510, measured
	 * with three headers and librdkafka 2.0.
	 */
	EVENT_OVERHEAD = 512,
};

struct wp_pipeline {
	struct wp_pipeline_setup setup;
	struct wp_decoder *decoder; /* owned */
	bool has_events;	    /* the current transaction */
	struct wp_pipeline_counts counts;
	uint64_t written;
	struct wp_event_name last;
	size_t last_id_size;
	struct wp_pending_dead_letters pending_dead_letters;
	struct wp_dead_letter dead_letter;
	struct wp_error reason; /* of the last dead letter */
};

static enum wp_rc new_decoder(const struct wp_pipeline *p, const struct wp_outboxes *outboxes,
			      struct wp_decoder **ret, struct wp_error *error)
{
	bool diverts = p->setup.poison == WP_POISON_DEAD_LETTER;
	const struct wp_decoder_setup setup = {
		.outboxes = outboxes,
		.epoch = p->setup.epoch,
		.record_max = p->setup.record_max,
		.texts_max = p->setup.value_size_max,
		.columns = diverts ? WP_COLUMNS_KNOWN : WP_COLUMNS_ALL,
		.partitions = p->setup.partitions,
	};

	return wp_decoder_new(&setup, ret, error);
}

enum wp_rc wp_pipeline_new(const struct wp_pipeline_setup *setup, struct wp_pipeline **ret,
			   struct wp_error *error)
{
	struct wp_pipeline *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return WP_NOMEM;
	p->setup = *setup;
	enum wp_rc rc = new_decoder(p, setup->outboxes, &p->decoder, error);
	if (rc != WP_OK) {
		wp_pipeline_free(p);
		return rc;
	}
	*ret = p;
	return WP_OK;
}

void wp_pipeline_free(struct wp_pipeline *p)
{
	if (p == NULL)
		return;
	wp_pending_dead_letters_release(&p->pending_dead_letters);
	wp_decoder_free(p->decoder);
	free(p);
}

enum wp_rc wp_pipeline_change(struct wp_pipeline *p, const struct wp_outboxes *outboxes,
			      struct wp_error *error)
{
	struct wp_decoder *decoder;
	enum wp_rc rc = new_decoder(p, outboxes, &decoder, error);

	if (rc != WP_OK)
		return rc;
	wp_decoder_free(p->decoder);
	p->decoder = decoder;
	p->setup.outboxes = outboxes;
	return WP_OK;
}

void wp_pipeline_begin(struct wp_pipeline *p, const struct wp_timelines *timelines)
{
	wp_decoder_begin(p->decoder, timelines);
	p->has_events = false;
}

void wp_pipeline_know(struct wp_pipeline *p, const struct wp_column_facts *facts,
		      enum wp_transfer transfer)
{
	(void)!wp_decoder_know(p->decoder, facts, transfer);
}

bool wp_pipeline_wants_facts(const struct wp_pipeline *p)
{
	return wp_decoder_wants_facts(p->decoder);
}

bool wp_pipeline_wants_text(const struct wp_pipeline *p)
{
	return wp_decoder_wants_text(p->decoder);
}

uint32_t wp_pipeline_question(const struct wp_pipeline *p)
{
	return wp_decoder_transaction(p->decoder)->xid;
}

/* -- events --------------------------------------------------------------- */

/* For every event: as few instructions as it takes. `to` has room for `room` bytes. */
static void copy_name(char *to, size_t room, struct wp_span name)
{
	size_t size = name.size < room ? name.size : room - 1;

	if (size > 0)
		memcpy(to, name.data, size);
	to[size] = '\0';
}

static void name_event(struct wp_pipeline *p, const struct wp_event *event)
{
	copy_name(p->last.table, sizeof(p->last.table), wp_span_of(event->table));
	copy_name(p->last.id, sizeof(p->last.id), event->id);
	p->last.is_message = wp_span_is_null(event->schema);
	p->last.position = event->position;
	p->last_id_size =
		event->id.size < sizeof(p->last.id) ? event->id.size : sizeof(p->last.id) - 1;
}

/* Of no event, or of one that is not known yet. */
static void forget_name(struct wp_pipeline *p)
{
	p->last.table[0] = p->last.id[0] = p->last.topic[0] = '\0';
	p->last_id_size = 0;
	p->last.size = 0;
	p->last.position = (struct wp_position){ 0 };
	p->last.is_dead_letter = false;
	p->last.letter = WP_LETTER_WHOLE;
	p->last.is_message = false;
}

static void name_record(struct wp_pipeline *p, const struct wp_record *record)
{
	p->last.size = wp_record_size(record);
	if (!wp_span_is_null(record->topic))
		copy_name(p->last.topic, sizeof(p->last.topic), record->topic);
}

static enum wp_rc send_record(struct wp_pipeline *p, const struct wp_record *record,
			      struct wp_error *error)
{
	size_t bytes = wp_record_size(record);
	size_t size = bytes + EVENT_OVERHEAD;

	if (!wp_ledger_has_room(p->setup.ledger, size))
		return WP_FULL;
	enum wp_rc rc = p->setup.sink->ops->send(p->setup.sink, wp_ledger_next(p->setup.ledger),
						 record, error);
	if (rc != WP_OK)
		return rc;
	if (p->setup.meter != NULL)
		wp_meter_sent(p->setup.meter, wp_ledger_next(p->setup.ledger), record->topic,
			      wp_decoder_transaction(p->decoder)->commit_time_us);
	wp_ledger_add(p->setup.ledger, size);
	p->counts.events++;
	p->counts.bytes += bytes;
	p->has_events = true;
	return WP_OK;
}

/* As much of the event as the dead-letter topic takes. */
static enum wp_rc send_dead_letter(struct wp_pipeline *p, const struct wp_outbox *outbox,
				   const struct wp_record *record, enum wp_letter most,
				   const struct wp_error *reason, struct wp_error *error)
{
	const unsigned least = wp_dead_letter_least(record->is_message);
	enum wp_rc rc = WP_DATA;
	struct wp_record letter;
	struct wp_error said;

	for (unsigned i = most; i <= least && rc == WP_DATA; i++) {
		wp_dead_letter_record(&p->dead_letter, record, p->setup.dead_letter_topic,
				      outbox->options->column_payload, reason, (enum wp_letter)i,
				      &letter);
		p->last.letter = (enum wp_letter)i;
		rc = send_record(p, &letter, &said);
	}
	if (rc == WP_DATA)
		return wp_error_set(error, rc, "%s; and its dead letter cannot be delivered: %s",
				    reason->text, said.text);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "%s", said.text);
	if (wp_fault(WP_FAULT_LETTER_SETTLES))
		(void)wp_ledger_settle(p->setup.ledger, wp_ledger_next(p->setup.ledger) - 1);
	p->last.is_dead_letter = true;
	p->reason = *reason;
	p->counts.dead_letters++;
	return WP_OK;
}

/* Refused before, when it was sent alone. */
static enum wp_rc send_diverted(struct wp_pipeline *p, const struct wp_outbox *outbox,
				const struct wp_record *record,
				const struct wp_pending_dead_letter *pending,
				struct wp_error *error)
{
	struct wp_error reason;

	(void)wp_error_set(&reason, WP_DATA, "%s", pending->reason);
	return send_dead_letter(p, outbox, record, pending->letter, &reason, error);
}

/* `rc` is the answer so far. */
static enum wp_rc send_event(struct wp_pipeline *p, const struct wp_outbox *outbox,
			     const struct wp_event *event, enum wp_rc rc, struct wp_error *error)
{
	struct wp_record record;
	const struct wp_pending_dead_letter *pending =
		p->pending_dead_letters.count == 0
			? NULL
			: wp_pending_dead_letters_find(&p->pending_dead_letters, &event->position);

	enum wp_rc shape_rc =
		wp_shape_record(outbox->shape, event, &record, rc == WP_OK ? error : NULL);
	p->written += wp_shape_written(outbox->shape);
	if (shape_rc != WP_OK && (rc == WP_OK || shape_rc != WP_DATA))
		rc = shape_rc;
	if (rc == WP_OK || rc == WP_DATA)
		name_record(p, &record);
	if (rc == WP_OK && pending != NULL) {
		wp_shape_leftover(outbox->shape, event, &record);
		return send_diverted(p, outbox, &record, pending, error);
	}
	if (rc == WP_OK)
		rc = send_record(p, &record, error);
	if (rc != WP_DATA || p->setup.poison != WP_POISON_DEAD_LETTER)
		return rc;
	struct wp_error reason = *error;
	wp_shape_leftover(outbox->shape, event, &record);
	return send_dead_letter(p, outbox, &record,
				pending != NULL ? pending->letter : WP_LETTER_WHOLE, &reason,
				error);
}

static enum wp_rc take_event(struct wp_pipeline *p, const struct wp_decoded *decoded,
			     struct wp_taken *taken, struct wp_error *error)
{
	forget_name(p);
	name_event(p, decoded->event);
	enum wp_rc rc = send_event(p, decoded->outbox, decoded->event, decoded->verdict, error);
	taken->event = rc == WP_OK;
	taken->dead_letter = rc == WP_OK && p->last.is_dead_letter;
	return rc;
}

/* -- what else comes ------------------------------------------------------ */

static void take_begin(struct wp_pipeline *p)
{
	p->has_events = false;
	if (p->pending_dead_letters.count > 0)
		wp_pending_dead_letters_forget(&p->pending_dead_letters,
					       wp_ledger_confirmed_lsn(p->setup.ledger));
}

static void take_commit(struct wp_pipeline *p, wp_lsn end_lsn)
{
	p->counts.transactions += p->has_events ? 1 : 0;
	wp_ledger_commit(p->setup.ledger, end_lsn);
}

static enum wp_rc take_decoded(struct wp_pipeline *p, const struct wp_decoded *decoded,
			       struct wp_taken *taken, struct wp_error *error)
{
	switch (decoded->kind) {
	case WP_DECODED_EVENT:
		return take_event(p, decoded, taken, error);
	case WP_DECODED_BEGIN:
		take_begin(p);
		break;
	case WP_DECODED_COMMIT:
		take_commit(p, decoded->end_lsn);
		break;
	case WP_DECODED_IGNORED:
		p->counts.ignored++;
		break;
	case WP_DECODED_UPDATE:
		taken->updated = decoded->outbox;
		p->counts.updates += decoded->verdict == WP_OK ? 1 : 0;
		break;
	case WP_DECODED_DELETE:
		p->counts.deletes++;
		break;
	case WP_DECODED_TRUNCATE:
		p->counts.truncates++;
		break;
	case WP_DECODED_MESSAGE:
		p->counts.messages++;
		break;
	case WP_DECODED_MESSAGE_REFUSED:
		taken->refused_message = true;
		p->counts.messages_refused++;
		break;
	case WP_DECODED_FOREIGN:
	case WP_DECODED_NOTHING:
		break;
	}
	return decoded->verdict;
}

static enum wp_rc take_message(struct wp_pipeline *p, struct wp_span message,
			       struct wp_taken *taken, struct wp_error *error)
{
	struct wp_decoded decoded;
	enum wp_rc rc = wp_decoder_take(p->decoder, message, &decoded, error);

	if (rc != WP_OK)
		return rc;
	rc = take_decoded(p, &decoded, taken, error);
	if (rc != WP_OK)
		wp_decoder_unread(p->decoder);
	return rc;
}

enum wp_rc wp_pipeline_take(struct wp_pipeline *p, struct wp_span copy_data, struct wp_taken *ret,
			    struct wp_error *error)
{
	struct wp_frame frame;
	enum wp_rc rc = wp_frame_read(copy_data, &frame, error);

	if (rc != WP_OK)
		return rc;
	*ret = (struct wp_taken){
		.keepalive = frame.kind == WP_FRAME_KEEPALIVE,
		.reply_requested = frame.reply_requested,
		.wal_end = frame.end,
	};
	if (frame.kind == WP_FRAME_KEEPALIVE) {
		wp_ledger_keepalive(p->setup.ledger, frame.end);
		return WP_OK;
	}
	return take_message(p, frame.body, ret, error);
}

int64_t wp_pipeline_commit_time(const struct wp_pipeline *p)
{
	return wp_decoder_transaction(p->decoder)->commit_time_us;
}

bool wp_pipeline_in_transaction(const struct wp_pipeline *p)
{
	return wp_decoder_transaction(p->decoder)->open;
}

bool wp_pipeline_has_sent(const struct wp_pipeline *p)
{
	return p->has_events && wp_pipeline_in_transaction(p);
}

const struct wp_pipeline_counts *wp_pipeline_counts(const struct wp_pipeline *p)
{
	return &p->counts;
}

static void make_printable(char *id, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if ((unsigned char)id[i] < 0x20 || id[i] == 0x7f)
			id[i] = '?';
	}
}

const struct wp_event_name *wp_pipeline_last_event(struct wp_pipeline *p)
{
	make_printable(p->last.id, p->last_id_size);
	return &p->last;
}

void wp_event_name_of(const struct wp_record *record, struct wp_event_name *ret)
{
	*ret = (struct wp_event_name){
		.size = wp_record_size(record),
		.position = record->position,
		.is_message = record->is_message,
	};
	copy_name(ret->table, sizeof(ret->table), wp_span_of(record->table));
	copy_name(ret->id, sizeof(ret->id), record->id);
	copy_name(ret->topic, sizeof(ret->topic), record->topic);
	make_printable(ret->id, strlen(ret->id));
}

const struct wp_position *wp_pipeline_last_position(const struct wp_pipeline *p)
{
	return &p->last.position;
}

size_t wp_pipeline_last_size(const struct wp_pipeline *p)
{
	return p->last.size;
}

uint64_t wp_pipeline_written(const struct wp_pipeline *p)
{
	return p->written;
}

const struct wp_error *wp_pipeline_reason(const struct wp_pipeline *p)
{
	return &p->reason;
}

enum wp_rc wp_pipeline_divert(struct wp_pipeline *p, const char *reason)
{
	struct wp_pending_dead_letter pending = { .position = p->last.position };

	if (p->last.is_dead_letter && p->last.letter == wp_dead_letter_least(p->last.is_message))
		return WP_DATA;
	if (p->last.is_dead_letter)
		pending.letter = p->last.letter + 1;
	(void)snprintf(pending.reason, sizeof(pending.reason), "%s", reason);
	return wp_pending_dead_letters_add(&p->pending_dead_letters, &pending);
}
