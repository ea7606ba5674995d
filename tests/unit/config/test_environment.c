#include <string.h>
#include <unistd.h>

#include "walpost/base/secret_file.h"

#include "fixture.h"
#include "support/check.h"

static void a_variable_sets_its_key(void **state)
{
	char *environment[] = { "PATH=/bin", "WALPOST__POSTGRES__SLOT=orders",
				"WALPOST__RELAY__IN_FLIGHT_EVENTS=7", NULL };

	load_environment(environment);
	CHECK_EQ(got.rc, WP_OK);
	CHECK_EQ(got.notes.count, 0);
	CHECK_TEXT(got.config.postgres.slot, "orders");
	CHECK_EQ(got.config.relay.in_flight_events, 7);
	CHECK_TEXT(wp_config_where(&got.config, "postgres.slot"),
		   "environment WALPOST__POSTGRES__SLOT");
}

static void an_underscore_means_a_dot_in_kafka(void **state)
{
	char *environment[] = { "WALPOST__KAFKA__SASL_PASSWORD=hush",
				"WALPOST__KAFKA__BOOTSTRAP_SERVERS=k:9092", NULL };

	load_environment(environment);
	CHECK_EQ(got.rc, WP_OK);
	CHECK_EQ(got.config.kafka.property_count, 2);
	CHECK_TEXT(got.config.kafka.properties[0].name, "sasl.password");
	CHECK_TEXT(got.config.kafka.properties[0].value, "hush");
	CHECK_TEXT(got.config.kafka.properties[0].where,
		   "environment WALPOST__KAFKA__SASL_PASSWORD");
	CHECK_TEXT(got.config.kafka.properties[1].name, "bootstrap.servers");
}

static void elsewhere_an_underscore_is_what_the_key_has(void **state)
{
	char *environment[] = { "WALPOST__OUTBOX__COLUMN_ID=event",
				"WALPOST__POSTGRES__DECODING_WORK_MEM=1GB",
				"WALPOST__OUTBOX__TOPIC_REGEX=(.*)", NULL };

	load_environment(environment);
	CHECK_EQ(got.rc, WP_OK);
	CHECK_TEXT(got.config.outbox.column_id, "event");
	CHECK_TEXT(got.config.postgres.decoding_work_mem, "1GB");
	CHECK_TEXT(got.config.outbox.topic_regex, "(.*)");
}

static void what_kubernetes_injects_is_not_ours(void **state)
{
	char *environment[] = { "WALPOST_PORT=tcp://10.0.0.1:80", "WALPOST_SERVICE_HOST=10.0.0.1",
				"WALPOST=1", NULL };

	load_environment(environment);
	CHECK_EQ(got.rc, WP_OK);
	CHECK_EQ(got.notes.count, 0);
}

static void warns(char *variable, const char *said)
{
	char *environment[] = { variable, NULL };

	load_environment(environment);
	one_warning(said);
}

static void an_unknown_variable_is_warned_about(void **state)
{
	warns("WALPOST__POSTGRES__SLOTT=x",
	      "environment WALPOST__POSTGRES__SLOTT: ignored, there is no such key; did you mean "
	      "WALPOST__POSTGRES__SLOT?");
	warns("WALPOST__NOTHING__LIKE__THIS=x",
	      "ignored, there is no such key; `walpost config reference`");
	warns("WALPOST__POSTGRES__SLOTT_FILE=/x", "ignored");
	warns("WALPOST__postgres__slot=x", "ignored");
}

static void a_name_beyond_the_limit_is_warned_about(void **state)
{
	char variable[600] = "WALPOST__KAFKA__";
	char *end;

	memset(variable + strlen(variable), 'A', 511 - strlen("WALPOST__KAFKA__"));
	end = variable + strlen(variable);
	memcpy(end, "A=x", 4);
	warns(variable, "the name is too long");
}

static void fails(char *variable, const char *said)
{
	char *environment[] = { variable, NULL };

	load_environment(environment);
	one_error(said);
}

static void a_bad_value_is_an_error(void **state)
{
	fails("WALPOST__RELAY__EPOCH=65536", "environment WALPOST__RELAY__EPOCH: relay.epoch = "
					     "65536: it must be a number from 0 to 65535");
	fails("WALPOST__KAFKA__=x", "the name of a Kafka property is missing");
}

static void from_file(const char *variable, const char *content, const char *wanted)
{
	char path[64];
	char text[256];
	char *environment[] = { text, NULL };

	write_file(path, content, strlen(content));
	(void)snprintf(text, sizeof(text), "%s=%s", variable, path);
	load_environment(environment);
	CHECK_EQ(got.rc, WP_OK);
	CHECK_EQ(got.notes.count, 0);
	if (got.config.kafka.property_count > 0)
		CHECK_TEXT(got.config.kafka.properties[0].value, wanted);
	else
		CHECK_TEXT(got.config.postgres.password, wanted);
	CHECK_EQ(unlink(path), 0);
}

static void a_value_can_be_read_from_a_file(void **state)
{
	from_file("WALPOST__POSTGRES__PASSWORD_FILE", "hush", "hush");
	from_file("WALPOST__KAFKA__SASL_PASSWORD_FILE", "hush\n", "hush");
}

static void one_newline_at_the_end_is_dropped_and_nothing_else(void **state)
{
	from_file("WALPOST__POSTGRES__PASSWORD_FILE", "hush\n", "hush");
	from_file("WALPOST__POSTGRES__PASSWORD_FILE", "hush\r\n", "hush");
	from_file("WALPOST__POSTGRES__PASSWORD_FILE", "hush\n\n", "hush\n");
	from_file("WALPOST__POSTGRES__PASSWORD_FILE", "  hu\nsh ", "  hu\nsh ");
	from_file("WALPOST__POSTGRES__PASSWORD_FILE", "", "");
}

static void the_place_names_variable_and_file(void **state)
{
	char path[64];
	char text[256];
	char *environment[] = { text, NULL };

	write_file(path, "65536", 5);
	(void)snprintf(text, sizeof(text), "WALPOST__RELAY__EPOCH_FILE=%s", path);
	load_environment(environment);
	one_error("environment WALPOST__RELAY__EPOCH_FILE (/tmp/walpost-test-");
	CHECK_EQ(unlink(path), 0);
}

static void a_file_that_is_not_there_is_an_error(void **state)
{
	fails("WALPOST__POSTGRES__PASSWORD_FILE=/nonexistent/secret",
	      "environment WALPOST__POSTGRES__PASSWORD_FILE: postgres.password: "
	      "/nonexistent/secret cannot be "
	      "read: No such file");
}

static void a_value_and_its_file_exclude_each_other(void **state)
{
	char *environment[] = { "WALPOST__POSTGRES__SLOT=a",
				"WALPOST__POSTGRES__SLOT_FILE=/dev/null", NULL };

	load_environment(environment);
	one_error("WALPOST__POSTGRES__SLOT_FILE: WALPOST__POSTGRES__SLOT is set too");
}

static void what_came_from_a_file_is_known_by_it(void **state)
{
	char path[64];
	char password[128], broker[128];
	char *environment[] = { password, broker, "WALPOST__KAFKA__SASL_USERNAME=me", NULL };

	write_file(path, "hush\n", 5);
	(void)snprintf(password, sizeof(password), "WALPOST__POSTGRES__PASSWORD_FILE=%s", path);
	(void)snprintf(broker, sizeof(broker), "WALPOST__KAFKA__SASL_PASSWORD_FILE=%s", path);
	load_environment(environment);
	CHECK_EQ(got.rc, WP_OK);
	CHECK_TEXT(wp_secret_file_path(got.config.postgres.password_file), path);
	assert_null(got.config.postgres.conninfo_file);
	CHECK_TEXT(wp_secret_file_path(got.config.kafka.properties[0].file), path);
	assert_null(got.config.kafka.properties[1].file);
	CHECK_EQ(unlink(path), 0);
}

static void a_later_source_takes_the_place_of_the_file(void **state)
{
	char path[64];
	char conninfo[128], property[128];
	char *environment[] = { conninfo, property, NULL };

	write_file(path, "dbname=a", 8);
	(void)snprintf(conninfo, sizeof(conninfo), "WALPOST__POSTGRES__CONNINFO_FILE=%s", path);
	(void)snprintf(property, sizeof(property), "WALPOST__KAFKA__CLIENT_ID_FILE=%s", path);
	load_all("", environment, "postgres.conninfo=dbname=b");
	CHECK_EQ(got.rc, WP_OK);
	CHECK_TEXT(got.config.postgres.conninfo, "dbname=b");
	assert_null(got.config.postgres.conninfo_file);
	load_all("", environment, "kafka.client.id=me");
	CHECK_TEXT(wp_secret_file_path(got.config.postgres.conninfo_file), path);
	assert_null(got.config.kafka.properties[0].file);
	CHECK_EQ(unlink(path), 0);
}

int main(void)
{
	return RUN(CLEAN(a_variable_sets_its_key), CLEAN(an_underscore_means_a_dot_in_kafka),
		   CLEAN(elsewhere_an_underscore_is_what_the_key_has),
		   CLEAN(what_kubernetes_injects_is_not_ours),
		   CLEAN(an_unknown_variable_is_warned_about),
		   CLEAN(a_name_beyond_the_limit_is_warned_about), CLEAN(a_bad_value_is_an_error),
		   CLEAN(a_value_can_be_read_from_a_file),
		   CLEAN(one_newline_at_the_end_is_dropped_and_nothing_else),
		   CLEAN(the_place_names_variable_and_file),
		   CLEAN(a_file_that_is_not_there_is_an_error),
		   CLEAN(a_value_and_its_file_exclude_each_other),
		   CLEAN(what_came_from_a_file_is_known_by_it),
		   CLEAN(a_later_source_takes_the_place_of_the_file));
}
