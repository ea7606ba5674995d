/*
 * What standard output is: a terminal, of which size, and may it be coloured?
 *
 * Owns: nothing.
 */
#ifndef WALPOST_CLI_TERMINAL_H
#define WALPOST_CLI_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* One that can do more than print: TERM is set, and is not "dumb". */
bool wp_terminal_is(FILE *out);
/* Such a terminal, and the user has not said no (NO_COLOR, as https://no-color.org has it). */
bool wp_terminal_is_coloured(FILE *out);

struct wp_terminal_size {
	int columns;
	int rows;
};

/* 80 by 24 where it cannot be told. */
struct wp_terminal_size wp_terminal_size(FILE *out);

#endif
