/* What commands print for machines (--json). Stateless. */
#ifndef WALPOST_SRC_CLI_JSON_OUTPUT_H
#define WALPOST_SRC_CLI_JSON_OUTPUT_H

#include <jansson.h>

#include "walpost/base/span.h"

/* Cut or not valid as text, it still names what is meant; a null span is null. */
json_t *wp_cli_json_text(struct wp_span text);
/* On standard output; consumes `value`, NULL if there was no memory. The exit code. */
int wp_cli_json_print(json_t *value, const char *what);

#endif
