#include <stdio.h>
#include <stdlib.h>

#include <librdkafka/rdkafka.h>

#include "walpost/cli/cli.h"
#include "walpost/cli/commands.h"
#include "walpost/run/run.h"

/* NULL: no memory. */
static char *shown_configuration(const struct wp_config *config)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	if (file == NULL)
		return NULL;
	wp_config_show(config, file);
	if (fclose(file) == 0)
		return text;
	free(text);
	return NULL;
}

int wp_command_run(int argc, char **argv)
{
	static const struct wp_cli_usage usage = {
		.command = "walpost run",
		.about = "Relays the outbox to Kafka, in the foreground, until SIGTERM or SIGINT: then it\n"
			 "waits for what is in flight, tells Postgres, and ends. A second signal ends it at\n"
			 "once. Log lines go to standard error.",
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
		char *shown = shown_configuration(&config);
		const struct wp_run_options options = {
			.postgres = &config.postgres,
			.outboxes = &config.outboxes,
			.kafka = &config.kafka,
			.relay = &config.relay,
			.http = &config.http,
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
