/* What the user may say about the outbox. Strings are owned by the configuration. */
#ifndef WALPOST_OUTBOX_OPTIONS_H
#define WALPOST_OUTBOX_OPTIONS_H

#include <stdbool.h>

enum wp_envelope { WP_ENVELOPE_RAW, WP_ENVELOPE_PROTOBUF };
enum wp_key_null { WP_KEY_NULL_STOP, WP_KEY_NULL_ALLOW };

struct wp_outbox_options {
	const char *table;     /* SQL name: schema.table, "Quoted"."Na.me" */
	const char *column_id; /* column names stand for themselves: no quoting, no folding */
	const char *column_key;
	const char *column_type; /* "" : there is none */
	const char *column_payload;
	const char *route_by;	       /* column that gives the raw topic */
	const char *topic_regex;       /* pcre2, must match the whole raw topic */
	const char *topic_replacement; /* $1, ${1}, ${name} */
	const char *headers_standard;  /* list of: id, type, walpost-position */
	const char *headers;	       /* list of column[:name] */
	const char *headers_source;    /* value of a walpost-source header; "": none */
	const char *ignore;	       /* list of table patterns */
	const char *leaves;	       /* list of table patterns */
	enum wp_envelope envelope;
	enum wp_key_null key_null;
};

#endif
