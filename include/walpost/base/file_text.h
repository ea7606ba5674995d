/* Reads what a file that people write holds, as one text. */
#ifndef WALPOST_BASE_FILE_TEXT_H
#define WALPOST_BASE_FILE_TEXT_H

#include <stddef.h>

#include "walpost/base/error.h"

#define WP_FILE_TEXT_SIZE_MAX ((size_t)1 << 20)

/*
 * Reads a whole file as a heap text (the caller's to free). Returns WP_CONFIG when it is unreadable, too
 * large, or has a NUL byte; `error` says which. WP_NOMEM.
 */
enum wp_rc wp_file_text(const char *path, char **ret, struct wp_error *error) WP_MUST_CHECK;

#endif
