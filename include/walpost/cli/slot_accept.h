/* `walpost slot accept`: a human says that what a moved or new slot has skipped is dealt with. */
#ifndef WALPOST_CLI_SLOT_ACCEPT_H
#define WALPOST_CLI_SLOT_ACCEPT_H

#include "walpost/cli/session.h"

/*
 * Writes into the slot checkpoint row that the slot stands where it stands, so that a relay starts
 * from there; prints what was given up. Returns the exit code; failures have been printed.
 */
int wp_cli_slot_accept(struct wp_session *s, const struct wp_postgres_options *options);

/*
 * What that writes, and `init` when it made the slot: see wp_checkpoint_renew_sql(). The table must be
 * there and the role be allowed to write it.
 */
enum wp_rc wp_cli_renew_checkpoint(struct wp_session *s, const char *slot, const char *by,
				   PGresult **ret, struct wp_error *error) WP_MUST_CHECK;

#endif
