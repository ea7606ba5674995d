/* Shared by the readers of all forms: how a property gets into the list. */
#ifndef WALPOST_SRC_IMPORT_READ_H
#define WALPOST_SRC_IMPORT_READ_H

#include "walpost/import/properties.h"

/* WP_CONFIG: too many; WP_NOMEM. */
enum wp_rc wp_import_add(struct wp_import_properties *p, const struct wp_import_property *property,
			 struct wp_error *error) WP_MUST_CHECK;
/* Ends the text that begins at `start` of the buffer. WP_CONFIG: it holds a NUL itself. WP_NOMEM. */
enum wp_rc wp_import_end_text(struct wp_import_properties *p, size_t start, unsigned line,
			      char **ret, struct wp_error *error) WP_MUST_CHECK;
/* A copy in the buffer; WP_CONFIG also: there is no more room for the texts. */
enum wp_rc wp_import_copy_text(struct wp_import_properties *p, struct wp_span text, unsigned line,
			       char **ret, struct wp_error *error) WP_MUST_CHECK;
/* To a text that is not ended yet. */
enum wp_rc wp_import_append_byte(struct wp_import_properties *p, uint8_t byte, unsigned line,
				 struct wp_error *error) WP_MUST_CHECK;

/* Does it separate words of one line? */
static inline bool wp_import_is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Behind blanks and comments stands what begins an object or an array. */
bool wp_import_looks_like_json(struct wp_span text);
/* Appends the text with blanks in place of comments: lines stay where they are. WP_CONFIG, WP_NOMEM. */
enum wp_rc wp_import_blank_comments(struct wp_span text, struct wp_buffer *into,
				    struct wp_error *error) WP_MUST_CHECK;
/* YAML: it has what .properties never have. Maybe: it is as good as either. */
enum wp_import_yaml { WP_IMPORT_NO_YAML, WP_IMPORT_MAYBE_YAML, WP_IMPORT_YAML };
enum wp_import_yaml wp_import_looks_like_yaml(struct wp_span text);

/* What a text that cannot be read may be, as the end of the sentence that refuses it; "": not known. */
const char *wp_import_hint(struct wp_span text);
/* The same of JSON whose fault is at this offset. */
const char *wp_import_hint_at(struct wp_span text, size_t at);

/* A .properties file; `line` is the number of its first line. */
enum wp_rc wp_import_read_java(struct wp_span text, unsigned line, struct wp_import_properties *p,
			       struct wp_error *error) WP_MUST_CHECK;

/* Lines that set variables of Debezium Server's environment; nothing is added if there are none. */
enum wp_rc wp_import_read_variables(struct wp_span text, struct wp_import_properties *p,
				    struct wp_error *error) WP_MUST_CHECK;

/* The beginning of an option of Java's in it that sets a property; NULL: there is none, or no text. */
const char *wp_import_java_option(struct wp_span text);

struct wp_import_tree;
/* The connector that a tree holds; nothing is added if it holds none. WP_CONFIG: more than one. */
enum wp_rc wp_import_take_connector(struct wp_import_tree *tree, struct wp_import_properties *p,
				    struct wp_error *error) WP_MUST_CHECK;
/* The properties that the only document is, or its "config", whatever they are. */
enum wp_rc wp_import_take_object(struct wp_import_tree *tree, struct wp_import_properties *p,
				 struct wp_error *error) WP_MUST_CHECK;
/* Variables of Debezium Server's environment: in compose files and resources of Kubernetes. Nothing is
 * added if there are none. WP_CONFIG: of more than one Server. */
enum wp_rc wp_import_take_variables(struct wp_import_tree *tree, struct wp_import_properties *p,
				    struct wp_error *error) WP_MUST_CHECK;

/* JSON objects within another text, such as a script; nothing is added if no connector is in them. */
enum wp_rc wp_import_read_embedded(struct wp_span text, struct wp_import_properties *p,
				   struct wp_error *error) WP_MUST_CHECK;

#endif
