/* The commands, one per file in src/cli; src/main.c holds their table. */
#ifndef WALPOST_CLI_COMMANDS_H
#define WALPOST_CLI_COMMANDS_H

int wp_command_run(int argc, char **argv);
int wp_command_init(int argc, char **argv);
int wp_command_check(int argc, char **argv);
int wp_command_diff(int argc, char **argv);
int wp_command_status(int argc, char **argv);
int wp_command_tail(int argc, char **argv);
int wp_command_slot(int argc, char **argv);
int wp_command_slot_skip(int argc, char **argv);
int wp_command_config(int argc, char **argv);
int wp_command_metrics(int argc, char **argv);
int wp_command_version(int argc, char **argv);

#define WP_LIBPQ_VERSION_SIZE 24
/* Of the one that is linked. Returns `text`. */
char *wp_cli_libpq_version(char text[WP_LIBPQ_VERSION_SIZE]);

#endif
