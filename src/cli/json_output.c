#include "json_output.h"

#include "walpost/base/display.h"
#include "walpost/cli/cli.h"

json_t *wp_cli_json_text(struct wp_span text)
{
	struct wp_excerpt excerpt;

	if (wp_span_is_null(text))
		return json_null();
	json_t *whole = json_stringn((const char *)text.data, text.size);
	return whole != NULL ? whole : json_string(wp_excerpt(&excerpt, text));
}

int wp_cli_json_print(json_t *value, const char *what)
{
	int failed = json_dumpf(value, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);

	json_decref(value);
	if (failed)
		return wp_cli_fail(WP_EXIT_FAILED, "%s cannot be written as JSON", what);
	(void)putchar('\n'); /* wp_cli_done() notices a failure */
	return wp_cli_done();
}
