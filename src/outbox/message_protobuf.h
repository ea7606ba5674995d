/*
 * Reads a walpost.v1.Message (proto/walpost/v1/message.proto) where it stands; protobuf's own
 * library would allocate for each.
 *
 *   tag varint (field number << 3 | wire type), then
 *     0  varint     1  8 bytes     2  length varint, bytes     5  4 bytes
 *
 * Source: protobuf documentation, "Encoding".
 */
#ifndef WALPOST_SRC_OUTBOX_MESSAGE_PROTOBUF_H
#define WALPOST_SRC_OUTBOX_MESSAGE_PROTOBUF_H

#include "walpost/base/buffer.h"
#include "walpost/outbox/event.h"

/*
 * Fills what it finds; headers go behind those that are there, their names into `texts`.
 * WP_DATA: not such a message, or more headers than an event has. WP_NOMEM.
 */
enum wp_rc wp_message_protobuf(struct wp_span content, struct wp_buffer *texts,
			       struct wp_event *ret) WP_MUST_CHECK;

#endif
