#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "support/check.h"
#include "support/memory.h"

static void the_defaults_are_those_of_the_rooms(void **state)
{
	const struct wp_config_sources nothing = { .file = NULL };

	CHECK_EQ(wp_config_load(&nothing, &got.config, &got.notes), WP_OK);
	CHECK_TEXT(got.config.postgres.conninfo, "");
	CHECK_TEXT(got.config.postgres.password, "");
	CHECK_TEXT(got.config.postgres.slot, "walpost");
	CHECK_TEXT(got.config.postgres.publication, "walpost");
	CHECK_TEXT(got.config.postgres.decoding_work_mem, "");
	CHECK(!got.config.postgres.allow_synchronous);
	CHECK_EQ(got.config.postgres.connect_timeout_ms, 10000);
	CHECK_TEXT(got.config.outbox.table, "public.outbox");
	CHECK_TEXT(got.config.outbox.column_id, "id");
	CHECK_TEXT(got.config.outbox.column_key, "aggregateid");
	CHECK_TEXT(got.config.outbox.column_type, "type");
	CHECK_TEXT(got.config.outbox.column_payload, "payload");
	CHECK_TEXT(got.config.outbox.route_by, "aggregatetype");
	CHECK_TEXT(got.config.outbox.topic_regex, "(?<routedByValue>.*)");
	CHECK_TEXT(got.config.outbox.topic_replacement, "outbox.event.${routedByValue}");
	CHECK_TEXT(got.config.outbox.headers_standard, "id,type,walpost-position");
	CHECK_TEXT(got.config.outbox.headers, "");
	CHECK_TEXT(got.config.outbox.headers_source, "");
	CHECK_TEXT(got.config.outbox_ignore, "");
	CHECK_TEXT(got.config.outbox.leaves, "");
	CHECK_EQ(got.config.outbox.envelope, WP_ENVELOPE_RAW);
	CHECK_EQ(got.config.outbox.key_null, WP_KEY_NULL_STOP);
	CHECK_EQ(got.config.kafka.property_count, 0);
	CHECK_EQ(got.config.relay.sink, WP_SINK_KIND_KAFKA);
	CHECK_EQ(got.config.relay.in_flight_events, 8192);
	CHECK_EQ(got.config.relay.in_flight_bytes, 12 * 1024 * 1024);
	CHECK_EQ(got.config.relay.feedback_interval_ms, 100);
	CHECK_EQ(got.config.relay.topic_wait_ms, 600000);
	CHECK_EQ(got.config.relay.shutdown_timeout_ms, 20000);
	CHECK_EQ(got.config.relay.epoch, 0);
	CHECK_EQ(got.config.log.level, WP_LOG_INFO);
	CHECK_EQ(got.config.log.format, WP_LOG_LOGFMT);
}

static void the_later_source_wins(void **state)
{
	char *environment[] = { "WALPOST__POSTGRES__SLOT=environment",
				"WALPOST__POSTGRES__PUBLICATION=environment", NULL };

	load_all("[postgres]\nslot = file\npublication = file\ndecoding_work_mem = file\n",
		 environment, "postgres.slot=set");
	CHECK_EQ(got.rc, WP_OK);
	CHECK_TEXT(got.config.postgres.slot, "set");
	CHECK_TEXT(wp_config_where(&got.config, "postgres.slot"), "--set");
	CHECK_TEXT(got.config.postgres.publication, "environment");
	CHECK_TEXT(got.config.postgres.decoding_work_mem, "file");
}

static void a_later_property_goes_behind_all_others(void **state)
{
	char *environment[] = { "WALPOST__KAFKA__LINGER_MS=2", NULL };

	load_all("[kafka]\nlinger.ms = 1\nacks = all\n", environment, "kafka.acks=-1");
	CHECK_EQ(got.rc, WP_OK);
	CHECK_EQ(got.config.kafka.property_count, 2);
	CHECK_TEXT(got.config.kafka.properties[0].name, "linger.ms");
	CHECK_TEXT(got.config.kafka.properties[0].value, "2");
	CHECK_TEXT(got.config.kafka.properties[1].name, "acks");
	CHECK_TEXT(got.config.kafka.properties[1].value, "-1");
	CHECK_TEXT(got.config.kafka.properties[1].where, "--set");
}

static void a_wrong_value_is_told_though_a_later_one_is_right(void **state)
{
	char *environment[] = { "WALPOST__RELAY__EPOCH=x", NULL };

	load_all("", environment, "relay.epoch=1");
	one_error("environment WALPOST__RELAY__EPOCH");
}

static void a_setting_may_hold_what_a_shell_lets_through(void **state)
{
	load_set("outbox.headers= a=b ");
	CHECK_EQ(got.rc, WP_OK);
	CHECK_TEXT(got.config.outbox.headers, " a=b ");
}

static void refused(const char *set, const char *said)
{
	load_set(set);
	one_error(said);
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

	memset(set + strlen(set), 'a', 255 - strlen("kafka."));
	memcpy(set + 255, "=x", 3);
	load_set(set);
	CHECK_EQ(got.rc, WP_OK);
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

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		load_set(sets[i]);
		one_error("everyone on this machine can read a secret on the command line (ps)");
		assert_null(strstr(got.notes.notes[0].error.text, "hush"));
	}
}

static void the_value_of_a_key_that_is_none_is_never_repeated(void **state)
{
	static const char *const sets[] = { "postgres.pw=hush", "postgres.usr=hush",
					    "relay.epoc=hush", "pg.dsn=host=db pw=hush" };

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		load_set(sets[i]);
		one_error("there is no such key");
		assert_null(strstr(got.notes.notes[0].error.text, "hush"));
	}
}

static void a_conninfo_without_secret_may_be_a_setting(void **state)
{
	load_set("postgres.conninfo=host=db passfile=/p");
	CHECK_EQ(got.rc, WP_OK);
	CHECK_TEXT(got.config.postgres.conninfo, "host=db passfile=/p");
}

static void releasing_leaves_nothing_and_may_be_repeated(void **state)
{
	load_set("postgres.slot=s");
	wp_config_release(&got.config);
	assert_null(got.config.storage);
	assert_null(got.config.postgres.slot);
	wp_config_release(&got.config);
}

static void without_memory_it_says_so_wherever_it_ends(void **state)
{
	char *environment[] = { "WALPOST__KAFKA__ACKS=all",
				"WALPOST__POSTGRES__PASSWORD_FILE=/dev/null", NULL };
	const char *set = "postgres.slot=s";
	const struct wp_config_sources sources = { .environment = environment,
						   .sets = &set,
						   .set_count = 1 };
	enum wp_rc rc = WP_NOMEM;
	size_t at;

	for (at = 1; rc == WP_NOMEM; at++) {
		memory_fails_after(at - 1);
		rc = wp_config_load(&sources, &got.config, &got.notes);
		memory_works();
		(void)tear_down(NULL);
	}
	CHECK_EQ(rc, WP_OK);
	/* Storage, its array, a file (array, itself, text, path, copy), property, values, outboxes. */
	CHECK_EQ(at - 2, 1 + 1 + 5 + 3 + 2 + 2 + 1);
}

int main(void)
{
	return RUN(CLEAN(the_defaults_are_those_of_the_rooms), CLEAN(the_later_source_wins),
		   CLEAN(a_later_property_goes_behind_all_others),
		   CLEAN(a_wrong_value_is_told_though_a_later_one_is_right),
		   CLEAN(a_setting_may_hold_what_a_shell_lets_through),
		   CLEAN(a_setting_without_key_or_value_is_refused),
		   CLEAN(a_key_beyond_the_limit_is_refused),
		   CLEAN(a_secret_in_a_setting_is_refused_and_not_repeated),
		   CLEAN(the_value_of_a_key_that_is_none_is_never_repeated),
		   CLEAN(a_conninfo_without_secret_may_be_a_setting),
		   CLEAN(releasing_leaves_nothing_and_may_be_repeated),
		   CLEAN(without_memory_it_says_so_wherever_it_ends));
}
