/* `walpost run` reads its configuration anew. */
#ifndef WALPOST_SRC_CLI_RELOAD_H
#define WALPOST_SRC_CLI_RELOAD_H

#include "walpost/cli/cli.h"
#include "walpost/run/run.h"

struct wp_cli_reload {
	const struct wp_cli_line *line;	 /* the same sources as at the start */
	const struct wp_config *started; /* what the process began with */
};

/* `arg` of what it returns is `r`; all is borrowed. */
struct wp_run_reload wp_cli_reload(struct wp_cli_reload *r);
/* As `config show` prints it. Heap; NULL: no memory. */
char *wp_cli_shown(const struct wp_config *config);

#endif
