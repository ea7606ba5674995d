/* Guesses what a text is that cannot be read, and says what to pass in its place. */
#include <string.h>

#include "read.h"

static const struct hint {
	const char *signs[3];
	const char *text;
} hints[] = {
	{ { "{{", "{%", "<%" },
	  "; if it is a template, pass what is made of it, for example by `helm template`" },
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

static bool is_behind_comma(struct wp_span text, size_t at)
{
	while (at > 0 && strchr(" \t\r\n", text.data[at - 1]) != NULL && text.data[at - 1] != '\0')
		at--;
	return at > 0 && text.data[at - 1] == ',';
}

const char *wp_import_hint(struct wp_span text)
{
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
		for (size_t j = 0; j < 3 && hints[i].signs[j] != NULL; j++)
			if (wp_span_has(text, hints[i].signs[j]))
				return hints[i].text;
	return "";
}

const char *wp_import_hint_at(struct wp_span text, size_t at)
{
	if (at < text.size && (text.data[at] == '}' || text.data[at] == ']') &&
	    is_behind_comma(text, at))
		return "; JSON allows no comma before a closing bracket";
	return wp_import_hint(text);
}
