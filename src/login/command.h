/*
 * Runs a program whose standard output is a token. It runs without a shell in a process group of its own, with
 * nothing to read and none of our descriptors; what it writes to standard error is logged line by line, its output
 * never. When its time is over, when it has ended, and by wp_login_stop() its whole group is killed; where the
 * thread that runs it ends without that, the program alone.
 *
 * Private to login/. Blocks for `timeout_ms` at most. Bounded: WP_TOKEN_SIZE_MAX of output, 20 lines of log.
 */
#ifndef WALPOST_LOGIN_COMMAND_H
#define WALPOST_LOGIN_COMMAND_H

#include "walpost/login/token.h"

/* Returns WP_CONFIG when the command line is none; WP_IO with the error when it gave no token; WP_NOMEM. */
enum wp_rc wp_login_command(const char *command, int64_t timeout_ms, struct wp_token *ret,
			    struct wp_error *error) WP_MUST_CHECK;

#endif
