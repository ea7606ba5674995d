/* `walpost metrics` prints the reference of all metrics. */
#include <stdio.h>

#include "walpost/cli/cli.h"
#include "walpost/telemetry/metrics.h"

#define REFERENCE_SIZE_MAX (256 * 1024)

static void print_reference(FILE *out)
{
	struct wp_buffer text;

	wp_buffer_init(&text, REFERENCE_SIZE_MAX);
	if (wp_metrics_reference(&text) == WP_OK)
		(void)fwrite(text.data, 1, text.size, out); /* wp_cli_print() notices a failure */
	wp_buffer_release(&text);
}

static int reference(int argc, char **argv)
{
	return wp_cli_print("walpost metrics reference",
			    "Prints the reference of all metrics of /metrics, as Markdown.",
			    print_reference, argc, argv);
}

int wp_command_metrics(int argc, char **argv)
{
	static const struct wp_command commands[] = {
		{ "reference", reference, "reference of all metrics, as Markdown" },
	};

	return wp_cli_dispatch("walpost metrics", WP_CLI_COMMANDS(commands), argc, argv);
}
