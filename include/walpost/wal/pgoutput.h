/*
 * Decodes one message of the pgoutput plugin, proto_version 1 with messages.
 * Source: PostgreSQL documentation, "Logical Replication Message Formats".
 *
 * Owns: the arrays that a decoded change points to; a change is valid until the
 * next wp_pgoutput_read() and while the bytes given to it live. Pure.
 * Bounded: WP_COLUMNS_MAX columns (a table has at most 1,600).
 *
 * An unknown message byte is WP_PROTO: skipping what one does not understand
 * is losing it. So are the messages of later protocol versions (a two_phase
 * slot sends them to everyone).
 */
#ifndef WALPOST_WAL_PGOUTPUT_H
#define WALPOST_WAL_PGOUTPUT_H

#include "walpost/base/error.h"
#include "walpost/wal/lsn.h"

#define WP_COLUMNS_MAX 1664

enum wp_change_kind {
	WP_CHANGE_BEGIN,
	WP_CHANGE_COMMIT,
	WP_CHANGE_ORIGIN,
	WP_CHANGE_RELATION,
	WP_CHANGE_TYPE,
	WP_CHANGE_INSERT,
	WP_CHANGE_UPDATE,
	WP_CHANGE_DELETE,
	WP_CHANGE_TRUNCATE,
	WP_CHANGE_MESSAGE,
};

/* How is the server asked to send values? In binary, types without a send function come as text. */
enum wp_transfer { WP_TRANSFER_TEXT, WP_TRANSFER_BINARY };

enum wp_value_kind { WP_VALUE_NULL, WP_VALUE_UNCHANGED, WP_VALUE_TEXT, WP_VALUE_BINARY };

struct wp_value {
	enum wp_value_kind kind;
	struct wp_span bytes; /* null unless text or binary */
};

struct wp_column {
	struct wp_span name; /* NUL-terminated behind its end */
	uint32_t type_oid;
	int32_t type_modifier;
	bool is_key;
};

struct wp_tuple {
	const struct wp_value *values;
	size_t count;
};

struct wp_change {
	enum wp_change_kind kind;
	union {
		struct {
			wp_lsn commit_lsn; /* start of the commit record */
			int64_t commit_time_us;
			uint32_t xid;
		} begin;
		struct {
			wp_lsn commit_lsn;
			wp_lsn end_lsn; /* what to confirm */
			int64_t commit_time_us;
		} commit;
		struct {
			wp_lsn commit_lsn;
			struct wp_span name;
		} origin;
		struct {
			uint32_t oid;
			struct wp_span schema; /* "" on the wire is given as pg_catalog */
			struct wp_span name;
			char replica_identity;
			const struct wp_column *columns;
			size_t column_count;
		} relation;
		struct {
			uint32_t oid;
			struct wp_span schema;
			struct wp_span name;
		} type;
		struct {
			uint32_t relation_oid;
			struct wp_tuple tuple; /* never holds WP_VALUE_UNCHANGED */
		} insert;
		struct {
			uint32_t relation_oid;
			bool has_old;
			struct wp_tuple tuple; /* the new row */
		} update;
		struct {
			uint32_t relation_oid;
			struct wp_tuple tuple; /* the old key or row */
		} del;
		struct {
			uint32_t relation_count;
			uint8_t flags; /* 1 cascade, 2 restart identity */
		} truncate;
		struct {
			bool transactional;
			wp_lsn lsn; /* END of the message's record */
			struct wp_span prefix;
			struct wp_span content;
		} message;
	} as;
};

struct wp_pgoutput {
	struct wp_value values[WP_COLUMNS_MAX];
	struct wp_column columns[WP_COLUMNS_MAX];
};

/* WP_PROTO with the error: it is short, has trailing bytes, an unknown byte, or an unchanged value in an insert. */
enum wp_rc wp_pgoutput_read(struct wp_pgoutput *p, struct wp_span message, struct wp_change *ret,
			    struct wp_error *error) WP_MUST_CHECK;
/*
 * Reads the beginning of a message that was cut, too large to be read whole: an Insert, with NULL for each value that
 * is not within the beginning; a Message without its content; of an Update or a Delete whose row it is. WP_PROTO with
 * the error: it is another kind, or not even that much of it.
 */
enum wp_rc wp_pgoutput_read_beginning(struct wp_pgoutput *p, struct wp_span beginning,
				      struct wp_change *ret, struct wp_error *error) WP_MUST_CHECK;

#endif
