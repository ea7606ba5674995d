/* Shared by the readers of both forms: how a property gets into the list. */
#ifndef WALPOST_SRC_IMPORT_READ_H
#define WALPOST_SRC_IMPORT_READ_H

#include "walpost/import/properties.h"

/* Where in the buffer of texts a property's begin; WP_IMPORT_NO_VALUE for JSON's null. */
struct wp_import_place {
	size_t name;
	size_t value;
	unsigned line;
	bool outside;
};

#define WP_IMPORT_NO_VALUE SIZE_MAX

/* The texts are in the buffer, each with its NUL. WP_CONFIG: too many; WP_NOMEM. */
enum wp_rc wp_import_add(struct wp_import_properties *p, const struct wp_import_place *place,
			 struct wp_error *error) WP_MUST_CHECK;
/* Ends a text in the buffer. WP_CONFIG: it holds a NUL itself. */
enum wp_rc wp_import_end_text(struct wp_import_properties *p, size_t start, unsigned line,
			      struct wp_error *error) WP_MUST_CHECK;

/* Behind blanks and comments stands what begins an object or an array. */
bool wp_import_looks_like_json(struct wp_span text);
/* Appends the text with blanks in place of comments: lines stay where they are. WP_CONFIG, WP_NOMEM. */
enum wp_rc wp_import_blank_comments(struct wp_span text, struct wp_buffer *into,
				    struct wp_error *error) WP_MUST_CHECK;

/* WP_CONFIG: it is YAML, which is not read; why says what to give instead. */
enum wp_rc wp_import_refuse_yaml(struct wp_span text, struct wp_error *error) WP_MUST_CHECK;

/* A .properties file; the buffer has room for twice the text. */
enum wp_rc wp_import_read_java(struct wp_span text, struct wp_import_properties *p,
			       struct wp_error *error) WP_MUST_CHECK;
enum wp_rc wp_import_read_json(struct wp_span text, struct wp_import_properties *p,
			       struct wp_error *error) WP_MUST_CHECK;

#endif
