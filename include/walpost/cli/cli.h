/*
 * Here is what all commands share: options, help, the configuration, and how a failure is said. A
 * command is a file in src/cli and a row in a table: the program's (src/main.c) or that of a
 * command with commands of its own (config, slot).
 *
 * Output goes to standard output, messages to standard error as "walpost: ...".
 */
#ifndef WALPOST_CLI_CLI_H
#define WALPOST_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "walpost/base/error.h"
#include "walpost/config/config.h"

struct wp_command {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns an exit code */
	const char *summary;		   /* one line, for the help of its table */
};

/*
 * Runs the command that argv[1] names. `program` is "walpost" or "walpost slot". Returns
 * WP_EXIT_CONFIG for no command, and for an unknown one (with a did-you-mean). --help lists them.
 */
int wp_cli_dispatch(const char *program, const struct wp_command *commands, size_t count, int argc,
		    char **argv) WP_MUST_CHECK;
#define WP_CLI_COMMANDS(array_) (array_), sizeof(array_) / sizeof((array_)[0])

/*
 * This is an option of one command; `flag` or `value` is set, never both. It has a long name only,
 * "--json", and is given as "--name VALUE" or "--name=VALUE".
 */
struct wp_cli_option {
	const char *name;
	/*
	 * The help calls its value this, e.g. "NAME"; "[NAME]" may be left out, and is "" then
	 * (what begins with a digit is taken for it); NULL stands for a flag.
	 */
	const char *argument;
	const char *help;
	bool *flag;
	const char **value;
};

enum wp_cli_configured { WP_CLI_CONFIGURED, WP_CLI_UNCONFIGURED };

#define WP_CLI_OPTIONS(array_) \
	.options = (array_), .option_count = sizeof(array_) / sizeof((array_)[0])

struct wp_cli_usage {
	const char *command;		     /* "walpost slot drop" */
	const char *arguments;		     /* for the usage line, e.g. "[NAME]"; NULL: none */
	const char *about;		     /* what it does, in lines of at most 80 columns */
	const struct wp_cli_option *options; /* the command's own; borrowed */
	size_t option_count;
	size_t argument_max;		   /* how many arguments may stand behind options */
	enum wp_cli_configured configured; /* WP_CLI_UNCONFIGURED: no -c and --set */
	/* Each says what its code means here; NULL: never given, but for WP_EXIT_CONFIG. */
	const char *const exits[WP_EXIT_COUNT];
};

#define WP_CLI_SETS_MAX 128
#define WP_CLI_ARGUMENTS_MAX 8

struct wp_cli_line {
	const char *file;		   /* -c FILE, --config FILE; NULL: none */
	const char *sets[WP_CLI_SETS_MAX]; /* --set section.key=value, in order */
	size_t set_count;
	const char *arguments[WP_CLI_ARGUMENTS_MAX];
	size_t argument_count;
};

/*
 * Reads the command line. Returns false if the command ends now with *ret_exit, after what was to
 * be said has been said (--help, or a wrong option). Flags and values of the command's own options
 * are written as they are met.
 */
bool wp_cli_parse(const struct wp_cli_usage *usage, int argc, char **argv, struct wp_cli_line *ret,
		  int *ret_exit) WP_MUST_CHECK;

/*
 * Makes a checked configuration of file, environment and --set. Returns WP_EXIT_OK, or the exit
 * code after all problems have been printed. The caller releases `ret` with wp_config_release().
 */
int wp_cli_config(const struct wp_cli_line *line, struct wp_config *ret) WP_MUST_CHECK;
/*
 * Does the same, but prints nothing: what is wrong, or odd, is in the notes. After WP_CONFIG and
 * WP_NOMEM `ret` is only to be released.
 */
enum wp_rc wp_cli_load(const struct wp_cli_line *line, struct wp_config *ret,
		       struct wp_config_notes *notes) WP_MUST_CHECK;
/* Does the same for a command that logs: it sets up the log, and warnings are lines of it. */
int wp_cli_config_logged(const struct wp_cli_line *line, struct wp_config *ret) WP_MUST_CHECK;

/*
 * Prints what may quote others: keys, topics, a server's words. It is escaped (base/display.h) but
 * for newlines, and cut at 4 KiB. Returns its bytes before that.
 */
int wp_cli_say(FILE *to, const char *format, ...) WP_PRINTF(2, 3);
/* Prints "walpost: <sentence>" to standard error, likewise; returns `exit_code`. */
int wp_cli_fail(int exit_code, const char *format, ...) WP_PRINTF(2, 3);
/* Prints a line on standard error in place of the one before, while a terminal watches; "" takes it away. */
void wp_cli_say_progress(const char *format, ...) WP_PRINTF(1, 2);
/* Gives WP_EXIT_CONFIG for WP_CONFIG, and WP_EXIT_FAILED for whatever else went wrong. */
int wp_cli_exit_of(enum wp_rc rc);
/* Flushes standard output. Returns WP_EXIT_OK, or WP_EXIT_FAILED with a message if it could not be written. */
int wp_cli_done(void) WP_MUST_CHECK;
/*
 * Reads an option's value: a number with a unit of ms, s, min, h, from 1 ms to ten years. If `text`
 * is NULL, the value stays. Returns WP_EXIT_OK, or WP_EXIT_CONFIG after a message.
 */
int wp_cli_duration(const char *option, const char *text, int64_t *ret_ms) WP_MUST_CHECK;

/* This is the whole of a command that only prints and needs no configuration. */
int wp_cli_print(const char *command, const char *about, void (*print)(FILE *out), int argc,
		 char **argv);

/* Each command has a file in src/cli; src/main.c holds their table. */
int wp_command_run(int argc, char **argv);
int wp_command_init(int argc, char **argv);
int wp_command_check(int argc, char **argv);
int wp_command_diff(int argc, char **argv);
int wp_command_status(int argc, char **argv);
int wp_command_dead_letters(int argc, char **argv);
/* Returns the wall clock, in microseconds since 2000-01-01 UTC. */
int64_t wp_cli_now_us(void);

int wp_command_tail(int argc, char **argv);
int wp_command_slot(int argc, char **argv);
int wp_command_slot_skip(int argc, char **argv);
int wp_command_parked(int argc, char **argv);
int wp_command_drain(int argc, char **argv);
int wp_command_replay(int argc, char **argv);
int wp_command_backfill(int argc, char **argv);
int wp_command_cleanup(int argc, char **argv);
int wp_command_config(int argc, char **argv);
int wp_command_metrics(int argc, char **argv);
int wp_command_version(int argc, char **argv);

#define WP_LIBPQ_VERSION_SIZE 24
/* Writes the version of the libpq that is linked. Returns `text`. */
char *wp_cli_libpq_version(char text[WP_LIBPQ_VERSION_SIZE]);

#endif
