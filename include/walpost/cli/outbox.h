/* The outbox as the configuration wants it, and what the server offers of it. */
#ifndef WALPOST_CLI_OUTBOX_H
#define WALPOST_CLI_OUTBOX_H

#include <stdio.h>

#include "walpost/cli/session.h"
#include "walpost/config/config.h"
#include "walpost/outbox/names.h"
#include "walpost/outbox/table.h"
#include "walpost/postgres/preflight.h"

#define WP_SQL_SIZE_MAX (256 * 1024)

/* Points into itself and into the configuration: not to be copied. */
struct wp_cli_outbox {
	struct wp_table_name name;
	struct wp_needed_columns columns;
	struct wp_wanted_table wanted;
};

/* Debezium's table under the configured names. WP_CONFIG with why. */
enum wp_rc wp_cli_outbox_init(struct wp_cli_outbox *o, const struct wp_outbox_options *options,
			      struct wp_why *why) WP_MUST_CHECK;
/* Asks the server and judges. */
enum wp_rc wp_cli_preflight(struct wp_session *s, const struct wp_postgres_options *options,
			    const struct wp_cli_outbox *outbox, struct wp_preflight *ret,
			    struct wp_why *why) WP_MUST_CHECK;
/* "ok   wal_level: logical", and below it the cure, indented. */
void wp_cli_print_finding(FILE *to, const struct wp_finding *finding);
/*
 * Creates the configured slot. While the server waits for running transactions, names
 * them on standard error every few seconds. `ret_lsn` is where it begins.
 */
enum wp_rc wp_cli_create_slot(struct wp_session *s, const struct wp_postgres_options *options,
			      char ret_lsn[WP_LSN_TEXT_SIZE], struct wp_why *why) WP_MUST_CHECK;

#endif
