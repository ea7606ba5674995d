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
		.about = "Relays the outbox to Kafka in the foreground until SIGTERM or SIGINT. Then it\n"
"waits for the events in flight, confirms them to Postgres, and ends. A second\n"
"signal ends it at once. SIGHUP reloads the configuration: log.level and all of\n"
"[outbox] change without a restart; other changed settings are named and need one.\n"
"Log lines go to standard error.",
		.exits = {
			[WP_EXIT_OK] = "stopped on request",
			[WP_EXIT_FAILED] = "failed; a restart may help",
			[WP_EXIT_CONFIG] = "wrong usage or configuration",
			[WP_EXIT_HUMAN] = "operator action is required: see the log line with level=error",
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
