/*
 * Values that came in binary, printed as Postgres prints them: so that an event has
 * the same bytes whichever way its row was sent.
 *
 *   text, varchar, bpchar, name, json   the text itself
 *   jsonb                               0x01 (a version), the text
 *   uuid                                16 bytes
 *   bytea                               the bytes
 *
 * Source: the send functions in PostgreSQL's src/backend/utils/adt. Pure.
 */
#ifndef WALPOST_OUTBOX_BINARY_H
#define WALPOST_OUTBOX_BINARY_H

#include "walpost/base/buffer.h"
#include "walpost/wal/relations.h"

/* How many bytes of a buffer wp_binary_text() will take. */
size_t wp_binary_room(enum wp_type type, struct wp_span value);
/*
 * `ret` points into `value`, or into `texts`, which has the room. WP_CONFIG: not a
 * form that we know.
 */
enum wp_rc wp_binary_text(enum wp_type type, struct wp_span value, struct wp_buffer *texts,
			  struct wp_span *ret) WP_MUST_CHECK;

#endif
