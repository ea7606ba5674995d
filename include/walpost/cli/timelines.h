/* The timelines of the server's history, asked for as a relay asks: on which one was an LSN written? */
#ifndef WALPOST_CLI_TIMELINES_H
#define WALPOST_CLI_TIMELINES_H

#include "walpost/cli/session.h"
#include "walpost/wal/timeline.h"

/*
 * `s` is of kind WP_CONNECTION_REPLICATION. `ret_log_end`: where the log ends. WP_PROTO with the error: not
 * PostgreSQL's answers; else as in cli/session.
 */
enum wp_rc wp_cli_timelines(struct wp_session *s, struct wp_timelines *ret, wp_lsn *ret_log_end,
			    struct wp_error *error) WP_MUST_CHECK;

#endif
