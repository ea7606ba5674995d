/* Prints the versions of what is linked at run time, not of the headers it was built with. */
#include <stdio.h>

#include <ev.h>
#include <libpq-fe.h>
#include <librdkafka/rdkafka.h>
#include <microhttpd.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <protobuf-c/protobuf-c.h>

#include "walpost/cli/cli.h"

char *wp_cli_libpq_version(char text[WP_LIBPQ_VERSION_SIZE])
{
	int version = PQlibVersion();

	/* Since 10 a version is major * 10000 + minor. */
	(void)snprintf(text, WP_LIBPQ_VERSION_SIZE, "%d.%d", version / 10000, version % 10000);
	return text;
}

static void print_all(FILE *out)
{
	char libpq[WP_LIBPQ_VERSION_SIZE], pcre[64] = "unknown";

	(void)fprintf(out, "walpost " WALPOST_VERSION "\n");
	(void)fprintf(out, "libpq %s\n", wp_cli_libpq_version(libpq));
	(void)fprintf(out, "librdkafka %s\n", rd_kafka_version_str());
	(void)fprintf(out, "libmicrohttpd %s\n", MHD_get_version());
	(void)fprintf(out, "libev %d.%d\n", ev_version_major(), ev_version_minor());
	(void)fprintf(out, "protobuf-c %s\n", protobuf_c_version());
	if (pcre2_config(PCRE2_CONFIG_VERSION, NULL) <= (int)sizeof(pcre))
		(void)pcre2_config(PCRE2_CONFIG_VERSION, pcre);
	(void)fprintf(out, "pcre2 %s\n", pcre);
}

int wp_command_version(int argc, char **argv)
{
	return wp_cli_print("walpost version",
			    "Prints the versions of walpost and of its libraries.", print_all, argc,
			    argv);
}
