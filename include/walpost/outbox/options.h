/*
 * These are the user's options for an outbox. Strings are owned by the configuration.
 *
 * Columns are named as they stand: no quoting, no folding. In a logical message they are
 * the members of its content.
 */
#ifndef WALPOST_OUTBOX_OPTIONS_H
#define WALPOST_OUTBOX_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WP_OUTBOXES_MAX 1024

enum wp_envelope {
	WP_ENVELOPE_RAW,
	WP_ENVELOPE_PROTOBUF,
	WP_ENVELOPE_CLOUDEVENTS_BINARY,
	WP_ENVELOPE_CLOUDEVENTS_JSON,
	WP_ENVELOPE_CLOUDEVENTS_PROTOBUF,
};
enum wp_key_null { WP_KEY_NULL_STOP, WP_KEY_NULL_ALLOW };
/*
 * A value is written as its text; as JSON; as JSON beside the schema of Kafka Connect; in headers only: as Java prints
 * it, which differs for lists.
 */
enum wp_form { WP_FORM_RAW, WP_FORM_JSON, WP_FORM_JSON_SCHEMA, WP_FORM_STRING };
/* Whose rendering do dates, numbers and the like have? */
enum wp_rendering { WP_RENDERING_POSTGRES, WP_RENDERING_DEBEZIUM };
enum wp_payload_json {
	WP_PAYLOAD_JSON_ANY,	  /* not looked at */
	WP_PAYLOAD_JSON_VALIDATE, /* must be JSON; stays as it is */
	WP_PAYLOAD_JSON_EXPAND,	  /* written anew as Debezium does */
};
enum wp_payload_encoding { WP_PAYLOAD_ENCODING_NONE, WP_PAYLOAD_ENCODING_BASE64 };
enum wp_payload_empty { WP_PAYLOAD_EMPTY_KEEP, WP_PAYLOAD_EMPTY_TOMBSTONE };
enum wp_expand_members { WP_EXPAND_DROP, WP_EXPAND_KEEP };
enum wp_missing { WP_MISSING_ERROR, WP_MISSING_IGNORE };
/* What becomes of an event whose time is over when it is read? */
enum wp_expired { WP_EXPIRED_DROP, WP_EXPIRED_DEAD_LETTER, WP_EXPIRED_SEND };
enum wp_on_update { WP_ON_UPDATE_WARN, WP_ON_UPDATE_ERROR, WP_ON_UPDATE_STOP };
enum wp_message_format { WP_MESSAGE_JSON, WP_MESSAGE_PROTOBUF };

/* Which subject of a schema registry has the schema of a payload? */
enum wp_subject_strategy { WP_SUBJECT_TOPIC, WP_SUBJECT_RECORD, WP_SUBJECT_TOPIC_RECORD };

struct wp_secret_file;

struct wp_registry_options {
	const char *url;			/* "": there is none */
	const char *basic_auth;			/* user:password; "": none */
	const char *bearer_token;		/* "": none */
	struct wp_secret_file *basic_auth_file; /* whose content it is, read anew; or NULL */
	struct wp_secret_file *bearer_token_file;
	const char *ca_file; /* "": the system's */
	int64_t refresh_ms;
};

struct wp_outbox_options {
	const char *name; /* of [outbox.NAME]; "": of [outbox] */
	/* SQL name: schema.table, "Quoted"."Na.me"; or a pattern, tenant_*.outbox; "": none. */
	const char *table;
	const char *leaves;	    /* list of table patterns */
	const char *message_prefix; /* of logical messages that are events; "": none are */
	enum wp_message_format message_format;
	const char *column_id;
	const char *column_key;
	const char *column_key_fallback; /* in place of a NULL key; "": there is none */
	const char *column_type;	 /* "": there is none */
	const char *column_payload;
	const char *column_timestamp; /* "": the time of the commit */
	const char *column_partition; /* "": by the key */
	const char *column_expires;   /* "": none does */
	enum wp_expired expired;
	const char *column_inserted; /* when the row was inserted, for cleanup; "": its rows stay */
	const char *column_processed; /* that cleanup sets; "": none */
	const char *skip_types;	      /* list of patterns; "": none */
	enum wp_missing columns_missing;
	const char *route_by;		/* column that gives the raw topic */
	const char *topic_regex;	/* pcre2, must match the whole raw topic */
	const char *topic_replacement;	/* $1, ${1}, ${name}, ${schema}, ${table} */
	const char *headers_standard;	/* list of: id, type, walpost-position */
	const char *headers;		/* list of column[:name] */
	const char *headers_source;	/* value of a walpost-source header; "": none */
	const char *headers_json;	/* column whose members become headers; "": none */
	const char *headers_properties; /* column of java.util.Properties; "": none */
	enum wp_form headers_format;
	enum wp_key_null key_null;
	enum wp_form key_format;
	const char *key_prefix; /* with ${schema} and ${table}; "": none */
	enum wp_form value_format;
	const char *value_columns; /* list of column[:name] beside the payload; "": none */
	enum wp_payload_encoding payload_encoding;
	enum wp_payload_json payload_json;
	enum wp_payload_empty payload_empty;
	enum wp_expand_members expand_nulls;
	enum wp_expand_members expand_empty_arrays;
	enum wp_rendering types;
	enum wp_envelope envelope;
	const char *ce_source;
	const char *ce_source_column;	/* "": ce_source */
	const char *ce_subject;		/* column; "": none */
	const char *ce_datacontenttype; /* "": by the payload's type */
	const char *ce_dataschema;	/* "": none */
	const char *ce_extensions;	/* list of column[:name] */
	const char *confluent_schemas;	/* list of topic:id[:index/index...] */
	struct wp_registry_options registry;
	enum wp_subject_strategy subject;
	const char *record_name;	     /* with ${type} */
	const char *schema_versions;	     /* list of subject:version[:index/index...] */
	const char *debezium_name;	     /* topic.prefix of the connector that is replaced */
	const char *debezium_schema_version; /* column; "": none */
	bool debezium_context_headers;
	enum wp_on_update on_update;
};

/* Returns the option by which events of this outbox may be dropped; NULL: none is. */
static inline const char *wp_dropping_option(const struct wp_outbox_options *o)
{
	bool expires = o->column_expires[0] != '\0' && o->expired == WP_EXPIRED_DROP;
	return o->skip_types[0] != '\0' ? "outbox.skip.types" : expires ? "outbox.expired" : NULL;
}

/* All of this is relayed from one stream. */
struct wp_outboxes {
	const struct wp_outbox_options *items;
	size_t count;		      /* at least 1 */
	const char *ignore;	      /* list of table patterns */
	const char *slot;	      /* whose rows of walpost.reissue are events; NULL: nobody's */
	struct wp_subjects *subjects; /* with outbox.schema.registry; NULL: nobody asks it */
	const char *run_id; /* a UUID, for Debezium's context headers; NULL: none is needed */
};

#endif
