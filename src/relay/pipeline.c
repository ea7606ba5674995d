#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parking.h"
#include "walpost/base/display.h"
#include "walpost/base/json.h"
#include "walpost/outbox/decoder.h"
#include "walpost/outbox/shape.h"
#include "walpost/relay/faults.h"
#include "walpost/relay/pending_dead_letters.h"
#include "walpost/relay/pipeline.h"

enum {
	/*
	 * A message takes so much besides its bytes, in librdkafka and in our own rings: 510 bytes
	 * were measured with three headers and librdkafka 2.0.
	 */
	EVENT_OVERHEAD = 512,
};

struct wp_pipeline {
	struct wp_pipeline_setup setup;
	struct wp_decoder *decoder; /* owned */
	bool has_events;	    /* the current transaction */
	struct wp_pipeline_counts counts;
	struct wp_drop_counts dropped;
	int64_t server_us; /* its clock, by the last frame */
	uint64_t written;
	const struct wp_subject *awaited; /* by what was taken last; NULL: nothing */
	struct wp_event_name last;
	size_t last_id_size;
	struct wp_pending_dead_letters pending_dead_letters;
	struct wp_dead_letter dead_letter;
	struct wp_buffer parked; /* a row of walpost.parked */
	struct wp_error reason;	 /* of the last dead letter, or first of a parked aggregate */
};

static enum wp_rc make_decoder(const struct wp_pipeline *p, const struct wp_outboxes *outboxes,
			       struct wp_decoder **ret, struct wp_error *error)
{
	bool diverts = p->setup.poison != WP_POISON_STOP;
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
	wp_buffer_init(&p->parked, 2 * setup->value_size_max);
	enum wp_rc rc = make_decoder(p, setup->outboxes, &p->decoder, error);
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
	wp_buffer_release(&p->parked);
	wp_drop_counts_release(&p->dropped);
	free(p);
}

enum wp_rc wp_pipeline_change(struct wp_pipeline *p, const struct wp_outboxes *outboxes,
			      struct wp_error *error)
{
	struct wp_decoder *decoder;
	enum wp_rc rc = make_decoder(p, outboxes, &decoder, error);

	if (rc != WP_OK)
		return rc;
	wp_decoder_free(p->decoder);
	p->decoder = decoder;
	p->setup.outboxes = outboxes;
	return WP_OK;
}

void wp_pipeline_begin(struct wp_pipeline *p, const struct wp_timelines *timelines,
		       const char *encoding)
{
	wp_decoder_begin(p->decoder, timelines, encoding);
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

const struct wp_subject *wp_pipeline_awaited(const struct wp_pipeline *p)
{
	return p->awaited;
}

uint32_t wp_pipeline_question(const struct wp_pipeline *p)
{
	return wp_decoder_transaction(p->decoder)->xid;
}

/* -- events --------------------------------------------------------------- */

/* This runs for every event, in as few instructions as it takes. `to` has room for `room` bytes. */
static void copy_cut_off(char *to, size_t room, struct wp_span name)
{
	size_t size = name.size < room ? name.size : room - 1;

	if (size > 0)
		memcpy(to, name.data, size);
	to[size] = '\0';
}

static void name_event(struct wp_pipeline *p, const struct wp_event *event)
{
	copy_cut_off(p->last.table, sizeof(p->last.table), wp_span_of(event->table));
	copy_cut_off(p->last.id, sizeof(p->last.id), event->id);
	p->last.is_message = wp_span_is_null(event->schema);
	p->last.position = event->position;
	p->last_id_size =
		event->id.size < sizeof(p->last.id) ? event->id.size : sizeof(p->last.id) - 1;
}

/* Makes `last` the name of no event, or of one that is not known yet. */
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
		copy_cut_off(p->last.topic, sizeof(p->last.topic), record->topic);
}

/* The event has the ledger's next ticket. */
static void add_ticket(struct wp_pipeline *p, size_t size, struct wp_span topic)
{
	if (p->setup.meter != NULL)
		wp_meter_sent(p->setup.meter, wp_ledger_next(p->setup.ledger), topic,
			      wp_decoder_transaction(p->decoder)->commit_time_us);
	wp_ledger_add(p->setup.ledger, size);
}

/* Returns what reading the event gave, if that is worse than the answer of the shape. */
static enum wp_rc shape_event(struct wp_pipeline *p, const struct wp_decoded *decoded,
			      struct wp_record *ret, struct wp_error *error)
{
	enum wp_rc rc = decoded->verdict;
	enum wp_rc shape_rc = wp_shape_record(decoded->outbox->shape, decoded->event, ret,
					      rc == WP_OK ? error : NULL);

	p->written += wp_shape_written(decoded->outbox->shape);
	if (shape_rc == WP_AGAIN)
		p->awaited = wp_shape_awaited(decoded->outbox->shape);
	return shape_rc != WP_OK && (rc == WP_OK || shape_rc != WP_DATA) ? shape_rc : rc;
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
	add_ticket(p, size, record->topic);
	p->counts.events++;
	p->counts.bytes += bytes;
	p->has_events = true;
	return WP_OK;
}

/* Sends as much of the event as the dead-letter topic takes. */
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
				      NULL, &letter);
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

/* The event was refused before, when it was sent alone. */
static enum wp_rc send_diverted(struct wp_pipeline *p, const struct wp_outbox *outbox,
				const struct wp_record *record,
				const struct wp_pending_dead_letter *pending,
				struct wp_error *error)
{
	struct wp_error reason;

	(void)wp_error_set(&reason, WP_DATA, "%s", pending->reason);
	return send_dead_letter(p, outbox, record, pending->letter, &reason, error);
}

static enum wp_rc send_event(struct wp_pipeline *p, const struct wp_decoded *decoded,
			     struct wp_error *error)
{
	const struct wp_outbox *outbox = decoded->outbox;
	const struct wp_event *event = decoded->event;
	struct wp_record record;
	const struct wp_pending_dead_letter *pending =
		p->pending_dead_letters.count == 0
			? NULL
			: wp_pending_dead_letters_find(&p->pending_dead_letters, &event->position);

	enum wp_rc rc = shape_event(p, decoded, &record, error);
	if (rc == WP_OK || rc == WP_DATA)
		name_record(p, &record);
	if (rc == WP_OK && pending != NULL && p->setup.poison == WP_POISON_PARK)
		return wp_error_set(error, WP_DATA, "%s", pending->reason);
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

/* -- events that nobody wants any more ----------------------------------------- */

static enum wp_rc judge_drop(const struct wp_pipeline *p, const struct wp_decoded *decoded,
			     enum wp_drop *ret, struct wp_error *error)
{
	struct wp_error unread;
	bool refused = decoded->verdict != WP_OK;
	enum wp_rc rc = wp_drop_judge(decoded->outbox->options, decoded->event, refused,
				      p->server_us, ret, &unread);

	return rc == WP_OK ? rc : wp_error_set(error, rc, "%s", unread.text);
}

static bool is_expired_letter(const struct wp_decoded *decoded, enum wp_drop drop)
{
	return drop == WP_DROP_EXPIRED &&
	       decoded->outbox->options->expired == WP_EXPIRED_DEAD_LETTER;
}

/*
 * Whatever else would keep it from being sent does not matter: nobody waits for an expired event.
 */
static enum wp_rc make_expired(struct wp_pipeline *p, const struct wp_decoded *decoded,
			       struct wp_record *ret, struct wp_error *reason)
{
	struct wp_excerpt shown;
	struct wp_error unfit;

	(void)wp_error_set(reason, WP_DATA, "it expired at %s (outbox.column.expires)",
			   wp_excerpt(&shown, decoded->event->expires));
	enum wp_rc rc = shape_event(p, decoded, ret, &unfit);
	if (rc != WP_OK && rc != WP_DATA)
		return wp_error_set(reason, rc, "%s", unfit.text);
	wp_shape_leftover(decoded->outbox->shape, decoded->event, ret);
	return WP_OK;
}

static enum wp_rc send_expired(struct wp_pipeline *p, const struct wp_decoded *decoded,
			       struct wp_error *error)
{
	struct wp_record record;
	struct wp_error reason;
	const struct wp_pending_dead_letter *pending =
		wp_pending_dead_letters_find(&p->pending_dead_letters, &decoded->event->position);

	enum wp_rc rc = make_expired(p, decoded, &record, &reason);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "%s", reason.text);
	name_record(p, &record);
	return send_dead_letter(p, decoded->outbox, &record,
				pending != NULL ? pending->letter : WP_LETTER_WHOLE, &reason,
				error);
}

/* -- parked events --------------------------------------------------------- */

#define FOLLOWS "an earlier event of its aggregate is parked"

/* The identity of the outbox's aggregates depends on these. */
static enum wp_rc write_settings(struct wp_buffer *into, const struct wp_outbox_options *o)
{
	bool falls_back = o->column_key_fallback[0] != '\0';

	return wp_buffer_printf(into, "column.key = %s%s%s", o->column_key,
				falls_back ? ", column.key.fallback = " : "",
				o->column_key_fallback);
}

static enum wp_rc write_text_member(struct wp_buffer *into, const char *name, struct wp_span text)
{
	enum wp_rc rc = wp_buffer_printf(into, ",\"%s\":", name);

	if (rc == WP_OK && wp_span_is_null(text))
		return wp_buffer_append_text(into, "null");
	return rc == WP_OK ? wp_json_write_string(into, text, WP_JSON_NEEDED) : rc;
}

static enum wp_rc write_reason(struct wp_pipeline *p, const struct wp_decoded *decoded,
			       const struct wp_parking_event *event, const char *reason)
{
	struct wp_buffer *into = &p->parked;
	struct wp_buffer settings;

	wp_buffer_init(&settings, 4096);
	enum wp_rc rc = write_settings(&settings, decoded->outbox->options);
	if (rc == WP_OK)
		rc = write_text_member(into, "settings", wp_buffer_span(&settings));
	wp_buffer_release(&settings);
	if (rc == WP_OK)
		rc = write_text_member(into, "topic",
				       p->last.topic[0] != '\0' ? wp_span_of(p->last.topic)
								: (struct wp_span){ 0 });
	if (rc == WP_OK)
		rc = write_text_member(into, "code",
				       wp_span_of(event->code != NULL ? event->code : "FOLLOWS"));
	if (rc == WP_OK)
		rc = write_text_member(into, "reason", wp_span_of(reason));
	if (rc == WP_OK)
		rc = write_text_member(into, "first_reason", wp_span_of(reason));
	if (rc == WP_OK && event->code != NULL)
		rc = wp_buffer_printf(into, ",\"due_in_ms\":%lld",
				      (long long)wp_parking_first_wait(p->setup.parking));
	return rc == WP_OK
		       ? wp_buffer_printf(into, ",\"alone\":%s}", event->alone ? "true" : "false")
		       : rc;
}

static enum wp_rc write_parked_event(struct wp_pipeline *p, const struct wp_decoded *decoded,
				     const struct wp_parking_event *event, const char *reason,
				     struct wp_error *error)
{
	wp_buffer_empty(&p->parked, 0);
	enum wp_rc rc = wp_buffer_append_byte(&p->parked, '{');
	if (rc == WP_OK)
		rc = wp_decoder_write_parked(p->decoder, decoded, &p->parked, error);
	if (rc == WP_DATA)
		return rc;
	if (rc == WP_OK)
		rc = write_reason(p, decoded, event, reason);
	p->written += p->parked.size;
	return rc == WP_OK ? rc : wp_error_set(error, WP_NOMEM, "out of memory for a parked event");
}

/* The event has a ticket as all have: it is settled when the row is durable. */
static enum wp_rc park(struct wp_pipeline *p, const struct wp_decoded *decoded,
		       const struct wp_parking_event *event, struct wp_taken *taken,
		       struct wp_error *error)
{
	struct wp_error reason;
	struct wp_ledger *ledger = p->setup.ledger;
	const wp_ticket ticket = wp_ledger_next(ledger);

	(void)wp_error_set(&reason, WP_DATA, "%s", event->code != NULL ? error->text : FOLLOWS);
	enum wp_rc rc = write_parked_event(p, decoded, event, reason.text, error);
	if (rc != WP_OK)
		return rc;
	size_t size = p->parked.size + EVENT_OVERHEAD;
	if (!wp_ledger_has_room(ledger, size))
		return WP_FULL;
	rc = wp_parking_put(p->setup.parking, ticket, event, wp_buffer_span(&p->parked), error);
	if (rc == WP_DATA)
		return wp_error_set(error, rc, "%s; %s", reason.text, error->text);
	if (rc != WP_OK)
		return rc;
	add_ticket(p, size, wp_span_of(""));
	if (wp_fault(WP_FAULT_PARKED_SETTLES))
		(void)wp_ledger_settle(ledger, ticket);
	taken->parked = taken->rare = true;
	taken->parked_first = event->code != NULL;
	p->reason = reason;
	return WP_OK;
}

static struct wp_parking_event parking_event(const struct wp_decoded *decoded)
{
	return (struct wp_parking_event){
		.outbox = wp_span_of(wp_decoded_order(decoded)),
		.key = decoded->event->key,
		.position = &decoded->event->position,
	};
}

/* The event is of no parked aggregate, but cannot be delivered itself (WP_DATA). */
static enum wp_rc park_first(struct wp_pipeline *p, const struct wp_decoded *decoded,
			     struct wp_taken *taken, struct wp_error *error)
{
	struct wp_parking_event event = parking_event(decoded);
	const struct wp_pending_dead_letter *refused =
		wp_pending_dead_letters_find(&p->pending_dead_letters, event.position);

	if (decoded->event->key_is_unknown)
		return wp_error_set(error, WP_DATA,
				    "%s; nor can it be parked, for its key cannot be read, and so "
				    "which other events must wait for it",
				    error->text);
	event.code = refused != NULL ? refused->code : "NOT_SENDABLE";
	event.alone = refused != NULL;
	return park(p, decoded, &event, taken, error);
}

static enum wp_rc park_follower(struct wp_pipeline *p, const struct wp_decoded *decoded,
				struct wp_taken *taken, struct wp_error *error)
{
	const struct wp_parking_event event = parking_event(decoded);

	return park(p, decoded, &event, taken, error);
}

static enum wp_rc take_parkable(struct wp_pipeline *p, const struct wp_decoded *decoded,
				struct wp_taken *taken, struct wp_error *error)
{
	switch (wp_parking_find(p->setup.parking, wp_span_of(wp_decoded_order(decoded)),
				decoded->event->key, &decoded->event->position)) {
	case WP_PARKING_WAITS:
		return WP_FULL;
	case WP_PARKING_KNOWN:
		taken->parked_before = true;
		return WP_OK;
	case WP_PARKING_FOLLOWS:
		return park_follower(p, decoded, taken, error);
	case WP_PARKING_FLOWS:
		break;
	}
	enum wp_rc rc = send_event(p, decoded, error);
	return rc == WP_DATA ? park_first(p, decoded, taken, error) : rc;
}

/* Returns WP_OK when the event was dropped, or its dead letter was sent. */
static enum wp_rc drop_event(struct wp_pipeline *p, const struct wp_decoded *decoded,
			     enum wp_drop drop, struct wp_error *error)
{
	enum wp_rc rc = WP_OK;

	if (is_expired_letter(decoded, drop))
		rc = send_expired(p, decoded, error);
	if (rc == WP_OK)
		wp_drop_counts_add(&p->dropped, decoded->outbox->name, drop);
	return rc;
}

static enum wp_rc relay_event(struct wp_pipeline *p, const struct wp_decoded *decoded,
			      struct wp_taken *taken, struct wp_error *error)
{
	enum wp_drop drop;
	struct wp_decoded judged = *decoded;

	forget_name(p);
	name_event(p, decoded->event);
	enum wp_rc verdict = judge_drop(p, decoded, &drop, error);
	if (verdict != WP_OK)
		judged.verdict = verdict;
	enum wp_rc rc = drop != WP_DROP_NOT	   ? drop_event(p, &judged, drop, error)
			: p->setup.parking != NULL ? take_parkable(p, &judged, taken, error)
						   : send_event(p, &judged, error);
	bool is_dropped = drop != WP_DROP_NOT && !is_expired_letter(decoded, drop);
	bool is_sent = rc == WP_OK && !is_dropped && !taken->parked && !taken->parked_before;
	taken->event = is_sent;
	p->counts.reissued += is_sent && !wp_span_is_null(decoded->event->reissued) ? 1 : 0;
	taken->dead_letter = is_sent && p->last.is_dead_letter;
	taken->rare |= taken->dead_letter;
	return rc;
}

/* -- what else comes ------------------------------------------------------ */

static void begin_transaction(struct wp_pipeline *p)
{
	p->has_events = false;
	if (p->pending_dead_letters.count > 0)
		wp_pending_dead_letters_forget(&p->pending_dead_letters,
					       wp_ledger_confirmed_lsn(p->setup.ledger));
}

static void end_transaction(struct wp_pipeline *p, wp_lsn end_lsn)
{
	p->counts.transactions += p->has_events ? 1 : 0;
	wp_ledger_commit(p->setup.ledger, end_lsn);
}

static enum wp_rc relay_decoded(struct wp_pipeline *p, const struct wp_decoded *decoded,
				struct wp_taken *taken, struct wp_error *error)
{
	switch (decoded->kind) {
	case WP_DECODED_EVENT:
		return relay_event(p, decoded, taken, error);
	case WP_DECODED_BEGIN:
		begin_transaction(p);
		break;
	case WP_DECODED_COMMIT:
		end_transaction(p, decoded->end_lsn);
		break;
	case WP_DECODED_IGNORED:
		p->counts.ignored++;
		break;
	case WP_DECODED_UPDATE:
		taken->updated = decoded->outbox;
		taken->rare = true;
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
		taken->ignored = decoded->prefix;
		taken->rare = true;
		break;
	case WP_DECODED_MESSAGE_REFUSED:
		taken->refused_message = taken->rare = true;
		p->counts.messages_refused++;
		break;
	case WP_DECODED_REISSUE_REFUSED:
		taken->refused_reissue = taken->rare = true;
		p->counts.reissues_refused++;
		break;
	case WP_DECODED_REISSUE_ELSEWHERE:
		taken->reissue_elsewhere = taken->rare = true;
		p->counts.reissues_elsewhere++;
		break;
	case WP_DECODED_MARK:
		taken->drain = decoded->drain;
		taken->rare |= !wp_span_is_null(decoded->drain);
		break;
	case WP_DECODED_FOREIGN:
	case WP_DECODED_NOTHING:
		break;
	}
	return decoded->verdict;
}

static enum wp_rc relay_message(struct wp_pipeline *p, struct wp_span message,
				struct wp_taken *taken, struct wp_error *error)
{
	struct wp_decoded decoded;
	enum wp_rc rc = wp_decoder_take(p->decoder, message, &decoded, error);

	if (rc != WP_OK)
		return rc;
	rc = relay_decoded(p, &decoded, taken, error);
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
	p->server_us = frame.sent_at_us;
	p->awaited = NULL;
	*ret = (struct wp_taken){
		.keepalive = frame.kind == WP_FRAME_KEEPALIVE,
		.reply_requested = frame.reply_requested,
		.wal_end = frame.end,
	};
	if (frame.kind == WP_FRAME_KEEPALIVE) {
		wp_ledger_keepalive(p->setup.ledger, frame.end);
		return WP_OK;
	}
	return relay_message(p, frame.body, ret, error);
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

const struct wp_drop_counts *wp_pipeline_dropped(const struct wp_pipeline *p)
{
	return &p->dropped;
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
	copy_cut_off(ret->table, sizeof(ret->table), wp_span_of(record->table));
	copy_cut_off(ret->id, sizeof(ret->id), record->id);
	copy_cut_off(ret->topic, sizeof(ret->topic), record->topic);
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

enum wp_rc wp_pipeline_divert(struct wp_pipeline *p, const char *reason, const char *code)
{
	struct wp_pending_dead_letter pending = { .position = p->last.position };

	if (p->last.is_dead_letter && p->last.letter == wp_dead_letter_least(p->last.is_message))
		return WP_DATA;
	if (p->last.is_dead_letter)
		pending.letter = p->last.letter + 1;
	pending.code = code;
	(void)snprintf(pending.reason, sizeof(pending.reason), "%s", reason);
	return wp_pending_dead_letters_add(&p->pending_dead_letters, &pending);
}

/* -- parked events, sent again ------------------------------------------------- */

static enum wp_rc send_beside(struct wp_pipeline *p, wp_ticket ticket,
			      const struct wp_record *record, struct wp_error *error)
{
	size_t bytes = wp_record_size(record);
	enum wp_rc rc = p->setup.sink->ops->send(p->setup.sink, ticket, record, error);

	p->counts.events += rc == WP_OK ? 1 : 0;
	p->counts.bytes += rc == WP_OK ? bytes : 0;
	return rc;
}

/* A letter that is sent for another reason than its attempts is whole. */
static int letter_of_row(const struct wp_parking_row *row, int least)
{
	if (row->letter < 0)
		return WP_LETTER_WHOLE;
	return row->letter < least ? row->letter : least;
}

static enum wp_rc send_parked_letter(struct wp_pipeline *p, const struct wp_parking_row *row,
				     const struct wp_decoded *decoded, struct wp_record *record,
				     struct wp_span why, struct wp_error *error)
{
	const struct wp_letter_attempts attempts = {
		.failed = row->row->attempts,
		.first_reason = row->row->first_reason,
	};
	int least = (int)wp_dead_letter_least(record->is_message);
	struct wp_error reason;
	struct wp_record letter;

	(void)wp_error_set(&reason, WP_DATA, "%.*s", (int)why.size, (const char *)why.data);
	wp_shape_leftover(decoded->outbox->shape, decoded->event, record);
	wp_dead_letter_record(&p->dead_letter, record, p->setup.dead_letter_topic,
			      decoded->outbox->options->column_payload, &reason,
			      (enum wp_letter)letter_of_row(row, least), &attempts, &letter);
	enum wp_rc rc = send_beside(p, row->ticket, &letter, error);
	p->counts.dead_letters += rc == WP_OK ? 1 : 0;
	return rc;
}

/* The event expired while it was parked, or its type is not wanted any more. */
static enum wp_rc drop_parked(struct wp_pipeline *p, const struct wp_parking_row *row,
			      const struct wp_decoded *decoded, enum wp_drop drop,
			      bool *ret_dropped, struct wp_error *error)
{
	struct wp_record record;
	struct wp_error reason;
	enum wp_rc rc = WP_OK;

	*ret_dropped = !is_expired_letter(decoded, drop);
	if (!*ret_dropped)
		rc = make_expired(p, decoded, &record, &reason);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "%s", reason.text);
	if (!*ret_dropped)
		rc = send_parked_letter(p, row, decoded, &record, wp_span_of(reason.text), error);
	if (rc == WP_OK)
		wp_drop_counts_add(&p->dropped, decoded->outbox->name, drop);
	return rc;
}

enum wp_rc wp_pipeline_send_parked(struct wp_pipeline *p, const struct wp_parking_row *row,
				   bool *ret_dropped, struct wp_error *error)
{
	struct wp_decoded decoded;
	struct wp_record record;
	enum wp_drop drop;

	*ret_dropped = false;
	enum wp_rc rc = wp_decoder_read_parked(p->decoder, row->row, &decoded, error);
	if (rc != WP_OK)
		return rc;
	rc = judge_drop(p, &decoded, &drop, error);
	if (rc == WP_OK && drop != WP_DROP_NOT && row->letter < 0)
		return drop_parked(p, row, &decoded, drop, ret_dropped, error);
	if (rc != WP_OK)
		decoded.verdict = rc;
	rc = shape_event(p, &decoded, &record, error);
	if (row->letter >= 0 && (rc == WP_OK || rc == WP_DATA))
		return send_parked_letter(p, row, &decoded, &record, row->row->reason, error);
	return rc == WP_OK ? send_beside(p, row->ticket, &record, error) : rc;
}

enum wp_rc wp_pipeline_parked_outbox(const struct wp_pipeline *p, struct wp_span outbox,
				     struct wp_span settings, struct wp_error *error)
{
	const struct wp_outbox *found = wp_decoder_outbox(p->decoder, outbox);
	struct wp_buffer now;

	if (found == NULL)
		return wp_error_set(error, WP_CONFIG,
				    "events of outbox %.*s are parked in walpost.parked, but no "
				    "outbox of that name is configured: configure it again, or "
				    "give them up: walpost parked purge --outbox",
				    (int)outbox.size, (const char *)outbox.data);
	wp_buffer_init(&now, 4096);
	enum wp_rc rc = write_settings(&now, found->options);
	if (rc == WP_OK && !wp_span_equal(wp_buffer_span(&now), settings))
		rc = wp_error_set(error, WP_CONFIG,
				  "events of outbox %s are parked by %.*s, but the configuration "
				  "says %.*s, by which they would be of other aggregates: set it "
				  "back until walpost parked list is empty",
				  found->name, (int)settings.size, (const char *)settings.data,
				  (int)now.size, (const char *)now.data);
	wp_buffer_release(&now);
	return rc;
}
