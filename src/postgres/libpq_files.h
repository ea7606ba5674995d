/*
 * Which files does libpq look for by itself, and why does one not do? libpq takes its defaults
 * from the home directory, and says of a file that it could not use only that it is not there, or
 * nothing. Owns nothing; reads the environment, the password database and files' attributes.
 */
#ifndef WALPOST_POSTGRES_LIBPQ_FILES_H
#define WALPOST_POSTGRES_LIBPQ_FILES_H

#include <stdbool.h>
#include <stddef.h>

#define WP_LIBPQ_PATH_SIZE 1024

/* Finds the home directory as libpq does: by HOME, or in the user's entry. "" when there is none, or its
 * path is longer. */
void wp_libpq_home(char into[static WP_LIBPQ_PATH_SIZE]);

/*
 * Does libpq's error name a file of TLS that it looked for in the home directory? Writes the cure. A
 * file that an option names is not meant.
 */
bool wp_libpq_home_cure(const char *libpq_error, char *cure, size_t size);

/* This path is below what is no directory: libpq finds nothing there, and says nothing of it. */
#define WP_NO_PASSFILE "/dev/null/no-passfile"

/*
 * The passfile that libpq would read. `written` is that of the conninfo, the service file or PGPASSFILE; ""
 * stands for .pgpass in the home directory.
 */
struct wp_passfile {
	char path[WP_LIBPQ_PATH_SIZE]; /* "": there is none */
	bool ignored; /* libpq would say so on standard error, at each connection, and go on without */
	char mode[8]; /* of what is there, as chmod has it; "": it cannot be looked up */
	char trouble
		[1400]; /* why it gives no password, and the cure; "": it can be read, or nobody asked for it */
};

void wp_passfile_judge(const char *written, struct wp_passfile *ret);

#endif
