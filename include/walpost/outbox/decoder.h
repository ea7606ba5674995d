/*
 * What does the log say? A message of the pgoutput plugin in; out comes what it means to an
 * outbox: an event with its position, a change that is none, a row at which a relay stops. All
 * that read a log (`run`, `tail`, `slot skip`, `check`) read it here, so that they never disagree
 * on which rows and messages are events, and where in the log they are.
 *
 * A message is taken whole or not at all: whatever answer but WP_OK comes, nothing has changed
 * and the same message may be offered again.
 *
 * A row of walpost.reissue for our slot is the event that a row of the outbox it names would be,
 * but for its position, which is its own, a header, and perhaps the topic.
 *
 * Owns: what the stream told of relations and types, the outboxes, a copy of the facts. Borrows:
 * the setup's pointers. Pure. Bounded: WP_DECODER_RELATIONS_MAX relations and as many types;
 * one message at a time; texts_max of a row's texts.
 */
#ifndef WALPOST_OUTBOX_DECODER_H
#define WALPOST_OUTBOX_DECODER_H

#include "walpost/base/error.h"
#include "walpost/envelope/event.h"
#include "walpost/outbox/outboxes.h"
#include "walpost/outbox/table.h"
#include "walpost/source/parked.h"
#include "walpost/wal/partitions.h"
#include "walpost/wal/pgoutput.h"
#include "walpost/wal/timeline.h"

#define WP_DECODER_RELATIONS_MAX 100000

struct wp_decoder_setup {
	const struct wp_outboxes *outboxes;
	uint16_t epoch;
	size_t record_max;	 /* of the outboxes' shapes; 0: no bound */
	size_t texts_max;	 /* of one row's binary values, printed, bytes: a guard */
	enum wp_columns columns; /* of a table that lacks one */
	const struct wp_partitions *partitions; /* as they are known at any time */
};

/* The stream is in this transaction, or was in it last. */
struct wp_transaction {
	bool open; /* between Begin and Commit */
	uint32_t xid;
	int64_t commit_time_us;	 /* since 2000-01-01 */
	struct wp_position next; /* of the row or message that comes next */
};

enum wp_decoded_kind {
	WP_DECODED_NOTHING, /* what was told for later, or of walpost's own tables */
	WP_DECODED_BEGIN,
	WP_DECODED_COMMIT,
	WP_DECODED_EVENT,
	WP_DECODED_IGNORED, /* a row of a table under outbox.ignore */
	WP_DECODED_FOREIGN, /* a row of a table that nobody configured */
	WP_DECODED_UPDATE,  /* of an outbox's row: an event does not change */
	WP_DECODED_DELETE,  /* of an outbox's row */
	WP_DECODED_TRUNCATE,
	WP_DECODED_MESSAGE,	    /* of a prefix that is not ours */
	WP_DECODED_MESSAGE_REFUSED, /* of ours, but not transactional: it may roll back */
	WP_DECODED_REISSUE_REFUSED, /* of walpost.reissue, but for no outbox of ours, with the error */
	WP_DECODED_REISSUE_ELSEWHERE, /* of walpost.reissue, but for another slot, with the error */
	WP_DECODED_MARK,	      /* of walpost.reissue: a place in the log, and no event */
};

struct wp_decoded {
	enum wp_decoded_kind kind;
	/*
	 * A relay makes this of it, with the error. WP_DATA: an event that can never be sent, filled as far as it could
	 * be read. WP_CONFIG: a foreign row, or an update that is to stop it.
	 */
	enum wp_rc verdict;
	struct wp_event *event;		/* owned by the decoder, until the next message */
	const struct wp_outbox *outbox; /* of an event, an update, a delete, a refused message */
	const struct wp_relation *relation; /* of a foreign row; of an event that is a row, */
	const struct wp_tuple *row;	    /* and that; NULL: it came otherwise */
	struct wp_span again;		    /* of an event out of walpost.reissue: its "row" */
	struct wp_span prefix;		    /* of a message that is not ours */
	struct wp_span
		drain;	/* of a mark: the number of the drain that wrote it; null: another's */
	wp_lsn end_lsn; /* of a Commit: what to confirm */
};

struct wp_decoder;

/* WP_CONFIG with the error: the outboxes' options are wrong. WP_NOMEM. */
enum wp_rc wp_decoder_new(const struct wp_decoder_setup *setup, struct wp_decoder **ret,
			  struct wp_error *error) WP_MUST_CHECK;
void wp_decoder_free(struct wp_decoder *d);
/* A stream begins: what the last one told is void. Copies the timelines and the server_encoding. */
void wp_decoder_begin(struct wp_decoder *d, const struct wp_timelines *timelines,
		      const char *encoding);
/*
 * Tells what the catalog says of columns, and how values come, from the next row on. Copies the facts. WP_NOMEM: some
 * enums stay unknown, whose columns are refused as those of any other type.
 */
enum wp_rc wp_decoder_know(struct wp_decoder *d, const struct wp_column_facts *facts,
			   enum wp_transfer transfer);
/*
 * `ret` is valid until the next message, and while `message` lives. WP_PAUSE: a row of a table
 * that may be a partition of an outbox, of which the partitions must be known as of this
 * transaction. WP_CONFIG with the error: a column is missing or of a type that does not do, or there
 * are too many relations. WP_PROTO and WP_NOMEM with the error.
 */
enum wp_rc wp_decoder_take(struct wp_decoder *d, struct wp_span message, struct wp_decoded *ret,
			   struct wp_error *error) WP_MUST_CHECK;
/* Takes the beginning of a message that was cut, as wp_pgoutput_read_beginning() reads it. */
enum wp_rc wp_decoder_take_beginning(struct wp_decoder *d, struct wp_span beginning,
				     struct wp_decoded *ret, struct wp_error *error) WP_MUST_CHECK;
/*
 * Appends the columns of walpost.parked that tell the event: `"position": ..., "outbox": ...` and
 * so on. WP_DATA with the error: it has what such a row cannot hold. WP_NOMEM.
 */
enum wp_rc wp_decoder_write_parked(struct wp_decoder *d, const struct wp_decoded *event,
				   struct wp_buffer *into, struct wp_error *error) WP_MUST_CHECK;
/*
 * Gives the event that such a row tells, with its first position, as wp_decoder_take() would give it; `ret` is valid
 * until the next and while `row` lives. WP_CONFIG with the error: it is of no outbox that is configured. WP_NOMEM. To
 * be asked between two messages only.
 */
enum wp_rc wp_decoder_read_parked(struct wp_decoder *d, const struct wp_parked_row *row,
				  struct wp_decoded *ret, struct wp_error *error) WP_MUST_CHECK;
/*
 * Returns what tells the event's aggregate, beside the key, as walpost.parked names it: the outbox; and the topic, of
 * an event that goes to another than its own. It lives as the event does.
 */
const char *wp_decoded_order(const struct wp_decoded *event);
/* Returns the outbox that a row of walpost.parked names; NULL: none is configured. */
const struct wp_outbox *wp_decoder_outbox(const struct wp_decoder *d, struct wp_span name);
/* What was taken last will be offered again: as a row or message it keeps its position. */
void wp_decoder_unread(struct wp_decoder *d);
/* Was the last WP_CONFIG for a column of a type that the facts do not know? Fresh ones may. */
bool wp_decoder_wants_facts(const struct wp_decoder *d);
/* Was the last WP_CONFIG for a column that does not come in binary? As text it would do. */
bool wp_decoder_wants_text(const struct wp_decoder *d);
const struct wp_transaction *wp_decoder_transaction(const struct wp_decoder *d);

#endif
