/*
 * Translates a Debezium configuration to a walpost.conf that sends what Debezium sent. Each property
 * is accounted for: what it became, why it means nothing here, or what changes without it.
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

/* This is a version of Debezium. What is not given of it may be anything: 2 is any of 2.0 to 2.7. */
struct wp_import_version {
	unsigned lowest; /* as WP_IMPORT_VERSION() */
	unsigned highest;
};
#define WP_IMPORT_VERSION(major, minor) (100u * (major) + (minor))

/* Reads "1.9", "2.0.1.Final" or "3". Fails with WP_CONFIG, and the error names the text. */
enum wp_rc wp_import_version_parse(const char *text, struct wp_import_version *ret,
				   struct wp_error *error) WP_MUST_CHECK;

/*
 * `text` and `version` are borrowed for the call; without a version (NULL) the text's properties
 * decide. Fails with WP_CONFIG, where the error names the line, or with WP_NOMEM.
 */
enum wp_rc wp_import_new(struct wp_span text, const struct wp_import_version *version,
			 struct wp_import **ret, struct wp_error *error) WP_MUST_CHECK;
void wp_import_free(struct wp_import *import);

/* Counts the changes that a consumer may see; if there is none, walpost does what Debezium did. */
size_t wp_import_changes(const struct wp_import *import);
/* Prints the file. */
void wp_import_print(const struct wp_import *import, FILE *out);
/* Prints what is marked, a line each: what a consumer may see, and what is to be filled in. */
void wp_import_summary(const struct wp_import *import, FILE *out);

#endif
