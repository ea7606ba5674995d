/* The table of options: nothing but data. */
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
#define NAME_MAX_BYTES 63 /* NAMEDATALEN - 1 */
#define SECOND 1000
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define KIB 1024
#define GIB (1024 * 1024 * 1024)

/* In the order of the enums that they name. */
static const char *const envelopes[] = {
	"raw", "protobuf", "cloudevents-binary", "cloudevents-json", "cloudevents-protobuf", NULL
};
static const char *const forms[] = { "raw", "json", "json-schema", NULL };
static const char *const header_forms[] = { "raw", "json", "json-schema", "string", NULL };
static const char *const renderings[] = { "postgres", "debezium", NULL };
static const char *const payload_jsons[] = { "any", "validate", "expand", NULL };
static const char *const payload_empties[] = { "keep", "tombstone", NULL };
static const char *const expands[] = { "drop", "keep", NULL };
static const char *const missings[] = { "error", "ignore", NULL };
static const char *const on_updates[] = { "warn", "error", "stop", NULL };
static const char *const message_formats[] = { "json", "protobuf", NULL };
static const char *const binaries[] = { "off", "on", "auto", NULL };
static const char *const key_nulls[] = { "stop", "allow", NULL };
static const char *const poisons[] = { "stop", "dead-letter", NULL };
static const char *const on_halts[] = { "exit", "hold", NULL };
static const char *const sinks[] = { "kafka", "stdout", NULL };
static const char *const levels[] = { "debug", "info", "warn", "error", NULL };
static const char *const formats[] = { "logfmt", "json", NULL };

const struct wp_option wp_options[] = {
	{ "postgres.conninfo",
	  "Where the server is and who we are, as libpq takes it: key=value or a URI. The role "
	  "needs\n"
	  "REPLICATION. Without an sslmode, a host that is not local gets sslmode=require. Empty:\n"
	  "libpq's own environment (PGHOST, PGSERVICE, ...). A password is better kept out of it:\n"
	  "postgres.password, a passfile or a service file.",
	  "", TEXT, WP_OPTION_CONNINFO | REQUIRED, AT(postgres.conninfo), 0, TEXT_MAX, NULL,
	  "host=/var/run/postgresql dbname=app user=walpost" },
	{ "postgres.password",
	  "Password of the role. Best given as a file: "
	  "WALPOST__POSTGRES__PASSWORD_FILE=/run/secrets/...,\n"
	  "which is read anew at each connection. Empty: whatever libpq finds (conninfo, "
	  "PGPASSWORD, passfile).",
	  "", TEXT, WP_OPTION_SECRET, AT(postgres.password), 0, TEXT_MAX, NULL, NULL },
	{ "postgres.slot",
	  "Logical replication slot: holds how far the outbox has been delivered. Lower-case "
	  "letters,\n"
	  "digits and underscores. One relay at a time reads it; others wait as standbys.",
	  "walpost", TEXT, 0, AT(postgres.slot), 1, NAME_MAX_BYTES, NULL, NULL },
	{ "postgres.publication",
	  "Publication that names the outbox table and publishes its inserts.", "walpost", TEXT, 0,
	  AT(postgres.publication), 1, NAME_MAX_BYTES, NULL, NULL },
	{ "postgres.decoding_work_mem",
	  "logical_decoding_work_mem of our session, e.g. 256MB: large transactions up to this "
	  "size are\n"
	  "decoded in the server's memory, not on its disk. Empty: the server's own setting.",
	  "", TEXT, 0, AT(postgres.decoding_work_mem), 0, 32, NULL, NULL },
	{ "postgres.binary",
	  "Whether the server sends values in binary, which spares it and us printing and reading "
	  "a bytea\nas hexadecimal digits, and passes rows above 512 MB. Records have the same "
	  "bytes as without. The\ncolumns that make a record must be boolean, integers, floats, "
	  "numeric, text, varchar, char,\nname, json, jsonb, uuid, bytea, date, time, timestamp, "
	  "timestamptz, arrays of these, enums, or\ndomains over all of them. auto: in binary if "
	  "they are when the stream starts, until a row\nof the log is of another type.",
	  "off", ENUM, 0, AT(postgres.binary), 0, 0, binaries, NULL },
	{ "postgres.allow_synchronous",
	  "Whether the relay may be counted by synchronous_standby_names. It confirms only what "
	  "Kafka\n"
	  "has, so then every commit of the server waits for Kafka. A transaction that attaches a "
	  "partition\nof the outbox and writes to it, too, then waits for ever: attach it before, "
	  "or "
	  "set\npublish_via_partition_root.",
	  "no", BOOL, 0, AT(postgres.allow_synchronous), 0, 1, NULL, NULL },
	{ "postgres.connect_timeout",
	  "How long one attempt to connect may take, names and TLS included.", "10s", DURATION, 0,
	  AT(postgres.connect_timeout_ms), 100, 10 * MINUTE, NULL, NULL },

	{ "outbox.table",
	  "The outbox table, by SQL rules: schema.table; without a schema it is public; \"Quoted\" "
	  "parts stand\nfor themselves, others are folded to lower case. Empty: none, events come "
	  "as logical messages\nonly.\nSeveral tables: a section [outbox.NAME] for each, which "
	  "inherits what it does not set from\n[outbox].",
	  "public.outbox", TEXT, 0, AT(outbox.table), 0, 1024, NULL, NULL },
	{ "outbox.message.prefix",
	  "Prefix of logical messages that are events: SELECT pg_logical_emit_message(true, "
	  "'outbox', ...),\nor walpost.emit() of sql/outbox_emit.sql. Empty: none are. Messages "
	  "with other prefixes are passed\nover.",
	  "", TEXT, 0, AT(outbox.message_prefix), 0, NAME_MAX_BYTES, NULL, NULL },
	{ "outbox.message.format",
	  "What such a message holds. json: an object whose members stand for columns: id, "
	  "aggregatetype,\naggregateid, type, payload, by the names of the column options; headers "
	  "too. protobuf: a\nwalpost.v1.Message (proto/).",
	  "json", ENUM, 0, AT(outbox.message_format), 0, 0, message_formats, NULL },
	{ "outbox.column.id",
	  "Column with the event's identifier. Column names stand for themselves: no quotes, no "
	  "folding.",
	  "id", TEXT, 0, AT(outbox.column_id), 1, NAME_MAX_BYTES, NULL, NULL },
	{ "outbox.column.key",
	  "Column with the aggregate's identifier: its text is the key of the Kafka record, so "
	  "events of one\naggregate stay in order.",
	  "aggregateid", TEXT, 0, AT(outbox.column_key), 1, NAME_MAX_BYTES, NULL, NULL },
	{ "outbox.column.key.fallback",
	  "Column whose value is the key where column.key is NULL. Empty: there is none.", "", TEXT,
	  0, AT(outbox.column_key_fallback), 0, NAME_MAX_BYTES, NULL, NULL },
	{ "outbox.column.type",
	  "Column with the event's type, sent as a header. Empty: there is none.", "type", TEXT, 0,
	  AT(outbox.column_type), 0, NAME_MAX_BYTES, NULL, NULL },
	{ "outbox.column.payload",
	  "Column with the value: json, jsonb or text as Postgres prints them, bytea as raw bytes; "
	  "NULL is a\nrecord without a value.",
	  "payload", TEXT, 0, AT(outbox.column_payload), 1, NAME_MAX_BYTES, NULL, NULL },
	{ "outbox.column.timestamp",
	  "Column with the record's timestamp: timestamp (read as UTC), timestamptz, date, or a "
	  "bigint of\nmilliseconds since 1970. NULL, or no such column named here: the time of the "
	  "commit.",
	  "", TEXT, 0, AT(outbox.column_timestamp), 0, NAME_MAX_BYTES, NULL, NULL },
	{ "outbox.column.partition",
	  "Integer column with the number of the record's partition. NULL, or no such column named "
	  "here: by\nthe key, as Java's producer does it (murmur2).",
	  "", TEXT, 0, AT(outbox.column_partition), 0, NAME_MAX_BYTES, NULL, NULL },
	{ "outbox.columns.missing",
	  "What a table without one of the further columns (timestamp, partition, headers, "
	  "value.columns)\ndoes: error, or ignore: it is as if the column were not asked for.",
	  "error", ENUM, 0, AT(outbox.columns_missing), 0, 0, missings, NULL },
	{ "outbox.route.by", "Column whose value chooses the topic.", "aggregatetype", TEXT, 0,
	  AT(outbox.route_by), 1, NAME_MAX_BYTES, NULL, NULL },
	{ "outbox.topic.regex",
	  "Regular expression (PCRE2) that must match the whole value of the route.by column. No "
	  "match: the\nvalue itself is the topic.",
	  "(?<routedByValue>.*)", TEXT, 0, AT(outbox.topic_regex), 1, 4096, NULL, NULL },
	{ "outbox.topic.replacement",
	  "The topic, with $1, ${1} or ${name} for groups of the expression.",
	  "outbox.event.${routedByValue}", TEXT, 0, AT(outbox.topic_replacement), 1, 4096, NULL,
	  NULL },
	{ "outbox.headers.standard",
	  "Which of our own headers are sent: id, type, walpost-position. A consumer that keeps "
	  "the highest\nwalpost-position per partition drops every repetition.",
	  "id,type,walpost-position", TEXT, 0, AT(outbox.headers_standard), 0, 1024, NULL, NULL },
	{ "outbox.headers",
	  "Further columns to send as headers: column or column:header, comma-separated. No "
	  "header's "
	  "name may\nbegin with walpost-.",
	  "", TEXT, 0, AT(outbox.headers), 0, 8192, NULL, NULL },
	{ "outbox.headers.source",
	  "Value of a walpost-source header, for topics that several sources write. Empty: no such "
	  "header.",
	  "", TEXT, WP_OPTION_GLOBAL, AT(outbox.headers_source), 0, 1024, NULL, NULL },
	{ "outbox.headers.json",
	  "Column of json or jsonb, an object whose members become headers: strings raw, others as "
	  "JSON text,\nnull as a header with a null value. Names that begin with walpost-, or that "
	  "walpost itself\nsends on the record, are left out. Empty: there is none.",
	  "", TEXT, 0, AT(outbox.headers_json), 0, NAME_MAX_BYTES, NULL, NULL },
	{ "outbox.headers.properties",
	  "Column with lines of name=value (java.util.Properties, as Debezium's "
	  "tracingspancontext) that\nbecome headers: traceparent, tracestate. The same names are "
	  "left out as of headers.json.\nEmpty: there is none.",
	  "", TEXT, 0, AT(outbox.headers_properties), 0, NAME_MAX_BYTES, NULL, NULL },
	{ "outbox.headers.format",
	  "How id, type and the columns under headers are written: raw, their text; json; "
	  "json-schema, JSON\nbeside its Kafka Connect schema, which is what Debezium Server "
	  "sends; string, raw but for arrays\nwith types = debezium: [a, b c, null] in place of "
	  "[\"a\",\"b c\",null] (StringConverter).",
	  "raw", ENUM, 0, AT(outbox.headers_format), 0, 0, header_forms, NULL },
	{ "outbox.key.format",
	  "How the key is written: raw, its text (StringConverter); json (JsonConverter without "
	  "schemas: a\ntext has quotes); json-schema (JsonConverter with them). It decides the "
	  "partition: keep what a\ntopic has.",
	  "raw", ENUM, 0, AT(outbox.key_format), 0, 0, forms, NULL },
	{ "outbox.key.null",
	  "What a row whose key column is NULL does: stop the relay, or allow (a record without a "
	  "key, in no\norder).",
	  "stop", ENUM, 0, AT(outbox.key_null), 0, 0, key_nulls, NULL },
	{ "outbox.value.format",
	  "How the value is written: raw, the payload's bytes; json: a payload of text or json is "
	  "a JSON\nstring, unless payload.json says that it is JSON; json-schema: likewise, beside "
	  "its Kafka Connect\nschema.",
	  "raw", ENUM, 0, AT(outbox.value_format), 0, 0, forms, NULL },
	{ "outbox.value.columns",
	  "Columns that stand beside the payload in the value: column or column:name, "
	  "comma-separated. The\nvalue then is an object: {\"payload\":...,\"name\":...}. Needs "
	  "value.format = json or json-schema.",
	  "", TEXT, 0, AT(outbox.value_columns), 0, 8192, NULL, NULL },
	{ "outbox.payload.json",
	  "any: the payload is not looked at. validate: it must be JSON, and is passed on as it "
	  "stands, byte\nfor byte. expand: it is written anew as Debezium's "
	  "table.expand.json.payload does, which loses\nnulls, long numbers and more.",
	  "any", ENUM, 0, AT(outbox.payload_json), 0, 0, payload_jsons, NULL },
	{ "outbox.payload.empty",
	  "keep, or tombstone: a payload that is empty or blank is sent as a null value, as NULL "
	  "is.",
	  "keep", ENUM, 0, AT(outbox.payload_empty), 0, 0, payload_empties, NULL },
	{ "outbox.expand.nulls",
	  "With payload.json = expand: drop members that are null, or keep them.", "drop", ENUM, 0,
	  AT(outbox.expand_nulls), 0, 0, expands, NULL },
	{ "outbox.expand.empty_arrays",
	  "With payload.json = expand: drop members that are empty arrays, or keep them.", "drop",
	  ENUM, 0, AT(outbox.expand_empty_arrays), 0, 0, expands, NULL },
	{ "outbox.types",
	  "Who decides how numbers, dates and the like are written in keys, headers and "
	  "value.columns:\npostgres, as it prints them, or debezium, as its converters do (a "
	  "timestamp is a number of\nmicroseconds; a NULL in a column with a constant DEFAULT is "
	  "that).",
	  "postgres", ENUM, 0, AT(outbox.types), 0, 0, renderings, NULL },
	{ "outbox.envelope",
	  "What is around the payload. raw: nothing. protobuf: a walpost.v1.Event "
	  "(proto/).\ncloudevents-binary: CloudEvents 1.0 attributes as ce_ headers; "
	  "cloudevents-json and\ncloudevents-protobuf: the whole event in the value.",
	  "raw", ENUM, 0, AT(outbox.envelope), 0, 0, envelopes, NULL },
	{ "outbox.cloudevents.source",
	  "The source attribute, a URI reference such as /orders. Needed by the cloudevents "
	  "envelopes, unless\na column has it.",
	  "", TEXT, 0, AT(outbox.ce_source), 0, 1024, NULL, NULL },
	{ "outbox.cloudevents.source.column",
	  "Column with the source attribute. Empty: cloudevents.source.", "", TEXT, 0,
	  AT(outbox.ce_source_column), 0, NAME_MAX_BYTES, NULL, NULL },
	{ "outbox.cloudevents.subject", "Column with the subject attribute. Empty: there is none.",
	  "", TEXT, 0, AT(outbox.ce_subject), 0, NAME_MAX_BYTES, NULL, NULL },
	{ "outbox.cloudevents.datacontenttype",
	  "The datacontenttype attribute. Empty: application/json for json and "
	  "jsonb,\napplication/octet-stream for bytea, text/plain for others.",
	  "", TEXT, 0, AT(outbox.ce_datacontenttype), 0, 256, NULL, NULL },
	{ "outbox.cloudevents.dataschema", "The dataschema attribute, a URI. Empty: there is none.",
	  "", TEXT, 0, AT(outbox.ce_dataschema), 0, 1024, NULL, NULL },
	{ "outbox.cloudevents.extensions",
	  "Columns that are extension attributes: column or column:name, comma-separated; names "
	  "are of\nlower-case letters and digits.",
	  "", TEXT, 0, AT(outbox.ce_extensions), 0, 8192, NULL, NULL },
	{ "outbox.confluent.schemas",
	  "Schema ids to put before payloads that the application encoded, in Confluent's wire "
	  "format:\ntopic:id for Avro, topic:id:0 for Protobuf with the index of its message (0, "
	  "or 1/0 for a nested\none), comma-separated; * in a topic for any run of characters. "
	  "Topics that none matches have none.",
	  "", TEXT, 0, AT(outbox.confluent_schemas), 0, 8192, NULL, NULL },
	{ "outbox.debezium.name",
	  "topic.prefix of the Debezium connector that walpost stands in for: in context headers "
	  "and in names\nof schemas.",
	  "", TEXT, 0, AT(outbox.debezium_name), 0, 249, NULL, NULL },
	{ "outbox.debezium.schema.version",
	  "Integer column with the version of the schema that a value with value.columns has in\n"
	  "json-schema. Empty: it has none.",
	  "", TEXT, 0, AT(outbox.debezium_schema_version), 0, NAME_MAX_BYTES, NULL, NULL },
	{ "outbox.debezium.context.headers",
	  "Whether the four __debezium.context headers are sent, which Debezium adds since 3.x.",
	  "no", BOOL, 0, AT(outbox.debezium_context_headers), 0, 1, NULL, NULL },
	{ "outbox.on_update",
	  "What an UPDATE of an outbox row does, which is no event: warn or error, a line in the "
	  "log, or stop\nthe relay with exit code 3.",
	  "warn", ENUM, 0, AT(outbox.on_update), 0, 0, on_updates, NULL },
	{ "outbox.ignore",
	  "Other tables in our publication whose rows are dropped on purpose: comma-separated "
	  "names as in\noutbox.table, * for any run of characters. A row of any other table stops "
	  "the relay.",
	  "", TEXT, WP_OPTION_GLOBAL, AT(outbox_ignore), 0, 8192, NULL, NULL },
	{ "outbox.leaves",
	  "Names of leaves of a partitioned outbox that may be gone when their rows are read "
	  "(detached,\ndropped), as in outbox.ignore. Not needed with publish_via_partition_root.",
	  "", TEXT, 0, AT(outbox.leaves), 0, 8192, NULL, NULL },

	{ "relay.sink",
	  "kafka, or stdout: one JSON object a line for each event. Events written to standard "
	  "output count\n"
	  "as delivered.",
	  "kafka", ENUM, 0, AT(relay.sink), 0, 0, sinks, NULL },
	{ "relay.in_flight.events",
	  "Events sent to Kafka and not yet confirmed, at most; more with 512 partitions in use "
	  "or\n"
	  "more (in_flight.bytes_max).",
	  "8192", COUNT, 0, AT(relay.in_flight_events), 1, 1 << 20, NULL, NULL },
	{ "relay.in_flight.bytes",
	  "Bytes of them, at most, with the overhead of each counted. One event larger than this "
	  "goes alone.",
	  "12MiB", SIZE, 0, AT(relay.in_flight_bytes), 64 * KIB, GIB, NULL, NULL },
	{ "relay.in_flight.bytes_max",
	  "What in_flight.bytes may grow to. A request to Kafka carries events of one partition, "
	  "so\n"
	  "with very many partitions both limits grow, for full requests: they double with 512 in "
	  "use,\n"
	  "and grow by once themselves with each 256 more, up to eight times and up to this. With "
	  "the\n"
	  "value of in_flight.bytes they never grow.",
	  "64MiB", SIZE, 0, AT(relay.in_flight_bytes_max), 64 * KIB, GIB, NULL, NULL },
	{ "relay.feedback.interval",
	  "Confirmed positions are told to Postgres at most this often, or at once when 500 events "
	  "were\n"
	  "confirmed since. After a crash these, and what was in flight, come again; of a "
	  "transaction that\n"
	  "was not confirmed to its end, all.",
	  "100ms", DURATION, 0, AT(relay.feedback_interval_ms), 1, 10 * SECOND, NULL, NULL },
	{ "relay.topic.wait",
	  "How long the relay waits, paused, for a topic that is missing or forbidden before it "
	  "stops with\n"
	  "exit code 3. Counted for each topic by itself, and not while Kafka does not answer.",
	  "10min", DURATION, 0, AT(relay.topic_wait_ms), 0, 168 * HOUR, NULL, NULL },
	{ "relay.shutdown.timeout",
	  "How long a stop may wait for confirmations. Keep it below what the supervisor grants\n"
	  "(Kubernetes: 30s).",
	  "20s", DURATION, 0, AT(relay.shutdown_timeout_ms), 100, 10 * MINUTE, NULL, NULL },
	{ "relay.poison",
	  "What an event does that can never be delivered (larger than Kafka takes, no valid "
	  "topic, a\n"
	  "NULL where none may be, refused by Kafka alone): stop the relay with exit code 3, or\n"
	  "dead-letter: it goes to relay.dead_letter.topic with the reason, and the others go on.",
	  "stop", ENUM, 0, AT(relay.poison), 0, 0, poisons, NULL },
	{ "relay.dead_letter.topic",
	  "Topic for events that can never be delivered, with relay.poison = dead-letter.", "",
	  TEXT, 0, AT(relay.dead_letter_topic), 0, 249, NULL, "outbox.dead-letters" },
	{ "relay.rewind.limit",
	  "How often in a row Kafka may refuse events at the same place for a reason that is not "
	  "the\n"
	  "event's (each time the stream begins again there) before the relay stops with exit code "
	  "3.",
	  "3", COUNT, 0, AT(relay.rewinds_max), 1, 1000, NULL, NULL },
	{ "relay.on_halt",
	  "What a stop with exit code 3 does: exit, or hold: deliver nothing, say why once a "
	  "minute,\n"
	  "and exit with 3 when asked to stop. For supervisors that would start it again for ever.",
	  "exit", ENUM, 0, AT(relay.on_halt), 0, 0, on_halts, NULL },
	{ "relay.epoch",
	  "First part of walpost-position. Raise it by one when the database was replaced by "
	  "another cluster\n"
	  "(a restored dump, a logical copy), whose positions start anew.",
	  "0", COUNT, 0, AT(relay.epoch), 0, UINT16_MAX, NULL, NULL },

	{ "http.listen",
	  "Where metrics (/metrics), health (/livez, /readyz), /status and the status page (/) are "
	  "answered:\na port, which is that of 127.0.0.1 only, or an address and a port: "
	  "0.0.0.0:9187, [::]:9187.\nThere is no password: let nobody reach it who may not see it. "
	  "Empty: nowhere.",
	  "", TEXT, 0, AT(http.listen), 0, 80, NULL, NULL },

	{ "log.level", "Least level that is logged.", "info", ENUM, WP_OPTION_LIVE, AT(log.level),
	  0, 0, levels, NULL },
	{ "log.format", "Form of a line on standard error.", "logfmt", ENUM, 0, AT(log.format), 0,
	  0, formats, NULL },
};

const size_t wp_option_count = sizeof(wp_options) / sizeof(wp_options[0]);
_Static_assert(sizeof(wp_options) / sizeof(wp_options[0]) <= WP_OPTIONS_MAX,
	       "room for all options");
