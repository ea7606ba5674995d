/*
 * Transactional logical messages are events: SELECT pg_logical_emit_message(true, prefix,
 * content). The content stands for a row.
 *
 * json (message.format): an object; a member stands for the column of its name, by the names
 * of the column options. A string is its text, null is NULL, others are their JSON text as it
 * stands. A member that is not there is NULL; those that nobody asked for are passed over; of
 * two of one name the last counts. Without outbox.headers.json the member `headers` has them.
 *
 *   {"id": "...", "aggregatetype": "...", "aggregateid": "...", "type": "...", "payload": ...}
 *
 * The log has the bytes of a content as they were given: of a text those of the database's encoding.
 * Where that is not UTF8, a content is UTF-8 for certain if it begins with the byte order mark, as
 * walpost.emit() has it begin there, and otherwise must be ASCII, which is the same in every encoding.
 * No JSON object begins with the bytes of the mark, whatever the encoding.
 *
 * protobuf: a walpost.v1.Message (proto/walpost/v1/message.proto).
 *
 * Owns: the names it looks for. Borrows: the options. Pure. Bounded: by the message's size.
 */
#ifndef WALPOST_OUTBOX_MESSAGE_H
#define WALPOST_OUTBOX_MESSAGE_H

#include "walpost/base/buffer.h"
#include "walpost/base/error.h"
#include "walpost/envelope/event.h"
#include "walpost/outbox/options.h"

#define WP_BYTE_ORDER_MARK "\xEF\xBB\xBF"

struct wp_message_reader;

/* WP_CONFIG with the error: a list of columns is none. WP_NOMEM. */
enum wp_rc wp_message_reader_new(const struct wp_outbox_options *options,
				 struct wp_message_reader **ret,
				 struct wp_error *error) WP_MUST_CHECK;
void wp_message_reader_free(struct wp_message_reader *r);
/*
 * `encoding` is the database's server_encoding. Fills all of `ret` but commit_time_us and position. WP_DATA with the
 * error: it is not of that form, or id, key or raw topic is not there; `ret` is filled as far as it could be read. Its
 * spans point into `content`, into `texts`, until its next use, and into the reader. WP_NOMEM.
 */
enum wp_rc wp_message_event(const struct wp_message_reader *r, struct wp_span content,
			    const char *encoding, struct wp_buffer *texts, struct wp_event *ret,
			    struct wp_error *error) WP_MUST_CHECK;

/* Are the bytes of every text in such a database UTF-8? SQL_ASCII's may be anything. */
bool wp_message_texts_are_utf8(const char *encoding);

/*
 * message_protobuf.c: reads a walpost.v1.Message (proto/walpost/v1/message.proto) where it stands;
 * protobuf's own library would allocate for each.
 *
 *   tag varint (field number << 3 | wire type), then
 *     0  varint     1  8 bytes     2  length varint, bytes     5  4 bytes
 *
 * Source: protobuf documentation, "Encoding". Fills what it finds; headers go behind those that are
 * there, their names into `texts`. WP_DATA: it is no such message, or has more headers than an event
 * may. WP_NOMEM.
 */
enum wp_rc wp_message_protobuf(struct wp_span content, struct wp_buffer *texts,
			       struct wp_event *ret) WP_MUST_CHECK;

#endif
