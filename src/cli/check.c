#include "check.h"

#include <stdio.h>

#include "walpost/cli/cli.h"
#include "walpost/cli/commands.h"
#include "walpost/cli/findings.h"
#include "walpost/postgres/slot.h"

static int print(const struct wp_findings *findings, bool json)
{
	if (!json)
		wp_cli_print_findings(stdout, findings);
	else if (!wp_cli_print_findings_json(stdout, findings))
		return wp_cli_fail(WP_EXIT_FAILED, "the findings cannot be written as JSON");
	return wp_cli_done();
}

static int check(struct wp_check *c, bool json)
{
	struct wp_error error;
	enum wp_rc rc = wp_console_init(&c->console, &error);
	if (rc != WP_OK)
		return wp_cli_fail(WP_EXIT_FAILED, "%s", error.text);
	wp_check_postgres(c);
	if (!c->console.interrupted)
		wp_check_kafka(c);
	bool interrupted = c->console.interrupted;
	wp_console_release(&c->console);
	int exit_code = print(&c->found.findings, json);
	if (c->found.findings.no_memory.name)
		return wp_cli_fail(WP_EXIT_FAILED, "%s", c->found.findings.no_memory.what);
	if (exit_code != WP_EXIT_OK)
		return exit_code;
	if (interrupted)
		return wp_cli_fail(WP_EXIT_FAILED, "interrupted");
	return wp_findings_failure(&c->found.findings) ? WP_EXIT_FAILED : WP_EXIT_OK;
}

int wp_command_check(int argc, char **argv)
{
	static struct wp_check c; /* large, and there is one */
	bool json = false;
	const struct wp_cli_option options[] = {
		{ "--json", NULL, "as a JSON array of level, room, about, name, what and cure",
		  &json, NULL },
	};
	const struct wp_cli_usage usage = {
		.command = "walpost check",
		.about = "Checks everything that the relay needs in Postgres and in Kafka. For each problem\n"
"it prints the cure: SQL for psql, or a comment that names a setting. Changes\n"
"nothing.",
		.options = options,
		.option_count = sizeof(options) / sizeof(options[0]),
		.exits = {
			[WP_EXIT_OK] = "the relay can run; there may be warnings",
			[WP_EXIT_FAILED] = "a precondition is not met",
			[WP_EXIT_CONFIG] = "wrong usage or configuration",
		},
	};
	struct wp_cli_line line;
	struct wp_error error;
	int exit_code;

	if (!wp_cli_parse(&usage, argc, argv, &line, &exit_code))
		return exit_code;
	exit_code = wp_cli_config(&line, &c.config);
	if (exit_code == WP_EXIT_OK && wp_slot_name_check(c.config.postgres.slot, &error) != WP_OK)
		exit_code = wp_cli_fail(WP_EXIT_CONFIG, "%s", error.text);
	if (exit_code == WP_EXIT_OK &&
	    wp_requirements_outboxes_init(&c.wanted, &c.config.outboxes, &error) != WP_OK)
		exit_code = wp_cli_fail(WP_EXIT_CONFIG, "%s", error.text);
	if (exit_code == WP_EXIT_OK)
		exit_code = check(&c, json);
	wp_findings_release(&c.found.findings);
	wp_requirements_outboxes_release(&c.wanted);
	wp_config_release(&c.config);
	return exit_code;
}
