#include <stdlib.h>
#include <string.h>

#include "walpost/config/option.h"

#include "support/check.h"

static struct wp_config config;

static enum wp_rc store(const char *key, const char *text)
{
	const struct wp_option *option = wp_option_find(key);

	assert_non_null(option);
	return wp_value_store(option, text, &config);
}

static void taken(const char *key, const char *text)
{
	CHECK_EQ(store(key, text), WP_OK);
}

#define TAKEN(key_, text_, field_, wanted_)         \
	do {                                        \
		taken((key_), (text_));             \
		CHECK_EQ(config.field_, (wanted_)); \
	} while (0)

static void refused(const char *key, const char *text)
{
	struct wp_config before = config;

	CHECK_EQ(store(key, text), WP_CONFIG);
	assert_memory_equal(&before, &config, sizeof(config));
}

static void a_count_is_taken_within_its_range(void **state)
{
	TAKEN("relay.in_flight.events", "1", relay.in_flight_events, 1);
	TAKEN("relay.in_flight.events", "1048576", relay.in_flight_events, 1048576);
	refused("relay.in_flight.events", "0");
	refused("relay.in_flight.events", "1048577");
}

static void a_count_is_digits_only(void **state)
{
	refused("relay.in_flight.events", "");
	refused("relay.in_flight.events", "-1");
	refused("relay.in_flight.events", "+1");
	refused("relay.in_flight.events", "1.5");
	refused("relay.in_flight.events", "0x10");
	refused("relay.in_flight.events", "16k");
	refused("relay.in_flight.events", "1 000");
	refused("relay.in_flight.events", "99999999999999999999999");
}

static void a_narrow_number_leaves_its_neighbours_alone(void **state)
{
	config.relay.shutdown_timeout_ms = -1;
	TAKEN("relay.epoch", "65535", relay.epoch, 65535);
	CHECK_EQ(config.relay.shutdown_timeout_ms, -1);
	taken("relay.epoch", "0");
	refused("relay.epoch", "65536");
}

static void a_size_may_have_a_unit(void **state)
{
	TAKEN("relay.in_flight.bytes", "65536", relay.in_flight_bytes, 65536);
	TAKEN("relay.in_flight.bytes", "65536B", relay.in_flight_bytes, 65536);
	TAKEN("relay.in_flight.bytes", "64KiB", relay.in_flight_bytes, 65536);
	TAKEN("relay.in_flight.bytes", "32 MiB", relay.in_flight_bytes, 33554432);
	TAKEN("relay.in_flight.bytes", "1GiB", relay.in_flight_bytes, 1073741824);
}

static void a_size_out_of_range_or_of_another_unit_is_refused(void **state)
{
	refused("relay.in_flight.bytes", "65535");
	refused("relay.in_flight.bytes", "1073741825");
	refused("relay.in_flight.bytes", "32MB");
	refused("relay.in_flight.bytes", "32M");
	refused("relay.in_flight.bytes", "MiB");
	refused("relay.in_flight.bytes", "1.5GiB");
	refused("relay.in_flight.bytes", "9223372036854775807GiB");
}

static void a_duration_has_a_unit(void **state)
{
	TAKEN("relay.shutdown.timeout", "100ms", relay.shutdown_timeout_ms, 100);
	TAKEN("relay.shutdown.timeout", "20s", relay.shutdown_timeout_ms, 20000);
	TAKEN("relay.shutdown.timeout", "10min", relay.shutdown_timeout_ms, 600000);
	TAKEN("relay.topic.wait", "168h", relay.topic_wait_ms, INT64_C(604800000));
	refused("relay.shutdown.timeout", "20");
	refused("relay.shutdown.timeout", "20m");
	refused("relay.shutdown.timeout", "20 seconds");
	refused("relay.shutdown.timeout", "s");
}

static void a_duration_out_of_range_is_refused(void **state)
{
	refused("relay.shutdown.timeout", "99ms");
	refused("relay.shutdown.timeout", "600001ms");
	refused("relay.topic.wait", "604800001ms");
	refused("relay.topic.wait", "9223372036854775807h");
	TAKEN("relay.topic.wait", "0s", relay.topic_wait_ms, 0);
}

static void a_choice_is_one_of_its_names(void **state)
{
	TAKEN("outbox.envelope", "protobuf", outbox.envelope, WP_ENVELOPE_PROTOBUF);
	TAKEN("outbox.envelope", "raw", outbox.envelope, WP_ENVELOPE_RAW);
	TAKEN("outbox.key.null", "stop", outbox.key_null, WP_KEY_NULL_STOP);
	TAKEN("outbox.key.null", "allow", outbox.key_null, WP_KEY_NULL_ALLOW);
	TAKEN("relay.sink", "kafka", relay.sink, WP_SINK_KIND_KAFKA);
	TAKEN("relay.sink", "stdout", relay.sink, WP_SINK_KIND_STDOUT);
	refused("outbox.envelope", "Raw");
	refused("outbox.envelope", "");
	refused("outbox.envelope", "raw,protobuf");
}

static void each_log_level_and_format_has_its_name(void **state)
{
	TAKEN("log.level", "debug", log.level, WP_LOG_DEBUG);
	TAKEN("log.level", "info", log.level, WP_LOG_INFO);
	TAKEN("log.level", "warn", log.level, WP_LOG_WARN);
	TAKEN("log.level", "error", log.level, WP_LOG_ERROR);
	TAKEN("log.format", "json", log.format, WP_LOG_JSON);
	TAKEN("log.format", "logfmt", log.format, WP_LOG_LOGFMT);
}

static void a_truth_is_yes_or_no_or_what_else_one_writes(void **state)
{
	static const char *const truths[] = { "yes", "on", "true" };
	static const char *const lies[] = { "no", "off", "false" };

	for (size_t i = 0; i < 3; i++) {
		taken("postgres.allow_synchronous", truths[i]);
		CHECK(config.postgres.allow_synchronous);
		taken("postgres.allow_synchronous", lies[i]);
		CHECK(!config.postgres.allow_synchronous);
	}
	TAKEN("postgres.binary", "on", postgres.binary, WP_TRANSFER_BINARY);
	TAKEN("postgres.binary", "off", postgres.binary, WP_TRANSFER_TEXT);
	refused("postgres.allow_synchronous", "1");
	refused("postgres.allow_synchronous", "Yes");
	refused("postgres.allow_synchronous", "");
}

static void a_text_is_taken_up_to_its_limit(void **state)
{
	char name[65] = { 0 };

	memset(name, 'a', 63);
	taken("postgres.slot", name);
	CHECK_TEXT(config.postgres.slot, name);
	name[63] = 'a';
	refused("postgres.slot", name);
	refused("postgres.slot", "");
	taken("postgres.slot", "a");
	taken("outbox.headers", "");
	CHECK_TEXT(config.outbox.headers, "");
}

static void a_duration_that_is_no_option_has_the_same_units(void **state)
{
	int64_t ms = 0;

	CHECK_EQ(wp_value_duration("90min", &ms), WP_OK);
	CHECK_EQ(ms, 90 * 60 * 1000);
	CHECK_EQ(wp_value_duration("2 h", &ms), WP_OK);
	CHECK_EQ(ms, 2 * 3600 * 1000);
	CHECK_EQ(wp_value_duration("2", &ms), WP_CONFIG);
	CHECK_EQ(wp_value_duration("-2h", &ms), WP_CONFIG);
	CHECK_EQ(wp_value_duration("99999999999999999h", &ms), WP_CONFIG);
	CHECK_EQ(ms, 2 * 3600 * 1000);
}

int main(void)
{
	return RUN(
		PLAIN(a_count_is_taken_within_its_range), PLAIN(a_count_is_digits_only),
		PLAIN(a_narrow_number_leaves_its_neighbours_alone), PLAIN(a_size_may_have_a_unit),
		PLAIN(a_size_out_of_range_or_of_another_unit_is_refused),
		PLAIN(a_duration_has_a_unit), PLAIN(a_duration_out_of_range_is_refused),
		PLAIN(a_duration_that_is_no_option_has_the_same_units),
		PLAIN(a_choice_is_one_of_its_names), PLAIN(each_log_level_and_format_has_its_name),
		PLAIN(a_truth_is_yes_or_no_or_what_else_one_writes),
		PLAIN(a_text_is_taken_up_to_its_limit));
}
