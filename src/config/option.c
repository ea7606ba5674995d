#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "walpost/config/config.h"
#include "walpost/config/option.h"
#include "walpost/config/suggest.h"

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
static const char *const envelopes[] = { "raw", "protobuf", NULL };
static const char *const binaries[] = { "off", "on", NULL };
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
	  "WALPOST__POSTGRES__PASSWORD_FILE=/run/secrets/...\n"
	  "Empty: whatever libpq finds (conninfo, PGPASSWORD, passfile).",
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
	  "Whether the server sends values in binary, which spares it and us printing and "
	  "reading a\n"
	  "bytea as hexadecimal digits, and passes rows above 512 MB. Records have the same "
	  "bytes as\n"
	  "without. The columns that make a record must be boolean, integers, floats, numeric, "
	  "text,\n"
	  "varchar, char, name, json, jsonb, uuid, bytea, date, time, timestamp, timestamptz, "
	  "arrays of\n"
	  "these, enums, or domains over any of them.",
	  "off", ENUM, 0, AT(postgres.binary), 0, 0, binaries, NULL },
	{ "postgres.allow_synchronous",
	  "Whether the relay may be counted by synchronous_standby_names. It confirms only what "
	  "Kafka\n"
	  "has, so then every commit of the server waits for Kafka.",
	  "no", BOOL, 0, AT(postgres.allow_synchronous), 0, 1, NULL, NULL },
	{ "postgres.connect_timeout",
	  "How long one attempt to connect may take, names and TLS included.", "10s", DURATION, 0,
	  AT(postgres.connect_timeout_ms), 100, 10 * MINUTE, NULL, NULL },

	{ "outbox.table",
	  "The outbox table, by SQL rules: schema.table; without a schema it is public; "
	  "\"Quoted\"\n"
	  "parts stand for themselves, others are folded to lower case.",
	  "public.outbox", TEXT, 0, AT(outbox.table), 1, 1024, NULL, NULL },
	{ "outbox.column.id",
	  "Column with the event's identifier. Column names stand for themselves: no quotes, no "
	  "folding.",
	  "id", TEXT, 0, AT(outbox.column_id), 1, NAME_MAX_BYTES, NULL, NULL },
	{ "outbox.column.key",
	  "Column with the aggregate's identifier: its text is the key of the Kafka record, so "
	  "events of\n"
	  "one aggregate stay in order.",
	  "aggregateid", TEXT, 0, AT(outbox.column_key), 1, NAME_MAX_BYTES, NULL, NULL },
	{ "outbox.column.type",
	  "Column with the event's type, sent as a header. Empty: there is none.", "type", TEXT, 0,
	  AT(outbox.column_type), 0, NAME_MAX_BYTES, NULL, NULL },
	{ "outbox.column.payload",
	  "Column with the value: json, jsonb or text as Postgres prints them, bytea as raw bytes; "
	  "NULL\n"
	  "is a record without a value.",
	  "payload", TEXT, 0, AT(outbox.column_payload), 1, NAME_MAX_BYTES, NULL, NULL },
	{ "outbox.route.by", "Column whose value chooses the topic.", "aggregatetype", TEXT, 0,
	  AT(outbox.route_by), 1, NAME_MAX_BYTES, NULL, NULL },
	{ "outbox.topic.regex",
	  "Regular expression (PCRE2) that must match the whole value of the route.by column. No "
	  "match:\n"
	  "the value itself is the topic.",
	  "(?<routedByValue>.*)", TEXT, 0, AT(outbox.topic_regex), 1, 4096, NULL, NULL },
	{ "outbox.topic.replacement",
	  "The topic, with $1, ${1} or ${name} for groups of the expression.",
	  "outbox.event.${routedByValue}", TEXT, 0, AT(outbox.topic_replacement), 1, 4096, NULL,
	  NULL },
	{ "outbox.headers.standard",
	  "Which of our own headers are sent: id, type, walpost-position. A consumer that keeps "
	  "the\n"
	  "highest walpost-position per partition drops every repetition.",
	  "id,type,walpost-position", TEXT, 0, AT(outbox.headers_standard), 0, 1024, NULL, NULL },
	{ "outbox.headers",
	  "Further columns to send as headers: column or column:header, comma-separated.", "", TEXT,
	  0, AT(outbox.headers), 0, 8192, NULL, NULL },
	{ "outbox.headers.source",
	  "Value of a walpost-source header, for topics that several sources write. Empty: no such "
	  "header.",
	  "", TEXT, 0, AT(outbox.headers_source), 0, 1024, NULL, NULL },
	{ "outbox.envelope",
	  "raw: the value is the payload. protobuf: the value is a walpost.v1.Event (proto/) "
	  "around it.",
	  "raw", ENUM, 0, AT(outbox.envelope), 0, 0, envelopes, NULL },
	{ "outbox.key.null",
	  "What a row whose key column is NULL does: stop the relay, or allow (a record without a "
	  "key,\n"
	  "in no order).",
	  "stop", ENUM, 0, AT(outbox.key_null), 0, 0, key_nulls, NULL },
	{ "outbox.ignore",
	  "Other tables in our publication whose rows are dropped on purpose: comma-separated "
	  "names as in\n"
	  "outbox.table, * for any run of characters. A row of any other table stops the relay.",
	  "", TEXT, 0, AT(outbox.ignore), 0, 8192, NULL, NULL },
	{ "outbox.leaves",
	  "Names of leaves of a partitioned outbox that may be gone when their rows are read "
	  "(detached,\n"
	  "dropped), as in outbox.ignore. Not needed with publish_via_partition_root.",
	  "", TEXT, 0, AT(outbox.leaves), 0, 8192, NULL, NULL },

	{ "relay.sink",
	  "kafka, or stdout: one JSON object a line for each event. Events written to standard "
	  "output count\n"
	  "as delivered.",
	  "kafka", ENUM, 0, AT(relay.sink), 0, 0, sinks, NULL },
	{ "relay.in_flight.events", "Events sent to Kafka and not yet confirmed, at most.", "8192",
	  COUNT, 0, AT(relay.in_flight_events), 1, 1 << 20, NULL, NULL },
	{ "relay.in_flight.bytes",
	  "Bytes of them, at most, with the overhead of each counted. One event larger than this "
	  "goes alone.",
	  "12MiB", SIZE, 0, AT(relay.in_flight_bytes), 64 * KIB, GIB, NULL, NULL },
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

	{ "log.level", "Least level that is logged.", "info", ENUM, 0, AT(log.level), 0, 0, levels,
	  NULL },
	{ "log.format", "Form of a line on standard error.", "logfmt", ENUM, 0, AT(log.format), 0,
	  0, formats, NULL },
};

const size_t wp_option_count = sizeof(wp_options) / sizeof(wp_options[0]);
_Static_assert(sizeof(wp_options) / sizeof(wp_options[0]) <= WP_OPTIONS_MAX,
	       "room for all options");

static const char *const sections[] = { "postgres", "outbox", "kafka", "relay", "log" };

const struct wp_option *wp_option_find(const char *key)
{
	for (size_t i = 0; i < wp_option_count; i++)
		if (strcmp(wp_options[i].key, key) == 0)
			return &wp_options[i];
	return NULL;
}

const struct wp_option *wp_option_like(const char *key)
{
	struct wp_suggestion s;

	wp_suggestion_init(&s, key);
	for (size_t i = 0; i < wp_option_count; i++)
		wp_suggestion_offer(&s, wp_options[i].key);
	if (s.best != NULL)
		return wp_option_find(s.best);
	/* The right key in the wrong section. */
	for (size_t i = 0; i < wp_option_count; i++) {
		const char *whole = wp_options[i].key;

		if (strcmp(whole + wp_option_section_size(whole),
			   key + wp_option_section_size(key)) == 0)
			return &wp_options[i];
	}
	return NULL;
}

const char *wp_option_section(size_t index)
{
	return index < sizeof(sections) / sizeof(sections[0]) ? sections[index] : NULL;
}

size_t wp_option_section_size(const char *key)
{
	return strcspn(key, ".");
}

char *wp_option_variable(const struct wp_option *option, char *text)
{
	size_t section_size = wp_option_section_size(option->key);
	size_t size;

	(void)snprintf(text, WP_OPTION_TEXT_SIZE, "WALPOST__%.*s__%s", (int)section_size,
		       option->key, option->key + section_size + 1);
	size = strlen(text);
	for (size_t i = 0; i < size; i++)
		text[i] = text[i] == '.' ? '_' : (char)toupper((unsigned char)text[i]);
	return text;
}

/* In the largest unit that loses nothing. */
static void in_unit(int64_t number, enum wp_option_kind kind, char *text, size_t size)
{
	static const struct {
		enum wp_option_kind kind;
		int64_t factor;
		const char *name;
	} units[] = {
		{ SIZE, GIB, "GiB" },	 { SIZE, 1024 * KIB, "MiB" }, { SIZE, KIB, "KiB" },
		{ DURATION, HOUR, "h" }, { DURATION, MINUTE, "min" }, { DURATION, SECOND, "s" },
		{ DURATION, 1, "ms" },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (units[i].kind != kind || number % units[i].factor != 0)
			continue;
		if (number == 0 && units[i].factor != 1 && kind == DURATION)
			continue;
		(void)snprintf(text, size, "%" PRId64 "%s", number / units[i].factor,
			       units[i].name);
		return;
	}
	(void)snprintf(text, size, "%" PRId64, number);
}

static void one_of(const char *const *names, char *text)
{
	size_t used = 0;

	for (size_t i = 0; names[i] != NULL && used < WP_OPTION_TEXT_SIZE; i++) {
		const char *before = i == 0 ? "" : names[i + 1] == NULL ? " or " : ", ";

		used += (size_t)snprintf(text + used, WP_OPTION_TEXT_SIZE - used, "%s%s", before,
					 names[i]);
	}
}

char *wp_option_allowed(const struct wp_option *option, char *text)
{
	char min[32];
	char max[32];

	in_unit(option->min, option->kind, min, sizeof(min));
	in_unit(option->max, option->kind, max, sizeof(max));
	switch (option->kind) {
	case WP_OPTION_TEXT:
		if (option->min == 0)
			(void)snprintf(text, WP_OPTION_TEXT_SIZE, "a text of at most %s bytes",
				       max);
		else
			(void)snprintf(text, WP_OPTION_TEXT_SIZE, "a text of %s to %s bytes", min,
				       max);
		break;
	case WP_OPTION_COUNT:
		(void)snprintf(text, WP_OPTION_TEXT_SIZE, "a number from %s to %s", min, max);
		break;
	case WP_OPTION_SIZE:
		(void)snprintf(
			text, WP_OPTION_TEXT_SIZE,
			"a size from %s to %s: a number of bytes, or with a unit of KiB, MiB, GiB",
			min, max);
		break;
	case WP_OPTION_DURATION:
		(void)snprintf(text, WP_OPTION_TEXT_SIZE,
			       "a duration from %s to %s: a number with a unit of ms, s, min, h",
			       min, max);
		break;
	case WP_OPTION_ENUM:
		one_of(option->names, text);
		break;
	case WP_OPTION_BOOL:
		(void)snprintf(text, WP_OPTION_TEXT_SIZE, "yes or no");
		break;
	}
	return text;
}
