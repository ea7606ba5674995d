/*
 * Writes one JSON object a line to standard output: topic, key, headers, value,
 * timestamp, position. Bytes that are not UTF-8 stand as base64 under
 * key_base64, value_base64 (headers: {"name":..., "value_base64":...}).
 * A record is confirmed when write() has taken its last byte. Never blocks: a
 * full pipe keeps lines in a bounded buffer (1 MiB, or one larger line), then
 * send() answers WP_AGAIN. A closed pipe: FAILED.
 */
#ifndef WALPOST_SINK_STDOUT_H
#define WALPOST_SINK_STDOUT_H

#include "walpost/sink/sink.h"

/* Borrows `fd`. */
enum wp_rc wp_stdout_new(int fd, struct wp_sink **ret, struct wp_error *error) WP_MUST_CHECK;

#endif
