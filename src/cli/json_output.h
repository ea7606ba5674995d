/* Writes what commands print for machines (--json). Stateless. */
#ifndef WALPOST_SRC_CLI_JSON_OUTPUT_H
#define WALPOST_SRC_CLI_JSON_OUTPUT_H

#include <jansson.h>

#include "walpost/base/span.h"

/* A text that is cut or not valid still names what is meant; a null span is null. */
json_t *wp_cli_json_text(struct wp_span text);
/* Prints `value` and consumes it; it is NULL if there was no memory. Returns the exit code. */
int wp_cli_json_print(json_t *value, const char *what);

#endif
