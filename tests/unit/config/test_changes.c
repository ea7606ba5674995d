/* What a reload changes, and what it keeps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "support/check.h"
#include "support/files.h"
#include "walpost/base/secret_file.h"
#include "walpost/config/config.h"

static char told[2048];

static void tell(void *arg, const char *key, enum wp_config_change change)
{
	size_t at = strlen(told);

	(void)snprintf(told + at, sizeof(told) - at, "%s%s ",
		       change == WP_CONFIG_CHANGE_LIVE ? "" : "!", key);
}

/* `shown` of what is in force then; the caller frees it. */
static char *compare(const char *before, const char *after, const char *wanted)
{
	load_file(before);
	CHECK_EQ(got.rc, WP_OK);
	struct fixture old = take();
	load_file(after);
	CHECK_EQ(got.rc, WP_OK);
	told[0] = '\0';
	CHECK_EQ(wp_config_take_over(&old.config, &got.config, tell, NULL), WP_OK);
	CHECK_TEXT(told, wanted);
	wp_config_release(&old.config);
	return shown(); /* what was kept stands on its own */
}

static void check(const char *before, const char *after, const char *wanted)
{
	free(compare(before, after, wanted));
}

static void the_same_is_no_change(void **state)
{
	check(RIGHT, "# moved by a line\n" RIGHT, "");
	check("[log]\nlevel = info\n", "", "");
	check("[kafka]\na = 1\nb = 2\n", "[kafka]\nb = 2\na = 1\n", "");
}

static void level_and_outbox_are_live(void **state)
{
	char *text = compare("[outbox]\nheaders = tenant\n[log]\nlevel = info\n",
			     "[outbox]\nheaders = tenant,trace\nheaders.source = a\n"
			     "[log]\nlevel = debug\n",
			     "outbox.headers outbox.headers.source log.level ");

	CHECK_HAS(text, "outbox.headers = tenant,trace    (");
	CHECK_HAS(text, "log.level = debug    (");
	free(text);
}

static void what_only_a_start_can_change_stays_as_it_was(void **state)
{
	char *text =
		compare("[postgres]\nslot = a\n[relay]\nin_flight.events = 100\n",
			"[postgres]\nslot = b\nconninfo = dbname=x\n[log]\nlevel = warn\n",
			"!postgres.conninfo !postgres.slot !relay.in_flight.events log.level ");

	CHECK_HAS(text, "postgres.slot = a    (");
	CHECK_HAS(text, "relay.in_flight.events = 100    (");
	CHECK_HAS(text, "log.level = warn    (");
	assert_null(strstr(text, "dbname=x"));
	free(text);
}

static void named_outboxes_come_change_and_go(void **state)
{
	check("[outbox.a]\ntable = a\n[outbox.b]\ntable = b\nheaders = x\n",
	      "[outbox.b]\ntable = b\nheaders = y\n[outbox.c]\ntable = c\n",
	      "outbox.a.table outbox.b.headers outbox.c.table ");
	check("[outbox.a]\ntable = a\n", "[outbox.a]\ntable = a\nheaders = x\n",
	      "outbox.a.headers ");
}

static void properties_of_kafka_stay(void **state)
{
	char *text = compare("[kafka]\nbootstrap.servers = a\nlinger.ms = 5\nacks = all\n",
			     "[kafka]\nbootstrap.servers = b\nclient.id = me\nacks = all\n",
			     "!kafka.bootstrap.servers !kafka.linger.ms !kafka.client.id ");

	CHECK_HAS(text, "kafka.bootstrap.servers = a    (");
	CHECK_HAS(text, "kafka.linger.ms = 5    (");
	assert_null(strstr(text, "client.id"));
	free(text);
}

static void a_secret_is_named_and_not_told(void **state)
{
	check("[postgres]\npassword = one\n[kafka]\nsasl.password = two\n",
	      "[postgres]\npassword = three\n[kafka]\nsasl.password = four\n",
	      "!postgres.password !kafka.sasl.password ");
}

/* `before` and `after` stand in a file that WALPOST__..._FILE names. */
static void check_rotated(const char *variable, const char *wanted)
{
	char path[64], text[256];
	char *environment[] = { text, NULL };

	write_file(path, "dbname=a", 8);
	(void)snprintf(text, sizeof(text), "%s=%s", variable, path);
	load_environment(environment);
	struct fixture old = take();
	write_text(path, "dbname=b");
	load_environment(environment);
	told[0] = '\0';
	CHECK_EQ(wp_config_take_over(&old.config, &got.config, tell, NULL), WP_OK);
	CHECK_TEXT(told, wanted);
	wp_config_release(&old.config);
	if (got.config.kafka.property_count > 0) /* its own */
		CHECK_TEXT(wp_secret_file_path(got.config.kafka.properties[0].file), path);
	CHECK_EQ(unlink(path), 0);
}

static void a_secret_that_was_rotated_in_its_file_needs_no_restart(void **state)
{
	check_rotated("WALPOST__POSTGRES__PASSWORD_FILE", "");
	check_rotated("WALPOST__POSTGRES__CONNINFO_FILE", "");
	check_rotated("WALPOST__KAFKA__SASL_PASSWORD_FILE", "");
	check_rotated("WALPOST__POSTGRES__DECODING_WORK_MEM_FILE", "!postgres.decoding_work_mem ");
}

int main(void)
{
	return RUN(CLEAN(the_same_is_no_change), CLEAN(level_and_outbox_are_live),
		   CLEAN(what_only_a_start_can_change_stays_as_it_was),
		   CLEAN(named_outboxes_come_change_and_go), CLEAN(properties_of_kafka_stay),
		   CLEAN(a_secret_is_named_and_not_told),
		   CLEAN(a_secret_that_was_rotated_in_its_file_needs_no_restart));
}
