#include <stdlib.h>

#include <librdkafka/rdkafka.h>

#include "reload.h"
#include "walpost/cli/cli.h"
#include "walpost/cli/commands.h"
#include "walpost/run/run.h"

int wp_command_run(int argc, char **argv)
{
	static const struct wp_cli_usage usage = {
		.command = "walpost run",
		.about = "Relays the outbox to Kafka, in the foreground, until SIGTERM or SIGINT: then it\n"
			 "waits for what is in flight, tells Postgres, and ends. A second signal ends it at\n"
			 "once. SIGHUP reads the configuration again: log.level and all of [outbox] change\n"
			 "in flight, what else changed is named and needs a restart. Log lines go to\n"
			 "standard error.",
		.exits = {
			[WP_EXIT_OK] = "stopped as asked",
			[WP_EXIT_FAILED] = "failed; a restart may help",
			[WP_EXIT_CONFIG] = "wrong usage or configuration",
			[WP_EXIT_HUMAN] = "a human must act: the log line with level=error says how",
		},
	};
	struct wp_cli_line line;
	struct wp_config config;
	int exit_code;

	if (!wp_cli_parse(&usage, argc, argv, &line, &exit_code))
		return exit_code;
	exit_code = wp_cli_config_logged(&line, &config);
	if (exit_code == WP_EXIT_OK) {
		char libpq[WP_LIBPQ_VERSION_SIZE];
		char *shown = wp_cli_shown(&config);
		struct wp_cli_reload reload = { .line = &line, .started = &config };
		const struct wp_run_options options = {
			.postgres = &config.postgres,
			.outboxes = &config.outboxes,
			.kafka = &config.kafka,
			.relay = &config.relay,
			.http = &config.http,
			.reload = wp_cli_reload(&reload),
			.libpq_version = wp_cli_libpq_version(libpq),
			.librdkafka_version = rd_kafka_version_str(),
			.configuration = shown ? shown : "",
		};

		exit_code = wp_run(&options);
		free(shown);
	}
	wp_config_release(&config);
	return exit_code;
}
