/*
 * Which events does a slot hold? Reads the plugin's messages for people, by outbox/decoder: each
 * event with its id, key, topic and position, up to a given place in the log. Never stops at what
 * cannot be sent: that is counted.
 *
 * Owns: the decoder. Borrows: the setup's pointers. Pure. Bounded: as the decoder.
 */
#ifndef WALPOST_OUTBOX_SURVEY_H
#define WALPOST_OUTBOX_SURVEY_H

#include <stdbool.h>

#include "walpost/base/error.h"
#include "walpost/envelope/event.h"
#include "walpost/outbox/names.h"
#include "walpost/outbox/options.h"
#include "walpost/sink/record.h"
#include "walpost/wal/partitions.h"
#include "walpost/wal/timeline.h"

struct wp_survey_setup {
	const struct wp_outboxes *outboxes;
	uint16_t epoch;
	const struct wp_timelines *timelines; /* for the events' positions */
	const char *encoding;		      /* server_encoding */
	wp_lsn until; /* transactions whose COMMIT record begins before this */
	const struct wp_partitions *partitions; /* as they are known at any time */
	size_t record_max; /* bytes of a record that the relay's own limit lets pass; 0: no limit */
};

struct wp_survey_event {
	const char *table; /* "schema.name"; constant while its relation is */
	bool is_message;   /* and no row of a table */
	struct wp_span id; /* null: NULL, or not within what was read */
	struct wp_span key;
	const char *topic; /* "" when it has none; then `error` */
	struct wp_position position;
	size_t size;	       /* of the row as the plugin sent it */
	struct wp_error error; /* "" when the event could be sent as far as can be told here, or its
				* type is skipped */
	bool is_refused; /* it can never be sent, and would be; not told of what was read in part */
};

/* Of tables that nobody configured, the first are told by name. */
#define WP_SURVEY_FOREIGN_MAX 8

struct wp_survey_foreign {
	struct wp_table_name name;
	uint64_t rows;
};

struct wp_survey_counts {
	uint64_t transactions; /* with any of these */
	uint64_t events;
	uint64_t refused;     /* of them: a relay would stop at them */
	uint64_t foreign;     /* rows of tables that nobody configured */
	wp_lsn foreign_until; /* the transactions of all these rows commit below it */
	struct wp_survey_foreign foreign_by_table[WP_SURVEY_FOREIGN_MAX];
	size_t foreign_tables;
	bool foreign_more; /* there are rows of other tables still */
};

struct wp_survey;

/* WP_CONFIG with the error: the outbox's options are wrong. */
enum wp_rc wp_survey_new(const struct wp_survey_setup *setup, struct wp_survey **ret,
			 struct wp_error *error) WP_MUST_CHECK;
void wp_survey_free(struct wp_survey *s);
/*
 * Takes one message. `size` is that of the whole, of which the beginning is enough. `ret_is_event` tells whether `ret`
 * was filled; it is valid until the next call. Other answers are as those of wp_decoder_take().
 */
enum wp_rc wp_survey_take(struct wp_survey *s, struct wp_span message, size_t size,
			  struct wp_survey_event *ret, bool *ret_is_event,
			  struct wp_error *error) WP_MUST_CHECK;
/*
 * Gives the record that the event taken last becomes, about as large as the one that a relay sends; valid until the
 * next call. False: it becomes none, was read in part, or waits for its schema's id.
 */
bool wp_survey_record(struct wp_survey *s, struct wp_record *ret);
const struct wp_survey_counts *wp_survey_counts(const struct wp_survey *s);

#endif
