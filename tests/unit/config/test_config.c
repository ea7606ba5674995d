#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "support/check.h"

/* The allocation that fails, counted from 1; 0: none does. */
static size_t failing;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);

static bool is_due(void)
{
	return failing > 0 && --failing == 0;
}

void *__wrap_calloc(size_t count, size_t size)
{
	return is_due() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return is_due() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
	return is_due() ? NULL : __real_strdup(text);
}

static void the_defaults_are_those_of_the_rooms(void **state)
{
	const struct wp_config_sources nothing = { .file = NULL };
	struct fixture f;

	CHECK_EQ(wp_config_load(&nothing, &f.config, &f.notes), WP_OK);
	CHECK_TEXT(f.config.postgres.conninfo, "");
	CHECK_TEXT(f.config.postgres.password, "");
	CHECK_TEXT(f.config.postgres.slot, "walpost");
	CHECK_TEXT(f.config.postgres.publication, "walpost");
	CHECK_TEXT(f.config.postgres.decoding_work_mem, "");
	CHECK(!f.config.postgres.allow_synchronous);
	CHECK_EQ(f.config.postgres.connect_timeout_ms, 10000);
	CHECK_TEXT(f.config.outbox.table, "public.outbox");
	CHECK_TEXT(f.config.outbox.column_id, "id");
	CHECK_TEXT(f.config.outbox.column_key, "aggregateid");
	CHECK_TEXT(f.config.outbox.column_type, "type");
	CHECK_TEXT(f.config.outbox.column_payload, "payload");
	CHECK_TEXT(f.config.outbox.route_by, "aggregatetype");
	CHECK_TEXT(f.config.outbox.topic_regex, "(?<routedByValue>.*)");
	CHECK_TEXT(f.config.outbox.topic_replacement, "outbox.event.${routedByValue}");
	CHECK_TEXT(f.config.outbox.headers_standard, "id,type,walpost-position");
	CHECK_TEXT(f.config.outbox.headers, "");
	CHECK_TEXT(f.config.outbox.headers_source, "");
	CHECK_TEXT(f.config.outbox_ignore, "");
	CHECK_TEXT(f.config.outbox.leaves, "");
	CHECK_EQ(f.config.outbox.envelope, WP_ENVELOPE_RAW);
	CHECK_EQ(f.config.outbox.key_null, WP_KEY_NULL_STOP);
	CHECK_EQ(f.config.kafka.property_count, 0);
	CHECK_EQ(f.config.relay.sink, WP_SINK_KIND_KAFKA);
	CHECK_EQ(f.config.relay.in_flight_events, 8192);
	CHECK_EQ(f.config.relay.in_flight_bytes, 12 * 1024 * 1024);
	CHECK_EQ(f.config.relay.feedback_interval_ms, 100);
	CHECK_EQ(f.config.relay.topic_wait_ms, 600000);
	CHECK_EQ(f.config.relay.shutdown_timeout_ms, 20000);
	CHECK_EQ(f.config.relay.epoch, 0);
	CHECK_EQ(f.config.log.level, WP_LOG_INFO);
	CHECK_EQ(f.config.log.format, WP_LOG_LOGFMT);
	fixture_release(&f);
}

static void the_later_source_wins(void **state)
{
	char *environment[] = { "WALPOST__POSTGRES__SLOT=environment",
				"WALPOST__POSTGRES__PUBLICATION=environment", NULL };
	struct fixture f;

	load_all(&f, "[postgres]\nslot = file\npublication = file\ndecoding_work_mem = file\n",
		 environment, "postgres.slot=set");
	CHECK_EQ(f.rc, WP_OK);
	CHECK_TEXT(f.config.postgres.slot, "set");
	CHECK_TEXT(wp_config_where(&f.config, "postgres.slot"), "--set");
	CHECK_TEXT(f.config.postgres.publication, "environment");
	CHECK_TEXT(f.config.postgres.decoding_work_mem, "file");
	fixture_release(&f);
}

static void a_later_property_goes_behind_all_others(void **state)
{
	char *environment[] = { "WALPOST__KAFKA__LINGER_MS=2", NULL };
	struct fixture f;

	load_all(&f, "[kafka]\nlinger.ms = 1\nacks = all\n", environment, "kafka.acks=-1");
	CHECK_EQ(f.rc, WP_OK);
	CHECK_EQ(f.config.kafka.property_count, 2);
	CHECK_TEXT(f.config.kafka.properties[0].name, "linger.ms");
	CHECK_TEXT(f.config.kafka.properties[0].value, "2");
	CHECK_TEXT(f.config.kafka.properties[1].name, "acks");
	CHECK_TEXT(f.config.kafka.properties[1].value, "-1");
	CHECK_TEXT(f.config.kafka.properties[1].where, "--set");
	fixture_release(&f);
}

static void a_wrong_value_is_told_though_a_later_one_is_right(void **state)
{
	char *environment[] = { "WALPOST__RELAY__EPOCH=x", NULL };
	struct fixture f;

	load_all(&f, "", environment, "relay.epoch=1");
	one_error(&f, "environment WALPOST__RELAY__EPOCH");
	fixture_release(&f);
}

static void a_setting_may_hold_what_a_shell_lets_through(void **state)
{
	struct fixture f;

	load_set(&f, "outbox.headers= a=b ");
	CHECK_EQ(f.rc, WP_OK);
	CHECK_TEXT(f.config.outbox.headers, " a=b ");
	fixture_release(&f);
}

static void refused(const char *set, const char *said)
{
	struct fixture f;

	load_set(&f, set);
	one_error(&f, said);
	fixture_release(&f);
}

static void a_setting_without_key_or_value_is_refused(void **state)
{
	refused("", "--set takes section.key=value");
	refused("relay.sink", "--set takes section.key=value");
	refused("=stdout", "--set takes section.key=value");
	refused("sink=stdout", "--set takes section.key=value");
	refused("relay.sinks=stdout",
		"--set: relay.sinks: there is no such key; did you mean relay.sink?");
	refused("kafka.=x", "the name of a Kafka property is missing");
}

static void a_key_beyond_the_limit_is_refused(void **state)
{
	char set[300] = "kafka.";
	struct fixture f;

	memset(set + strlen(set), 'a', 255 - strlen("kafka."));
	memcpy(set + 255, "=x", 3);
	load_set(&f, set);
	CHECK_EQ(f.rc, WP_OK);
	fixture_release(&f);
	memcpy(set + 255, "a=x", 4);
	refused(set, "--set: the key is longer than 255 bytes");
}

static void a_secret_in_a_setting_is_refused_and_not_repeated(void **state)
{
	static const char *const sets[] = {
		"postgres.password=hush",
		"postgres.conninfo=host=db password=hush",
		"postgres.conninfo=postgresql://u:hush@db/app",
		"postgres.conninfo=password=hush hush",
		"postgres.coninfo=password=hush",
		"postgres.passwrod=hush",
		"kafka.sasl.password=hush",
		"kafka.ssl.key.password=hush",
		"kafka.ssl.key.pem=hush",
		"kafka.ssl.keystore.password=hush",
		"kafka.sasl.oauthbearer.client.secret=hush",
		"kafka.sasl.oauthbearer.config=hush",
		"kafka.sasl.jaas.config=hush",
	};
	struct fixture f;

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		load_set(&f, sets[i]);
		one_error(&f,
			  "everyone on this machine can read a secret on the command line (ps)");
		assert_null(strstr(f.notes.notes[0].error.text, "hush"));
		fixture_release(&f);
	}
}

static void the_value_of_a_key_that_is_none_is_never_repeated(void **state)
{
	static const char *const sets[] = { "postgres.pw=hush", "postgres.usr=hush",
					    "relay.epoc=hush", "pg.dsn=host=db pw=hush" };
	struct fixture f;

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		load_set(&f, sets[i]);
		one_error(&f, "there is no such key");
		assert_null(strstr(f.notes.notes[0].error.text, "hush"));
		fixture_release(&f);
	}
}

static void a_conninfo_without_secret_may_be_a_setting(void **state)
{
	struct fixture f;

	load_set(&f, "postgres.conninfo=host=db passfile=/p");
	CHECK_EQ(f.rc, WP_OK);
	CHECK_TEXT(f.config.postgres.conninfo, "host=db passfile=/p");
	fixture_release(&f);
}

static void releasing_leaves_nothing_and_may_be_repeated(void **state)
{
	struct fixture f;

	load_set(&f, "postgres.slot=s");
	wp_config_release(&f.config);
	assert_null(f.config.storage);
	assert_null(f.config.postgres.slot);
	wp_config_release(&f.config);
}

static void without_memory_it_says_so_wherever_it_ends(void **state)
{
	char *environment[] = { "WALPOST__KAFKA__ACKS=all",
				"WALPOST__POSTGRES__PASSWORD_FILE=/dev/null", NULL };
	const char *set = "postgres.slot=s";
	const struct wp_config_sources sources = { .environment = environment,
						   .sets = &set,
						   .set_count = 1 };
	struct fixture f;
	enum wp_rc rc = WP_NOMEM;
	size_t at;

	for (at = 1; rc == WP_NOMEM; at++) {
		failing = at;
		rc = wp_config_load(&sources, &f.config, &f.notes);
		failing = 0;
		fixture_release(&f);
	}
	CHECK_EQ(rc, WP_OK);
	/* Storage, its array, a file (its array, itself, path, copy), a property, two values, outboxes. */
	CHECK_EQ(at - 2, 1 + 1 + 4 + 3 + 2 + 2 + 1);
}

int main(void)
{
	return RUN(PLAIN(the_defaults_are_those_of_the_rooms), PLAIN(the_later_source_wins),
		   PLAIN(a_later_property_goes_behind_all_others),
		   PLAIN(a_wrong_value_is_told_though_a_later_one_is_right),
		   PLAIN(a_setting_may_hold_what_a_shell_lets_through),
		   PLAIN(a_setting_without_key_or_value_is_refused),
		   PLAIN(a_key_beyond_the_limit_is_refused),
		   PLAIN(a_secret_in_a_setting_is_refused_and_not_repeated),
		   PLAIN(the_value_of_a_key_that_is_none_is_never_repeated),
		   PLAIN(a_conninfo_without_secret_may_be_a_setting),
		   PLAIN(releasing_leaves_nothing_and_may_be_repeated),
		   PLAIN(without_memory_it_says_so_wherever_it_ends));
}
