/*
 * What becomes of a foreign configuration, line by line: what a property was, what is to be said
 * about it, and the setting it became. Printed as a walpost.conf, in the order of its sections.
 *
 * Owns: the texts. Pure. An allocation that fails is remembered (`rc`), and nothing more is added.
 */
#ifndef WALPOST_SRC_IMPORT_REPORT_H
#define WALPOST_SRC_IMPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "walpost/base/error.h"
#include "walpost/config/config.h"

enum wp_import_verdict {
	WP_IMPORT_TRANSLATED,
	WP_IMPORT_DROPPED,     /* it means nothing here */
	WP_IMPORT_FILL_IN,     /* no consumer sees it, but walpost needs it */
	WP_IMPORT_CHECK,       /* assumed; a consumer would see it if it is not so */
	WP_IMPORT_UNSUPPORTED, /* a consumer would see it */
};

#define WP_IMPORT_REST "" /* behind all sections: what became nothing */

struct wp_import_line {
	const char *section; /* "postgres", "outbox.orders", ...; WP_IMPORT_REST */
	const char *about;   /* a property's name; NULL: the line goes with the one before */
	const char *shown;   /* its value; NULL: better not */
	enum wp_import_verdict verdict;
	const char *error; /* a sentence; NULL: the setting says it all */
	const char *key;   /* of the setting, without its section; NULL: there is none */
	const char *value; /* its value, as it is to be read */
};

struct wp_import_entry {
	struct wp_import_line line;
	const char *refused; /* why walpost itself would not take the setting; NULL: it does */
};

struct wp_import_report {
	struct wp_import_entry *entries; /* owned */
	size_t count;
	size_t capacity;
	char **texts; /* owned, each and the array */
	size_t text_count;
	size_t text_capacity;
	const char *form; /* what was read, in words; constant */
	enum wp_rc rc;	  /* WP_OK or WP_NOMEM; sticky */
};

void wp_import_report_release(struct wp_import_report *r);
/* Copies all texts. */
void wp_import_report_add(struct wp_import_report *r, const struct wp_import_line *line);
/* A copy that lives as long as the report; "" without memory. */
const char *wp_import_keep(struct wp_import_report *r, const char *text);
/* Does it make an exit code of 1? */
bool wp_import_is_change(const struct wp_import_entry *entry);

void wp_import_report_print(const struct wp_import_report *r, FILE *out);
/*
 * Has walpost itself look at the settings; what it would not take is left out, with its words.
 * WP_NOMEM.
 */
enum wp_rc wp_import_report_judge(struct wp_import_report *r) WP_MUST_CHECK;

#endif
