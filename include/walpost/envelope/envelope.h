/*
 * Makes the bytes of a value. raw: the payload; protobuf: walpost.v1.Event
 * (proto/walpost/v1/event.proto) around it. Pure.
 */
#ifndef WALPOST_ENVELOPE_ENVELOPE_H
#define WALPOST_ENVELOPE_ENVELOPE_H

#include "walpost/base/buffer.h"
#include "walpost/base/error.h"
#include "walpost/envelope/event.h"
#include "walpost/sink/record.h"

/*
 * Writes the packed message into `into`, which is reset first, as is `texts`, room for
 * NUL-terminated copies. `record` is complete but for its value, which is still the
 * payload, decoded; null stays absent.
 * WP_FULL past a buffer's bound; WP_DATA with the error, without table and id: id, type, route or a
 * header's name is not UTF-8; WP_NOMEM.
 */
enum wp_rc wp_envelope_protobuf(const struct wp_event *event, const struct wp_record *record,
				struct wp_buffer *texts, struct wp_buffer *into,
				struct wp_error *error) WP_MUST_CHECK;

#endif
