/* `walpost slot accept`: a human says that what a moved or new slot has skipped is dealt with. */
#ifndef WALPOST_CLI_SLOT_ACCEPT_H
#define WALPOST_CLI_SLOT_ACCEPT_H

#include "walpost/cli/session.h"

/*
 * Writes into the witness row that the slot stands where it stands, so that a relay starts
 * from there; prints what was given up. Returns the exit code; failures have been printed.
 */
int wp_cli_slot_accept(struct wp_session *s, const struct wp_postgres_options *options);

#endif
