/*
 * The value stands in a file of its own, as secrets are handed over: who rotates it replaces the
 * file. Each reader gets what stands there now or, when that is of no use (the file is just being
 * replaced), what was read last. What is no regular file, such as <(command), gives its text once.
 *
 * Owns: the path, and the text read last. Bounded: WP_FILE_TEXT_SIZE_MAX. Thread-safe but for
 * new and free: the loop and the worker read.
 */
#ifndef WALPOST_BASE_SECRET_FILE_H
#define WALPOST_BASE_SECRET_FILE_H

#include <stdbool.h>

#include "walpost/base/error.h"

enum wp_secret_news {
	WP_SECRET_SAME,
	WP_SECRET_NEW,	      /* another value than was read last */
	WP_SECRET_LOST,	      /* of no use now, for the first time: this is the last one known */
	WP_SECRET_STILL_LOST, /* and again */
};

struct wp_secret_text {
	char *text; /* heap; the caller's to free */
	enum wp_secret_news news;
	struct wp_error error; /* LOST, STILL_LOST */
};

struct wp_secret_file;

/* Returns WP_CONFIG with the error when it cannot be read; WP_NOMEM. */
enum wp_rc wp_secret_file_new(const char *path, struct wp_secret_file **ret,
			      struct wp_error *error) WP_MUST_CHECK;
void wp_secret_file_free(struct wp_secret_file *f);
const char *wp_secret_file_path(const struct wp_secret_file *f);
/* Can another value ever come? */
bool wp_secret_file_is_regular(const struct wp_secret_file *f);
/*
 * The text is without the newline that an editor or echo left at the end. An empty file is of no use where
 * there was a value; so is what `is_usable` refuses (NULL: nothing). Returns WP_NOMEM.
 */
enum wp_rc wp_secret_file_read(struct wp_secret_file *f, bool (*is_usable)(const char *text),
			       struct wp_secret_text *ret) WP_MUST_CHECK;
/* Gives what stands in it now; without a file (NULL), a copy of `text`. The caller frees it; NULL when out
 * of memory. */
char *wp_secret_now(struct wp_secret_file *f, const char *text);

#endif
