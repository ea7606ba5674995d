/*
 * A Debezium configuration to a walpost.conf that sends what Debezium sent. Each property is
 * accounted for: what it became, why it means nothing here, or what changes without it.
 *
 * Owns: what is to be printed. Pure. Values that are secrets are read and never printed.
 */
#ifndef WALPOST_IMPORT_IMPORT_H
#define WALPOST_IMPORT_IMPORT_H

#include <stddef.h>
#include <stdio.h>

#include "walpost/base/span.h"
#include "walpost/base/error.h"

struct wp_import;

/* `text` is borrowed for the call. WP_CONFIG with the error, which names the line; WP_NOMEM. */
enum wp_rc wp_import_new(struct wp_span text, struct wp_import **ret,
			 struct wp_error *error) WP_MUST_CHECK;
void wp_import_free(struct wp_import *import);

/* How much there is that a consumer may see: 0, and walpost does what Debezium did. */
size_t wp_import_changes(const struct wp_import *import);
/* The file. */
void wp_import_print(const struct wp_import *import, FILE *out);
/* What is marked, a line each: what a consumer may see, and what is to be filled in. */
void wp_import_summary(const struct wp_import *import, FILE *out);

#endif
