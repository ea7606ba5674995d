/*
 * Standard output of a command that goes on until it is stopped: waits for a slow reader
 * without missing a signal. A reader that is gone is as if the user had interrupted.
 *
 * Owns: its watchers. Borrows: the console. Ignores SIGPIPE from init on.
 */
#ifndef WALPOST_CLI_OUTPUT_H
#define WALPOST_CLI_OUTPUT_H

#include "walpost/base/span.h"
#include "walpost/cli/session.h"

struct wp_output {
	struct wp_console *console; /* borrowed; NULL: not begun */
	ev_io gone;		    /* a pipe's reader is */
	ev_io writable;
	bool may_write;
	size_t step; /* bytes that one write() can take without waiting */
};

void wp_output_init(struct wp_output *o, struct wp_console *console);
void wp_output_release(struct wp_output *o);
/* All of it. WP_IO with the error: it cannot be written, or the console was interrupted. */
enum wp_rc wp_output_write(struct wp_output *o, struct wp_span bytes,
			   struct wp_error *error) WP_MUST_CHECK;

#endif
