#include "walpost/cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool wp_terminal_is(FILE *out)
{
	const char *term = getenv("TERM");

	return isatty(fileno(out)) == 1 && term != NULL && *term != '\0' &&
	       strcmp(term, "dumb") != 0;
}

bool wp_terminal_is_coloured(FILE *out)
{
	const char *no_color = getenv("NO_COLOR");

	return wp_terminal_is(out) && (no_color == NULL || *no_color == '\0');
}

struct wp_terminal_size wp_terminal_size(FILE *out)
{
	struct winsize size;

	if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
		return (struct wp_terminal_size){ .columns = 80, .rows = 24 };
	return (struct wp_terminal_size){ .columns = size.ws_col, .rows = size.ws_row };
}
