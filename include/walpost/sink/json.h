/*
 * A record as one line of JSON, written by hand: payloads pass as they are and
 * are never parsed. Pure.
 */
#ifndef WALPOST_SINK_JSON_H
#define WALPOST_SINK_JSON_H

#include "walpost/base/buffer.h"
#include "walpost/outbox/record.h"

/* No overlong forms, no surrogates, nothing above U+10FFFF. */
bool wp_json_is_utf8(struct wp_span bytes);
/* Quoted and escaped; `text` is UTF-8. */
enum wp_rc wp_json_string(struct wp_buffer *into, struct wp_span text) WP_MUST_CHECK;
enum wp_rc wp_json_base64(struct wp_buffer *into, struct wp_span bytes) WP_MUST_CHECK;
/* The object with its newline. WP_FULL or WP_NOMEM leave part of it behind. */
enum wp_rc wp_json_record(struct wp_buffer *into, const struct wp_record *record) WP_MUST_CHECK;

#endif
