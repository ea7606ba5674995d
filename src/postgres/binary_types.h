/*
 * The built-in types whose binary form values/binary reads, as a list of SQL literals. Arrays
 * of them, enums and domains are read too.
 */
#ifndef WALPOST_POSTGRES_BINARY_TYPES_H
#define WALPOST_POSTGRES_BINARY_TYPES_H

#define WP_BINARY_TYPE_NAMES                                                                  \
	"'bool', 'bytea', 'char', 'name', 'int8', 'int2', 'int4', 'text', 'json', 'float4', " \
	"'float8', 'bpchar', 'varchar', 'date', 'time', 'timestamp', 'timestamptz', "         \
	"'numeric', 'uuid', 'jsonb'"

#endif
