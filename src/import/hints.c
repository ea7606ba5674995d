/* Of what cannot be read: what it may be, and what to pass in its place. */
#include <string.h>

#include "read.h"

static const struct hint {
	const char *signs[3];
	const char *text;
} hints[] = {
	{ { "{{", "{%", "<%" },
	  "; it is a template: pass what is made of it, for example by `helm template`" },
	{ { "resource \"", "jsonencode(", "jsondecode(" },
	  "; it looks like Terraform, which is not read: pass what GET /connectors/NAME returns, "
	  "or "
	  "lines NAME=value for Debezium Server" },
	{ { "\"error_code\"", "\"worker_id\"", NULL },
	  "; it looks like an answer of Kafka Connect without a configuration: pass what GET "
	  "/connectors/NAME returns" },
	{ { "DEBEZIUM_SOURCE_", NULL, NULL },
	  "; its DEBEZIUM_SOURCE_... variables are in a form that walpost does not read: pass "
	  "lines of NAME=value, without spaces around the equal sign" },
};

/* A comma, and nothing but blanks up to a closing bracket. */
static bool has_trailing_comma(struct wp_span text)
{
	bool is_behind_comma = false;

	for (size_t i = 0; i < text.size; i++) {
		if (is_behind_comma && (text.data[i] == '}' || text.data[i] == ']'))
			return true;
		if (strchr(" \t\r\n", text.data[i]) == NULL || text.data[i] == '\0')
			is_behind_comma = text.data[i] == ',';
	}
	return false;
}

const char *wp_import_hint(struct wp_span text)
{
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		for (size_t j = 0; j < 3 && hints[i].signs[j] != NULL; j++)
			if (wp_span_has(text, hints[i].signs[j]))
				return hints[i].text;
	return has_trailing_comma(text) ? "; JSON allows no comma before a closing bracket" : "";
}
