#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/check.h"
#include "torture.h"
#include "walpost/config/config.h"

static char config_path[64];

/* Nothing is ever left out silently. */
static void check_config(const struct wp_config *c)
{
	CHECK_TEXT(c->postgres.slot, "s");
	CHECK_EQ(c->postgres.binary, WP_TRANSFER_BINARY);
	CHECK_TEXT(c->postgres.conninfo, "host=db dbname=shop password='s s' options='-c a=b'");
	CHECK_TEXT(c->outboxes.ignore, "public.*, \"A b\".c");
	CHECK_TEXT(c->outbox.topic_regex, "sales/(?<w>[a-z]+)");
	CHECK_EQ(c->relay.in_flight_bytes, 1 << 20);
	CHECK_EQ(c->log.level, WP_LOG_WARN);
	CHECK_EQ(c->kafka.property_count, 3);
}

static enum wp_rc load_config(void)
{
	static char *environment[] = { "WALPOST__KAFKA__LINGER_MS=5", "WALPOST__LOG__LEVEL=warn",
				       "WALPOST__POSTGRES__PASSWORD_FILE=/dev/null", NULL };
	static const char *const sets[] = { "postgres.slot=s", "kafka.compression.type=zstd" };
	static struct wp_config_notes notes;
	const struct wp_config_sources sources = {
		.file = config_path, .environment = environment, .sets = sets, .set_count = 2
	};
	struct wp_config config;

	notes = (struct wp_config_notes){ .count = 0 };
	enum wp_rc rc = wp_config_load(&sources, &config, &notes);
	if (rc == WP_OK)
		rc = wp_config_check(&config, &notes);
	if (rc == WP_OK)
		check_config(&config);
	wp_config_release(&config);
	return rc;
}

static void a_configuration_is_read_or_there_was_no_memory(void **state)
{
	static const char text[] =
		"[postgres]\nconninfo = host=db dbname=shop password='s s' options='-c a=b'\n"
		"binary = on\n\n[outbox]\nignore = public.*, \"A b\".c\nheaders = a:b, c\n"
		"topic.regex = sales/(?<w>[a-z]+)\ntopic.replacement = eu.${w}\n"
		"[kafka]\nbootstrap.servers = k:9092\n[relay]\nin_flight.bytes = 1MiB\n";
	(void)snprintf(config_path, sizeof(config_path), "/tmp/walpost-torture-XXXXXX");
	int fd = mkstemp(config_path);

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	(void)close(fd);
	torture(load_config);
	(void)unlink(config_path);
}

int main(void)
{
	return RUN(PLAIN(a_configuration_is_read_or_there_was_no_memory));
}
