/*
 * Writes standard output for a command that goes on until it is stopped: waits for a slow reader
 * without missing a signal. A reader that is gone is as if the user had interrupted.
 *
 * Owns: its watchers. Borrows: the console. Ignores SIGPIPE from init on.
 */
#ifndef WALPOST_CLI_OUTPUT_H
#define WALPOST_CLI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

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
/* Writes all of it. Returns WP_IO with the error if it cannot be written, or the console was interrupted. */
enum wp_rc wp_output_write(struct wp_output *o, struct wp_span bytes,
			   struct wp_error *error) WP_MUST_CHECK;

/* Is it a terminal that can do more than print? TERM is set, and is not "dumb". */
bool wp_terminal_is(FILE *out);
/* Is it such a terminal, and has the user not said no (NO_COLOR, as https://no-color.org has it)? */
bool wp_terminal_is_coloured(FILE *out);

struct wp_terminal_size {
	int columns;
	int rows;
};

/* Gives 80 by 24 where the size cannot be told. */
struct wp_terminal_size wp_terminal_size(FILE *out);

/*
 * Shows a text in place of the one before, on a terminal's other screen: it is fitted to the
 * screen's size, painted anew when that changes, and gone when the program is interrupted, stopped
 * (Ctrl-Z) or done.
 *
 * Owns: its watchers, a copy of the text. Borrows: the console. One at a time.
 */
struct wp_screen {
	struct wp_console *console; /* borrowed; NULL: not begun */
	bool is_shown;
	char *text; /* owned */
	ev_signal interrupt;
	ev_signal terminate;
	ev_signal resize;
	ev_signal stop;
};

/* Standard output must be a terminal. */
void wp_screen_init(struct wp_screen *s, struct wp_console *console);
/* Leaves the terminal as it was. This is fine if it never began. */
void wp_screen_release(struct wp_screen *s);
/* Lines that are too wide or too many are cut. Shows nothing once it was interrupted. */
void wp_screen_show(struct wp_screen *s, const char *text);

#endif
