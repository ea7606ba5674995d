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

/* As libpq finds it: HOME, or the user's entry. "": there is none, or it is longer. */
void wp_libpq_home(char into[static WP_LIBPQ_PATH_SIZE]);

/*
 * Does libpq's error name a file of TLS that it looked for in the home directory? Writes the cure. A
 * file that an option names is not meant.
 */
bool wp_libpq_home_cure(const char *libpq_error, char *cure, size_t size);

#endif
