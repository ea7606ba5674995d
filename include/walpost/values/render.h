/*
 * A column's value as consumers of Debezium know it: what its Postgres connector and Kafka
 * Connect's converters make of the text that Postgres prints. The session is one with DateStyle
 * ISO, TimeZone UTC, bytea_output hex, extra_float_digits 3; Debezium has its default settings
 * (time.precision.mode adaptive, decimal.handling.mode precise, binary.handling.mode bytes).
 *
 *   bool                   true
 *   int2, int4, int8       the number
 *   float4, float8         as Java 19 and later print it: 0.1, 1.0E300, NaN
 *   numeric(p,s)           base64 of the unscaled value in JSON, else as BigDecimal prints it
 *   numeric                {"scale":2,"value":"ATo="}, without zeros at the end
 *   date                   days since 1970 began
 *   time                   since midnight: milliseconds up to time(3), else microseconds
 *   timestamp              since 1970 began: likewise
 *   timestamptz            2024-02-29T10:34:56.789012Z, with the column's precision
 *   bytea                  base64
 *   text, "char", enum, json, jsonb, uuid, xml, inet, cidr, macaddr, ranges, tsvector, citext,
 *   ltree                  the text
 *   arrays                 a list; its form depends on the converter
 *
 * Different from Debezium on purpose: a bytea or a numeric without scale through StringConverter
 * is the name and address of a Java object there; an array of arrays holds such ones or nulls and
 * is refused here; elements of a time[] have their microseconds.
 *
 * Sources: Debezium 3.6 PostgresValueConverter, JdbcValueConverters, ZonedTimestamp,
 * VariableScaleDecimal; Kafka Connect's Values, SimpleHeaderConverter, StringConverter,
 * JsonConverter; pgjdbc's TypeInfoCache, ArrayDecoding. Pure.
 *
 * Functions append to `into`. WP_DATA with the error, which says what is wrong with the value: it has
 * no such form. WP_FULL, WP_NOMEM. On failure `into` is as it was. `type` must be known.
 */
#ifndef WALPOST_VALUES_RENDER_H
#define WALPOST_VALUES_RENDER_H

#include "walpost/base/buffer.h"
#include "walpost/base/error.h"
#include "walpost/wal/relations.h"

/* These types have a form here, for who has to choose another. */
#define WP_TYPES_RENDERED       \
	WP_TYPES_READ_IN_BINARY \
	"; also inet, cidr, macaddr, ranges, xml, tsvector, citext and ltree"

struct wp_column_type {
	enum wp_type type;
	enum wp_type element; /* of an array */
	int32_t modifier;     /* pg_attribute.atttypmod, of a domain pg_type.typtypmod; -1: none */
	bool is_optional;     /* may be NULL */
	const char *labels;   /* of an enum: comma-separated; NULL: not known. Borrowed */
	bool is_value; /* JSON that stands as it is in a JSON value: a member of a JSON column */
};

/*
 * False: values of this type have no form here: what Postgres cannot have made, an unknown type, or a numeric with a
 * scale below zero.
 */
bool wp_render_knows(const struct wp_column_type *type);
/* Appends what StringConverter writes, for keys and values. `text` is not null. */
enum wp_rc wp_render_string(struct wp_buffer *into, const struct wp_column_type *type,
			    struct wp_span text, struct wp_error *error) WP_MUST_CHECK;
/* Appends what SimpleHeaderConverter writes; arrays differ from the above. `text` is not null. */
enum wp_rc wp_render_header(struct wp_buffer *into, const struct wp_column_type *type,
			    struct wp_span text, struct wp_error *error) WP_MUST_CHECK;
/* Appends what JsonConverter writes for the value alone; null for a null span. */
enum wp_rc wp_render_json(struct wp_buffer *into, const struct wp_column_type *type,
			  struct wp_span text, struct wp_error *error) WP_MUST_CHECK;
/*
 * Appends the Connect schema as JsonConverter writes it; `field` is its name within a struct, NULL: it stands alone. An
 * enum's labels are left out where they are not known. Both are UTF-8.
 */
enum wp_rc wp_render_schema(struct wp_buffer *into, const struct wp_column_type *type,
			    const char *field) WP_MUST_CHECK;

#endif
