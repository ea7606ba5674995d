/*
 * A foreign configuration taken apart: names and values in the order of the file. Either JSON,
 * an object of properties or {"name": ..., "config": {...}} as Kafka Connect's REST takes it, or
 * Java's .properties; the first character tells which, behind comments, which JSON may have here.
 * YAML is refused, and so is a list of connectors.
 *
 * Owns: the texts. Pure. Bounded: WP_IMPORT_PROPERTIES_MAX, WP_IMPORT_SIZE_MAX.
 */
#ifndef WALPOST_IMPORT_PROPERTIES_H
#define WALPOST_IMPORT_PROPERTIES_H

#include <stdbool.h>

#include "walpost/base/buffer.h"
#include "walpost/base/error.h"

#define WP_IMPORT_PROPERTIES_MAX 4096
#define WP_IMPORT_SIZE_MAX ((size_t)1 << 20)

struct wp_import_property {
	const char *name; /* without control characters it may hold anything */
	char *value;	  /* NULL: JSON's null */
	unsigned line;	  /* from 1 */
	bool outside;	  /* of "config": beside it, in the object around it */
};

struct wp_import_properties {
	struct wp_import_property *items; /* owned */
	size_t count;
	size_t capacity;
	struct wp_buffer texts; /* all names and values; never moves once it is filled */
	bool is_json;
};

/*
 * WP_CONFIG with the error, which names the line: not UTF-8, not JSON, a value that is an object, a wrong
 * escape, no property at all, too many. WP_NOMEM. On failure there is nothing to release.
 */
enum wp_rc wp_import_read(struct wp_span text, struct wp_import_properties *ret,
			  struct wp_error *error) WP_MUST_CHECK;
void wp_import_properties_release(struct wp_import_properties *p);

#endif
