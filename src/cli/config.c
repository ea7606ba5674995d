#include <stdio.h>

#include "walpost/cli/cli.h"
#include "walpost/cli/commands.h"

static int reference(int argc, char **argv)
{
	return wp_cli_print("walpost config reference",
			    "Prints the reference of all options, as Markdown.",
			    wp_config_reference, argc, argv);
}

static int sample(int argc, char **argv)
{
	return wp_cli_print("walpost config sample",
			    "Prints a sample walpost.conf: every option with its default.",
			    wp_config_sample, argc, argv);
}

static int show(int argc, char **argv)
{
	static const struct wp_cli_usage usage = {
		.command = "walpost config show",
		.about = "Checks the configuration and prints the values in effect with the origin of each,\n"
"secrets as asterisks. Makes no connection. If a file cannot be read to its end,\n"
"only the errors are shown.",
		.exits = {
			[WP_EXIT_OK] = "printed, and the configuration is valid",
			[WP_EXIT_FAILED] = "standard output cannot be written",
			[WP_EXIT_CONFIG] = "wrong usage or configuration",
		},
	};
	struct wp_cli_line line;
	struct wp_config config;
	int exit_code;
	int printed;

	if (!wp_cli_parse(&usage, argc, argv, &line, &exit_code))
		return exit_code;
	exit_code = wp_cli_config(&line, &config);
	if (exit_code != WP_EXIT_FAILED)
		wp_config_show(&config, stdout);
	wp_config_release(&config);
	printed = wp_cli_done();
	return exit_code != WP_EXIT_OK ? exit_code : printed;
}

int wp_command_config(int argc, char **argv)
{
	static const struct wp_command commands[] = {
		{ "import-debezium", wp_command_import_debezium,
		  "convert a Debezium configuration to a walpost.conf" },
		{ "reference", reference, "reference of all options, as Markdown" },
		{ "sample", sample, "sample walpost.conf with all defaults" },
		{ "show", show, "values in effect, their origin, and errors in them" },
	};

	return wp_cli_dispatch("walpost config", commands, sizeof(commands) / sizeof(commands[0]),
			       argc, argv);
}
