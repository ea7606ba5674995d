/*
 * What the stream does not tell of a table's columns, and the catalog does, as of the time
 * at which it was asked: may they be NULL, are they enums and with which labels, what lies
 * under a domain.
 *
 * Owns: its texts. Pure. Bounded: WP_COLUMN_FACTS_MAX columns; labels that do not fit are
 * as not known.
 */
#ifndef WALPOST_WAL_COLUMN_FACTS_H
#define WALPOST_WAL_COLUMN_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "walpost/base/span.h"

#define WP_COLUMN_FACTS_MAX 1536 /* of each of 64 tables 24 */
#define WP_COLUMN_LABELS_SIZE 8192

struct wp_column_fact {
	size_t table; /* which of those that were asked about */
	char name[64];
	uint32_t type_oid;
	uint32_t base_oid; /* under all domains; of no domain the same */
	int32_t modifier;  /* the column's or, under it, a domain's; -1: none */
	bool is_not_null;  /* by the column or by its domain */
	/* What the base type is, of those that no built-in oid shows: "enum", or an extension's
	 * type by its name, "citext"; else "". */
	char known_as[16];
	size_t labels_at; /* of an enum, comma-separated, in `labels`; 0: not known */
};

struct wp_column_facts {
	struct wp_column_fact items[WP_COLUMN_FACTS_MAX];
	size_t count;
	char labels[WP_COLUMN_LABELS_SIZE];
	size_t labels_size; /* the first byte stands for none */
};

void wp_column_facts_begin(struct wp_column_facts *f);
/* What does not fit is left out. `labels` may be NULL. */
void wp_column_facts_add(struct wp_column_facts *f, const struct wp_column_fact *fact,
			 const char *labels);
/* NULL: nothing is known of it. */
const struct wp_column_fact *wp_column_facts_find(const struct wp_column_facts *f, size_t table,
						  struct wp_span name);
/* NULL: not known, or no enum. */
const char *wp_column_facts_labels(const struct wp_column_facts *f,
				   const struct wp_column_fact *fact);

#endif
