/*
 * The bytes of a value. raw: the payload; protobuf: walpost.v1.Event
 * (proto/walpost/v1/event.proto) around it. Pure.
 */
#ifndef WALPOST_OUTBOX_ENVELOPE_H
#define WALPOST_OUTBOX_ENVELOPE_H

#include "walpost/base/buffer.h"
#include "walpost/outbox/event.h"
#include "walpost/outbox/record.h"

/* Appends the packed message to `into`. `payload` is already decoded; null stays absent.
 * `headers` are those of the record. WP_FULL past the buffer's bound, WP_NOMEM. */
enum wp_rc wp_envelope_protobuf(const struct wp_event *event, struct wp_span payload,
				const struct wp_header *headers, size_t header_count,
				struct wp_buffer *into) WP_MUST_CHECK;

#endif
