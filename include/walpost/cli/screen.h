/*
 * A text that takes the place of the one before, on a terminal's other screen: fitted to its
 * size, painted anew when that changes, and gone when the program is interrupted, stopped
 * (Ctrl-Z) or done.
 *
 * Owns: its watchers, a copy of the text. Borrows: the console. One at a time.
 */
#ifndef WALPOST_CLI_SCREEN_H
#define WALPOST_CLI_SCREEN_H

#include "walpost/cli/session.h"

struct wp_screen {
	struct wp_console *console; /* borrowed; NULL: not begun */
	bool is_shown;
	char *text; /* owned */
	ev_signal interrupt;
	ev_signal terminate;
	ev_signal resize;
	ev_signal stop;
};

/* Standard output must be a terminal (cli/terminal). */
void wp_screen_init(struct wp_screen *s, struct wp_console *console);
/* The terminal is as it was. Fine if it never began. */
void wp_screen_release(struct wp_screen *s);
/* Lines that are too wide or too many are cut. Nothing once it was interrupted. */
void wp_screen_show(struct wp_screen *s, const char *text);

#endif
