/* This is the table of options, and nothing but data. */
#include <stddef.h>

#include "walpost/config/config.h"
#include "walpost/config/option.h"

#define AT(member_) offsetof(struct wp_config, member_), sizeof(((struct wp_config *)0)->member_)
#define TEXT WP_OPTION_TEXT
#define COUNT WP_OPTION_COUNT
#define SIZE WP_OPTION_SIZE
#define DURATION WP_OPTION_DURATION
#define ENUM WP_OPTION_ENUM
#define BOOL WP_OPTION_BOOL
#define REQUIRED WP_OPTION_REQUIRED
#define TEXT_MAX 65535
#define NAME_MAX_BYTES 63    /* NAMEDATALEN - 1 */
#define MEMBER_MAX_BYTES 512 /* a column, or a member of one */
#define SECOND 1000
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define KIB 1024
#define GIB (1024 * 1024 * 1024)

/* The names are in the order of the enums that they name. */
static const char *const envelopes[] = {
	"raw", "protobuf", "cloudevents-binary", "cloudevents-json", "cloudevents-protobuf", NULL
};
static const char *const forms[] = { "raw", "json", "json-schema", NULL };
static const char *const header_forms[] = { "raw", "json", "json-schema", "string", NULL };
static const char *const renderings[] = { "postgres", "debezium", NULL };
static const char *const subjects[] = { "topic-name", "record-name", "topic-record-name", NULL };
static const char *const payload_jsons[] = { "any", "validate", "expand", NULL };
static const char *const payload_encodings[] = { "none", "base64", NULL };
static const char *const payload_empties[] = { "keep", "tombstone", NULL };
static const char *const expands[] = { "drop", "keep", NULL };
static const char *const missings[] = { "error", "ignore", NULL };
static const char *const expireds[] = { "drop", "dead-letter", "send", NULL };
static const char *const cleanup_modes[] = { "none", "delete", "mark", "drop-partitions", NULL };
static const char *const cleanup_dropped[] = { "error", "remove", NULL };
static const char *const on_updates[] = { "warn", "error", "stop", NULL };
static const char *const message_formats[] = { "json", "protobuf", NULL };
static const char *const binaries[] = { "off", "on", "auto", NULL };
static const char *const key_nulls[] = { "stop", "allow", NULL };
static const char *const poisons[] = { "stop", "dead-letter", "park", NULL };
static const char *const on_halts[] = { "exit", "hold", NULL };
static const char *const postgres_logins[] = { "none", "aws-rds-iam", "azure", "gcp", NULL };
static const char *const kafka_logins[] = { "none", "aws-msk-iam", "azure", "gcp",
					    "oidc", "file",	   NULL };
static const char *const sinks[] = { "kafka", "stdout", NULL };
static const char *const levels[] = { "debug", "info", "warn", "error", NULL };
static const char *const formats[] = { "logfmt", "json", NULL };

const struct wp_option wp_options[] = {
	{ "postgres.conninfo",
	  "libpq connection string: key=value pairs or a URI. The role needs REPLICATION. Without "
	  "sslmode, a\n"
	  "remote host gets sslmode=require. Empty: libpq's own environment (PGHOST, PGSERVICE, "
	  "...). Keep\n"
	  "the password out of it: use postgres.password, a passfile or a service file.",
	  "", TEXT, WP_OPTION_CONNINFO | REQUIRED, AT(postgres.conninfo), 0, TEXT_MAX, NULL,
	  "host=/var/run/postgresql dbname=app user=walpost" },
	{ "postgres.password",
	  "Password of the role. Prefer a file, which is read again for each connection:\n"
	  "WALPOST__POSTGRES__PASSWORD_FILE=/run/secrets/... Empty: libpq's own sources "
	  "(conninfo,\n"
	  "PGPASSWORD, passfile).",
	  "", TEXT, WP_OPTION_SECRET, AT(postgres.password), 0, TEXT_MAX, NULL, NULL },
	{ "postgres.password_command",
	  "Program that prints the password, run without a shell before each connection: words and "
	  "quotes,\n"
	  "no variables or pipes. It prints the password alone, or JSON: {\"token\": \"...\", "
	  "\"expires_at\":\n"
	  "SECONDS or \"2030-01-31T12:00:00Z\"}; with expires_at the password is used again until "
	  "80 % of\n"
	  "its lifetime is over.",
	  "", TEXT, 0, AT(postgres.login_options.command), 0, TEXT_MAX, NULL,
	  "vault read -field=password database/static-creds/walpost" },
	{ "postgres.login",
	  "Passwords from a cloud provider, found as the provider's own SDKs find credentials "
	  "(environment,\n"
	  "files, workload or instance identity). aws-rds-iam: RDS and Aurora with IAM database\n"
	  "authentication. azure: Microsoft Entra ID. gcp: Cloud SQL IAM database authentication.",
	  "none", ENUM, 0, AT(postgres.login_options.provider), 0, 0, postgres_logins,
	  "aws-rds-iam" },
	{ "postgres.login.region",
	  "AWS region. Empty: from the host name, then AWS_REGION and the SDKs' other sources.", "",
	  TEXT, 0, AT(postgres.login_options.region), 0, 64, NULL, "eu-central-1" },
	{ "postgres.login.role", "ARN of an AWS role to assume first. Empty: none.", "", TEXT, 0,
	  AT(postgres.login_options.role), 0, 2048, NULL,
	  "arn:aws:iam::123456789012:role/walpost" },
	{ "postgres.login.timeout",
	  "Time limit of postgres.password_command, or of a provider's answers.", "30s", DURATION,
	  0, AT(postgres.login_options.timeout_ms), 100, 10 * MINUTE, NULL, "10s" },
	{ "postgres.slot",
	  "Logical replication slot, which records how far the outbox has been delivered. "
	  "Lower-case letters,\n"
	  "digits and underscores. One relay reads it at a time; others wait as standbys.",
	  "walpost", TEXT, 0, AT(postgres.slot), 1, NAME_MAX_BYTES, NULL, "shop_relay" },
	{ "postgres.publication",
	  "Publication that contains the outbox table and publishes its inserts.", "walpost", TEXT,
	  0, AT(postgres.publication), 1, NAME_MAX_BYTES, NULL, "shop_relay" },
	{ "postgres.decoding_work_mem",
	  "logical_decoding_work_mem of the relay's session, for example 256MB: the server decodes "
	  "larger\n"
	  "transactions on disk. Empty: the server's setting.",
	  "", TEXT, 0, AT(postgres.decoding_work_mem), 0, 32, NULL, "256MB" },
	{ "postgres.binary",
	  "Whether the server sends values in binary format. This avoids the conversion of bytea "
	  "to\n"
	  "hexadecimal and back, and allows rows above 512 MB. Records are identical either way. "
	  "The columns\n"
	  "used for records must be boolean, integers, floats, numeric, text, varchar, char, name, "
	  "json,\n"
	  "jsonb, uuid, bytea, date, time, timestamp, timestamptz, arrays of these, enums, or "
	  "domains over\n"
	  "these. auto: binary if all are when the stream starts, until a row of another type "
	  "arrives.",
	  "off", ENUM, 0, AT(postgres.binary), 0, 0, binaries, "auto" },
	{ "postgres.allow_synchronous",
	  "Whether synchronous_standby_names may include the relay. The relay confirms only events "
	  "that are\n"
	  "in Kafka, so every commit on the server then waits for Kafka. A transaction that "
	  "attaches a\n"
	  "partition of the outbox and also writes to it then waits forever: attach it in an "
	  "earlier\n"
	  "transaction, or set publish_via_partition_root.",
	  "no", BOOL, 0, AT(postgres.allow_synchronous), 0, 1, NULL, "yes" },
	{ "postgres.connect_timeout",
	  "Time limit of one connection attempt, including name resolution and TLS.", "10s",
	  DURATION, 0, AT(postgres.connect_timeout_ms), 100, 10 * MINUTE, NULL, "5s" },

	{ "outbox.table",
	  "The outbox table, schema.table, by SQL rules: the default schema is public; quoted "
	  "parts are\n"
	  "literal, others are folded to lower case. Empty: no table, events are logical messages "
	  "only.\n"
	  "Several tables: one section [outbox.NAME] for each, which inherits unset keys from "
	  "[outbox].\n"
	  "With * for any characters of a part it stands for all tables that fit, also later "
	  "ones:\n"
	  "tenant_*.outbox.",
	  "public.outbox", TEXT, 0, AT(outbox.table), 0, 1024, NULL, "sales.outbox" },
	{ "outbox.message.prefix",
	  "Prefix of logical messages that are events: SELECT pg_logical_emit_message(true, "
	  "'outbox', ...),\n"
	  "or walpost.emit() of sql/outbox_emit.sql. Empty: none. Messages with other prefixes are "
	  "ignored.",
	  "", TEXT, 0, AT(outbox.message_prefix), 0, NAME_MAX_BYTES, NULL, "outbox" },
	{ "outbox.message.format",
	  "Format of such a message. json: an object whose members correspond to columns (id, "
	  "aggregatetype,\n"
	  "aggregateid, type, payload, as named by the column options), and headers. protobuf: a\n"
	  "walpost.v1.Message (proto/).",
	  "json", ENUM, 0, AT(outbox.message_format), 0, 0, message_formats, "protobuf" },
	{ "outbox.column.id",
	  "Column with the event's identifier. Column names are literal: no quotes, no case "
	  "folding. All\n"
	  "but those of id, times and partition may be a member of a JSON column: data->headers "
	  "(JSON),\n"
	  "data->headers->>tenant (text), or data::json (the whole column as JSON).",
	  "id", TEXT, 0, AT(outbox.column_id), 1, NAME_MAX_BYTES, NULL, "event_id" },
	{ "outbox.column.key",
	  "Column with the aggregate's identifier. Its text is the key of the Kafka record, so "
	  "events of one\n"
	  "aggregate stay in order.",
	  "aggregateid", TEXT, 0, AT(outbox.column_key), 1, MEMBER_MAX_BYTES, NULL, "order_id" },
	{ "outbox.column.key.fallback",
	  "Column whose value is the key if column.key is NULL. Empty: none.", "", TEXT, 0,
	  AT(outbox.column_key_fallback), 0, MEMBER_MAX_BYTES, NULL, "id" },
	{ "outbox.column.type", "Column with the event's type, sent as a header. Empty: none.",
	  "type", TEXT, 0, AT(outbox.column_type), 0, MEMBER_MAX_BYTES, NULL, "event_type" },
	{ "outbox.column.payload",
	  "Column with the value: json, jsonb or text as Postgres prints them, bytea as raw bytes. "
	  "NULL: a\n"
	  "record without a value.",
	  "payload", TEXT, 0, AT(outbox.column_payload), 1, MEMBER_MAX_BYTES, NULL, "data->body" },
	{ "outbox.column.timestamp",
	  "Column with the record's timestamp: timestamp (in UTC), timestamptz, date, or a bigint "
	  "of\n"
	  "milliseconds since 1970. NULL or not set: the time of the commit.",
	  "", TEXT, 0, AT(outbox.column_timestamp), 0, NAME_MAX_BYTES, NULL, "occurred_at" },
	{ "outbox.column.partition",
	  "Integer column with the number of the record's partition. NULL or not set: by the key, "
	  "like the\n"
	  "Java producer (murmur2).",
	  "", TEXT, 0, AT(outbox.column_partition), 0, NAME_MAX_BYTES, NULL, "partition" },
	{ "outbox.column.expires",
	  "Column with the time after which the event is worthless, of the types of "
	  "column.timestamp. NULL or not\n"
	  "set: never.",
	  "", TEXT, 0, AT(outbox.column_expires), 0, NAME_MAX_BYTES, NULL, "expires_at" },
	{ "outbox.expired",
	  "How to treat an event that the relay reads after that time, by the server's clock. "
	  "drop: it is not\n"
	  "sent, and counted (walpost_events_dropped_total). dead-letter: it goes to "
	  "relay.dead_letter.topic,\n"
	  "which must be set. send: as any other.",
	  "drop", ENUM, 0, AT(outbox.expired), 0, 0, expireds, "dead-letter" },
	{ "outbox.column.inserted",
	  "Column with the time at which the row was inserted, which never changes, for cleanup: "
	  "timestamptz,\n"
	  "timestamp or date (in UTC), or a bigint of milliseconds since 1970. Not set: cleanup "
	  "leaves the\n"
	  "table alone. walpost backfill and replay take it for the order of the rows if nothing "
	  "else gives one.",
	  "", TEXT, 0, AT(outbox.column_inserted), 0, NAME_MAX_BYTES, NULL, "created_at" },
	{ "outbox.column.processed",
	  "Column that cleanup.mode = mark sets to the present time (a boolean to true) where it "
	  "is NULL.",
	  "", TEXT, 0, AT(outbox.column_processed), 0, NAME_MAX_BYTES, NULL, "processed_at" },
	{ "outbox.skip.types",
	  "Types (column.type) of events that are not sent, and counted: comma-separated, * stands "
	  "for any run\n"
	  "of characters. Empty: none.",
	  "", TEXT, 0, AT(outbox.skip_types), 0, 8192, NULL, "Debug*,CacheWarmed" },
	{ "outbox.columns.missing",
	  "How to treat a table that lacks one of the optional columns (timestamp, partition, "
	  "headers,\n"
	  "value.columns). error: refuse it. ignore: proceed as if the column were not configured.",
	  "error", ENUM, 0, AT(outbox.columns_missing), 0, 0, missings, "ignore" },
	{ "outbox.route.by", "Column whose value selects the topic.", "aggregatetype", TEXT, 0,
	  AT(outbox.route_by), 1, MEMBER_MAX_BYTES, NULL, "type" },
	{ "outbox.topic.regex",
	  "Regular expression (PCRE2) that must match the whole value of the route.by column. "
	  "Without a match\n"
	  "the value itself is the topic. topic.replacement names its groups.",
	  "(?<routedByValue>.*)", TEXT, 0, AT(outbox.topic_regex), 1, 4096, NULL,
	  "(?<routedByValue>[a-z]+)\\..*" },
	{ "outbox.topic.replacement",
	  "Topic name, with $1, ${1} or ${name} for groups of the expression, and ${schema} and\n"
	  "${table} of the row's table.",
	  "outbox.event.${routedByValue}", TEXT, 0, AT(outbox.topic_replacement), 1, 4096, NULL,
	  "orders.events" },
	{ "outbox.headers.standard",
	  "Standard headers to send: id, type, walpost-position. A consumer that keeps the "
	  "highest\n"
	  "walpost-position per partition can drop every duplicate.",
	  "id,type,walpost-position", TEXT, 0, AT(outbox.headers_standard), 0, 1024, NULL,
	  "id,type" },
	{ "outbox.headers",
	  "Further columns to send as headers: column or column:header, comma-separated. A "
	  "header's name must\n"
	  "not begin with walpost-. ${schema}:header and ${table}:header send the row's table.",
	  "", TEXT, 0, AT(outbox.headers), 0, 8192, NULL, "trace_id,tenant:x-tenant" },
	{ "outbox.headers.source",
	  "Value of a walpost-source header, for topics with several sources. Empty: no such "
	  "header.",
	  "", TEXT, WP_OPTION_GLOBAL, AT(outbox.headers_source), 0, 1024, NULL, "shop-eu" },
	{ "outbox.headers.json",
	  "Column of json or jsonb, an object whose members become headers: strings as they are, "
	  "others as\n"
	  "JSON text, null as a header with a null value. Names that begin with walpost-, or that "
	  "walpost\n"
	  "itself sends on the record, are left out. Empty: none.",
	  "", TEXT, 0, AT(outbox.headers_json), 0, MEMBER_MAX_BYTES, NULL, "headers" },
	{ "outbox.headers.properties",
	  "Column with lines of name=value (java.util.Properties, as Debezium's "
	  "tracingspancontext) that\n"
	  "become headers: traceparent, tracestate. The same names are left out as for "
	  "headers.json. Empty:\n"
	  "none.",
	  "", TEXT, 0, AT(outbox.headers_properties), 0, MEMBER_MAX_BYTES, NULL,
	  "tracingspancontext" },
	{ "outbox.headers.format",
	  "Format of id, type and the columns under headers. raw: their text. json: JSON. "
	  "json-schema: JSON\n"
	  "with its Kafka Connect schema, as Debezium Server sends it. string: raw except for "
	  "arrays with\n"
	  "types = debezium: [a, b c, null] in place of [\"a\",\"b c\",null] (StringConverter).",
	  "raw", ENUM, 0, AT(outbox.headers_format), 0, 0, header_forms, "string" },
	{ "outbox.key.format",
	  "Format of the key. raw: its text (StringConverter). json: JsonConverter without schemas "
	  "(a text\n"
	  "has quotes). json-schema: JsonConverter with schemas. The format determines the "
	  "partition: keep\n"
	  "the one that a topic already has.",
	  "raw", ENUM, 0, AT(outbox.key_format), 0, 0, forms, "json-schema" },
	{ "outbox.key.prefix",
	  "Text before each key, such as ${schema}/ which keeps equal keys of two tenants apart.\n"
	  "${schema} and ${table} are those of the row's table. Requires key.format = raw.",
	  "", TEXT, 0, AT(outbox.key_prefix), 0, 1024, NULL, "${schema}/" },
	{ "outbox.key.null",
	  "Action for a row whose key column is NULL. stop: stop the relay. allow: send a record "
	  "without a\n"
	  "key, in no order.",
	  "stop", ENUM, 0, AT(outbox.key_null), 0, 0, key_nulls, "allow" },
	{ "outbox.value.format",
	  "Format of the value. raw: the payload's bytes. json: a payload of text or json is a "
	  "JSON string,\n"
	  "unless payload.json declares it to be JSON. json-schema: the same, with its Kafka "
	  "Connect schema.",
	  "raw", ENUM, 0, AT(outbox.value_format), 0, 0, forms, "json" },
	{ "outbox.value.columns",
	  "Columns to send in the value together with the payload: column or column:name, "
	  "comma-separated.\n"
	  "The value is then an object: {\"payload\":...,\"name\":...}. Requires value.format = "
	  "json or\n"
	  "json-schema.",
	  "", TEXT, 0, AT(outbox.value_columns), 0, 8192, NULL, "aggregateid:order,created_at" },
	{ "outbox.payload.encoding",
	  "Encoding of the payload in its column. none: it is sent as it is. base64: it is a text "
	  "in base64\n"
	  "(RFC 4648), and the bytes that this stands for are sent.",
	  "none", ENUM, 0, AT(outbox.payload_encoding), 0, 0, payload_encodings, "base64" },
	{ "outbox.payload.json",
	  "any: the payload is not checked. validate: it must be JSON, and is sent unchanged, byte "
	  "for byte.\n"
	  "expand: it is rewritten like Debezium's table.expand.json.payload, which loses nulls, "
	  "long numbers\n"
	  "and more.",
	  "any", ENUM, 0, AT(outbox.payload_json), 0, 0, payload_jsons, "validate" },
	{ "outbox.payload.empty",
	  "tombstone: an empty or blank payload is sent as a null value, like NULL. keep: it is "
	  "sent as it\n"
	  "is.",
	  "keep", ENUM, 0, AT(outbox.payload_empty), 0, 0, payload_empties, "tombstone" },
	{ "outbox.expand.nulls",
	  "With payload.json = expand: whether to drop or keep members that are null.", "drop",
	  ENUM, 0, AT(outbox.expand_nulls), 0, 0, expands, "keep" },
	{ "outbox.expand.empty_arrays",
	  "With payload.json = expand: whether to drop or keep members that are empty arrays.",
	  "drop", ENUM, 0, AT(outbox.expand_empty_arrays), 0, 0, expands, "keep" },
	{ "outbox.types",
	  "Form of numbers, dates and similar types in keys, headers and value.columns. postgres: "
	  "as Postgres\n"
	  "prints them. debezium: as its converters write them (a timestamp is a number of "
	  "microseconds; a\n"
	  "NULL in a column with a constant DEFAULT becomes that constant).",
	  "postgres", ENUM, 0, AT(outbox.types), 0, 0, renderings, "debezium" },
	{ "outbox.envelope",
	  "Envelope of the payload. raw: none. protobuf: a walpost.v1.Event (proto/). "
	  "cloudevents-binary:\n"
	  "CloudEvents 1.0 attributes as ce_ headers. cloudevents-json and cloudevents-protobuf: "
	  "the whole\n"
	  "event in the value; these three need cloudevents.source or its column.",
	  "raw", ENUM, 0, AT(outbox.envelope), 0, 0, envelopes, "cloudevents-binary" },
	{ "outbox.cloudevents.source",
	  "The source attribute, a URI reference such as /orders. Required by the cloudevents "
	  "envelopes,\n"
	  "unless a column has it. With a column, for rows in which that is NULL or empty.",
	  "", TEXT, 0, AT(outbox.ce_source), 0, 1024, NULL, "/shop/orders" },
	{ "outbox.cloudevents.source.column",
	  "Column with the source attribute. Empty: cloudevents.source.", "", TEXT, 0,
	  AT(outbox.ce_source_column), 0, MEMBER_MAX_BYTES, NULL, "source" },
	{ "outbox.cloudevents.subject", "Column with the subject attribute. Empty: none.", "", TEXT,
	  0, AT(outbox.ce_subject), 0, MEMBER_MAX_BYTES, NULL, "aggregateid" },
	{ "outbox.cloudevents.datacontenttype",
	  "The datacontenttype attribute. Empty: application/json for json and "
	  "jsonb,\napplication/octet-stream for bytea, text/plain for others.",
	  "", TEXT, 0, AT(outbox.ce_datacontenttype), 0, 256, NULL, "application/json" },
	{ "outbox.cloudevents.dataschema", "The dataschema attribute, a URI. Empty: none.", "",
	  TEXT, 0, AT(outbox.ce_dataschema), 0, 1024, NULL,
	  "https://example.org/schemas/order.json" },
	{ "outbox.cloudevents.extensions",
	  "Columns that are extension attributes: column or column:name, comma-separated. Names "
	  "consist of\n"
	  "lower-case letters and digits.",
	  "", TEXT, 0, AT(outbox.ce_extensions), 0, 8192, NULL, "tenant,trace_id:traceid" },
	{ "outbox.confluent.schemas",
	  "Schema ids to prepend, in Confluent's wire format, to payloads that the application "
	  "encoded:\n"
	  "topic:id for Avro, topic:id:0 for Protobuf with the index of its message (0, or 1/0 for "
	  "a nested\n"
	  "one), comma-separated; * in a topic matches any run of characters. Topics without a "
	  "match get no\n"
	  "id.",
	  "", TEXT, 0, AT(outbox.confluent_schemas), 0, 8192, NULL, "orders.*:42" },
	{ "outbox.schema.registry",
	  "URL of a schema registry with Confluent's API. Payloads that the application encoded "
	  "with "
	  "Avro,\n"
	  "Protobuf or JSON Schema are preceded, in Confluent's wire format, by the id of their "
	  "subject's\n"
	  "schema. Schemas are neither registered nor checked. Empty: none.",
	  "", TEXT, 0, AT(outbox.registry.url), 0, 2048, NULL, "https://registry.example.org" },
	{ "outbox.schema.registry.basic_auth",
	  "Login at the registry, user:password. Prefer a file, which is read again for "
	  "each\n"
	  "request: WALPOST__OUTBOX__SCHEMA_REGISTRY_BASIC_AUTH_FILE names it. Empty: none.",
	  "", TEXT, WP_OPTION_SECRET, AT(outbox.registry.basic_auth), 0, 4096, NULL, NULL },
	{ "outbox.schema.registry.bearer_token",
	  "Token for the registry, in place of a user and password. Empty: none.", "", TEXT,
	  WP_OPTION_SECRET, AT(outbox.registry.bearer_token), 0, 16384, NULL, NULL },
	{ "outbox.schema.registry.ca_file",
	  "Certificates of the authorities that the registry's certificate is checked against, "
	  "PEM. "
	  "Empty:\n"
	  "the system's.",
	  "", TEXT, 0, AT(outbox.registry.ca_file), 0, 4096, NULL, "/etc/walpost/registry-ca.pem" },
	{ "outbox.schema.subject",
	  "Subject of an event's schema. topic-name: the topic and -value. record-name: "
	  "outbox.schema.record.\n"
	  "topic-record-name: the topic, a hyphen and outbox.schema.record.",
	  "topic-name", ENUM, 0, AT(outbox.subject), 0, 0, subjects, "record-name" },
	{ "outbox.schema.record",
	  "Record name, for record-name and topic-record-name; ${type} is the event's type. For "
	  "example\n"
	  "com.example.orders.${type}.",
	  "${type}", TEXT, 0, AT(outbox.record_name), 0, 512, NULL, "org.example.orders.${type}" },
	{ "outbox.schema.versions",
	  "Versions of subjects: subject:version, comma-separated; * in a subject matches any run "
	  "of\n"
	  "characters, version is a number or latest. For Protobuf subject:version:0 gives the "
	  "index "
	  "of the\n"
	  "message within its file (0, which is the default, or 1/0 for a nested one). Subjects "
	  "without a match\n"
	  "have latest. Pin Avro: its payloads are decoded by exactly that schema.",
	  "", TEXT, 0, AT(outbox.schema_versions), 0, 8192, NULL, "orders-value:3" },
	{ "outbox.schema.refresh", "How often latest is looked up again for subjects in use.",
	  "5min", DURATION, 0, AT(outbox.registry.refresh_ms), SECOND, 168 * HOUR, NULL, "1min" },
	{ "outbox.debezium.name",
	  "topic.prefix of the replaced Debezium connector, used in context headers and in names "
	  "of schemas.",
	  "", TEXT, 0, AT(outbox.debezium_name), 0, 249, NULL, "shop" },
	{ "outbox.debezium.schema.version",
	  "Integer column with the schema version of a value with value.columns in json-schema. "
	  "Empty: no\n"
	  "version.",
	  "", TEXT, 0, AT(outbox.debezium_schema_version), 0, NAME_MAX_BYTES, NULL, "version" },
	{ "outbox.debezium.context.headers",
	  "Whether to send the four __debezium.context headers, as Debezium 3.2 and later do. "
	  "Requires\n"
	  "debezium.name.",
	  "no", BOOL, 0, AT(outbox.debezium_context_headers), 0, 1, NULL, "yes" },
	{ "outbox.on_update",
	  "Reaction to an UPDATE of an outbox row, which is not an event. warn or error: log a "
	  "line. stop:\n"
	  "stop the relay with exit code 3. It has an effect only if the publication publishes "
	  "updates; that\n"
	  "of init does not.",
	  "warn", ENUM, 0, AT(outbox.on_update), 0, 0, on_updates, "stop" },
	{ "outbox.ignore",
	  "Other tables in the publication whose rows are ignored: comma-separated names as in "
	  "outbox.table,\n"
	  "where * matches any run of characters. A row of any other table stops the relay; so "
	  "does one of a\n"
	  "table with the id, key and payload columns of an outbox that only a * covers.",
	  "", TEXT, WP_OPTION_GLOBAL, AT(outbox_ignore), 0, 8192, NULL, "app.orders,app.audit_*" },
	{ "outbox.leaves",
	  "Leaves of a partitioned outbox that may no longer exist when their rows are read "
	  "(detached,\n"
	  "dropped), or tables that inherit from it; named as in outbox.ignore. Beside a * "
	  "there, a\n"
	  "partitioned outbox needs this or publish_via_partition_root.",
	  "", TEXT, 0, AT(outbox.leaves), 0, 8192, NULL, "public.outbox_p*" },

	{ "kafka.login",
	  "Tokens for SASL/OAUTHBEARER, renewed at 80 % of their lifetime; credentials are found "
	  "as "
	  "the\n"
	  "provider's own SDKs find them. aws-msk-iam: Amazon MSK with IAM. azure: Event Hubs with "
	  "Microsoft\n"
	  "Entra ID. gcp: Google's Managed Service for Apache Kafka. oidc: the client credentials "
	  "grant, with\n"
	  "sasl.oauthbearer.token.endpoint.url, .client.id, .client.secret and .scope. file: "
	  "kafka.token_file.\n"
	  "security.protocol is then sasl_ssl if it is not set.",
	  "none", ENUM, 0, AT(kafka.login_options.provider), 0, 0, kafka_logins, "aws-msk-iam" },
	{ "kafka.login.region",
	  "AWS region. Empty: from the first host of bootstrap.servers, then AWS_REGION and the "
	  "SDKs' other\n"
	  "sources.",
	  "", TEXT, 0, AT(kafka.login_options.region), 0, 64, NULL, "eu-central-1" },
	{ "kafka.login.role", "ARN of an AWS role to assume first. Empty: none.", "", TEXT, 0,
	  AT(kafka.login_options.role), 0, 2048, NULL, "arn:aws:iam::123456789012:role/walpost" },
	{ "kafka.login.timeout", "Time limit of kafka.token_command, or of a provider's answers.",
	  "30s", DURATION, 0, AT(kafka.login_options.timeout_ms), 100, 10 * MINUTE, NULL, "10s" },
	{ "kafka.token_command",
	  "Program that prints a token for SASL/OAUTHBEARER, run without a shell: words and "
	  "quotes, "
	  "no\n"
	  "variables or pipes. It prints the token alone, or JSON: {\"token\": \"...\", "
	  "\"expires_at\": SECONDS or\n"
	  "\"2030-01-31T12:00:00Z\", \"principal\": \"...\", \"extensions\": {\"logicalCluster\": "
	  "\"...\"}}. A JWT's\n"
	  "own lifetime and subject are read; a token that says no lifetime is renewed every 12 "
	  "minutes.",
	  "", TEXT, 0, AT(kafka.login_options.command), 0, TEXT_MAX, NULL,
	  "/usr/local/bin/kafka-token" },
	{ "kafka.token_file",
	  "File that somebody else rewrites, with what kafka.token_command would print. Needs\n"
	  "kafka.login = file.",
	  "", TEXT, 0, AT(kafka.login_options.file), 0, 4096, NULL,
	  "/var/run/secrets/kafka/token" },

	{ "relay.sink",
	  "kafka, or stdout: one JSON object per line and event. An event written to standard "
	  "output counts\n"
	  "as delivered.",
	  "kafka", ENUM, 0, AT(relay.sink), 0, 0, sinks, "stdout" },
	{ "relay.in_flight.events",
	  "Maximum number of events in flight: sent to Kafka and not yet confirmed. The limit "
	  "increases with\n"
	  "512 or more partitions in use (in_flight.bytes_max).",
	  "8192", COUNT, 0, AT(relay.in_flight_events), 1, 1 << 20, NULL, "2048" },
	{ "relay.in_flight.bytes",
	  "Maximum size of the events in flight, including the overhead of each. A larger event is "
	  "sent\n"
	  "alone.",
	  "12MiB", SIZE, 0, AT(relay.in_flight_bytes), 64 * KIB, GIB, NULL, "32MiB" },
	{ "relay.in_flight.bytes_max",
	  "Maximum to which in_flight.bytes may increase. A request to Kafka carries events of one "
	  "partition,\n"
	  "so with very many partitions both in-flight limits increase to keep requests full: to "
	  "twice the\n"
	  "configured value with 512 partitions in use, and by the configured value with each 256 "
	  "more, up to\n"
	  "eight times the configured value and up to this maximum. Set to in_flight.bytes, it "
	  "disables the\n"
	  "increase.",
	  "64MiB", SIZE, 0, AT(relay.in_flight_bytes_max), 64 * KIB, GIB, NULL, "128MiB" },
	{ "relay.feedback.interval",
	  "Minimum interval between confirmations of the position to Postgres; after 500 newly "
	  "confirmed\n"
	  "events the position is confirmed at once. After a crash, events confirmed since and "
	  "those in\n"
	  "flight are sent again; if the end of a transaction was not confirmed, all of its "
	  "events.",
	  "100ms", DURATION, 0, AT(relay.feedback_interval_ms), 1, 10 * SECOND, NULL, "1s" },
	{ "relay.topic.wait",
	  "How long to wait, paused, for a missing or forbidden topic before stopping with exit "
	  "code 3.\n"
	  "Counted for each topic separately, and not while Kafka does not answer.",
	  "10min", DURATION, 0, AT(relay.topic_wait_ms), 0, 168 * HOUR, NULL, "1h" },
	{ "relay.shutdown.timeout",
	  "How long a stop may wait for delivery reports. Keep it below the supervisor's grace "
	  "period\n"
	  "(Kubernetes: 30s).",
	  "20s", DURATION, 0, AT(relay.shutdown_timeout_ms), 100, 10 * MINUTE, NULL, "25s" },
	{ "relay.poison",
	  "Action for an event that can never be delivered (larger than Kafka accepts, no valid "
	  "topic, a NULL\n"
	  "where none is allowed, refused by Kafka even alone). stop: stop the relay with exit "
	  "code 3.\n"
	  "dead-letter: send it to relay.dead_letter.topic with the reason, and continue with the "
	  "others.\n"
	  "park: keep it and all later events of its aggregate in walpost.parked, continue with "
	  "the "
	  "others,\n"
	  "and retry in order (walpost parked). Without park later events of a parked aggregate "
	  "are "
	  "sent\n"
	  "ahead of it.",
	  "stop", ENUM, 0, AT(relay.poison), 0, 0, poisons, "park" },
	{ "relay.dead_letter.topic",
	  "Topic for events that can never be delivered, with relay.poison = dead-letter, or = "
	  "park "
	  "and\n"
	  "park.retry.attempts.",
	  "", TEXT, 0, AT(relay.dead_letter_topic), 0, 249, NULL, "outbox.dead-letters" },
	{ "relay.schedule",
	  "Move events of walpost.schedule() to their outboxes when they are due, while this relay "
	  "streams.\n"
	  "Several relays of a database may: one moves at a time. Needs sql/schedule.sql, which "
	  "walpost init\n"
	  "runs; without it there is nothing to move.",
	  "yes", BOOL, 0, AT(relay.schedule), 0, 1, NULL, "no" },
	{ "relay.rewind.limit",
	  "How many times in a row Kafka may refuse events at the same position for a reason "
	  "unrelated to the\n"
	  "event, with a restart of the stream each time, before the relay stops with exit code 3.",
	  "3", COUNT, 0, AT(relay.rewinds_max), 1, 1000, NULL, "10" },
	{ "relay.on_halt",
	  "Behavior when exit code 3 is due. exit: exit at once. hold: deliver nothing, log the "
	  "reason once a\n"
	  "minute, and exit with 3 when asked to stop. Use hold for supervisors that would restart "
	  "walpost\n"
	  "forever.",
	  "exit", ENUM, 0, AT(relay.on_halt), 0, 0, on_halts, "hold" },
	{ "relay.epoch",
	  "First part of walpost-position. Raise it by one after replacing the database with "
	  "another cluster\n"
	  "(a restored dump, a logical copy), whose positions start over.",
	  "0", COUNT, 0, AT(relay.epoch), 0, UINT16_MAX, NULL, "1" },

	{ "park.aggregates.max",
	  "Aggregates (outbox and key) parked at a time, with relay.poison = park. Above, the "
	  "relay "
	  "stops as\n"
	  "with relay.poison = stop.",
	  "10000", COUNT, 0, AT(relay.park.aggregates_max), 1, 1000000, NULL, "50000" },
	{ "park.events.max",
	  "Events parked at a time, of all aggregates. Above, the relay stops as with relay.poison "
	  "= "
	  "stop.",
	  "1000000", COUNT, 0, AT(relay.park.events_max), 1, 100000000, NULL, "5000000" },
	{ "park.retry.first",
	  "Time until a parked event is sent again. If it fails, the time doubles with each "
	  "attempt, up "
	  "to\n"
	  "park.retry.max.",
	  "10s", DURATION, 0, AT(relay.park.retry_first_ms), 10, 24 * HOUR, NULL, "1min" },
	{ "park.retry.max", "Maximum time between two attempts to send a parked event.", "10min",
	  DURATION, 0, AT(relay.park.retry_max_ms), 10, 168 * HOUR, NULL, "1h" },
	{ "park.retry.attempts",
	  "Failed attempts after which a parked event goes to relay.dead_letter.topic, and its "
	  "aggregate\n"
	  "continues without it. Without that topic it stays parked until walpost parked retry or "
	  "skip.\n"
	  "0: no limit.",
	  "0", COUNT, 0, AT(relay.park.retry_attempts), 0, 1000, NULL, "20" },

	{ "cleanup.mode",
	  "Whether the relay removes rows whose events are in Kafka. none: it does not. delete: it "
	  "deletes\n"
	  "them. mark: it sets outbox.column.processed. drop-partitions: it drops partitions of an "
	  "outbox\n"
	  "that is partitioned by ranges of outbox.column.inserted. Needs that column, and "
	  "sql/cleanup.sql,\n"
	  "which walpost init runs; the role needs SELECT and DELETE on the outbox (mark: UPDATE "
	  "of the\n"
	  "column; drop-partitions: neither). Rows that this slot has not delivered stay (walpost "
	  "cleanup\n"
	  "tells).",
	  "none", ENUM, 0, AT(relay.cleanup.mode), 0, 0, cleanup_modes, "delete" },
	{ "cleanup.dropped",
	  "How to treat rows of events that are not sent (outbox.skip.types, outbox.expired = "
	  "drop). error:\n"
	  "refuse a configuration in which an outbox that is cleaned may have such rows. remove: "
	  "remove them\n"
	  "like the others, though they are not in Kafka.",
	  "error", ENUM, 0, AT(relay.cleanup.dropped), 0, 0, cleanup_dropped, "remove" },
	{ "cleanup.keep",
	  "Age from which rows are removed, by outbox.column.inserted and the server's clock.",
	  "168h", DURATION, 0, AT(relay.cleanup.keep_ms), 0, INT64_C(10) * 366 * 24 * HOUR, NULL,
	  "24h" },
	{ "cleanup.batch", "Maximum number of rows removed in one transaction.", "2000", COUNT, 0,
	  AT(relay.cleanup.batch), 1, 10000, NULL, "5000" },
	{ "cleanup.partitions.ahead",
	  "With cleanup.mode = drop-partitions: how many partitions to make for the time to come, "
	  "each as wide\n"
	  "as the last one.",
	  "3", COUNT, 0, AT(relay.cleanup.partitions_ahead), 0, 100, NULL, "7" },
	{ "cleanup.pause",
	  "Minimum pause after each batch. It is three times as long as the server needed for the "
	  "batch if that\n"
	  "is longer.",
	  "100ms", DURATION, 0, AT(relay.cleanup.pause_ms), 0, MINUTE, NULL, "500ms" },
	{ "cleanup.interval", "How often to look for rows when none is old enough.", "1min",
	  DURATION, 0, AT(relay.cleanup.interval_ms), 100, 24 * HOUR, NULL, "10s" },

	{ "http.listen",
	  "Address of the HTTP server for metrics (/metrics), health (/livez, /readyz), /status "
	  "and the\n"
	  "status page (/): a port, which listens on 127.0.0.1 only, or an address and a port, "
	  "such as\n"
	  "0.0.0.0:9187 or [::]:9187. The endpoint has no authentication: restrict network access. "
	  "Empty:\n"
	  "disabled.",
	  "", TEXT, 0, AT(http.listen), 0, 80, NULL, "127.0.0.1:9187" },

	{ "log.level", "Minimum level to log.", "info", ENUM, WP_OPTION_LIVE, AT(log.level), 0, 0,
	  levels, "debug" },
	{ "log.format", "Format of log lines on standard error.", "logfmt", ENUM, 0, AT(log.format),
	  0, 0, formats, "json" },
};

const size_t wp_option_count = sizeof(wp_options) / sizeof(wp_options[0]);
_Static_assert(sizeof(wp_options) / sizeof(wp_options[0]) <= WP_OPTIONS_MAX,
	       "room for all options");
