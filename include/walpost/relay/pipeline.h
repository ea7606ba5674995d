/*
 * From a CopyData frame to a record in the sink and a ticket in the ledger:
 * frame -> pgoutput -> event -> record -> send. Pure: no I/O but through the
 * sink's interface.
 *
 * A frame is either taken whole or not at all: whatever answer but WP_OK comes,
 * nothing has changed and the same frame may be offered again.
 *
 * Owns: decoder, relations, shapes. Borrows: options, ledger, sink, partitions.
 */
#ifndef WALPOST_RELAY_PIPELINE_H
#define WALPOST_RELAY_PIPELINE_H

#include "walpost/relay/drop_counts.h"
#include "walpost/outbox/dead_letter.h"
#include "walpost/outbox/outboxes.h"
#include "walpost/relay/ledger.h"
#include "walpost/relay/meter.h"
#include "walpost/relay/options.h"
#include "walpost/sink/sink.h"
#include "walpost/wal/pgoutput.h"
#include "walpost/source/source.h"

struct wp_parking;
struct wp_parking_row;
struct wp_subject;

struct wp_pipeline_setup {
	const struct wp_outboxes *outboxes;
	uint16_t epoch;
	size_t value_size_max; /* of a row's texts, bytes: a guard */
	size_t record_max;     /* the sink's: nothing larger is made; 0: no bound */
	enum wp_poison poison;
	const char *dead_letter_topic;
	const struct wp_partitions *partitions; /* as they are known at any time */
	struct wp_ledger *ledger;
	struct wp_meter *meter; /* NULL: nothing is measured */
	struct wp_sink *sink;
	struct wp_parking *parking; /* with poison = park; borrowed. Else NULL */
};

struct wp_pipeline_counts {
	uint64_t transactions; /* with at least one event */
	uint64_t events;       /* handed to the sink, repetitions and dead letters included */
	uint64_t dead_letters; /* of these; likewise */
	uint64_t bytes;	       /* of their keys, values and headers */
	uint64_t updates;      /* on the outbox, ignored; so are these: */
	uint64_t deletes;
	uint64_t truncates;	     /* of any published table */
	uint64_t messages;	     /* of prefixes that are not ours */
	uint64_t messages_refused;   /* of ours, but not transactional: they may roll back */
	uint64_t ignored;	     /* rows of relations under outbox.ignore */
	uint64_t reissued;	     /* of the events those out of walpost.reissue */
	uint64_t reissues_refused;   /* its rows for no outbox that is configured */
	uint64_t reissues_elsewhere; /* and for another slot */
};

/* This tells what the last taken frame was, for feedback. */
struct wp_taken {
	bool keepalive;
	bool reply_requested;
	bool event;			 /* a record went to the sink */
	bool rare;			 /* one of these is so, or a mark was read: */
	bool dead_letter;		 /* and that was a dead letter: wp_pipeline_reason() */
	bool parked_before;		 /* an event that is in walpost.parked */
	bool parked;			 /* one went there, */
	bool parked_first;		 /* as the first of its aggregate: wp_pipeline_reason() */
	bool refused_message;		 /* one that was not transactional */
	bool reissue_elsewhere;		 /* likewise */
	bool refused_reissue;		 /* with the error, though it was taken */
	const struct wp_outbox *updated; /* whose row was updated; NULL: none */
	struct wp_span drain;		 /* a mark of `walpost drain`: its number; else null */
	struct wp_span ignored;		 /* prefix of a message that is not ours; else null */
	wp_lsn wal_end;
};

/* This names, for people, the event that was refused with WP_DATA, or went to the sink last. */
struct wp_event_name {
	char table[512];
	char id[128]; /* cut, made printable */
	char topic[256];
	size_t size;
	struct wp_position position;
	bool is_dead_letter;   /* that is what went to the sink, */
	enum wp_letter letter; /* with so much of the event */
	bool is_message;       /* and no row */
};

struct wp_pipeline;

/* WP_CONFIG with the error: the outbox's options are wrong. */
enum wp_rc wp_pipeline_new(const struct wp_pipeline_setup *setup, struct wp_pipeline **ret,
			   struct wp_error *error) WP_MUST_CHECK;
void wp_pipeline_free(struct wp_pipeline *p);
/*
 * Events are made by these from the next stream on, which must begin before the next frame:
 * what the last one told is void. With the same ones too all memory that events took is given
 * back. WP_CONFIG with the error, WP_NOMEM: nothing has changed.
 */
enum wp_rc wp_pipeline_change(struct wp_pipeline *p, const struct wp_outboxes *outboxes,
			      struct wp_error *error) WP_MUST_CHECK;
/* A stream begins: what the last one told about tables is void. Copies the timelines. */
void wp_pipeline_begin(struct wp_pipeline *p, const struct wp_timelines *timelines,
		       const char *encoding);
/*
 * Tells, after begin, what the catalog says of columns, and how values come. Without memory some enums stay unknown:
 * their columns are then refused as those of any other type.
 */
void wp_pipeline_know(struct wp_pipeline *p, const struct wp_column_facts *facts,
		      enum wp_transfer transfer);
/*
 * WP_OK: taken. WP_FULL: the ledger has no room. WP_AGAIN: the sink takes nothing now, or wp_pipeline_awaited() is not
 * known yet. WP_PAUSE: partitions must be known as of wp_pipeline_question(). WP_DATA: this event can never be
 * delivered; with poison = dead-letter, nor can its dead letter; with park, nor be parked. WP_CONFIG: a human must act
 * (columns missing, a relation that nobody configured, an update that is to stop the relay). WP_IO: the sink is broken.
 * WP_PROTO, WP_NOMEM.
 */
enum wp_rc wp_pipeline_take(struct wp_pipeline *p, struct wp_span copy_data, struct wp_taken *ret,
			    struct wp_error *error) WP_MUST_CHECK;
/* After WP_AGAIN, returns the subject whose schema id must be known; NULL: none. */
const struct wp_subject *wp_pipeline_awaited(const struct wp_pipeline *p);
/* Was the last WP_CONFIG for a column of a type that the facts do not know? Fresh ones may. */
bool wp_pipeline_wants_facts(const struct wp_pipeline *p);
/* Was the last WP_CONFIG for a column that does not come in binary? As text it would do. */
bool wp_pipeline_wants_text(const struct wp_pipeline *p);
/* Returns the transaction that the partitions must cover, after WP_PAUSE. */
uint32_t wp_pipeline_question(const struct wp_pipeline *p);
/* Is the stream between Begin and Commit? */
bool wp_pipeline_in_transaction(const struct wp_pipeline *p);
/* Did an event of that transaction go to the sink? */
bool wp_pipeline_has_sent(const struct wp_pipeline *p);
/* Returns the time of the transaction that it is in, or was in last: microseconds since 2000-01-01 UTC. */
int64_t wp_pipeline_commit_time(const struct wp_pipeline *p);
const struct wp_pipeline_counts *wp_pipeline_counts(const struct wp_pipeline *p);
/* Counts events that were not sent because nobody wants them. */
const struct wp_drop_counts *wp_pipeline_dropped(const struct wp_pipeline *p);
const struct wp_event_name *wp_pipeline_last_event(struct wp_pipeline *p);
/* Names the event of a record which a sink has. */
void wp_event_name_of(const struct wp_record *record, struct wp_event_name *ret);
/* These are of the event sent last, without its names. */
const struct wp_position *wp_pipeline_last_position(const struct wp_pipeline *p);
size_t wp_pipeline_last_size(const struct wp_pipeline *p);
/* Returns the bytes written anew since the beginning, also for what was not sent: the work of the pipeline. */
uint64_t wp_pipeline_written(const struct wp_pipeline *p);
/* Returns why the event sent last went to the dead-letter topic. */
const struct wp_error *wp_pipeline_reason(const struct wp_pipeline *p);
/*
 * The event sent last was refused alone, for that reason, and the code in constant text: when it
 * comes again it is parked, or goes to the dead-letter topic; if its dead letter was refused, with
 * less of it. WP_DATA: no less is possible. WP_FULL: too many of them wait for their transactions'
 * end. WP_NOMEM.
 */
enum wp_rc wp_pipeline_divert(struct wp_pipeline *p, const char *reason,
			      const char *code) WP_MUST_CHECK;
/*
 * Sends a parked event again, or its dead letter, beside the ledger. It answers as wp_pipeline_take() does for events;
 * WP_CONFIG with the error: the event is of no outbox that is configured. `ret_dropped`: nobody wants it any more, and
 * nothing was sent.
 */
enum wp_rc wp_pipeline_send_parked(struct wp_pipeline *p, const struct wp_parking_row *row,
				   bool *ret_dropped, struct wp_error *error) WP_MUST_CHECK;
/*
 * May events of that outbox be sent, as a row of walpost.parked names it? WP_CONFIG with the error:
 * there is none of that name, or it has its key in another column than `settings` say.
 */
enum wp_rc wp_pipeline_parked_outbox(const struct wp_pipeline *p, struct wp_span outbox,
				     struct wp_span settings, struct wp_error *error) WP_MUST_CHECK;

#endif
