/*
 * A foreign configuration is taken apart into names and values, in the order of the file.
 *
 * | form                                  | told by                                            |
 * |---------------------------------------|----------------------------------------------------|
 * | JSON: an object of properties, or as  | { or [ at its beginning, behind comments; but not  |
 * | Kafka Connect's REST takes or gives it| [section]                                          |
 * | a KafkaConnector of Strimzi           | class and config within an object, JSON or YAML    |
 * | the environment of Debezium Server    | DEBEZIUM_SOURCE_... in lines, or in YAML as a map, |
 * |                                       | a list of NAME=value, or of name and value         |
 * | application.yaml of Debezium Server   | debezium: with a map below it                      |
 * | JSON within a script                  | an object with connector.class in it               |
 * | Java's .properties                    | a name that is Debezium's                          |
 *
 * Of several connectors in one file the only one is taken that has an EventRouter for Postgres.
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
	unsigned block;	  /* of an environment; 0: of the whole file */
	bool is_halved;	  /* two dollar signs of the file are one of the value */
	bool of_worker;	  /* of the Connect worker, beside the connector's own */
};

/* This sets more of Debezium Server, and is not in the file: another file, a resource, a volume. */
#define WP_IMPORT_FURTHER_MAX 32
struct wp_import_further {
	const char *what; /* constant: "env_file" */
	unsigned line;
};

struct wp_import_properties {
	struct wp_import_property *items; /* owned */
	size_t count;
	size_t capacity;
	struct wp_buffer texts; /* all names and values; never moves */
	struct wp_import_further further[WP_IMPORT_FURTHER_MAX]; /* the first, if there are more */
	size_t further_count;
	const char *form; /* in words, constant; NULL: .properties, of Connect or of the Server */
};

/*
 * Fails with WP_CONFIG, where the error names the line, and what was found if it is none of the
 * forms, or with WP_NOMEM. On failure there is nothing to release.
 */
enum wp_rc wp_import_read(struct wp_span text, struct wp_import_properties *ret,
			  struct wp_error *error) WP_MUST_CHECK;
void wp_import_properties_release(struct wp_import_properties *p);

#endif
