/*
 * What a walsender sends, made by hand: one CopyData frame after the other, with a
 * pgoutput message (proto_version 1) in each that carries data.
 * Source: PostgreSQL documentation, "Logical Replication Message Formats" and
 * "Streaming Replication Protocol".
 *
 * Borrows its room; a frame that does not fit is our mistake and asserts. Data is
 * wire_data() and one message behind it; a keepalive stands alone.
 */
#ifndef WALPOST_TESTS_WIRE_WRITER_H
#define WALPOST_TESTS_WIRE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "walpost/base/span.h"
#include "walpost/wal/lsn.h"

enum { WIRE_XID = 700 };

struct wire_writer {
	uint8_t *bytes; /* borrowed */
	size_t size;
	size_t size_max;
};

struct wire_column {
	const char *name;
	uint32_t type_oid;
};

/* Of Debezium's outbox table, each of type text. */
extern const struct wire_column wire_outbox_columns[5];

void wire_init(struct wire_writer *w, uint8_t *room, size_t size_max);
struct wp_span wire_span(const struct wire_writer *w);

void wire_u8(struct wire_writer *w, uint8_t value);
void wire_u16(struct wire_writer *w, uint16_t value);
void wire_u32(struct wire_writer *w, uint32_t value);
void wire_u64(struct wire_writer *w, uint64_t value);
void wire_text(struct wire_writer *w, const char *text); /* and its NUL */

void wire_keepalive(struct wire_writer *w, wp_lsn wal_end, bool reply_requested);
void wire_data(struct wire_writer *w, wp_lsn lsn);

void wire_begin(struct wire_writer *w, wp_lsn commit_lsn, int64_t commit_time_us);
/* The others have WIRE_XID. */
void wire_begin_as(struct wire_writer *w, wp_lsn commit_lsn, int64_t commit_time_us, uint32_t xid);
void wire_commit(struct wire_writer *w, wp_lsn commit_lsn, wp_lsn end_lsn, int64_t commit_time_us);
void wire_origin(struct wire_writer *w, wp_lsn commit_lsn, const char *name);
void wire_relation(struct wire_writer *w, uint32_t oid, const char *schema, const char *name,
		   const struct wire_column *columns, size_t count);
void wire_type(struct wire_writer *w, uint32_t oid, const char *schema, const char *name);
/* Of text values; a NULL pointer is SQL's NULL. */
void wire_insert(struct wire_writer *w, uint32_t oid, const char *const *values, size_t count);
/* Of binary values; a null span is SQL's NULL. */
void wire_insert_binary(struct wire_writer *w, uint32_t oid, const struct wp_span *values,
			size_t count);
void wire_update(struct wire_writer *w, uint32_t oid, const char *const *values, size_t count);
void wire_delete(struct wire_writer *w, uint32_t oid, const char *const *values, size_t count);
void wire_truncate(struct wire_writer *w, uint32_t oid);
void wire_message(struct wire_writer *w, bool transactional, wp_lsn lsn, const char *prefix,
		  const char *content);

#endif
