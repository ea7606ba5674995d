/*
 * Has configurations for the outbox tables of frameworks, for `walpost init --like NAME`. They are
 * the files of deploy/like, which the documentation shows.
 */
#ifndef WALPOST_SRC_CLI_LIKE_H
#define WALPOST_SRC_CLI_LIKE_H

#include <stddef.h>

struct like {
	const char *name;
	const char *text;
};

extern const struct like likes[];
extern const size_t like_count;

#define LIKE_NAMES_SIZE 512

/* Writes "axon, cap, ...", in lines that the help has room for. Returns `text`. */
const char *like_names(char text[LIKE_NAMES_SIZE]);
/* Prints the one of that name, or an error with the nearest. Returns the exit code. */
int like_print(const char *name);

#endif
