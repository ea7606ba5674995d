/* Versions of what is linked at run time, not of the headers it was built with. */
#include <stdio.h>

#include <ev.h>
#include <libpq-fe.h>
#include <librdkafka/rdkafka.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <protobuf-c/protobuf-c.h>

#include "walpost/cli/cli.h"
#include "walpost/cli/commands.h"

static void print_pcre2(void)
{
	char text[64] = "unknown";

	if (pcre2_config(PCRE2_CONFIG_VERSION, NULL) <= (int)sizeof(text))
		(void)pcre2_config(PCRE2_CONFIG_VERSION, text);
	printf("pcre2 %s\n", text);
}

static void print_libpq(void)
{
	int version = PQlibVersion();

	/* Since 10: major * 10000 + minor. */
	printf("libpq %d.%d\n", version / 10000, version % 10000);
}

int wp_command_version(int argc, char **argv)
{
	static const struct wp_cli_usage usage = {
		.command = "walpost version",
		.about = "Prints the version of walpost and of the libraries it runs with.",
		.configured = WP_CLI_UNCONFIGURED,
		.exits = {
			[WP_EXIT_OK] = "printed",
			[WP_EXIT_FAILED] = "standard output cannot be written",
			[WP_EXIT_CONFIG] = "wrong usage",
		},
	};
	struct wp_cli_line line;
	int exit_code;

	if (!wp_cli_parse(&usage, argc, argv, &line, &exit_code))
		return exit_code;
	printf("walpost " WALPOST_VERSION "\n");
	print_libpq();
	printf("librdkafka %s\n", rd_kafka_version_str());
	printf("libev %d.%d\n", ev_version_major(), ev_version_minor());
	printf("protobuf-c %s\n", protobuf_c_version());
	print_pcre2();
	return wp_cli_done();
}
