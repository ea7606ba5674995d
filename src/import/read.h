/* The readers of all forms share this: how a property gets into the list. */
#ifndef WALPOST_SRC_IMPORT_READ_H
#define WALPOST_SRC_IMPORT_READ_H

#include "walpost/import/properties.h"

/* Adds a property to the list. Fails with WP_CONFIG if there are too many, and with WP_NOMEM. */
enum wp_rc wp_import_add(struct wp_import_properties *p, const struct wp_import_property *property,
			 struct wp_error *error) WP_MUST_CHECK;
/*
 * Ends the text that begins at `start` of the buffer. Fails with WP_CONFIG if it holds a NUL itself,
 * and with WP_NOMEM.
 */
enum wp_rc wp_import_end_text(struct wp_import_properties *p, size_t start, unsigned line,
			      char **ret, struct wp_error *error) WP_MUST_CHECK;
/* Makes a copy in the buffer. Fails likewise, and with WP_CONFIG if there is no more room for the texts. */
enum wp_rc wp_import_copy_text(struct wp_import_properties *p, struct wp_span text, unsigned line,
			       char **ret, struct wp_error *error) WP_MUST_CHECK;
/* Appends to a text that is not ended yet. */
enum wp_rc wp_import_append_byte(struct wp_import_properties *p, uint8_t byte, unsigned line,
				 struct wp_error *error) WP_MUST_CHECK;

/* Does it separate words of one line? */
static inline bool wp_import_is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Does an object or an array begin behind blanks and comments? */
bool wp_import_looks_like_json(struct wp_span text);
/*
 * Appends the text with blanks in place of comments: lines stay where they are. Fails with WP_CONFIG
 * if a comment is not closed, and with WP_NOMEM.
 */
enum wp_rc wp_import_blank_comments(struct wp_span text, struct wp_buffer *into,
				    struct wp_error *error) WP_MUST_CHECK;
/* A text is YAML if it has what .properties never have, and maybe YAML if it is as good as either. */
enum wp_import_yaml { WP_IMPORT_NO_YAML, WP_IMPORT_MAYBE_YAML, WP_IMPORT_YAML };
enum wp_import_yaml wp_import_looks_like_yaml(struct wp_span text);

/* Says what a text that cannot be read may be, as the end of the sentence that refuses it; "" if not known. */
const char *wp_import_hint(struct wp_span text);
/* Says the same of JSON whose fault is at this offset. */
const char *wp_import_hint_at(struct wp_span text, size_t at);

/* Reads a .properties file; `line` is the number of its first line. */
enum wp_rc wp_import_read_java(struct wp_span text, unsigned line, struct wp_import_properties *p,
			       struct wp_error *error) WP_MUST_CHECK;

/* Reads lines that set variables of Debezium Server's environment; nothing is added if there are none. */
enum wp_rc wp_import_read_variables(struct wp_span text, struct wp_import_properties *p,
				    struct wp_error *error) WP_MUST_CHECK;

/* Returns the beginning of an option of Java's in it that sets a property; NULL if there is none, or no text. */
const char *wp_import_java_option(struct wp_span text);

struct wp_import_tree;
/*
 * Takes the connector that a tree holds; nothing is added if it holds none. Fails with WP_CONFIG if
 * it holds more than one.
 */
enum wp_rc wp_import_take_connector(struct wp_import_tree *tree, struct wp_import_properties *p,
				    struct wp_error *error) WP_MUST_CHECK;
/* Takes the properties that the only document is, or its "config", whatever they are. */
enum wp_rc wp_import_take_object(struct wp_import_tree *tree, struct wp_import_properties *p,
				 struct wp_error *error) WP_MUST_CHECK;
/*
 * Takes variables of Debezium Server's environment from compose files and resources of Kubernetes.
 * Nothing is added if there are none. Fails with WP_CONFIG if they are of more than one Server.
 */
enum wp_rc wp_import_take_variables(struct wp_import_tree *tree, struct wp_import_properties *p,
				    struct wp_error *error) WP_MUST_CHECK;

/* Reads JSON objects within another text, such as a script; nothing is added if no connector is in them. */
enum wp_rc wp_import_read_embedded(struct wp_span text, struct wp_import_properties *p,
				   struct wp_error *error) WP_MUST_CHECK;

#endif
