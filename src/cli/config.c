/*
 * `walpost config` prints a sample, the reference of all options, and the values in effect, and
 * converts a configuration of Debezium.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "walpost/base/file_text.h"
#include "walpost/cli/cli.h"
#include "walpost/import/import.h"

#define IMPORT "walpost config import-debezium"

static enum wp_rc read_file(const char *path, const struct wp_import_version *version,
			    struct wp_import **ret, struct wp_error *error)
{
	struct wp_error inner;
	char *text = NULL;
	enum wp_rc rc = wp_file_text(path, &text, error);

	if (rc != WP_OK)
		return rc;
	rc = wp_import_new(wp_span_of(text), version, ret, &inner);
	free(text);
	return rc == WP_OK ? rc : wp_error_set(error, rc, "%s: %s", path, inner.text);
}

static int print(const struct wp_import *import)
{
	size_t changes = wp_import_changes(import);

	wp_import_print(import, stdout);
	int printed = wp_cli_done();
	if (printed != WP_EXIT_OK)
		return printed;
	wp_import_summary(import, stderr);
	return changes == 0 ? WP_EXIT_OK : WP_EXIT_FAILED;
}

/* `debezium` is the value of --debezium, or NULL if it was not given. */
static int import_file(const char *path, const char *debezium)
{
	struct wp_import_version version;
	struct wp_import *import = NULL;
	struct wp_error error;
	enum wp_rc rc = WP_OK;

	if (debezium != NULL)
		rc = wp_import_version_parse(debezium, &version, &error);
	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), IMPORT ": --debezium: %s", error.text);
	rc = read_file(strcmp(path, "-") == 0 ? "/dev/stdin" : path,
		       debezium == NULL ? NULL : &version, &import, &error);
	if (rc != WP_OK)
		return wp_cli_fail(wp_cli_exit_of(rc), "%s", error.text);
	int exit_code = print(import);
	wp_import_free(import);
	return exit_code;
}

static int command_import_debezium(int argc, char **argv)
{
	const char *debezium = NULL;
	const struct wp_cli_option options[] = {
		{ "--debezium", "VERSION", "the version to imitate: 3, 2.7 or 2.0.1.Final", NULL,
		  &debezium },
	};
	const struct wp_cli_usage usage = {
		.command = IMPORT,
		.arguments = "FILE",
		.about = "Reads a Debezium configuration with the outbox EventRouter and prints a\n"
"walpost.conf that sends the same records. FILE, or standard input if it is -,\n"
"is one of\n"
"\n"
"  - JSON for Kafka Connect, also within a script\n"
"  - a .properties file of Kafka Connect or Debezium Server, or the latter's\n"
"    application.yaml\n"
"  - a KafkaConnector of Strimzi, as YAML or JSON\n"
"  - the environment of Debezium Server: lines NAME=value, a compose file, or\n"
"    resources of Kubernetes\n"
"\n"
"A comment accounts for each property. Secrets are not printed: the comment names\n"
"the variable to set. Without --debezium it imitates 3.6, and marks what earlier\n"
"versions do otherwise if the file is of Debezium 1.x.",
		WP_CLI_OPTIONS(options),
		.argument_max = 1,
		.configured = WP_CLI_UNCONFIGURED,
		.exits = {
			[WP_EXIT_OK] = "printed, and consumers see the same topics, keys, values and headers",
			[WP_EXIT_FAILED] = "printed, but consumers may see a difference, marked CHECK or\n"
"     NOT SUPPORTED and reported on standard error; or writing failed",
			[WP_EXIT_CONFIG] = "wrong usage, or the file cannot be read",
		},
	};
	struct wp_cli_line line;
	int exit_code;

	if (!wp_cli_parse(&usage, argc, argv, &line, &exit_code))
		return exit_code;
	if (line.argument_count == 0)
		return wp_cli_fail(WP_EXIT_CONFIG,
				   IMPORT ": a FILE is missing, or - for standard input");
	return import_file(line.arguments[0], debezium);
}

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
		{ "import-debezium", command_import_debezium,
		  "convert a Debezium configuration to a walpost.conf" },
		{ "reference", reference, "reference of all options, as Markdown" },
		{ "sample", sample, "sample walpost.conf with all defaults" },
		{ "show", show, "values in effect, their origin, and errors in them" },
	};

	return wp_cli_dispatch("walpost config", WP_CLI_COMMANDS(commands), argc, argv);
}
