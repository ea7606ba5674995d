/*
 * The server has told this about the tables in the stream: by oid, the last
 * Relation message. A new one replaces the old and drops what was attached to
 * it. After a reconnect the server sends all again: clear it.
 *
 * Owns: copies of names and columns, and through `drop` what a user of the map
 * attached to a relation. Pure. Bounded: relations_max, given at init.
 */
#ifndef WALPOST_WAL_RELATIONS_H
#define WALPOST_WAL_RELATIONS_H

#include "walpost/wal/column_facts.h"
#include "walpost/wal/pgoutput.h"

struct wp_relation {
	uint32_t oid;
	struct wp_span schema;		 /* owned by the map; NUL-terminated */
	struct wp_span name;		 /* likewise */
	const struct wp_column *columns; /* likewise, names too */
	size_t column_count;
	void *attached; /* owned by the map once set: freed by `drop` */
};

/* Types are told apart as far as it matters what their two forms on the wire are. */
enum wp_type {
	WP_TYPE_OTHER, /* whatever it is: its binary form is not read */
	WP_TYPE_TEXT,  /* text, varchar, bpchar, name */
	WP_TYPE_CHAR,  /* "char", the one-byte type of the catalogs */
	WP_TYPE_ENUM,  /* any of the user's: its label */
	WP_TYPE_JSON,
	WP_TYPE_JSONB,
	WP_TYPE_UUID,
	WP_TYPE_BYTEA,
	WP_TYPE_BOOL,
	WP_TYPE_INT2,
	WP_TYPE_INT4,
	WP_TYPE_INT8,
	WP_TYPE_FLOAT4,
	WP_TYPE_FLOAT8,
	WP_TYPE_NUMERIC,
	WP_TYPE_DATE,
	WP_TYPE_TIME, /* without time zone */
	WP_TYPE_TIMESTAMP,
	WP_TYPE_TIMESTAMPTZ,
	/* These are known by the text that Postgres prints; their binary form is not read. */
	WP_TYPE_PRINTED, /* inet, cidr, macaddr, macaddr8, ranges; citext */
	WP_TYPE_XML,
	WP_TYPE_TSVECTOR,
	WP_TYPE_LTREE,
	WP_TYPE_ARRAY, /* of one of the above, except enums: wp_relations_element() tells which */
};

/* These are read in binary, for who has to choose another type. */
#define WP_TYPES_READ_IN_BINARY                                                              \
	"boolean, integers, floats, numeric, text, varchar, char, name, json, jsonb, uuid, " \
	"bytea, date, time, timestamp, timestamptz, arrays of these, enums and domains"

#define WP_USER_OID_MIN 16384 /* below are types that every database has: FirstNormalObjectId */

struct wp_relations;

enum wp_rc wp_relations_new(size_t relations_max, void (*drop)(void *attached),
			    struct wp_relations **ret) WP_MUST_CHECK;
void wp_relations_free(struct wp_relations *r);
void wp_relations_clear(struct wp_relations *r);
/* `change` is a WP_CHANGE_RELATION. WP_FULL past the bound, WP_NOMEM. */
enum wp_rc wp_relations_put(struct wp_relations *r, const struct wp_change *change,
			    struct wp_relation **ret) WP_MUST_CHECK;
/* NULL: it was never told. Valid until put of the same oid, clear or free. */
struct wp_relation *wp_relations_find(struct wp_relations *r, uint32_t oid);
/*
 * `change` is a WP_CHANGE_TYPE. For a domain the server sends the base type's
 * name under the domain's oid, schema pg_catalog; what is remembered is which
 * oids are so one of enum wp_type, and the name. WP_FULL past the bound, WP_NOMEM.
 */
enum wp_rc wp_relations_put_type(struct wp_relations *r,
				 const struct wp_change *change) WP_MUST_CHECK;
/*
 * The type is an enum, or a domain over one, which no message tells: its binary form is its label. This holds until
 * clear, or a message that the oid is a domain over something known.
 */
enum wp_rc wp_relations_put_enum(struct wp_relations *r, uint32_t type_oid) WP_MUST_CHECK;
/* Puts all types that the catalog tells of, beside the bound; ends at the first without memory. */
enum wp_rc wp_relations_put_facts(struct wp_relations *r,
				  const struct wp_column_facts *facts) WP_MUST_CHECK;
/* Does values/binary make the text of it? `element` is that of an array. */
bool wp_type_is_read_in_binary(enum wp_type type, enum wp_type element);
enum wp_type wp_relations_type(const struct wp_relations *r, uint32_t type_oid);
/* Returns the type of an array's elements, also when the oid is a domain over an array; else WP_TYPE_OTHER. */
enum wp_type wp_relations_element(const struct wp_relations *r, uint32_t type_oid);
/* Returns it for people, with what it is: "type shop.mood", "a domain over numeric"; NULL: never told. */
const char *wp_relations_type_name(const struct wp_relations *r, uint32_t type_oid);
/* Returns the index of the column, or -1. */
int wp_relation_column(const struct wp_relation *r, struct wp_span name);

#endif
