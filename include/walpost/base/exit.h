/*
 * The process's exit codes: a contract with service managers and scripts, the same for
 * all commands.
 */
#ifndef WALPOST_BASE_EXIT_H
#define WALPOST_BASE_EXIT_H

enum wp_exit {
	WP_EXIT_OK = 0,	    /* done, or stopped as asked */
	WP_EXIT_FAILED = 1, /* a restart may help; `check`: a precondition fails */
	WP_EXIT_CONFIG = 2, /* wrong usage or configuration */
	WP_EXIT_HUMAN = 3,  /* a human must act: slot lost, publication missing, poison */
	WP_EXIT_COUNT
};

#endif
