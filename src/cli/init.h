/*
 * Here is what the files of `walpost init` share. The command (init.c) creates what is missing; a
 * role's right to replicate, which not every administrator can give, is init_replication.c; the
 * same as a script is init_script.c.
 */
#ifndef WALPOST_SRC_CLI_INIT_H
#define WALPOST_SRC_CLI_INIT_H

#include "walpost/cli/session.h"
#include "walpost/config/config.h"
#include "walpost/postgres_preflight/preflight.h"
#include "walpost/postgres/sql.h"
#include "walpost/run/requirements.h"

/* All else works without these: reissue, retried, parked, schedule, cleanup. */
enum { WP_INIT_OPTIONALS = 5 };

struct init {
	struct wp_config config;
	struct wp_requirements_outboxes outboxes;
	const char *role; /* NULL: grants are not asked for */
	struct wp_console console;
	struct wp_session session;
	struct wp_preflight found;
	/* The preflight does not ask for these: */
	bool skip_exists; /* walpost.skip */
	bool optional_exists[WP_INIT_OPTIONALS];
	/* Others must do this, and it was said: */
	bool lacks_replication; /* the role could not be given it */
	bool lacks_slot;	/* we may not create it */
};

/* Prints the script of `init --print-sql`. Returns the exit code. */
int wp_init_print_script(const struct init *i);

/*
 * Lets the role read slots, in the way of the server's provider. Where we may not, that is said
 * with the cure, and all else goes on. Returns WP_IO with the error if the server refused
 * otherwise.
 */
enum wp_rc wp_init_replication(struct init *i, struct wp_error *error) WP_MUST_CHECK;
/* Returns true if the slot could not be created for want of that right, which is said with the cure. */
bool wp_init_may_not_create_slot(struct init *i, const struct wp_error *why);
/* Adds to the script that `role` gets it, if the one who runs the script may give it. */
void wp_init_add_replication(struct wp_sql *sql, const char *role);

#endif
