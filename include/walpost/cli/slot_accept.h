/* `walpost slot accept`: a human says that what a moved or new slot has skipped is dealt with. */
#ifndef WALPOST_CLI_SLOT_ACCEPT_H
#define WALPOST_CLI_SLOT_ACCEPT_H

#include "walpost/cli/session.h"

/*
 * Writes into the witness row that the slot stands where it stands, so that a relay starts
 * from there; prints what was given up. Returns the exit code; failures have been printed.
 */
int wp_cli_slot_accept(struct wp_session *s, const struct wp_postgres_options *options);

/*
 * What that writes, and `init` when it made the slot: see wp_witness_renew_sql(). The table must be
 * there and the role be allowed to write it.
 */
enum wp_rc wp_cli_renew_witness(struct wp_session *s, const char *slot, const char *by,
				PGresult **ret, struct wp_why *why) WP_MUST_CHECK;

#endif
