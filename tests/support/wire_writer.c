#include "wire_writer.h"

#include <assert.h>
#include <string.h>

#include "rows.h"

const struct wire_column wire_outbox_columns[] = {
	{ "id", TEXT_OID },   { "aggregatetype", TEXT_OID }, { "aggregateid", TEXT_OID },
	{ "type", TEXT_OID }, { "payload", TEXT_OID },
};

void wire_init(struct wire_writer *w, uint8_t *room, size_t size_max)
{
	*w = (struct wire_writer){ .bytes = room, .size_max = size_max };
}

struct wp_span wire_span(const struct wire_writer *w)
{
	return (struct wp_span){ .data = w->bytes, .size = w->size };
}

static void put(struct wire_writer *w, const void *bytes, size_t size)
{
	assert(size <= w->size_max - w->size);
	memcpy(w->bytes + w->size, bytes, size);
	w->size += size;
}

void wire_u8(struct wire_writer *w, uint8_t value)
{
	put(w, &value, 1);
}

void wire_u16(struct wire_writer *w, uint16_t value)
{
	wire_u8(w, (uint8_t)(value >> 8));
	wire_u8(w, (uint8_t)value);
}

void wire_u32(struct wire_writer *w, uint32_t value)
{
	wire_u16(w, (uint16_t)(value >> 16));
	wire_u16(w, (uint16_t)value);
}

void wire_u64(struct wire_writer *w, uint64_t value)
{
	wire_u32(w, (uint32_t)(value >> 32));
	wire_u32(w, (uint32_t)value);
}

void wire_text(struct wire_writer *w, const char *text)
{
	put(w, text, strlen(text) + 1);
}

void wire_keepalive(struct wire_writer *w, wp_lsn wal_end, bool reply_requested)
{
	wire_u8(w, 'k');
	wire_u64(w, wal_end);
	wire_u64(w, 0);
	wire_u8(w, reply_requested);
}

void wire_data(struct wire_writer *w, wp_lsn lsn)
{
	wire_u8(w, 'w');
	wire_u64(w, lsn);
	wire_u64(w, lsn);
	wire_u64(w, 0);
}

void wire_begin(struct wire_writer *w, wp_lsn commit_lsn, int64_t commit_time_us)
{
	wire_begin_as(w, commit_lsn, commit_time_us, WIRE_XID);
}

void wire_begin_as(struct wire_writer *w, wp_lsn commit_lsn, int64_t commit_time_us, uint32_t xid)
{
	wire_u8(w, 'B');
	wire_u64(w, commit_lsn);
	wire_u64(w, (uint64_t)commit_time_us);
	wire_u32(w, xid);
}

void wire_commit(struct wire_writer *w, wp_lsn commit_lsn, wp_lsn end_lsn, int64_t commit_time_us)
{
	wire_u8(w, 'C');
	wire_u8(w, 0);
	wire_u64(w, commit_lsn);
	wire_u64(w, end_lsn);
	wire_u64(w, (uint64_t)commit_time_us);
}

void wire_origin(struct wire_writer *w, wp_lsn commit_lsn, const char *name)
{
	wire_u8(w, 'O');
	wire_u64(w, commit_lsn);
	wire_text(w, name);
}

void wire_relation(struct wire_writer *w, uint32_t oid, const char *schema, const char *name,
		   const struct wire_column *columns, size_t count)
{
	wire_u8(w, 'R');
	wire_u32(w, oid);
	wire_text(w, schema);
	wire_text(w, name);
	wire_u8(w, 'd');
	wire_u16(w, (uint16_t)count);
	for (size_t i = 0; i < count; i++) {
		wire_u8(w, i == 0); /* the first is the key */
		wire_text(w, columns[i].name);
		wire_u32(w, columns[i].type_oid);
		wire_u32(w, 0xffffffff);
	}
}

void wire_type(struct wire_writer *w, uint32_t oid, const char *schema, const char *name)
{
	wire_u8(w, 'Y');
	wire_u32(w, oid);
	wire_text(w, schema);
	wire_text(w, name);
}

static void put_row(struct wire_writer *w, char message, uint32_t oid, char which,
		    const char *const *values, size_t count)
{
	wire_u8(w, (uint8_t)message);
	wire_u32(w, oid);
	wire_u8(w, (uint8_t)which);
	wire_u16(w, (uint16_t)count);
	for (size_t i = 0; i < count; i++) {
		wire_u8(w, values[i] == NULL ? 'n' : 't');
		if (values[i] == NULL)
			continue;
		wire_u32(w, (uint32_t)strlen(values[i]));
		put(w, values[i], strlen(values[i]));
	}
}

void wire_insert(struct wire_writer *w, uint32_t oid, const char *const *values, size_t count)
{
	put_row(w, 'I', oid, 'N', values, count);
}

void wire_insert_binary(struct wire_writer *w, uint32_t oid, const struct wp_span *values,
			size_t count)
{
	wire_u8(w, 'I');
	wire_u32(w, oid);
	wire_u8(w, 'N');
	wire_u16(w, (uint16_t)count);
	for (size_t i = 0; i < count; i++) {
		wire_u8(w, wp_span_is_null(values[i]) ? 'n' : 'b');
		if (wp_span_is_null(values[i]))
			continue;
		wire_u32(w, (uint32_t)values[i].size);
		put(w, values[i].data, values[i].size);
	}
}

void wire_update(struct wire_writer *w, uint32_t oid, const char *const *values, size_t count)
{
	put_row(w, 'U', oid, 'N', values, count);
}

void wire_delete(struct wire_writer *w, uint32_t oid, const char *const *values, size_t count)
{
	put_row(w, 'D', oid, 'K', values, count);
}

void wire_truncate(struct wire_writer *w, uint32_t oid)
{
	wire_u8(w, 'T');
	wire_u32(w, 1);
	wire_u8(w, 0);
	wire_u32(w, oid);
}

void wire_message(struct wire_writer *w, bool transactional, wp_lsn lsn, const char *prefix,
		  const char *content)
{
	wire_u8(w, 'M');
	wire_u8(w, transactional);
	wire_u64(w, lsn);
	wire_text(w, prefix);
	wire_u32(w, (uint32_t)strlen(content));
	put(w, content, strlen(content));
}
