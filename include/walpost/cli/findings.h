/* Prints findings as `check` shows them: to people, grouped and coloured on a terminal, and to machines. */
#ifndef WALPOST_CLI_FINDINGS_H
#define WALPOST_CLI_FINDINGS_H

#include <stdbool.h>
#include <stdio.h>

#include "walpost/base/finding.h"

/* Prints "ok    wal_level: logical", and below it the cure, indented. */
void wp_cli_print_finding(FILE *to, const struct wp_finding *finding);
/* Prints all of them by what they are about, and a line that counts. On a terminal lines are wrapped. */
void wp_cli_print_findings(FILE *to, const struct wp_findings *findings);
/*
 * Prints a JSON array of objects: level, room, about, name, what, cure; a stable contract. Returns
 * false if it cannot be made or written.
 */
bool wp_cli_print_findings_json(FILE *to, const struct wp_findings *findings);

#endif
