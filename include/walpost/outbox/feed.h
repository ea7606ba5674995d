/*
 * Which records would a relay with these outboxes send? The plugin's messages in, without the
 * frames of a stream, read by outbox/decoder; records out, or why there is none. It is for
 * commands that read a log without relaying it. It goes on where a relay stops.
 *
 * Owns: the decoder. Borrows: the setup's pointers. Pure. Bounded: as the decoder.
 */
#ifndef WALPOST_OUTBOX_FEED_H
#define WALPOST_OUTBOX_FEED_H

#include "walpost/base/error.h"
#include "walpost/outbox/options.h"
#include "walpost/sink/record.h"
#include "walpost/source/source.h"

struct wp_feed_setup {
	const struct wp_outboxes *outboxes;
	uint16_t epoch;
	size_t record_max; /* of the sink: what is larger is poison; 0: no bound */
	const struct wp_timelines *timelines;
	const char *encoding;			/* server_encoding */
	const struct wp_column_facts *columns;	/* of the outboxes' tables, in their order */
	const struct wp_partitions *partitions; /* as they are known at any time */
	enum wp_transfer transfer;		/* how the plugin was asked to send values */
};

enum wp_fed_kind {
	WP_FED_NOTHING,
	WP_FED_RECORD,
	WP_FED_POISON, /* an event that no record can be made of */
	WP_FED_NOTE,   /* no event; a relay complains of it, or stops */
};

/* This is what one message was. */
struct wp_fed {
	enum wp_fed_kind kind;
	struct wp_record record; /* of poison what could be made: the topic is null perhaps */
	struct wp_error error;	 /* poison, note */
};

struct wp_feed;

/* WP_CONFIG with the error: the outboxes' options are wrong. WP_NOMEM. */
enum wp_rc wp_feed_new(const struct wp_feed_setup *setup, struct wp_feed **ret,
		       struct wp_error *error) WP_MUST_CHECK;
void wp_feed_free(struct wp_feed *f);
/* Tells of columns from the next row on. WP_NOMEM. */
enum wp_rc wp_feed_know(struct wp_feed *f, const struct wp_column_facts *columns) WP_MUST_CHECK;
/* Was the last WP_CONFIG for a column of a type that the facts do not know? Fresh ones may. */
bool wp_feed_wants_facts(const struct wp_feed *f);
/*
 * `ret` is valid until the next call, and while `message` lives. `now_us`, since 2000-01-01: events
 * that expired before are notes. Other answers are as those of
 * wp_decoder_take(): after WP_PAUSE know the partitions anew, and offer the message again.
 */
enum wp_rc wp_feed_take(struct wp_feed *f, struct wp_span message, int64_t now_us,
			struct wp_fed *ret, struct wp_error *error) WP_MUST_CHECK;

#endif
