/*
 * Reads what the plugin says of the log, message by message, by SQL from a temporary slot of our
 * own. What was read is confirmed to that slot alone, so that it keeps no more of the log than what
 * is being read; the server drops it as the session ends, however that ends.
 *
 * Owns: the slot. Borrows: the session and the options. Bounded: by the largest message, several
 * times; what one transaction has more than that waits on the server's disk.
 */
#ifndef WALPOST_CLI_CHANGES_H
#define WALPOST_CLI_CHANGES_H

#include "walpost/cli/session.h"
#include "walpost/wal/timeline.h"

enum wp_changes_from {
	WP_CHANGES_FROM_NOW,
	WP_CHANGES_FROM_SLOT, /* what the configured slot still holds, and on */
};

struct wp_changes_setup {
	struct wp_session *session; /* of kind WP_CONNECTION_REPLICATION */
	const struct wp_postgres_options *options;
	enum wp_changes_from from;
	enum wp_transfer transfer;
	wp_lsn until; /* transactions that commit before this; 0: all */
};

struct wp_changes {
	struct wp_changes_setup setup;
	char slot[64];
	char from[WP_LSN_TEXT_SIZE]; /* where it began */
	char publications[256];	     /* to read it by, as an option of pgoutput */
	int batch_count;	     /* of messages that the server gathers, about */
	int fetch_count;	     /* of messages that we take at once */
};

/* Anything that it returns but WP_OK ends the reading. `message` lives until it returns. */
typedef enum wp_rc (*wp_changes_take)(void *arg, struct wp_span message, struct wp_error *error);

enum wp_changes_left { WP_CHANGES_MORE, WP_CHANGES_NONE };

/*
 * Makes the slot. While that waits for running transactions, names them on standard error. Returns
 * WP_DATA with the error if the configured slot cannot be copied, or there is no publication; WP_IO
 * and WP_CONFIG as in cli/session, and if no slot is free or the server cannot decode.
 */
enum wp_rc wp_changes_begin(struct wp_changes *c, const struct wp_changes_setup *setup,
			    struct wp_error *error) WP_MUST_CHECK;
/*
 * Reads a number of whole transactions, and waits for none. `ret` is WP_CHANGES_NONE if it has read
 * to the end of the log, as it is now, or to `until`. After anything but WP_OK the session is to be
 * released.
 */
enum wp_rc wp_changes_read(struct wp_changes *c, wp_changes_take take, void *arg,
			   enum wp_changes_left *ret, struct wp_error *error) WP_MUST_CHECK;

/*
 * Asks for the timelines of the server's history as a relay does: on which one was an LSN written?
 * `s` is of kind WP_CONNECTION_REPLICATION, and `ret_log_end` is where the log ends. Returns
 * WP_PROTO with the error if the answers are not PostgreSQL's, else as in cli/session.
 */
enum wp_rc wp_cli_timelines(struct wp_session *s, struct wp_timelines *ret, wp_lsn *ret_log_end,
			    struct wp_error *error) WP_MUST_CHECK;

#endif
