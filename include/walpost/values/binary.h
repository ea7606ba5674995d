/*
 * Values that came in binary, printed as Postgres prints them: so that an event has
 * the same bytes whichever way its row was sent.
 *
 *   text, varchar, bpchar, name, json, enums   the text itself
 *   "char"                                     Byte1
 *   jsonb                                      0x01 (a version), the text
 *   uuid                                       16 bytes
 *   bytea                                      the bytes
 *   bool                                       Byte1, 0 or 1
 *   int2, int4, int8                           Int16, Int32, Int64
 *   float4, float8                             their bits
 *   numeric                                    groups of four decimal digits
 *   date                                       Int32, days since 2000-01-01
 *   time, timestamp, timestamptz               Int64, microseconds since midnight or then
 *   arrays of these, except of enums           dimensions, then the elements
 *
 * Source: the send and out functions in PostgreSQL's src/backend/utils/adt, with the
 * settings of walpost's sessions (postgres/session_settings). Nothing here
 * depends on the locale. Pure.
 */
#ifndef WALPOST_VALUES_BINARY_H
#define WALPOST_VALUES_BINARY_H

#include "walpost/base/buffer.h"
#include "walpost/wal/relations.h"

/*
 * Returns how many bytes of a buffer wp_binary_text() will take at most, also of a value that it refuses. `element`
 * matters for an array only.
 */
size_t wp_binary_room(enum wp_type type, enum wp_type element, struct wp_span value);
/*
 * `ret` points into `value`, or into `texts`, which has the room and does not move. WP_CONFIG: it has no form that we
 * know; `texts` may have grown all the same.
 */
enum wp_rc wp_binary_text(enum wp_type type, enum wp_type element, struct wp_span value,
			  struct wp_buffer *texts, struct wp_span *ret) WP_MUST_CHECK;

#endif
