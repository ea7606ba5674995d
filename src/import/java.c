/* Reads a .properties file as a list of properties. */
#include "read.h"
#include "walpost/base/java_properties.h"

enum wp_rc wp_import_read_java(struct wp_span text, unsigned line, struct wp_import_properties *p,
			       struct wp_error *error)
{
	struct wp_java_properties walk = { .line = 0 };
	struct wp_java_property found;
	struct wp_buffer unescaped;
	enum wp_rc rc = WP_OK;

	if (text.size == 0)
		return WP_OK;
	wp_buffer_init(&unescaped, text.size + 1);
	if (wp_java_properties_init(&walk, text, &unescaped) != WP_OK)
		rc = wp_error_set(error, WP_NOMEM, "out of memory for the texts");
	while (rc == WP_OK) {
		struct wp_import_property property = { .line = 0 };
		char *name = NULL;

		if (wp_java_properties_next(&walk, &found) != WP_OK) {
			rc = wp_error_set(error, WP_CONFIG, "line %u: %s", line + walk.line - 1,
					  walk.fault == WP_JAVA_NO_DIGIT
						  ? "\\u requires four hexadecimal digits"
						  : "a \\u escape is half of a character");
			break;
		}
		if (wp_span_is_null(found.name))
			break;
		property.line = line + found.line - 1;
		rc = wp_import_copy_text(p, found.name, property.line, &name, error);
		property.name = name;
		if (rc == WP_OK)
			rc = wp_import_copy_text(p, found.value, property.line, &property.value,
						 error);
		if (rc == WP_OK)
			rc = wp_import_add(p, &property, error);
	}
	wp_buffer_release(&unescaped);
	return rc;
}
