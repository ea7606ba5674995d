/*
 * The record for the dead-letter topic: an event that can never be delivered to its
 * own topic, and why. It has the event's key, value and headers, and behind them
 *
 *   walpost-dead-letter-reason     a sentence for people
 *   walpost-dead-letter-table      schema.table of the row
 *   walpost-dead-letter-id         the event's id (of a bare letter its first 1,024 bytes); null
 *                                  when that is NULL
 *   walpost-dead-letter-topic      where it was to go; null when nothing could be made of it
 *   walpost-dead-letter-size       bytes of key, value and headers as they were to go
 *   walpost-dead-letter-position   its position (wal/position)
 *   walpost-dead-letter-timestamp  the record's timestamp, ms since 1970
 *   walpost-dead-letter-attempts   only of an event that was parked: how many failed, after the first
 *   walpost-dead-letter-first-reason  likewise: why the first did
 *   walpost-dead-letter-omitted    only when something is left out: what, and where it is
 *   walpost-dead-letter-column-NAME   each column of the row that is in no other part of the
 *                                  letter, as Postgres prints it; NAME is the column's, or the one
 *                                  it was given
 *
 * Its own timestamp is the time at which it is sent: the event's may be what was wrong.
 * A public contract. Owns: its texts and its headers. Pure.
 */
#ifndef WALPOST_OUTBOX_DEAD_LETTER_H
#define WALPOST_OUTBOX_DEAD_LETTER_H

#include <stdbool.h>

#include "walpost/base/error.h"
#include "walpost/envelope/event.h"
#include "walpost/sink/record.h"

/* A dead letter holds this much of the event: less, when more is refused too. */
enum wp_letter {
	WP_LETTER_WHOLE,
	WP_LETTER_WITHOUT_VALUE,
	WP_LETTER_BARE, /* neither value, nor key, nor the event's own headers */
};

#define WP_LETTER_HEADERS_MAX (WP_RECORD_HEADERS_KEPT_MAX + 10 + WP_RECORD_COLUMNS_MAX)
#define WP_LETTER_NAMES_SIZE 32768 /* of all columns: two lists and some */

struct wp_dead_letter {
	struct wp_header headers[WP_LETTER_HEADERS_MAX];
	char size[24];
	char position[WP_POSITION_TEXT_SIZE];
	char timestamp[24];
	char attempts[16];
	char omitted[1200];
	char names[WP_LETTER_NAMES_SIZE];
};

/* Returns what it must hold at least: of a logical message all, which is nowhere else. */
enum wp_letter wp_dead_letter_least(bool is_message);

/* An event that was parked has these. */
struct wp_letter_attempts {
	uint32_t failed; /* after the first */
	struct wp_span first_reason;
};

/*
 * `record` is what was to be sent, as far as it could be made; `ret` borrows from it, from `d`, `topic` and `reason`.
 * `letter` is no less than its least; `attempts` NULL: it was never parked. `payload_column` is for the note on where
 * an omitted value is.
 */
void wp_dead_letter_record(struct wp_dead_letter *d, const struct wp_record *record,
			   const char *topic, const char *payload_column,
			   const struct wp_error *reason, enum wp_letter letter,
			   const struct wp_letter_attempts *attempts, struct wp_record *ret);

#endif
