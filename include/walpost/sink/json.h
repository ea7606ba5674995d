/*
 * Writes a record as one line of JSON, by hand: payloads pass as they are and
 * are never parsed. Pure.
 */
#ifndef WALPOST_SINK_JSON_H
#define WALPOST_SINK_JSON_H

#include "walpost/base/buffer.h"
#include "walpost/sink/record.h"

/* Writes the object with its newline. WP_FULL or WP_NOMEM leave part of it behind. */
enum wp_rc wp_json_record(struct wp_buffer *into, const struct wp_record *record) WP_MUST_CHECK;
/*
 * Writes the same for an event that no record can be made of, with what could be made: `error`, the reason, stands
 * first, then `table` and `id`; the topic is null perhaps.
 */
enum wp_rc wp_json_poison(struct wp_buffer *into, const struct wp_record *record,
			  const char *reason) WP_MUST_CHECK;

#endif
