#include <inttypes.h>

#include "walpost/base/wire.h"
#include "walpost/wal/pgoutput.h"

/*
 * Each message has one decoder, with its layout above it (Byte1 of the kind, which comes first, is
 * left out). A decoder only reads; the wire's sticky error and wp_wire_end() tell of short and of
 * left-over bytes once for all. What it answers itself is what the bytes mean.
 */

/* This is "I" or "0x07", for messages. */
struct byte_text {
	char text[8];
};

static struct byte_text byte_text(uint8_t byte)
{
	static const char digits[] = "0123456789ABCDEF";

	if (byte > ' ' && byte < 0x7F)
		return (struct byte_text){ { '\'', (char)byte, '\'' } };
	return (struct byte_text){ { '0', 'x', digits[byte >> 4], digits[byte & 15] } };
}

static enum wp_rc unknown_byte(struct wp_error *error, const char *place, uint8_t byte)
{
	return wp_error_set(error, WP_PROTO, "pgoutput: %s contains an unknown byte %s", place,
			    byte_text(byte).text);
}

/* This is for Relation and Type: a system schema goes as "" over the wire. */
static struct wp_span read_schema(struct wp_wire *w)
{
	struct wp_span schema = wp_wire_cstr(w);

	return schema.size == 0 ? wp_span_of("pg_catalog") : schema;
}

/*
 *   TupleData   Int16 count, then per column:
 *     'n'                        null
 *     'u'                        unchanged, stored out of line
 *     't'  Int32 size  Byte(n)   as text
 *     'b'  Int32 size  Byte(n)   as the type's send function gives it
 */
static enum wp_rc read_tuple(struct wp_pgoutput *p, struct wp_wire *w, struct wp_tuple *ret,
			     bool *ret_unchanged, struct wp_error *error)
{
	size_t count = wp_wire_u16(w);

	if (count > WP_COLUMNS_MAX)
		return wp_error_set(error, WP_PROTO,
				    "pgoutput: a row of %zu columns; at most %d exist", count,
				    WP_COLUMNS_MAX);
	*ret_unchanged = false;
	for (size_t i = 0; i < count && !w->bad; i++) {
		struct wp_value *value = &p->values[i];
		uint8_t kind = wp_wire_u8(w);

		*value = (struct wp_value){ .kind = WP_VALUE_NULL };
		switch (kind) {
		case 't':
			value->kind = WP_VALUE_TEXT;
			value->bytes = wp_wire_bytes(w, wp_wire_u32(w));
			break;
		case 'b':
			value->kind = WP_VALUE_BINARY;
			value->bytes = wp_wire_bytes(w, wp_wire_u32(w));
			break;
		case 'n':
			break;
		case 'u':
			value->kind = WP_VALUE_UNCHANGED;
			*ret_unchanged = true;
			break;
		default:
			if (!w->bad)
				return unknown_byte(error, "a value's kind", kind);
		}
	}
	*ret = (struct wp_tuple){ .values = p->values, .count = count };
	return WP_OK;
}

/*   'B'   Int64 commit LSN  Int64 commit time  Int32 xid */
static enum wp_rc read_begin(struct wp_wire *w, struct wp_change *c, struct wp_error *error)
{
	c->kind = WP_CHANGE_BEGIN;
	c->as.begin.commit_lsn = wp_wire_u64(w);
	c->as.begin.commit_time_us = (int64_t)wp_wire_u64(w);
	c->as.begin.xid = wp_wire_u32(w);
	if (c->as.begin.commit_lsn == 0 && !w->bad)
		return wp_error_set(error, WP_PROTO, "pgoutput: a Begin without its commit LSN");
	return WP_OK;
}

/*   'C'   Int8 flags (0)  Int64 commit LSN  Int64 end LSN  Int64 commit time */
static enum wp_rc read_commit(struct wp_wire *w, struct wp_change *c, struct wp_error *error)
{
	uint8_t flags = wp_wire_u8(w);

	c->kind = WP_CHANGE_COMMIT;
	c->as.commit.commit_lsn = wp_wire_u64(w);
	c->as.commit.end_lsn = wp_wire_u64(w);
	c->as.commit.commit_time_us = (int64_t)wp_wire_u64(w);
	if (flags != 0 && !w->bad)
		return unknown_byte(error, "a Commit's flags", flags);
	return WP_OK;
}

/*   'O'   Int64 commit LSN at the origin  String name */
static enum wp_rc read_origin(struct wp_wire *w, struct wp_change *c)
{
	c->kind = WP_CHANGE_ORIGIN;
	c->as.origin.commit_lsn = wp_wire_u64(w);
	c->as.origin.name = wp_wire_cstr(w);
	return WP_OK;
}

/*
 *   'R'   Int32 oid  String schema ("": pg_catalog)  String name
 *         Int8 replica identity  Int16 count, then per column:
 *           Int8 flags (1: key)  String name  Int32 type oid  Int32 type modifier
 */
static enum wp_rc read_relation(struct wp_pgoutput *p, struct wp_wire *w, struct wp_change *c,
				struct wp_error *error)
{
	c->kind = WP_CHANGE_RELATION;
	c->as.relation.oid = wp_wire_u32(w);
	c->as.relation.schema = read_schema(w);
	c->as.relation.name = wp_wire_cstr(w);
	c->as.relation.replica_identity = (char)wp_wire_u8(w);
	c->as.relation.columns = p->columns;
	size_t count = c->as.relation.column_count = wp_wire_u16(w);
	if (count > WP_COLUMNS_MAX)
		return wp_error_set(error, WP_PROTO,
				    "pgoutput: a relation of %zu columns; at most %d exist", count,
				    WP_COLUMNS_MAX);
	for (size_t i = 0; i < count && !w->bad; i++) {
		struct wp_column *column = &p->columns[i];

		column->is_key = (wp_wire_u8(w) & 1) != 0;
		column->name = wp_wire_cstr(w);
		column->type_oid = wp_wire_u32(w);
		column->type_modifier = (int32_t)wp_wire_u32(w);
	}
	return WP_OK;
}

/*   'Y'   Int32 oid  String schema ("": pg_catalog)  String name */
static enum wp_rc read_type_message(struct wp_wire *w, struct wp_change *c)
{
	c->kind = WP_CHANGE_TYPE;
	c->as.type.oid = wp_wire_u32(w);
	c->as.type.schema = read_schema(w);
	c->as.type.name = wp_wire_cstr(w);
	return WP_OK;
}

/*
 *   'I'   Int32 relation oid  'N'  TupleData
 *
 * An inserted row is always whole. An unchanged value here comes from an update
 * that a row filter turned into an insert: its value is not known.
 */
static enum wp_rc read_insert(struct wp_pgoutput *p, struct wp_wire *w, struct wp_change *c,
			      struct wp_error *error)
{
	bool unchanged = false;

	c->kind = WP_CHANGE_INSERT;
	c->as.insert.relation_oid = wp_wire_u32(w);
	uint8_t part = wp_wire_u8(w);
	if (part != 'N' && !w->bad)
		return unknown_byte(error, "an Insert", part);
	enum wp_rc rc = read_tuple(p, w, &c->as.insert.tuple, &unchanged, error);
	if (rc != WP_OK)
		return rc;
	if (unchanged)
		return wp_error_set(error, WP_PROTO,
				    "pgoutput: an Insert into relation %" PRIu32
				    " holds a value that the server calls unchanged ('u'); the row "
				    "is not whole; does the publication have a row filter?",
				    c->as.insert.relation_oid);
	return WP_OK;
}

/*   'U'   Int32 relation oid  [ 'K' or 'O'  TupleData ]  'N'  TupleData */
static enum wp_rc read_update(struct wp_pgoutput *p, struct wp_wire *w, struct wp_change *c,
			      struct wp_error *error)
{
	bool unchanged;

	c->kind = WP_CHANGE_UPDATE;
	c->as.update.relation_oid = wp_wire_u32(w);
	uint8_t part = wp_wire_u8(w);
	c->as.update.has_old = part == 'K' || part == 'O';
	if (c->as.update.has_old) {
		enum wp_rc rc = read_tuple(p, w, &c->as.update.tuple, &unchanged, error);
		if (rc != WP_OK)
			return rc;
		part = wp_wire_u8(w);
	}
	if (part != 'N' && !w->bad)
		return unknown_byte(error, "an Update", part);
	/* The old row was read to get past it; the new one takes its place. */
	return read_tuple(p, w, &c->as.update.tuple, &unchanged, error);
}

/*   'D'   Int32 relation oid  'K' or 'O'  TupleData */
static enum wp_rc read_delete(struct wp_pgoutput *p, struct wp_wire *w, struct wp_change *c,
			      struct wp_error *error)
{
	bool unchanged;

	c->kind = WP_CHANGE_DELETE;
	c->as.del.relation_oid = wp_wire_u32(w);
	uint8_t part = wp_wire_u8(w);
	if (part != 'K' && part != 'O' && !w->bad)
		return unknown_byte(error, "a Delete", part);
	return read_tuple(p, w, &c->as.del.tuple, &unchanged, error);
}

/*   'T'   Int32 count  Int8 flags (1: cascade, 2: restart identity)  Int32(count) oids */
static enum wp_rc read_truncate(struct wp_wire *w, struct wp_change *c)
{
	c->kind = WP_CHANGE_TRUNCATE;
	c->as.truncate.relation_count = wp_wire_u32(w);
	c->as.truncate.flags = wp_wire_u8(w);
	/* Divided, not multiplied: a count from the wire must not overflow. */
	if (c->as.truncate.relation_count != w->left / 4)
		w->bad = true;
	(void)wp_wire_bytes(w, w->left / 4 * 4); /* which tables is of no interest */
	return WP_OK;
}

/*   'M'   Int8 flags (1: transactional)  Int64 LSN  String prefix  Int32 size  Byte(n) */
static enum wp_rc read_message(struct wp_wire *w, struct wp_change *c, struct wp_error *error)
{
	uint8_t flags = wp_wire_u8(w);

	c->kind = WP_CHANGE_MESSAGE;
	c->as.message.transactional = flags == 1;
	c->as.message.lsn = wp_wire_u64(w);
	c->as.message.prefix = wp_wire_cstr(w);
	c->as.message.content = wp_wire_bytes(w, wp_wire_u32(w));
	if (flags > 1 && !w->bad)
		return unknown_byte(error, "a Message's flags", flags);
	return WP_OK;
}

/*
 * Stream Start and Stop, Abort and Commit were not asked for, nor were Begin Prepare, Prepare,
 * Commit Prepared, Rollback Prepared and Stream Prepare.
 */
static enum wp_rc refuse_unrequested(uint8_t kind, struct wp_error *error)
{
	switch (kind) {
	case 'b':
	case 'P':
	case 'K':
	case 'r':
		return wp_error_set(
			error, WP_PROTO,
			"pgoutput: message '%c' belongs to a prepared transaction: the slot was "
			"created with two_phase; drop it and create one without",
			kind);
	case 'S':
	case 'E':
	case 'A':
	case 'c':
	case 'p':
		return wp_error_set(error, WP_PROTO,
				    "pgoutput: message '%c' belongs to a streamed transaction, "
				    "which was not requested",
				    kind);
	default:
		return wp_error_set(error, WP_PROTO, "pgoutput: unknown message %s",
				    byte_text(kind).text);
	}
}

static enum wp_rc read_body(struct wp_pgoutput *p, uint8_t kind, struct wp_wire *w,
			    struct wp_change *c, struct wp_error *error)
{
	switch (kind) {
	case 'I':
		return read_insert(p, w, c, error);
	case 'B':
		return read_begin(w, c, error);
	case 'C':
		return read_commit(w, c, error);
	case 'R':
		return read_relation(p, w, c, error);
	case 'M':
		return read_message(w, c, error);
	case 'Y':
		return read_type_message(w, c);
	case 'O':
		return read_origin(w, c);
	case 'U':
		return read_update(p, w, c, error);
	case 'D':
		return read_delete(p, w, c, error);
	case 'T':
		return read_truncate(w, c);
	default:
		return refuse_unrequested(kind, error);
	}
}

enum wp_rc wp_pgoutput_read(struct wp_pgoutput *p, struct wp_span message, struct wp_change *ret,
			    struct wp_error *error)
{
	struct wp_change change = { 0 };
	struct wp_wire w;

	wp_wire_init(&w, message);
	uint8_t kind = wp_wire_u8(&w);
	if (w.bad)
		return wp_error_set(error, WP_PROTO, "pgoutput: an empty message");
	enum wp_rc rc = read_body(p, kind, &w, &change, error);
	if (rc != WP_OK)
		return rc;
	rc = wp_wire_end(&w);
	if (rc != WP_OK)
		return wp_error_set(error, rc, "pgoutput: message '%c' of %zu bytes %s", kind,
				    message.size,
				    w.bad ? "is shorter than declared" : "has trailing bytes");
	*ret = change;
	return WP_OK;
}

/* What is not within the beginning is null. */
static bool has_head(struct wp_pgoutput *p, struct wp_change *c)
{
	switch (c->kind) {
	case WP_CHANGE_INSERT:
		for (size_t i = 0; i < c->as.insert.tuple.count; i++) {
			if (wp_span_is_null(p->values[i].bytes))
				p->values[i].kind = WP_VALUE_NULL;
		}
		return c->as.insert.tuple.count > 0;
	case WP_CHANGE_UPDATE:
		return c->as.update.relation_oid != 0;
	case WP_CHANGE_DELETE:
		return c->as.del.relation_oid != 0;
	case WP_CHANGE_MESSAGE:
		c->as.message.content = wp_span_of("");
		return !wp_span_is_null(c->as.message.prefix);
	default:
		return false;
	}
}

enum wp_rc wp_pgoutput_read_beginning(struct wp_pgoutput *p, struct wp_span beginning,
				      struct wp_change *ret, struct wp_error *error)
{
	struct wp_change change = { 0 };
	struct wp_wire w;

	wp_wire_init(&w, beginning);
	uint8_t kind = wp_wire_u8(&w);
	for (size_t i = 0; i < WP_COLUMNS_MAX; i++)
		p->values[i] = (struct wp_value){ .kind = WP_VALUE_NULL };
	enum wp_rc rc = w.bad ? WP_OK : read_body(p, kind, &w, &change, error);
	if (rc != WP_OK)
		return rc;
	if (!has_head(p, &change))
		return wp_error_set(error, WP_PROTO,
				    "pgoutput: the first %zu bytes of message '%c' do not contain "
				    "its relation or prefix",
				    beginning.size, kind);
	*ret = change;
	return WP_OK;
}
