#include "walpost/outbox/names.h"
#include "walpost/outbox/origin.h"

#include <string.h>

static const struct {
	const char *text;
	const char *name;
	enum wp_origin_part part;
} variables[] = {
	{ "${schema}", "schema", WP_ORIGIN_SCHEMA },
	{ "${table}", "table", WP_ORIGIN_TABLE },
};

enum { VARIABLES = sizeof(variables) / sizeof(variables[0]) };

enum wp_origin_part wp_origin_variable(const char *text)
{
	for (size_t i = 0; i < VARIABLES; i++)
		if (strcmp(text, variables[i].text) == 0)
			return variables[i].part;
	return WP_ORIGIN_NONE;
}

const char *wp_origin_name(enum wp_origin_part part)
{
	return part == WP_ORIGIN_SCHEMA ? variables[0].name : variables[1].name;
}

struct wp_span wp_origin_value(const struct wp_origin *origin, enum wp_origin_part part)
{
	return part == WP_ORIGIN_SCHEMA ? origin->schema : origin->table;
}

/* Returns the size of the variable that `at` begins with; 0: it begins with none. */
static size_t variable_size(const char *at, enum wp_origin_part *ret)
{
	for (size_t i = 0; i < VARIABLES; i++) {
		size_t size = strlen(variables[i].text);
		*ret = variables[i].part;
		if (strncmp(at, variables[i].text, size) == 0)
			return size;
	}
	return 0;
}

bool wp_origin_is_named(const char *text)
{
	return strstr(text, variables[0].text) != NULL || strstr(text, variables[1].text) != NULL;
}

enum wp_rc wp_origin_check(const char *template, const char *option, struct wp_error *error)
{
	enum wp_origin_part part;

	for (const char *at = strchr(template, '$'); at != NULL; at = strchr(at + 1, '$'))
		if (variable_size(at, &part) == 0)
			return wp_error_set(error, WP_CONFIG,
					    "%s = \"%.200s\": $ must begin ${schema} or ${table}",
					    option, template);
	return WP_OK;
}

enum wp_rc wp_origin_write(struct wp_buffer *into, const char *template,
			   const struct wp_origin *origin)
{
	enum wp_origin_part part;
	enum wp_rc rc = WP_OK;

	while (*template != '\0' && rc == WP_OK) {
		size_t size = variable_size(template, &part);
		if (size > 0)
			rc = wp_buffer_append(into, wp_origin_value(origin, part));
		else
			rc = wp_buffer_append_byte(into, (uint8_t) * template);
		template += size > 0 ? size : 1;
	}
	return rc;
}
