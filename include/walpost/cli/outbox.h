/* Asks what the server offers of what the outboxes want, and makes the slot. */
#ifndef WALPOST_CLI_OUTBOX_H
#define WALPOST_CLI_OUTBOX_H

#include <stdio.h>

#include "walpost/cli/changes.h"
#include "walpost/cli/session.h"
#include "walpost/config/config.h"
#include "walpost/postgres_preflight/preflight.h"
#include "walpost/wal/column_facts.h"
#include "walpost/wal/partitions.h"

/* Asks the server and judges. */
enum wp_rc wp_cli_preflight(struct wp_session *s, const struct wp_postgres_options *options,
			    const struct wp_requirements *wanted, struct wp_preflight *ret,
			    struct wp_error *error) WP_MUST_CHECK;
/* Returns the configured sink's limit: what a relay refuses to make is refused here as well. 0 is no bound. */
size_t wp_cli_record_max(const struct wp_config *config);
/* Returns WP_CONFIG with the error if one of the tables is not there. Of a pattern none need be. */
enum wp_rc wp_cli_check_tables(struct wp_session *s, const struct wp_requirements *wanted,
			       struct wp_error *error) WP_MUST_CHECK;
/*
 * Creates the configured slot. While the server waits for running transactions, names
 * them on standard error every few seconds. `ret_lsn` is where it begins.
 */
enum wp_rc wp_cli_create_slot(struct wp_session *s, const struct wp_postgres_options *options,
			      char ret_lsn[WP_LSN_TEXT_SIZE], struct wp_error *error) WP_MUST_CHECK;
/* Likewise creates a temporary one of that name, which is the session's. */
enum wp_rc wp_cli_create_temporary_slot(struct wp_session *s,
					const struct wp_postgres_options *options, const char *slot,
					char ret_lsn[WP_LSN_TEXT_SIZE],
					struct wp_error *error) WP_MUST_CHECK;
/*
 * Likewise creates one by a session of WP_CONNECTION_REPLICATION, of which `ret_snapshot` is then
 * the exported snapshot, until its next statement. Returns WP_IO with the error if `timeout_ms`
 * passed meanwhile; it names the first transaction that was waited for.
 */
enum { WP_SNAPSHOT_NAME_SIZE = 64 };
enum wp_rc wp_cli_create_exported_slot(struct wp_session *s,
				       const struct wp_postgres_options *options, const char *slot,
				       int64_t timeout_ms, char ret_lsn[WP_LSN_TEXT_SIZE],
				       char ret_snapshot[WP_SNAPSHOT_NAME_SIZE],
				       struct wp_error *error) WP_MUST_CHECK;
/* Finds what the catalog says of the outboxes' columns, and how rows are to be asked for. */
enum wp_rc wp_cli_find_columns(struct wp_session *s, const struct wp_requirements *wanted,
			       enum wp_binary binary, struct wp_column_facts *ret,
			       enum wp_transfer *ret_transfer,
			       struct wp_error *error) WP_MUST_CHECK;

/* Here it is asked whose partition a table is. Borrows all. */
struct wp_cli_catalog {
	struct wp_session *session; /* outside a transaction, or in one that reads committed */
	const struct wp_postgres_options *options;
	const struct wp_requirements *wanted;
	struct wp_partitions *partitions; /* the answer, for whom `take` asks */
	int64_t patience_ms;		  /* for one answer; INT64_MAX: no end */
};

/*
 * Hands `message` to `take`, and for as long as that answers WP_PAUSE asks for the partitions and
 * hands it over again. Returns WP_IO with the error if interrupted, or out of patience.
 */
enum wp_rc wp_cli_offer(const struct wp_cli_catalog *c, wp_changes_take take, void *arg,
			struct wp_span message, struct wp_error *error) WP_MUST_CHECK;

/*
 * In `walpost slot accept` a human says that what a moved or new slot has skipped is dealt with.
 * Writes into the slot checkpoint row that the slot stands where it stands, so that a relay starts
 * from there; prints what was given up. Returns the exit code; failures have been printed.
 */
int wp_cli_slot_accept(struct wp_session *s, const struct wp_postgres_options *options);

/*
 * Writes what that writes, and `init` when it made the slot: see wp_slot_checkpoint_renew_sql().
 * The table must be there and the role be allowed to write it.
 */
enum wp_rc wp_cli_renew_slot_checkpoint(struct wp_session *s, const char *slot, const char *by,
					PGresult **ret, struct wp_error *error) WP_MUST_CHECK;

#endif
